//! The six tests of Bhat and Quadri (seed 003, §V): sectors read and written while files and
//! directories are created, searched and removed, each from a cold cache.

use crate::Args;
use crate::common::fs::{Fs, Res, run};
use crate::common::traffic::{Io, Traffic};
use crate::measure::{Measured, measured};
use crate::table::{grouped, show, verdict};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const META: u64 = 256 << 20;
const DATA: u64 = 5 << 30;

/// Tandem's share of the best peer's sectors at most.
const GOAL: f64 = 0.5;

const TESTS: [&str; 6] = [
    "1 create files",
    "2 find",
    "3 remove files",
    "4 create directories",
    "5 find",
    "6 remove directories",
];

fn shell(root: &Path, line: &str) -> Res<()> {
    run(Command::new("sh").args(["-ec", line]).current_dir(root.join("d")), false).map(drop)
}

fn lines(n: usize) -> [String; 6] {
    let each = |program: &str| format!("seq -f f%05g 1 {n} | xargs {program}");
    let find = "find . -name nothing.of.this.name".to_owned();
    [each("touch"), find.clone(), each("rm"), each("mkdir"), find, each("rm -r")]
}

/// The middle run by sectors.
fn median(mut runs: Vec<Measured>) -> Measured {
    runs.sort_by_key(|m| m.work.sum().sectors());
    runs.swap_remove(runs.len() / 2)
}

/// Runs and shows them.
pub fn all(args: &Args) -> Res<()> {
    let mut figures: BTreeMap<(usize, String), Vec<Measured>> = BTreeMap::new();
    for round in 1..=args.runs {
        for name in &args.fs {
            eprintln!("six tests, run {round} of {}: {name}", args.runs);
            let mut fs = Fs::make_sized(&args.setup, name, META, DATA)?;
            std::fs::create_dir(fs.root().join("d"))?;
            for (test, line) in lines(args.files).iter().enumerate() {
                let figure = measured(&mut fs, None, |root| shell(root, line))?;
                figures.entry((test, name.clone())).or_default().push(figure);
            }
            fs.end()?;
        }
    }
    let figures = figures.into_iter().map(|(key, runs)| (key, median(runs))).collect();
    sums(args, &figures);
    devices(&figures);
    Ok(())
}

type Figures = BTreeMap<(usize, String), Measured>;

fn plus(io: Io) -> String {
    format!("{}+{}", grouped(io.read_sectors), grouped(io.write_sectors))
}

fn sums(args: &Args, figures: &Figures) {
    let mut head = vec!["test"];
    head.extend(args.fs.iter().map(String::as_str));
    head.extend(["Tandem / best", "goal"]);
    let row = |(test, title): (usize, &&str)| {
        let of = |name: &str| figures.get(&(test, name.to_owned())).map(|m| m.work.sum());
        let mut row = vec![(*title).to_owned()];
        row.extend(args.fs.iter().map(|name| of(name).map_or(String::new(), plus)));
        let peers = args.fs.iter().filter(|name| *name != "tandem");
        let best = peers.filter_map(|name| of(name)).map(Io::sectors).min();
        let ratio = of("tandem").zip(best).map(|(t, best)| t.sectors() as f64 / best.max(1) as f64);
        row.push(ratio.map_or(String::new(), |r| format!("{r:.2}")));
        row.push(ratio.map_or(String::new(), |r| format!("≤ {GOAL}: {}", verdict(r <= GOAL))));
        row
    };
    let rows: Vec<_> = TESTS.iter().enumerate().map(row).collect();
    let heading = format!("Six tests, {} each: sectors read + written, flush included", args.files);
    show(&heading, &head, &rows);
}

fn devices(figures: &Figures) {
    let row = |(test, title): (usize, &&str)| {
        let m = figures.get(&(test, "tandem".to_owned()))?;
        let Traffic { m: meta, d: data } = m.work;
        Some(vec![
            (*title).to_owned(),
            plus(meta),
            plus(data),
            format!("{}+{}", meta.reads, meta.writes),
            format!("{}+{}", data.reads, data.writes),
            plus(m.mount.sum()),
            grouped(m.counter("/log/live_bytes") / 512),
        ])
    };
    let rows: Vec<_> = TESTS.iter().enumerate().filter_map(row).collect();
    if !rows.is_empty() {
        let head = ["test", "sectors M", "sectors D", "requests M", "requests D", "mount", "live"];
        show(
            "The same on Tandem's two devices; a mount's own; live metadata in sectors",
            &head,
            &rows,
        );
    }
}
