//! Figures and analyses of variance: of metrics, phases and factors that exist.

use std::collections::BTreeSet;

use super::{Checker, Factors, no_factor, strangers};
use crate::{plan, workload};

impl Checker<'_> {
    pub(super) fn results(&mut self, factors: &Factors) {
        let phases = self.phases();
        for (at, figure) in self.study.figure.iter().enumerate() {
            let at = (at + 1).to_string();
            self.known_phases(&["figure", &at, "phases"], &figure.phases, &phases);
            self.factor(&["figure", &at, "by"], &figure.by, factors);
            for panel in &figure.panels {
                self.factor(&["figure", &at, "panels"], panel, factors);
                if *panel == figure.by {
                    let text = format!("{panel} is `by` already");
                    self.wrong(&["figure", &at, "panels"], text);
                }
            }
            if figure.normalized && self.study.baseline.is_empty() {
                let text =
                    "divided by what? There is no baseline: [baseline] filesystem = \"ext2\"";
                self.wrong(&["figure", &at, "normalized"], text);
            }
        }
        for (at, anova) in self.study.anova.iter().enumerate() {
            let at = (at + 1).to_string();
            self.known_phases(&["anova", &at, "phases"], &anova.phases, &phases);
            let key = ["anova", &at, "factors"];
            for factor in &anova.factors {
                self.factor(&key, factor, factors);
                let levels = factors.get(factor).map_or(2, Vec::len);
                if levels < 2 {
                    self.wrong(&key, format!("{factor} has one level: it explains nothing"));
                }
            }
            let distinct: BTreeSet<_> = anova.factors.iter().collect();
            if anova.factors.is_empty() || distinct.len() < anova.factors.len() {
                self.wrong(&key, "name the factors that explain it, each once");
            }
        }
    }

    fn factor(&mut self, key: &[&str], factor: &str, factors: &Factors) {
        if factor != "phase" && !factors.contains_key(factor) {
            let text = format!("{}, and phase", no_factor(factor, factors));
            self.wrong(key, text);
        }
    }

    fn known_phases(&mut self, key: &[&str], asked: &[String], phases: &BTreeSet<String>) {
        for phase in strangers(asked, phases) {
            let known: Vec<&str> = phases.iter().map(String::as_str).collect();
            let workload = &self.study.workload;
            let text = format!("{workload} has no phase {phase:?}; it has {}", known.join(", "));
            self.wrong(key, text);
        }
    }

    /// The phases of all configurations: a parameter may add some.
    fn phases(&self) -> BTreeSet<String> {
        let mut phases = BTreeSet::new();
        for (name, scale) in &self.study.scale {
            let Ok((kept, _)) = plan::configurations(self.study, name, scale) else { continue };
            for configuration in kept {
                let known = workload::phases(&configuration.workload(0)).unwrap_or_default();
                phases.extend(known.into_iter().map(|phase| phase.name));
            }
        }
        phases
    }
}
