//! `tandem lab show`.

use anyhow::Result;
use serde_json::json;
use tandem_lab::checklist::Machine;
use tandem_lab::plan::{self, Selected};
use tandem_lab::study::Given;

use crate::cli::exit;
use crate::cli::lab::ShowArgs;
use crate::output::{self, Listing};
use crate::units::bytes;

/// Shows what a study would run.
pub fn run(args: &ShowArgs) -> Result<u8> {
    let given = Given::find(&args.study)?;
    if args.file {
        output::print(&given.text)?;
        return Ok(exit::OK);
    }
    let selected = Selected::new(&given.study, &args.part.scale, &args.part.only)?;
    if args.json {
        output::print_json(&json!({
            "study": given.study.name, "title": given.study.title, "scale": args.part.scale,
            "repetitions": selected.scale.repetitions, "runs": selected.runs(),
            "estimated_seconds": selected.seconds(),
            "disk_bytes": selected.need().disk, "memory_bytes": selected.need().memory,
            "configurations": selected.configurations, "left_out": selected.left_out,
        }))?;
    } else {
        output::print(&text(&given, &args.part.scale, &selected))?;
    }
    Ok(exit::OK)
}

fn text(given: &Given, scale: &str, selected: &Selected<'_>) -> String {
    let study = &given.study;
    let mut listing = Listing::default();
    listing.heading(format!("{}: {}", study.name, study.title));
    if !study.question.is_empty() {
        listing.row("question", study.question.trim());
    }
    if let Some(source) = &study.source {
        listing.row("after", source);
    }
    let need = selected.need();
    listing.row("workload", &study.workload).row("scale", scale);
    listing.row("runs", runs(selected));
    listing.row("size of the disk", bytes(plan::largest(&selected.configurations)));
    if let Some(bounds) = memory(selected, Machine::now().memory) {
        listing.row("memory, at most", bounds);
    }
    listing
        .row("space needed", format!("{}, and {} of memory", bytes(need.disk), bytes(need.memory)));
    if let Some(seconds) = selected.seconds() {
        listing.row("time, about", super::time(seconds));
    }
    listing.heading("configurations");
    for configuration in &selected.configurations {
        listing.row(&configuration.id, configuration.label());
    }
    if !selected.left_out.is_empty() {
        listing.heading("left out");
    }
    let kept = selected.configurations.iter().map(|one| &one.levels);
    let all = plan::levels(study, kept.chain(selected.left_out.iter().map(|out| &out.levels)));
    let out = selected.left_out.iter().map(|out| (out.reason.as_str(), &out.levels));
    for one in plan::by_reason(out) {
        let count = format!("{} configurations", one.combinations.len());
        listing.row(count, format!("{}: {}", one.levels(&all), one.reason));
    }
    listing.render()
}

/// The bounds on memory, and whether this machine has as much.
fn memory(selected: &Selected<'_>, machine: u64) -> Option<String> {
    let bounds = plan::bounds(&selected.configurations);
    let largest = (*bounds.last()?)?;
    let each = bounds.iter().map(|bound| bound.map_or("the machine's".to_owned(), bytes));
    let mut text = format!("{}, caches included", each.collect::<Vec<_>>().join(" or "));
    if largest > machine {
        text += &format!("; this machine has {}, so more bounds nothing", bytes(machine));
    }
    Some(text)
}

fn runs(selected: &Selected<'_>) -> String {
    let count = selected.configurations.len();
    let times = selected.scale.repetitions;
    match (selected.scale.width, selected.scale.most) {
        (Some(width), Some(most)) => format!(
            "{count} configurations, {times} to {most} times each, until the interval is at most \
             {:.0} % of the mean",
            width * 100.0
        ),
        _ => format!("{} ({count} configurations, {times} times each)", selected.runs()),
    }
}
