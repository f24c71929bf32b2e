//! The cleaner at work in a volume whose log has segments enough to keep blocks apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tandem_device::{Device, MemoryDevice};

use super::Need;
use crate::commit::Contents;
use crate::error::Fault;
use crate::types::{Cred, Ino, ROOT, SetAttr, SetTime};
use crate::{MkfsOptions, MountOptions, SystemEnv, Time, Volume};

const SIZE: u64 = 16 << 20;
pub(super) const FILES: u64 = 60;

/// Devices in memory, and directories of files.
pub(super) struct Rig {
    meta: Arc<dyn Device>,
    data: Arc<dyn Device>,
    pub dirs: Vec<Vec<Ino>>,
    random: u64,
}

impl Rig {
    /// So many in a hundred of M's bytes are live metadata.
    pub fn new(percent: u64) -> (Rig, Arc<Volume>) {
        let (meta, data) = (MemoryDevice::new("meta", SIZE), MemoryDevice::new("data", 64 << 20));
        let (rig, vol) = Rig::on([Arc::new(meta), Arc::new(data)], None, SIZE / 100 * percent);
        assert!(vol.core.state.lock().segs.tables_apart());
        (rig, vol)
    }

    /// On these devices, with segments of so many bytes and so many bytes of live metadata.
    pub fn on(
        devices: [Arc<dyn Device>; 2],
        segment_size: Option<u32>,
        live: u64,
    ) -> (Rig, Arc<Volume>) {
        let options = MkfsOptions { segment_size, ..MkfsOptions::default() };
        let mut rig = Rig::found(devices, Vec::new());
        let (meta, data) = (Arc::clone(&rig.meta), Arc::clone(&rig.data));
        Volume::mkfs(meta, Some(data), &options, Arc::new(SystemEnv)).unwrap();
        let vol = rig.open();
        while vol.core.state.lock().segs.live_bytes() < live {
            rig.grow(&vol);
            vol.sync().unwrap();
        }
        (rig, vol)
    }

    /// Of a volume that is there.
    pub fn found([meta, data]: [Arc<dyn Device>; 2], dirs: Vec<Vec<Ino>>) -> Rig {
        Rig { meta, data, dirs, random: 1 }
    }

    pub fn open(&self) -> Arc<Volume> {
        let options = MountOptions { background: false, ..MountOptions::default() };
        let (meta, data) = (Arc::clone(&self.meta), Arc::clone(&self.data));
        Volume::open(meta, Some(data), options, Arc::new(SystemEnv)).unwrap()
    }

    fn grow(&mut self, vol: &Volume) {
        let name = format!("directory {}", self.dirs.len());
        let dir = vol.mkdir(&Cred::root(), ROOT, name.as_bytes(), 0o755, 0).unwrap().ino;
        let file = |n: u64| {
            let name = format!("a file with a name of some length {n}");
            let ino = vol.mknod(&Cred::root(), dir, name.as_bytes(), 0o100_644, 0, 0).unwrap().ino;
            vol.setattr(&Cred::root(), ino, &accessed(n)).unwrap();
            vol.forget(ino, 1);
            ino
        };
        self.dirs.push((0..FILES).map(file).collect());
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % n
    }

    /// Changes files at random until so many times M's bytes were logged; nine of ten in one
    /// directory of ten when some are `hot`. Returns the bytes of blocks logged by those of changed ones.
    pub fn update(&mut self, vol: &Volume, times: u64, hot: bool) -> f64 {
        let before = vol.stats().log;
        let mut n = 0;
        loop {
            let dirs = self.dirs.len() as u64;
            let dir = match hot && self.below(10) < 9 {
                true => self.below(dirs / 10) * 10,
                false => self.below(dirs),
            };
            let file = self.below(FILES) as usize;
            let ino = self.dirs[dir as usize][file];
            let done = vol.setattr(&Cred::root(), ino, &accessed(n));
            done.unwrap_or_else(|e| panic!("{e}: {:?}", vol.stats()));
            n += 1;
            if n % 64 == 0 {
                vol.sync().unwrap();
                let now = vol.stats().log;
                if now.bytes_logged - before.bytes_logged > times * SIZE {
                    let changed = now.logged.changed - before.logged.changed;
                    let moved = now.logged.moved - before.logged.moved;
                    return (changed + moved) as f64 / changed as f64;
                }
            }
        }
    }

    /// The devices as a crash would leave them.
    fn copy(&self) -> Rig {
        let copy = |from: &Arc<dyn Device>| {
            let to = MemoryDevice::new(from.name(), from.size());
            let mut piece = vec![0; 1 << 20];
            for at in (0..from.size()).step_by(piece.len()) {
                from.read_at(&mut piece, at).unwrap();
                to.write_at(&piece, at).unwrap();
            }
            Arc::new(to) as Arc<dyn Device>
        };
        let (meta, data) = (copy(&self.meta), copy(&self.data));
        Rig { meta, data, dirs: self.dirs.clone(), random: self.random }
    }

    /// All files are there, and the books are right.
    pub fn assert_sound(&self, vol: &Arc<Volume>) {
        for ino in self.dirs.iter().flatten() {
            vol.getattr(*ino).unwrap();
        }
        vol.shutdown().unwrap();
        let options = crate::check::CheckOptions { threads: 1, memory: 64 << 20 };
        let (meta, data) = (Arc::clone(&self.meta), Some(Arc::clone(&self.data)));
        let report =
            crate::check::check(meta, data, &options, Arc::new(SystemEnv), &|_| {}).unwrap();
        assert!(report.is_sound(), "{report:#?}");
    }
}

/// Some second of half a year: records are as long before as after the updates.
pub(super) fn accessed(n: u64) -> SetAttr {
    let secs = (1 << 30) + (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as i64;
    let atime = Some(SetTime::At(Time { secs, nanos: 123_456_789 }));
    SetAttr { atime, ..SetAttr::default() }
}

#[test]
fn hot_blocks_do_not_make_the_cold_ones_move() {
    let amplification = |hot| {
        let (mut rig, vol) = Rig::new(58);
        let written = rig.update(&vol, 8, hot);
        rig.assert_sound(&vol);
        written
    };
    let (uniform, hot) = (amplification(false), amplification(true));
    assert!(hot < uniform * 0.85, "{hot} and {uniform}");
}

#[test]
fn what_the_cleaner_was_promised_nobody_else_gets() {
    let (_, vol) = Rig::new(50);
    let mut st = vol.core.state.lock();
    let room = st.segs.room_for_writes(true) - st.commit_adds();
    let dirty = st.cache.dirty_bytes() as u64 + st.committing_bytes;
    assert!(st.claim(4096, true).is_ok());
    st.moving = room - dirty;
    assert!(matches!(st.claim(4096, true), Err(Fault::LogFull)));
    st.moving = 0;
    assert!(st.claim(4096, true).is_ok());
}

#[test]
fn changes_while_blocks_move_do_not_exhaust_the_segments() {
    let (mut rig, vol) = Rig::new(58);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                vol.core.clean_step(Need::Soon).unwrap();
            }
        });
        rig.update(&vol, 4, false);
        done.store(true, Ordering::SeqCst);
    });
    assert_eq!(vol.stats().failed, None);
    rig.assert_sound(&vol);
}

#[test]
fn a_crash_after_any_round_loses_nothing() {
    let (mut rig, vol) = Rig::new(58);
    for _ in 0..4 {
        rig.update(&vol, 1, true);
        vol.core.clean_step(Need::Soon).unwrap();
        let crashed = rig.copy();
        let after = crashed.open();
        crashed.assert_sound(&after);
    }
}

#[test]
fn what_changes_while_it_is_moved_goes_as_it_is_then() {
    let (mut rig, vol) = Rig::new(30);
    let mut committer = vol.core.commit.lock();
    let used: Vec<u64> = vol.core.state.lock().segs.used().map(|(n, _)| n).collect();
    used.iter().take(4).for_each(|&n| vol.core.clean_segment(n).unwrap());
    let rescued: Vec<u64> = vol.core.state.lock().rescued.iter().map(|item| item.owner).collect();
    let dirs: Vec<usize> = (0..rig.dirs.len())
        .filter(|&n| {
            let name = format!("directory {n}");
            let dir = vol.lookup(&Cred::root(), ROOT, name.as_bytes()).unwrap().ino;
            vol.forget(dir, 1);
            rescued.contains(&dir)
        })
        .collect();
    assert!(dirs.len() > 8, "{dirs:?}");
    // Few: nobody could make room while this has the commit's lock.
    let changed: Vec<Ino> = dirs[..4].iter().map(|&n| rig.dirs[n][0]).collect();
    for &ino in &changed {
        vol.setattr(&Cred::root(), ino, &accessed(77)).unwrap();
    }
    for &n in &dirs[4..8] {
        let name = format!("directory {n}");
        let dir = vol.lookup(&Cred::root(), ROOT, name.as_bytes()).unwrap().ino;
        vol.unlink(&Cred::root(), dir, b"a file with a name of some length 0").unwrap();
        vol.forget(dir, 1);
        rig.dirs[n].remove(0);
    }
    vol.core.commit_locked(&mut committer, Contents::Wanted, true).unwrap();
    drop(committer);
    assert!(vol.core.state.lock().rescued.is_empty());
    let crashed = rig.copy();
    let after = crashed.open();
    for ino in changed {
        assert_eq!(Some(SetTime::At(after.getattr(ino).unwrap().atime)), accessed(77).atime);
    }
    crashed.assert_sound(&after);
    rig.assert_sound(&vol);
}
