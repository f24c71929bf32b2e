//! `tandem lab compare`.

use anyhow::{Result, bail};
use tandem_lab::compare::{Options, Verdict, compare};
use tandem_lab::store::Contents;

use crate::cli::exit;
use crate::cli::lab::CompareArgs;
use crate::output;

/// Says what is different between two results folders.
pub fn run(args: &CompareArgs) -> Result<u8> {
    let (before, after) = (Contents::read(&args.before)?, Contents::read(&args.after)?);
    let options = Options {
        level: args.level,
        threshold: args.threshold / 100.0,
        metrics: args.metric.clone(),
    };
    let found = compare(&before.records, &after.records, &options);
    if args.json {
        output::print_json(&found)?;
    } else {
        output::print(&found.text(args.all))?;
    }
    match found.verdict() {
        Verdict::Regressed => Ok(exit::FAILURE),
        Verdict::NotComparable => bail!("there is nothing in both folders that can be compared"),
        _ => Ok(exit::OK),
    }
}
