//! What each command does.

mod check;
mod demo;
mod disk;
mod dump;
mod generate;
mod info;
mod lab;
mod mkfs;
mod mount;
mod scrub;
mod stats;
mod umount;

use anyhow::Result;

use crate::cli::helpers::Persona;
use crate::cli::{Command, exit};

/// Runs a command and returns its exit status.
pub fn run(command: Command) -> Result<u8> {
    match command {
        Command::Mkfs(args) => mkfs::run(&args),
        Command::Mount(args) => mount::run(&args),
        Command::Umount(args) => umount::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Scrub(args) => scrub::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Disk(args) => disk::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Man(args) => generate::man(&args.dir),
        Command::Completions(args) => generate::completions(&args.dir),
    }
}

/// The exit status of a command that has failed.
pub fn failure_status(command: &Command, persona: Persona) -> u8 {
    match (command, persona) {
        (Command::Check(_) | Command::Scrub(_), _) => exit::FSCK_OPERATIONAL,
        (_, Persona::Mount | Persona::Umount) => exit::MOUNT_FAILURE,
        _ => exit::FAILURE,
    }
}
