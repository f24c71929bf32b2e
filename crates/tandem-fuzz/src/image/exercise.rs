//! Using a changed volume.

use std::sync::Arc;

use tandem_device::Device;
use tandem_format::{Geometry, Superblock};
use tandem_fs::check::{CheckOptions, CheckReport, check, repair};
use tandem_fs::{
    Cred, Error, FallocFlags, FileKind, Ino, ROOT, RenameFlags, Result, SetAttr, Volume,
    WriteFlags, XattrMode,
};

use super::Outcome;
use super::base::{Base, options, pattern};
use super::edit::Target;
use super::overlay::{Overlay, Work};
use super::walk::Walk;

const CHECK: CheckOptions = CheckOptions { threads: 1, memory: 8 << 20 };
/// Entries of a directory that are changed.
const CHANGED: usize = 12;

/// A changed volume.
pub struct Trial<'a> {
    base: &'a Base,
    work: Arc<Work>,
    pub target: Target,
}

/// Devices that are in use.
struct Devices {
    meta: Arc<Overlay>,
    data: Option<Arc<Overlay>>,
    work: Arc<Work>,
    geo: Option<Geometry>,
}

impl<'a> Trial<'a> {
    pub fn new(base: &'a Base) -> Trial<'a> {
        let work = Arc::new(Work::default());
        let device =
            |name, bytes: &Arc<[u8]>| Overlay::new(name, Arc::clone(bytes), Arc::clone(&work));
        let data = base.data.as_ref().map(|data| device("data", data));
        let target = Target::new(device("meta", &base.meta), data);
        Trial { base, work, target }
    }

    fn devices(&self) -> Devices {
        let meta = Arc::new(self.target.meta.fork());
        let data = self.target.data.as_ref().map(|data| Arc::new(data.fork()));
        let at = [0, self.base.places.sb.geometry().superblock_b()];
        let geo = at.iter().find_map(|&at| Superblock::decode(&meta.peek(at, 4096)).ok());
        Devices { meta, data, work: Arc::clone(&self.work), geo: geo.map(|sb| sb.geometry()) }
    }

    pub fn run(&self, repairs: bool) -> Outcome {
        let devices = self.devices();
        devices.freeze(true);
        let mut outcome = Outcome { sound: devices.is_sound(), ..Outcome::default() };
        let vol = devices.open(true, outcome.sound);
        if let Some(vol) = &vol {
            outcome.mounted = true;
            devices.walk(vol, outcome.sound);
        }
        drop(vol);
        if repairs {
            outcome.repaired = self.devices().repair(outcome.sound);
        }
        devices.freeze(false);
        outcome.written = devices.write(outcome.sound);
        if outcome.written {
            let sound = devices.is_sound();
            assert!(sound || !outcome.sound, "unsound after an unmount: {:#?}", devices.check());
        }
        outcome
    }
}

impl Devices {
    fn both(&self) -> (Arc<dyn Device>, Option<Arc<dyn Device>>) {
        (Arc::clone(&self.meta) as _, self.data.clone().map(|data| data as _))
    }

    fn freeze(&self, frozen: bool) {
        self.meta.freeze(frozen);
        self.data.iter().for_each(|data| data.freeze(frozen));
    }

    fn check(&self) -> Result<CheckReport> {
        self.work.restart();
        let (meta, data) = self.both();
        check(meta, data, &CHECK, Arc::clone(&self.work) as _, &|_| {})
    }

    fn is_sound(&self) -> bool {
        self.check().is_ok_and(|report| report.is_sound())
    }

    fn open(&self, read_only: bool, must: bool) -> Option<Arc<Volume>> {
        self.work.restart();
        let (meta, data) = self.both();
        match Volume::open(meta, data, options(read_only), Arc::clone(&self.work) as _) {
            Ok(vol) => Some(vol),
            Err(e) => {
                assert!(!must, "a sound volume cannot be mounted: {e}");
                None
            }
        }
    }

    fn walk(&self, vol: &Volume, strict: bool) {
        self.work.restart();
        let data = self.data.as_deref().unwrap_or(&self.meta);
        Walk { vol, data, geo: self.geo, strict }.run();
    }

    /// Mounts it, changes it and unmounts it; whether that went well.
    fn write(&self, strict: bool) -> bool {
        let Some(vol) = self.open(false, strict) else { return false };
        self.work.restart();
        change(&vol, ROOT);
        if let Ok(data) = vol.lookup(&Cred::root(), ROOT, b"data") {
            change(&vol, data.ino);
            vol.forget(data.ino, 1);
        }
        let synced = vol.sync();
        if synced.is_ok() {
            self.walk(&vol, strict);
        }
        self.work.restart();
        let done = synced.and_then(|()| vol.shutdown());
        if let Err(e) = &done {
            let full = matches!(e, Error::Posix(_));
            assert!(!strict || full, "a sound volume cannot be written: {e}");
        }
        done.is_ok()
    }

    /// Repairs it, if that can be done; then it is sound, and so is all that it shows.
    fn repair(&self, sound: bool) -> bool {
        self.work.restart();
        let (meta, data) = self.both();
        let env = Arc::clone(&self.work) as _;
        let Ok(report) = repair(meta, data, &CHECK, env, &|_| {}, &mut |_| true) else {
            assert!(!sound, "repair of a sound volume fails");
            return false;
        };
        assert!(!(sound && report.made), "a sound volume is repaired: {report:#?}");
        assert!(report.is_sound(), "unsound after a repair: {report:#?}");
        self.freeze(true);
        if let Some(vol) = self.open(true, true) {
            // Whose bytes they are, a repair cannot tell; that they can be read, it can.
            self.walk(&vol, false);
        }
        report.made
    }
}

/// Changes a little of everything in a directory. Errors are as good as success here.
fn change(vol: &Volume, dir: Ino) {
    let root = Cred::root();
    if let Ok(new) = vol.mknod(&root, dir, b"new", 0o100_644, 0, 0) {
        let _ = vol.write(&root, new.ino, 0, &pattern(new.ino, 0..300), WriteFlags::default());
        let _ = vol.fsync(new.ino, false);
        vol.forget(new.ino, 1);
    }
    if let Ok(new) = vol.mkdir(&root, dir, b"newdir", 0o755, 0) {
        if let Ok(link) = vol.symlink(&root, new.ino, b"symlink", &[b't'; 900]) {
            vol.forget(link.ino, 1);
        }
        vol.forget(new.ino, 1);
    }
    let mut names = Vec::new();
    let _ = vol.readdir(&root, dir, 0, &mut |entry| {
        if entry.name != b"." && entry.name != b".." {
            names.push(entry.name.to_vec());
        }
        names.len() < CHANGED
    });
    for (n, name) in names.iter().enumerate() {
        if let Ok(attr) = vol.lookup(&root, dir, name) {
            match attr.kind() {
                FileKind::Regular => contents(vol, attr.ino, attr.size),
                FileKind::Directory => within(vol, attr.ino),
                _ => {}
            }
            let _ = vol.setxattr(&root, attr.ino, b"user.c", &vec![5; 40 << n], XattrMode::Any);
            let mode = SetAttr { mode: Some(0o700), ..SetAttr::default() };
            let _ = vol.setattr(&root, attr.ino, &mode);
            match n % 4 {
                0 => _ = vol.link(&root, attr.ino, ROOT, format!("linked{n}").as_bytes()),
                1 => {
                    let to = format!("renamed{n}");
                    let _ = vol.rename(&root, dir, name, ROOT, to.as_bytes(), RenameFlags::empty());
                }
                2 => _ = vol.unlink(&root, dir, name),
                _ => _ = vol.rmdir(&root, dir, name),
            }
            let _ = vol.removexattr(&root, attr.ino, b"user.a");
            vol.forget(attr.ino, if n % 4 == 0 { 2 } else { 1 });
        }
    }
    if let [first, .., last] = &names[..] {
        let _ = vol.rename(&root, dir, first, dir, last, RenameFlags::EXCHANGE);
    }
}

fn contents(vol: &Volume, ino: Ino, size: u64) {
    let root = Cred::root();
    let words = size / 8;
    let end = words.saturating_add(20);
    let _ = vol.write(&root, ino, words * 8, &pattern(ino, words..end), WriteFlags::default());
    let hole = FallocFlags::PUNCH_HOLE | FallocFlags::KEEP_SIZE;
    let _ = vol.fallocate(&root, ino, hole, 1024, 2048);
    let _ = vol.fallocate(&root, ino, FallocFlags::KEEP_SIZE, size, 3000);
    let cut = SetAttr { size: Some(size / 16 * 8), ..SetAttr::default() };
    let _ = vol.setattr(&root, ino, &cut);
}

fn within(vol: &Volume, dir: Ino) {
    let root = Cred::root();
    for n in 0..20 {
        let name = format!("within-a-directory-{n}");
        if let Ok(new) = vol.mknod(&root, dir, name.as_bytes(), 0o100_600, 0, 0) {
            vol.forget(new.ino, 1);
        }
    }
    let _ = vol.unlink(&root, dir, b"within-a-directory-7");
}
