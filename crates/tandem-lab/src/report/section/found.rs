//! What was found, in sentences: the first thing to read.

use maud::html;

use super::super::Results;
use super::super::page::{Block, Section};
use crate::analysis::StudyData;
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
            (sentences(study, |sentence| sentence.starts_with("tandem")))
        }
    }));
    section
}

/// The same of one study.
pub fn study(data: &StudyData) -> Block {
    Block::Text(html! { h3 { "Found" } (sentences(data, |_| true)) })
}

/// The first sentence of each figure and analysis, and of a figure's others those that are wanted.
fn sentences(data: &StudyData, wanted: fn(&str) -> bool) -> maud::Markup {
    let figures = data.figures.iter().filter(|figure| !figure.sentences.is_empty());
    html! {
        @if data.figures.iter().all(|figure| figure.sentences.is_empty()) {
            p { "Nothing can be said yet: no run of it was measured." }
        } @else {
            ul class="findings" {
                @for figure in figures {
                    @let more: Vec<_> = figure.sentences.iter().skip(1).filter(|text| wanted(text)).collect();
                    li {
                        strong { (figure.title) } ": " (figure.sentences.first().map_or("", String::as_str))
                        @if !more.is_empty() { ul { @for sentence in more { li { (sentence) } } } }
                    }
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

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
