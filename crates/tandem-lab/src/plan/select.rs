//! What is asked for of a study: a scale, and some levels only.

use super::{Configuration, LeftOut, Need, configurations, need};
use crate::study::{Scale, Study};

/// The part of a study that is to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected<'s> {
    /// The study.
    pub study: &'s Study,
    /// How large and how often.
    pub scale: &'s Scale,
    /// What is run.
    pub configurations: Vec<Configuration>,
    /// What the study leaves out.
    pub left_out: Vec<LeftOut>,
}

/// A part that a study does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// No such scale.
    #[error("study {study} has no scale {scale:?}; it has {}", .known.join(", "))]
    Scale {
        /// The study.
        study: String,
        /// What was asked for.
        scale: String,
        /// What there is.
        known: Vec<String>,
    },
    /// No such level.
    #[error("study {study}, at this scale, has no {factor}={level}; it has {}", .known.join(", "))]
    Level {
        /// The study.
        study: String,
        /// What was asked for.
        factor: String,
        /// What was asked for.
        level: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The levels asked for are all excluded.
    #[error("of study {0} nothing is left: its file excludes these combinations")]
    Nothing(String),
    /// A configuration cannot be made.
    #[error("study {0}: {1}")]
    Wrong(String, String),
}

impl<'s> Selected<'s> {
    /// The part of a study at a scale; with `only`, of each factor named there only those levels.
    pub fn new(
        study: &'s Study,
        name: &str,
        only: &[(String, String)],
    ) -> Result<Selected<'s>, SelectError> {
        let Some(scale) = study.scale.get(name) else {
            let known = study.scale.keys().cloned().collect();
            let study = study.name.clone();
            return Err(SelectError::Scale { study, scale: name.to_owned(), known });
        };
        let wrong = |text| SelectError::Wrong(study.name.clone(), text);
        let (mut configurations, mut left_out) =
            configurations(study, name, scale).map_err(wrong)?;
        for (factor, level) in only {
            let has = |one: &Configuration| one.levels.get(factor) == Some(level);
            if !configurations.iter().any(has) {
                return Err(no_level(study, &configurations, factor, level));
            }
        }
        let wanted = |levels: &crate::record::Levels| {
            levels.iter().all(|(factor, level)| {
                let mut asked = only.iter().filter(|(name, _)| name == factor).peekable();
                asked.peek().is_none() || asked.any(|(_, asked)| asked == level)
            })
        };
        configurations.retain(|one| wanted(&one.levels));
        left_out.retain(|out| wanted(&out.levels));
        if configurations.is_empty() {
            return Err(SelectError::Nothing(study.name.clone()));
        }
        Ok(Selected { study, scale, configurations, left_out })
    }

    /// How many runs, at least.
    pub fn runs(&self) -> u64 {
        self.configurations.len() as u64 * u64::from(self.scale.repetitions)
    }

    /// How long all of them take, in seconds, if the study says how long one does.
    pub fn seconds(&self) -> Option<f64> {
        self.scale.seconds.map(|each| each * self.runs() as f64)
    }

    /// What the hungriest run takes: one runs at a time.
    pub fn need(&self) -> Need {
        let needs = self.configurations.iter().map(need);
        needs.fold(Need::default(), |most, one| Need {
            disk: most.disk.max(one.disk),
            memory: most.memory.max(one.memory),
        })
    }
}

fn no_level(study: &Study, kept: &[Configuration], factor: &str, level: &str) -> SelectError {
    let mut known: Vec<String> = if study.factors.contains_key(factor) {
        kept.iter().filter_map(|one| one.levels.get(factor)).cloned().collect()
    } else {
        study.factors.keys().map(|factor| format!("{factor}=…")).collect()
    };
    known.sort();
    known.dedup();
    let (factor, level) = (factor.to_owned(), level.to_owned());
    SelectError::Level { study: study.name.clone(), factor, level, known }
}
