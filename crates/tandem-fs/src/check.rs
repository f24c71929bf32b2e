//! Verification of a volume that is not mounted.
//!
//! The volume is opened as a read-only mount opens it, recovered in memory (`open`), and nothing is
//! written. One pass (`pass`, `scan`) reads all metadata in the order of the log, whole segments at
//! a time, by several threads: every block once, in no particular order. What a block says of
//! itself is checked on the spot (`directory`, `inode`, `tree`, `attributes`). What it says of
//! others, and they of it, goes into the books (`books`): two sides of an account for every block,
//! i-node and border of data blocks, which must balance. Only where they do not is the volume read
//! again, and what both sides say compared in detail (`settle`).
//!
//! Memory: eight bytes a metadata block for the block map, or a window of it and a pass for each
//! window; sixteen bytes a directory; books of any size.

mod attributes;
mod blocks;
mod books;
mod chains;
mod directory;
mod inode;
mod map;
mod names;
mod open;
mod parents;
mod pass;
mod place;
mod repair;
mod report;
mod scan;
mod settle;
mod space;
mod tables;
mod totals;
mod tree;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tandem_device::Device;

use crate::env::Env;
use crate::error::Result;
use books::{Books, Fact, NO, Subject};
use map::Window;
use open::Opened;
use pass::{Counts, Lists, Pass};
use report::Findings;
use totals::Usage;

pub use repair::{Repair, RepairKind, RepairReport, Repairs, repair};
pub use report::{CheckReport, Problem, ProblemKind, Progress};

/// How often a volume is read again, to say what is wrong with it.
const AGAIN_MAX: usize = 24;

/// How to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckOptions {
    /// Threads that read and verify; at least one.
    pub threads: usize,
    /// Bound on the memory that is taken, in bytes; not kept below some MiB.
    pub memory: u64,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        CheckOptions { threads, memory: 256 << 20 }
    }
}

/// Verifies everything on a volume that is not mounted; writes nothing. `data` is `None` when the
/// metadata device holds the data as well. `progress` is told how far it is, from any thread.
///
/// # Errors
/// When there is no volume to verify: the devices are not those of one volume, neither superblock
/// or neither checkpoint is good, or the memory allowed does not do. Whatever else is wrong is in
/// the report.
pub fn check(
    meta: Arc<dyn Device>,
    data: Option<Arc<dyn Device>>,
    options: &CheckOptions,
    env: Arc<dyn Env>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<CheckReport> {
    let begun = env.monotonic();
    progress(Progress { phase: "recovering", done: 0, total: 1 });
    let findings = Findings::default();
    let opened = open::open(meta, data, options.memory, &env, &findings)?;
    let check = Check::new(&opened, &findings, options, progress);
    let mut report = check.run(&*env);
    findings.settle(&mut report);
    report.seconds = env.monotonic().saturating_sub(begun) as f64 / 1e9;
    Ok(report)
}

/// Everything that all passes have in common.
struct Check<'a> {
    opened: &'a Opened,
    findings: &'a Findings,
    threads: usize,
    memory: u64,
    progress: &'a (dyn Fn(Progress) + Sync),
    /// The whole block map, when it fits.
    map: Option<Window>,
    usage: Usage,
    /// Groups whose free space has changed since the checkpoint.
    recovered: Vec<u32>,
}

impl<'a> Check<'a> {
    fn new(
        opened: &'a Opened,
        findings: &'a Findings,
        options: &CheckOptions,
        progress: &'a (dyn Fn(Progress) + Sync),
    ) -> Check<'a> {
        let core = &opened.core;
        let mut usage = Usage::of_tables(opened);
        let mut map = None;
        let windows = opened.map.windows();
        for n in 0..windows {
            progress(Progress {
                phase: "reading the block map",
                done: n as u64,
                total: windows as u64,
            });
            let window = opened.map.window(core, &opened.tables, n, findings);
            usage.count(opened, &window);
            map = (windows == 1).then_some(window);
        }
        if windows == 0 {
            map = Some(Window::default());
        }
        let recovered = core.state.lock().space.dirty();
        // Every thread holds a segment.
        let most = options.memory / 8 / u64::from(core.geo.segment_size);
        let threads = options.threads.min(most as usize).clamp(1, 256);
        let memory = options.memory;
        Check { opened, findings, threads, memory, progress, map, usage, recovered }
    }

    fn run(&self, env: &dyn Env) -> CheckReport {
        let counts = Counts::new(self.opened.core.geo.groups);
        let lists = self.lists();
        let said = self.usage.mapped + self.opened.core.state.lock().inos.used;
        let most = (self.memory / 128).max(64);
        let mut books = Books::new((said / 2).clamp(64, most) as usize, env);
        self.read("verifying", &books, &counts, &lists);
        let device = self.opened.core.meta.name();
        let parents = std::mem::take(&mut *lists.parents.lock());
        if lists.parents_cut.load(Ordering::Relaxed) {
            let detail = format!(
                "circles of directories: more than {} do not fit the memory",
                parents.len()
            );
            self.findings.unverified(detail);
        } else {
            parents::report(parents, device, self.findings);
        }
        self.examine(&mut books);
        self.usage.compare(self.opened, self.findings, &counts);
        self.usage.report(self.opened, &counts)
    }

    fn lists(&self) -> Lists {
        Lists { limit: (self.memory / 128).max(64) as usize, ..Lists::default() }
    }

    /// Reads the volume once and enters everything into the books.
    fn read(&self, phase: &'static str, books: &Books, counts: &Counts, lists: &Lists) {
        let opened = self.opened;
        let windows = opened.map.windows().max(1);
        let segments = self.usage.live.len() as u64;
        opened.tables.forget_seen();
        for n in 0..windows {
            let loaded;
            let window = match &self.map {
                Some(window) => window,
                None => {
                    loaded =
                        opened.map.window(&opened.core, &opened.tables, n, &Findings::default());
                    &loaded
                }
            };
            window.forget_seen();
            let pass = Pass {
                opened,
                books,
                findings: self.findings,
                counts,
                window,
                whole: windows == 1,
                with_tables: n == 0,
                threads: self.threads,
                lists,
            };
            let (base, total) = (n as u64 * segments, windows as u64 * segments);
            pass.scan(&self.usage.live, &|done| {
                (self.progress)(Progress { phase, done: base + done, total });
            });
            if n == 0 {
                pass.free_space(&self.recovered);
                pass.stray_free_blocks();
                for (index, block) in &opened.map.inodes {
                    if let crate::cache::Body::Imap(entries) = &block.body {
                        pass.inode_map_entries(*index, entries);
                    }
                }
                books.enter(Subject::Border(0), Fact::Edge, NO, 1, 0);
                books.enter(Subject::Border(opened.sb.blocks), Fact::Edge, NO, -1, 0);
            }
            if n + 1 == windows {
                pass.chains();
                if !books.in_detail() {
                    pass.group_counts();
                }
            }
        }
    }

    /// Reads the volume again for the accounts that do not balance, as many at a time as the
    /// memory allows.
    fn examine(&self, books: &mut Books) {
        let buckets = books.unbalanced();
        let limit = (self.memory / 1024).max(256) as usize;
        self.findings.again.store(true, Ordering::Relaxed);
        let mut borders = Vec::new();
        let (mut from, mut batch) = (0, (limit / 16).max(1));
        for _ in 0..AGAIN_MAX {
            let to = (from + batch).min(buckets.len());
            if from == to || self.findings.is_full() {
                break;
            }
            books.watch(&buckets[from..to], limit);
            let counts = Counts::new(self.opened.core.geo.groups);
            self.read("looking closer", books, &counts, &self.lists());
            let (accounts, all) = books.take();
            if !all && batch > 1 {
                batch = (batch / 4).max(1);
                continue;
            }
            settle::settle(self.opened, self.findings, accounts, &mut borders);
            from = to;
        }
        let left = buckets.len() - from;
        if left > 0 {
            let detail =
                format!("{left} sums over what is said twice do not balance; not looked at closer");
            self.findings.unverified(detail);
        } else {
            settle::coverage(self.opened, self.findings, borders);
        }
    }
}
