//! One volume, one user: everything else is told where it is mounted.

use crate::common::sys;
use crate::common::volume::{Shape, Volume, cli, skip};

#[test]
fn already_mounted() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape::default());
    std::fs::write(v.at("f"), "kept").unwrap();
    let (meta, data) = (v.meta(), v.data());
    let (meta, data) = (meta.to_string_lossy(), data.to_string_lossy());
    let mnt = v.mnt().to_string_lossy().into_owned();
    let other = v.dir().join("other");
    std::fs::create_dir(&other).unwrap();
    let other = other.to_string_lossy().into_owned();
    cli(&["mount", &meta, &other, "--data", &data]).must_fail().says(&[&meta, &mnt]);
    cli(&["mount", &meta, &other, "--data", &data, "-o", "ro"]).must_fail().says(&[&mnt]);
    v.cli("check", &[]).must_fail().says(&[&meta, &mnt]);
    v.cli("mkfs", &[]).must_fail().says(&[&mnt]);
    v.cli("mkfs", &["--force"]).must_fail().says(&[&mnt]);
    // Each of the devices by itself.
    cli(&["mkfs", "--force", &data]).must_fail().says(&[&data]);
    let third = v.dir().join("third.img");
    let third = third.to_string_lossy();
    let new = ["--metadata-size", "64M", "--force"];
    cli(&[&["mkfs", &third, "--data", &data], &new[..]].concat()).must_fail().says(&[&data]);
    // Under other names.
    let link = v.dir().join("link.img");
    std::os::unix::fs::symlink(v.meta(), &link).unwrap();
    let link = link.to_string_lossy();
    cli(&["mount", &link, &other, "--data", &data]).must_fail();
    cli(&["mkfs", "--force", &link]).must_fail();
    // What only asks is answered.
    v.cli("info", &[]).must();
    cli(&["info", &mnt]).must();
    cli(&["stats", &mnt, "--json"]).must();
    assert_eq!(std::fs::read(v.at("f")).unwrap(), b"kept");
    std::fs::write(v.at("g"), "works").unwrap();
    v.remount();
    assert_eq!(std::fs::read(v.at("f")).unwrap(), b"kept");
    v.finish();
    assert!(!std::path::Path::new(third.as_ref()).exists(), "no image was left behind");
}

#[test]
fn one_over_another() {
    if skip() {
        return;
    }
    let small = Shape { meta: 16 << 20, data: 64 << 20, ..Shape::default() };
    let (mut lower, upper) = (Volume::mounted(small.clone()), Volume::make(small));
    std::fs::write(lower.at("f"), "kept").unwrap();
    let mnt = lower.mnt().to_string_lossy().into_owned();
    let [below, above] = [&lower, &upper].map(|v| v.meta().to_string_lossy().into_owned());
    let data = upper.data().to_string_lossy().into_owned();
    cli(&["mount", &above, &mnt, "--data", &data]).must();
    // By its device, the one meant is unmounted or none.
    cli(&["umount", &below]).must_fail().says(&[&mnt, &above, "over"]);
    cli(&["info", &mnt]).must().says(&[&above]);
    cli(&["umount", &mnt]).must();
    assert_eq!(std::fs::read(lower.at("f")).unwrap(), b"kept");
    lower.finish();
    upper.try_check().unwrap();
}

#[test]
fn busy_when_unmounting() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape::default());
    let file = std::fs::File::create(v.at("f")).unwrap();
    let mnt = v.mnt().to_string_lossy().into_owned();
    cli(&["umount", &mnt]).must_fail().says(&[&mnt, "in use"]);
    // It goes on as if nothing had been.
    std::fs::write(v.at("g"), "still here").unwrap();
    drop(file);
    v.finish();
}

#[test]
fn the_lock_ends_with_the_process() {
    if skip() {
        return;
    }
    let mut v = Volume::mounted(Shape::default());
    std::fs::write(v.at("f"), "synced").unwrap();
    sys::fsync(&sys::open(v.at("f"), sys::O_RDONLY, 0).unwrap()).unwrap();
    v.crash();
    v.mount();
    assert_eq!(std::fs::read(v.at("f")).unwrap(), b"synced");
    v.finish();
}
