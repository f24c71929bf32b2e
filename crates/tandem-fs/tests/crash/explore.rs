//! All sequences, all points, the images of each; on all CPUs.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tandem_disk::crash::{Change, Store};
use tandem_disk::fault::Rule;

use super::ground::Ground;
use super::judge::{Recovered, judge};
use super::letters::{Letter, letters};
use super::workload::{self, Trace};
use crate::model::history::History;
use crate::model::world::{Outcome, wrong};

/// How far to go.
#[derive(Clone)]
pub struct Bounds {
    /// Letters of a sequence, at most.
    pub letters: u32,
    /// Images of a point, at most.
    pub images: u64,
    /// One recovery in so many is crashed itself, and gone on from.
    pub deeper: u64,
    /// The run ends after so many states.
    pub states: u64,
    /// One line of a failure: everything else is left out.
    pub only: Option<Only>,
    pub threads: usize,
}

/// Which state to look at: ground, letters, point and image; the last two may be missing.
#[derive(Clone)]
pub struct Only {
    ground: String,
    letters: Vec<usize>,
    point: Option<usize>,
    image: Option<u64>,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

impl Bounds {
    /// Those of an ordinary run.
    pub fn short() -> Bounds {
        Bounds {
            letters: 2,
            images: 8,
            deeper: 256,
            states: u64::MAX,
            only: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    /// What the environment says.
    pub fn from_env() -> Bounds {
        let short = Bounds::short();
        let long = std::env::var("TANDEM_CRASH").is_ok_and(|v| v == "long");
        let only = std::env::var("TANDEM_CRASH_ONLY").ok();
        let more = if long { Bounds { letters: 3, images: 16, ..short } } else { short };
        Bounds {
            images: number("TANDEM_CRASH_IMAGES").unwrap_or(more.images),
            states: number("TANDEM_CRASH_STATES").unwrap_or(more.states),
            only: only.map(|line| Only::parse(&line).expect("GROUND:LETTER.LETTER[:POINT:IMAGE]")),
            ..more
        }
    }
}

impl Only {
    fn parse(line: &str) -> Option<Only> {
        let mut parts = line.split(':');
        let ground = parts.next()?.to_owned();
        let letters = parts.next()?.split('.').map(|n| n.parse().ok()).collect::<Option<_>>()?;
        let point = parts.next().map(|n| n.parse().ok());
        let image = parts.next().map(|n| n.parse().ok());
        Some(Only { ground, letters, point: point.flatten(), image: image.flatten() })
    }
}

/// What a run has done.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub workloads: u64,
    /// Sequences that do what a shorter one does.
    pub skipped: u64,
    pub points: u64,
    /// Images made.
    pub images: u64,
    /// Images checked, mounted and compared, no two with the same contents and the same promises.
    pub judged: u64,
    /// Different contents among them.
    pub distinct: u64,
    /// Of those judged: after a second crash, during recovery or in what was done after it.
    pub deeper: u64,
    pub took: Duration,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "crash states: {} judged ({} different images, {} after a second crash) of {} made, at {} points of {} sequences ({} skipped), in {:.1} s",
            self.judged,
            self.distinct,
            self.deeper,
            self.images,
            self.points,
            self.workloads,
            self.skipped,
            self.took.as_secs_f64()
        )
    }
}

#[derive(Default)]
struct Seen {
    judged: HashSet<(u64, u64)>,
    images: HashSet<u64>,
}

/// A run over all sequences.
pub struct Explorer<'a> {
    grounds: &'a [Ground],
    letters: Vec<Letter>,
    bounds: Bounds,
    faults: [Vec<Rule>; 2],
    seen: Mutex<Seen>,
    counts: Mutex<Counts>,
    judged: AtomicU64,
    failed: AtomicBool,
    begun: Instant,
}

impl<'a> Explorer<'a> {
    pub fn new(grounds: &'a [Ground], bounds: Bounds) -> Explorer<'a> {
        Explorer {
            grounds,
            letters: letters(),
            bounds,
            faults: Default::default(),
            seen: Mutex::default(),
            counts: Mutex::default(),
            judged: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            begun: Instant::now(),
        }
    }

    /// The same on devices that something is wrong with while the sequence runs: M and D.
    pub fn with_faults(self, faults: [Vec<Rule>; 2]) -> Explorer<'a> {
        Explorer { faults, ..self }
    }

    /// Whether nothing was left out on purpose.
    pub fn is_whole(&self) -> bool {
        self.bounds.only.is_none() && self.bounds.states == u64::MAX
    }

    pub fn counts(&self) -> Counts {
        let mut counts = *self.counts.lock();
        let seen = self.seen.lock();
        counts.judged = seen.judged.len() as u64;
        counts.distinct = seen.images.len() as u64;
        counts.took = self.begun.elapsed();
        counts
    }

    /// Goes through all sequences, shorter ones first.
    pub fn run(&self) -> Outcome {
        if let Some(only) = &self.bounds.only {
            let ground = self.grounds.iter().find(|g| g.name == only.ground);
            return self.sequence(ground.ok_or("no such ground")?, &only.letters);
        }
        let n = self.letters.len();
        for len in 1..=self.bounds.letters {
            let all = n.pow(len) * self.grounds.len();
            // A step that has no factor in common with the number visits all, far from each other.
            let step = (all / 7 * 3..).find(|&s| gcd(s.max(1), all) == 1).unwrap_or(1).max(1);
            let next = AtomicUsize::new(0);
            let found: Mutex<Outcome> = Mutex::new(Ok(()));
            let work = || {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= all || self.is_over() {
                        return;
                    }
                    let at = (i as u128 * step as u128 % all as u128) as usize;
                    let ground = &self.grounds[at % self.grounds.len()];
                    let mut rest = at / self.grounds.len();
                    let mut sequence = Vec::new();
                    for _ in 0..len {
                        sequence.push(rest % n);
                        rest /= n;
                    }
                    if let Err(e) = self.sequence(ground, &sequence) {
                        self.failed.store(true, Ordering::Relaxed);
                        *found.lock() = Err(e);
                    }
                }
            };
            match self.bounds.threads {
                1 => work(),
                threads => std::thread::scope(|scope| {
                    (0..threads).for_each(|_| drop(scope.spawn(work)));
                }),
            }
            found.into_inner()?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
            || self.judged.load(Ordering::Relaxed) >= self.bounds.states
    }

    fn sequence(&self, ground: &Ground, sequence: &[usize]) -> Outcome {
        let letters: Vec<&Letter> = sequence.iter().map(|&n| &self.letters[n]).collect();
        let line = sequence.iter().map(usize::to_string).collect::<Vec<_>>().join(".");
        let line = format!("{}:{line}", ground.name);
        let named = |e: String, at: String| {
            let names: Vec<&str> = letters.iter().map(|letter| letter.name).collect();
            format!(
                "{}: {e}\nreplay: TANDEM_CRASH_IMAGES={} TANDEM_CRASH_ONLY={line}{at} cargo test -p tandem-fs --test crash every",
                names.join(", "),
                self.bounds.images
            )
        };
        let mut hasher = DefaultHasher::new();
        (ground.name, sequence).hash(&mut hasher);
        let seed = hasher.finish() >> 1;
        let trace = workload::run(ground, &letters, seed, &self.faults)
            .map_err(|e| named(e, String::new()))?;
        let Some(trace) = trace else {
            self.counts.lock().skipped += 1;
            return Ok(());
        };
        self.counts.lock().workloads += 1;
        self.points(ground, &trace, 0)
            .map_err(|(point, image, e)| named(e, format!(":{point}:{image}")))
    }

    /// A power failure after every write and discard, and at the end.
    pub fn points(
        &self,
        ground: &Ground,
        trace: &Trace,
        depth: u64,
    ) -> Result<(), (usize, u64, String)> {
        let only = self.bounds.only.as_ref().filter(|_| depth == 0);
        let mut walk = trace.history.walk();
        while walk.step() {
            let at = walk.at();
            let flush = trace.history.events[at - 1].change == Change::Flush;
            let end = walk.next().is_none();
            if (flush && !end) || only.is_some_and(|o| o.point.is_some_and(|p| p != at)) {
                continue;
            }
            // Until the mount after a crash is durable, what it writes can complete what the crash
            // has torn: then the first crash decides what is legal, as in the walk over recovery.
            if depth > 0 && at <= trace.mounted() {
                continue;
            }
            self.counts.lock().points += 1;
            let legal = trace.legal(at);
            let most = if depth == 0 { self.bounds.images } else { 3 };
            for image in walk.images(most, legal.promise) {
                let number = image.number;
                if only.is_some_and(|o| o.image.is_some_and(|n| n != number)) {
                    continue;
                }
                let key = image.fingerprint();
                if !self.is_new(key, legal.promise, depth) {
                    continue;
                }
                let recovered = judge(ground, image.stores.clone(), trace.op, key, &legal.history)
                    .map_err(|e| (at, number, e))?;
                if depth < 2 && (key % self.bounds.deeper == 0 || only.is_some()) {
                    let done = self.deeper(ground, trace, recovered, image.stores, depth);
                    done.map_err(|e| (at, number, e))?;
                }
            }
        }
        Ok(())
    }

    fn is_new(&self, key: u64, promise: u64, depth: u64) -> bool {
        let new = {
            let seen = &mut *self.seen.lock();
            seen.images.insert(key);
            seen.judged.insert((key, promise))
        };
        let mut counts = self.counts.lock();
        counts.images += 1;
        if new {
            self.judged.fetch_add(1, Ordering::Relaxed);
            counts.deeper += u64::from(depth > 0);
        }
        new
    }

    /// Crashes the recovery itself, at each of its writes: the same must come out. Then goes on
    /// with what was recovered, and crashes again.
    fn deeper(
        &self,
        ground: &Ground,
        before: &Trace,
        recovered: Recovered,
        stores: Vec<Store>,
        depth: u64,
    ) -> Outcome {
        let op = before.op;
        let mut history = History::default();
        history.durable(op, &recovered.tree);
        let recovery = recovered.world.pair.recorder.history();
        let mut walk = recovery.walk();
        let mut hasher = DefaultHasher::new();
        (op, depth, "again").hash(&mut hasher);
        while walk.step() {
            for image in walk.images(4, 0) {
                let key = image.fingerprint();
                let promise = hasher.finish() ^ key;
                if self.is_new(key, promise, depth + 1) {
                    judge(ground, image.stores, op, key, &history).map_err(|e| {
                        format!("recovery, crashed after {} requests: {e}", walk.at())
                    })?;
                }
            }
        }
        if depth > 0 {
            return Ok(());
        }
        let next = ground.after_crash(stores, recovered.tree, op + 1);
        let letters: Vec<&Letter> = [25, 0].iter().map(|&n| &self.letters[n]).collect();
        let seed = hasher.finish() ^ recovered.world.pair.recorder.len() as u64;
        let Some(trace) = workload::run(&next, &letters, seed, &Default::default())? else {
            return Ok(());
        };
        let used = before.serials();
        if let Some((crash, serial)) = trace.serials().intersection(&used).next() {
            return wrong(format!(
                "serial {serial} is used again under crash count {crash} after a crash"
            ));
        }
        self.points(&next, &trace, depth + 1)
            .map_err(|(at, image, e)| format!("and went on, point {at}, image {image}: {e}"))
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
