//! What can be written behind `tandem lab`.

mod agent;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tandem_lab::record::Metric;
use tandem_lab::stats::Level;

pub use agent::AgentArgs;

/// Arguments of `lab`.
#[derive(Debug, Args)]
#[command(after_help = "\
A study compares file systems: what is varied, what is done, how often. Seven come with the lab; one
of your own is a file (docs/lab.md says how to write it).

Examples:
  tandem lab doctor
  tandem lab list
  tandem lab show dualfs-micro --scale quick
  tandem lab run all --scale quick --out results
  tandem lab report results --out results.html
  tandem lab compare before after")]
pub struct LabArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// What `lab` can do.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// List the studies that come with the lab.
    List(ListArgs),
    /// Show what a study would run.
    Show(ShowArgs),
    /// Say what can be measured on this machine, what is missing, and which package brings it.
    Doctor(DoctorArgs),
    /// Run studies, or go on with them.
    Run(RunArgs),
    /// Turn a results folder into a page.
    Report(ReportArgs),
    /// Say what is better and what is worse in one results folder than in another.
    Compare(CompareArgs),
    /// Execute one run (the lab itself does this).
    #[command(hide = true)]
    Agent(AgentArgs),
    /// Be one process of a workload, told what to do on standard input.
    #[command(hide = true)]
    Worker,
}

/// Arguments of `lab list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem lab list
  tandem lab list --json")]
pub struct ListArgs {
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Which part of a study.
#[derive(Debug, Clone, Args)]
pub struct PartArgs {
    /// How large and how often; the shipped studies have quick and full.
    #[arg(long, default_value = "quick")]
    pub scale: String,
    /// Only these levels; a factor may be given several times.
    #[arg(long, value_name = "FACTOR=LEVEL", value_delimiter = ',', value_parser = parse_level)]
    pub only: Vec<(String, String)>,
}

/// Arguments of `lab show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem lab show io-bound
  tandem lab show ./mine.toml --scale full --only filesystem=ext4,filesystem=xfs
  tandem lab show bonnie --file > mine.toml")]
pub struct ShowArgs {
    /// A study's name, or the path of a file.
    pub study: String,
    /// Which part of it.
    #[command(flatten)]
    pub part: PartArgs,
    /// Print the study's file, to begin one of your own with.
    #[arg(long, conflicts_with = "json")]
    pub file: bool,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `lab doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem lab doctor
  tandem lab doctor --json")]
pub struct DoctorArgs {
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `lab run`.
#[derive(Debug, Args)]
#[command(after_help = "\
The results folder holds the studies' text, a record for every run, what the disks saw, and the
machine's description. When the lab is interrupted, killed, or the machine restarted, the same
command goes on (so does --out alone): no run is made twice, none is lost. Nothing but image files is
measured; no device of the machine is touched.

Exit status: 0 everything was measured, or skipped for what is missing; 1 a run failed, or there is
more to run.

Examples:
  tandem lab run io-bound --out results
  tandem lab run all --scale quick --out results
  tandem lab run ./mine.toml --scale full --only filesystem=ext4,filesystem=xfs --out results
  tandem lab run --out results                     go on")]
pub struct RunArgs {
    /// Studies: names, paths of files, or `all` for those that come with the lab.
    #[arg(value_name = "STUDY")]
    pub studies: Vec<String>,
    /// Which part of each.
    #[command(flatten)]
    pub part: PartArgs,
    /// Runs of each configuration, at least 3 [default: as the study says].
    #[arg(long, value_name = "N", value_parser = parse_repetitions)]
    pub repetitions: Option<u32>,
    /// Make one run of each configuration, to see whether a study works; nothing follows from it.
    #[arg(long, conflicts_with = "repetitions")]
    pub trial: bool,
    /// The results folder.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Where images and mount points are [default: in the results folder].
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Try runs again that have failed or were skipped.
    #[arg(long)]
    pub retry: bool,
    /// Run although another lab is at work on this machine, and mark the runs.
    #[arg(long)]
    pub beside: bool,
    /// Keep what workloads have prepared (archives, trees) for the next time.
    #[arg(long)]
    pub keep: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `lab report`.
#[derive(Debug, Args)]
#[command(after_help = "\
The page is one file that needs no network. Its figures (SVG) and tables (CSV, JSON) are also put into
`report` in the results folder. Runs may be under way meanwhile.

Examples:
  tandem lab report results
  tandem lab report results --out results.html")]
pub struct ReportArgs {
    /// The results folder.
    pub dir: PathBuf,
    /// The page [default: report.html in the results folder].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `lab compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every configuration, phase and metric that both folders have is compared, by intervals of the ratio;
p-values are corrected for the number of comparisons. What is not shown to differ need not be equal.

Exit status: 0 nothing is shown to be worse; 1 something is, or nothing can be compared.

Examples:
  tandem lab compare before after
  tandem lab compare before after --threshold 10 --metric io_seconds --json")]
pub struct CompareArgs {
    /// The results folder of before.
    pub before: PathBuf,
    /// The results folder of after.
    pub after: PathBuf,
    /// The smallest change that counts, in per cent.
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = parse_percent)]
    pub threshold: f64,
    /// The intervals' level of confidence, in per cent.
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = parse_confidence)]
    pub level: Level,
    /// What is compared; may be given several times [default: total_seconds and io_seconds].
    #[arg(long, value_name = "METRIC", value_parser = |text: &str| Metric::try_from(text.to_owned()))]
    pub metric: Vec<Metric>,
    /// Show what does not differ, too.
    #[arg(long)]
    pub all: bool,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (0.0..1000.0).contains(&percent) => Ok(percent),
        _ => Err("a number of per cent, as 5".to_owned()),
    }
}

fn parse_confidence(text: &str) -> Result<Level, String> {
    let share = text.parse::<f64>().ok().map(|percent| percent / 100.0);
    share.and_then(|share| Level::new(share).ok()).ok_or_else(|| "per cent, as 95".to_owned())
}

fn parse_repetitions(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(count @ 3..=10_000) => Ok(count),
        _ => Err("a number from 3 to 10000: fewer than three runs have no interval worth the \
                  name; --trial makes one"
            .to_owned()),
    }
}

fn parse_level(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((factor, level)) if !factor.is_empty() && !level.is_empty() => {
            Ok((factor.to_owned(), level.to_owned()))
        }
        _ => Err("write FACTOR=LEVEL, as filesystem=ext4".to_owned()),
    }
}
