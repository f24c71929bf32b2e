//! Analyses of variance: what explains how much, interactions, and whether the model may be used.

mod plots;
mod tables;

use maud::html;

use super::super::page::Block;
use super::super::{StudyResults, slug};
use crate::analysis::{AnovaData, AnovaPanel, StudyData};

/// All analyses of a study.
pub fn blocks(of: &StudyResults, data: &StudyData) -> Vec<Block> {
    data.anovas.iter().enumerate().flat_map(|(at, anova)| analysis(of, anova, at)).collect()
}

fn analysis(of: &StudyResults, anova: &AnovaData, at: usize) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(format!("Analysis of variance: {}", anova.title))];
    for (n, panel) in anova.panels.iter().enumerate() {
        let id = slug(&[
            &of.study.name,
            &of.scale,
            "anova",
            &(at + 1).to_string(),
            &(n + 1).to_string(),
        ]);
        blocks.extend(one(&id, anova, panel));
    }
    if anova.panels.is_empty() {
        let text = html! { p { "No run has " (anova.quantity.name) "." } };
        blocks.push(Block::Text(text));
    }
    blocks
}

fn one(id: &str, anova: &AnovaData, panel: &AnovaPanel) -> Vec<Block> {
    let text =
        html! { ul class="findings" { @for sentence in &panel.sentences { li { (sentence) } } } };
    let mut blocks = vec![Block::Text(text)];
    let Some(table) = &panel.table else { return blocks };
    let place = place(panel);
    blocks.push(Block::Table(tables::variation(&format!("{id}-table"), anova, &place, table)));
    blocks.extend(
        plots::interactions(&format!("{id}-interactions"), anova, &place, table).map(Block::Figure),
    );
    if let Some(checks) = &panel.checks {
        blocks.push(Block::Figure(plots::checks(&format!("{id}-checks"), anova, &place, checks)));
    }
    let mut more =
        vec![Block::Table(tables::effects(&format!("{id}-effects"), anova, &place, table))];
    if !panel.pairs.is_empty() {
        more.push(Block::Table(tables::pairs(&format!("{id}-pairs"), anova, &place, &panel.pairs)));
    }
    if !panel.ranks.is_empty() {
        more.push(Block::Table(tables::ranks(&format!("{id}-ranks"), anova, &place, &panel.ranks)));
    }
    let title =
        format!("{}{place}: effects, differences between levels, tests by ranks", anova.title);
    blocks.push(Block::Folded(title, more));
    blocks
}

/// `, processes 4`; nothing for an analysis of everything.
fn place(panel: &AnovaPanel) -> String {
    panel.levels.iter().map(|(factor, level)| format!(", {factor} {level}")).collect()
}
