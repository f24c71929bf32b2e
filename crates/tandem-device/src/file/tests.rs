use std::io::IoSlice;

use super::*;

fn image(size: u64) -> (tempfile::TempDir, FileDevice) {
    let dir = tempfile::tempdir().unwrap();
    let device = FileDevice::create(dir.path().join("image"), size).unwrap();
    (dir, device)
}

#[test]
fn writes_reads_and_counts() {
    let (_dir, device) = image(1 << 20);
    assert_eq!(device.size(), 1 << 20);
    device.write_at(b"hello", 10_000).unwrap();
    device.write_at(b"end", (1 << 20) - 3).unwrap();
    let mut buf = [0; 7];
    device.read_at(&mut buf, 9_999).unwrap();
    assert_eq!(&buf, b"\0hello\0");
    device.flush().unwrap();
    let stats = device.stats();
    assert_eq!((stats.writes, stats.write_bytes, stats.reads, stats.flushes), (2, 8, 1, 1));
}

#[test]
fn the_end_is_a_wall() {
    let (_dir, device) = image(1000);
    assert!(device.write_at(b"ab", 999).is_err());
    assert!(device.write_vectored_at(&[IoSlice::new(b"ab")], 999).is_err());
    assert!(device.read_at(&mut [0; 2], 999).is_err());
    assert!(device.write_at(b"a", u64::MAX).is_err());
    assert_eq!(device.path().metadata().unwrap().len(), 1000);
}

#[test]
fn many_vectors_arrive_whole() {
    let (_dir, device) = image(1 << 20);
    let parts: Vec<Vec<u8>> = (0..3000u32).map(|n| vec![n as u8; (n % 5) as usize]).collect();
    let bufs: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
    device.write_vectored_at(&bufs, 77).unwrap();
    let whole = parts.concat();
    let mut back = vec![0; whole.len()];
    device.read_at(&mut back, 77).unwrap();
    assert_eq!(back, whole);
    assert_eq!(device.stats().writes, 1);
}

#[test]
fn a_second_writer_is_refused() {
    let (dir, device) = image(4096);
    let path = dir.path().join("image");
    for access in [Access::ReadWrite, Access::ReadOnly] {
        match FileDevice::open(&path, access) {
            Err(DeviceError::InUse { path: named, reason, locked: true }) => {
                assert_eq!(named, path);
                assert!(reason.contains("locked by"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    FileDevice::open(&path, Access::Peek).unwrap();
    drop(device);
    let reader = FileDevice::open(&path, Access::ReadOnly).unwrap();
    FileDevice::open(&path, Access::ReadOnly).unwrap();
    assert!(FileDevice::open(&path, Access::ReadWrite).is_err());
    assert!(reader.read_only());
    assert!(reader.write_at(b"x", 0).is_err());
    assert!(reader.discard(0, 4096).is_err());
}

#[test]
fn the_lock_holds_across_processes() {
    let (dir, device) = image(4096);
    let path = dir.path().join("image");
    let try_lock = || std::process::Command::new("flock").arg("-n").arg(&path).arg("true").status();
    let Ok(status) = try_lock() else { return };
    assert!(!status.success());
    drop(device);
    assert!(try_lock().unwrap().success());
}

#[test]
fn what_is_no_device_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let open = |path: &Path| FileDevice::open(path, Access::ReadOnly).unwrap_err();
    assert!(matches!(open(dir.path()), DeviceError::NotADevice { what: "a directory", .. }));
    assert!(matches!(open(Path::new("/dev/null")), DeviceError::NotADevice { .. }));
    let missing = open(&dir.path().join("none"));
    assert!(matches!(missing, DeviceError::NotFound { .. }));
    assert!(missing.to_string().contains("none"));
    let existing = dir.path().join("file");
    std::fs::write(&existing, "x").unwrap();
    let again = FileDevice::create(&existing, 4096).unwrap_err();
    assert!(matches!(again, DeviceError::Exists { .. }));
}

#[test]
fn an_image_too_large_is_not_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("huge");
    let error = FileDevice::create(&path, u64::MAX / 2 + 1).unwrap_err();
    assert!(matches!(error, DeviceError::CannotSize { .. }), "{error}");
    assert!(!path.exists());
}

#[test]
fn links_to_one_file_overlap() {
    let (dir, device) = image(4096);
    let link = dir.path().join("link");
    std::fs::hard_link(device.path(), &link).unwrap();
    let other = FileDevice::open(&link, Access::Peek).unwrap();
    assert!(device.identity().overlaps(other.identity()));
    let third = FileDevice::create(dir.path().join("third"), 4096).unwrap();
    assert!(!device.identity().overlaps(third.identity()));
}

#[test]
fn discard_punches_whole_blocks_only() {
    let (_dir, device) = image(1 << 20);
    device.write_at(&vec![9; 1 << 20], 0).unwrap();
    device.flush().unwrap();
    device.discard(1, (1 << 20) - 2).unwrap();
    assert_eq!(device.path().metadata().unwrap().len(), 1 << 20);
    let mut ends = [0; 1];
    device.read_at(&mut ends, 0).unwrap();
    assert_eq!(ends, [9]);
    device.read_at(&mut ends, (1 << 20) - 1).unwrap();
    assert_eq!(ends, [9]);
    if device.stats().discards == 1 {
        device.read_at(&mut ends, 500_000).unwrap();
        assert_eq!(ends, [0]);
    }
    device.discard(4097, 100).unwrap();
    assert!(device.stats().discards <= 1);
}
