//! POSIX access control lists.

use super::kinds::put;
use crate::common::suite::{T, posix};
use crate::common::sys::*;
use crate::common::users::{ALICE, BOB, CAROL, TEAM, User, alice_of_team, with_umask};

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Owner,
    User(u32),
    Group,
    GroupOf(u32),
    Mask,
    Other,
}
use Who::{Group, GroupOf, Mask, Other, Owner};

type Acl = Vec<(Who, u16)>;

fn encode(acl: &[(Who, u16)]) -> Vec<u8> {
    let mut out = 2u32.to_le_bytes().to_vec();
    for (who, rights) in acl {
        let (tag, id) = match who {
            Owner => (1u16, u32::MAX),
            Who::User(id) => (2, *id),
            Group => (4, u32::MAX),
            GroupOf(id) => (8, *id),
            Mask => (0x10, u32::MAX),
            Other => (0x20, u32::MAX),
        };
        out.extend(tag.to_le_bytes());
        out.extend(rights.to_le_bytes());
        out.extend(id.to_le_bytes());
    }
    out
}

fn decode(bytes: &[u8]) -> Acl {
    let entry = |e: &[u8]| {
        let id = u32::from_le_bytes([e[4], e[5], e[6], e[7]]);
        let who = match e[0] {
            1 => Owner,
            2 => Who::User(id),
            4 => Group,
            8 => GroupOf(id),
            0x10 => Mask,
            _ => Other,
        };
        (who, u16::from(e[2]))
    };
    bytes[4..].chunks(8).map(entry).collect()
}

fn set(path: &str, kind: &str, acl: &[(Who, u16)]) -> R<()> {
    setxattr(path, true, kind, &encode(acl), 0)
}

fn get(path: &str, kind: &str) -> R<Acl> {
    getxattr(path, kind).map(|v| decode(&v))
}

fn rights(t: &T, path: &str, cases: &[(User, i32)]) {
    for (user, rights) in cases {
        for want in [R_OK, W_OK, X_OK] {
            let may = if rights & want != 0 { Ok(()) } else { Err(Errno(EACCES)) };
            t.about(format!("{path} {user:?} wants {want}"));
            t.eq(user.run(|| eaccess(path, want)), may);
        }
    }
}

#[test]
fn lists_and_modes() {
    posix(|t| {
        put("f", b"");
        t.err(get("f", ACCESS), ENODATA);
        let acl = [(Owner, 6), (Who::User(ALICE.uid), 7), (Group, 4), (Mask, 5), (Other, 0)];
        t.ok(set("f", ACCESS, &acl));
        t.about("the group's bits are the mask");
        t.eq(lstat("f").map(|s| s.perm()), Ok(0o650));
        t.eq(get("f", ACCESS), Ok(acl.to_vec()));
        t.eq(listxattr("f"), Ok(vec![ACCESS.into()]));
        t.about("chmod changes the mask");
        t.ok(chmod("f", 0o731));
        let changed = [(Owner, 7), (Who::User(ALICE.uid), 7), (Group, 4), (Mask, 3), (Other, 1)];
        t.eq(get("f", ACCESS), Ok(changed.to_vec()));
        t.eq(lstat("f").map(|s| s.perm()), Ok(0o731));
        t.about("one that says no more than a mode is none");
        t.ok(set("f", ACCESS, &[(Owner, 6), (Group, 4), (Other, 2)]));
        t.eq(lstat("f").map(|s| s.perm()), Ok(0o642));
        t.err(get("f", ACCESS), ENODATA);
        t.about("removing");
        t.ok(set("f", ACCESS, &acl));
        t.ok(removexattr("f", ACCESS));
        t.err(get("f", ACCESS), ENODATA);
        t.eq(listxattr("f"), Ok(vec![]));
    });
}

#[test]
fn refused() {
    posix(|t| {
        put("f", b"");
        mkdir("d", 0o755).unwrap();
        let good = [(Owner, 7), (Who::User(5), 7), (Group, 5), (Mask, 7), (Other, 5)];
        t.about("a default on a file");
        t.err(set("f", DEFAULT, &good), EACCES);
        for (what, acl) in [
            ("no mask", vec![(Owner, 7), (Who::User(5), 7), (Group, 5), (Other, 5)]),
            ("no owner", vec![(Group, 5), (Other, 5)]),
            ("no other", vec![(Owner, 7), (Group, 5)]),
            ("twice the owner", vec![(Owner, 7), (Owner, 7), (Group, 5), (Other, 5)]),
            ("impossible rights", vec![(Owner, 15), (Group, 5), (Other, 5)]),
        ] {
            t.about(what);
            t.err(set("d", ACCESS, &acl), EINVAL);
            t.err(set("d", DEFAULT, &acl), EINVAL);
        }
        t.about("garbage");
        t.err(setxattr("f", true, ACCESS, b"xyz", 0), EINVAL);
        t.about("not the owner");
        chmod("d", 0o777).unwrap();
        ALICE.run(|| {
            t.err(set("d", ACCESS, &good), EPERM);
            t.err(set("d", DEFAULT, &good), EPERM);
            t.err(removexattr("d", ACCESS), EPERM);
        });
        t.about("on a symbolic link");
        symlink("f", "l").unwrap();
        t.err(setxattr("l", false, ACCESS, &encode(&good), 0), EOPNOTSUPP);
    });
}

#[test]
fn enforcement() {
    posix(|t| {
        put("f", b"");
        chown("f", 0, 0).unwrap();
        let team = alice_of_team();
        t.ok(set(
            "f",
            ACCESS,
            &[
                (Owner, 6),
                (Who::User(BOB.uid), 6),
                (Who::User(CAROL.uid), 0),
                (Group, 0),
                (GroupOf(TEAM), 5),
                (Mask, 7),
                (Other, 1),
            ],
        ));
        rights(t, "f", &[(BOB, 6), (CAROL, 0), (ALICE, 1), (team, 5)]);
        t.about("the mask limits all but owner and other");
        t.ok(chmod("f", 0o641));
        rights(t, "f", &[(BOB, 4), (CAROL, 0), (ALICE, 1), (team, 4)]);
        t.about("the owner is not limited");
        chown("f", BOB.uid, 0).unwrap();
        rights(t, "f", &[(BOB, 6)]);
        t.about("several groups: any of them suffices");
        t.ok(set(
            "f",
            ACCESS,
            &[
                (Owner, 6),
                (Group, 0),
                (GroupOf(TEAM), 4),
                (GroupOf(ALICE.gid), 2),
                (Mask, 7),
                (Other, 7),
            ],
        ));
        rights(t, "f", &[(team, 6), (ALICE, 2)]);
        // Not both at once, as no single entry gives both.
        team.run(|| t.err(eaccess("f", R_OK | W_OK), EACCES));
        t.about("directories");
        mkdir("d", 0o700).unwrap();
        put("d/x", b"inside");
        t.ok(set(
            "d",
            ACCESS,
            &[(Owner, 7), (Who::User(ALICE.uid), 7), (Group, 0), (Mask, 7), (Other, 0)],
        ));
        ALICE.run(|| {
            t.ok(open("d/x", O_RDONLY, 0));
            t.ok(create("d/new", 0o644));
            t.ok(unlink("d/new"));
        });
        BOB.run(|| t.err(open("d/x", O_RDONLY, 0), EACCES));
    });
}

#[test]
fn inheritance() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        let default = [
            (Owner, 7),
            (Who::User(ALICE.uid), 7),
            (Group, 7),
            (GroupOf(TEAM), 4),
            (Mask, 7),
            (Other, 5),
        ];
        t.ok(set("d", DEFAULT, &default));
        t.eq(get("d", DEFAULT), Ok(default.to_vec()));
        t.eq(lstat("d").map(|s| s.perm()), Ok(0o755));
        t.err(get("d", ACCESS), ENODATA);
        let with = |owner, mask, other| {
            let mut acl = default.to_vec();
            (acl[0].1, acl[4].1, acl[5].1) = (owner, mask, other);
            acl
        };
        t.about("the umask does not count");
        with_umask(0o077, || {
            t.ok(create("d/f", 0o664));
            t.eq(lstat("d/f").map(|s| s.perm()), Ok(0o664));
            t.eq(get("d/f", ACCESS), Ok(with(6, 6, 4)));
            t.err(get("d/f", DEFAULT), ENODATA);
            t.ok(open("d/g", O_CREAT | O_WRONLY, 0o640));
            t.eq(get("d/g", ACCESS), Ok(with(6, 4, 0)));
            t.ok(mkfifo("d/p", 0o600));
            t.eq(get("d/p", ACCESS), Ok(with(6, 0, 0)));
            t.ok(mkdir("d/e", 0o777));
            t.eq(lstat("d/e").map(|s| s.perm()), Ok(0o775));
            t.eq(get("d/e", ACCESS), Ok(default.to_vec()));
            t.eq(get("d/e", DEFAULT), Ok(default.to_vec()));
            t.about("an unnamed file");
            let fd = open("d", O_TMPFILE | O_RDWR, 0o660).unwrap();
            t.ok(link_fd(&fd, "d/t"));
            t.eq(get("d/t", ACCESS), Ok(with(6, 6, 0)));
            t.about("two levels down");
            t.ok(create("d/e/f", 0o666));
            t.eq(get("d/e/f", ACCESS), Ok(with(6, 6, 4)));
        });
        t.about("links have none");
        t.ok(symlink("x", "d/l"));
        t.eq(listxattr("d/l"), Ok(vec![]));
        t.about("hard links and renames inherit nothing");
        put("old", b"");
        t.ok(link("old", "d/linked"));
        t.ok(rename("old", "d/moved"));
        t.err(get("d/moved", ACCESS), ENODATA);
        t.about("without the default again");
        t.ok(removexattr("d", DEFAULT));
        with_umask(0o027, || t.ok(create("d/h", 0o666)));
        t.eq(lstat("d/h").map(|s| s.perm()), Ok(0o640));
        t.err(get("d/h", ACCESS), ENODATA);
        t.about("a minimal default gives a mode without a list");
        t.ok(set("d", DEFAULT, &[(Owner, 7), (Group, 4), (Other, 0)]));
        with_umask(0o777, || t.ok(create("d/i", 0o666)));
        t.eq(lstat("d/i").map(|s| s.perm()), Ok(0o640));
        t.err(get("d/i", ACCESS), ENODATA);
    });
}

#[test]
fn long_lists() {
    posix(|t| {
        put("f", b"");
        let mut acl = vec![(Owner, 7)];
        acl.extend((0..200).map(|i| (Who::User(10_000 + i), (i % 8) as u16)));
        acl.extend([(Group, 5), (Mask, 7), (Other, 0)]);
        t.ok(set("f", ACCESS, &acl));
        t.eq(get("f", ACCESS), Ok(acl.clone()));
        for i in [0, 1, 3, 6, 107, 199] {
            t.about(format!("user {i}"));
            let user = User::new(10_000 + i, 1);
            let may = (i % 8) & 4 != 0;
            t.eq(user.run(|| open("f", O_RDONLY, 0)).is_ok(), may);
        }
        t.about("the mode stays in step");
        t.eq(lstat("f").map(|s| s.perm()), Ok(0o770));
        t.ok(chmod("f", 0o700));
        User::new(10_007, 1).run(|| t.err(open("f", O_RDONLY, 0), EACCES));
    });
}

#[test]
fn removing_none_succeeds() {
    posix(|t| {
        put("f", b"");
        mkdir("d", 0o755).unwrap();
        for (path, kind) in [("f", ACCESS), ("f", DEFAULT), ("d", ACCESS), ("d", DEFAULT)] {
            t.about(format!("{kind} of {path}"));
            t.ok(removexattr(path, kind));
            t.err(getxattr(path, kind), ENODATA);
        }
        t.err(removexattr("f", "user.none"), ENODATA);
    });
}

#[test]
fn an_access_list_alone_takes_set_group() {
    posix(|t| {
        let acl = [(Owner, 7), (Group, 7), (Other, 5)];
        for (kind, want) in [(DEFAULT, 0o2775), (ACCESS, 0o775)] {
            t.about(kind);
            let _ = rmdir("d");
            mkdir("d", 0o755).unwrap();
            chown("d", ALICE.uid, BOB.gid).unwrap();
            chmod("d", 0o2775).unwrap();
            ALICE.run(|| t.ok(set("d", kind, &acl)));
            t.eq(lstat("d").map(|s| s.perm()), Ok(want));
        }
    });
}
