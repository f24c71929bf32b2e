//! The table of file systems.

use super::{Peer, Tool};

const EXT: Tool = Tool { program: "mke2fs", package: "e2fsprogs" };
const NONE: Peer = Peer {
    name: "",
    title: "",
    kernel: "",
    modules: &[],
    tools: &[],
    daemons: &[],
    external_journal: false,
    in_guest: true,
    uncharged: false,
    absent: None,
};

/// All of them, those that cannot be had among them.
pub const ALL: &[Peer] = &[
    Peer {
        name: "tandem",
        title: "Tandem",
        kernel: "fuse",
        modules: &["fuse"],
        daemons: &["tandem", "exe"],
        external_journal: true,
        ..NONE
    },
    Peer { name: "ext2", title: "Ext2", kernel: "ext2", tools: &[EXT], ..NONE },
    Peer {
        name: "ext3",
        title: "Ext3",
        kernel: "ext3",
        tools: &[EXT],
        external_journal: true,
        ..NONE
    },
    Peer {
        name: "ext4",
        title: "Ext4",
        kernel: "ext4",
        tools: &[EXT],
        external_journal: true,
        ..NONE
    },
    Peer {
        name: "xfs",
        title: "XFS",
        kernel: "xfs",
        tools: &[Tool { program: "mkfs.xfs", package: "xfsprogs" }],
        external_journal: true,
        uncharged: true,
        ..NONE
    },
    Peer {
        name: "btrfs",
        title: "Btrfs",
        kernel: "btrfs",
        tools: &[Tool { program: "mkfs.btrfs", package: "btrfs-progs" }],
        uncharged: true,
        ..NONE
    },
    Peer {
        name: "reiserfs",
        title: "ReiserFS",
        kernel: "reiserfs",
        tools: &[Tool { program: "mkreiserfs", package: "reiserfsprogs" }],
        external_journal: true,
        ..NONE
    },
    Peer {
        name: "jfs",
        title: "JFS",
        kernel: "jfs",
        tools: &[Tool { program: "mkfs.jfs", package: "jfsutils" }],
        external_journal: true,
        ..NONE
    },
    Peer {
        name: "fat32",
        title: "FAT32",
        kernel: "vfat",
        modules: &["nls_cp437", "nls_ascii", "nls_iso8859-1", "nls_utf8", "vfat"],
        tools: &[Tool { program: "mkfs.vfat", package: "dosfstools" }],
        ..NONE
    },
    Peer {
        name: "f2fs",
        title: "F2FS",
        kernel: "f2fs",
        modules: &["crc32_generic", "f2fs"],
        tools: &[Tool { program: "mkfs.f2fs", package: "f2fs-tools" }],
        ..NONE
    },
    Peer {
        name: "nilfs2",
        title: "NILFS2",
        kernel: "nilfs2",
        modules: &["nilfs2"],
        tools: &[Tool { program: "mkfs.nilfs2", package: "nilfs-tools" }],
        daemons: &["nilfs_cleanerd"],
        ..NONE
    },
    Peer {
        name: "ntfs-3g",
        title: "NTFS-3G",
        kernel: "fuse",
        modules: &["fuse"],
        tools: &[
            Tool { program: "mkntfs", package: "ntfs-3g" },
            Tool { program: "ntfs-3g", package: "ntfs-3g" },
        ],
        daemons: &["ntfs-3g"],
        ..NONE
    },
    Peer {
        name: "fuse2fs",
        title: "Ext4 (fuse2fs)",
        kernel: "fuse",
        modules: &["fuse"],
        tools: &[EXT, Tool { program: "fuse2fs", package: "fuse2fs" }],
        daemons: &["fuse2fs"],
        ..NONE
    },
    Peer {
        name: "reiser4",
        title: "Reiser4",
        in_guest: false,
        absent: Some("it is a patch to the kernel that no distribution applies"),
        ..NONE
    },
    Peer {
        name: "spadfs",
        title: "SpadFS",
        in_guest: false,
        absent: Some("its module and the Spad VFS, a kernel of its own, are in no distribution"),
        ..NONE
    },
];
