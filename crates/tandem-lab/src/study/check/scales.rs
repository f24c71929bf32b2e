//! How large and how often.

use super::{Checker, Factors};
use crate::study::{Scale, parse_size};
use crate::{plan, workload};

impl Checker<'_> {
    pub(super) fn scales(&mut self, factors: &Factors) {
        if self.study.scale.is_empty() {
            self.wrong(&["scale"], "there is no scale; give at least [scale.full]");
        }
        for (name, scale) in &self.study.scale {
            let before = self.problems.len();
            self.repetitions(name, scale);
            self.size(name, scale);
            self.memory(&["scale", name], scale.memory.as_deref());
            let taken = self.taken(name, scale, factors);
            self.changes(&["scale", name, "change"], &scale.change, factors);
            for (factor, level) in &self.study.baseline {
                if taken.get(factor).is_some_and(|levels| !levels.contains(level)) {
                    let text = format!("the baseline, {level}, is not among the levels");
                    self.wrong(&["scale", name, "factors", factor], text);
                }
            }
            if self.problems.len() == before {
                self.planned(name, scale);
            }
        }
    }

    fn repetitions(&mut self, name: &str, scale: &Scale) {
        let key = |last| ["scale", name, last];
        if scale.repetitions < 3 {
            let text = "fewer than three runs have no interval worth the name; to see whether a \
                        study works at all, `tandem lab run --trial` makes one of each";
            self.wrong(&key("repetitions"), text);
        }
        match (scale.width, scale.most) {
            (Some(width), _) if !(width > 0.0 && width < 1.0) => {
                self.wrong(&key("width"), "a share of the mean, between 0 and 1: 0.05");
            }
            (Some(_), None) => {
                let text = "without `most` it might never end; say how many runs at most";
                self.wrong(&key("width"), text);
            }
            (None, Some(_)) => {
                let text = "without `width` nothing asks for more than `repetitions`";
                self.wrong(&key("most"), text);
            }
            (Some(_), Some(most)) if most < scale.repetitions => {
                let text = format!("less than repetitions, {}", scale.repetitions);
                self.wrong(&key("most"), text);
            }
            (Some(_), _) if self.study.figure.is_empty() => {
                let text = "the first figure's metric is what must be so exact; there is no figure";
                self.wrong(&key("width"), text);
            }
            _ => {}
        }
        if scale.seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite())) {
            self.wrong(&key("seconds"), "how long a run takes, above 0");
        }
    }

    fn size(&mut self, name: &str, scale: &Scale) {
        const LEAST: u64 = 16 << 20;
        match parse_size(&scale.size) {
            Err(text) => self.wrong(&["scale", name, "size"], text),
            Ok(size) if size < LEAST => {
                self.wrong(&["scale", name, "size"], "too small for file systems; 16M or more");
            }
            Ok(_) => {}
        }
    }

    /// The levels at this scale: some of the study's.
    fn taken(&mut self, name: &str, scale: &Scale, factors: &Factors) -> Factors {
        let mut taken = factors.clone();
        for (factor, values) in &scale.factors {
            let key = ["scale", name, "factors", factor];
            let levels = self.levels(&key, values);
            for level in &levels {
                self.level_of(&key, factors, factor, level);
            }
            taken.insert(factor.clone(), levels);
        }
        taken
    }

    /// Something is left, and the workload takes its parameters.
    fn planned(&mut self, name: &str, scale: &Scale) {
        let (kept, _) = match plan::configurations(self.study, name, scale) {
            Ok(configurations) => configurations,
            Err(text) => return self.wrong(&["scale", name], text),
        };
        if kept.is_empty() {
            self.wrong(&["exclude"], format!("at scale {name} nothing is left"));
        }
        let mut said = Vec::new();
        for configuration in kept {
            let spec = configuration.workload(0);
            let Err(error) = workload::phases(&spec) else { continue };
            let text = format!("at scale {name}: {error}");
            if !said.contains(&text) {
                self.wrong(&["parameters"], text.clone());
                said.push(text);
            }
        }
    }
}
