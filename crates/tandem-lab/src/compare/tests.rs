use super::*;
use crate::record::{Phase, SCHEMA};

fn runs(filesystem: &str, seconds: &[f64]) -> Vec<Record> {
    let record = |(at, &seconds): (usize, &f64)| Record {
        schema: SCHEMA,
        id: format!("{filesystem}-{at}"),
        study: "s".into(),
        scale: "quick".into(),
        levels: [("filesystem".to_owned(), filesystem.to_owned())].into(),
        memory: None,
        repetition: at as u32 + 1,
        order: at as u32 + 1,
        seed: 1,
        started: 0.0,
        elapsed: 1.0,
        status: Status::Done,
        environment: "e".into(),
        commands: Vec::new(),
        phases: vec![Phase {
            name: "read".into(),
            measured: true,
            seconds,
            values: [("files_per_s".to_owned(), 100.0 / seconds)].into(),
            ..Phase::default()
        }],
        flags: Vec::new(),
    };
    seconds.iter().enumerate().map(record).collect()
}

fn set(factors: [f64; 3]) -> Vec<Record> {
    let mut records = Vec::new();
    for (filesystem, factor) in ["ext4", "tandem", "xfs"].into_iter().zip(factors) {
        let seconds: Vec<f64> =
            [0.99, 1.0, 1.005, 1.01, 0.995].iter().map(|s| s * factor).collect();
        records.extend(runs(filesystem, &seconds));
    }
    records
}

fn rows(comparison: &Comparison) -> Vec<(&str, Verdict)> {
    let row = |row: &'_ Row| row.verdict;
    comparison.rows.iter().map(|r| (r.levels["filesystem"].as_str(), row(r))).collect()
}

#[test]
fn verdicts() {
    let compared = compare(&set([1.0, 2.0, 3.0]), &set([1.0, 2.4, 2.4]), &Options::default());
    assert_eq!(
        rows(&compared),
        [
            ("tandem", Verdict::Regressed),
            ("xfs", Verdict::Improved),
            ("ext4", Verdict::NoDifference)
        ]
    );
    assert_eq!(compared.verdict(), Verdict::Regressed);
    let tandem = &compared.rows[0];
    assert!((tandem.change.unwrap() - 0.2).abs() < 1e-9 && tandem.interval.unwrap().contains(0.2));
    assert_eq!(compared.comparisons, 3);
    let seconds = &compared.lines[0];
    assert!((seconds.ratio.unwrap().powi(3) - 1.2 * 0.8).abs() < 1e-9);
    assert!(seconds.shift.unwrap().p > 0.3);
}

#[test]
fn what_is_small_does_not_count() {
    let (before, after) = (set([1.0, 2.0, 3.0]), set([1.0, 2.08, 3.0]));
    let strict = Options { threshold: 0.01, ..Options::default() };
    assert_eq!(compare(&before, &after, &Options::default()).verdict(), Verdict::NoDifference);
    assert_eq!(compare(&before, &after, &strict).verdict(), Verdict::Regressed);
}

#[test]
fn rates_are_better_when_higher() {
    let metrics = vec![Metric::Value("files_per_s".into())];
    let options = Options { metrics, ..Options::default() };
    let compared = compare(&set([1.0, 2.0, 3.0]), &set([1.0, 1.0, 3.0]), &options);
    assert_eq!(rows(&compared)[0], ("tandem", Verdict::Improved));
}

#[test]
fn a_set_equals_itself() {
    let set = set([1.0, 2.0, 3.0]);
    let compared = compare(&set, &set, &Options::default());
    assert_eq!(compared.count(Verdict::NoDifference), 3);
    let line = compared.lines[0].line.as_ref().unwrap();
    assert!((line.slope - 1.0).abs() < 1e-12 && line.intercept.abs() < 1e-12);
    assert_eq!((compared.lines[0].ratio, compared.lines[0].shift), (Some(1.0), None));
}

#[test]
fn what_only_one_set_has_is_named() {
    let mut after = set([1.0, 2.0, 3.0]);
    after.retain(|record| record.levels["filesystem"] != "xfs");
    after.push(Record { status: Status::Failed("no".into()), ..runs("xfs", &[1.0]).remove(0) });
    let compared = compare(&set([1.0, 2.0, 3.0]), &after, &Options::default());
    assert_eq!(compared.only_before.len(), 1);
    assert_eq!((compared.after.done, compared.after.failed), (10, 1));
    let text = compared.text(false);
    assert!(text.contains("Only in the first set: s quick: filesystem xfs."), "{text}");
    assert!(text.contains("The second set: 10 done, 1 failed"), "{text}");
}

#[test]
fn one_run_shows_nothing() {
    let compared = compare(&runs("ext4", &[1.0]), &runs("ext4", &[9.0]), &Options::default());
    assert_eq!(compared.verdict(), Verdict::NotComparable);
    assert_eq!(compare(&[], &[], &Options::default()).verdict(), Verdict::NotComparable);
}

#[test]
fn text_has_the_rows_that_differ() {
    let compared = compare(&set([1.0, 2.0, 3.0]), &set([1.0, 2.4, 3.0]), &Options::default());
    let (some, all) = (compared.text(false), compared.text(true));
    assert!(
        some.contains("tandem") && some.contains("+20.0 %") && !some.contains("filesystem xfs"),
        "{some}"
    );
    assert!(all.contains("filesystem xfs"), "{all}");
    assert!(
        some.contains("1 regressed, 2 no difference shown (95 % together over 3 comparisons"),
        "{some}"
    );
}

#[test]
fn other_bounds_on_memory_are_not_compared() {
    let before = runs("ext4", &[1.0, 1.1, 1.2]);
    let mut after = before.clone();
    after.iter_mut().for_each(|record| record.memory = Some(256 << 20));
    let compared = compare(&before, &after, &Options::default());
    assert!(compared.rows.is_empty());
    let text = compared.text(false);
    assert!(
        text.contains("second set: s quick: filesystem ext4, with at most 256 MiB of memory."),
        "{text}"
    );
    let same = compare(&after, &after, &Options::default());
    assert_eq!(same.rows[0].memory, Some(256 << 20));
}
