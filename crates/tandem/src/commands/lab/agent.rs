//! `tandem lab agent` and `tandem lab worker`: what the lab itself runs.

use anyhow::{Context, Result};

use crate::cli::exit;
use crate::cli::lab::AgentArgs;

/// Executes a run.
pub fn run(args: &AgentArgs) -> Result<u8> {
    tandem_lab::agent::run(&args.job, &args.out)
        .with_context(|| format!("agent for {}", args.job.display()))?;
    Ok(exit::OK)
}

/// Is one process of a workload.
pub fn work() -> Result<u8> {
    tandem_lab::agent::work()?;
    Ok(exit::OK)
}
