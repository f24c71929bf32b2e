//! Extended attributes.

use super::kinds::{ALL, Kind, NODES, name_of, pattern, put};
use crate::common::suite::posix;
use crate::common::sys::*;
use crate::common::users::{ALICE, BOB};

fn set(path: &str, name: &str, value: &[u8]) -> R<()> {
    setxattr(path, false, name, value, 0)
}

#[test]
fn set_get_list_remove() {
    posix(|t| {
        put("f", b"");
        mkdir("d", 0o755).unwrap();
        for path in ["f", "d"] {
            t.about(path);
            t.eq(listxattr(path), Ok(vec![]));
            t.err(getxattr(path, "user.a"), ENODATA);
            t.err(removexattr(path, "user.a"), ENODATA);
            t.ok(set(path, "user.a", b"first"));
            t.ok(set(path, "user.b", b""));
            t.ok(set(path, "trusted.t", b"\0binary\xff"));
            t.ok(set(path, "security.s", b"label"));
            t.eq(getxattr(path, "user.a"), Ok(b"first".to_vec()));
            t.eq(getxattr(path, "user.b"), Ok(vec![]));
            t.eq(getxattr(path, "trusted.t"), Ok(b"\0binary\xff".to_vec()));
            let all = ["security.s", "trusted.t", "user.a", "user.b"].map(str::to_owned);
            t.eq(listxattr(path), Ok(all.to_vec()));
            t.ok(set(path, "user.a", b"second, longer"));
            t.eq(getxattr(path, "user.a"), Ok(b"second, longer".to_vec()));
            t.ok(removexattr(path, "user.a"));
            t.err(getxattr(path, "user.a"), ENODATA);
            t.eq(listxattr(path).map(|l| l.len()), Ok(3));
        }
        t.about("flags");
        t.err(setxattr("f", true, "user.b", b"x", XATTR_CREATE), EEXIST);
        t.err(setxattr("f", true, "user.new", b"x", XATTR_REPLACE), ENODATA);
        t.ok(setxattr("f", true, "user.new", b"x", XATTR_CREATE));
        t.ok(setxattr("f", true, "user.new", b"y", XATTR_REPLACE));
        t.eq(getxattr("f", "user.new"), Ok(b"y".to_vec()));
        t.err(setxattr("f", true, "user.new", b"y", 1 << 10), EINVAL);
        t.about("names");
        t.ok(set("f", "user.A", b"capital"));
        t.ok(set("f", "user.a.b.c/d é", b"odd"));
        t.eq(getxattr("f", "user.a.b.c/d é"), Ok(b"odd".to_vec()));
        t.err(set("f", "user.", b"x"), EINVAL);
        t.err(set("f", "nonsense.x", b"x"), EOPNOTSUPP);
        t.err(set("f", "noprefix", b"x"), EOPNOTSUPP);
    });
}

#[test]
fn lengths() {
    posix(|t| {
        put("f", b"");
        t.about("buffers");
        set("f", "user.a", b"0123456789").unwrap();
        t.eq(getxattr_sized("f", true, "user.a", 0).map(|v| v.0), Ok(10));
        t.err(getxattr_sized("f", true, "user.a", 9), ERANGE);
        t.ok(getxattr_sized("f", true, "user.a", 10));
        t.eq(listxattr_sized("f", 0).map(|v| v.0), Ok(7));
        t.err(listxattr_sized("f", 6), ERANGE);
        t.ok(listxattr_sized("f", 7));
        t.about("names");
        let longest = format!("user.{}", name_of(250));
        t.ok(set("f", &longest, b"long"));
        t.eq(getxattr("f", &longest), Ok(b"long".to_vec()));
        t.err(set("f", &format!("user.{}", name_of(251)), b"x"), ERANGE);
        t.ok(removexattr("f", &longest));
        t.about("values");
        t.err(set("f", "user.big", &vec![0; 65_537]), E2BIG);
        let limit = if t.tandem() { 65_536 } else { 2000 };
        for len in
            [1, 17, 100, 255, 256, 1000, 1999, 3000, 4096, 5000, 8192, 20_000, 40_000, 65_536]
        {
            if len <= limit {
                t.about(format!("{len} bytes"));
                let value = pattern(len, len as u64);
                t.ok(set("f", "user.v", &value));
                t.yes("comes back", getxattr("f", "user.v") == Ok(value));
                t.eq(getxattr("f", "user.a"), Ok(b"0123456789".to_vec()));
            }
        }
        t.about("smaller again");
        t.ok(set("f", "user.v", b"small"));
        t.eq(getxattr("f", "user.v"), Ok(b"small".to_vec()));
    });
}

#[test]
fn many() {
    posix(|t| {
        put("f", b"contents");
        let many = if t.tandem() { 500 } else { 50 };
        let value = |i: usize| pattern(i % 40, i as u64);
        for i in 0..many {
            t.ok(set("f", &format!("user.n{i}"), &value(i)));
        }
        t.eq(listxattr("f").map(|l| l.len()), Ok(many));
        for i in (0..many).step_by(3) {
            t.ok(removexattr("f", format!("user.n{i}")));
        }
        for i in 0..many {
            let want = if i % 3 == 0 { Err(Errno(ENODATA)) } else { Ok(value(i)) };
            t.eq(getxattr("f", format!("user.n{i}")), want);
        }
        t.eq(std::fs::read("f").ok(), Some(b"contents".to_vec()));
        t.about("on many files");
        for i in 0..200 {
            put(&format!("g{i}"), b"");
            t.ok(set(&format!("g{i}"), "user.i", format!("{i}").as_bytes()));
        }
        for i in 0..200 {
            t.eq(getxattr(format!("g{i}"), "user.i"), Ok(format!("{i}").into_bytes()));
        }
    });
}

#[test]
fn by_kind_and_name_space() {
    posix(|t| {
        for kind in ALL {
            kind.make("x");
            t.about(format!("{kind:?} trusted"));
            t.ok(set("x", "trusted.t", b"1"));
            t.eq(getxattr("x", "trusted.t"), Ok(b"1".to_vec()));
            t.eq(listxattr("x"), Ok(vec!["trusted.t".into()]));
            t.ok(removexattr("x", "trusted.t"));
            t.about(format!("{kind:?} security"));
            t.ok(set("x", "security.s", b"2"));
            t.eq(getxattr("x", "security.s"), Ok(b"2".to_vec()));
            t.about(format!("{kind:?} user"));
            if matches!(kind, Kind::File | Kind::Dir) {
                t.ok(set("x", "user.u", b"3"));
            } else {
                t.err(set("x", "user.u", b"3"), EPERM);
            }
            kind.remove("x").unwrap();
        }
        t.about("through a link");
        put("f", b"");
        symlink("f", "l").unwrap();
        t.ok(setxattr("l", true, "user.u", b"1", 0));
        t.eq(getxattr("f", "user.u"), Ok(b"1".to_vec()));
        t.eq(getxattr_sized("l", true, "user.u", 10).map(|v| v.1), Ok(b"1".to_vec()));
        t.err(getxattr("l", "trusted.t"), ENODATA);
    });
}

#[test]
fn who_may() {
    posix(|t| {
        put("f", b"");
        set("f", "user.u", b"1").unwrap();
        set("f", "trusted.t", b"2").unwrap();
        set("f", "security.s", b"3").unwrap();
        chown("f", ALICE.uid, ALICE.gid).unwrap();
        chmod("f", 0o640).unwrap();
        t.about("the owner");
        ALICE.run(|| {
            t.ok(set("f", "user.u", b"changed"));
            t.err(set("f", "trusted.t", b"x"), EPERM);
            t.err(set("f", "security.s", b"x"), EPERM);
            t.err(getxattr("f", "trusted.t"), ENODATA);
            t.err(removexattr("f", "trusted.t"), EPERM);
            t.eq(getxattr("f", "security.s"), Ok(b"3".to_vec()));
            let seen = listxattr("f").unwrap();
            t.yes("trusted attributes are not listed", !seen.contains(&"trusted.t".into()));
            t.yes("her own are", seen.contains(&"user.u".into()));
        });
        t.about("somebody else");
        BOB.run(|| {
            t.err(set("f", "user.u", b"x"), EACCES);
            t.err(getxattr("f", "user.u"), EACCES);
            t.err(removexattr("f", "user.u"), EACCES);
        });
        chmod("f", 0o646).unwrap();
        BOB.run(|| t.ok(set("f", "user.u", b"bob")));
        t.eq(getxattr("f", "user.u"), Ok(b"bob".to_vec()));
        t.about("a sticky directory of somebody else's");
        mkdir("s", 0o777).unwrap();
        chmod("s", 0o1777).unwrap();
        ALICE.run(|| t.err(set("s", "user.u", b"x"), EPERM));
    });
}

#[test]
fn they_follow_the_file() {
    posix(|t| {
        put("f", b"");
        set("f", "user.u", b"kept").unwrap();
        mkdir("d", 0o755).unwrap();
        t.ok(rename("f", "d/g"));
        t.eq(getxattr("d/g", "user.u"), Ok(b"kept".to_vec()));
        t.ok(link("d/g", "h"));
        t.eq(getxattr("h", "user.u"), Ok(b"kept".to_vec()));
        t.ok(set("h", "user.u", b"changed"));
        t.eq(getxattr("d/g", "user.u"), Ok(b"changed".to_vec()));
        t.ok(unlink("d/g"));
        put("d/g", b"");
        t.err(getxattr("d/g", "user.u"), ENODATA);
        t.about("capabilities end when the file changes");
        let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        put("program", b"#!");
        t.ok(set("program", "security.capability", &capability));
        let kept = getxattr("program", "security.capability");
        t.eq(kept.map(|v| v.len()), Ok(20));
        chmod("program", 0o777).unwrap();
        ALICE.run(|| put("program", b"changed"));
        t.err(getxattr("program", "security.capability"), ENODATA);
        t.about("a write by whoever made it");
        let maker = open("made", O_CREAT | O_EXCL | O_WRONLY, 0o755).unwrap();
        t.ok(set("made", "security.capability", &capability));
        t.eq(write(&maker, b"#!"), Ok(2));
        t.err(getxattr("made", "security.capability"), ENODATA);
        t.about("a change of owner");
        t.ok(set("program", "security.capability", &capability));
        t.ok(chown("program", 1, 1));
        t.err(getxattr("program", "security.capability"), ENODATA);
    });
}

#[test]
fn next_to_long_names_and_contents() {
    posix(|t| {
        // What does not fit into the directory's leaf moves out of it, and back.
        for kind in NODES {
            for len in [10, 200, 255] {
                let name = name_of(len);
                kind.make(&name);
                for size in [10, 300, 900, 1800, 100, 1] {
                    t.about(format!("{kind:?} name {len} attribute {size}"));
                    let value = pattern(size, 9);
                    t.ok(set(&name, "trusted.v", &value));
                    t.yes("comes back", getxattr(&name, "trusted.v") == Ok(value));
                }
                t.ok(chown(&name, 7, 8));
                t.eq(lstat(&name).map(|s| (s.kind(), s.uid)), Ok((kind.bits(), 7)));
                unlink(&name).unwrap();
            }
        }
    });
}
