//! Who may do what, by mode, owner, group and further groups.

use super::kinds::{get, put};
use crate::common::suite::posix;
use crate::common::sys::*;
use crate::common::users::{ALICE, BOB, CAROL, TEAM, User, alice_of_team};

#[test]
fn access_says_what_open_does() {
    posix(|t| {
        create("f", 0o644).unwrap();
        mkdir("d", 0o755).unwrap();
        let team = alice_of_team();
        let users: [(User, u32); 4] = [(ALICE, 6), (CAROL, 3), (BOB, 0), (team, 6)];
        for path in ["f", "d"] {
            chown(path, ALICE.uid, ALICE.gid).unwrap();
            for (user, shift) in users {
                for bits in 0..8 {
                    chmod(path, bits << shift).unwrap();
                    for want in 1..8 {
                        t.about(format!("{path} {user:?} has {bits} wants {want}"));
                        let may = if bits & want == want { Ok(()) } else { Err(Errno(EACCES)) };
                        t.eq(user.run(|| eaccess(path, want as i32)), may);
                    }
                }
            }
        }
    });
}

#[test]
fn further_groups() {
    posix(|t| {
        put("f", b"team");
        chown("f", 0, TEAM).unwrap();
        chmod("f", 0o640).unwrap();
        t.eq(alice_of_team().run(|| open("f", O_RDONLY, 0).map(drop)), Ok(()));
        ALICE.run(|| t.err(open("f", O_RDONLY, 0), EACCES));
        alice_of_team().run(|| t.err(open("f", O_WRONLY, 0), EACCES));
        chmod("f", 0o604).unwrap();
        t.about("the group's class counts for its members, even when others may more");
        alice_of_team().run(|| t.err(open("f", O_RDONLY, 0), EACCES));
        ALICE.run(|| t.ok(open("f", O_RDONLY, 0)));
        t.about("many groups");
        static MANY: [u32; 40] = {
            let mut g = [0; 40];
            let mut i = 0;
            while i < 40 {
                g[i] = 50_000 + i as u32;
                i += 1;
            }
            g[39] = TEAM;
            g
        };
        chmod("f", 0o640).unwrap();
        t.ok(BOB.with(&MANY).run(|| open("f", O_RDONLY, 0)));
    });
}

#[test]
fn directories() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        put("d/f", b"x");
        chmod("d/f", 0o666).unwrap();
        // The mode for others, may list, may reach what is inside, may make new names.
        let cases = [
            (0, false, false, false),
            (1, false, true, false),
            (2, false, false, false),
            (3, false, true, true),
            (4, true, false, false),
            (5, true, true, false),
            (6, true, false, false),
            (7, true, true, true),
        ];
        for (mode, list, reach, make) in cases {
            t.about(format!("mode {mode:o}"));
            chmod("d", 0o700 | mode).unwrap();
            ALICE.run(|| {
                t.eq(open("d", O_RDONLY, 0).is_ok(), list);
                t.eq(stat("d/f").is_ok(), reach);
                t.eq(open("d/f", O_RDWR, 0).is_ok(), reach);
                t.eq(chdir("d").is_ok(), reach);
                chdir(t.root()).unwrap();
                t.eq(create("d/new", 0o644).is_ok(), make);
                t.eq(unlink("d/new").is_ok(), make);
            });
        }
    });
}

#[test]
fn changes_count_at_once() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        mkdir("d/e", 0o755).unwrap();
        put("d/e/f", b"contents");
        for _ in 0..50 {
            chmod("d", 0o700).unwrap();
            ALICE.run(|| t.err(open("d/e/f", O_RDONLY, 0), EACCES));
            chmod("d", 0o755).unwrap();
            ALICE.run(|| t.eq(get("d/e/f"), b"contents".to_vec()));
            chmod("d/e/f", 0o600).unwrap();
            ALICE.run(|| t.err(open("d/e/f", O_RDONLY, 0), EACCES));
            chown("d/e/f", ALICE.uid, 0).unwrap();
            ALICE.run(|| t.ok(open("d/e/f", O_RDWR, 0)));
            chown("d/e/f", 0, 0).unwrap();
            chmod("d/e/f", 0o644).unwrap();
        }
    });
}
