use super::*;
use crate::record::{Phase, SCHEMA, Status};

const STUDY: &str = r#"
    name = "s"
    title = "t"
    workload = "w"
    [factors]
    filesystem = ["tandem", "ext2", "xfs"]
    processes = [1, 4]
    [scale.quick]
    repetitions = 3
    size = "1G"
    [[anova]]
    title = "Time"
    metric = "seconds"
    factors = ["filesystem", "processes"]
"#;

/// Three runs of each combination; seconds by what `mean` says.
fn records(mean: impl Fn(&str, u32) -> f64) -> Vec<Record> {
    let mut records = Vec::new();
    for filesystem in ["tandem", "ext2", "xfs"] {
        for processes in [1, 4] {
            for (repetition, noise) in [(1, -0.25), (2, 0.05), (3, 0.2)] {
                let levels =
                    [("filesystem", filesystem.to_owned()), ("processes", processes.to_string())];
                let seconds = mean(filesystem, processes) + noise;
                records.push(Record {
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
                    phases: vec![Phase {
                        name: "read".into(),
                        measured: true,
                        seconds,
                        ..Phase::default()
                    }],
                    flags: Vec::new(),
                });
            }
        }
    }
    records
}

fn additive(filesystem: &str, processes: u32) -> f64 {
    let own = match filesystem {
        "tandem" => 10.0,
        "ext2" => 20.0,
        _ => 15.0,
    };
    own + f64::from(processes)
}

fn analysed(text: &str, records: &[Record]) -> AnovaData {
    let study: Study = toml::from_str(text).unwrap();
    variance(&study, &study.anova[0], records, &Options::default())
}

#[test]
fn main_effects_without_interaction() {
    let data = analysed(STUDY, &records(additive));
    let [panel] = &data.panels[..] else { panic!() };
    let table = panel.table.as_ref().unwrap();
    let effects: Vec<f64> = table.terms[0].effects.iter().map(|effect| effect.value).collect();
    for (effect, expected) in effects.iter().zip([-5.0, 5.0, 0.0]) {
        assert!((effect - expected).abs() < 1e-9, "{effects:?}");
    }
    assert!(table.terms[1].p.unwrap() < 0.001 && table.terms[2].p.unwrap() > 0.9);
    assert!(panel.sentences[0].contains("filesystem 87"), "{:?}", panel.sentences);
    assert!(
        panel.sentences[1].starts_with("Not shown to matter: the interaction of"),
        "{:?}",
        panel.sentences
    );
    let pair = panel.pairs.iter().find(|pair| pair.a == "tandem" && pair.b == "ext2").unwrap();
    assert!(
        (pair.difference + 10.0).abs() < 1e-9 && pair.interval.contains(-10.0) && pair.p < 1e-6
    );
    let checks = panel.checks.as_ref().unwrap();
    assert_eq!((checks.residuals.len(), checks.normal_points.len()), (18, 18));
    // The same three errors in every cell: as equal as variances can be, and nothing like normal.
    assert!(
        checks.variances.unwrap().p > 0.99 && checks.normality.unwrap().p < 0.05 && !checks.hold
    );
    assert!(panel.ranks.iter().find(|rank| rank.factor == "filesystem").unwrap().p < 0.01);
}

#[test]
fn a_factor_that_is_not_named_makes_panels() {
    let text = STUDY.replace(r#""filesystem", "processes"]"#, r#""filesystem"]"#);
    let data = analysed(&text, &records(additive));
    assert_eq!(data.panel_factors, ["processes"]);
    let levels: Vec<&str> =
        data.panels.iter().map(|panel| panel.levels["processes"].as_str()).collect();
    assert_eq!(levels, ["1", "4"]);
    assert_eq!(data.panels[0].table.as_ref().unwrap().error.dof, 6);
}

#[test]
fn a_hole_costs_a_level_and_is_told() {
    let holed: Vec<Record> = records(additive)
        .into_iter()
        .filter(|r| {
            (r.levels["filesystem"].as_str(), r.levels["processes"].as_str()) != ("xfs", "4")
        })
        .collect();
    let data = analysed(STUDY, &holed);
    let panel = &data.panels[0];
    let table = panel.table.as_ref().unwrap();
    assert_eq!(table.factors[0].levels, ["tandem", "ext2"]);
    assert_eq!(panel.left_out.len(), 1);
    assert!(panel.sentences.contains(&panel.left_out[0]));
}

#[test]
fn unequal_replications_are_told() {
    let data = analysed(STUDY, &records(additive)[1..]);
    let panel = &data.panels[0];
    assert!(!panel.table.as_ref().unwrap().balanced);
    assert!(panel.sentences.iter().any(|sentence| sentence.contains("2 to 3 runs")));
}

#[test]
fn unequal_variances_bring_ranks_and_logarithms() {
    let mut wild = records(additive);
    for record in wild.iter_mut().filter(|record| record.levels["filesystem"] == "xfs") {
        record.phases[0].seconds = 300.0 + 100.0 * f64::from(record.repetition * record.repetition);
    }
    let panel = &analysed(STUDY, &wild).panels[0];
    assert!(!panel.checks.as_ref().unwrap().hold);
    assert!(panel.sentences.iter().any(|sentence| sentence.contains("by ranks")));
    assert!(panel.sentences.iter().any(|sentence| sentence.contains("logarithm = true")));
}

#[test]
fn logarithms_make_effects_factors() {
    let text = format!("{STUDY}logarithm = true\n");
    let doubled = records(|filesystem, _| if filesystem == "ext2" { 4e3 } else { 1e3 });
    let panel = &analysed(&text, &doubled).panels[0];
    let effects = &panel.table.as_ref().unwrap().terms[0].effects;
    assert!((effects[1].value.exp() / effects[0].value.exp() - 4.0).abs() < 1e-3);
    let zero = records(|_, _| 0.0);
    let refused = &analysed(&text, &zero).panels[0];
    assert!(refused.table.is_none() && refused.refused.as_ref().unwrap().contains("no logarithm"));
}

#[test]
fn values_without_a_logarithm_cost_a_level() {
    let text = format!("{STUDY}logarithm = true\n");
    let mut nearly = records(additive);
    let idle = |r: &&mut Record| r.levels["filesystem"] == "xfs" && r.repetition == 2;
    nearly.iter_mut().filter(idle).for_each(|record| record.phases[0].seconds = 0.0);
    let panel = &analysed(&text, &nearly).panels[0];
    let table = panel.table.as_ref().unwrap();
    assert_eq!(table.factors[0].levels, ["tandem", "ext2"]);
    assert!(panel.left_out[0].starts_with("2 of the combinations"), "{:?}", panel.left_out);
    assert!(panel.left_out[1].starts_with("filesystem xfs"), "{:?}", panel.left_out);
}

#[test]
fn no_replication_is_refused() {
    let once: Vec<Record> = records(additive).into_iter().filter(|r| r.repetition == 1).collect();
    let panel = &analysed(STUDY, &once).panels[0];
    assert!(panel.refused.as_ref().unwrap().contains("measured twice"), "{panel:?}");
}

#[test]
fn exact_repetitions_have_nothing_to_be_tested_against() {
    let mut exact = records(additive);
    for record in &mut exact {
        record.phases[0].seconds = additive(&record.levels["filesystem"], 1);
    }
    let panel = &analysed(STUDY, &exact).panels[0];
    let table = panel.table.as_ref().unwrap();
    assert_eq!((table.error.ss, table.terms[0].f), (0.0, None));
    assert!(panel.sentences.iter().any(|sentence| sentence.contains("do not differ at all")));
}
