//! What the lab itself runs.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `lab agent`.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// The job, as JSON.
    pub job: PathBuf,
    /// Where what was measured goes, as JSON.
    pub out: PathBuf,
}
