//! A volume and its model side by side: every operation goes to both, and they must agree.

mod attributes;
mod compare;
mod contents;
mod dump;
mod listing;
mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tandem_fs::{Atime, Attr, Cred, Error, Ino, MkfsOptions, MountOptions, ROOT, Time, Volume};

use super::device::Pair;
use super::env::{Rng, TestEnv, time_of};
use super::op::{At, Op, Pick, Profile, Set};
use super::tree::{Body, Inode, Name, Spot, Tree};
pub use compare::verify;
pub use listing::Cursor;

/// What a run is made on.
#[derive(Debug, Clone)]
pub struct Config {
    pub seed: u64,
    pub profile: Profile,
    pub meta: u64,
    pub data: u64,
    pub block: u32,
    pub hash_bits: u8,
    pub cache: u64,
    pub atime: Atime,
    pub checkpoint: Duration,
    /// Between commits in the background.
    pub flush: Duration,
    /// Bounds on what there is at a time, so that nothing is full.
    pub nodes: usize,
    pub xattr_bytes: usize,
    /// Whether ENOSPC is an answer to be expected.
    pub small: bool,
    /// Metadata and data share a device.
    pub one_device: bool,
    /// Contents of neighbouring files are read ahead.
    pub cross_file: bool,
    /// Blocks prefetched, and whether what is read in a poor order moves.
    pub prefetch: u32,
    pub relocate: bool,
}

impl Config {
    /// Everything from a seed.
    pub fn new(seed: u64, profile: Profile) -> Config {
        let rng = &mut Rng::new(seed ^ 0xc0f);
        Config {
            seed,
            profile,
            meta: rng.pick(&[6, 8, 12, 32]) << 20,
            data: 64 << 20,
            block: rng.pick(&[512, 4096, 4096, 65536]),
            hash_bits: if profile == Profile::Names {
                rng.pick(&[2, 6, 48])
            } else {
                rng.pick(&[2, 48])
            },
            cache: rng.pick(&[160 << 10, 512 << 10, 2 << 20]),
            atime: rng.pick(&[Atime::Relative, Atime::Strict, Atime::Never, Atime::Never]),
            checkpoint: Duration::from_secs(rng.pick(&[1, 60, 1000])),
            flush: Duration::from_millis(20),
            nodes: if profile == Profile::Names { 2500 } else { 200 },
            xattr_bytes: 512 << 10,
            small: false,
            one_device: rng.one_in(4),
            cross_file: !Rng::new(seed ^ 0xcf).one_in(4),
            prefetch: rng.pick(&[0, 1, 16, 4096]),
            relocate: rng.below(4) > 0,
        }
    }

    /// Room for several threads.
    pub fn wide(seed: u64, profile: Profile) -> Config {
        let cfg = Config::new(seed, profile);
        Config { meta: 64 << 20, data: 256 << 20, ..cfg }
    }

    /// Tiny devices that are to be full.
    pub fn small(seed: u64, profile: Profile) -> Config {
        let rng = &mut Rng::new(seed ^ 0x5a1);
        let (meta, data) = match profile {
            Profile::FillMeta => (rng.pick(&[4, 4, 5]), 64),
            _ => (16, rng.pick(&[1, 1, 3])),
        };
        Config {
            meta: meta << 20,
            data: data << 20,
            nodes: 20_000,
            xattr_bytes: 64 << 20,
            small: true,
            ..Config::new(seed, profile)
        }
    }
}

/// The volume, the model, and what the test holds open.
pub struct World {
    pub cfg: Config,
    pub pair: Pair,
    pub env: Arc<TestEnv>,
    pub vol: Arc<Volume>,
    pub tree: Tree,
    pub holds: BTreeMap<Ino, u64>,
    cursors: Vec<Cursor>,
    /// Number of the operation under way.
    pub op: usize,
    /// I-node numbers with generations that this mount has seen.
    seen: BTreeSet<(Ino, u32)>,
    /// How often something was full.
    pub full: u64,
    /// Free data blocks of the empty volume.
    pub free_at_start: u64,
    pub cred: Cred,
    /// What the operation under way did, for messages.
    pub did: String,
    /// Durability that the operation under way has brought: of everything, or of one i-node.
    pub synced: Option<Option<Ino>>,
    /// Regular files renamed over others by the operation under way.
    pub over: Option<Ino>,
    /// What this world shares with others, if it is one thread's.
    shared: Option<Shared>,
}

/// One thread's part in a volume that others use too.
struct Shared {
    /// Directories in which others make and remove entries.
    dirs: [Ino; 2],
    /// What this thread's names in them begin with.
    prefix: String,
}

pub type Outcome<T = ()> = Result<T, String>;

pub fn wrong<T>(what: impl Into<String>) -> Outcome<T> {
    Err(what.into())
}

/// Whether a failure is the volume's answer to an error of a device.
pub fn is_device_error(failure: &str) -> bool {
    [libc::EIO, libc::EROFS, libc::ENOSPC]
        .iter()
        .any(|errno| failure.contains(&format!(" ({errno})")))
}

pub fn told<T>(what: &str, got: tandem_fs::Result<T>) -> Outcome<T> {
    got.map_err(|e| format!("{what}: {e} ({})", e.errno()))
}

impl World {
    pub fn new(cfg: &Config) -> Outcome<World> {
        let pair = match cfg.one_device {
            true => Pair::new(cfg.meta + cfg.data, 0),
            false => Pair::new(cfg.meta, cfg.data),
        };
        let env = Arc::new(TestEnv::new(cfg.seed));
        let options = MkfsOptions {
            metadata_size: Some(cfg.meta),
            data_block_size: Some(cfg.block),
            segment_size: Some(64 << 10),
            hash_bits: Some(cfg.hash_bits),
            ..MkfsOptions::default()
        };
        let dynamic: Arc<dyn tandem_fs::Env> = Arc::clone(&env) as _;
        told("mkfs", Volume::mkfs(pair.meta(), pair.data(), &options, dynamic))?;
        let vol = mount(&pair, &env, cfg, false)?;
        World::with(cfg, pair, env, vol)
    }

    pub fn with(cfg: &Config, pair: Pair, env: Arc<TestEnv>, vol: Arc<Volume>) -> Outcome<World> {
        let root = told("getattr of the root", vol.getattr(ROOT))?;
        let body = Body::Dir { parent: ROOT, entries: BTreeMap::new() };
        let mut tree = Tree::default();
        tree.nodes.insert(ROOT, Arc::new(inode_of(&root, body)));
        let free_at_start = vol.statfs().blocks_free;
        Ok(World {
            cfg: cfg.clone(),
            pair,
            env,
            vol,
            tree,
            holds: BTreeMap::new(),
            cursors: Vec::new(),
            op: 0,
            seen: BTreeSet::new(),
            full: 0,
            free_at_start,
            cred: Cred::root(),
            did: String::new(),
            synced: None,
            over: None,
            shared: None,
        })
    }

    /// Mounts anew, with commits in the background.
    pub fn remount_in_background(&mut self) -> Outcome {
        told("shutdown", self.vol.shutdown())?;
        self.vol = mount(&self.pair, &self.env, &self.cfg, true)?;
        Ok(())
    }

    /// The world of one of several threads: a directory of its own, and a common one.
    pub fn neighbour(&self, thread: u64, common: Ino) -> Outcome<World> {
        let (pair, env) = (self.pair.clone(), Arc::clone(&self.env));
        let mut world = World::with(&self.cfg, pair, env, Arc::clone(&self.vol))?;
        let own: Name = Arc::from(format!("thread{thread}").as_bytes());
        let own_dir = told("mkdir", self.vol.mkdir(&self.cred, ROOT, &own, 0o777, 0))?;
        let common_dir = told("getattr", self.vol.getattr(common))?;
        for (name, attr) in [(own, own_dir), (Arc::from(&b"common"[..]), common_dir)] {
            let body = Body::Dir { parent: ROOT, entries: BTreeMap::new() };
            world.tree.nodes.insert(attr.ino, Arc::new(inode_of(&attr, body)));
            world.tree.enter(&Spot { dir: ROOT, name }, attr.ino, attr.mtime);
        }
        let prefix = format!("t{thread} ");
        world.shared = Some(Shared { dirs: [ROOT, common], prefix });
        Ok(world)
    }

    /// Directories that others use too.
    pub fn shared(&self) -> &[Ino] {
        self.shared.as_ref().map_or(&[], |shared| &shared.dirs)
    }

    /// What of a whole tree this world knows about.
    pub fn part(&self, whole: &Tree) -> Tree {
        let mut part = Tree::default();
        let mut todo = vec![ROOT];
        while let Some(ino) = todo.pop() {
            let Some(node) = whole.nodes.get(&ino) else { continue };
            let mut node = Arc::clone(node);
            if let Body::Dir { entries, .. } = &mut Arc::make_mut(&mut node).body {
                entries.retain(|name, _| !self.is_foreign(ino, name));
                todo.extend(entries.values().filter(|&ino| !part.nodes.contains_key(ino)));
            }
            part.nodes.insert(ino, node);
        }
        part
    }

    /// The file whose contents an operation changes.
    pub fn changed_by(&self, op: &Op) -> Option<Ino> {
        match *op {
            Op::Write { file, .. }
            | Op::Append { file, .. }
            | Op::Truncate { file, .. }
            | Op::Fallocate { file, .. }
            | Op::Copy { dst: file, .. }
            | Op::SetAttr { node: file, set: Set::SizeAndMode(..) } => Some(self.pick_file(file)),
            _ => None,
        }
    }

    /// The volume has been mounted anew.
    pub fn moved_to(&mut self, vol: &Arc<Volume>) {
        self.vol = Arc::clone(vol);
        self.close_all();
    }

    /// Whether other threads use the directory too.
    fn is_shared(&self, dir: Ino) -> bool {
        self.shared.as_ref().is_some_and(|s| s.dirs.contains(&dir))
    }

    /// Whether a name in a directory is another thread's.
    fn is_foreign(&self, dir: Ino, name: &[u8]) -> bool {
        let Some(shared) = self.shared.as_ref().filter(|_| self.is_shared(dir)) else {
            return false;
        };
        let known = self.tree.entries(dir).is_ok_and(|e| e.contains_key(name));
        !known && !matches!(name, b"." | b"..") && !name.starts_with(shared.prefix.as_bytes())
    }

    pub fn now(&self) -> Time {
        time_of(self.op)
    }

    /// Runs one operation on both sides.
    pub fn step(&mut self, op: &Op) -> Outcome {
        self.op += 1;
        self.env.set(self.op);
        self.pair.trim();
        self.did = format!("{op:?}");
        (self.synced, self.over) = (None, None);
        match *op {
            Op::Mknod { .. }
            | Op::Mkdir { .. }
            | Op::Symlink { .. }
            | Op::Tmpfile { .. }
            | Op::Link { .. }
            | Op::Unlink { .. }
            | Op::Rmdir { .. }
            | Op::Rename { .. }
            | Op::Lookup { .. }
            | Op::Forget { .. } => self.naming(op),
            Op::Write { .. }
            | Op::Append { .. }
            | Op::Read { .. }
            | Op::Truncate { .. }
            | Op::Fallocate { .. }
            | Op::Copy { .. }
            | Op::Seek { .. } => self.contents(op),
            Op::SetAttr { .. }
            | Op::GetAttr { .. }
            | Op::SetXattr { .. }
            | Op::GetXattr { .. }
            | Op::RemoveXattr { .. }
            | Op::ListXattr { .. }
            | Op::Readlink { .. } => self.attributes(op),
            Op::List { dir, window, plus } => {
                let dir = self.pick_dir(dir);
                self.list(dir, window as usize, plus)
            }
            Op::OpenDir { dir } => self.open_dir(dir),
            Op::Step { cursor, n } => self.step_cursor(cursor, n as usize),
            Op::Fsync { node } => self.fsync(node),
            Op::Sync => self.sync(),
            Op::Remount => self.remount(),
            Op::Compare => self.compare(),
        }
    }

    fn fsync(&mut self, node: Pick) -> Outcome {
        let ino = self.pick_node(node);
        self.did += &format!(" = {}", self.tree.path(ino));
        told("fsync", self.vol.fsync(ino, node.is_multiple_of(2)))?;
        self.synced = Some(Some(ino));
        Ok(())
    }

    pub fn sync(&mut self) -> Outcome {
        told("sync", self.vol.sync())?;
        self.synced = Some(None);
        if self.shared.is_none() { self.check_space() } else { Ok(()) }
    }

    /// Unmounts cleanly and mounts again.
    pub fn remount(&mut self) -> Outcome {
        told("shutdown", self.vol.shutdown())?;
        verify(&self.pair, &self.env)?;
        self.vol = mount(&self.pair, &self.env, &self.cfg, false)?;
        let recovered = self.vol.stats().recovered_commits;
        if recovered != 0 {
            return wrong(format!("{recovered} commits recovered after a clean unmount"));
        }
        self.forget_everything();
        self.synced = Some(None);
        self.check_space()
    }

    /// Takes what a mount has found for the model; nothing is open any more.
    pub fn adopt(&mut self, found: Tree) -> Outcome {
        self.tree = found;
        let inos: Vec<Ino> = self.tree.nodes.keys().copied().collect();
        for ino in inos {
            // Reading has changed it.
            let atime = told("getattr", self.vol.getattr(ino))?.atime;
            self.tree.change(ino).atime = atime;
        }
        self.close_all();
        Ok(())
    }

    /// The power has failed: nothing is open, and the model may be another.
    pub fn close_all(&mut self) {
        self.forget_everything();
        self.cursors.clear();
    }

    /// Nothing is open any more.
    fn forget_everything(&mut self) {
        self.tree = self.tree.linked();
        self.holds.clear();
        self.seen.clear();
        let tree = &self.tree;
        self.cursors.retain(|c| tree.nodes.contains_key(&c.dir));
    }

    /// Both sides succeed (then what the volume said) or both fail alike.
    pub fn agree<T>(
        &mut self,
        what: &str,
        got: tandem_fs::Result<T>,
        want: Result<(), i32>,
    ) -> Outcome<Option<T>> {
        match (got, want) {
            (Ok(value), Ok(())) => Ok(Some(value)),
            (Err(e), Err(errno)) if e.errno() == errno => Ok(None),
            (Err(Error::Posix(libc::ENOSPC)), _) if self.cfg.small => {
                self.full += 1;
                Ok(None)
            }
            (Ok(_), Err(errno)) => {
                wrong(format!("{what} succeeded, but should say {}", Error::Posix(errno)))
            }
            (Err(e), Ok(())) => wrong(format!("{what}: {e} ({}), but should succeed", e.errno())),
            (Err(e), Err(errno)) => wrong(format!(
                "{what}: {e} ({}), but should say {}",
                e.errno(),
                Error::Posix(errno)
            )),
        }
    }

    pub fn pick_dir(&self, pick: Pick) -> Ino {
        if pick.is_multiple_of(32) {
            return self.pick_node(pick / 32);
        }
        let live = |n: &Inode| n.is_dir() && (n.nlink > 0 || pick.is_multiple_of(7));
        let first = self.shared.as_ref().map_or(ROOT, |_| ROOT + 1);
        let dirs: Vec<Ino> =
            self.tree.nodes.range(first..).filter(|(_, n)| live(n)).map(|(&ino, _)| ino).collect();
        let few = match self.cfg.profile {
            Profile::Names if !pick.is_multiple_of(5) => dirs.len().min(2),
            _ => dirs.len(),
        };
        dirs[pick as usize / 7 % few]
    }

    pub fn pick_file(&self, pick: Pick) -> Ino {
        let files: Vec<Ino> =
            self.tree.nodes.iter().filter(|(_, n)| n.file().is_some()).map(|(&i, _)| i).collect();
        if files.is_empty() || pick.is_multiple_of(40) {
            return self.pick_node(pick / 40);
        }
        let few = match self.cfg.profile {
            Profile::Data | Profile::Pieces if !pick.is_multiple_of(4) => 3,
            _ => files.len(),
        };
        files[pick as usize / 7 % few.min(files.len())]
    }

    pub fn pick_node(&self, pick: Pick) -> Ino {
        let n = self.tree.nodes.len();
        let mut from = self.tree.nodes.keys().copied().skip(pick as usize % n);
        // What others use too keeps its attributes.
        let own = from.find(|&ino| !self.is_shared(ino));
        own.or_else(|| self.tree.nodes.keys().copied().rfind(|&ino| !self.is_shared(ino)))
            .unwrap_or(ROOT)
    }

    pub fn spot(&self, at: At) -> Spot {
        match at {
            At::Old(n) => {
                let mut spots = self.tree.spots();
                if self.shared.is_some() {
                    spots.retain(|spot| spot.dir != ROOT);
                }
                match spots.len() {
                    0 => self.spot(At::Any(n, n % 50)),
                    len => spots[n as usize % len].clone(),
                }
            }
            At::Any(dir, n) => {
                let (dir, mut name) = (self.pick_dir(dir), name_of(n, self.cfg.profile));
                if let Some(shared) = self.shared.as_ref().filter(|_| self.is_shared(dir)) {
                    let short = &name[..name.len().min(200)];
                    name = Name::from([shared.prefix.as_bytes(), short].concat());
                }
                Spot { dir, name }
            }
        }
    }

    /// The volume's answer must be what the model says.
    pub fn check_attr(&self, ino: Ino, got: &Attr) -> Outcome {
        if self.is_shared(ino) {
            return if got.ino == ino {
                Ok(())
            } else {
                wrong(format!("{got:?} instead of {ino}"))
            };
        }
        let node = self.tree.get(ino);
        let size = match &node.body {
            Body::File(content) => content.size,
            Body::Dir { entries, .. } => entries.len() as u64 * 64,
            Body::Link(target) => target.len() as u64,
            Body::Special => 0,
        };
        let want = Attr {
            ino,
            generation: node.generation,
            mode: node.mode,
            nlink: node.nlink,
            uid: node.uid,
            gid: node.gid,
            rdev: node.rdev,
            size,
            blocks: got.blocks,
            blksize: self.cfg.block.max(4096),
            atime: node.atime,
            mtime: node.mtime,
            ctime: node.ctime,
            btime: node.btime,
        };
        if *got != want {
            let path = self.tree.path(ino);
            return wrong(format!("attributes of {path}:\n  {got:?}, but should be\n  {want:?}"));
        }
        Ok(())
    }

    pub fn check_node(&self, ino: Ino) -> Outcome {
        if !self.tree.nodes.contains_key(&ino) {
            return Ok(());
        }
        self.check_attr(ino, &told("getattr", self.vol.getattr(ino))?)
    }

    /// After a read: the access time may have become now.
    pub fn accessed(&mut self, ino: Ino) -> Outcome {
        let got = told("getattr", self.vol.getattr(ino))?;
        let now = self.now();
        if got.atime == now && self.cfg.atime != Atime::Never {
            self.tree.change(ino).atime = now;
        }
        self.check_attr(ino, &got)
    }

    /// Forgets an i-node that nothing leads to.
    pub fn reap(&mut self, ino: Ino) {
        let unlinked = self.tree.nodes.get(&ino).is_some_and(|n| n.nlink == 0);
        if unlinked && !self.holds.contains_key(&ino) {
            self.tree.nodes.remove(&ino);
            self.cursors.retain(|c| c.dir != ino);
        }
    }
}

/// Opens the volume on a pair of devices.
pub fn mount(
    pair: &Pair,
    env: &Arc<TestEnv>,
    cfg: &Config,
    background: bool,
) -> Outcome<Arc<Volume>> {
    let opts = MountOptions {
        cache: cfg.cache,
        atime: cfg.atime,
        checkpoint: cfg.checkpoint,
        flush: cfg.flush,
        cross_file: cfg.cross_file,
        prefetch: cfg.prefetch,
        relocate: cfg.relocate,
        background,
        ..MountOptions::default()
    };
    let env: Arc<dyn tandem_fs::Env> = Arc::clone(env) as _;
    told("mount", Volume::open(pair.meta(), pair.data(), opts, env))
}

/// An i-node of the model with a volume's attributes.
pub fn inode_of(attr: &Attr, body: Body) -> Inode {
    Inode {
        generation: attr.generation,
        mode: attr.mode,
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        rdev: attr.rdev,
        atime: attr.atime,
        mtime: attr.mtime,
        ctime: attr.ctime,
        btime: attr.btime,
        xattrs: BTreeMap::new(),
        body,
    }
}

/// Name number `n`: mostly short, some long, few that cannot be.
fn name_of(n: u32, profile: Profile) -> Name {
    let name = match n {
        55 if profile != Profile::Names => ".".into(),
        56 if profile != Profile::Names => "..".into(),
        57 if profile != Profile::Names => String::new(),
        58 if profile != Profile::Names => "x".repeat(256),
        59 if profile != Profile::Names => "a/b".into(),
        n if n % 19 == 3 => format!("{n:0>255}"),
        n if n % 7 == 2 => format!("a name of some length, as people give them {n}.txt"),
        n => format!("n{n}"),
    };
    Name::from(name.into_bytes())
}
