use super::*;
use crate::MemoryDevice;

fn names(marks: &[(u64, &[u8])]) -> Vec<&'static str> {
    let device = MemoryDevice::new("m", 4 << 20);
    for (at, bytes) in marks {
        device.write_at(bytes, *at).unwrap();
    }
    recognize(&device).unwrap().into_iter().map(|found| found.name).collect()
}

#[test]
fn an_empty_device_has_nothing() {
    assert_eq!(names(&[]), [""; 0]);
    assert!(recognize(&MemoryDevice::new("m", 0)).unwrap().is_empty());
    assert!(recognize(&MemoryDevice::new("m", 700)).unwrap().is_empty());
}

#[test]
fn every_mark_is_recognized() {
    for mark in table::MARKS {
        let found = names(&[(mark.offset, mark.magic)]);
        assert!(found.contains(&mark.name), "{} not in {found:?}", mark.name);
    }
}

#[test]
fn formats_with_more_than_one_mark() {
    assert_eq!(names(&[(1024 + 56, b"\x53\xef")]), ["ext2"]);
    assert_eq!(names(&[(1024 + 56, b"\x53\xef"), (1024 + 92, b"\x04")]), ["ext3"]);
    assert_eq!(
        names(&[(1024 + 56, b"\x53\xef"), (1024 + 92, b"\x04"), (1024 + 96, b"\x40")]),
        ["ext4"]
    );
    assert_eq!(names(&[(4086, b"SWAPSPACE2")]), ["swap space"]);
    assert_eq!(names(&[(512, b"LABELONE"), (536, b"LVM2 001")]), ["LVM physical volume"]);
    assert_eq!(names(&[(512, b"LABELONE")]), [""; 0]);
    assert_eq!(names(&[((4 << 20) - 0x10000, b"\xfc\x4e\x2b\xa9")]), ["Linux RAID member"]);
    assert_eq!(names(&[(130 << 10, b"\x0c\xb1\xba\0\0\0\0\0")]), ["ZFS"]);
    assert_eq!(names(&[(82, b"FAT32   "), (510, b"\x55\xaa")]), ["FAT"]);
    assert_eq!(names(&[(510, b"\x55\xaa")]), ["boot sector"]);
    assert_eq!(
        names(&[(450, b"\x83"), (458, b"\x01"), (510, b"\x55\xaa")]),
        ["MBR partition table"]
    );
    assert_eq!(names(&[(3, b"NTFS    "), (510, b"\x55\xaa")]), ["NTFS"]);
    assert_eq!(names(&[((4 << 20) - 512, b"EFI PART")]), ["GPT partition table"]);
    assert_eq!(names(&[(1040, b"\x8f\x13\x01\0")]), ["Minix"]);
}

#[test]
fn a_document_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.txt");
    std::fs::write(&path, "things to do").unwrap();
    assert_eq!(probe(&path).unwrap()[0].name, "data of an unknown kind");
    std::fs::write(&path, vec![0; 1 << 20]).unwrap();
    assert!(probe(&path).unwrap().is_empty());
}

#[test]
fn real_file_systems_are_recognized() {
    let dir = tempfile::tempdir().unwrap();
    let tools: [(&str, &[&str], &str); 4] = [
        ("mkfs.ext4", &["-q", "-F"], "ext4"),
        ("mkfs.ext2", &["-q", "-F"], "ext2"),
        ("mkfs.xfs", &["-q", "-f"], "XFS"),
        ("mkfs.btrfs", &["-q", "-f"], "btrfs"),
    ];
    for (tool, args, name) in tools {
        let path = dir.path().join(tool);
        std::fs::File::create(&path).unwrap().set_len(400 << 20).unwrap();
        match std::process::Command::new(tool).args(args).arg(&path).output() {
            Ok(output) if output.status.success() => {}
            _ => continue,
        }
        let found = probe(&path).unwrap();
        assert!(found.iter().any(|found| found.name == name), "{tool}: {found:?}");
    }
}
