//! Structures as lines of text.

use anyhow::Result;
use tandem_format::{
    Body, Checkpoint, Content, DeltaRecord, Extent, ExtentNode, GroupEntry, ImapBlock, Implied,
    Kind, Leaf, Loc, Record, SegEntry, Summary, SummaryEntry, SummaryFlags, Superblock, Table,
    Time, Words, Xattrs,
};

use super::reader::Block;
use super::tree::entry_ino;
use crate::output::Listing;
use crate::units::{bytes, grouped, timestamp};

fn time(time: Time) -> String {
    timestamp(time.secs, time.nanos)
}

fn sized(count: u64) -> String {
    format!("{} ({})", grouped(count), bytes(count))
}

/// Bytes as text, those that are none escaped.
fn name(name: &[u8]) -> String {
    name.escape_ascii().to_string()
}

/// A superblock, or what is wrong with it.
pub fn superblock(title: &str, at: u64, superblock: &Result<Superblock>, out: &mut Listing) {
    out.heading(format!("{title} (byte {at})"));
    let superblock = match superblock {
        Ok(superblock) => superblock,
        Err(error) => {
            out.row("damaged", format!("{error:#}"));
            return;
        }
    };
    let features = |bits: u64| if bits == 0 { "none".to_string() } else { format!("{bits:#x}") };
    out.row("format version", superblock.version.to_string())
        .row("uuid", uuid::Uuid::from_bytes(superblock.uuid).to_string())
        .row("volume", format!("{:016x}", superblock.volume))
        .row("label", &superblock.label)
        .row("created", time(superblock.created))
        .row("compatible features", features(superblock.compat))
        .row("read-only compatible features", features(superblock.ro_compat))
        .row("incompatible features", features(superblock.incompat))
        .row("metadata size", sized(superblock.meta_size))
        .row("segment size", sized(superblock.segment_size.into()))
        .row("segments", grouped(superblock.segments))
        .row("data size", sized(superblock.data_size))
        .row(
            "data offset",
            match superblock.data_offset {
                0 => "0 (on a device of its own)".to_string(),
                offset => sized(offset),
            },
        )
        .row("data block size", sized(superblock.block_size.into()))
        .row("data blocks", grouped(superblock.blocks))
        .row("blocks of a group", grouped(superblock.group_blocks.into()))
        .row("groups", grouped(superblock.groups.into()))
        .row("name hash bits", superblock.hash_bits.to_string());
}

/// A checkpoint, or what is wrong with it.
pub fn checkpoint(
    number: usize,
    at: u64,
    area: &Result<Checkpoint>,
    counts: bool,
    out: &mut Listing,
) {
    let state = if counts { ", the one that counts" } else { "" };
    out.heading(format!("checkpoint area {number} (byte {at}){state}"));
    let checkpoint = match area {
        Ok(checkpoint) => checkpoint,
        Err(error) => {
            out.row("damaged or never written", format!("{error:#}"));
            return;
        }
    };
    out.row("volume", format!("{:016x}", checkpoint.volume))
        .row("crash count", checkpoint.crash.to_string())
        .row("serial", grouped(checkpoint.serial))
        .row("commit", grouped(checkpoint.commit))
        .row("clean", if checkpoint.clean { "yes" } else { "no" })
        .row("time", time(checkpoint.time))
        .row(
            "log goes on at",
            format!("segment {}, byte {}", checkpoint.segment, checkpoint.offset),
        )
        .row("with serial", grouped(checkpoint.next_serial))
        .row("segment after that", checkpoint.next_segment.to_string());
    for (name, root) in
        ["map", "i-node map", "segments", "groups", "free space"].into_iter().zip(checkpoint.roots)
    {
        out.row(
            format!("root of the {name}"),
            format!("{}, height {}", location(root.loc), root.height),
        );
    }
    out.row("next i-node number", grouped(checkpoint.next_ino))
        .row("next block id", grouped(checkpoint.next_id))
        .row("i-nodes", grouped(checkpoint.inodes))
        .row("block ids in use", grouped(checkpoint.mapped))
        .row("live bytes in the log", sized(checkpoint.live_bytes))
        .row("free data blocks", grouped(checkpoint.free_blocks))
        .row("metadata size", grouped(checkpoint.meta_size));
}

fn location(loc: Loc) -> String {
    if loc.is_none() {
        return "none".to_string();
    }
    format!("byte {}, {} long", loc.offset(), loc.bytes())
}

/// A partial segment's summary.
pub fn summary(summary: &Summary, segment: u64, offset: u64, out: &mut Listing) {
    let mut flags = Vec::new();
    for (flag, word) in [
        (SummaryFlags::CONTINUES, "continues"),
        (SummaryFlags::CHECKPOINT, "checkpoint"),
        (SummaryFlags::CLEANER, "cleaner"),
    ] {
        if summary.flags.contains(flag) {
            flags.push(word);
        }
    }
    let nanos = summary.time.rem_euclid(1_000_000_000);
    out.heading(format!("partial segment at byte {offset} of segment {segment}"))
        .row("serial", grouped(summary.serial))
        .row("commit", grouped(summary.commit))
        .row("crash count", summary.crash.to_string())
        .row("time", timestamp(summary.time.div_euclid(1_000_000_000), nanos as u32))
        .row("flags", flags.join(", "))
        .row("length", sized(u64::from(summary.total) * tandem_format::GRAIN as u64))
        .row("next segment", summary.next_segment.to_string())
        .row("blocks", summary.entries.len().to_string());
}

/// A block in a partial segment.
pub fn summary_entry(entry: &SummaryEntry, loc: Loc, live: &str, out: &mut Listing) {
    let (kind, level, id) = (entry.kind, entry.level, entry.id);
    let gap = if live.is_empty() { "" } else { ", " };
    out.row(
        format!("{kind:?} {id}"),
        format!("{}, level {level}, owner {}{gap}{live}", location(loc), entry.owner),
    );
}

/// What a commit changed in the IFile.
pub fn delta(payload: &[u8], out: &mut Listing) {
    for record in DeltaRecord::read(payload) {
        match record {
            Ok(record) => out.row("", format!("{record:?}")),
            Err(error) => out.row("", format!("damaged: {error}")),
        };
    }
}

/// An i-node's record.
pub fn record(record: &Record, home: &str, out: &mut Listing) {
    out.heading(format!("i-node {}", record.ino))
        .row("home", home)
        .row("generation", record.generation.to_string())
        .row("mode", format!("{:06o} ({})", record.mode, kind_of_mode(record.mode)))
        .row("links", grouped(record.nlink.into()))
        .row("owner", format!("{}:{}", record.uid, record.gid))
        .row("size", sized(record.size))
        .row("accessed", time(record.atime))
        .row("modified", time(record.mtime))
        .row("changed", time(record.ctime))
        .row("created", time(record.btime));
    match &record.content {
        Content::None => {
            out.row("contents", "none");
        }
        Content::Extents(extents) => {
            out.row("contents", format!("{} extents", extents.len()));
            extents.iter().for_each(|one| extent(one, out));
        }
        Content::Tree { root, height, blocks, extents } => {
            out.row("contents", format!(
                "{extents} extents, {blocks} blocks, in a tree of height {height} at block {root}"
            ));
        }
        Content::Dir(dir) => {
            let root = match (dir.root, dir.root & !(1 << 63)) {
                (0, _) => "no block".to_string(),
                (raw, id) if raw == id => format!("leaf {id}"),
                (_, id) => format!("table {id}"),
            };
            out.row(
                "contents",
                format!(
                    "directory: parent {}, {} entries, {} directories among them, group {}, {root}",
                    dir.parent, dir.entries, dir.subdirs, dir.group
                ),
            );
        }
        Content::Symlink(target) => {
            out.row("target", name(target));
        }
        Content::SymlinkBlock(id) => {
            out.row("target", format!("in block {id}"));
        }
        Content::Device(number) => {
            out.row("device number", format!("{number:#x}"));
        }
    }
    match &record.xattrs {
        Xattrs::None => out.row("attributes", "none"),
        Xattrs::Inline(all) => out.row("attributes", format!("{} bytes in the record", all.len())),
        Xattrs::Blocks { len, ids } => {
            out.row("attributes", format!("{len} bytes in blocks {ids:?}"))
        }
    };
}

fn kind_of_mode(mode: u32) -> &'static str {
    match mode >> 12 & 0xf {
        1 => "fifo",
        2 => "character device",
        4 => "directory",
        6 => "block device",
        8 => "regular file",
        10 => "symbolic link",
        12 => "socket",
        _ => "unknown",
    }
}

/// One extent of a file.
pub fn extent(extent: &Extent, out: &mut Listing) {
    let state = if extent.unwritten { ", unwritten" } else { "" };
    let end = extent.logical.saturating_add(extent.len.into());
    out.row(
        format!("blocks {}..{end}", extent.logical),
        format!("at data block {}, {} long{state}", extent.start, extent.len),
    );
}

/// The entries of a directory leaf, or the records of an i-node block.
pub fn leaf(id: u64, leaf: &Leaf, out: &mut Listing) {
    let chained =
        if leaf.next() == 0 { String::new() } else { format!(", then leaf {}", leaf.next()) };
    out.heading(format!(
        "leaf {id}: prefix {:012x}, depth {}, {} entries{chained}",
        leaf.prefix(),
        leaf.depth(),
        leaf.count()
    ));
    for slot in 0..leaf.count() as usize {
        let entry = leaf.entry(slot);
        let kind = match entry.kind {
            1 => "file",
            2 => "directory",
            3 => "symlink",
            4 => "character device",
            5 => "block device",
            6 => "fifo",
            7 => "socket",
            _ => "record",
        };
        let ino = entry_ino(&entry).map_or("?".to_string(), |ino| ino.to_string());
        let body = match entry.body {
            Body::Embedded(record) => format!("embedded, {} bytes", record.len()),
            Body::Link(_) => "elsewhere".to_string(),
        };
        out.row(
            format!("{:016x}", entry.key),
            format!("{kind} {ino} ({body})  {}", name(entry.name)),
        );
    }
}

/// A metadata block of any kind.
pub fn block(block: &Block, loc: Loc, implied: &Implied, out: &mut Listing) {
    let meta = &block.meta;
    out.heading(format!("block {} ({:?})", meta.id, meta.kind))
        .row("place", location(loc))
        .row("owner", meta.owner.to_string())
        .row("level", meta.level.to_string())
        .row("index", format!("{:#x}", meta.index))
        .row("entries", meta.count.to_string())
        .row("crash count", meta.crash.to_string())
        .row("serial", grouped(meta.serial))
        .row("payload", format!("{} bytes", block.payload.len()));
    if let Err(error) = payload(block, implied, out) {
        out.row("damaged", format!("{error:#}"));
    }
}

fn payload(block: &Block, implied: &Implied, out: &mut Listing) -> Result<()> {
    let (meta, bytes) = (&block.meta, &block.payload[..]);
    match meta.kind {
        Kind::Leaf | Kind::Inode => leaf(meta.id, &Leaf::decode(bytes, meta, implied)?, out),
        Kind::Table => {
            let table = Table::decode(bytes)?;
            out.row("depth", table.depth.to_string());
            for (slot, &id) in table.entries.iter().enumerate() {
                let kind = if id >> 63 == 1 { "table" } else { "leaf" };
                out.row(format!("slot {slot}"), format!("{kind} {}", id & !(1 << 63)));
            }
        }
        Kind::Extent => {
            let node = ExtentNode::decode(bytes, meta.level)?;
            node.extents.iter().for_each(|one| extent(one, out));
            for (first, child) in node.children {
                out.row(format!("from block {first}"), format!("node {child}"));
            }
        }
        Kind::Symlink => drop(out.row("target", name(bytes))),
        Kind::Xattr => drop(out.row("bytes", name(bytes))),
        Kind::Delta => delta(bytes, out),
        Kind::Imap if meta.level == 0 => {
            for (slot, [w0, w1]) in ImapBlock::decode(bytes)?.entries.into_iter().enumerate() {
                out.row(format!("slot {slot}"), format!("{w0} {w1:#018x}"));
            }
        }
        Kind::Seg if meta.level == 0 => {
            for (slot, entry) in SegEntry::decode_all(bytes)?.into_iter().enumerate() {
                out.row(format!("slot {slot}"), format!("{entry:?}"));
            }
        }
        Kind::Group if meta.level == 0 => {
            for (slot, entry) in GroupEntry::decode_all(bytes)?.into_iter().enumerate() {
                out.row(format!("slot {slot}"), format!("{entry:?}"));
            }
        }
        Kind::Free if meta.level == 0 => drop(out.row("free space", "bytes of a list or a bitmap")),
        Kind::Map | Kind::Imap | Kind::Seg | Kind::Group | Kind::Free => {
            for (slot, word) in Words::decode(bytes)?.0.into_iter().enumerate() {
                out.row(format!("slot {slot}"), location(Loc::from_raw(word)));
            }
        }
    }
    Ok(())
}
