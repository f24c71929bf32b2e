//! Any commands of the user's, a phase each.

use std::path::Path;

use serde::Deserialize;

use super::error::io;
use super::parameter::{Arguments, Kind, Parameter};
use super::{Context, Missing, Outcome, PhaseSpec, Workload, WorkloadError, product, program};
use crate::stage::trail;

/// The workload.
pub(super) struct Command;

/// A phase, as a study has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    name: String,
    command: String,
    #[serde(default)]
    cold: bool,
    #[serde(default = "yes")]
    measured: bool,
}

fn yes() -> bool {
    true
}

/// What a line of output begins with that gives a result: `value files_per_s 120.5`.
const VALUE: &str = "value ";

impl Workload for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn about(&self) -> &'static str {
        "any commands of your own, a phase each"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new(
                "steps",
                "[]",
                "",
                Kind::Steps,
                "tables of name, command (for sh -c, in the file system under test), cold = false, measured = true; lines \"value NAME NUMBER\" of their output become results",
            ),
            Parameter::new(
                "prepare",
                "\"\"",
                "",
                Kind::Text,
                "a command that makes what the steps need, once, in a directory off the file system under test: $LAB_PREPARED for the steps",
            ),
        ]
    }

    fn phases(&self, args: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError> {
        let steps = steps(args)?;
        if steps.is_empty() {
            return Err(args.wrong("steps", "there are none; give a name and a command each"));
        }
        for (at, step) in steps.iter().enumerate() {
            if step.name.is_empty() || steps[..at].iter().any(|other| other.name == step.name) {
                return Err(args
                    .wrong("steps", format!("the name {:?} is empty or given twice", step.name)));
            }
        }
        let phase = |Step { name, cold, measured, .. }| PhaseSpec { name, cold, measured };
        Ok(steps.into_iter().map(phase).collect())
    }

    fn missing(&self, _: &Arguments) -> Result<Vec<Missing>, WorkloadError> {
        Ok(program::missing(&[("sh", "dash")]))
    }

    fn prepare(&self, args: &Arguments, scratch: &Path) -> Result<(), WorkloadError> {
        let text = args.text("prepare")?;
        product::made(scratch, "command", text, |draft| {
            let mut sh = program::command("sh")?;
            sh.args(["-ec", text]).current_dir(draft);
            program::run(trail::mark(&mut sh, scratch))
        })?;
        Ok(())
    }

    fn run(&self, args: &Arguments, phase: &str, at: &Context) -> Result<Outcome, WorkloadError> {
        let steps = steps(args)?;
        let Some(step) = steps.iter().find(|step| step.name == phase) else {
            return Err(args.wrong("steps", format!("no step {phase:?}")));
        };
        if !at.dir.is_dir() {
            let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(io("enter", &at.dir)(gone));
        }
        let prepared = product::place(&at.scratch, "command", args.text("prepare")?);
        let mut sh = program::command("sh")?;
        sh.args(["-ec", &step.command])
            .current_dir(&at.dir)
            .env("LAB_DIR", &at.dir)
            .env("LAB_PREPARED", prepared)
            .env("LAB_PROCESS", at.process.to_string())
            .env("LAB_PROCESSES", at.processes.to_string())
            .env("LAB_SEED", at.seed.to_string());
        let said = program::output(&mut sh, &[])?;
        values(&String::from_utf8_lossy(&said), args)
    }
}

fn steps(args: &Arguments) -> Result<Vec<Step>, WorkloadError> {
    let steps = args.value("steps")?.clone().try_into();
    steps.map_err(|error| args.wrong("steps", error.message().to_owned()))
}

fn values(said: &str, args: &Arguments) -> Result<Outcome, WorkloadError> {
    let mut outcome = Outcome::default();
    for line in said.lines().filter_map(|line| line.strip_prefix(VALUE)) {
        let pair = line.trim().split_once(char::is_whitespace);
        let read = pair.and_then(|(name, number)| Some((name, number.trim().parse::<f64>().ok()?)));
        let Some((name, number)) = read.filter(|(_, number)| number.is_finite()) else {
            return Err(
                args.wrong("steps", format!("its output {VALUE}{line:?} is no name and number"))
            );
        };
        outcome.values.insert(name.to_owned(), number);
    }
    Ok(outcome)
}
