//! The page's sections.

mod figures;
mod found;
mod left_out;
mod machine;
mod maps;
mod overview;
mod paper;
mod runs;
mod variance;

pub use found::found;
pub use machine::machine;

use std::path::Path;

use crate::analysis::StudyData;

use super::page::{Block, Section};
use super::published::Paper;
use super::{StudyResults, slug};

/// All of a study.
pub fn study(of: &StudyResults, data: &StudyData, papers: &[Paper], dir: &Path) -> Section {
    let mut section = Section::new(format!("{}: {}", of.study.name, of.study.title));
    section.id = id(data);
    section.blocks.extend(overview::blocks(of));
    section.blocks.push(found::study(data));
    section.blocks.extend(paper::blocks(of, papers));
    section.blocks.extend(figures::blocks(of, data, papers));
    section.blocks.extend(variance::blocks(of, data));
    section.blocks.extend(maps::blocks(of, dir));
    section.blocks.push(Block::Heading("Runs".to_owned()));
    section.blocks.extend(runs::blocks(of));
    section
}

/// Where links to a study go.
fn id(data: &StudyData) -> String {
    slug(&["study", &data.study, &data.scales.join("-")])
}
