//! The report: one page that needs nothing else, and its figures and tables as files.
//!
//! All of it comes from records and studies. Whatever they say in words (names, errors, commands) is
//! escaped: a results folder from elsewhere can put nothing but text into the page.

pub mod figure;
pub mod number;
pub mod page;
pub mod published;
mod sample;
mod section;
pub mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::plan::LeftOut;
use crate::record::Record;
use crate::study::Study;

/// What a report is made of.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The results folder; paths of traces are relative to it, and `report/` is made in it.
    pub dir: PathBuf,
    /// The studies, in the order in which they are to be read.
    pub studies: Vec<StudyResults>,
    /// Descriptions of machines, kernels and programs, by the name that records give.
    pub environments: BTreeMap<String, Value>,
    /// The lab's own commands that made these results, as they were given.
    pub commands: Vec<String>,
}

/// A study and what came of it.
#[derive(Debug, Clone)]
pub struct StudyResults {
    /// The study, as it was run.
    pub study: Study,
    /// At which scale.
    pub scale: String,
    /// Its runs: done, failed, skipped; the last word on each.
    pub records: Vec<Record>,
    /// Runs that are planned and have not been tried yet.
    pub open: u32,
    /// What the study leaves out.
    pub left_out: Vec<LeftOut>,
}

/// A report that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct ReportError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub reason: std::io::Error,
}

/// Writes the page to `out`, and every figure (SVG) and table (CSV, JSON) to `report/` in the
/// results folder. Files of the same names are replaced, others left alone.
///
/// # Errors
/// A file or directory could not be written.
pub fn write(results: &Results, out: &Path) -> Result<(), ReportError> {
    let report = page::build(results);
    let dir = results.dir.join("report");
    fs::create_dir_all(&dir).map_err(|reason| ReportError { path: dir.clone(), reason })?;
    let put = |path: PathBuf, text: String| {
        fs::write(&path, text).map_err(|reason| ReportError { path, reason })
    };
    for figure in report.figures() {
        put(dir.join(format!("{}.svg", figure.id)), figure.svg())?;
    }
    for table in report.tables() {
        put(dir.join(format!("{}.csv", table.id)), table.csv())?;
        put(dir.join(format!("{}.json", table.id)), format!("{:#}\n", table.json()))?;
    }
    put(out.to_owned(), report.html())
}

/// A name that can be a file's and an element's: small letters, digits, hyphens.
fn slug(parts: &[&str]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let joined: String = parts.join("-").chars().map(plain).collect();
    let words: Vec<_> = joined.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-").chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_harmless() {
        assert_eq!(slug(&["../../etc", "a b/C"]), "etc-a-b-c");
        assert_eq!(slug(&["\"><script>"]), "script");
        assert_eq!(slug(&["..", "/"]), "");
    }
}
