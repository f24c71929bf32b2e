//! Big directories, and several threads in one.

use super::kinds::{name_of, pattern, put};
use crate::common::suite::posix;
use crate::common::sys::*;
use std::collections::BTreeSet;

#[test]
fn twenty_thousand_files() {
    posix(|t| {
        const MANY: usize = 20_000;
        mkdir("d", 0o755).unwrap();
        let name = |i: usize| format!("d/file number {i}");
        for i in 0..MANY {
            create(name(i), 0o600 + (i as u32 % 0o100)).unwrap();
        }
        let listed = names("d").unwrap();
        t.eq(listed.len(), MANY);
        t.eq(listed.iter().collect::<BTreeSet<_>>().len(), MANY);
        let right = (0..MANY).all(|i| {
            lstat(name(i)).is_ok_and(|s| s.perm() == (0o600 + (i as u32 % 0o100)) & !0o022)
        });
        t.yes("each is found, with its own mode", right);
        t.gone("d/file number -1");
        for i in (0..MANY).step_by(2) {
            unlink(name(i)).unwrap();
        }
        t.eq(names("d").map(|n| n.len()), Ok(MANY / 2));
        for i in (1..MANY).step_by(2) {
            rename(name(i), format!("d/{i}")).unwrap();
        }
        t.eq(names("d").map(|n| n.len()), Ok(MANY / 2));
        let right = (1..MANY).step_by(2).all(|i| {
            lstat(format!("d/{i}")).is_ok_and(|s| s.perm() == (0o600 + (i as u32 % 0o100)) & !0o022)
        });
        t.yes("each is found by its new name", right);
        t.err(rmdir("d"), ENOTEMPTY);
        for i in (1..MANY).step_by(2) {
            unlink(format!("d/{i}")).unwrap();
        }
        t.eq(names("d"), Ok(vec![]));
        t.ok(rmdir("d"));
    });
}

#[test]
fn long_names() {
    posix(|t| {
        const MANY: usize = 3000;
        mkdir("d", 0o755).unwrap();
        let name = |i: usize| format!("d/{i:05}{}", name_of(250));
        for i in 0..MANY {
            put(&name(i), &pattern(i % 50, i as u64));
        }
        t.eq(names("d").map(|n| n.len()), Ok(MANY));
        let right =
            (0..MANY).all(|i| std::fs::read(name(i)).is_ok_and(|v| v == pattern(i % 50, i as u64)));
        t.yes("each is found, with its own contents", right);
        t.yes("all removed", std::fs::remove_dir_all("d").is_ok());
    });
}

#[test]
fn threads_in_one_directory() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        std::thread::scope(|s| {
            for id in 0..4 {
                s.spawn(move || {
                    for i in 0..1500 {
                        let name = format!("d/{id}-{i}");
                        create(&name, 0o644).unwrap();
                        match i % 3 {
                            0 => unlink(&name).unwrap(),
                            1 => rename(&name, format!("{name}-renamed")).unwrap(),
                            _ => {}
                        }
                    }
                });
            }
        });
        t.eq(names("d").map(|n| n.len()), Ok(4 * 1000));
        t.about("one wins");
        let won: usize = std::thread::scope(|s| {
            let tries: Vec<_> = (0..4)
                .map(|_| {
                    s.spawn(|| {
                        (0..300).filter(|i| create(format!("d/x{i}"), 0o644).is_ok()).count()
                    })
                })
                .collect();
            tries.into_iter().map(|h| h.join().unwrap()).sum()
        });
        t.eq(won, 300);
        let lost: usize = std::thread::scope(|s| {
            let tries: Vec<_> = (0..4)
                .map(|_| s.spawn(|| (0..300).filter(|i| unlink(format!("d/x{i}")).is_ok()).count()))
                .collect();
            tries.into_iter().map(|h| h.join().unwrap()).sum()
        });
        t.eq(lost, 300);
    });
}

#[test]
fn threads_moving_directories() {
    posix(|t| {
        for i in 0..4 {
            mkdir(format!("d{i}"), 0o755).unwrap();
            for j in 0..5 {
                mkdir(format!("d{i}/sub{i}{j}"), 0o755).unwrap();
                put(&format!("d{i}/sub{i}{j}/f"), b"x");
            }
        }
        // Renames that cross, both ways, and exchanges: nothing may be lost, or wait for ever.
        std::thread::scope(|s| {
            for id in 0..4usize {
                s.spawn(move || {
                    for step in 0..400usize {
                        let (from, to) = ((id + step) % 4, (id + step * 3 + 1) % 4);
                        let Some(name) = names(format!("d{from}")).unwrap().into_iter().nth(id % 2)
                        else {
                            continue;
                        };
                        let (a, b) = (format!("d{from}/{name}"), format!("d{to}/{name}"));
                        let _ = rename2(&a, &b, if step % 5 == 0 { RENAME_NOREPLACE } else { 0 });
                        let other = names(format!("d{to}")).unwrap().into_iter().last();
                        if let Some(other) = other.filter(|_| step % 7 == 0) {
                            let _ = rename2(b, format!("d{to}/{other}"), RENAME_EXCHANGE);
                        }
                    }
                });
            }
        });
        let mut all: Vec<String> = Vec::new();
        for i in 0..4 {
            let here = names(format!("d{i}")).unwrap();
            t.eq(lstat(format!("d{i}")).map(|s| s.nlink), Ok(2 + here.len() as u32));
            for name in &here {
                t.eq(names(format!("d{i}/{name}")), Ok(vec!["f".into()]));
            }
            all.extend(here);
        }
        t.eq(all.iter().collect::<BTreeSet<_>>().len(), 20);
        t.eq(all.len(), 20);
    });
}
