//! Names that come, go and move. A commit takes a picture of all names at one moment: what is
//! there after a crash is what was there after some operation, none that was durable missing.

use crate::common::random::Random;
use crate::common::sys::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const DIRECTORIES: usize = 3;
const NAMES: usize = 12;

/// Names by directory, and the symbolic links' targets, which are numbers that are given once.
type Names = BTreeMap<String, u64>;
/// What one operation does to them.
type Change = Vec<(String, Option<u64>)>;

/// The names and their history.
pub struct Links {
    dir: PathBuf,
    now: Names,
    durable: Names,
    /// Operations begun since `durable`.
    since: Vec<Change>,
    next: u64,
}

fn apply(names: &mut Names, change: &Change) {
    for (name, target) in change {
        match target {
            Some(target) => names.insert(name.clone(), *target),
            None => names.remove(name),
        };
    }
}

impl Links {
    pub fn new(dir: &Path) -> R<Links> {
        let dir = dir.join("links");
        mkdir(&dir, 0o755)?;
        for i in 0..DIRECTORIES {
            mkdir(dir.join(format!("d{i}")), 0o755)?;
        }
        fsync(&open(&dir, O_RDONLY, 0)?)?;
        let (now, durable) = (Names::new(), Names::new());
        Ok(Links { dir, now, durable, since: vec![], next: 1 })
    }

    fn name(random: &mut Random) -> String {
        format!("d{}/n{}", random.below(DIRECTORIES), random.below(NAMES))
    }

    pub fn step(&mut self, random: &mut Random) -> R<bool> {
        for _ in 0..1 + random.below(10) {
            self.change(random)?;
        }
        if !random.once_in(8) {
            return Ok(false);
        }
        let d = self.dir.join(format!("d{}", random.below(DIRECTORIES)));
        fsync(&open(d, O_RDONLY, 0)?)?;
        // A commit is of the whole volume.
        self.durable = self.now.clone();
        self.since.clear();
        Ok(true)
    }

    fn change(&mut self, random: &mut Random) -> R<()> {
        let (a, b) = (Self::name(random), Self::name(random));
        let (from, to) = (self.now.get(&a).copied(), self.now.get(&b).copied());
        let (pa, pb) = (self.dir.join(&a), self.dir.join(&b));
        match (random.below(5), from, to) {
            (_, None, _) => {
                let target = self.next;
                self.next += 1;
                self.begin(vec![(a, Some(target))]);
                symlink(target.to_string(), &pa)
            }
            (0, Some(_), _) => {
                self.begin(vec![(a, None)]);
                unlink(&pa)
            }
            (1, Some(target), None) => {
                self.begin(vec![(b, Some(target))]);
                linkat(&pa, &pb, 0)
            }
            (2, Some(x), Some(y)) => {
                self.begin(vec![(a, Some(y)), (b, Some(x))]);
                rename2(&pa, &pb, RENAME_EXCHANGE)
            }
            // Names of one i-node: rename(2) does nothing.
            (_, Some(x), y) if y == Some(x) => Ok(()),
            (_, Some(target), _) => {
                self.begin(vec![(a, None), (b, Some(target))]);
                rename(&pa, &pb)
            }
        }
    }

    fn begin(&mut self, change: Change) {
        apply(&mut self.now, &change);
        self.since.push(change);
    }

    fn found(&self) -> Result<Names, String> {
        let mut found = Names::new();
        for d in 0..DIRECTORIES {
            let dir = self.dir.join(format!("d{d}"));
            for name in names(&dir).map_err(|e| format!("links: d{d}: {e}"))? {
                let target = readlink(dir.join(&name)).map_err(|e| format!("{name}: {e}"))?;
                let target = String::from_utf8_lossy(&target).parse();
                found.insert(format!("d{d}/{name}"), target.map_err(|e| format!("{name}: {e}"))?);
            }
        }
        Ok(found)
    }

    pub fn verify(&self) -> Result<(), String> {
        let found = self.found()?;
        let mut names = self.durable.clone();
        if names == found {
            return Ok(());
        }
        for change in &self.since {
            apply(&mut names, change);
            if names == found {
                return Ok(());
            }
        }
        Err(format!(
            "names that never were: {found:?}; durable {:?}, since {:?}",
            self.durable, self.since
        ))
    }
}
