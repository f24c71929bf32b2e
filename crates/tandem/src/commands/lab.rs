//! `tandem lab`.

mod agent;

use anyhow::Result;

use crate::cli::lab::{LabArgs, LabCommand};

/// Runs one of its commands.
pub fn run(args: &LabArgs) -> Result<u8> {
    match &args.command {
        LabCommand::Agent(args) => agent::run(args),
        LabCommand::Worker => agent::work(),
    }
}
