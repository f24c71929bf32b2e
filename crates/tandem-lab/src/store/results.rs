//! What the report is made of.

use std::collections::HashSet;
use std::path::Path;

use super::{Asked, Contents, StoreError};
use crate::checklist;
use crate::plan::Selected;
use crate::record::Record;
use crate::report::{Results, StudyResults};

impl Contents {
    /// Results by study, in the order in which studies were asked for.
    ///
    /// # Errors
    /// [`StoreError`]: a study of the folder cannot be read (by this version of the lab).
    pub fn results(&self, dir: &Path) -> Result<Results, StoreError> {
        let of = |asked| study(asked, &self.records);
        Ok(Results {
            dir: dir.to_owned(),
            studies: self.manifest.studies.iter().map(of).collect::<Result<_, _>>()?,
            environments: self.environments.clone(),
            commands: self.manifest.commands.clone(),
        })
    }
}

fn study(asked: &Asked, records: &[Record]) -> Result<StudyResults, StoreError> {
    let study = asked.given()?.study;
    let own = |record: &&Record| record.study == asked.study && record.scale == asked.scale;
    let mut records: Vec<Record> = records.iter().filter(own).cloned().collect();
    checklist::mark_sets(&mut records);
    let selected = Selected::new(&study, &asked.scale, &asked.only)?;
    let tried: HashSet<&str> = records.iter().map(|record| record.id.as_str()).collect();
    let planned = selected.configurations.iter().flat_map(|one| {
        (1..=asked.repetitions(&selected)).map(move |repetition| format!("{}-{repetition}", one.id))
    });
    let open = planned.filter(|id| !tried.contains(id.as_str())).count();
    let open = u32::try_from(open).unwrap_or(u32::MAX);
    let left_out = selected.left_out;
    Ok(StudyResults { scale: asked.scale.clone(), records, open, left_out, study })
}
