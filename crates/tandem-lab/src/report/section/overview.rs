//! What a study asks, what was run, what was left out and why.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::super::StudyResults;
use super::super::page::Block;
use super::left_out;
use crate::record::Status;

/// The study's first part.
pub fn blocks(of: &StudyResults) -> Vec<Block> {
    let study = &of.study;
    let text = html! {
        @if !study.question.is_empty() { p class="question" { (study.question) } }
        (facts(of))
        (left_out::list(of))
    };
    vec![Block::Text(text)]
}

fn facts(of: &StudyResults) -> Markup {
    let study = &of.study;
    let done = count(of, |status| matches!(status, Status::Done));
    let failed = count(of, |status| matches!(status, Status::Failed(_)));
    let skipped = count(of, |status| matches!(status, Status::Skipped(_)));
    let least = of.repetitions();
    html! {
        dl class="facts" {
            @if let Some(source) = &study.source { dt { "After" } dd { (source) } }
            dt { "Workload" } dd { (study.workload) ", scale " (of.scale) @if let Some(scale) = study.scale.get(&of.scale) {
                ", on a file system of " (scale.size) } }
            dt { "Runs" } dd {
                (done) " done, " (failed) " failed, " (skipped) " not possible here"
                @if of.open > 0 { ", " (of.open) " still to be made" }
                @if let Some((low, high)) = least {
                    "; " @if low == high { (low) } @else { (low) " to " (high) } " of each configuration"
                }
            }
            @if let Some(bounds) = memory(of) { dt { "Memory" } dd { "at most " (bounds) ", caches included" } }
            @for (factor, levels) in of.levels() {
                dt { (factor) } dd { (levels.join(", ")) }
            }
            @if !study.baseline.is_empty() {
                dt { "Compared with" }
                dd { @for (at, (factor, level)) in study.baseline.iter().enumerate() {
                    @if at > 0 { ", " } (factor) " " (level) } }
            }
        }
    }
}

/// The bounds on memory that runs had; none if none had one.
fn memory(of: &StudyResults) -> Option<String> {
    let bounds: BTreeSet<_> = of.records.iter().map(|record| record.memory).collect();
    bounds.last().copied().flatten()?;
    let text = |bound: Option<u64>| {
        bound.map_or("the machine's".to_owned(), |bytes| format!("{} MiB", bytes >> 20))
    };
    Some(bounds.into_iter().map(text).collect::<Vec<_>>().join(" or "))
}

fn count(of: &StudyResults, is: fn(&Status) -> bool) -> usize {
    of.records.iter().filter(|record| is(&record.status)).count()
}

/// Levels in words: `filesystem ext2, processes 4`.
pub fn describe(levels: &BTreeMap<String, String>) -> String {
    let parts: Vec<_> = levels.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
    parts.join(", ")
}
