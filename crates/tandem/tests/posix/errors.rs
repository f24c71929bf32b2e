//! The errors that every call shares: what stands in the way of reaching a name.

use super::kinds::{ALL, Kind, name_of};
use crate::common::suite::posix;
use crate::common::sys::*;
use crate::common::users::ALICE;

type Call = fn(&str) -> R<()>;

const NOW: [Set; 2] = [Set::Now, Set::Now];

/// Calls on something that exists, following a last symbolic link.
const FOLLOWING: &[(&str, Call)] = &[
    ("open to read", |p| open(p, O_RDONLY | O_NONBLOCK, 0).map(drop)),
    ("open to write", |p| open(p, O_WRONLY | O_NONBLOCK, 0).map(drop)),
    ("open a directory", |p| open(p, O_RDONLY | O_DIRECTORY, 0).map(drop)),
    ("stat", |p| stat(p).map(drop)),
    ("access", |p| eaccess(p, F_OK)),
    ("chmod", |p| chmod(p, 0o600)),
    ("chown", |p| chown(p, 0, 0)),
    ("truncate", |p| truncate(p, 0)),
    ("utimensat", |p| utimens(p, NOW, 0)),
    ("statfs", |p| statvfs(p).map(drop)),
    ("chdir", |p| chdir(p)),
    ("getxattr", |p| getxattr_sized(p, true, "user.a", 10).map(drop)),
    ("setxattr", |p| setxattr(p, true, "user.a", b"1", 0)),
];

/// Calls on something that exists, a last symbolic link itself.
const ITSELF: &[(&str, Call)] = &[
    ("lstat", |p| lstat(p).map(drop)),
    ("lchown", |p| lchown(p, 0, 0)),
    ("utimensat itself", |p| utimens(p, NOW, AT_SYMLINK_NOFOLLOW)),
    ("readlink", |p| readlink(p).map(drop)),
    ("unlink", |p| unlink(p)),
    ("rmdir", |p| rmdir(p)),
    ("link from", |p| link(p, "never")),
    ("rename from", |p| rename(p, "never")),
    ("exchange from", |p| rename2(p, "file", RENAME_EXCHANGE)),
    ("exchange to", |p| rename2("file", p, RENAME_EXCHANGE)),
    ("listxattr", |p| listxattr(p).map(drop)),
    ("removexattr", |p| removexattr(p, "user.a")),
    ("name_to_handle_at", |p| name_to_handle(p).map(drop)),
    ("O_PATH", |p| open(p, O_PATH | O_NOFOLLOW, 0).map(drop)),
];

/// Calls that make a name.
const MAKING: &[(&str, Call)] = &[
    ("creat", |p| open(p, O_CREAT | O_WRONLY, 0o644).map(drop)),
    ("create exclusively", |p| create(p, 0o644)),
    ("mkdir", |p| mkdir(p, 0o755)),
    ("mkfifo", |p| mkfifo(p, 0o644)),
    ("mknod", |p| mknod(p, S_IFREG | 0o644, 0)),
    ("symlink", |p| symlink("somewhere", p)),
    ("link to", |p| link("file", p)),
    ("rename to", |p| rename("file", p)),
    ("rename a directory to", |p| rename("dir", p)),
];

fn every() -> impl Iterator<Item = (&'static str, Call)> {
    FOLLOWING.iter().chain(ITSELF).chain(MAKING).copied()
}

fn prepare() {
    create("file", 0o644).unwrap();
    mkdir("dir", 0o755).unwrap();
}

#[test]
fn a_component_is_no_directory() {
    posix(|t| {
        prepare();
        symlink("file", "to-file").unwrap();
        for path in ["file/x", "file/x/y", "to-file/x", "file/.", "file/..", "to-file/../x"] {
            for (name, call) in every() {
                // Before it looks, rmdir refuses `.` and rename both dots.
                let dots = path.ends_with('.')
                    && (name.contains("rename") || name.contains("exchange") || name == "rmdir");
                if !dots {
                    t.about(format!("{name} {path}"));
                    t.err(call(path), ENOTDIR);
                }
            }
        }
    });
}

#[test]
fn a_component_is_missing() {
    posix(|t| {
        prepare();
        symlink("nowhere", "dangling").unwrap();
        for path in ["missing/x", "dir/missing/x", "dangling/x", ""] {
            for (name, call) in every() {
                t.about(format!("{name} “{path}”"));
                t.err(call(path), ENOENT);
            }
        }
        for (name, call) in FOLLOWING.iter().chain(ITSELF) {
            t.about(format!("{name} missing"));
            t.err(call("missing"), ENOENT);
            t.err(call("dir/missing"), ENOENT);
        }
        for (name, call) in FOLLOWING {
            t.about(format!("{name} dangling"));
            t.err(call("dangling"), ENOENT);
        }
    });
}

#[test]
fn names_too_long() {
    posix(|t| {
        prepare();
        let (long, inside, through) =
            (name_of(256), format!("dir/{}", name_of(256)), format!("{}/x", name_of(256)));
        for (name, call) in every() {
            for path in [&long, &inside, &through] {
                t.about(format!("{name} with a name of 256 bytes"));
                t.err(call(path), ENAMETOOLONG);
            }
        }
        let path = "./".repeat(PATH_MAX as usize / 2);
        for (name, call) in every() {
            t.about(format!("{name} with a path of {} bytes", path.len()));
            t.err(call(&path), ENAMETOOLONG);
        }
        t.about("");
        t.eq(names("."), Ok(vec!["dir".into(), "file".into()]));
    });
}

#[test]
fn longest_names_work() {
    posix(|t| {
        mkdir("dir", 0o755).unwrap();
        let path = format!("{}x", "./".repeat((PATH_MAX as usize - 2) / 2));
        assert_eq!(path.len(), PATH_MAX as usize - 1);
        let names = [name_of(255), format!("dir/{}", name_of(255)), path, "x".into()];
        for name in &names {
            for kind in ALL {
                t.about(format!("{kind:?} {} bytes", name.len()));
                t.ok(kind.try_make(name, 0o644));
                t.eq(lstat(name).map(|s| s.kind()), Ok(kind.bits()));
                t.ok(lchown(name, 1, 2));
                t.ok(kind.remove(name));
                t.gone(name);
            }
            create("file", 0o644).unwrap();
            t.ok(link("file", name));
            t.ok(unlink("file"));
            t.ok(rename(name, "file"));
            t.ok(rename("file", name));
            t.ok(unlink(name));
        }
        t.about("");
        t.ok(rmdir("dir"));
    });
}

#[test]
fn loops() {
    posix(|t| {
        prepare();
        symlink("loop2", "loop1").unwrap();
        symlink("loop1", "loop2").unwrap();
        symlink("self", "self").unwrap();
        for path in ["loop1/x", "loop2/x/y", "self/x"] {
            for (name, call) in every() {
                t.about(format!("{name} {path}"));
                t.err(call(path), ELOOP);
            }
        }
        for path in ["loop1", "self"] {
            for (name, call) in FOLLOWING {
                t.about(format!("{name} {path}"));
                t.err(call(path), ELOOP);
            }
            t.about(format!("creat {path}"));
            t.err(open(path, O_CREAT | O_WRONLY, 0o644), ELOOP);
            t.err(open(path, O_RDONLY | O_NOFOLLOW, 0), ELOOP);
        }
        // Forty links on the way are allowed, and not one more.
        symlink("dir", "s0").unwrap();
        for i in 1..=40 {
            symlink(format!("s{}", i - 1), format!("s{i}")).unwrap();
        }
        t.about("a chain of links");
        t.ok(stat("s39"));
        t.err(stat("s40"), ELOOP);
    });
}

#[test]
fn no_right_to_search() {
    posix(|t| {
        prepare();
        chmod("file", 0o666).unwrap();
        mkdir("locked", 0o755).unwrap();
        create("locked/x", 0o666).unwrap();
        for mode in [0o700, 0o766, 0o744, 0o722] {
            chmod("locked", mode).unwrap();
            for (name, call) in every() {
                for path in ["locked/x", "locked/missing"] {
                    t.about(format!("{name} {path} in a directory of mode {mode:o}"));
                    t.err(ALICE.run(|| call(path)), EACCES);
                }
            }
        }
    });
}

#[test]
fn no_right_to_change_the_directory() {
    posix(|t| {
        prepare();
        mkdir("mine", 0o755).unwrap();
        chown("mine", ALICE.uid, ALICE.gid).unwrap();
        ALICE.run(|| {
            create("mine/file", 0o644).unwrap();
            mkdir("mine/dir", 0o755).unwrap();
        });
        for mode in [0o755, 0o555, 0o511] {
            chmod("dir", mode).unwrap();
            let made = ALL
                .into_iter()
                .filter(|k| !matches!(k, Kind::Char | Kind::Block))
                .map(|k| (format!("{k:?}"), ALICE.run(|| k.try_make("dir/new", 0o644))));
            for (name, result) in made {
                t.about(format!("{name} in a directory of mode {mode:o}"));
                t.err(result, EACCES);
            }
            t.about(format!("in a directory of mode {mode:o}"));
            ALICE.run(|| {
                t.err(link("mine/file", "dir/new"), EACCES);
                t.err(rename("mine/file", "dir/new"), EACCES);
                t.err(rename("mine/dir", "dir/new"), EACCES);
                t.err(open("dir", O_TMPFILE | O_RDWR, 0o600), EACCES);
            });
        }
        chmod("dir", 0o755).unwrap();
        create("dir/there", 0o666).unwrap();
        mkdir("dir/sub", 0o777).unwrap();
        t.about("removing");
        ALICE.run(|| {
            t.err(unlink("dir/there"), EACCES);
            t.err(rmdir("dir/sub"), EACCES);
            t.err(rename("dir/there", "mine/there"), EACCES);
            t.err(rename("mine/file", "dir/there"), EACCES);
            t.err(rename2("mine/file", "dir/there", RENAME_EXCHANGE), EACCES);
        });
        t.eq(names("dir"), Ok(vec!["sub".into(), "there".into()]));
        t.eq(names("mine"), Ok(vec!["dir".into(), "file".into()]));
    });
}

#[test]
fn the_name_is_taken() {
    posix(|t| {
        prepare();
        for there in ALL {
            there.make("taken");
            let before = lstat("taken").unwrap();
            let calls: &[(&str, R<()>)] = &[
                ("create exclusively", create("taken", 0o644)),
                ("mkdir", mkdir("taken", 0o755)),
                ("mkfifo", mkfifo("taken", 0o644)),
                ("mknod", mknod("taken", S_IFCHR | 0o644, makedev(1, 3))),
                ("symlink", symlink("x", "taken")),
                ("link", link("file", "taken")),
                ("rename with NOREPLACE", rename2("file", "taken", RENAME_NOREPLACE)),
                ("rename a directory with NOREPLACE", rename2("dir", "taken", RENAME_NOREPLACE)),
            ];
            for (name, result) in calls {
                t.about(format!("{name} over {there:?}"));
                t.err(*result, EEXIST);
            }
            t.about(format!("{there:?} afterwards"));
            t.eq(lstat("taken"), Ok(before));
            there.remove("taken").unwrap();
        }
        t.about("dots");
        for path in [".", "..", "dir/.", "dir/.."] {
            t.err(mkdir(path, 0o755), EEXIST);
            t.err(symlink("x", path), EEXIST);
            t.err(link("file", path), EEXIST);
        }
    });
}

#[test]
fn a_slash_at_the_end() {
    posix(|t| {
        prepare();
        symlink("dir", "to-dir").unwrap();
        let calls = FOLLOWING.iter().filter(|c| c.0 != "chdir");
        for (name, call) in calls {
            t.about(format!("{name} file/"));
            t.err(call("file/"), ENOTDIR);
        }
        t.about("");
        t.err(lstat("file/"), ENOTDIR);
        t.err(unlink("file/"), ENOTDIR);
        t.err(rename("file/", "new"), ENOTDIR);
        t.err(rename("file", "new/"), ENOTDIR);
        t.err(link("file/", "new"), ENOTDIR);
        t.err(link("file", "new/"), ENOENT);
        t.err(symlink("x", "new/"), ENOENT);
        t.err(open("new/", O_CREAT | O_WRONLY, 0o644), EISDIR);
        t.err(unlink("dir/"), EISDIR);
        t.err(rmdir("to-dir/"), ENOTDIR);
        t.eq(lstat("to-dir/").map(|s| s.kind()), Ok(S_IFDIR));
        t.eq(lstat("to-dir").map(|s| s.kind()), Ok(S_IFLNK));
        t.ok(mkdir("new/", 0o755));
        t.ok(rename("new/", "newer/"));
        t.ok(rmdir("newer/"));
    });
}
