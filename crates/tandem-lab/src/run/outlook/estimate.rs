//! How long a run may take, from those that were made.

use crate::plan::Configuration;
use crate::record::{Record, Status};

/// What the runs of a configuration have taken, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Taken {
    /// The mean of those that were measured.
    measured: Option<f64>,
    /// The mean of those that failed, which may have ended at any point.
    failed: Option<f64>,
    /// There are some that could not be tried.
    skipped: bool,
}

impl Taken {
    /// By these runs of it.
    pub fn of(records: &[&Record]) -> Taken {
        let mean_of = |is: fn(&Status) -> bool| {
            mean(records.iter().filter(|record| is(&record.status)).map(|record| record.elapsed))
        };
        Taken {
            measured: mean_of(|status| matches!(status, Status::Done)),
            failed: mean_of(|status| matches!(status, Status::Failed(_))),
            skipped: records.iter().any(|record| matches!(record.status, Status::Skipped(_))),
        }
    }

    fn own(&self) -> Option<f64> {
        self.measured.or(self.failed).or(self.skipped.then_some(0.0))
    }
}

/// Seconds that a run of a configuration may take: as its own took; else as those that are most like
/// it and were measured; else as its study says.
pub(super) fn estimate(
    one: &Configuration,
    said: Option<f64>,
    taken: &[(&Configuration, Taken)],
) -> Option<f64> {
    let own = taken.iter().find(|(other, _)| other.id == one.id);
    let like: Vec<(Likeness, f64)> = taken
        .iter()
        .filter_map(|(other, taken)| Some((likeness(one, other)?, taken.measured?)))
        .collect();
    let most = like.iter().map(|(likeness, _)| *likeness).max();
    own.and_then(|(_, taken)| taken.own())
        .or_else(|| {
            mean(like.iter().filter(|(like, _)| Some(*like) == most).map(|(_, mean)| *mean))
        })
        .or(said)
}

/// What two configurations have in common, what decides most first: the workload, the file system,
/// the kernel, how many levels.
type Likeness = (bool, bool, bool, usize);

/// None if nothing follows from the one for the other: sizes differ from study to study.
fn likeness(one: &Configuration, other: &Configuration) -> Option<Likeness> {
    let study = one.study == other.study && one.scale == other.scale;
    let (workload, filesystem) =
        (one.workload == other.workload, one.filesystem == other.filesystem);
    let world = one.levels.get("world") == other.levels.get("world");
    let same = |(factor, level)| other.levels.get(factor) == Some(level);
    let levels = one.levels.iter().filter(|(factor, level)| same((*factor, *level))).count();
    (study && (workload || filesystem)).then_some((workload, filesystem, world, levels))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::configurations;
    use crate::study::Given;

    const STUDY: &str = r#"
name = "mixed"
title = "Runs of different length"
workload = "io-bound"
[factors]
filesystem = ["ext2", "ext4", "reiserfs"]
processes = [1, 4]
benchmark = ["io-bound", "postmark"]
[change.benchmark.io-bound]
[change.benchmark.postmark]
workload = "postmark"
[scale.quick]
repetitions = 3
size = "512M"
"#;

    fn all() -> Vec<Configuration> {
        let study = Given::parse("mixed.toml", STUDY).unwrap().study;
        configurations(&study, "quick", &study.scale["quick"]).unwrap().0
    }

    fn find<'c>(all: &'c [Configuration], levels: [&str; 3]) -> &'c Configuration {
        let [filesystem, processes, benchmark] = levels;
        let wanted =
            [("filesystem", filesystem), ("processes", processes), ("benchmark", benchmark)];
        let is = |one: &&Configuration| wanted.iter().all(|(f, l)| one.levels[*f] == *l);
        all.iter().find(is).unwrap()
    }

    fn took(seconds: f64) -> Taken {
        Taken { measured: Some(seconds), ..Taken::default() }
    }

    #[test]
    fn its_own_runs_count_before_all_else() {
        let all = all();
        let one = find(&all, ["reiserfs", "1", "io-bound"]);
        let other = find(&all, ["ext2", "1", "io-bound"]);
        assert_eq!(
            estimate(one, Some(9.0), &[(other, took(2.0)), (one, took(300.0))]),
            Some(300.0)
        );
        let failed = Taken { failed: Some(1.0), ..Taken::default() };
        assert_eq!(estimate(one, Some(9.0), &[(other, took(2.0)), (one, failed)]), Some(1.0));
        let skipped = Taken { skipped: true, ..Taken::default() };
        assert_eq!(estimate(one, Some(9.0), &[(other, took(2.0)), (one, skipped)]), Some(0.0));
    }

    #[test]
    fn then_what_is_most_like_it() {
        let all = all();
        let one = find(&all, ["reiserfs", "4", "io-bound"]);
        let mut taken = vec![
            (find(&all, ["ext2", "4", "postmark"]), took(1.0)),
            (find(&all, ["reiserfs", "4", "postmark"]), took(2.0)),
        ];
        // No run of the workload: of the file system's.
        assert_eq!(estimate(one, Some(9.0), &taken), Some(2.0));
        // Two that are alike: the mean of theirs.
        taken.push((find(&all, ["ext2", "4", "io-bound"]), took(3.0)));
        taken.push((find(&all, ["ext4", "4", "io-bound"]), took(5.0)));
        assert_eq!(estimate(one, Some(9.0), &taken), Some(4.0));
        taken.push((find(&all, ["reiserfs", "1", "io-bound"]), took(300.0)));
        assert_eq!(estimate(one, Some(9.0), &taken), Some(300.0));
    }

    #[test]
    fn then_what_the_study_says() {
        let all = all();
        let one = find(&all, ["reiserfs", "4", "io-bound"]);
        let unlike = find(&all, ["ext2", "4", "postmark"]);
        let mut elsewhere = find(&all, ["reiserfs", "1", "io-bound"]).clone();
        elsewhere.scale = "full".into();
        let failed = Taken { failed: Some(7.0), ..Taken::default() };
        let like = find(&all, ["reiserfs", "1", "io-bound"]);
        let taken = [(unlike, took(1.0)), (&elsewhere, took(2.0)), (like, failed)];
        assert_eq!(estimate(one, Some(9.0), &taken), Some(9.0));
        assert_eq!(estimate(one, None, &taken), None);
    }
}
