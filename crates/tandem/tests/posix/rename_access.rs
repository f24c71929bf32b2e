//! rename(2): who may.

use super::kinds::{ALL, Kind};
use crate::common::suite::posix;
use crate::common::sys::*;
use crate::common::users::{ALICE, BOB};

fn setup() {
    for (dir, user) in [("a", ALICE), ("b", BOB)] {
        mkdir(dir, 0o755).unwrap();
        chown(dir, user.uid, user.gid).unwrap();
    }
}

#[test]
fn both_directories_must_be_writable() {
    posix(|t| {
        setup();
        for kind in ALL {
            t.about(format!("{kind:?}"));
            kind.make("a/x");
            lchown("a/x", ALICE.uid, ALICE.gid).unwrap();
            ALICE.run(|| {
                t.ok(rename("a/x", "a/y"));
                t.err(rename("a/y", "b/y"), EACCES);
            });
            BOB.run(|| {
                t.err(rename("a/y", "b/y"), EACCES);
                t.err(rename("a/y", "a/z"), EACCES);
            });
            kind.remove("a/y").unwrap();
        }
    });
}

#[test]
fn moving_a_directory_needs_write_to_it() {
    posix(|t| {
        setup();
        chmod("a", 0o777).unwrap();
        chmod("b", 0o777).unwrap();
        // Its `..` changes, so that it is written to.
        mkdir("a/d", 0o755).unwrap();
        ALICE.run(|| t.err(rename("a/d", "b/d"), EACCES));
        t.about("within one directory it is not");
        ALICE.run(|| t.ok(rename("a/d", "a/e")));
        t.about("its owner, without the right to write");
        chown("a/e", ALICE.uid, ALICE.gid).unwrap();
        chmod("a/e", 0o555).unwrap();
        ALICE.run(|| t.err(rename("a/e", "b/e"), EACCES));
        chmod("a/e", 0o755).unwrap();
        ALICE.run(|| t.ok(rename("a/e", "b/e")));
        t.about("other kinds need no right to themselves");
        for kind in ALL.into_iter().filter(|k| *k != Kind::Dir) {
            kind.try_make("a/x", 0o000).unwrap();
            ALICE.run(|| t.ok(rename("a/x", "b/x")));
            BOB.run(|| t.ok(rename("b/x", "a/x")));
            kind.remove("a/x").unwrap();
        }
    });
}

#[test]
fn exchange_needs_both() {
    posix(|t| {
        setup();
        create("a/x", 0o666).unwrap();
        create("b/y", 0o666).unwrap();
        ALICE.run(|| t.err(rename2("a/x", "b/y", RENAME_EXCHANGE), EACCES));
        chmod("b", 0o777).unwrap();
        ALICE.run(|| t.ok(rename2("a/x", "b/y", RENAME_EXCHANGE)));
        mkdir("a/d", 0o755).unwrap();
        ALICE.run(|| t.err(rename2("a/d", "b/y", RENAME_EXCHANGE), EACCES));
        ALICE.run(|| t.err(rename2("b/y", "a/d", RENAME_EXCHANGE), EACCES));
    });
}
