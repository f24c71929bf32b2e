//! Faults planted on purpose: the exploration must find each of them. Some are lies of the devices;
//! those of the engine itself need the feature `planted`.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tandem_disk::fault::Rule;

use super::explore::{Bounds, Explorer};
use super::ground::Ground;

#[cfg(feature = "planted")]
use tandem_fs::planted::{Planted, plant};

/// A fault that must be found.
struct Fault {
    name: &'static str,
    /// What is wrong with M and with D once the volume is mounted.
    rules: [&'static str; 2],
    #[cfg(feature = "planted")]
    engine: Option<Planted>,
}

/// How a search for a fault has ended.
pub struct Row {
    pub name: &'static str,
    /// States that were judged, and sequences run, up to and with the one that showed it.
    pub states: u64,
    pub sequences: u64,
    /// What it looked like; nothing when it was not found.
    pub symptom: Option<String>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let symptom = self.symptom.as_deref().unwrap_or("NOT CAUGHT");
        let symptom: String = symptom.lines().take(3).collect::<Vec<_>>().join(" ");
        write!(f, "| {} | {} | {} | {symptom} |", self.name, self.states, self.sequences)
    }
}

fn lie(name: &'static str, meta: &'static str, data: &'static str) -> Fault {
    Fault {
        name,
        rules: [meta, data],
        #[cfg(feature = "planted")]
        engine: None,
    }
}

fn faults() -> Vec<Fault> {
    let mut all = vec![
        lie("M ignores flushes", "flush:lost", ""),
        lie("D ignores flushes", "", "flush:lost"),
        lie("M ignores its second flush", "flush:lost,nth=2", ""),
        lie("M loses a write", "write:lost,nth=1", ""),
        lie("D loses a write", "", "write:lost,nth=1"),
        lie("M writes 8 KiB too far", "write:misdirect,by=8k,nth=1", ""),
        lie("D writes 2 KiB too far", "", "write:misdirect,by=2k,nth=1"),
        lie("M flips a bit", "write:flip,nth=1", ""),
        lie("D flips a bit", "", "write:flip,nth=1"),
    ];
    all.extend(engine());
    all
}

#[cfg(not(feature = "planted"))]
fn engine() -> Vec<Fault> {
    Vec::new()
}

#[cfg(feature = "planted")]
fn engine() -> Vec<Fault> {
    use Planted::*;
    let new = |engine, name| Fault { name, rules: ["", ""], engine: Some(engine) };
    vec![
        new(NoDataFlush, "no flush of D before the metadata"),
        new(NoCommitFlush, "no flush of M at the end of a commit"),
        new(NoTableFlush, "no flush of M before the checkpoint"),
        new(EarlyReuse, "freed blocks given away before the commit"),
        new(EarlyDiscard, "discard before the commit is durable"),
        new(LiveSegment, "a segment with live blocks used again"),
        new(NoContinues, "partial segments without \"continues\""),
        new(HalfCommit, "roll-forward takes half a commit"),
        new(TornAccepted, "roll-forward takes torn partial segments"),
        new(NoReservation, "a forgotten reservation"),
        Fault {
            rules: ["", "write:error,nth=1"],
            ..new(DataErrorIgnored, "an error of a write to D swallowed")
        },
        Fault {
            rules: ["write:error,nth=1", ""],
            ..new(LogErrorIgnored, "an error of a write to M swallowed")
        },
        new(OldCheckpoint, "the older checkpoint taken"),
        new(SameCrashCount, "crash count not raised, serials not skipped"),
        new(OrphansKept, "orphans not freed after a crash"),
        new(OrphansUnsheltered, "orphans without an entry"),
    ]
}

/// Looks for each fault by itself, on all CPUs.
pub fn search(grounds: &[Ground]) -> Vec<Row> {
    let faults = faults();
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = look(fault, grounds);
                    rows.lock().push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner();
    rows.sort_by_key(|row| faults.iter().position(|fault| fault.name == row.name));
    rows
}

fn look(fault: &Fault, grounds: &[Ground]) -> Row {
    #[cfg(feature = "planted")]
    plant(fault.engine);
    let bounds = Bounds { deeper: 4, states: 100_000, threads: 1, only: None, ..Bounds::short() };
    let rules = fault.rules.map(|text| Rule::parse_all(text).unwrap_or_default());
    let explorer = Explorer::new(grounds, bounds).with_faults(rules);
    let symptom = explorer.run().err();
    #[cfg(feature = "planted")]
    plant(None);
    let counts = explorer.counts();
    let row = Row { name: fault.name, states: counts.judged, sequences: counts.workloads, symptom };
    eprintln!("{row}");
    row
}
