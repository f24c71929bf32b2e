//! The command line: nothing but arguments, progress and output.
//!
//! Called as `mount.tandem`, `mkfs.tandem`, `fsck.tandem` or `umount.tandem` it takes what mount(8)
//! and its relatives pass.

mod cli;
mod commands;
mod control;
mod devices;
mod emulate;
mod logging;
mod mounts;
mod output;
mod progress;
mod units;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use cli::helpers::Persona;
use cli::{Cli, exit};

/// Contents and blocks come and go by the hundred thousand: glibc's allocator gives their pages
/// back to the kernel each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let persona = args.first().map_or(Persona::Tandem, Persona::of);
    let args = match persona.translate(args) {
        Ok(args) => args,
        Err(error) => {
            output::complain(&format!("{error}; try --help"));
            return ExitCode::from(usage_status(persona, &[]));
        }
    };
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => {
            let wanted = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            let _ = error.print();
            let status = if wanted { exit::OK } else { usage_status(persona, &args) };
            return ExitCode::from(status);
        }
    };
    let failure = commands::failure_status(&cli.command, persona);
    let status = commands::run(cli.command).unwrap_or_else(|error| {
        if output::is_broken_pipe(&error) {
            return exit::OK;
        }
        output::complain(&output::message(&error));
        failure
    });
    ExitCode::from(status)
}

/// The exit status of wrong usage, which depends on who asks.
fn usage_status(persona: Persona, args: &[OsString]) -> u8 {
    match persona {
        Persona::Mount | Persona::Umount => exit::MOUNT_USAGE,
        Persona::Check => exit::FSCK_USAGE,
        _ if args.get(1).is_some_and(|command| command == "check") => exit::FSCK_USAGE,
        _ => exit::USAGE,
    }
}
