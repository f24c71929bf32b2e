//! Finding blocks: superblock, checkpoint, block map, and what the log has changed since.

use std::collections::HashMap;

use anyhow::{Context, Result, anyhow, bail};
use tandem_device::Device;
use tandem_format::{
    BLOCK, BlockMeta, CHECKPOINTS, Checkpoint, CheckpointRoot, FANOUT, Geometry, IMAP_PER_BLOCK,
    ImapBlock, Kind, Loc, SUPERBLOCK_A, Superblock, Words, open, superblock_b,
};

/// A metadata block: its header and its payload.
pub struct Block {
    /// What the header says.
    pub meta: BlockMeta,
    /// What follows the header.
    pub payload: Vec<u8>,
}

/// A volume's metadata as its device has it.
pub struct Reader<'a> {
    pub(super) device: &'a dyn Device,
    /// The superblock that counts.
    pub superblock: Superblock,
    /// The checkpoint that counts.
    pub checkpoint: Checkpoint,
    pub(super) geometry: Geometry,
    /// Where blocks are that have moved since the checkpoint; none: they are gone.
    pub(super) moved: HashMap<u64, Option<Loc>>,
    /// I-node map entries that have changed since the checkpoint.
    pub(super) homes: HashMap<u64, [u64; 2]>,
}

fn read(device: &dyn Device, at: u64, len: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    device
        .read_at(&mut bytes, at)
        .with_context(|| format!("{}: read {len} bytes at byte {at}", device.name()))?;
    Ok(bytes)
}

/// The superblock at byte `at`.
pub fn superblock_at(device: &dyn Device, at: u64) -> Result<Superblock> {
    Ok(Superblock::decode(&read(device, at, BLOCK)?)?)
}

/// The checkpoint at byte `at`.
pub fn checkpoint_at(device: &dyn Device, at: u64) -> Result<Checkpoint> {
    Ok(Checkpoint::decode(&read(device, at, BLOCK)?)?)
}

/// Where the second superblock may be when the first does not tell, the likeliest first.
pub fn places_of_second(device: &dyn Device) -> Vec<u64> {
    let areas = CHECKPOINTS.map(|at| checkpoint_at(device, at));
    let mut places: Vec<u64> = newest(&areas).map(Checkpoint::superblock_b).into_iter().collect();
    places.push(superblock_b(device.size()));
    places
}

fn second_superblock(device: &dyn Device) -> Option<Superblock> {
    places_of_second(device).into_iter().find_map(|at| {
        superblock_at(device, at).ok().filter(|found| found.geometry().superblock_b() == at)
    })
}

/// The checkpoint that counts.
pub fn newest(areas: &[Result<Checkpoint>]) -> Option<&Checkpoint> {
    areas.iter().filter_map(|area| area.as_ref().ok()).max_by_key(|area| area.order())
}

impl<'a> Reader<'a> {
    /// Reads what is needed to find everything else.
    pub fn open(device: &'a dyn Device) -> Result<Reader<'a>> {
        let superblock = superblock_at(device, SUPERBLOCK_A)
            .or_else(|error| second_superblock(device).ok_or(error))
            .with_context(|| format!("{}: not a Tandem metadata device", device.name()))?;
        let areas = CHECKPOINTS.map(|at| {
            let checkpoint = checkpoint_at(device, at)?;
            if checkpoint.volume != superblock.volume {
                bail!("it is of another volume");
            }
            Ok(checkpoint)
        });
        let checkpoint = *newest(&areas)
            .ok_or_else(|| anyhow!("{}: neither checkpoint is whole", device.name()))?;
        let geometry = superblock.geometry();
        let (moved, homes) = (HashMap::new(), HashMap::new());
        let mut reader = Reader { device, superblock, checkpoint, geometry, moved, homes };
        reader.roll_forward()?;
        Ok(reader)
    }

    /// Reads bytes of the device.
    pub(super) fn bytes(&self, at: u64, len: usize) -> Result<Vec<u8>> {
        read(self.device, at, len)
    }

    /// Reads a block and verifies that it is whole and of this volume.
    pub fn read(&self, loc: Loc) -> Result<Block> {
        let bytes = self.bytes(loc.offset(), loc.bytes() as usize)?;
        let within = || format!("{}: block at byte {}", self.device.name(), loc.offset());
        let (meta, payload) = open(&bytes).with_context(within)?;
        if meta.volume != self.superblock.volume {
            bail!("{}: it is of another volume", within());
        }
        Ok(Block { meta, payload: payload.to_vec() })
    }

    /// Where a block is, if there is one of this id.
    pub fn locate(&self, id: u64) -> Result<Option<Loc>> {
        if let Some(loc) = self.moved.get(&id) {
            return Ok(*loc);
        }
        let index = id / FANOUT as u64;
        let Some(block) = self.table(Kind::Map, index)? else { return Ok(None) };
        let words = Words::decode(&block.payload).with_context(|| format!("map block {index}"))?;
        let loc = words.0.get((id % FANOUT as u64) as usize).copied().map(Loc::from_raw);
        Ok(loc.filter(|loc| !loc.is_none()))
    }

    /// Reads the block with this id, which must be of this kind.
    pub fn block(&self, id: u64, kind: Kind) -> Result<Block> {
        let loc = self.locate(id)?.ok_or_else(|| anyhow!("block {id} does not exist"))?;
        let block = self.read(loc)?;
        if (block.meta.id, block.meta.kind) != (id, kind) {
            let (found, number) = (block.meta.kind, block.meta.id);
            bail!("block {id} should be {kind:?}, but {found:?} {number} is at its place");
        }
        Ok(block)
    }

    /// The i-node map's entry of an i-node; zeros when it is free.
    pub fn home(&self, ino: u64) -> Result<[u64; 2]> {
        if let Some(home) = self.homes.get(&ino) {
            return Ok(*home);
        }
        let index = ino / IMAP_PER_BLOCK as u64;
        let Some(block) = self.table(Kind::Imap, index)? else { return Ok([0; 2]) };
        let table = ImapBlock::decode(&block.payload)
            .with_context(|| format!("i-node map block {index}"))?;
        Ok(table.entries.get((ino % IMAP_PER_BLOCK as u64) as usize).copied().unwrap_or([0; 2]))
    }

    fn root(&self, kind: Kind) -> Option<CheckpointRoot> {
        let number = (kind as usize).checked_sub(Kind::Map as usize)?;
        self.checkpoint.roots.get(number).copied()
    }

    /// Block `index` of one of the IFile's tables, as of the checkpoint.
    fn table(&self, kind: Kind, index: u64) -> Result<Option<Block>> {
        let Some(CheckpointRoot { mut loc, height }) = self.root(kind) else { return Ok(None) };
        let reach = |level: u8| (FANOUT as u64).checked_pow(level.into()).unwrap_or(u64::MAX);
        if index >= reach(height) {
            return Ok(None);
        }
        for level in (1..=height).rev() {
            if loc.is_none() {
                return Ok(None);
            }
            let node = self.read(loc)?;
            if (node.meta.kind, node.meta.level) != (kind, level) {
                bail!("the {kind:?} table has a wrong block at byte {}", loc.offset());
            }
            let slot = (index / reach(level - 1)) % FANOUT as u64;
            let words = Words::decode(&node.payload)
                .with_context(|| format!("{kind:?} node at byte {}", loc.offset()))?;
            loc = Loc::from_raw(words.0.get(slot as usize).copied().unwrap_or(0));
        }
        if loc.is_none() { Ok(None) } else { self.read(loc).map(Some) }
    }
}
