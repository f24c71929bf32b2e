//! rename(2) between every pair of kinds.

use super::kinds::{ALL, Kind, NON_DIRS};
use crate::common::suite::posix;
use crate::common::sys::*;

#[test]
fn to_a_free_name() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        for kind in ALL {
            for to in ["b", "d/b"] {
                for flags in [0, RENAME_NOREPLACE] {
                    t.about(format!("{kind:?} to {to} flags {flags}"));
                    kind.make("a");
                    let before = lstat("a").unwrap();
                    t.ok(rename2("a", to, flags));
                    let after = lstat(to).unwrap();
                    t.eq((after.ino, after.mode, after.mtime, after.nlink, after.size), {
                        let b = &before;
                        (b.ino, b.mode, b.mtime, b.nlink, b.size)
                    });
                    t.gone("a");
                    t.err(rename2("a", to, flags), ENOENT);
                    t.ok(rename2(to, "c", flags));
                    t.eq(lstat("c").map(|s| s.ino), Ok(before.ino));
                    kind.remove("c").unwrap();
                }
            }
        }
        t.about("");
        t.eq(names("d"), Ok(vec![]));
    });
}

#[test]
fn over_something_else() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        for from in ALL {
            for over in ALL {
                for to in ["b", "d/b"] {
                    t.about(format!("{from:?} over {over:?} at {to}"));
                    from.make("a");
                    over.make(to);
                    let (a, b) = (lstat("a").unwrap(), lstat(to).unwrap());
                    let got = rename("a", to);
                    match (from == Kind::Dir, over == Kind::Dir) {
                        (true, false) => t.err(got, ENOTDIR),
                        (false, true) => t.err(got, EISDIR),
                        _ => t.ok(got).is_some(),
                    };
                    if (from == Kind::Dir) == (over == Kind::Dir) {
                        t.eq(lstat(to).map(|s| s.ino), Ok(a.ino));
                        t.gone("a");
                        from.remove(to).unwrap();
                    } else {
                        t.eq(lstat("a").map(|s| s.ino), Ok(a.ino));
                        t.eq(lstat(to).map(|s| s.ino), Ok(b.ino));
                        from.remove("a").unwrap();
                        over.remove(to).unwrap();
                    }
                }
            }
        }
    });
}

#[test]
fn exchange() {
    posix(|t| {
        mkdir("d", 0o755).unwrap();
        for from in ALL {
            for over in ALL {
                for to in ["b", "d/b"] {
                    t.about(format!("{from:?} with {over:?} at {to}"));
                    from.make("a");
                    over.make(to);
                    let (a, b) = (lstat("a").unwrap(), lstat(to).unwrap());
                    t.ok(rename2("a", to, RENAME_EXCHANGE));
                    t.eq(lstat("a").map(|s| (s.ino, s.mode)), Ok((b.ino, b.mode)));
                    t.eq(lstat(to).map(|s| (s.ino, s.mode)), Ok((a.ino, a.mode)));
                    let subdirs = u32::from(from == Kind::Dir && to == "d/b");
                    t.eq(lstat("d").map(|s| s.nlink), Ok(2 + subdirs));
                    over.remove("a").unwrap();
                    from.remove(to).unwrap();
                }
            }
        }
        t.about("with nothing");
        t.err(rename2("d", "missing", RENAME_EXCHANGE), ENOENT);
        t.about("with itself");
        t.ok(rename2("d", "d", RENAME_EXCHANGE));
        t.about("flags that exclude each other");
        t.err(rename2("d", "e", RENAME_EXCHANGE | RENAME_NOREPLACE), EINVAL);
        t.err(rename2("d", "e", 1 << 20), EINVAL);
    });
}

#[test]
fn the_last_name_goes_with_its_contents() {
    posix(|t| {
        for over in NON_DIRS {
            t.about(format!("{over:?} with another name"));
            create("a", 0o644).unwrap();
            over.make("b");
            link("b", "keep").unwrap();
            t.ok(rename("a", "b"));
            t.eq(lstat("keep").map(|s| s.nlink), Ok(1));
            unlink("keep").unwrap();
            unlink("b").unwrap();
        }
    });
}
