//! What lasts: over an unmount, over a crash, over every way of mounting and ending.

mod common;

use common::program::sh;
use common::suite::tick;
use common::sys::{self, *};
use common::volume::{Shape, Volume, cli, skip};
use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// All that can be known of one name.
#[derive(Debug, PartialEq, Eq)]
struct Known {
    stat: Stat,
    contents: Vec<u8>,
    attributes: Vec<(String, Vec<u8>)>,
}

fn survey(root: &Path) -> BTreeMap<PathBuf, Known> {
    let mut out = BTreeMap::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(path) = todo.pop() {
        let full = root.join(&path);
        let mut stat = lstat(&full).unwrap();
        stat.dev = (0, 0);
        let contents = match stat.kind() {
            S_IFREG if stat.size < 50 << 20 => std::fs::read(&full).unwrap(),
            S_IFLNK => readlink(&full).unwrap(),
            S_IFDIR => {
                let list = names(&full).unwrap();
                todo.extend(list.iter().map(|n| path.join(n)));
                list.join("\n").into_bytes()
            }
            _ => vec![],
        };
        // Looking changes these, and nothing else.
        (stat.atime, stat.blksize) = ((0, 0), 0);
        let attributes = listxattr(&full).unwrap();
        let attributes =
            attributes.into_iter().map(|n| (n.clone(), getxattr(&full, &n).unwrap())).collect();
        out.insert(path, Known { stat, contents, attributes });
    }
    out
}

#[track_caller]
fn same(before: &BTreeMap<PathBuf, Known>, after: &BTreeMap<PathBuf, Known>) {
    for (path, known) in before {
        let now = after.get(path).unwrap_or_else(|| panic!("{path:?} is gone"));
        assert_eq!(now.stat, known.stat, "{path:?}");
        assert!(now.contents == known.contents, "{path:?}: contents");
        assert!(now.attributes == known.attributes, "{path:?}: attributes");
    }
    assert_eq!(after.len(), before.len(), "names that were not there before");
}

fn bytes(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 37 + i / 256 + seed * 101) as u8).collect()
}

/// Something of everything.
fn populate(root: &Path) {
    let at = |p: &str| root.join(p);
    for i in 0..400usize {
        let dir = at(&format!("d{}", i % 20));
        let _ = std::fs::create_dir(&dir);
        std::fs::write(dir.join(format!("file {i}")), bytes(i * i % 30_000, i)).unwrap();
    }
    for i in 0..2000 {
        create(at(&format!("d0/many{i}")), 0o600).unwrap();
    }
    for (i, len) in [1, 59, 60, 200, 1000, 4095].into_iter().enumerate() {
        symlink("t".repeat(len), at(&format!("d1/link{i}"))).unwrap();
        create(at(&format!("d1/{}{i}", "n".repeat(len.min(254)))), 0o644).unwrap();
    }
    mkfifo(at("fifo"), 0o640).unwrap();
    mknod(at("char"), S_IFCHR | 0o600, makedev(4, 300)).unwrap();
    mknod(at("block"), S_IFBLK | 0o600, makedev(259, 70_000)).unwrap();
    mknod(at("socket"), S_IFSOCK | 0o755, 0).unwrap();
    for i in 0..40 {
        link(at("d3/file 3"), at(&format!("d{}/hard{i}", i % 20))).unwrap();
    }
    mkdir(at("empty"), 0o3777).unwrap();
    chown(at("empty"), 12, 70_000).unwrap();
    for (i, time) in [-62_135_596_800, -1, 0, 1 << 31, 1 << 32, 253_402_300_799].iter().enumerate()
    {
        let path = at(&format!("d4/time{i}"));
        create(&path, 0o4711).unwrap();
        let times = [Set::At((*time, 1)), Set::At((*time, 999_999_999))];
        utimens(&path, times, 0).unwrap();
    }
    for (i, len) in [0, 1, 50, 500, 3000, 20_000, 65_536].into_iter().enumerate() {
        let path = at(&format!("d5/attr{i}"));
        std::fs::write(&path, bytes(i * 5000, i)).unwrap();
        setxattr(&path, true, "user.value", &bytes(len, i), 0).unwrap();
        setxattr(&path, true, "trusted.other", b"short", 0).unwrap();
    }
    setxattr(at("d6"), true, "user.directory", &bytes(300, 1), 0).unwrap();
    let sparse = open(at("sparse"), O_CREAT | O_RDWR, 0o644).unwrap();
    for i in 0..200i64 {
        pwrite(&sparse, &bytes(5000, i as usize), (i * 7919 % 400) << 16).unwrap();
    }
    fallocate(&sparse, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1 << 20, 3 << 20).unwrap();
    fallocate(&sparse, FALLOC_FL_KEEP_SIZE, 0, 1 << 20).unwrap();
    let huge = open(at("huge"), O_CREAT | O_RDWR, 0o644).unwrap();
    ftruncate(&huge, i64::MAX).unwrap();
    pwrite(&huge, b"far out", 1 << 61).unwrap();
    fsync(&huge).unwrap();
    fsync(&sparse).unwrap();
    for i in 0..400 {
        if i % 3 == 0 {
            unlink(at(&format!("d{}/file {i}", i % 20))).unwrap();
        } else if i % 3 == 1 {
            let to = at(&format!("d{}/renamed {i}", (i * 7) % 20));
            rename(at(&format!("d{}/file {i}", i % 20)), to).unwrap();
        }
    }
}

fn shapes() -> Vec<Shape> {
    let with = |meta: u64, data: u64, mkfs: &[&str]| Shape {
        meta,
        data,
        mkfs: mkfs.iter().map(|s| (*s).to_owned()).collect(),
        ..Shape::default()
    };
    vec![
        Shape::default(),
        with(64 << 20, 1 << 30, &["--data-block-size", "512", "--segment-size", "64K"]),
        with(256 << 20, 1 << 30, &["--data-block-size", "64K", "--segment-size", "8M"]),
        with(2 << 30, 0, &["--metadata-size", "100M"]),
        with(64 << 20, 1 << 30, &["--hash-bits", "4"]),
    ]
}

#[test]
fn everything_lasts_over_an_unmount() {
    if skip() {
        return;
    }
    for shape in shapes() {
        println!("{shape:?}");
        let mut v = Volume::mounted(shape);
        populate(&v.mnt());
        let before = survey(&v.mnt());
        v.umount();
        v.try_check().unwrap();
        v.mount();
        same(&before, &survey(&v.mnt()));
        v.remount();
        same(&before, &survey(&v.mnt()));
        let far = open(v.at("huge"), O_RDONLY, 0).unwrap();
        assert_eq!(pread(&far, 7, 1 << 61), Ok(b"far out".to_vec()));
        drop(far);
        // All of it goes, and all space comes back.
        sh(&format!("rm -rf {}/*", v.mnt().display())).must();
        v.remount();
        v.expect_free(995);
        v.finish();
    }
}

#[test]
fn everything_lasts_over_a_crash_after_a_sync() {
    if skip() {
        return;
    }
    for shape in shapes() {
        println!("{shape:?}");
        let mut v = Volume::mounted(shape);
        populate(&v.mnt());
        let before = survey(&v.mnt());
        fsync_all(&v.mnt());
        v.crash();
        v.mount();
        same(&before, &survey(&v.mnt()));
        v.finish();
    }
}

/// syncfs(2) does not reach a FUSE daemon; an fsync of anything commits all metadata.
fn fsync_all(root: &Path) {
    let dir = open(root, O_RDONLY | O_DIRECTORY, 0).unwrap();
    syncfs(&dir).unwrap();
    fsync(&dir).unwrap();
    for (path, known) in survey(root) {
        if known.stat.kind() == S_IFREG {
            fsync(&open(root.join(path), O_RDONLY, 0).unwrap()).unwrap();
        }
    }
}

#[test]
fn names_with_equal_hashes() {
    if skip() {
        return;
    }
    for bits in ["1", "3", "8"] {
        let mkfs = vec!["--hash-bits".to_owned(), bits.to_owned()];
        let mut v = Volume::mounted(Shape { mkfs, ..Shape::default() });
        let dir = v.at("d");
        mkdir(&dir, 0o755).unwrap();
        let name = |i: usize| dir.join(format!("a name that collides {i}"));
        const MANY: usize = 2000;
        for i in 0..MANY {
            create(name(i), 0o644).unwrap();
        }
        let list = |len: usize| {
            let fd = open(&dir, O_RDONLY, 0).unwrap();
            read_dir(&fd, len).unwrap()
        };
        let all = list(1000);
        assert_eq!(all.len(), MANY + 2, "{bits} bits");
        for e in all.iter().step_by(97) {
            let fd = open(&dir, O_RDONLY, 0).unwrap();
            sys::lseek(&fd, e.next, SEEK_SET).unwrap();
            let rest = read_dir(&fd, 4096).unwrap();
            let want = &all[all.iter().position(|x| x == e).unwrap() + 1..];
            assert!(rest == want, "{bits} bits: after {e:?}");
        }
        for i in (0..MANY).step_by(2) {
            unlink(name(i)).unwrap();
        }
        assert!((0..MANY).all(|i| lstat(name(i)).is_ok() == (i % 2 == 1)), "{bits} bits");
        v.remount();
        assert_eq!(list(4096).len(), MANY / 2 + 2);
        for i in (1..MANY).step_by(2) {
            rename(name(i), dir.join(format!("{i}"))).unwrap();
        }
        assert_eq!(list(4096).len(), MANY / 2 + 2);
        std::fs::remove_dir_all(&dir).unwrap();
        v.finish();
    }
}

#[test]
fn what_was_synced_survives_a_crash() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape::default());
    let mut promised: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    for i in 0..50 {
        std::fs::write(v.at(&format!("n{i}")), bytes(5000, i)).unwrap();
        fsync(&open(v.at(&format!("n{i}")), O_RDONLY, 0).unwrap()).unwrap();
    }
    for round in 0..12usize {
        let root = v.mnt();
        // Others change things at the same time, of which nothing is promised.
        let noise = std::thread::spawn({
            let root = root.clone();
            move || {
                for i in 0.. {
                    let path = root.join(format!("noise{}", i % 200));
                    let done = std::fs::write(&path, bytes(1 + i % 20_000, i))
                        .and_then(|()| std::fs::rename(&path, root.join(format!("n{}", i % 50))));
                    if done.is_err() {
                        break;
                    }
                }
            }
        });
        for i in 0..15usize {
            let (path, data) = (PathBuf::from(format!("r{round}-{i}")), bytes(i * 3000 + round, i));
            match i % 4 {
                0 => {
                    // A file and its name.
                    std::fs::write(root.join(&path), &data).unwrap();
                    fsync(&open(root.join(&path), O_RDONLY, 0).unwrap()).unwrap();
                }
                1 => {
                    // The classic: write aside, sync, rename over, sync the directory.
                    std::fs::write(root.join(&path), "old").unwrap();
                    let temporary = root.join("temporary");
                    std::fs::write(&temporary, &data).unwrap();
                    fsync(&open(&temporary, O_RDONLY, 0).unwrap()).unwrap();
                    rename(&temporary, root.join(&path)).unwrap();
                    fsync(&open(&root, O_RDONLY, 0).unwrap()).unwrap();
                }
                2 => {
                    let fd = open(root.join(&path), O_CREAT | O_WRONLY | O_SYNC, 0o644).unwrap();
                    for part in data.chunks(1000) {
                        assert_eq!(sys::write(&fd, part), Ok(part.len()));
                    }
                }
                _ => {
                    // In a new directory, reached by a new name.
                    let dir = PathBuf::from(format!("dir{round}-{i}"));
                    mkdir(root.join(&dir), 0o755).unwrap();
                    std::fs::write(root.join(dir.join("f")), &data).unwrap();
                    fsync(&open(root.join(dir.join("f")), O_RDONLY, 0).unwrap()).unwrap();
                    promised.insert(dir.join("f"), data);
                    continue;
                }
            }
            promised.insert(path, data);
        }
        v.crash();
        noise.join().unwrap();
        if round % 3 == 0 {
            // Unmounted by a crash, it is still in order.
            v.try_check().unwrap();
        }
        v.mount();
        for (path, data) in &promised {
            let now = std::fs::read(v.at(&path.to_string_lossy()));
            assert!(now.as_ref().is_ok_and(|now| now == data), "round {round}: {path:?}: {}", {
                now.map_or_else(|e| e.to_string(), |n| format!("{} bytes", n.len()))
            });
        }
        // A rename over a file leaves the old or the new one, whole.
        for i in 0..50 {
            let now = std::fs::read(v.at(&format!("n{i}"))).unwrap();
            assert!(!now.is_empty(), "round {round}: n{i} is empty");
            let first = now[0];
            let whole =
                now.iter().zip(bytes(now.len(), 0)).all(|(a, b)| *a == b.wrapping_add(first));
            assert!(whole, "round {round}: n{i} is torn");
        }
    }
    v.finish();
}

#[test]
fn unlinked_open_files_do_not_outlive_a_crash() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape::default());
    fsync(&open(v.mnt(), O_RDONLY, 0).unwrap()).unwrap();
    let before = v.space();
    let fds: Vec<_> = (0..50)
        .map(|i| {
            let path = v.at(&format!("f{i}"));
            let fd = open(&path, O_CREAT | O_RDWR, 0o644).unwrap();
            sys::write(&fd, &bytes(100_000, i)).unwrap();
            fsync(&fd).unwrap();
            unlink(&path).unwrap();
            fd
        })
        .collect();
    let unnamed = open(v.mnt(), O_TMPFILE | O_RDWR, 0o600).unwrap();
    sys::write(&unnamed, &bytes(100_000, 7)).unwrap();
    fsync(&unnamed).unwrap();
    fsync(&open(v.mnt(), O_RDONLY, 0).unwrap()).unwrap();
    v.crash();
    drop((fds, unnamed));
    v.mount();
    assert_eq!(names(v.mnt()), Ok(vec![]));
    // Freed space may wait for a commit.
    let start = std::time::Instant::now();
    while v.space() != before && start.elapsed() < Duration::from_secs(15) {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(v.space(), before, "nothing is left of them");
    v.finish();
}

#[test]
fn a_commit_comes_by_itself() {
    if skip() {
        return;
    }
    let mut v = Volume::make(Shape::default());
    v.mount_with("flush=1s,allow_other");
    let fd = open(v.at("f"), O_CREAT | O_WRONLY, 0o644).unwrap();
    sys::write(&fd, b"never synced").unwrap();
    drop(fd);
    mkdir(v.at("d"), 0o755).unwrap();
    symlink("x", v.at("d/l")).unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    v.crash();
    v.mount();
    assert_eq!(names(v.mnt()), Ok(vec!["d".into(), "f".into()]));
    assert_eq!(readlink(v.at("d/l")), Ok(b"x".to_vec()));
    v.finish();
}

#[test]
fn in_the_background() {
    if skip() {
        return;
    }
    let v = Volume::make(Shape::default());
    let mnt = v.mnt().to_string_lossy().into_owned();
    for _ in 0..5 {
        v.try_mount("").must();
        // Ready when the command returns.
        std::fs::write(v.at("f"), "there").unwrap();
        let stats = cli(&["stats", &mnt, "--json"]).must();
        let stats: serde_json::Value = serde_json::from_str(&stats.out).unwrap();
        assert!(stats.is_object());
        cli(&["umount", &mnt]).must();
        // Free when the command returns.
        v.try_check().unwrap();
    }
    // umount(8) works too; the volume is released soon.
    v.try_mount("").must();
    assert_eq!(std::fs::read(v.at("f")).unwrap(), b"there");
    sh(&format!("umount {mnt}")).must();
    let released = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        v.try_check().is_ok()
    });
    assert!(released);
}

#[test]
fn signals_end_it_in_order() {
    if skip() {
        return;
    }
    for signal in [SIGTERM, SIGINT] {
        let mut v = Volume::mounted(Shape::default());
        std::fs::write(v.at("f"), "unsynced").unwrap();
        let status = v.signal(signal).expect("it ends");
        assert!(status.success(), "signal {signal}: {status}");
        assert_eq!(names(v.mnt()), Ok(vec![]), "unmounted");
        v.try_check().unwrap_or_else(|e| panic!("{e}"));
        v.mount();
        assert_eq!(std::fs::read(v.at("f")).unwrap(), b"unsynced");
        v.finish();
    }
}

#[test]
fn every_transport_and_cache() {
    if skip() {
        return;
    }
    let uring = std::fs::read_to_string("/sys/module/fuse/parameters/enable_uring");
    let mut ways =
        vec!["transport=classic", "transport=classic,nowriteback", "threads=1", "cache=8M"];
    if uring.is_ok_and(|s| s.starts_with('Y')) {
        ways.extend(["transport=uring", "transport=uring,nowriteback"]);
    } else {
        println!("not tried: transport=uring; the kernel has it switched off");
    }
    for way in ways {
        println!("{way}");
        let mut v = Volume::make(Shape::default());
        v.mount_with(way);
        populate(&v.mnt());
        let before = survey(&v.mnt());
        let out = sh(&format!(
            "cd {}; cp -r /usr/include/linux a; cp -r a b; diff -r a b; rm -rf a b",
            v.mnt().display()
        ));
        assert!(out.ok(), "{way}: {out}");
        let mut after = survey(&v.mnt());
        // The top directory has changed.
        let top = before.get(Path::new("")).map(|k| (k.stat.mtime, k.stat.ctime)).unwrap();
        let now = &mut after.get_mut(Path::new("")).unwrap().stat;
        (now.mtime, now.ctime) = top;
        same(&before, &after);
        v.umount();
        v.mount();
        let mut after = survey(&v.mnt());
        let now = &mut after.get_mut(Path::new("")).unwrap().stat;
        (now.mtime, now.ctime) = top;
        same(&before, &after);
        v.finish();
    }
}

#[test]
fn numbers_and_generations_last() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape::default());
    std::fs::write(v.at("f"), "by handle").unwrap();
    mkdir(v.at("d"), 0o755).unwrap();
    let handles = [name_to_handle(v.at("f")).unwrap().0, name_to_handle(v.at("d")).unwrap().0];
    let dead = {
        std::fs::write(v.at("dead"), "").unwrap();
        let handle = name_to_handle(v.at("dead")).unwrap().0;
        unlink(v.at("dead")).unwrap();
        handle
    };
    v.remount();
    tick();
    let root = open(v.mnt(), O_RDONLY, 0).unwrap();
    let fd = open_by_handle(&root, &handles[0], O_RDONLY).unwrap();
    assert_eq!(pread(&fd, 20, 0), Ok(b"by handle".to_vec()));
    let dir = open_by_handle(&root, &handles[1], O_RDONLY | O_DIRECTORY).unwrap();
    assert!(dir.as_raw_fd() > 0);
    assert_eq!(open_by_handle(&root, &dead, O_RDONLY).map(drop), Err(Errno(ESTALE)));
    drop((root, fd, dir));
    v.finish();
}
