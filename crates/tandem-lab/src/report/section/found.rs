//! What was found, in sentences: the first thing to read.

use maud::html;

use super::super::Results;
use super::super::page::{Block, Section};
use crate::analysis::{Bar, StudyData};
use crate::record::Status;

/// The first section: the main sentences of every study.
pub fn found(results: &Results, data: &[StudyData]) -> Section {
    let mut section = Section::new("What was found");
    let records = || results.studies.iter().flat_map(|study| &study.records);
    let done = records().filter(|record| record.status == Status::Done).count();
    let marked = records().filter(|record| !record.flags.is_empty()).count();
    section.blocks.push(Block::Text(html! {
        p class="lead" {
            (count(results.studies.len(), "study", "studies")) ", "
            (done) " of " (count(records().count(), "run", "runs")) " measured"
            @if marked > 0 { "; the checklist marks " (marked) " of them (⚑)" } "."
        }
        @for study in data {
            h3 { a href={ "#" (super::id(study)) } { (study.title) } }
            (sentences(study))
            (own(study))
        }
    }));
    section
}

/// The same of one study.
pub fn study(data: &StudyData) -> Block {
    Block::Text(html! { h3 { "Found" } (sentences(data)) })
}

fn sentences(data: &StudyData) -> maud::Markup {
    let figures = data.figures.iter().filter(|figure| !figure.sentences.is_empty());
    html! {
        @if data.figures.iter().all(|figure| figure.sentences.is_empty()) {
            p { "Nothing can be said yet: no run of it was measured." }
        } @else {
            ul class="findings" {
                @for figure in figures {
                    li { strong { (figure.title) } ": " (figure.sentences.join(" ")) }
                }
                @for anova in &data.anovas {
                    @for sentence in anova.panels.iter().take(1).flat_map(|panel| panel.sentences.first()) {
                        li { strong { (anova.title) } ": " (sentence) }
                    }
                }
            }
        }
    }
}

/// Tandem's bars of the study's first figure, each with its interval.
fn own(data: &StudyData) -> maud::Markup {
    let bars = data.figures.first().into_iter().flat_map(|figure| &figure.panels);
    let bars = bars.flat_map(|panel| &panel.groups).flat_map(|group| &group.bars);
    let own = |bar: &&Bar| bar.levels.get("filesystem").is_some_and(|level| level == "tandem");
    let lines: Vec<&String> = bars
        .filter(|bar| own(bar) && bar.summary.is_some())
        .filter_map(|bar| bar.sentence.as_ref())
        .collect();
    let (first, rest) = lines.split_at(lines.len().min(4));
    html! {
        @if !first.is_empty() { ul { @for line in first { li { (line) } } } }
        @if !rest.is_empty() {
            details {
                summary { (rest.len()) " more of Tandem" }
                ul { @for line in rest { li { (line) } } }
            }
        }
    }
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
