//! rename(2): directories, links, times, open files.

use super::kinds::{get, put};
use crate::common::suite::{posix, tick};
use crate::common::sys::*;

#[test]
fn directories_move_with_all_they_hold() {
    posix(|t| {
        for dir in ["a", "a/b", "a/b/c", "x", "x/y"] {
            mkdir(dir, 0o755).unwrap();
        }
        put("a/b/c/f", b"deep");
        let (b, x) = (lstat("a/b").unwrap().ino, lstat("x").unwrap().ino);
        t.eq((lstat("a").unwrap().nlink, lstat("x").unwrap().nlink), (3, 3));
        t.ok(rename("a/b", "x/b"));
        t.eq((lstat("a").unwrap().nlink, lstat("x").unwrap().nlink), (2, 4));
        t.eq(get("x/b/c/f"), b"deep".to_vec());
        t.eq(lstat("x/b").map(|s| s.ino), Ok(b));
        t.about("`..` follows");
        t.eq(stat("x/b/..").map(|s| s.ino), Ok(x));
        let fd = open("x/b", O_RDONLY, 0).unwrap();
        let up = read_dir(&fd, 4096).unwrap().into_iter().find(|e| e.name == b"..");
        t.eq(up.map(|e| e.ino), Some(x));
        t.about("over an empty directory");
        t.ok(rename("x/b", "a"));
        t.eq(lstat("a").map(|s| s.ino), Ok(b));
        t.eq(lstat("x").map(|s| s.nlink), Ok(3));
        t.eq(stat("a/..").map(|s| s.ino), stat(".").map(|s| s.ino));
        t.eq(get("a/c/f"), b"deep".to_vec());
    });
}

#[test]
fn refused() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        mkdir("d/e", 0o755).unwrap();
        mkdir("d/e/f", 0o755).unwrap();
        mkdir("full", 0o755).unwrap();
        put("full/x", b"");
        t.about("into itself");
        for to in ["d/new", "d/e/new", "d/e/f/new", "d/e/f"] {
            t.err(rename("d", to), EINVAL);
        }
        t.err(rename2("d", "d/e", RENAME_EXCHANGE), EINVAL);
        t.err(rename2("d/e/f", "d", RENAME_EXCHANGE), EINVAL);
        t.about("over an ancestor");
        t.one_of(rename("d/e/f", "d"), &[ENOTEMPTY, EEXIST]);
        t.about("over one that is not empty");
        t.one_of(rename("d/e/f", "full"), &[ENOTEMPTY, EEXIST]);
        t.one_of(rename("d", "full"), &[ENOTEMPTY, EEXIST]);
        t.about("dots");
        for (from, to) in [("d/.", "n"), ("d/..", "n"), (".", "n"), ("..", "n")] {
            t.one_of(rename(from, to), &[EBUSY, EINVAL]);
        }
        for to in ["d/.", "d/..", ".", ".."] {
            t.one_of(rename("full", to), &[EBUSY, EINVAL]);
        }
        t.about("to another file system");
        t.err(rename("full", "/proc/x"), EXDEV);
        t.about("afterwards");
        t.eq(names("."), Ok(vec!["d".into(), "full".into()]));
        t.eq(names("d/e"), Ok(vec!["f".into()]));
        t.eq(lstat("d").map(|s| s.nlink), Ok(3));
    });
}

#[test]
fn to_itself_and_to_another_name_of_itself() {
    posix(|t| {
        put("f", b"1");
        mkdir("d", 0o755).unwrap();
        t.ok(rename("f", "f"));
        t.ok(rename("d", "d"));
        t.ok(rename("d", "./d"));
        t.err(rename2("f", "f", RENAME_NOREPLACE), EEXIST);
        link("f", "g").unwrap();
        link("f", "d/h").unwrap();
        t.ok(rename("f", "g"));
        t.ok(rename("f", "d/h"));
        t.eq(lstat("f").map(|s| s.nlink), Ok(3));
        t.eq(names("."), Ok(vec!["d".into(), "f".into(), "g".into()]));
    });
}

#[test]
fn times() {
    posix(|t| {
        mkdir("a", 0o755).unwrap();
        mkdir("b", 0o755).unwrap();
        put("a/f", b"x");
        put("b/old", b"y");
        link("b/old", "old").unwrap();
        let before = ["a", "b", "a/f", "old"].map(|p| lstat(p).unwrap());
        tick();
        t.ok(rename("a/f", "b/old"));
        let after = ["a", "b", "b/old", "old"].map(|p| lstat(p).unwrap());
        for i in [0, 1] {
            t.about(["from", "to"][i]);
            t.yes("mtime grows", after[i].mtime > before[i].mtime);
            t.yes("ctime grows", after[i].ctime > before[i].ctime);
        }
        t.about("the file");
        t.yes("ctime grows", after[2].ctime > before[2].ctime);
        t.eq(after[2].mtime, before[2].mtime);
        t.about("the one that was replaced");
        t.eq(after[3].nlink, 1);
        t.yes("ctime grows", after[3].ctime > before[3].ctime);
        t.eq(after[3].mtime, before[3].mtime);
        t.about("refused: nothing changes");
        let before = ["a", "b", "b/old"].map(|p| lstat(p).unwrap());
        tick();
        t.err(rename2("b/old", "a/../b/old", RENAME_NOREPLACE), EEXIST);
        t.err(rename("b/old", "a"), EISDIR);
        t.eq(["a", "b", "b/old"].map(|p| lstat(p).unwrap()), before);
    });
}

#[test]
fn over_an_open_file() {
    posix(|t| {
        put("old", b"old contents");
        put("new", b"new contents");
        let fd = open("old", O_RDWR, 0).unwrap();
        t.ok(rename("new", "old"));
        t.eq(get("old"), b"new contents".to_vec());
        t.eq(pread(&fd, 100, 0), Ok(b"old contents".to_vec()));
        t.eq(fstat(&fd).map(|s| s.nlink), Ok(0));
        t.eq(pwrite(&fd, b"OLD", 0), Ok(3));
        t.eq(pread(&fd, 100, 0), Ok(b"OLD contents".to_vec()));
        t.eq(get("old"), b"new contents".to_vec());
        t.about("an open directory");
        mkdir("d1", 0o755).unwrap();
        mkdir("d2", 0o755).unwrap();
        let d2 = open("d2", O_RDONLY, 0).unwrap();
        t.ok(rename("d1", "d2"));
        t.eq(fstat(&d2).map(|s| s.nlink), Ok(0));
        t.about("the working directory");
        mkdir("w", 0o755).unwrap();
        chdir("w").unwrap();
        t.ok(rename("../w", "../moved"));
        put("here", b"1");
        t.ok(chdir(".."));
        t.eq(get("moved/here"), b"1".to_vec());
    });
}

#[test]
fn replacing_is_atomic_for_readers() {
    posix(|t| {
        let root = t.root().to_owned();
        put("target", b"version 0");
        let stop = std::sync::atomic::AtomicBool::new(false);
        let missed = std::thread::scope(|s| {
            let reader = s.spawn(|| {
                let mut missed = 0;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    match std::fs::read(root.join("target")) {
                        Ok(v) if v.starts_with(b"version ") => {}
                        _ => missed += 1,
                    }
                }
                missed
            });
            for i in 1..500 {
                put("temporary", format!("version {i}").as_bytes());
                rename("temporary", "target").unwrap();
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            reader.join().unwrap()
        });
        t.eq(missed, 0);
        t.eq(get("target"), b"version 499".to_vec());
    });
}

#[test]
fn chains_of_renames() {
    posix(|t| {
        for i in 0..8 {
            mkdir(format!("d{i}"), 0o755).unwrap();
            put(&format!("d{i}/f{i}"), format!("{i}").as_bytes());
        }
        // Round and round, so that every file has been everywhere, under names of every length.
        for step in 0..400usize {
            let (from, to) = (step % 8, (step * 5 + 3) % 8);
            let name = names(format!("d{from}")).unwrap().into_iter().next();
            if let Some(name) = name {
                let new = format!("{}{step}", "n".repeat(step % 200 + 1));
                t.ok(rename(format!("d{from}/{name}"), format!("d{to}/{new}")));
            }
        }
        let mut found: Vec<Vec<u8>> = (0..8)
            .flat_map(|i| names(format!("d{i}")).unwrap().into_iter().map(move |n| (i, n)))
            .map(|(i, n)| get(&format!("d{i}/{n}")))
            .collect();
        found.sort();
        t.eq(found, (0..8).map(|i| format!("{i}").into_bytes()).collect());
    });
}
