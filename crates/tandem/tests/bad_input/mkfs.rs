//! mkfs destroys nothing by mistake.

use crate::common::program::{have, sh};
use crate::common::sys;
use crate::common::volume::{Shape, Volume, cli, image, scratch};
use std::fs::File;
use std::path::Path;

fn head(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn over_other_file_systems() {
    let dir = scratch();
    let img = dir.path().join("img");
    let path = img.to_string_lossy().into_owned();
    // The program that makes it, its line, what it must be called.
    let others = [
        ("mkfs.ext4", "mkfs.ext4 -q -F IMG", "ext4"),
        ("mkfs.ext2", "mkfs.ext2 -q -F IMG", "ext2"),
        ("mkfs.xfs", "mkfs.xfs -q -f IMG", "xfs"),
        ("mkfs.btrfs", "mkfs.btrfs -q -f IMG", "btrfs"),
        ("mkswap", "mkswap -q IMG", "swap"),
        ("mkfs.vfat", "mkfs.vfat IMG", "fat"),
        ("mkfs.minix", "mkfs.minix IMG", "minix"),
        ("sfdisk", "echo ',,L' | sfdisk -q -X gpt IMG", "gpt"),
        ("sfdisk", "echo ',,L' | sfdisk -q -X dos IMG", "partition"),
        ("tar", "tar -cf IMG.tar -C /usr include/linux && mv IMG.tar IMG", "tar"),
        ("head", "head -c 100000 /dev/urandom > IMG", "unknown"),
        ("gzip", "head -c 100000 /dev/urandom | gzip > IMG", "gzip"),
    ];
    let mut tried = 0;
    for (program, line, name) in others {
        if !have(program) {
            println!("not tried: {program} is missing");
            continue;
        }
        tried += 1;
        let _ = std::fs::remove_file(&img);
        image(&img, 320 << 20);
        sh(&format!("export PATH=$PATH:/sbin:/usr/sbin; {}", line.replace("IMG", &path))).must();
        let before = head(&img);
        cli(&["mkfs", &path]).must_fail().says(&[&path, name, "--force"]);
        assert!(head(&img) == before, "{name}: untouched");
        // As the data device, too; and the metadata device is not written first.
        let meta = dir.path().join("meta.img");
        image(&meta, 64 << 20);
        let meta_path = meta.to_string_lossy().into_owned();
        cli(&["mkfs", &meta_path, "--data", &path]).must_fail().says(&[&path, name]);
        assert!(head(&img) == before, "{name}: untouched");
        assert!(head(&meta).iter().all(|b| *b == 0), "{name}: nothing is half made");
    }
    assert!(tried >= 5, "too few programs to make other file systems with");
    // What is forced is done, and nobody takes it for what it was.
    image(&img, 320 << 20);
    sh(&format!("export PATH=$PATH:/sbin:/usr/sbin; mkfs.ext4 -q -F {path}")).must();
    cli(&["mkfs", "--force", &path]).must();
    cli(&["check", &path]).must();
    assert!(!sh(&format!("blkid -p {path} || true")).text().contains("ext4"));
}

#[test]
fn over_a_volume() {
    let mut v = Volume::make(Shape::default());
    let before = [head(&v.meta())];
    v.mkfs().must_fail().says(&["tandem", "--force"]);
    // A device of it by itself.
    let data = v.data().to_string_lossy().into_owned();
    cli(&["mkfs", &data]).must_fail().says(&["tandem", "--force"]);
    assert!([head(&v.meta())] == before, "untouched");
    v.cli("mkfs", &["--force"]).must();
    v.finish();
}

#[test]
fn that_fails_leaves_what_was_there_even_when_forced() {
    let small = Shape { meta: 16 << 20, data: 64 << 20, ..Shape::default() };
    let (v, other) = (Volume::make(small.clone()), Volume::make(small));
    let [meta, data] = [v.meta(), v.data()].map(|p| p.to_string_lossy().into_owned());
    let missing = v.dir().join("no/such").to_string_lossy().into_owned();
    let before = [head(&v.meta()), head(&v.data())];
    // Each is refused for a reason that does not lie in the metadata device.
    v.cli("mkfs", &["--force", "--data-size", "1G"]).must_fail().says(&[&data]);
    v.cli("mkfs", &["--force", "--segment-size", "8M"]).must_fail().says(&[&meta, "segments"]);
    let sizes = ["--force", "--data-size", "64M"];
    cli(&[&["mkfs", &meta, "--data", &missing], &sizes[..]].concat()).must_fail().says(&[&missing]);
    let lock = File::open(other.data()).unwrap();
    sys::flock(&lock, sys::LOCK_EX).unwrap();
    let locked = other.data().to_string_lossy().into_owned();
    cli(&["mkfs", "--force", &meta, "--data", &locked]).must_fail().says(&[&locked, "in use"]);
    assert!([head(&v.meta()), head(&v.data())] == before, "untouched");
    v.try_check().unwrap();
}

#[test]
fn images_that_are_not_there_yet() {
    let dir = scratch();
    let at = |n: &str| dir.path().join(n).to_string_lossy().into_owned();
    let (meta, data) = (at("meta.img"), at("data.img"));
    cli(&["mkfs", &meta, "--data", &data]).must_fail().says(&[&meta, "--metadata-size"]);
    cli(&["mkfs", &meta, "--data", &data, "--metadata-size", "64M"])
        .must_fail()
        .says(&[&data, "--data-size"]);
    assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none(), "nothing is left behind");
    let sizes = ["--metadata-size", "64M", "--data-size", "1G"];
    cli(&[&["mkfs", &meta, "--data", &data], &sizes[..]].concat()).must();
    cli(&["check", &meta, "--data", &data]).must();
    assert_eq!(std::fs::metadata(&data).unwrap().len(), 1 << 30);
    // An empty one is as good as none, and stays empty when that fails.
    let empty = at("empty.img");
    image(Path::new(&empty), 0);
    cli(&["mkfs", &empty]).must_fail().says(&[&empty, "empty", "--metadata-size"]);
    let args = ["mkfs", &empty, "--metadata-size", "16M", "--data-size"];
    cli(&[&args[..], &["10"]].concat()).must_fail().says(&[&empty, "too small"]);
    assert_eq!(std::fs::metadata(&empty).unwrap().len(), 0);
    cli(&[&args[..], &["64M"]].concat()).must();
    cli(&["check", &empty]).must();
    let missing = at("no/such/dir.img");
    cli(&["mkfs", &missing, "--metadata-size", "64M", "--data-size", "1G"])
        .must_fail()
        .says(&[&missing]);
}
