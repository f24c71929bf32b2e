//! A volume in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tandem_device::{Device, MemoryDevice};
use tandem_fs::check::{CheckOptions, CheckReport, ProblemKind, check};
use tandem_fs::{Env, Error, MkfsOptions, MountOptions, Time, Volume};

/// The same volume every time.
#[derive(Default)]
pub struct Steady(AtomicU64);

impl Env for Steady {
    fn now(&self) -> Time {
        let n = self.0.fetch_add(1, Ordering::Relaxed);
        Time { secs: 1_700_000_000 + n as i64, nanos: 5 }
    }

    fn random(&self) -> u64 {
        Numbers(self.0.fetch_add(1, Ordering::Relaxed)).next(u64::MAX)
    }

    fn monotonic(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) * 1_000_000
    }
}

pub struct Rig {
    pub env: Arc<Steady>,
    pub meta: Arc<MemoryDevice>,
    pub data: Option<Arc<MemoryDevice>>,
}

fn device(device: &Arc<MemoryDevice>) -> Arc<dyn Device> {
    Arc::clone(device) as Arc<dyn Device>
}

impl Rig {
    pub fn new(options: &MkfsOptions) -> Rig {
        let meta = Arc::new(MemoryDevice::new("meta", 32 << 20));
        let data = Arc::new(MemoryDevice::new("data", 256 << 20));
        Rig { env: Arc::default(), meta, data: Some(data) }.mkfs(options)
    }

    pub fn single(options: &MkfsOptions) -> Rig {
        Rig {
            env: Arc::default(),
            meta: Arc::new(MemoryDevice::new("disk", 320 << 20)),
            data: None,
        }
        .mkfs(options)
    }

    pub fn mkfs(self, options: &MkfsOptions) -> Rig {
        let env = Arc::clone(&self.env) as _;
        Volume::mkfs(device(&self.meta), self.data.as_ref().map(device), options, env).unwrap();
        self
    }

    pub fn open(&self) -> Arc<Volume> {
        self.mount(MountOptions::default())
    }

    pub fn mount(&self, opts: MountOptions) -> Arc<Volume> {
        let opts = MountOptions { background: false, ..opts };
        let env = Arc::clone(&self.env) as _;
        Volume::open(device(&self.meta), self.data.as_ref().map(device), opts, env).unwrap()
    }

    pub fn try_check(&self, options: &CheckOptions) -> Result<CheckReport, Error> {
        let data = self.data.as_ref().map(device);
        check(device(&self.meta), data, options, Arc::clone(&self.env) as _, &|_| {})
    }

    pub fn check(&self) -> CheckReport {
        self.try_check(&CheckOptions { threads: 2, memory: 64 << 20 }).unwrap()
    }

    /// The check finds nothing wrong, whatever the number of threads and the memory.
    #[track_caller]
    pub fn assert_sound(&self) -> CheckReport {
        for (threads, memory) in [(1, 1 << 20), (3, 64 << 20)] {
            let writes = self.meta.stats().writes;
            let report = self.try_check(&CheckOptions { threads, memory }).unwrap();
            assert!(report.is_sound(), "{report:#?}");
            assert_eq!(self.meta.stats().writes, writes);
        }
        self.check()
    }

    /// A copy of the volume, to be damaged.
    pub fn copy(&self) -> Rig {
        let copy = |from: &Arc<MemoryDevice>| {
            let to = MemoryDevice::new(from.name(), from.size());
            let mut piece = vec![0; 64 << 10];
            let mut at = 0;
            while at < from.size() {
                let piece = &mut piece[..(from.size() - at).min(64 << 10) as usize];
                from.read_at(piece, at).unwrap();
                if piece.iter().any(|&b| b != 0) {
                    to.write_at(piece, at).unwrap();
                }
                at += piece.len() as u64;
            }
            Arc::new(to)
        };
        Rig {
            env: Arc::clone(&self.env),
            meta: copy(&self.meta),
            data: self.data.as_ref().map(Arc::clone),
        }
    }
}

/// The report has problems of these kinds, and of no others.
#[track_caller]
pub fn assert_kinds(report: &CheckReport, kinds: &[ProblemKind]) {
    for kind in kinds {
        assert!(report.problems.iter().any(|p| p.kind == *kind), "no {kind:?}: {report:#?}");
    }
    for problem in &report.problems {
        assert!(kinds.contains(&problem.kind), "unexpected: {problem:#?} in {report:#?}");
    }
    assert_eq!(report.problems.len() as u64, report.problems_total);
}

/// Numbers that look random (splitmix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % below
    }
}
