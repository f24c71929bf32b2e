//! The marks by which formats are known (from their kernel sources and libblkid's tables).

use std::io;

use super::{Signature, View};

/// Bytes at a fixed place that tell a format.
pub(super) struct Mark {
    pub(super) name: &'static str,
    pub(super) offset: u64,
    pub(super) magic: &'static [u8],
}

const fn mark(name: &'static str, offset: u64, magic: &'static [u8]) -> Mark {
    Mark { name, offset, magic }
}

pub(super) const MARKS: &[Mark] = &[
    mark("Tandem metadata", 0, b"TandemFS"),
    mark("Tandem metadata", 4096, b"TandemCP"),
    mark("Tandem metadata", 8192, b"TandemCP"),
    mark("Tandem data", 0, b"TandemDa"),
    mark("XFS", 0, b"XFSB"),
    mark("btrfs", 0x10040, b"_BHRfS_M"),
    mark("bcachefs or bcache", 4096 + 24, b"\xc6\x85\x73\xf6"),
    mark("F2FS", 1024, b"\x10\x20\xf5\xf2"),
    mark("NILFS2", 1024 + 6, b"\x34\x34"),
    mark("ReiserFS", 65536 + 52, b"ReIsEr"),
    mark("ReiserFS", 8192 + 52, b"ReIsEr"),
    mark("Reiser4", 65536, b"ReIsEr4"),
    mark("JFS", 32768, b"JFS1"),
    mark("EROFS", 1024, b"\xe2\xe1\xf5\xe0"),
    mark("SquashFS", 0, b"hsqs"),
    mark("SquashFS", 0, b"sqsh"),
    mark("cramfs", 0, b"\x45\x3d\xcd\x28"),
    mark("GFS2", 65536, b"\x01\x16\x19\x70"),
    mark("OCFS2", 8192, b"OCFSV2"),
    mark("HFS+", 1024, b"H+\0\x04"),
    mark("HFS+", 1024, b"HX\0\x05"),
    mark("APFS", 32, b"NXSB"),
    mark("UFS", 65536 + 1372, b"\x19\x01\x54\x19"),
    mark("exFAT", 3, b"EXFAT   "),
    mark("NTFS", 3, b"NTFS    "),
    mark("BitLocker", 3, b"-FVE-FS-"),
    mark("ISO 9660", 32769, b"CD001"),
    mark("UDF", 32769 + 2048, b"NSR0"),
    mark("UDF", 32769 + 4096, b"NSR0"),
    mark("VMFS", 0x100000, b"\x0d\xd0\x01\xc0"),
    mark("LUKS", 0, b"LUKS\xba\xbe"),
    mark("Linux RAID member", 0, b"\xfc\x4e\x2b\xa9"),
    mark("Linux RAID member", 4096, b"\xfc\x4e\x2b\xa9"),
    mark("DRBD", 0, b"\x83\x74\x02\x6b"),
    mark("GPT partition table", 512, b"EFI PART"),
    mark("GPT partition table", 4096, b"EFI PART"),
    mark("gzip data", 0, b"\x1f\x8b\x08"),
    mark("zstd data", 0, b"\x28\xb5\x2f\xfd"),
    mark("xz data", 0, b"\xfd7zXZ\0"),
    mark("bzip2 data", 0, b"BZh"),
    mark("lz4 data", 0, b"\x04\x22\x4d\x18"),
    mark("lzop data", 0, b"\x89LZO"),
    mark("a zip archive", 0, b"PK\x03\x04"),
    mark("a 7-Zip archive", 0, b"7z\xbc\xaf\x27\x1c"),
    mark("a tar archive", 257, b"ustar"),
    mark("a cpio archive", 0, b"07070"),
    mark("an SQLite database", 0, b"SQLite format 3\0"),
    mark("a qcow2 disk image", 0, b"QFI\xfb"),
    mark("a VMDK disk image", 0, b"KDMV"),
    mark("a VHDX disk image", 0, b"vhdxfile"),
    mark("a VDI disk image", 64, b"\x7f\x10\xda\xbe"),
    mark("an ELF program", 0, b"\x7fELF"),
    mark("a PDF document", 0, b"%PDF-"),
    mark("a PNG picture", 0, b"\x89PNG\r\n"),
];

type Look = fn(&View<'_>) -> io::Result<Option<Signature>>;

/// Formats that take more than one mark to tell.
pub(super) const LOOKS: &[Look] =
    &[ext, swap, lvm, raid_at_the_end, zfs, fat_or_partitions, minix, gpt_backup];

fn found(name: &'static str, offset: u64) -> io::Result<Option<Signature>> {
    Ok(Some(Signature { name, offset }))
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

fn ext(view: &View<'_>) -> io::Result<Option<Signature>> {
    const MAGIC: u64 = 1024 + 56;
    const HAS_JOURNAL: u32 = 4;
    /// Features that ext3 does not have: extents, 64-bit, flexible groups, …
    const EXT4_INCOMPAT: u32 = 0x40 | 0x80 | 0x100 | 0x200 | 0x2000 | 0x4000 | 0x8000 | 0x10000;
    const EXT4_RO_COMPAT: u32 = 0x8 | 0x10 | 0x20 | 0x40 | 0x200 | 0x400;
    let Some(sb) = view.bytes::<1024>(1024)? else { return Ok(None) };
    if sb[56..58] != [0x53, 0xef] {
        return Ok(None);
    }
    let (compat, incompat, ro_compat) = (le32(&sb, 92), le32(&sb, 96), le32(&sb, 100));
    let name = if incompat & EXT4_INCOMPAT != 0 || ro_compat & EXT4_RO_COMPAT != 0 {
        "ext4"
    } else if compat & HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    };
    found(name, MAGIC)
}

fn swap(view: &View<'_>) -> io::Result<Option<Signature>> {
    for page in [4096, 8192, 16384, 65536] {
        for magic in [b"SWAPSPACE2", b"SWAP-SPACE", b"S1SUSPEND\0", b"S2SUSPEND\0"] {
            if view.has(page - 10, magic)? {
                return found("swap space", page - 10);
            }
        }
    }
    Ok(None)
}

fn lvm(view: &View<'_>) -> io::Result<Option<Signature>> {
    for at in [0, 512, 1024, 1536] {
        if view.has(at, b"LABELONE")? && view.has(at + 24, b"LVM2 001")? {
            return found("LVM physical volume", at);
        }
    }
    Ok(None)
}

/// Formats 0.90 and 1.0 keep their superblock at the end.
fn raid_at_the_end(view: &View<'_>) -> io::Result<Option<Signature>> {
    const MAGIC: &[u8] = b"\xfc\x4e\x2b\xa9";
    let size = view.size();
    let old = (size & !0xffff).checked_sub(0x10000);
    let new = size.checked_sub(0x2000).map(|at| at & !0xfff);
    for at in [old, new].into_iter().flatten() {
        if at >= 0x10000 && view.has(at, MAGIC)? {
            return found("Linux RAID member", at);
        }
    }
    Ok(None)
}

/// The first label's ring of uberblocks begins at 128 KiB.
fn zfs(view: &View<'_>) -> io::Result<Option<Signature>> {
    let start = 128u64 << 10;
    for at in (start..2 * start).step_by(1024) {
        match view.bytes::<8>(at)? {
            Some([0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0] | [0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c]) => {
                return found("ZFS", at);
            }
            Some(_) => {}
            None => break,
        }
    }
    Ok(None)
}

/// Both a FAT boot sector and a partition table end in the same two bytes.
fn fat_or_partitions(view: &View<'_>) -> io::Result<Option<Signature>> {
    let Some(sector) = view.bytes::<512>(0)? else { return Ok(None) };
    if sector[510..] != [0x55, 0xaa] {
        return Ok(None);
    }
    if &sector[3..11] == b"NTFS    " || &sector[3..11] == b"EXFAT   " {
        return Ok(None);
    }
    if &sector[82..90] == b"FAT32   " {
        return found("FAT", 82);
    }
    if &sector[54..57] == b"FAT" {
        return found("FAT", 54);
    }
    let table = &sector[446..510];
    let entries = || table.chunks_exact(16);
    let plausible = entries().all(|entry| entry[0] & 0x7f == 0);
    let any = entries().any(|entry| entry[4] != 0 && le32(entry, 12) != 0);
    if plausible && any { found("MBR partition table", 510) } else { found("boot sector", 510) }
}

fn minix(view: &View<'_>) -> io::Result<Option<Signature>> {
    let Some([state, zero]) = view.bytes::<2>(1024 + 18)? else { return Ok(None) };
    let known =
        |pair: Option<[u8; 2]>| matches!(pair, Some([0x7f | 0x8f, 0x13] | [0x68 | 0x78, 0x24]));
    if known(view.bytes::<2>(1024 + 16)?) && state <= 3 && zero == 0 {
        return found("Minix", 1024 + 16);
    }
    if view.bytes::<2>(1024 + 24)? == Some([0x5a, 0x4d]) {
        return found("Minix", 1024 + 24);
    }
    Ok(None)
}

fn gpt_backup(view: &View<'_>) -> io::Result<Option<Signature>> {
    for sector in [512, 4096] {
        let Some(at) = view.size().checked_sub(sector) else { continue };
        if at >= 34 * 512 && view.has(at, b"EFI PART")? {
            return found("GPT partition table", at);
        }
    }
    Ok(None)
}
