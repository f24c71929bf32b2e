use super::*;

const GOOD: &str = r#"name = "mine"
title = "A study of mine"
workload = "io-bound"
[factors]
filesystem = ["ext2", "ext4", "bare"]
processes = [1, 4]
mechanism = ["on", "off"]
[change.filesystem.bare]
base = "ext4"
mkfs = ["-O", "^has_journal"]
[change.mechanism.on]
[change.mechanism.off]
mount = "noatime"
[[exclude]]
levels = { filesystem = "ext2", processes = 4 }
reason = "not wanted"
[baseline]
filesystem = "ext2"
[scale.quick]
repetitions = 3
size = "64M"
factors = { processes = [1] }
[scale.full]
repetitions = 3
width = 0.1
most = 20
size = "1G"
[[figure]]
title = "Time"
metric = "io_seconds"
panels = ["processes"]
normalized = true
[[anova]]
title = "Why"
metric = "seconds"
factors = ["filesystem", "phase"]
"#;

#[test]
fn a_good_one_is_read() {
    let given = Given::parse("mine.toml", GOOD).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(given.text, GOOD);
    assert_eq!(given.study.exclude[0].levels["processes"], "4");
}

/// What is written instead, and where the complaint must be and what it must say.
const WRONG: &[(&str, &str, &str, &str)] = &[
    ("title = \"A study of mine\"", "titel = \"x\"", "mine.toml:2: titel: ", "`title`"),
    ("title = \"A study of mine\"", "title = \"x", "mine.toml:2: ", "string"),
    ("name = \"mine\"", "name = \"My study\"", "mine.toml:1: name: ", "small letters"),
    ("workload = \"io-bound\"", "workload = \"io\"", ":3: workload: ", "io-bound"),
    ("\"ext4\", \"bare\"", "\"ext5\", \"bare\"", ":5: factors.filesystem: ", "ext4, xfs"),
    ("\"ext2\", \"ext4\", \"bare\"", "", ":5: factors.filesystem: ", "at least one"),
    ("[1, 4]", "[1, 1, 4]", ":6: factors.processes: ", "twice"),
    ("[1, 4]", "[0, 1, 4]", ":6: factors.processes: ", "from 1 to 1024"),
    ("[1, 4]", "[1, 4, [2]]", ":6: factors.processes: ", "a number"),
    ("processes = [1, 4]", "disk = [\"st\"]\nprocesses = [1, 4]", ":6: factors.disk: ", "st34310a"),
    (
        "[\"on\", \"off\"]",
        "[\"on\", \"off\", \"half\"]",
        ":7: factors.mechanism: ",
        "change.mechanism.half",
    ),
    ("base = \"ext4\"", "base = \"ext9\"", ":9: change.filesystem.bare.base: ", "ext2, ext3"),
    ("[change.mechanism.on]", "[change.mechanism.no]", "change.mechanism.no: ", "it has on, off"),
    ("[change.mechanism.on]", "[change.machine.on]", "change.machine: ", "filesystem, mechanism"),
    ("mount = \"noatime\"", "mount = 5", ":13: change.mechanism.off.mount: ", "string"),
    ("workload = \"io-bound\"", "workload = \"io-bound\"\nmemory = \"32M\"", ":4: memory: ", "64M"),
    (
        "workload = \"io-bound\"",
        "workload = \"io-bound\"\nmemory = \"half\"",
        ":4: memory: ",
        "512M",
    ),
    ("workload = \"io-bound\"", "workload = \"io-bound\"\nmemory = 256", ":4: memory: ", "string"),
    (
        "mount = \"noatime\"",
        "memory = \"1M\"",
        ":13: change.mechanism.off.memory: ",
        "programs themselves",
    ),
    ("size = \"64M\"", "size = \"64M\"\nmemory = \"63M\"", ":22: scale.quick.memory: ", "64M"),
    (
        "[scale.full]",
        "change.mechanism.off = { memory = \"x\" }\n[scale.full]",
        ":23: scale.quick.change.mechanism.off.memory: ",
        "no size",
    ),
    ("filesystem = \"ext2\", processes = 4", "", ":15: exclude.1.levels: ", "leaves nothing"),
    ("processes = 4 }", "processes = 2 }", ":15: exclude.1.levels.processes: ", "it has 1, 4"),
    ("reason = \"not wanted\"", "reason = \"\"", ":16: exclude.1.reason: ", "say why"),
    (
        "[baseline]\nfilesystem = \"ext2\"",
        "[baseline]\nfilesystem = \"xfs\"",
        ":18: baseline.filesystem: ",
        "bare",
    ),
    ("[baseline]\nfilesystem = \"ext2\"", "", "figure.1.normalized: ", "baseline"),
    (
        "repetitions = 3\nsize = \"64M\"",
        "repetitions = 2\nsize = \"64M\"",
        ":20: scale.quick.repetitions: ",
        "--trial",
    ),
    ("size = \"64M\"", "size = \"64 MB\"", ":21: scale.quick.size: ", "512M"),
    ("size = \"64M\"", "size = \"1M\"", ":21: scale.quick.size: ", "16M"),
    ("size = \"64M\"", "size = 64", ":21: scale.quick.size: ", "string"),
    (
        "{ processes = [1] }",
        "{ processes = [8] }",
        ":22: scale.quick.factors.processes: ",
        "it has 1, 4",
    ),
    (
        "{ processes = [1] }",
        "{ filesystem = [\"ext4\"] }",
        "scale.quick.factors.filesystem: ",
        "baseline",
    ),
    ("width = 0.1", "width = 5.0", ":25: scale.full.width: ", "between 0 and 1"),
    ("width = 0.1\n", "", "scale.full.most: ", "width"),
    ("most = 20\n", "", ":25: scale.full.width: ", "most"),
    ("most = 20", "most = 2", ":26: scale.full.most: ", "repetitions"),
    ("\"io_seconds\"", "\"io_time\"", ":30: figure.1.metric: ", "io_seconds"),
    ("panels = [\"processes\"]", "panels = [\"process\"]", ":31: figure.1.panels: ", "processes"),
    ("panels = [\"processes\"]", "panels = [\"filesystem\"]", ":31: figure.1.panels: ", "already"),
    ("panels = [\"processes\"]", "phases = [\"nap\"]", ":31: figure.1.phases: ", "has no phase"),
    (
        "[\"filesystem\", \"phase\"]",
        "[\"filesystem\", \"time\"]",
        ":36: anova.1.factors: ",
        "phase",
    ),
    (
        "[\"filesystem\", \"phase\"]",
        "[\"filesystem\", \"filesystem\"]",
        ":36: anova.1.factors: ",
        "once",
    ),
];

#[test]
fn wrong_ones_are_told_where_and_what() {
    for (good, wrong, place, says) in WRONG {
        let text = GOOD.replacen(good, wrong, 1);
        assert_ne!(text, GOOD, "{good}");
        let error = Given::parse("mine.toml", &text).map(|_| ()).expect_err(wrong).to_string();
        let line = error.lines().find(|line| line.contains(place));
        assert!(line.is_some_and(|line| line.contains(says)), "{wrong}\n{error}");
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let text = GOOD.replacen("\"ext4\", ", "\"ext5\", ", 1).replacen("not wanted", " ", 1);
    let error = Given::parse("mine.toml", &text).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 2, "{error}");
}

#[test]
fn exclusions_leave_something() {
    let text = GOOD.replacen("filesystem = \"ext2\", processes = 4", "processes = 1", 1);
    let error = Given::parse("mine.toml", &text).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("exclude: at scale quick nothing is left"), "{error}");
}

#[test]
fn names_and_paths() {
    assert!(Given::find("io-bound").is_ok());
    let error = Given::find("io-bond").unwrap_err().to_string();
    assert!(error.contains("io-bound") && error.contains("./io-bond.toml"), "{error}");
    assert!(matches!(Given::find("./none.toml"), Err(StudyError::Unreadable { .. })));
}
