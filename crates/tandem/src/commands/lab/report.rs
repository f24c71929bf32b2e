//! `tandem lab report`.

use anyhow::Result;
use tandem_lab::report;
use tandem_lab::store::Contents;

use crate::cli::exit;
use crate::cli::lab::ReportArgs;
use crate::output;

/// Turns a results folder into a page.
pub fn run(args: &ReportArgs) -> Result<u8> {
    let results = Contents::read(&args.dir)?.results(&args.dir)?;
    let out = args.out.clone().unwrap_or_else(|| args.dir.join("report.html"));
    report::write(&results, &out)?;
    output::print(&format!(
        "{}; figures and tables: {}",
        out.display(),
        args.dir.join("report").display()
    ))?;
    Ok(exit::OK)
}
