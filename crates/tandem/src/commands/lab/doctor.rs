//! `tandem lab doctor`.

use anyhow::Result;
use comfy_table::{Table, presets};
use tandem_lab::doctor::{self, Row, State};

use crate::cli::exit;
use crate::cli::lab::DoctorArgs;
use crate::output;

/// Says what can be measured on this machine.
pub fn run(args: &DoctorArgs) -> Result<u8> {
    let rows = doctor::examine();
    if args.json {
        output::print_json(&rows)?;
        return Ok(exit::OK);
    }
    let mut text = String::new();
    for group in ["system", "file system", "workload"] {
        let of: Vec<&Row> = rows.iter().filter(|row| row.group == group).collect();
        text += &format!("{group}s\n{}\n\n", table(&of));
    }
    let packages = doctor::packages(&rows);
    if packages.is_empty() {
        text += "nothing is missing that could be had\n";
    } else {
        text += &format!("to have what is missing: apt-get install {}\n", packages.join(" "));
    }
    output::print(&text)?;
    Ok(exit::OK)
}

fn table(rows: &[&Row]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    for row in rows {
        let state = match row.state {
            State::Here => "yes",
            State::Missing => "no",
            State::Never => "never",
        };
        let said: Vec<&str> = [&row.detail, &row.without]
            .into_iter()
            .map(String::as_str)
            .filter(|text| !text.is_empty())
            .collect();
        table.add_row([row.what.as_str(), state, &said.join("; ")]);
    }
    table.to_string()
}
