//! Metadata: `find` with and without prefetching, relocation, `rm -rf`.

use crate::common::fs::{Fs, Res, run};
use crate::measure::{Measured, measured};
use crate::table::{grouped, mib, show, verdict};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// `find` as DualFS's read-meta has it.
fn find(root: &Path) -> Res<()> {
    run(Command::new("find").arg(root).args(["-size", "+2k"]), false).map(drop)
}

fn row(what: &str, m: &Measured) -> Vec<String> {
    vec![
        what.to_owned(),
        grouped(m.work.m.reads + m.work.d.reads),
        mib(m.work.m.read_sectors + m.work.d.read_sectors),
        grouped(m.counter("/metadata/reads")),
        mib(m.work.sum().write_sectors),
        format!("{:.2}", m.seconds),
    ]
}

const HEAD: [&str; 6] =
    ["", "requests read", "MiB read", "asked of M by the engine", "MiB written", "s"];

/// Cold `find` at `prefetch=16` and 0, beside the others.
pub fn prefetch(volumes: &mut [Fs], title: &str) -> Res<()> {
    let (mut rows, mut notes) = (Vec::new(), String::new());
    for fs in volumes.iter_mut() {
        if fs.name != "tandem" {
            rows.push(row(&fs.name.clone(), &measured(fs, None, find)?));
            continue;
        }
        let with = measured(fs, Some("relocate=off,prefetch=16"), find)?;
        let without = measured(fs, Some("relocate=off,prefetch=0"), find)?;
        rows.push(row("tandem, prefetch=16", &with));
        rows.push(row("tandem, prefetch=0", &without));
        let live = live_bytes(&with);
        let ratio = without.work.m.reads as f64 / with.work.m.reads.max(1) as f64;
        let volume = with.work.m.read_sectors as f64 * 512.0 / live as f64;
        notes = format!(
            "Requests to M {ratio:.1} times fewer (goal 8: {}); live metadata {} MiB, read from M \
             {volume:.2} times as much (goal 1.3: {}).\n",
            verdict(ratio >= 8.0),
            mib(live / 512),
            verdict(volume <= 1.3),
        );
    }
    show(title, &HEAD, &rows);
    println!("{notes}");
    Ok(())
}

/// Leaves Tandem alone until nothing is done in idle time any more: for 30 s, and as long as the log
/// is written to.
pub fn rest(fs: &mut Fs) -> Res<()> {
    if fs.name != "tandem" {
        return Ok(());
    }
    let logged = |fs: &mut Fs| -> Res<u64> {
        let stats = fs.stats()?;
        Ok(stats.pointer("/volume/log/bytes_logged").and_then(Value::as_u64).unwrap_or(0))
    };
    let mut before = None;
    loop {
        let now = logged(fs)?;
        if before == Some(now) {
            return Ok(());
        }
        before = Some(now);
        std::thread::sleep(Duration::from_secs(30));
    }
}

fn live_bytes(m: &Measured) -> u64 {
    m.counter("/log/live_bytes").max(1)
}

fn shuffled(mut items: Vec<PathBuf>, mut seed: u64) -> Vec<PathBuf> {
    for i in (1..items.len()).rev() {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        items.swap(i, (seed % (i as u64 + 1)) as usize);
    }
    items
}

fn directories(root: &Path) -> Res<Vec<PathBuf>> {
    let out = run(Command::new("find").arg(root).args(["-type", "d"]), false)?;
    let mut all: Vec<_> = out.lines().map(PathBuf::from).collect();
    all.sort();
    Ok(all)
}

/// Lists directories in this order, and looks at every entry.
fn walk(order: &[PathBuf]) -> Res<()> {
    for dir in order {
        for entry in std::fs::read_dir(dir)? {
            std::fs::symlink_metadata(entry?.path())?;
        }
    }
    Ok(())
}

/// Walks in orders unlike that of writing, with relocation and without: a tenth of the directories,
/// which lie far apart; all of them, with less memory than the metadata takes up; and in another
/// order with the ordinary cache.
pub fn relocation(fs: &mut Fs) -> Res<()> {
    let order = shuffled(directories(&fs.root())?, 0x1234_5678_9abc_def1);
    let other = shuffled(order.clone(), 0x0fed_cba9_8765_4321);
    let tenth = &order[..order.len() / 10];
    let walks = [
        ("a tenth", tenth, ""),
        ("all with 8 MiB", &order[..], "cache=8M,"),
        ("all", &other[..], ""),
    ];
    let before = measured(fs, Some("relocate=off"), find)?;
    let mut rows = vec![("find, before".to_owned(), before)];
    let mut ratios = Vec::new();
    for (what, dirs, options) in walks {
        let with = |on: &str| format!("{options}relocate={on}");
        eprintln!("relocation: {what}");
        let off = measured(fs, Some(&with("off")), |_| walk(dirs))?;
        let first = measured(fs, Some(&with("on")), |_| walk(dirs))?;
        let second = measured(fs, Some(&with("on")), |_| walk(dirs))?;
        let ratio = off.work.m.reads as f64 / second.work.m.reads.max(1) as f64;
        ratios.push(format!("{what} {ratio:.1} times (goal 5: {})", verdict(ratio >= 5.0)));
        rows.push((format!("{what}, relocate=off"), off));
        rows.push((format!("{what}, relocate=on, first walk"), first));
        rows.push((format!("{what}, second walk"), second));
    }
    rows.push(("find, after".to_owned(), measured(fs, Some("relocate=off"), find)?));
    let rows: Vec<_> = rows.iter().map(|(what, m)| row(what, m)).collect();
    show("Relocation: directories walked in a seeded random order", &HEAD, &rows);
    println!("Requests to M, fewer than without: {}.\n", ratios.join(", "));
    Ok(())
}

/// `rm -rf` of a directory.
pub fn removal(volumes: &mut [Fs], below: &str, title: &str) -> Res<()> {
    let mut sums = Vec::new();
    for fs in volumes.iter_mut() {
        eprintln!("rm -rf: {}", fs.name);
        let m = measured(fs, Some(""), |root| {
            run(Command::new("rm").arg("-rf").arg(root.join(below)), false).map(drop)
        })?;
        sums.push((fs.name.clone(), m));
    }
    let rows: Vec<_> = sums
        .iter()
        .map(|(name, m)| {
            let both = |f: fn(crate::common::traffic::Io) -> u64| {
                if name == "tandem" {
                    format!("{} + {}", grouped(f(m.work.m)), grouped(f(m.work.d)))
                } else {
                    grouped(f(m.work.d))
                }
            };
            vec![
                name.clone(),
                both(|io| io.reads),
                both(|io| io.writes),
                both(|io| io.read_sectors),
                both(|io| io.write_sectors),
                format!("{:.2}", m.seconds),
            ]
        })
        .collect();
    let head = ["", "reads (M + D)", "writes", "sectors read", "sectors written", "s"];
    show(title, &head, &rows);
    let of = |name: &str| sums.iter().find(|s| s.0 == name).map(|s| s.1.work.sum());
    if let (Some(tandem), Some(ext4)) = (of("tandem"), of("ext4")) {
        let requests = tandem.requests() as f64 / ext4.requests().max(1) as f64;
        let sectors = tandem.sectors() as f64 / ext4.sectors().max(1) as f64;
        println!(
            "Of ext4's: requests {requests:.3} (goal 0.1: {}), sectors {sectors:.3} (goal 0.1: \
             {}).\n",
            verdict(requests <= 0.1),
            verdict(sectors <= 0.1),
        );
    }
    Ok(())
}
