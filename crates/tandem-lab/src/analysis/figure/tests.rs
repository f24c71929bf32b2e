use super::*;
use crate::record::{Phase, SCHEMA};

/// A study by file system and processes, and runs of it: (file system, processes, seconds).
fn study() -> Study {
    let text = r#"
        name = "s"
        title = "t"
        workload = "w"
        baseline = { filesystem = "ext2" }
        [factors]
        filesystem = ["tandem", "ext2", "xfs"]
        processes = [1, 4]
        [scale.quick]
        repetitions = 3
        size = "1G"
        [[figure]]
        title = "Time"
        metric = "seconds"
        normalized = true
    "#;
    toml::from_str(text).unwrap()
}

fn run(filesystem: &str, processes: u32, repetition: u32, seconds: f64) -> Record {
    let levels = [("filesystem", filesystem.to_owned()), ("processes", processes.to_string())];
    Record {
        schema: SCHEMA,
        id: format!("{filesystem}-{processes}-{repetition}"),
        study: "s".into(),
        scale: "quick".into(),
        levels: levels.map(|(factor, level)| (factor.to_owned(), level)).into(),
        memory: None,
        repetition,
        order: repetition,
        seed: 1,
        started: 0.0,
        elapsed: 1.0,
        status: Status::Done,
        environment: "e".into(),
        commands: Vec::new(),
        phases: vec![Phase { name: "read".into(), measured: true, seconds, ..Phase::default() }],
        flags: Vec::new(),
    }
}

fn runs() -> Vec<Record> {
    let mut runs = Vec::new();
    for (filesystem, mean) in [("tandem", 1.0), ("ext2", 10.0), ("xfs", 9.9)] {
        for (processes, factor) in [(1, 1.0), (4, 2.0)] {
            for (repetition, noise) in [(1, -0.02), (2, 0.0), (3, 0.03)] {
                runs.push(run(filesystem, processes, repetition, mean * factor * (1.0 + noise)));
            }
        }
    }
    runs
}

fn drawn(records: &[Record]) -> FigureData {
    let study = study();
    figure(&study, &study.figure[0], records, &Options::default())
}

#[test]
fn what_varies_becomes_a_panel() {
    let data = drawn(&runs());
    assert_eq!(data.panel_factors, ["processes"]);
    let panels: Vec<&str> =
        data.panels.iter().map(|panel| panel.levels["processes"].as_str()).collect();
    assert_eq!(panels, ["1", "4"]);
    assert_eq!(data.notes.len(), 1);
    let bars = &data.panels[1].groups[0].bars;
    let means: Vec<f64> = bars.iter().map(|bar| bar.summary.as_ref().unwrap().mean).collect();
    for (mean, expected) in means.iter().zip([2.0, 20.0, 19.8]) {
        assert!((mean / expected - 1.0033).abs() < 1e-3, "{means:?}");
    }
}

#[test]
fn bars_are_compared_within_their_panel() {
    let data = drawn(&runs());
    for panel in &data.panels {
        let [tandem, ext2, xfs] = &panel.groups[0].bars[..] else { panic!() };
        assert!(ext2.baseline && ext2.p.is_none());
        assert_eq!(tandem.runs_needed, Some(4));
        let ratio = tandem.ratio.unwrap();
        assert!((ratio.value - 0.1).abs() < 1e-12 && ratio.interval.unwrap().contains(0.1));
        assert!(tandem.p_corrected.unwrap() < 0.01, "{:?}", tandem.p_corrected);
        assert!(xfs.p_corrected.unwrap() > 0.1, "{:?}", xfs.p_corrected);
    }
    assert_eq!(data.comparisons, 4);
    let sentence = data.panels[0].groups[0].bars[0].sentence.as_deref().unwrap();
    assert!(
        sentence.starts_with("read (processes 1): tandem needs 0.100 x (95 % 0.0"),
        "{sentence}"
    );
    assert!(sentence.ends_with("of ext2's application time."), "{sentence}");
    assert_eq!(
        data.sentences[0],
        "Lowest application time on average, of 2 cases: tandem in 2 (told apart from all others in 2)."
    );
    let [_, tandem, xfs] = &data.sentences[..] else { panic!("{:?}", data.sentences) };
    assert!(tandem.starts_with("tandem: 0.100 x (95 % 0.09"), "{tandem}");
    assert!(tandem.ends_with("shown to be lower in 2 of 2 cases, higher in 0."), "{tandem}");
    assert!(xfs.ends_with("shown to be lower in 0 of 2 cases, higher in 0."), "{xfs}");
}

#[test]
fn equals_have_no_best() {
    let mut same = runs();
    for record in &mut same {
        record.phases[0].seconds = 0.0;
    }
    let data = drawn(&same);
    assert!(data.panels.iter().flat_map(|panel| &panel.groups).all(|group| group.best.is_none()));
    assert!(data.sentences.is_empty(), "{:?}", data.sentences);
}

#[test]
fn nothing_is_dropped_in_silence() {
    let mut records = runs();
    records[0].status = Status::Failed("mount: no".into());
    for record in records.iter_mut().filter(|record| record.levels["filesystem"] == "xfs") {
        record.status = Status::Skipped("mkfs.xfs is missing".into());
    }
    let data = drawn(&records);
    let [tandem, _, xfs] = &data.panels[0].groups[0].bars[..] else { panic!() };
    assert_eq!((tandem.values.len(), tandem.runs.done, tandem.runs.failed), (2, 2, 1));
    assert_eq!(tandem.runs.failures[0].ids, ["tandem-1-1"]);
    assert!(xfs.summary.is_none());
    assert_eq!(xfs.absent.as_deref(), Some("skipped: mkfs.xfs is missing"));
}

#[test]
fn order_of_records_does_not_matter() {
    let mut records = runs();
    let before = drawn(&records);
    records.reverse();
    assert_eq!(drawn(&records), before);
}

#[test]
fn a_missing_baseline_leaves_absolute_values() {
    let records: Vec<Record> =
        runs().into_iter().filter(|record| record.levels["filesystem"] != "ext2").collect();
    let data = drawn(&records);
    let bar = &data.panels[0].groups[0].bars[0];
    assert!(bar.ratio.is_none() && bar.summary.is_some());
}

#[test]
fn values_that_are_not_normal_go_by_ranks() {
    let mut records = Vec::new();
    for repetition in 1..=12 {
        let own = f64::from(repetition);
        let late = if repetition == 12 { 60.0 } else { 0.0 };
        records.push(run("tandem", 1, repetition, 1.0 + own / 100.0 + late));
        records.push(run("ext2", 1, repetition, 10.0 + own / 100.0));
        records.push(run("xfs", 1, repetition, 9.0 + own / 100.0));
    }
    let data = drawn(&records);
    let [tandem, _, xfs] = &data.panels[0].groups[0].bars[..] else { panic!() };
    assert!(tandem.normality.unwrap() < 0.01 && xfs.normality.unwrap() > 0.5);
    assert_eq!((tandem.test, xfs.test), (Some(Test::MannWhitney), Some(Test::Welch)));
    assert_eq!(tandem.ratio.unwrap().method, Some(crate::stats::ratio::RatioMethod::Bootstrap));
    assert!(
        data.notes.iter().any(|note| note.starts_with("1 comparison by ranks")),
        "{:?}",
        data.notes
    );
}

#[test]
fn one_run_each_has_values_and_no_more() {
    let once: Vec<Record> = runs().into_iter().filter(|record| record.repetition == 1).collect();
    let data = drawn(&once);
    let tandem = &data.panels[0].groups[0].bars[0];
    assert!(tandem.summary.as_ref().unwrap().interval.is_none() && tandem.p.is_none());
    let sentence = tandem.sentence.as_deref().unwrap();
    assert!(sentence.contains("n = 1, no interval"), "{sentence}");
    assert_eq!(data.sentences[0], "Lowest application time on average, of 2 cases: tandem in 2.");
    assert!(data.sentences[1].ends_with("too few runs for a test."), "{:?}", data.sentences);
}

/// Nothing that is not a number gets into the JSON, where it would become null.
#[test]
fn numbers_are_numbers() {
    let mut exact = runs();
    for record in &mut exact {
        record.phases[0].seconds = 2.0;
    }
    for records in [runs(), exact, Vec::new()] {
        let data = drawn(&records);
        let ratios = data
            .panels
            .iter()
            .flat_map(|p| &p.groups)
            .flat_map(|g| &g.bars)
            .filter_map(|b| b.ratio);
        for ratio in ratios {
            let interval = ratio.interval.map_or(0.0, |interval| interval.low + interval.high);
            assert!((ratio.value + interval).is_finite());
        }
    }
}

#[test]
fn a_panel_has_the_phases_of_its_workload() {
    let mut records = runs();
    for record in records.iter_mut().filter(|record| record.levels["processes"] == "4") {
        record.phases[0].name = "serve".into();
    }
    let data = drawn(&records);
    assert_eq!(data.phases, ["read", "serve"]);
    let groups = |at: usize| -> Vec<&str> {
        data.panels[at].groups.iter().map(|group| group.phase.as_str()).collect()
    };
    assert_eq!((groups(0), groups(1)), (vec!["read"], vec!["serve"]));
}

#[test]
fn counts_are_whole_and_said_once() {
    let mut study = study();
    study.figure[0].metric = Metric::SectorsRead;
    study.baseline.clear();
    let device = crate::record::DeviceIo { read_sectors: 328, ..Default::default() };
    let mut records = runs();
    for record in &mut records {
        record.phases[0].devices = vec![device.clone()];
    }
    let data = figure(&study, &study.figure[0], &records[..1], &Options::default());
    let sentence = data.panels[0].groups[0].bars[0].sentence.as_deref().unwrap();
    assert_eq!(sentence, "read: tandem needs 328 sectors read (n = 1).");
}
