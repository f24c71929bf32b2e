//! Where everything is on a volume that is whole.

use tandem_format::{
    CHECKPOINTS, Checkpoint, GRAIN, Implied, Kind, Loc, Summary, Superblock, Words, open,
};

use super::overlay::Overlay;

/// A partial segment.
pub struct Partial {
    /// Byte of M.
    pub start: u64,
    pub len: usize,
    pub summary_len: usize,
}

/// A metadata block.
pub struct Block {
    /// Byte of M.
    pub offset: u64,
    pub len: usize,
    pub id: u64,
    pub kind: Kind,
    /// Its partial segment, and the byte there where its summary's entry is.
    pub partial: usize,
    pub entry: usize,
    /// The checkpoint leads to it, or roll-forward finds it.
    pub live: bool,
}

/// All of a volume.
pub struct Places {
    pub sb: Superblock,
    pub implied: Implied,
    pub partials: Vec<Partial>,
    /// Those that are in use first.
    pub blocks: Vec<Block>,
    /// How many are in use.
    pub live: usize,
    /// Blocks in use of each kind, and delta blocks.
    pub kinds: Vec<Vec<usize>>,
}

impl Places {
    pub fn new(meta: &Overlay) -> Places {
        let sb = Superblock::decode(&meta.peek(0, 4096)).expect("superblock");
        let cps = CHECKPOINTS.map(|at| Checkpoint::decode(&meta.peek(at, 4096)));
        let cp = cps.into_iter().flatten().max_by_key(Checkpoint::order).expect("checkpoint");
        let (implied, live) = (sb.implied(), 0);
        let (partials, blocks, kinds) = Default::default();
        let mut places = Places { sb, implied, partials, blocks, live, kinds };
        let mut used = Vec::new();
        for (n, root) in cp.roots.iter().enumerate().filter(|(_, root)| !root.loc.is_none()) {
            let map = n == 0;
            table(meta, root.loc, root.height, map, &mut used);
        }
        places.scan(meta, &cp, &used);
        places.blocks.sort_by_key(|block| !block.live);
        places.live = places.blocks.iter().filter(|block| block.live).count();
        for kind in 0..=20 {
            let of = |n: &usize| places.blocks[*n].kind as u8 == kind;
            let all: Vec<usize> = (0..places.live).filter(of).collect();
            if !all.is_empty() {
                places.kinds.push(all);
            }
        }
        places
    }

    fn scan(&mut self, meta: &Overlay, cp: &Checkpoint, used: &[Loc]) {
        let geo = self.sb.geometry();
        for n in 0..geo.segments {
            let (mut at, end) = (geo.segment_offset(n), geo.segment_offset(n + 1));
            while at < end {
                let bytes = meta.peek(at, (end - at) as usize);
                let Ok(summary) = Summary::decode(&bytes) else { break };
                let len = summary.total as usize * GRAIN;
                let partial = self.partials.len();
                let tail =
                    !cp.clean && summary.crash == cp.crash && summary.serial >= cp.next_serial;
                for (n, (grain, entry)) in summary.blocks().enumerate() {
                    let loc = Loc::new(at / GRAIN as u64 + u64::from(grain), entry.grains);
                    self.blocks.push(Block {
                        offset: loc.offset(),
                        len: loc.bytes() as usize,
                        id: entry.id,
                        kind: entry.kind,
                        partial,
                        entry: 96 + 32 * n,
                        live: tail || used.contains(&loc),
                    });
                }
                self.partials.push(Partial { start: at, len, summary_len: summary.encoded_len() });
                at += len as u64;
            }
        }
    }
}

/// Everything below a block of a table; of the block map what it leads to as well.
fn table(meta: &Overlay, loc: Loc, height: u8, map: bool, used: &mut Vec<Loc>) {
    used.push(loc);
    if height == 0 && !map {
        return;
    }
    let bytes = meta.peek(loc.offset(), loc.bytes() as usize);
    let (_, payload) = open(&bytes).expect("block of a table");
    let words = Words::decode(payload).expect("addresses").0;
    for loc in words.into_iter().filter(|&word| word != 0).map(Loc::from_raw) {
        match height {
            0 => used.push(loc),
            _ => table(meta, loc, height - 1, map, used),
        }
    }
}
