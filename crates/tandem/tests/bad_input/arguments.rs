//! Paths and options that make no sense.

use crate::common::program::run;
use crate::common::sys;
use crate::common::volume::{Shape, Volume, cli, image, scratch, skip, tandem};
use std::process::Command;

#[test]
fn paths() {
    let dir = scratch();
    let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let missing = at("missing.img");
    for command in ["check", "info"] {
        cli(&[command, missing.as_str()]).must_fail().says(&[&missing]);
    }
    cli(&["dump", missing.as_str(), "superblock"]).must_fail().says(&[&missing]);
    std::fs::create_dir(at("mnt")).unwrap();
    let mnt = at("mnt");
    cli(&["mount", missing.as_str(), &mnt]).must_fail().says(&[&missing]);
    let here = at("");
    cli(&["check", here.as_str()]).must_fail().says(&["directory"]);
    cli(&["check", "/dev/null"]).must_fail().says(&["/dev/null"]);
    cli(&["umount", mnt.as_str()]).must_fail().says(&[&mnt, "mounted"]);
    cli(&["stats", mnt.as_str()]).must_fail().says(&[&mnt, "mounted"]);
    cli(&["umount", missing.as_str()]).must_fail().says(&[&missing]);
    // A name that is too long, a path that is.
    let long = at(&"n".repeat(256));
    cli(&["check", long.as_str()]).must_fail().says(&["long"]);
    let path = at(&"x/".repeat(3000));
    cli(&["check", path.as_str()]).must_fail().says(&["long"]);
}

#[test]
fn an_error_is_said_once_and_survives_a_closed_pipe() {
    let dir = scratch();
    let path = dir.path().join("img").to_string_lossy().into_owned();
    let sizes = ["--metadata-size", "9000000T", "--data-size", "64M"];
    let out = cli(&[&["mkfs", path.as_str()], &sizes[..]].concat()).must_fail();
    let reason = out.err.split(": ").nth(3).unwrap_or_default().split(';').next().unwrap_or("");
    assert_eq!(out.err.matches(reason).count(), 1, "{out}");
    // Nobody reads what it says; its status is still its own.
    let line = format!("{} check {path} 2>&1 | true; exit ${{PIPESTATUS[0]}}", tandem().display());
    let out = run(Command::new("bash").args(["-c", &line]));
    assert_eq!(out.status.code(), Some(8), "{out}");
}

#[test]
fn mount_points_and_options() {
    if skip() {
        return;
    }
    let v = Volume::make(Shape::default());
    let devices = v.devices();
    let mount = |more: &[&str]| {
        let mut args = vec!["mount"];
        args.extend(devices.iter().map(String::as_str));
        args.extend(more);
        cli(&args)
    };
    let missing = v.dir().join("missing");
    mount(&[&missing.to_string_lossy()]).must_fail().says(&["missing"]);
    let file = v.meta();
    mount(&[&file.to_string_lossy()]).must_fail().says(&["not a directory"]);
    let mnt = v.mnt().to_string_lossy().into_owned();
    for (options, word) in [
        ("flush=never", "flush"),
        ("cache=1", "cache"),
        ("cache=lots", "cache"),
        ("affinity=200", "affinity"),
        ("transport=pigeon", "transport"),
        ("noatyme", "noatyme"),
        ("remount", "remount"),
        ("data=", "data"),
    ] {
        mount(&[&mnt, "-o", options]).must_fail().says(&[word]);
    }
    mount(&[&mnt, "-o", "data=/somewhere/else"]).must_fail().says(&["/somewhere/else"]);
    assert_eq!(std::fs::read_dir(v.mnt()).unwrap().count(), 0, "nothing is mounted");
}

#[test]
fn mkfs_arguments() {
    let dir = scratch();
    let meta = dir.path().join("meta.img");
    image(&meta, 64 << 20);
    let meta = meta.to_string_lossy().into_owned();
    for (args, word) in [
        (["--data-block-size", "3000"], "block"),
        (["--data-block-size", "256"], "block"),
        (["--data-block-size", "128K"], "block"),
        (["--segment-size", "100"], "segment"),
        (["--metadata-size", "1G"], "meta.img"),
        (["--metadata-size", "none"], "metadata-size"),
        (["--data-size", "1T"], "meta.img"),
        (
            ["--label", "0123456789012345678901234567890123456789012345678901234567890123456789"],
            "label",
        ),
        (["--uuid", "12"], "uuid"),
    ] {
        let args = ["mkfs", &meta, args[0], args[1]];
        cli(&args).must_fail().says(&[word]);
    }
    // Nothing has been written.
    assert!(std::fs::read(&meta).unwrap().iter().all(|b| *b == 0));
    assert_eq!(sys::stat(&meta).unwrap().size, 64 << 20);
}
