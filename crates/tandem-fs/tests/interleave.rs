//! The commit, the operations and the cleaner under a scheduler that tries out interleavings.
//!
//! `cargo test -p tandem-fs --features shuttle --test interleave`. Every lock, atomic and request to
//! a device is a point at which another thread may go on. `TANDEM_INTERLEAVINGS=10000` tries so many
//! of each scenario instead of a few hundred. A failure prints a schedule; given to
//! `shuttle::replay` it fails again.

mod model {
    #![allow(dead_code)]
    pub mod device;
    pub mod env;
    pub mod slow;
}

use std::sync::Arc;

use model::device::Pair;
use model::env::TestEnv;
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, MaxSteps, Runner, thread};
use tandem_fs::check::{CheckOptions, check};
use tandem_fs::fs::Fs;
use tandem_fs::{Cred, Env, MkfsOptions, MountOptions, RenameFlags, Volume, XattrMode};

/// A volume, and what it lies on.
struct Rig {
    pair: Pair,
    env: Arc<TestEnv>,
    vol: Arc<Volume>,
}

impl Rig {
    fn new(meta: u64, data: u64) -> Rig {
        let (pair, env) = (Pair::new(meta, data), Arc::new(TestEnv::new(7)));
        let options = MkfsOptions { segment_size: Some(64 << 10), ..MkfsOptions::default() };
        let dynamic: Arc<dyn Env> = env.clone();
        Volume::mkfs(pair.meta(), pair.data(), &options, dynamic).unwrap();
        let vol = mount(&pair, &env);
        Rig { pair, env, vol }
    }

    fn fs(&self) -> Fs {
        Fs::new(self.vol.clone(), Cred::root())
    }

    /// With nothing in memory.
    fn remount(&mut self) {
        self.vol.shutdown().unwrap();
        self.vol = mount(&self.pair, &self.env);
    }

    /// Shuts down, and checks what is on the devices.
    fn end(self) {
        self.vol.shutdown().unwrap();
        let options = CheckOptions { threads: 1, ..CheckOptions::default() };
        let env: Arc<dyn Env> = self.env.clone();
        let report = check(self.pair.meta(), self.pair.data(), &options, env, &|_| {}).unwrap();
        assert!(report.is_sound(), "{:#?}", report.problems);
    }

    /// What a power cut would leave now.
    fn after_power_cut(&self) -> Fs {
        let pair = self.pair.crash(thread_rng().gen_range(0..u64::MAX));
        Fs::new(mount(&pair, &self.env), Cred::root())
    }
}

fn mount(pair: &Pair, env: &Arc<TestEnv>) -> Arc<Volume> {
    let options = MountOptions { background: false, cache: 512 << 10, ..MountOptions::default() };
    let slow = pair.slower();
    Volume::open(slow.meta(), slow.data(), options, env.clone()).unwrap()
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Runs a scenario under many schedules, a long one under that share of them, and says how many.
fn explore(name: &str, share: usize, scenario: fn()) {
    let wanted = std::env::var("TANDEM_INTERLEAVINGS").ok().and_then(|n| n.parse().ok());
    let wanted = wanted.unwrap_or(1000) / share;
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    config.silence_warnings = true;
    config.max_steps = MaxSteps::FailAfter(10_000_000);
    let random = Runner::new(RandomScheduler::new(wanted / 2), config.clone()).run(scenario);
    let pct = Runner::new(PctScheduler::new(3, wanted / 2), config).run(scenario);
    println!("{name}: {} interleavings", random + pct);
}

fn pattern(tag: u8, len: usize) -> Vec<u8> {
    vec![tag; len]
}

/// Invariant 5: what fsync has acknowledged is there after a power cut, whatever others do.
#[test]
fn acknowledged() {
    explore("acknowledged", 1, || {
        let rig = Arc::new(Rig::new(6 << 20, 4 << 20));
        let writers = (0..2u8).map(|i| {
            let rig = rig.clone();
            thread::spawn(move || {
                let fs = rig.fs();
                for round in 0..2u8 {
                    let (new, name) = (format!("/{i}.new"), format!("/{i}"));
                    let contents = pattern(b'a' + 10 * i + round, 6000);
                    fs.write(&new, &contents).unwrap();
                    fs.open(&new).unwrap().sync_all().unwrap();
                    fs.rename(&new, &name).unwrap();
                    fs.volume().fsync(tandem_fs::ROOT, false).unwrap();
                    let found = rig.after_power_cut().read(&name).unwrap();
                    assert!(found == contents, "{name}: round {round} is lost");
                }
            })
        });
        let mut threads: Vec<_> = writers.collect();
        let other = rig.clone();
        threads.push(thread::spawn(move || other.vol.sync().unwrap()));
        join(threads);
        Arc::into_inner(rig).unwrap().end();
    });
}

/// Names that several threads fight over, while commits are under way.
#[test]
fn same_names() {
    explore("same names", 1, || {
        let rig = Rig::new(6 << 20, 4 << 20);
        let dir = rig.vol.mkdir(&Cred::root(), tandem_fs::ROOT, b"d", 0o755, 0).unwrap().ino;
        let workers = (0..2).map(|_| {
            let vol = rig.vol.clone();
            thread::spawn(move || {
                let root = Cred::root();
                for _ in 0..4 {
                    let mut rng = thread_rng();
                    let at = |n: u8| if n & 1 == 0 { tandem_fs::ROOT } else { dir };
                    let (a, b) = (rng.gen_range(0..4u8), rng.gen_range(0..4u8));
                    let (from, to) = ([b'n', a >> 1], [b'n', b >> 1]);
                    // Any answer that some order of the calls could give will do.
                    let _ = match rng.gen_range(0..5u8) {
                        0 => vol
                            .mknod(&root, at(a), &from, 0o644, 0, 0)
                            .map(|attr| vol.forget(attr.ino, 1)),
                        1 => vol.unlink(&root, at(a), &from),
                        2 => vol.lookup(&root, at(a), &from).and_then(|attr| {
                            let linked = vol.link(&root, attr.ino, at(b), &to);
                            vol.forget(attr.ino, 1);
                            linked.map(|attr| vol.forget(attr.ino, 1))
                        }),
                        n => {
                            let flags = RenameFlags::from_bits_retain(u32::from(n - 3) * 2);
                            vol.rename(&root, at(a), &from, at(b), &to, flags)
                        }
                    };
                }
            })
        });
        let mut threads: Vec<_> = workers.collect();
        let vol = rig.vol.clone();
        threads.push(thread::spawn(move || {
            vol.sync().unwrap();
            vol.sync().unwrap();
        }));
        join(threads);
        rig.vol.forget(dir, 1);
        rig.end();
    });
}

/// Invariant 2, seen by a reader: it never gets the contents of a file that took over the blocks.
#[test]
fn nothing_foreign() {
    explore("nothing foreign", 1, || {
        let mut rig = Rig::new(6 << 20, 1 << 20);
        let len = 300_000;
        for name in ["/victim", "/rest1", "/rest2"] {
            rig.fs().write(name, &pattern(b'v', len)).unwrap();
        }
        rig.remount();
        let (reader, writer) = (rig.fs(), rig.fs());
        let reading = thread::spawn(move || {
            let file = reader.open("/victim").unwrap();
            let mut buf = vec![0; 4096];
            for at in 0..4 {
                let n = file.read_at(&mut buf, at * 65536).unwrap();
                assert!(buf[..n].iter().all(|&b| b == b'v'), "foreign contents");
            }
        });
        // There is room for it only where the victim was.
        let writing = thread::spawn(move || {
            writer.open("/victim").unwrap().set_len(0).unwrap();
            writer.volume().sync().unwrap();
            writer.write("/other", &pattern(b'o', len)).unwrap();
            writer.volume().sync().unwrap();
        });
        join(vec![reading, writing]);
        rig.end();
    });
}

/// Updates on a metadata device so small that its segments are cleaned all the time.
#[test]
fn cleaning() {
    explore("cleaning", 25, || {
        let rig = Rig::new(4 << 20, 4 << 20);
        let fs = rig.fs();
        for file in 0..FILES {
            fs.write(format!("/{file}"), b"").unwrap();
        }
        let threads = (0..2).map(|i| {
            let fs = rig.fs();
            thread::spawn(move || {
                for round in 0..12 {
                    for file in (i..FILES).step_by(2) {
                        if (file / 2 + round) % 3 == 0 {
                            large_attribute(&fs, file, round);
                        }
                    }
                    fs.volume().sync().unwrap();
                }
            })
        });
        join(threads.collect());
        assert!(rig.vol.stats().cleaner.segments_cleaned > 0, "nothing has been cleaned");
        for file in 0..FILES {
            let ino = fs.metadata(format!("/{file}")).unwrap().ino;
            let found = fs.volume().getxattr(&Cred::root(), ino, b"user.large").unwrap();
            let last = (0..12).rev().find(|round| (file / 2 + round) % 3 == 0).unwrap();
            assert!(found == pattern(last as u8, LARGE), "/{file} has an old attribute");
        }
        drop(fs);
        rig.end();
    });
}

const FILES: usize = 500;
const LARGE: usize = 3500;

fn large_attribute(fs: &Fs, file: usize, round: usize) {
    let ino = fs.metadata(format!("/{file}")).unwrap().ino;
    let value = pattern(round as u8, LARGE);
    fs.volume().setxattr(&Cred::root(), ino, b"user.large", &value, XattrMode::Any).unwrap();
}
