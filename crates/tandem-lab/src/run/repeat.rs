//! Repetitions until intervals are narrow enough (Wright et al. 2005: Auto-pilot).

use crate::plan::Configuration;
use crate::record::{Metric, Phase, Record, Status};
use crate::stats::Level;
use crate::stats::interval::relative_width;
use crate::study::Study;

/// Configurations whose intervals are too wide after the blocks before `repetition`.
pub(super) fn wanting<'c>(
    study: &Study,
    all: &[&'c Configuration],
    records: &[Record],
    repetition: u32,
    width: f64,
) -> Vec<&'c Configuration> {
    let Some(figure) = study.figure.first() else { return Vec::new() };
    let of = |one: &Configuration| -> Vec<&Record> {
        let before = (1..repetition).map(|nth| format!("{}-{nth}", one.id));
        let before: Vec<String> = before.collect();
        records.iter().filter(|record| before.contains(&record.id)).collect()
    };
    let wide = |one: &&&Configuration| too_wide(&of(one), &figure.metric, &figure.phases, width);
    all.iter().filter(wide).copied().collect()
}

/// Is the 95 % interval of any of the phases wider than this share of its mean? What has no
/// interval (a run that failed, a mean of zero) gains nothing from more runs.
fn too_wide(records: &[&Record], metric: &Metric, phases: &[String], width: f64) -> bool {
    let done: Vec<&&Record> = records.iter().filter(|r| r.status == Status::Done).collect();
    let wanted =
        |phase: &&Phase| phase.measured && (phases.is_empty() || phases.contains(&phase.name));
    let names = done.first().map(|r| r.phases.iter().filter(wanted).map(|phase| &phase.name));
    names.into_iter().flatten().any(|name| {
        let value = |record: &&&Record| {
            record.phases.iter().find(|phase| phase.name == *name)?.metric(metric)
        };
        let values: Vec<f64> = done.iter().filter_map(value).collect();
        let now = relative_width(&values, Level::P95);
        matches!(now, Ok(Some(now)) if now > width)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Levels, SCHEMA};

    fn records(values: &[f64]) -> Vec<Record> {
        let record = |value: &f64| Record {
            schema: SCHEMA,
            id: "a-1".into(),
            study: "s".into(),
            scale: "quick".into(),
            levels: Levels::new(),
            memory: None,
            repetition: 1,
            order: 1,
            seed: 1,
            started: 0.0,
            elapsed: 1.0,
            status: Status::Done,
            environment: String::new(),
            commands: Vec::new(),
            phases: vec![
                Phase { name: "p".into(), measured: true, seconds: *value, ..Phase::default() },
                Phase { name: "aside".into(), seconds: value * value, ..Phase::default() },
            ],
            flags: Vec::new(),
        };
        values.iter().map(record).collect()
    }

    fn wide(records: &[Record], width: f64) -> bool {
        too_wide(&records.iter().collect::<Vec<_>>(), &Metric::Seconds, &[], width)
    }

    /// Mean 10, standard deviation 0.1, n = 3: the interval is 4.303 x 0.1 / sqrt 3 to either side.
    #[test]
    fn width_of_the_interval_decides() {
        let three = records(&[9.9, 10.0, 10.1]);
        assert!(wide(&three, 0.049));
        assert!(!wide(&three, 0.050));
    }

    #[test]
    fn what_has_no_interval_is_let_be() {
        assert!(!wide(&records(&[5.0]), 0.01));
        assert!(!wide(&records(&[0.0, 0.0, 0.0]), 0.01));
        let mut failed = records(&[9.0, 10.0, 11.0]);
        failed.iter_mut().for_each(|record| record.status = Status::Failed("x".into()));
        assert!(!wide(&failed, 0.01));
        assert!(!wide(&[], 0.01));
    }
}
