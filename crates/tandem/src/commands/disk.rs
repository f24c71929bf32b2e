//! `tandem disk`.

mod convert;
mod profiles;
mod replay;
mod validate;

use anyhow::Result;
use tandem_disk::profile::Profile;
use tandem_disk::trace::{self, Records};

use crate::cli::disk::{DiskArgs, DiskCommand, TraceArgs};
use crate::output;

/// Runs one of its commands.
pub fn run(args: &DiskArgs) -> Result<u8> {
    match &args.command {
        DiskCommand::Profiles(args) => profiles::run(args),
        DiskCommand::Replay(args) => replay::run(args),
        DiskCommand::Validate(args) => validate::run(args),
        DiskCommand::Convert(args) => convert::run(args),
    }
}

fn open(args: &TraceArgs) -> Result<Records> {
    let options = trace::Options { format: args.format, sort: args.sort };
    Ok(trace::open(&args.trace, options)?.1)
}

fn profile(name: &str) -> Result<Profile> {
    let profile = Profile::find(name)?;
    for ignored in &profile.ignored {
        output::complain(&format!(
            "{name}: `{ignored}` has no part in the model and is passed over"
        ));
    }
    Ok(profile)
}
