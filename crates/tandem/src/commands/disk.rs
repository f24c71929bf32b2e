//! `tandem disk`.

mod convert;
mod emulate;
mod map;
mod profiles;
mod replay;
mod trace;
mod validate;

use anyhow::Result;
use tandem_disk::profile::Profile;
use tandem_disk::trace::Records;

use crate::cli::disk::{DiskArgs, DiskCommand, TraceArgs};
use crate::output;

/// Runs one of its commands.
pub fn run(args: &DiskArgs) -> Result<u8> {
    match &args.command {
        DiskCommand::Profiles(args) => profiles::run(args),
        DiskCommand::Replay(args) => replay::run(args),
        DiskCommand::Validate(args) => validate::run(args),
        DiskCommand::Map(args) => map::run(args),
        DiskCommand::Convert(args) => convert::run(args),
        DiskCommand::Emulate(args) => emulate::run(args),
        DiskCommand::Trace(args) => trace::run(args),
    }
}

fn open(args: &TraceArgs) -> Result<Records> {
    let options = tandem_disk::trace::Options { format: args.format, sort: args.sort };
    Ok(tandem_disk::trace::open(&args.trace, options)?.1)
}

fn profile(name: &str) -> Result<Profile> {
    let profile = Profile::find(name)?;
    for ignored in &profile.ignored {
        output::complain(&format!(
            "{name}: `{ignored}` has no part in the model and is passed over"
        ));
    }
    for assumed in &profile.assumed {
        output::complain(&format!("{name}: {assumed}"));
    }
    Ok(profile)
}
