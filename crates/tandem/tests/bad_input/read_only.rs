//! Devices that cannot be written.

use crate::common::sys;
use crate::common::volume::{Loop, Shape, Volume, cli, skip};

#[test]
fn block_devices() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape::default());
    std::fs::write(v.at("f"), "readable").unwrap();
    v.umount();
    let (Some(meta), Some(data)) = (Loop::new(&v.meta(), &["-r"]), Loop::new(&v.data(), &["-r"]))
    else {
        println!("not run: no loop devices");
        return;
    };
    let mnt = v.mnt().to_string_lossy().into_owned();
    let args = ["mount", &meta.0, &mnt, "--data", &data.0];
    cli(&args).must_fail().says(&[&meta.0, "read-only", "ro"]);
    cli(&[&args[..], &["-o", "ro"]].concat()).must();
    assert_eq!(std::fs::read(v.at("f")).unwrap(), b"readable");
    assert_eq!(sys::mkdir(v.at("d"), 0o755), Err(sys::Errno(sys::EROFS)));
    cli(&["umount", &mnt]).must();
    cli(&["check", &meta.0, "--data", &data.0]).must();
    cli(&["info", &meta.0, "--data", &data.0]).must();
    cli(&["mkfs", "--force", &meta.0, "--data", &data.0]).must_fail().says(&[&meta.0, "read-only"]);
    drop((meta, data));
    // One of them suffices.
    let data = Loop::new(&v.data(), &["-r"]).expect("as before");
    let meta = v.meta().to_string_lossy().into_owned();
    cli(&["mount", &meta, &mnt, "--data", &data.0]).must_fail().says(&[&data.0, "read-only"]);
}

#[test]
fn after_a_crash() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape::default());
    std::fs::write(v.at("f"), "synced").unwrap();
    sys::fsync(&sys::open(v.at("f"), sys::O_RDONLY, 0).unwrap()).unwrap();
    v.crash();
    // What the log holds is read, and nothing is written.
    let before = std::fs::read(v.meta()).unwrap();
    v.mount_with("ro");
    assert_eq!(std::fs::read(v.at("f")).unwrap(), b"synced");
    v.umount();
    assert!(std::fs::read(v.meta()).unwrap() == before, "a read-only mount writes nothing");
    v.mount();
    assert_eq!(std::fs::read(v.at("f")).unwrap(), b"synced");
    v.finish();
}

#[test]
fn nothing_is_written_by_a_read_only_mount() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape { data: 64 << 20, ..Shape::default() });
    for i in 0..100 {
        std::fs::write(v.at(&format!("f{i}")), format!("{i}")).unwrap();
    }
    v.umount();
    let before = [v.meta(), v.data()].map(|p| std::fs::read(p).unwrap());
    v.mount_with("ro,strictatime");
    for i in 0..100 {
        assert_eq!(std::fs::read(v.at(&format!("f{i}"))).unwrap(), format!("{i}").as_bytes());
    }
    v.umount();
    assert!([v.meta(), v.data()].map(|p| std::fs::read(p).unwrap()) == before);
    v.try_check().unwrap();
}
