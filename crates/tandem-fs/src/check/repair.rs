//! Repair of a volume that is not mounted.
//!
//! A check says whether anything is wrong. If so, a survey (`survey`) finds the truth in the blocks
//! themselves: which are in use (`base`, `scan`), what directories (`dirs`), records and links
//! (`records`, `mend`) and extents (`contents`) there are, and what leads to what (`verdict`). The
//! result is a plan of repairs, which the caller agrees to or not. Then (`write`) all that is sound
//! stays where it lies, the rest is written behind it, and one checkpoint makes the repaired state
//! the volume's. Nothing that can be read is overwritten before that; only superblocks and label
//! (`pages`), which have their fixed places, are, when they are damaged.
//!
//! Memory: about 40 bytes an i-node, 80 bytes a metadata block, 120 bytes a directory, one bit a
//! data block in use.

mod base;
mod claims;
mod contents;
mod dirs;
mod index;
mod listed;
mod mend;
mod pages;
mod records;
mod report;
mod scan;
mod survey;
mod verdict;
mod write;

use std::sync::Arc;

use tandem_device::Device;

use super::open::data_device;
use super::report::Findings;
use super::{CheckOptions, CheckReport, ProblemKind, Progress, check};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::options::MountOptions;
use crate::volume::Volume;
use base::Source;
use claims::Claims;
use index::Index;
use pages::Pages;
use survey::Survey;

pub use report::{Repair, RepairKind, Repairs};

/// What a repair has found and done.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct RepairReport {
    /// What a check found before; none when there was no volume that could be checked.
    pub before: Option<CheckReport>,
    /// Why it could not be checked.
    pub unchecked: Option<String>,
    /// The repairs that were planned.
    pub repairs: Repairs,
    /// They were made.
    pub made: bool,
    /// What a check found afterwards.
    pub after: Option<CheckReport>,
}

impl RepairReport {
    /// Whether the volume is sound now.
    pub fn is_sound(&self) -> bool {
        self.after.as_ref().or(self.before.as_ref()).is_some_and(CheckReport::is_sound)
    }
}

/// Checks a volume that is not mounted and repairs what is wrong, if `agree` says so after it was
/// shown what was found and what would be done. `data` is `None` when the metadata device holds the
/// data as well. `progress` is told how far it is, from any thread.
///
/// A crash at any time leaves the volume as it was or repaired, and repair can be run again.
///
/// # Errors
/// When there is nothing to repair from, the devices are not those of one volume, a device fails,
/// the memory allowed does not do, or there is no room for the repairs.
pub fn repair(
    meta: Arc<dyn Device>,
    data: Option<Arc<dyn Device>>,
    options: &CheckOptions,
    env: Arc<dyn Env>,
    progress: &(dyn Fn(Progress) + Sync),
    agree: &mut dyn FnMut(&RepairReport) -> bool,
) -> Result<RepairReport> {
    let mut report = RepairReport::default();
    let checked = check(Arc::clone(&meta), data.clone(), options, Arc::clone(&env), progress);
    match checked {
        Ok(found) if found.is_sound() => {
            report.before = Some(found);
            return Ok(report);
        }
        Ok(found) => report.before = Some(found),
        Err(e) => report.unchecked = Some(e.to_string()),
    }
    let mut repairs = Repairs::default();
    let found = pages::superblock(&meta, data.as_ref(), &*env, &mut repairs)?;
    let holder = data_device(&meta, data.clone(), &found.sb, &Findings::default())?;
    let pages = Pages::new(&*meta, &*holder, &found.sb, &mut repairs);
    let source = Source {
        meta: Arc::clone(&meta),
        data: holder,
        named: data.clone(),
        sb: found.sb,
        rebuilt: found.rebuilt,
        options,
        env: &env,
        progress,
    };
    let only_pages = report.before.as_ref().is_some_and(|found| {
        let of_page = |kind| matches!(kind, ProblemKind::Superblock | ProblemKind::DataLabel);
        found.unverified.is_empty()
            && found.problems_total == found.problems.len() as u64
            && found.problems.iter().all(|problem| of_page(problem.kind))
    });
    if only_pages {
        report.repairs = repairs;
        if !agree(&report) {
            return Ok(report);
        }
    } else {
        let survey = Survey::new(&source, repairs)?;
        report.repairs = survey.repairs.clone();
        if !agree(&report) {
            return Ok(report);
        }
        refuse_read_only(&source)?;
        write::Writer::run(survey)?;
    }
    refuse_read_only(&source)?;
    pages.write(&*source.meta, &*source.data)?;
    // Frees what was unlinked, fills the other checkpoint area, and marks the volume clean.
    let opts = MountOptions { background: false, discard: false, ..MountOptions::default() };
    Volume::open(Arc::clone(&meta), data.clone(), opts, Arc::clone(&env))?.shutdown()?;
    report.made = true;
    report.after = Some(check(meta, data, options, env, progress)?);
    Ok(report)
}

fn refuse_read_only(source: &Source<'_>) -> Result<()> {
    for device in [&source.meta, &source.data] {
        if device.read_only() {
            return Err(Error::Volume {
                device: device.name().into(),
                detail: "is read-only: it cannot be repaired".into(),
            });
        }
    }
    Ok(())
}

impl<'a> Survey<'a> {
    /// Finds out everything, and decides what is to be done.
    fn new(source: &'a Source<'a>, mut repairs: Repairs) -> Result<Survey<'a>> {
        let mut base = source.base(&mut repairs)?;
        let index = Index::new(source, &mut base, &mut repairs)?;
        if index.blocks.is_empty() {
            return Err(pages::nothing_left(&*source.meta));
        }
        let mut survey = Survey {
            source,
            base,
            index,
            dirs: Default::default(),
            inodes: Vec::new(),
            links: Vec::new(),
            refused: Default::default(),
            dropped: Vec::new(),
            moved: Vec::new(),
            claims: Claims::default(),
            crossed: Vec::new(),
            copies: 0,
            repairs,
        };
        survey.find_missing()?;
        survey.find_dirs();
        survey.find_inodes();
        survey.decide();
        survey.find_contents();
        survey.list_unused();
        survey.find_unlisted();
        survey.affordable()?;
        let what = format!("{}: maps, counts and free space", source.meta.name());
        survey.repairs.add(
            RepairKind::Tables,
            what,
            "made anew from what is in use, with a new checkpoint",
        );
        Ok(survey)
    }

    /// Whether there is room and memory for the repairs.
    fn affordable(&self) -> Result<()> {
        let free = self.base.sb.blocks.saturating_sub(self.claims.count());
        let (memory, limit) = (self.claims.memory(), self.source.options.memory);
        if memory > limit {
            return Err(Error::Invalid(format!(
                "{}: its data blocks in use need {memory} bytes of memory: allow more",
                self.base.data.name()
            )));
        }
        if self.copies > free {
            return Err(Error::Volume {
                device: self.base.data.name().into(),
                detail: format!(
                    "{} data blocks that several files claim have to be copied, but only {free} are free; nothing was changed",
                    self.copies
                ),
            });
        }
        Ok(())
    }
}
