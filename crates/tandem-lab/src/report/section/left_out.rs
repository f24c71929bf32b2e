//! What was left out: by reason, with the levels that it concerns.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::super::StudyResults;
use super::overview::describe;
use crate::plan::{self, Omitted};
use crate::record::{Levels, Status};

/// So many configurations are named where they are counted; more are folded.
const FEW: usize = 3;

/// What this machine could not do and what the study leaves out; nothing if that is nothing.
pub fn list(of: &StudyResults) -> Markup {
    let skipped = of.records.iter().filter_map(|record| match &record.status {
        Status::Skipped(reason) => Some((reason.as_str(), &record.levels)),
        _ => None,
    });
    let excluded = of.left_out.iter().map(|out| (out.reason.as_str(), &out.levels));
    let (skipped, excluded) = (plan::by_reason(skipped), plan::by_reason(excluded));
    let every = of.records.iter().map(|record| &record.levels);
    let all = plan::levels(&of.study, every.chain(of.left_out.iter().map(|out| &out.levels)));
    html! {
        @if !skipped.is_empty() || !excluded.is_empty() {
            h3 { "Left out" }
            ul class="left-out" {
                @for one in &skipped { li { (reason(one, &all, Some(one.given))) } }
                @for one in &excluded { li { (reason(one, &all, None)) } }
            }
        }
    }
}

fn reason(one: &Omitted<'_>, all: &BTreeMap<String, Vec<String>>, runs: Option<usize>) -> Markup {
    let count = one.combinations.len();
    let levels = one.levels(all);
    let varying = |levels: &Levels| {
        let several = |factor: &String| all.get(factor).is_some_and(|levels| levels.len() > 1);
        let varying: Levels = levels
            .iter()
            .filter(|(f, _)| several(f))
            .map(|(f, l)| (f.clone(), l.clone()))
            .collect();
        describe(if varying.is_empty() { levels } else { &varying })
    };
    let each: Vec<String> = one.combinations.iter().map(|levels| varying(levels)).collect();
    html! {
        (one.reason) ": "
        @if each.len() <= FEW { (each.join("; ")) }
        @else { (count) " configurations" @if !levels.is_empty() { ", " (levels) } }
        @match runs {
            Some(1) => " (1 run)",
            Some(runs) => { " (" (runs) " runs)" }
            None => " (by the study's file)",
        }
        @if each.len() > FEW {
            details { summary { "The " (count) " configurations" } ul { @for one in &each { li { (one) } } } }
        }
    }
}
