//! Where the kernel keeps control groups for memory: both versions of them.
//!
//! Version 1 has a hierarchy of its own for memory, in which a group may have members and groups.
//! In version 2 a group has either (but for the root), and has only the controllers that its parent
//! hands on.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::stage::mounts::{self, Mount};

/// The controller.
const MEMORY: &str = "memory";
const HANDED_ON: &str = "cgroup.subtree_control";

/// Of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

impl Version {
    pub fn name(self) -> &'static str {
        match self {
            Version::One => "version 1",
            Version::Two => "version 2",
        }
    }

    /// Files and what must be in them: the bound, and no swap beside it.
    pub fn limits(self, bound: u64) -> [(&'static str, String); 2] {
        match self {
            Version::One => [
                ("memory.limit_in_bytes", bound.to_string()),
                ("memory.memsw.limit_in_bytes", bound.to_string()),
            ],
            Version::Two => {
                [("memory.max", bound.to_string()), ("memory.swap.max", "0".to_owned())]
            }
        }
    }

    /// The file that counts killed processes.
    pub fn events(self) -> &'static str {
        match self {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        }
    }
}

/// A hierarchy of groups that has the controller.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub version: Version,
    /// Where it is mounted.
    point: PathBuf,
    /// The group of this process, or the topmost one that it sees.
    own: PathBuf,
}

impl Hierarchy {
    /// That of this process.
    ///
    /// # Errors
    /// There is none, in words.
    pub fn find() -> Result<Hierarchy, String> {
        let file = "/proc/self/cgroup";
        let groups = fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        Hierarchy::among(&mounts::table(), &groups)
    }

    fn among(mounts: &[Mount], groups: &str) -> Result<Hierarchy, String> {
        let one: Vec<&Mount> = mounts
            .iter()
            .filter(|mount| mount.kind == "cgroup" && has(&mount.options, ',', MEMORY))
            .collect();
        let two = mounts.iter().filter(|mount| mount.kind == "cgroup2");
        let two: Vec<&Mount> =
            two.filter(|mount| lists(&mount.point.join("cgroup.controllers"))).collect();
        let (version, found) = match (one.is_empty(), two.is_empty()) {
            (false, _) => (Version::One, one),
            (true, false) => (Version::Two, two),
            (true, true) => return Err("no mounted hierarchy has the memory controller".to_owned()),
        };
        let path = own_path(groups, version);
        let seen = |mount: &&&Mount| place(mount, path).is_some();
        let mount = found.iter().find(seen).or(found.first()).ok_or("none")?;
        let own = place(mount, path).unwrap_or_else(|| mount.point.clone());
        Ok(Hierarchy { version, point: mount.point.clone(), own })
    }

    /// Where a group may be made: in this process's own, so that what bounds the lab bounds the run,
    /// or as near to it as the kernel lets one.
    pub fn parents(&self) -> impl Iterator<Item = &Path> {
        self.own.ancestors().take_while(|dir| dir.starts_with(&self.point))
    }

    /// Makes a group.
    ///
    /// # Errors
    /// Why the topmost place has none, in words.
    pub fn make(&self, name: &str) -> Result<PathBuf, String> {
        let mut made = Err(String::new());
        for parent in self.parents() {
            made = self.make_in(parent, name);
            if made.is_ok() {
                break;
            }
        }
        made
    }

    fn make_in(&self, parent: &Path, name: &str) -> Result<PathBuf, String> {
        let said = |what: &str, path: &Path, e: std::io::Error| {
            Err(format!("{what} {}: {e}", path.display()))
        };
        let control = parent.join(HANDED_ON);
        if self.version == Version::Two
            && !lists(&control)
            && let Err(error) = fs::write(&control, format!("+{MEMORY}"))
        {
            return said(&format!("write +{MEMORY} to"), &control, error);
        }
        let dir = parent.join(name);
        match fs::create_dir(&dir) {
            Ok(()) => Ok(dir),
            Err(error) => said("create", &dir, error),
        }
    }
}

/// The path of this process's group in `/proc/self/cgroup`: lines of number, controllers, path.
fn own_path(groups: &str, version: Version) -> &str {
    let path = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let here = match version {
            Version::One => has(controllers, ',', MEMORY),
            Version::Two => controllers.is_empty(),
        };
        here.then_some(path)
    });
    path.unwrap_or("/")
}

/// Where a group of the hierarchy is to be found in a mount, which may be of a part of it.
fn place(mount: &Mount, group: &str) -> Option<PathBuf> {
    let inside = Path::new(group).strip_prefix(&mount.root).ok()?;
    let plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
    let place = mount.point.join(inside);
    (plain && place.is_dir()).then_some(place)
}

/// Is the controller in a file's list?
fn lists(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| has(text.trim_end(), ' ', MEMORY))
}

fn has(list: &str, between: char, word: &str) -> bool {
    list.split(between).any(|one| one == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(root: &str, point: &Path, kind: &str, options: &str) -> Mount {
        let (root, point) = (PathBuf::from(root), point.to_owned());
        Mount { root, point, kind: kind.to_owned(), options: options.to_owned() }
    }

    /// Directories as the kernel would show them, with the controllers of version 2.
    fn tree(controllers: &str, groups: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("cgroup.controllers"), controllers).unwrap();
        groups.iter().for_each(|group| fs::create_dir_all(dir.path().join(group)).unwrap());
        dir
    }

    #[test]
    fn version_1_beside_an_empty_version_2() {
        let (one, two) = (tree("", &["user/7"]), tree("\n", &[]));
        let mounts = [
            mount("/", two.path(), "cgroup2", "rw"),
            mount("/", Path::new("/cpu"), "cgroup", "rw,cpu"),
            mount("/", one.path(), "cgroup", "rw,memory"),
        ];
        let found = Hierarchy::among(&mounts, "5:cpu:/\n4:memory:/user/7\n0::/x\n").unwrap();
        assert_eq!((found.version, &*found.own), (Version::One, &*one.path().join("user/7")));
        let parents: Vec<&Path> = found.parents().collect();
        assert_eq!(parents.last(), Some(&one.path()));
        assert_eq!(parents.len(), 3);
        assert_eq!(found.make("a").unwrap(), one.path().join("user/7/a"));
    }

    #[test]
    fn version_2_hands_the_controller_on() {
        let two = tree("cpu memory pids\n", &["slice/scope"]);
        let mounts = [mount("/", two.path(), "cgroup2", "rw,nsdelegate")];
        let found = Hierarchy::among(&mounts, "0::/slice/scope\n").unwrap();
        assert_eq!((found.version, found.parents().count()), (Version::Two, 3));
        // A directory in its place is what cannot be written to.
        fs::create_dir(two.path().join("slice/scope").join(HANDED_ON)).unwrap();
        fs::write(two.path().join("slice").join(HANDED_ON), "memory pids\n").unwrap();
        assert_eq!(found.make("a").unwrap(), two.path().join("slice/a"));
    }

    #[test]
    fn of_a_container_a_part_is_mounted() {
        let one = tree("", &["inner"]);
        let mounts = [mount("/docker/7", one.path(), "cgroup", "memory")];
        let own = |groups| Hierarchy::among(&mounts, groups).unwrap().own;
        assert_eq!(own("4:memory:/docker/7/inner\n"), one.path().join("inner"));
        // Not to be seen from in here.
        for other in ["4:memory:/docker/8\n", "4:memory:/../x\n", ""] {
            assert_eq!(own(other), one.path(), "{other}");
        }
    }

    #[test]
    fn nothing_is_said_to_be_missing() {
        let two = tree("cpu pids\n", &[]);
        let mounts = [mount("/", two.path(), "cgroup2", "rw")];
        let said = Hierarchy::among(&mounts, "0::/\n").unwrap_err();
        assert!(said.contains("memory controller"), "{said}");
        let gone =
            Hierarchy { version: Version::Two, point: "/gone".into(), own: "/gone/x".into() };
        let said = gone.make("a").unwrap_err();
        assert!(said.contains("+memory") && said.contains("/gone"), "{said}");
    }
}
