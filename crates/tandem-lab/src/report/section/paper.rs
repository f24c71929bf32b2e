//! What the paper says, beside what is found here.

use maud::html;

use super::super::StudyResults;
use super::super::page::Block;
use super::super::published::Paper;

/// Claims and remarks of the papers whose study this is.
pub fn blocks(of: &StudyResults, papers: &[Paper]) -> Vec<Block> {
    let concerns = |paper: &&Paper| {
        let named = |name: &String| name == &of.study.name;
        let claims = paper.claim.iter().any(|claim| claim.studies.iter().any(named));
        let drawn = of.study.figure.iter().filter_map(|figure| figure.published.as_ref());
        claims || drawn.into_iter().any(|name| paper.series.iter().any(|s| &s.name == name))
    };
    papers.iter().filter(concerns).map(|paper| block(of, paper)).collect()
}

fn block(of: &StudyResults, paper: &Paper) -> Block {
    let claims: Vec<_> =
        paper.claim.iter().filter(|claim| claim.studies.contains(&of.study.name)).collect();
    Block::Text(html! {
        h3 { "What the paper says" }
        p class="note" { (paper.paper) }
        @if !claims.is_empty() {
            p { "In our words:" }
            ul { @for claim in claims {
                li { (claim.text) " (" (claim.place) ")"
                    @if let Some(remark) = &claim.remark { " " strong { (remark) } } }
            } }
        }
        @if !paper.remarks.is_empty() {
            p { "To be known when reading its values:" }
            ul { @for remark in &paper.remarks { li { (remark) } } }
        }
    })
}
