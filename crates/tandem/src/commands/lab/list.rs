//! `tandem lab list`.

use anyhow::Result;
use comfy_table::{Table, presets};
use serde_json::json;
use tandem_lab::study::{Given, shipped};

use crate::cli::exit;
use crate::cli::lab::ListArgs;
use crate::output;

/// Lists the studies that come with the lab.
pub fn run(args: &ListArgs) -> Result<u8> {
    let names = shipped().iter().map(|(name, _)| Given::find(name));
    let studies = names.collect::<Result<Vec<_>, _>>()?;
    if args.json {
        let list = studies.iter().map(|Given { study, .. }| {
            let scales: Vec<_> = study.scale.keys().collect();
            json!({ "name": study.name, "title": study.title, "question": study.question,
                    "source": study.source, "workload": study.workload, "scales": scales })
        });
        output::print_json(&list.collect::<Vec<_>>())?;
        return Ok(exit::OK);
    }
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    for Given { study, .. } in &studies {
        table.add_row([&study.name, &study.title]);
    }
    output::print(&table.to_string())?;
    Ok(exit::OK)
}
