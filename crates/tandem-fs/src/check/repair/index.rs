//! All blocks in use: what each says of itself.

use rustc_hash::FxHashSet;
use tandem_device::Device;
use tandem_format::{BlockMeta, ExtentNode, Kind, Leaf, Loc, Superblock, Table};

use super::super::Progress;
use super::super::blocks::{check_address, is_named, open_block};
use super::base::{Base, Source};
use super::report::{RepairKind, Repairs};
use super::scan::{Order, Scanner};
use crate::cache::Key;
use crate::error::Result;

/// Takes a block's id, its address, and its bytes if they can be read.
type Reader<'a> = &'a mut dyn FnMut(u64, Loc, Option<&[u8]>);

/// Bytes read at once.
const PIECE: u64 = 1 << 20;

/// What becomes of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing refers to it: it is given up.
    Unused,
    /// It stays as it is.
    Kept,
    /// What is in it is taken over into new blocks.
    Source,
}

/// A good block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Info {
    pub id: u64,
    pub loc: Loc,
    pub order: Order,
    pub owner: u64,
    /// Of a target or attribute block, its length in bytes; else as in its header.
    pub index: u64,
    /// Of a leaf the next of its chain; of an attribute block its number among them.
    pub next: u64,
    pub kind: Kind,
    /// Of a leaf its depth; else as in its header.
    pub level: u8,
    /// An older version in place of one that is damaged.
    pub stale: bool,
    pub role: Role,
}

/// The good blocks, by id.
#[derive(Default)]
pub(super) struct Index {
    pub blocks: Vec<Info>,
    /// Positions of leaves and extent blocks in `blocks`, by owner.
    owners: Vec<(u64, u32)>,
    /// Blocks that have been looked for in the log.
    sought: FxHashSet<u64>,
}

impl Index {
    /// Reads all blocks. For those that are damaged, an older version is looked for in the log.
    pub fn new(source: &Source<'_>, base: &mut Base, repairs: &mut Repairs) -> Result<Index> {
        let mut index = Index::default();
        let mut bad: Vec<(u64, Loc)> = Vec::new();
        let blocks = std::mem::take(&mut base.blocks);
        base.keep(blocks.iter().map(|(_, loc)| *loc));
        index.blocks.reserve_exact(blocks.len());
        let progress = |done, total| {
            (source.progress)(Progress { phase: "reading all metadata", done, total });
        };
        read_all(base, blocks, &progress, &mut |id, loc, bytes| match bytes
            .and_then(|bytes| info(&base.sb, id, loc, bytes))
        {
            Some(info) => index.blocks.push(info),
            None => bad.push((id, loc)),
        });
        index.sort();
        let wanted: FxHashSet<u64> = bad.iter().map(|(id, _)| *id).collect();
        if !wanted.is_empty() {
            index.restore(source, base, &wanted, repairs)?;
        }
        Ok(index)
    }

    /// Looks in the log for versions of blocks that are not good, or not where they should be.
    /// Returns whether there are any.
    pub fn restore(
        &mut self,
        source: &Source<'_>,
        base: &mut Base,
        wanted: &FxHashSet<u64>,
        repairs: &mut Repairs,
    ) -> Result<bool> {
        let progress = |done, total| {
            (source.progress)(Progress { phase: "looking for lost blocks", done, total });
        };
        let (meta, geo, volume) = (&*base.meta, base.geo, base.sb.volume);
        let scan =
            Scanner { meta, geo, volume, wanted: Some(wanted), progress: &progress }.run()?;
        let mut ids: Vec<u64> = wanted.iter().copied().collect();
        ids.sort_unstable();
        let mut found = Vec::new();
        for id in ids {
            let what = format!("{}: block {id}", base.meta.name());
            match scan.blocks.get(&id) {
                Some(version) => {
                    let detail = format!(
                        "damaged or lost; of the version at byte {} what the i-node map confirms",
                        version.loc.offset()
                    );
                    repairs.add(RepairKind::OlderBlock, what, detail);
                    found.push((id, version.loc));
                }
                None => {
                    let detail = "damaged or lost, and no other version is left";
                    repairs.add(RepairKind::BlockGivenUp, what, detail);
                }
            }
        }
        self.sought.extend(wanted);
        base.keep(found.iter().map(|(_, loc)| *loc));
        let mut blocks = Vec::with_capacity(found.len());
        read_all(base, found, &|_, _| {}, &mut |id, loc, bytes| {
            let info = bytes.and_then(|bytes| info(&base.sb, id, loc, bytes));
            blocks.extend(info.map(|info| Info { stale: true, ..info }));
        });
        let any = !blocks.is_empty();
        self.blocks.append(&mut blocks);
        self.sort();
        Ok(any)
    }

    fn sort(&mut self) {
        self.blocks.sort_unstable_by_key(|info| info.id);
        let owned = |info: &Info| matches!(info.kind, Kind::Leaf | Kind::Table | Kind::Extent);
        let all = self.blocks.iter().zip(0u32..).filter(|(info, _)| owned(info));
        self.owners = all.map(|(info, at)| (info.owner, at)).collect();
        self.owners.sort_unstable();
    }

    /// Whether a block has been looked for in the log.
    pub fn is_sought(&self, id: u64) -> bool {
        self.sought.contains(&id)
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.blocks.binary_search_by_key(&id, |info| info.id).ok()
    }

    /// A block, if it is good.
    pub fn get(&self, id: u64) -> Option<&Info> {
        self.position(id).map(|at| &self.blocks[at])
    }

    /// Says what becomes of a block.
    pub fn set(&mut self, id: u64, role: Role) {
        if let Some(at) = self.position(id) {
            self.blocks[at].role = role;
        }
    }

    /// Positions of the leaves, tables and extent blocks of an owner.
    pub fn of_owner(&self, owner: u64) -> impl Iterator<Item = usize> + '_ {
        let from = self.owners.partition_point(|(o, _)| *o < owner);
        let same = self.owners[from..].iter().take_while(move |(o, _)| *o == owner);
        same.map(|(_, at)| *at as usize)
    }

    /// The blocks of a kind of an owner, the newest first.
    pub fn newest_first(&self, owner: u64, kind: Kind) -> Vec<Info> {
        let all = self.of_owner(owner).map(|at| self.blocks[at]);
        let mut all: Vec<Info> = all.filter(|info| info.kind == kind).collect();
        all.sort_unstable_by_key(|info| std::cmp::Reverse((!info.stale, info.order)));
        all
    }

    /// Owners of leaves or of extent blocks, in order.
    pub fn owners(&self, kind: Kind) -> Vec<u64> {
        let all = self.owners.iter().filter(|(_, at)| self.blocks[*at as usize].kind == kind);
        let mut owners: Vec<u64> = all.map(|(owner, _)| *owner).collect();
        owners.dedup();
        owners
    }

    /// Addresses of the blocks with a role and of a kind for which `take` holds.
    pub fn places(&self, take: impl Fn(&Info) -> bool) -> Vec<(u64, Loc)> {
        self.blocks.iter().filter(|info| take(info)).map(|info| (info.id, info.loc)).collect()
    }
}

/// Reads blocks in the order in which they lie, many at a time; `None` for those that cannot be
/// read.
pub(super) fn read_all(
    base: &Base,
    mut blocks: Vec<(u64, Loc)>,
    progress: &dyn Fn(u64, u64),
    f: Reader<'_>,
) {
    let (meta, total) = (&*base.meta, blocks.len() as u64);
    blocks.sort_unstable_by_key(|(_, loc)| loc.grain());
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < blocks.len() {
        progress(at as u64, total);
        let start = blocks[at].1.offset();
        let end = |(_, loc): &(u64, Loc)| loc.offset() + loc.bytes();
        let fits = blocks[at..]
            .iter()
            .take_while(|b| check_address(&base.geo, b.1).is_ok() && end(b) <= start + PIECE);
        let n = fits.count();
        let stop = blocks[at..at + n].iter().map(end).max().unwrap_or(start);
        bytes.resize((stop - start) as usize, 0);
        let all = n > 0 && meta.read_at(&mut bytes, start).is_ok();
        for &(id, loc) in &blocks[at..at + n.max(1)] {
            if all {
                let from = (loc.offset() - start) as usize;
                f(id, loc, bytes.get(from..from + loc.bytes() as usize));
            } else {
                f(id, loc, alone(meta, base, loc).as_deref());
            }
        }
        at += n.max(1);
    }
}

fn alone(meta: &dyn Device, base: &Base, loc: Loc) -> Option<Vec<u8>> {
    check_address(&base.geo, loc).ok()?;
    let mut bytes = vec![0; loc.bytes() as usize];
    meta.read_at(&mut bytes, loc.offset()).ok()?;
    Some(bytes)
}

/// What a block says of itself, if it is good in itself.
fn info(sb: &Superblock, id: u64, loc: Loc, bytes: &[u8]) -> Option<Info> {
    let (head, payload) = open_block(sb.volume, loc, bytes).ok()?;
    if !is_named(&head, Key::block(id)) {
        return None;
    }
    let BlockMeta { kind, level, owner, index, .. } = head;
    let order = (head.crash, head.serial);
    let role = Role::Unused;
    let info = Info { id, loc, order, owner, index, next: 0, kind, level, stale: false, role };
    match kind {
        Kind::Leaf => {
            let leaf = Leaf::decode(payload, &head, &sb.implied()).ok()?;
            Some(Info { next: leaf.next(), level: leaf.depth(), ..info })
        }
        Kind::Table => {
            let table = Table::decode(payload).ok()?;
            (table.count() == head.count).then_some(info)
        }
        Kind::Extent => {
            let node = ExtentNode::decode(payload, level).ok()?;
            (node.count() == head.count).then_some(info)
        }
        Kind::Inode => {
            let leaf = Leaf::decode(payload, &head, &sb.implied()).ok()?;
            let formed = (owner, index, leaf.next(), leaf.depth()) == (0, 0, 0, 0);
            formed.then_some(info)
        }
        Kind::Symlink => Some(Info { index: payload.len() as u64, ..info }),
        Kind::Xattr => Some(Info { index: payload.len() as u64, next: index, ..info }),
        _ => None,
    }
}
