//! Roll-forward (BSD-LFS's rules with every byte under a checksum): from the checkpoint on, every
//! partial segment with the right volume, crash count and serial; whole commits only
//! (invariants 3 and 9).

use tandem_device::Device;
use tandem_format::{
    BLOCK, COUNT_MAX, Checkpoint, DeltaRecord, Geometry, ID_LIMIT, INO_LIMIT, Kind, Loc, Summary,
    SummaryFlags, open,
};

use crate::cache::Key;
use crate::error::{Error, Res, Result, corrupt};
use crate::planted::{Planted, planted};
use crate::space::Run;
use crate::state::State;
use crate::volume::Core;

/// Where the log goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recovered {
    pub segment: u64,
    pub offset: u32,
    pub serial: u64,
    pub next_segment: u64,
    /// Commits found after the checkpoint.
    pub commits: u64,
}

struct Found {
    summary: Summary,
    payload: Vec<u8>,
    /// Grain address of the partial segment.
    start: u64,
    segment: u64,
}

/// Reads the partial segment at a place of the log, if the expected one is there.
fn read_partial(
    meta: &dyn Device,
    geo: &Geometry,
    cp: &Checkpoint,
    segment: u64,
    offset: u32,
    serial: u64,
) -> Result<Option<Found>> {
    let found = read_any(meta, geo, cp, segment, offset)?;
    Ok(found.filter(|part| part.summary.serial == serial))
}

/// Reads the partial segment at a place, if there is one of the volume and of the checkpoint's crash
/// count.
fn read_any(
    meta: &dyn Device,
    geo: &Geometry,
    cp: &Checkpoint,
    segment: u64,
    offset: u32,
) -> Result<Option<Found>> {
    let room = geo.segment_size.saturating_sub(offset);
    if segment >= geo.segments || room < BLOCK as u32 {
        return Ok(None);
    }
    let start = geo.segment_offset(segment) + u64::from(offset);
    let read = |bytes: &mut [u8]| {
        meta.read_at(bytes, start).map_err(|source| Error::Io {
            device: meta.name().into(),
            op: "read",
            offset: start,
            len: bytes.len() as u64,
            source,
        })
    };
    let mut head = vec![0; 4096];
    read(&mut head)?;
    let Ok((_, total)) = Summary::peek(&head) else { return Ok(None) };
    let bytes = total as usize * tandem_format::GRAIN;
    if bytes > room as usize || bytes == 0 {
        return Ok(None);
    }
    let mut whole = vec![0; bytes];
    read(&mut whole)?;
    let Ok(summary) = Summary::decode(&whole) else { return Ok(None) };
    if summary.volume != cp.volume || summary.crash != cp.crash {
        return Ok(None);
    }
    let payload = whole.split_off(summary.encoded_len().min(whole.len()));
    if !summary.verify_payload(&payload) && !planted(Planted::TornAccepted) {
        return Ok(None);
    }
    Ok(Some(Found { summary, payload, start: start / tandem_format::GRAIN as u64, segment }))
}

/// Rolls the log forward into the state in memory. Writes nothing.
pub(crate) fn recover(core: &Core, cp: &Checkpoint) -> Result<Recovered> {
    let mut at = Recovered {
        segment: cp.segment,
        offset: cp.offset,
        serial: cp.next_serial,
        next_segment: cp.next_segment,
        commits: 0,
    };
    // Behind a clean checkpoint there is nothing: what lies there is older.
    if cp.clean {
        return Ok(at);
    }
    let mut scan = at;
    let mut pending: Vec<Found> = Vec::new();
    loop {
        let mut found =
            read_partial(&*core.meta, &core.geo, cp, scan.segment, scan.offset, scan.serial)?;
        if found.is_none() {
            found = read_partial(&*core.meta, &core.geo, cp, scan.next_segment, 0, scan.serial)?;
            scan.offset = 0;
        }
        let Some(part) = found else { break };
        scan.segment = part.segment;
        scan.offset += part.summary.total * tandem_format::GRAIN as u32;
        scan.serial += 1;
        scan.next_segment = part.summary.next_segment;
        let flags = part.summary.flags;
        if flags.contains(SummaryFlags::CHECKPOINT) {
            pending.clear();
            at = Recovered { commits: at.commits, ..scan };
            continue;
        }
        pending.push(part);
        if !flags.contains(SummaryFlags::CONTINUES) || planted(Planted::HalfCommit) {
            for part in pending.drain(..) {
                apply(core, &part)?;
            }
            scan.commits += 1;
            at = Recovered { commits: at.commits + 1, ..scan };
        }
    }
    Ok(at)
}

/// What [`goes_on`] means.
pub(crate) const BEHIND: &str =
    "the log goes on behind what its newest readable checkpoint leads to: a newer one is damaged";

/// Whether the log goes on at its end, after a serial number was left out. Only a checkpoint uses one
/// that the log does not show, so there was a newer one than `cp`.
///
/// At the next segment's beginning only if there is no room before: else the rest of a commit may lie
/// there whose beginning a crash has lost.
pub(crate) fn goes_on(core: &Core, cp: &Checkpoint, end: &Recovered) -> Result<bool> {
    if cp.clean {
        return Ok(false);
    }
    let full = core.geo.segment_size.saturating_sub(end.offset) < BLOCK as u32;
    let (segment, offset) = if full { (end.next_segment, 0) } else { (end.segment, end.offset) };
    let behind = read_any(&*core.meta, &core.geo, cp, segment, offset)?;
    Ok(behind.is_some_and(|part| part.summary.serial > end.serial))
}

fn apply(core: &Core, part: &Found) -> Result<()> {
    let head = part.summary.encoded_len() as u64 / tandem_format::GRAIN as u64;
    for (offset, entry) in part.summary.blocks() {
        let loc = Loc::new(part.start + u64::from(offset), entry.grains);
        if entry.kind == Kind::Delta {
            let from = (u64::from(offset).saturating_sub(head)) as usize * tandem_format::GRAIN;
            let to = from + loc.bytes() as usize;
            let bytes = part.payload.get(from..to).unwrap_or_default();
            apply_delta(core, bytes, loc)?;
        } else if (entry.kind as u8) < Kind::Delta as u8 {
            core.run(|st| {
                if entry.id == 0 || entry.id >= ID_LIMIT {
                    let detail = format!("block id {} is out of range", entry.id);
                    return Err(corrupt(format!("summary before {loc:?}"), detail));
                }
                let key = Key::block(entry.id);
                st.map_set(entry.id, loc)?;
                st.cache.remove(key);
                Ok(())
            })?;
        }
    }
    let mut st = core.state.lock();
    let (segment, commit) = (part.segment, part.summary.commit);
    st.segs.mark_used(segment, commit);
    st.commit = st.commit.max(commit);
    Ok(())
}

fn apply_delta(core: &Core, block: &[u8], loc: Loc) -> Result<()> {
    let bad = |e| Error::format(core.meta.name(), "delta", loc.offset(), &e);
    let (_, payload) = open(block).map_err(bad)?;
    for record in DeltaRecord::read(payload) {
        let record = record.map_err(bad)?;
        core.run(|st| apply_record(st, &record))?;
    }
    Ok(())
}

fn apply_record(st: &mut State, record: &DeltaRecord) -> Res<()> {
    match *record {
        DeltaRecord::ImapSet { ino, w0, w1 } if ino < INO_LIMIT => {
            st.imap_put(ino, [w0, w1])?;
        }
        DeltaRecord::ImapClear { ino, n } if ino < INO_LIMIT => {
            for ino in ino..ino + n {
                st.imap_put(ino, [0, 0])?;
            }
        }
        DeltaRecord::IdFree { id } if id < ID_LIMIT => {
            st.map_set(id, Loc::NONE)?;
            st.cache.remove(Key::block(id));
        }
        DeltaRecord::Alloc { start, len } => {
            st.space.reserve_exact(Run { start, len }).map_err(crate::commit::space_fault)?;
        }
        DeltaRecord::Free { start, len } => {
            st.space.release(Run { start, len }).map_err(crate::commit::space_fault)?;
        }
        DeltaRecord::Counters { next_ino, next_id, inodes }
            if next_ino <= INO_LIMIT && next_id <= ID_LIMIT && inodes <= COUNT_MAX =>
        {
            st.inos.next = st.inos.next.max(next_ino);
            st.ids.next = st.ids.next.max(next_id);
            st.inos.used = inodes;
        }
        DeltaRecord::GroupCounts { group, dirs, inodes } if group < st.geo.groups => {
            st.space.count(group, dirs, inodes);
        }
        _ => return Err(corrupt("delta", format!("{record:?} is out of range"))),
    }
    Ok(())
}
