use super::*;
use crate::record::{DeviceIo, SCHEMA};

const MACHINE: Machine = Machine { memory: 1 << 30, swapped: 0 };

fn phase(seconds: f64, cold: bool, written: u64) -> Phase {
    let devices = vec![DeviceIo { write_sectors: written / 512, ..DeviceIo::default() }];
    Phase { name: "p".into(), measured: true, seconds, cold, devices, ..Phase::default() }
}

fn rules(flags: &[Flag]) -> Vec<&str> {
    flags.iter().map(|flag| flag.rule.as_str()).collect()
}

#[test]
fn a_good_run_has_no_flag() {
    let judged = judge(&[phase(60.0, true, 0), phase(61.0, false, 2 << 30)], MACHINE);
    assert_eq!(judged, []);
}

#[test]
fn each_rule_is_seen() {
    assert_eq!(rules(&judge(&[phase(59.9, true, 0)], MACHINE)), ["short-phase"]);
    assert_eq!(rules(&judge(&[phase(0.9, true, 0)], MACHINE)), ["short-phase", "few-ticks"]);
    assert_eq!(rules(&judge(&[phase(60.0, false, 1 << 20)], MACHINE)), ["fits-memory"]);
    let swapping = Machine { swapped: 3, ..MACHINE };
    assert_eq!(rules(&judge(&[phase(60.0, true, 0)], swapping)), ["swapped"]);
    let aside = Phase { measured: false, ..phase(0.1, false, 0) };
    assert_eq!(judge(&[aside], MACHINE), []);
}

#[test]
fn what_fits_is_judged_by_the_bound() {
    let phases = [phase(60.0, false, 256 << 20)];
    assert_eq!(rules(&judge(&phases, MACHINE.with(None))), ["fits-memory"]);
    assert_eq!(judge(&phases, MACHINE.with(Some(64 << 20))), []);
    let flags = judge(&[phase(60.0, false, 63 << 20)], MACHINE.with(Some(64 << 20)));
    assert!(flags[0].text.contains("memory (64 MiB)"), "{flags:?}");
    assert_eq!(MACHINE.with(Some(1 << 40)), MACHINE);
}

fn runs(values: &[f64]) -> Vec<Record> {
    let record = |(at, value): (usize, &f64)| Record {
        schema: SCHEMA,
        id: format!("a-{}", at + 1),
        study: "s".into(),
        scale: "quick".into(),
        levels: Levels::from([("filesystem".into(), "ext2".into())]),
        memory: None,
        repetition: 1,
        order: 1,
        seed: 1,
        started: 0.0,
        elapsed: 1.0,
        status: Status::Done,
        environment: String::new(),
        commands: Vec::new(),
        phases: vec![phase(*value, true, 0)],
        flags: Vec::new(),
    };
    values.iter().enumerate().map(record).collect()
}

fn marked(mut records: Vec<Record>) -> Vec<Record> {
    mark_sets(&mut records);
    records
}

#[test]
fn few_runs_are_marked() {
    let said = |count: usize| {
        let values: Vec<f64> = (0..count).map(|at| 60.0 + at as f64).collect();
        let records = marked(runs(&values));
        assert!(records.iter().all(|record| record.flags == records[0].flags));
        records[0].flags.first().map(|flag| flag.text.clone())
    };
    assert!(said(2).unwrap().contains("nothing follows"));
    assert!(said(9).unwrap().contains("custom"));
    assert_eq!(said(10), None);
}

#[test]
fn outliers_are_marked() {
    let outliers = |values: &[f64]| -> Vec<String> {
        let outlier = |record: &Record| rules(&record.flags).contains(&"outlier");
        let records = marked(runs(values)).into_iter().filter(outlier);
        records.map(|record| record.id).collect()
    };
    assert_eq!(outliers(&[60.0, 60.5, 61.0, 59.5, 60.2, 80.0]), ["a-6"]);
    assert!(outliers(&[60.0, 60.5, 61.0, 59.5, 60.2, 61.3]).is_empty());
}

#[test]
fn failed_runs_do_not_count() {
    let mut records = runs(&[60.0; 10]);
    records[0].status = Status::Failed("x".into());
    let records = marked(records);
    assert_eq!(records[0].flags, []);
    assert_eq!(rules(&records[1].flags), ["few-runs"]);
}
