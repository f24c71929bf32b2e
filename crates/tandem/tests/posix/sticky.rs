//! Directories with the sticky bit: only the owner of the file or of the directory removes.

use super::kinds::ALL;
use crate::common::suite::posix;
use crate::common::sys::*;
use crate::common::users::{ALICE, BOB};

#[test]
fn who_may_remove_and_rename() {
    posix(|t| {
        mkdir("out", 0o777).unwrap();
        chmod("out", 0o777).unwrap();
        mkdir("s", 0o777).unwrap();
        // The directory's owner, the file's owner, whether Alice may.
        let cases = [
            (ALICE.uid, ALICE.uid, true),
            (ALICE.uid, BOB.uid, true),
            (BOB.uid, ALICE.uid, true),
            (BOB.uid, BOB.uid, false),
            (0, 0, false),
            (0, ALICE.uid, true),
        ];
        for (dir, file, may) in cases {
            chown("s", dir, dir).unwrap();
            chmod("s", 0o1777).unwrap();
            for kind in ALL {
                kind.make("s/x");
                lchown("s/x", file, file).unwrap();
                t.about(format!("{kind:?}: directory of {dir}, file of {file}"));
                // A directory of somebody else's could not be moved anyway.
                let to = if lstat("s/x").unwrap().kind() == S_IFDIR { "s/y" } else { "out/y" };
                ALICE.run(|| {
                    if may {
                        t.ok(rename("s/x", to));
                        t.ok(rename(to, "s/x"));
                        t.ok(kind.remove("s/x"));
                    } else {
                        t.err(rename("s/x", to), EPERM);
                        t.err(kind.remove("s/x"), EPERM);
                    }
                });
                if !may {
                    t.ok(kind.remove("s/x"));
                }
            }
        }
    });
}

#[test]
fn replacing_somebody_elses() {
    posix(|t| {
        mkdir("s", 0o777).unwrap();
        chmod("s", 0o1777).unwrap();
        BOB.run(|| create("s/bobs", 0o666)).unwrap();
        ALICE.run(|| {
            create("s/mine", 0o666).unwrap();
            t.err(rename("s/mine", "s/bobs"), EPERM);
            t.err(rename2("s/mine", "s/bobs", RENAME_EXCHANGE), EPERM);
            t.err(rename2("s/bobs", "s/mine", RENAME_EXCHANGE), EPERM);
            t.ok(rename("s/mine", "s/mine2"));
            create("s/mine", 0o666).unwrap();
            t.ok(rename("s/mine", "s/mine2"));
        });
        t.eq(names("s"), Ok(vec!["bobs".into(), "mine2".into()]));
        t.about("the directory's owner may");
        chown("s", ALICE.uid, ALICE.gid).unwrap();
        ALICE.run(|| t.ok(rename("s/mine2", "s/bobs")));
    });
}
