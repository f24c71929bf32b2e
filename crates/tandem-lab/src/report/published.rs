//! What the papers print: their values, and their claims in our words.
//!
//! Only what a paper's text gives is here, with the table or section; values read off a picture are
//! not. Where a printed value cannot be right, the file says why and what fits.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::record::{Levels, Metric};
use crate::stats::Level;
use crate::stats::distribution::t_two_sided;
use crate::stats::interval::mean_interval;

/// A paper.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its number among the project's sources.
    pub seed: String,
    /// Authors and title.
    pub paper: String,
    /// What one has to know to read its values; its errors.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// What it concludes.
    #[serde(default)]
    pub claim: Vec<Claim>,
    /// Its values.
    #[serde(default)]
    pub series: Vec<Series>,
}

/// A conclusion, in our words.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The studies here that ask the same.
    pub studies: Vec<String>,
    /// Section of the paper.
    pub place: String,
    /// What it says.
    pub text: String,
    /// What is wrong with it, if something is.
    #[serde(default)]
    pub remark: Option<String>,
}

/// Values of one kind.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// As a study's figure calls it.
    pub name: String,
    /// The table's heading.
    pub title: String,
    /// Which table or appendix.
    pub place: String,
    /// What was measured.
    pub metric: Metric,
    /// Its unit, as printed.
    pub unit: String,
    /// Runs behind each value.
    pub runs: u32,
    /// How much was done in a run.
    pub work: String,
    /// Of what printed standard deviations are.
    #[serde(default)]
    pub deviation: Deviation,
    /// The factor whose levels [`Group::values`] are.
    #[serde(default = "filesystem")]
    pub by: String,
    /// The values.
    pub group: Vec<Group>,
}

/// Whose standard deviation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Deviation {
    /// The sample's (n - 1).
    #[default]
    Sample,
    /// A population's (n).
    Population,
}

/// Values that differ in one factor only.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Which table, where the series has several.
    #[serde(default)]
    pub place: Option<String>,
    /// The phase, as the workload here calls it.
    pub phase: String,
    /// The other factors.
    #[serde(default)]
    pub levels: Levels,
    /// By level of [`Series::by`].
    pub values: BTreeMap<String, Printed>,
}

/// A value as printed: a mean or raw values.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Printed {
    /// The mean; the one that fits where the printed one cannot be right.
    pub mean: Option<f64>,
    /// The printed standard deviation.
    pub sd: Option<f64>,
    /// The printed half-width of the 95 % interval, in per cent of the mean.
    pub percent: Option<f64>,
    /// The raw values.
    pub raw: Vec<f64>,
    /// What is printed where [`Printed::mean`] is another.
    pub printed: Option<f64>,
    /// Why it is marked.
    pub why: Option<String>,
}

fn filesystem() -> String {
    "filesystem".to_owned()
}

const FILES: [&str; 5] = [
    include_str!("published/dualfs.toml"),
    include_str!("published/layton.toml"),
    include_str!("published/spad.toml"),
    include_str!("published/io-bound.toml"),
    include_str!("published/bonnie.toml"),
];

/// All papers; empty only if a file of this crate were damaged, which a test excludes.
pub fn papers() -> Vec<Paper> {
    FILES.iter().filter_map(|text| toml::from_str(text).ok()).collect()
}

/// The series that a figure asks for, with its paper.
pub fn series<'a>(papers: &'a [Paper], name: &str) -> Option<(&'a Paper, &'a Series)> {
    let of = |paper: &'a Paper| paper.series.iter().map(move |series| (paper, series));
    papers.iter().flat_map(of).find(|(_, series)| series.name == name)
}

impl Printed {
    /// The mean: as given, or of the raw values.
    pub fn mean(&self) -> Option<f64> {
        let raw =
            (!self.raw.is_empty()).then(|| self.raw.iter().sum::<f64>() / self.raw.len() as f64);
        self.mean.or(raw)
    }

    /// Student's interval of the mean, from raw values or the printed deviation; or the printed
    /// one, which is of 95 %.
    pub fn interval(&self, series: &Series, level: Level) -> Option<(f64, f64)> {
        let mean = self.mean()?;
        if let Some(percent) = self.percent {
            let half = mean * percent / 100.0;
            return Some((mean - half, mean + half));
        }
        if !self.raw.is_empty() {
            let interval = mean_interval(&self.raw, level).ok()?;
            return Some((interval.low, interval.high));
        }
        let n = f64::from(series.runs);
        let lost = match series.deviation {
            Deviation::Sample => 1.0,
            Deviation::Population => (n / (n - 1.0)).sqrt(),
        };
        let half = t_two_sided(level, n - 1.0) * self.sd? * lost / n.sqrt();
        Some((mean - half, mean + half)).filter(|_| half.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_whole() {
        let mut names = Vec::new();
        for text in FILES {
            let paper: Paper = toml::from_str(text).expect("published values");
            for series in paper.series {
                for value in series.group.iter().flat_map(|group| group.values.values()) {
                    let given = value.mean.is_some() as u32 + !value.raw.is_empty() as u32;
                    assert_eq!(given, 1, "{}: a mean or raw values", series.name);
                    assert!(value.raw.is_empty() || value.raw.len() == series.runs as usize);
                    assert!(value.printed.is_none() || value.why.is_some());
                }
                names.push(series.name);
            }
        }
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(papers().len(), FILES.len());
    }

    /// Appendix A.3 of seed 004 prints the means of the raw values of A.1, in MB/s.
    #[test]
    fn bonnie_means() {
        let papers = papers();
        let (_, series) = series(&papers, "bonnie-rates").expect("Bonnie");
        let printed = [
            ("read", [12.8930, 13.1416, 12.4252, 12.4135]),
            ("write", [8.6499, 11.7567, 11.5818, 9.8006]),
        ];
        for (phase, means) in printed {
            let group = series.group.iter().find(|group| group.phase == phase).expect(phase);
            for (name, mean) in ["ext2-2.3.0", "ext2", "ext3", "reiserfs"].into_iter().zip(means) {
                let ours = group.values[name].mean().expect("raw values") / 1024.0;
                assert!((ours - mean).abs() < 5.1e-5, "{phase}: {ours} {mean}");
            }
        }
    }

    #[test]
    fn intervals() {
        let papers = papers();
        let (_, bonnie) = series(&papers, "bonnie-rates").expect("Bonnie");
        let group = bonnie.group.iter().find(|group| group.phase == "write").expect("phase");
        let level = Level::new(0.99).expect("a level");
        let (low, high) = group.values["ext2"].interval(bonnie, level).expect("ten values");
        // Appendix A.3's deviation, and Student's t for 99 % and 9 degrees of freedom.
        let half = 0.1716 * 3.2498 / 10f64.sqrt();
        assert!(((high - low) / 1024.0 / 2.0 - half).abs() < 1e-3, "{low} {high}");
        let (_, layton) = series(&papers, "layton-seconds").expect("Layton");
        let printed = &layton.group[0].values["same-disk"];
        let (low, high) = printed.interval(layton, Level::P95).expect("a deviation");
        let half = 2.2622 * 0.83 * (10f64 / 9.0).sqrt() / 10f64.sqrt();
        assert!(((high - low) / 2.0 - half).abs() < 1e-4);
    }
}
