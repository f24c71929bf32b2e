//! Invented records, of the shape of real ones. No figure of these was measured anywhere.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tandem_disk::request::Operation;
use tandem_disk::trace::{self, Format};
use tandem_lab::plan::LeftOut;
use tandem_lab::record::{Cpu, DeviceIo, DiskTime, Flag, Phase, Record, SCHEMA, Status};
use tandem_lab::report::{Results, StudyResults};
use tandem_lab::study::Study;

const MICRO: &str = r#"
name = "dualfs-micro"
title = "Seven microbenchmarks"
question = "Does keeping metadata apart, in a log, spare disk time?"
source = "Piernas, Cortes, García: Traditional versus Next-Generation Journaling File Systems"
workload = "dualfs-micro"
exclude = [{ levels = { filesystem = "reiserfs", world = "host" }, reason = "gone from current kernels" }]

[factors]
filesystem = ["tandem", "ext2", "ext3", "ext4", "xfs", "btrfs", "jfs", "reiserfs"]
processes = [1, 4]

[baseline]
filesystem = "ext2"

[scale.quick]
repetitions = 5
size = "512M"

[[figure]]
title = "Disk I/O time"
metric = "io_seconds"
panels = ["processes"]
normalized = true
published = "dualfs-micro-io"

[[figure]]
title = "Application time and flush"
metric = "total_seconds"
panels = ["processes"]
normalized = true

[[figure]]
title = "Sectors"
metric = "sectors"
phases = ["read-meta", "write-meta"]
panels = ["processes"]

[[anova]]
title = "What decides disk I/O time"
metric = "io_seconds"
factors = ["filesystem", "phase"]
logarithm = true
"#;

const BOUND: &str = r#"
name = "io-bound"
title = "The I/O bound property"
workload = "io-bound"

[factors]
filesystem = ["ext2", "ext3", "fat32"]

[scale.quick]
repetitions = 3
size = "512M"

[[figure]]
title = "Sectors read"
metric = "sectors_read"
published = "io-bound-sectors-read"
"#;

const PHASES: [(&str, f64); 7] = [
    ("read-meta", 48.0),
    ("read-data-meta", 130.0),
    ("write-meta", 12.0),
    ("write-data-meta", 95.0),
    ("read-write-meta", 60.0),
    ("read-write-data-meta", 240.0),
    ("delete", 33.0),
];

const SYSTEMS: [(&str, f64); 8] = [
    ("tandem", 0.11),
    ("ext2", 1.0),
    ("ext3", 1.03),
    ("ext4", 0.74),
    ("xfs", 0.52),
    ("btrfs", 0.66),
    ("jfs", 1.4),
    ("reiserfs", 0.19),
];

/// Two studies: one whole, with failures and marks; one of which only a part was run.
pub fn results() -> Results {
    let mut results = Results {
        dir: PathBuf::new(),
        studies: vec![study(MICRO), study(BOUND)],
        environments: BTreeMap::from([(
            "a1b2".to_owned(),
            serde_json::json!({
                "kernel": "6.18.5", "processors": 2, "memory_bytes": 25_000_000_000u64,
                "programs": { "mkfs.ext4": "1.47.0", "mkfs.xfs": "6.1.0" },
                "mitigations": ["spectre_v2: retpoline", "meltdown: not affected"],
            }),
        )]),
        commands: vec![
            "tandem lab run dualfs-micro io-bound --scale quick --out results".to_owned(),
        ],
    };
    results.studies[0].records = micro();
    results.studies[0].left_out = left_out();
    results.studies[1].records = bound();
    results.studies[1].open = 4;
    results
}

fn study(text: &str) -> StudyResults {
    StudyResults {
        study: toml::from_str::<Study>(text).expect("a study"),
        scale: "quick".to_owned(),
        records: Vec::new(),
        open: 0,
        left_out: Vec::new(),
    }
}

/// A few per cent up or down, the same on every machine.
fn noise(seed: u64) -> f64 {
    let mixed = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) ^ seed;
    let share = (mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / (1u64 << 24) as f64;
    1.0 + (share - 0.5) * 0.08
}

fn micro() -> Vec<Record> {
    let mut records = Vec::new();
    for repetition in 1..=5 {
        for (at, (system, factor)) in SYSTEMS.iter().enumerate() {
            for processes in [1u32, 4] {
                let seed = u64::from(repetition) * 1000 + at as u64 * 10 + u64::from(processes);
                let levels = [("filesystem", *system), ("processes", &processes.to_string())];
                let mut record = record("dualfs-micro", &levels, repetition, seed);
                let slower = if *system == "jfs" { 1.9 } else { 1.15 };
                let share = if processes == 4 { factor * slower } else { *factor };
                record.phases = PHASES
                    .iter()
                    .enumerate()
                    .map(|(n, (name, seconds))| {
                        phase(name, seconds * share * noise(seed * 8 + n as u64), seed + n as u64)
                    })
                    .collect();
                if *system == "jfs" && processes == 1 {
                    record.status =
                        Status::Skipped("mkfs.jfs is missing; package jfsutils has it".into());
                    record.phases.clear();
                }
                if *system == "btrfs" && processes == 4 && repetition == 2 {
                    record.status =
                        Status::Failed("mount: /dev/loop3: can't read superblock".into());
                    record.phases.clear();
                }
                if *system == "tandem" {
                    record.flags.push(Flag {
                        rule: "short-phase".into(),
                        phase: Some("write-meta".into()),
                        text: "1.3 s, and 60 s are wanted".into(),
                    });
                }
                records.push(record);
            }
        }
    }
    records
}

/// As the study's file has it, of a level that no run has.
fn left_out() -> Vec<LeftOut> {
    let out = |processes: &str| LeftOut {
        levels: [("filesystem", "nilfs2"), ("processes", processes)]
            .map(|(factor, level)| (factor.to_owned(), level.to_owned()))
            .into(),
        reason: "gone from current kernels".to_owned(),
    };
    ["1", "4"].map(out).to_vec()
}

fn bound() -> Vec<Record> {
    let mut records = Vec::new();
    for repetition in 1..=2 {
        for (system, sectors) in [("ext2", 552), ("ext3", 560)] {
            let mut record = record("io-bound", &[("filesystem", system)], repetition, 7);
            for name in ["create-files", "find-files", "remove-files"] {
                let mut phase = phase(name, 1.0, u64::from(repetition));
                phase.devices[0].read_sectors = sectors;
                phase.devices[0].disk = None;
                record.phases.push(phase);
            }
            records.push(record);
        }
    }
    records
}

fn record(study: &str, levels: &[(&str, &str)], repetition: u32, seed: u64) -> Record {
    let levels: BTreeMap<_, _> =
        levels.iter().map(|(f, l)| ((*f).to_owned(), (*l).to_owned())).collect();
    let name = levels.get("filesystem").cloned().unwrap_or_default();
    Record {
        schema: SCHEMA,
        id: format!("{:08x}-{repetition}", seed * 77_777),
        study: study.to_owned(),
        scale: "quick".to_owned(),
        levels,
        memory: None,
        repetition,
        order: (seed % 97) as u32 + 1,
        seed,
        started: 1.7e9 + seed as f64,
        elapsed: 61.25 * noise(seed),
        status: Status::Done,
        environment: "a1b2".to_owned(),
        commands: vec![
            format!("mkfs.{name} -q /dev/loop3"),
            format!("mount -t {name} /dev/loop3 /mnt"),
        ],
        phases: Vec::new(),
        flags: Vec::new(),
    }
}

fn phase(name: &str, seconds: f64, seed: u64) -> Phase {
    Phase {
        name: name.to_owned(),
        cold: true,
        measured: true,
        seconds: seconds * 0.9,
        flush_seconds: if name.starts_with("read-m") { 0.0 } else { seconds * 0.25 },
        values: BTreeMap::new(),
        cpu: vec![Cpu { name: "find".into(), role: "workload".into(), user: 0.3, system: 0.9 }],
        devices: vec![DeviceIo {
            name: "disk".into(),
            place: "st34310a".into(),
            counted_by: "emulator".into(),
            reads: 1000,
            read_sectors: (seconds * 900.0 * noise(seed)) as u64,
            writes: 400,
            write_sectors: (seconds * 300.0 * noise(seed + 1)) as u64,
            flushes: 3,
            discard_sectors: 0,
            disk: Some(DiskTime {
                profile: "st34310a".into(),
                io_seconds: seconds,
                busy_seconds: seconds * 0.97,
                seeks: 900,
                seek_distance: 310.5,
                sequential: 0.25,
            }),
            trace: None,
        }],
        peak_memory: 30_000_000,
    }
}

/// The same, with markup wherever a record or study has words.
pub fn hostile() -> Results {
    let bad = "<script>window.hacked = true</script>";
    let image = "\"><img src=x onerror=\"window.hacked=true\"><svg onload='window.hacked=1'>";
    let mut results = results();
    let commands = results.commands.clone();
    results.commands = commands.into_iter().chain([bad.to_owned(), image.to_owned()]).collect();
    let machine = serde_json::json!({ bad: image, "x": [image, { "y": bad }] });
    results.environments.insert(bad.to_owned(), machine);
    let study = &mut results.studies[0];
    study.study.title = format!("{bad}{image}");
    study.study.question = format!("</title></style>{bad}");
    study.study.name = format!("../../escaped{image}");
    study.study.source = Some(format!("javascript:{bad}"));
    study.study.figure[0].title = format!("]]>{bad}");
    study.study.figure[1].published = Some(image.to_owned());
    study.left_out[0].reason = image.to_owned();
    study.left_out[1].levels.insert(bad.to_owned(), image.to_owned());
    for (at, record) in study.records.iter_mut().enumerate() {
        record.study = study.study.name.clone();
        if at % 8 == 0 {
            record.levels.insert("filesystem".into(), format!("{bad}{image}"));
        }
        if at % 9 == 0 {
            record.flags.push(Flag { rule: bad.into(), phase: None, text: image.into() });
        }
        if at % 10 == 0 {
            record.id = image.to_owned();
            record.commands.push(format!("{image}</code></pre>{bad}"));
            record.status = Status::Failed(format!("{bad} {}", "long-word-".repeat(40)));
        }
        for phase in &mut record.phases {
            if phase.name == "delete" {
                phase.name = format!("{bad} & {image}");
            }
        }
    }
    results
}

/// Traces for the first configurations, written into the results folder; and one that is none.
pub fn traces(results: &mut Results) {
    let dir = results.dir.join("traces");
    std::fs::create_dir_all(&dir).expect("a directory");
    let Some(study) = results.studies.first_mut() else { return };
    let done = study.records.iter_mut().filter(|record| record.repetition == 1);
    for (at, record) in done.take(4).enumerate() {
        for (n, phase) in record.phases.iter_mut().enumerate() {
            let name = format!("traces/{at}-{n}.tdt.zst");
            let path = results.dir.join(&name);
            match (at, n) {
                (3, 6) => std::fs::write(&path, "no trace").expect("a file"),
                (3, 5) => drop(trace::create(&path, Format::Tandem).expect("a trace").finish()),
                _ => requests(&path, (at * 7 + n) as u64),
            }
            phase.devices[0].trace = Some(name);
        }
    }
}

/// A file read in order, blocks written here and there.
fn requests(path: &std::path::Path, seed: u64) {
    let mut sink = trace::create(path, Format::Tandem).expect("a trace");
    for at in 0..3000u64 {
        let read = at % 3 != 0;
        let place = if read {
            at * 32_768
        } else {
            (noise(at + seed * 31) * 1e6) as u64 * 2003 % 400_000_000
        };
        let request = trace::Record {
            time: at * 4_000_000,
            operation: if read { Operation::Read } else { Operation::Write },
            offset: place / 4096 * 4096 + seed * 8_388_608,
            length: if read { 32_768 } else { 4096 },
            service: Some(900_000),
            hit: None,
            device: 0,
        };
        sink.write(&request).expect("a record");
    }
    sink.finish().expect("the end");
}

/// Values that no machine should yield.
pub fn not_numbers() -> Results {
    let mut results = results();
    let odd = [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e300];
    for (at, record) in results.studies[0].records.iter_mut().enumerate() {
        record.elapsed = odd[at % odd.len()];
        for phase in &mut record.phases {
            phase.seconds = odd[at % odd.len()];
            for disk in phase.devices.iter_mut().filter_map(|device| device.disk.as_mut()) {
                disk.io_seconds = odd[(at + 1) % odd.len()];
            }
        }
    }
    results
}

/// For looking at: writes the sample where the variable says.
#[test]
fn keep_sample() {
    let Some(dir) = std::env::var_os("TANDEM_REPORT_SAMPLE") else { return };
    let dir = PathBuf::from(dir);
    std::fs::create_dir_all(&dir).expect("a directory");
    let mut results = results();
    results.dir = dir.clone();
    traces(&mut results);
    tandem_lab::report::write(&results, &dir.join("report.html")).expect("a report");
}
