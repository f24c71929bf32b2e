//! What can be written behind `tandem lab`.

mod agent;

use clap::{Args, Subcommand};

pub use agent::AgentArgs;

/// Arguments of `lab`.
#[derive(Debug, Args)]
pub struct LabArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// What `lab` can do.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Execute one run (the lab itself does this).
    #[command(hide = true)]
    Agent(AgentArgs),
    /// Be one process of a workload, told what to do on standard input.
    #[command(hide = true)]
    Worker,
}
