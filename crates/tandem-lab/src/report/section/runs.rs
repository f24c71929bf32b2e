//! Every run: how it ended, what the checklist says, what was typed.

use std::collections::BTreeMap;

use maud::html;

use super::super::page::Block;
use super::super::table::{Cell, Table};
use super::super::{StudyResults, slug};
use super::overview::describe;
use crate::record::{Record, Status};

/// Failures first; then all runs and their commands, folded.
pub fn blocks(of: &StudyResults) -> Vec<Block> {
    let mut blocks = Vec::new();
    blocks.extend(failures(of));
    blocks.push(marks(of));
    let all = vec![Block::Table(runs(of))];
    blocks.push(Block::Folded(format!("All {} runs", of.records.len()), all));
    blocks.push(Block::Folded("The exact commands".to_owned(), commands(of)));
    blocks
}

fn failures(of: &StudyResults) -> Option<Block> {
    let mut table = Table::new(
        &slug(&[&of.study.name, &of.scale, "failed"]),
        "Runs that failed",
        &["configuration", "repetition", "reason"],
    );
    for record in &of.records {
        let Status::Failed(reason) = &record.status else { continue };
        table.rows.push(vec![
            Cell::Text(describe(&record.levels)),
            Cell::Text(record.repetition.to_string()),
            Cell::Text(reason.clone()),
        ]);
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

fn marks(of: &StudyResults) -> Block {
    let mut rules: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for flag in of.records.iter().flat_map(|record| &record.flags) {
        rules.entry(&flag.rule).or_insert((0, &flag.text)).0 += 1;
    }
    let marked = of.records.iter().filter(|record| !record.flags.is_empty()).count();
    Block::Text(html! {
        @if rules.is_empty() {
            p { "The checklist has nothing against any run." }
        } @else {
            p { "The checklist marks " (marked) " of " (of.records.len()) " runs; each mark stands beside the figures that it concerns (⚑)." }
            ul { @for (rule, (times, example)) in rules {
                li { code { (rule) } ", " (times) " times, as: " (example) }
            } }
        }
    })
}

fn runs(of: &StudyResults) -> Table {
    let factors: Vec<_> = of.levels().into_keys().collect();
    let heads = ["run", "#order", "#repetition"].into_iter().map(str::to_owned);
    let tail =
        ["ended", "reason", "#elapsed (s)", "marks", "environment"].into_iter().map(str::to_owned);
    let columns: Vec<String> = heads.chain(factors.iter().cloned()).chain(tail).collect();
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new(&slug(&[&of.study.name, &of.scale, "runs"]), "All runs", &names);
    for record in &of.records {
        let mut row = vec![
            Cell::Code(record.id.clone()),
            Cell::Number(record.order.into()),
            Cell::Number(record.repetition.into()),
        ];
        let level = |factor: &String| record.levels.get(factor).cloned().unwrap_or_default();
        row.extend(factors.iter().map(|factor| Cell::Text(level(factor))));
        let (ended, reason) = ended(record);
        row.extend([
            Cell::Text(ended.to_owned()),
            Cell::Text(reason.to_owned()),
            Cell::Number(record.elapsed),
            Cell::Text(rules(record)),
            Cell::Code(record.environment.clone()),
        ]);
        table.rows.push(row);
    }
    table
}

fn ended(record: &Record) -> (&'static str, &str) {
    match &record.status {
        Status::Done => ("done", ""),
        Status::Failed(reason) => ("failed", reason),
        Status::Skipped(reason) => ("skipped", reason),
    }
}

fn rules(record: &Record) -> String {
    let mark = |flag: &crate::record::Flag| match &flag.phase {
        Some(phase) => format!("{} ({phase})", flag.rule),
        None => flag.rule.clone(),
    };
    let marks: Vec<_> = record.flags.iter().map(mark).collect();
    marks.join(", ")
}

/// Of each configuration those of its first run; they differ only in paths afterwards.
fn commands(of: &StudyResults) -> Vec<Block> {
    let mut first: BTreeMap<String, &Record> = BTreeMap::new();
    for record in of.records.iter().filter(|record| !record.commands.is_empty()) {
        first.entry(describe(&record.levels)).or_insert(record);
    }
    let lists = html! {
        @for (configuration, record) in &first {
            h4 { (configuration) }
            pre { code { @for command in &record.commands { (command) "\n" } } }
        }
        @if first.is_empty() { p { "No run got as far as a command." } }
    };
    vec![Block::Text(lists)]
}
