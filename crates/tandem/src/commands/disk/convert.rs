//! `tandem disk convert`.

use anyhow::{Result, bail};
use tandem_disk::trace::{self, Format};

use crate::cli::disk::ConvertArgs;
use crate::cli::exit;
use crate::output;
use crate::units::grouped;

/// Writes a trace in another format.
pub fn run(args: &ConvertArgs) -> Result<u8> {
    let name = args.out.to_string_lossy();
    let Some(format) = args.to.or_else(|| Format::of_name(&name)) else {
        bail!("{name}: the name says no format; give one with --to");
    };
    let same = args.out.exists()
        && std::fs::canonicalize(&args.out)? == std::fs::canonicalize(&args.trace.trace)?;
    if same {
        bail!("{name}: is the trace itself");
    }
    let records = super::open(&args.trace)?;
    let mut sink = trace::create(&args.out, format)?;
    let mut count = 0u64;
    for record in records {
        sink.write(&record?)?;
        count += 1;
    }
    sink.finish()?;
    output::print(&format!("{name}: {} records as {}", grouped(count), format.name()))?;
    Ok(exit::OK)
}
