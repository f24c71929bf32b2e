//! The log: what a segment holds, and what has been logged since the checkpoint.

use anyhow::{Result, bail};
use tandem_format::{
    DeltaRecord, GRAIN, Kind, Loc, PARTIAL_ALIGN, SUMMARY_HEADER, Summary, SummaryFlags, open,
};

use super::reader::Reader;
use super::show;
use crate::output::Listing;

/// A partial segment that is whole.
struct Partial {
    summary: Summary,
    /// Byte on the device where it begins.
    at: u64,
    bytes: Vec<u8>,
}

impl Partial {
    fn len(&self) -> u64 {
        u64::from(self.summary.total) * GRAIN as u64
    }

    /// The blocks: where each lies, and its bytes.
    fn blocks(&self) -> impl Iterator<Item = (&tandem_format::SummaryEntry, Loc, &[u8])> {
        self.summary.blocks().map(|(grain, entry)| {
            let start = grain as usize * GRAIN;
            let end = start + usize::from(entry.grains) * GRAIN;
            let loc = Loc::new(self.at / GRAIN as u64 + u64::from(grain), entry.grains);
            (entry, loc, self.bytes.get(start..end).unwrap_or_default())
        })
    }
}

impl Reader<'_> {
    /// The partial segment at byte `offset` of a segment, if a whole one of this volume is there.
    fn partial(&self, segment: u64, offset: u64) -> Result<Option<Partial>> {
        let size = u64::from(self.geometry.segment_size);
        if segment >= self.geometry.segments || offset + PARTIAL_ALIGN as u64 > size {
            return Ok(None);
        }
        let at = self.geometry.segment_offset(segment) + offset;
        let head = self.bytes(at, SUMMARY_HEADER)?;
        let Ok((_, total)) = Summary::peek(&head) else { return Ok(None) };
        let len = u64::from(total) * GRAIN as u64;
        if offset + len > size {
            return Ok(None);
        }
        let bytes = self.bytes(at, len as usize)?;
        let Ok(summary) = Summary::decode(&bytes) else { return Ok(None) };
        let payload = bytes.get(summary.encoded_len()..).unwrap_or_default();
        let whole = summary.volume == self.superblock.volume && summary.verify_payload(payload);
        Ok(whole.then_some(Partial { summary, at, bytes }))
    }

    /// Applies what was logged after the checkpoint, as a mount would, but in memory only.
    pub(super) fn roll_forward(&mut self) -> Result<()> {
        let (mut segment, mut offset) =
            (self.checkpoint.segment, u64::from(self.checkpoint.offset));
        let mut serial = self.checkpoint.next_serial;
        let mut next_segment = self.checkpoint.next_segment;
        let mut unfinished = Vec::new();
        loop {
            let expected = |partial: &Partial| {
                (partial.summary.crash, partial.summary.serial) == (self.checkpoint.crash, serial)
            };
            let mut found = self.partial(segment, offset)?.filter(expected);
            if found.is_none() && offset != 0 {
                (segment, offset) = (next_segment, 0);
                found = self.partial(segment, offset)?.filter(expected);
            }
            let Some(partial) = found else { return Ok(()) };
            offset += partial.len();
            next_segment = partial.summary.next_segment;
            serial += 1;
            let flags = partial.summary.flags;
            if flags.contains(SummaryFlags::CHECKPOINT) {
                unfinished.clear();
                continue;
            }
            let continues = flags.contains(SummaryFlags::CONTINUES);
            unfinished.push(partial);
            if !continues {
                for partial in unfinished.drain(..) {
                    self.apply(&partial)?;
                }
            }
        }
    }

    fn apply(&mut self, partial: &Partial) -> Result<()> {
        for (entry, loc, bytes) in partial.blocks() {
            match entry.kind {
                Kind::Delta => {
                    let (_, payload) = open(bytes)?;
                    for record in DeltaRecord::read(payload) {
                        self.change(&record?);
                    }
                }
                Kind::Map | Kind::Imap | Kind::Seg | Kind::Group | Kind::Free => {}
                _ => drop(self.moved.insert(entry.id, Some(loc))),
            }
        }
        Ok(())
    }

    fn change(&mut self, record: &DeltaRecord) {
        match *record {
            DeltaRecord::ImapSet { ino, w0, w1 } => drop(self.homes.insert(ino, [w0, w1])),
            DeltaRecord::ImapClear { ino, n } => {
                self.homes.extend((ino..ino.saturating_add(n)).map(|ino| (ino, [0; 2])));
            }
            DeltaRecord::IdFree { id } => drop(self.moved.insert(id, None)),
            _ => {}
        }
    }

    /// Shows the partial segments of a segment, and which of their blocks are live.
    pub fn show_segment(&self, number: u64, out: &mut Listing) -> Result<()> {
        let (segments, size) = (self.geometry.segments, u64::from(self.geometry.segment_size));
        if number >= segments {
            bail!("there is no segment {number}: the log has {segments}, from 0");
        }
        let mut offset = 0;
        let mut partials = 0;
        while offset < size {
            let Some(partial) = self.partial(number, offset)? else {
                offset += PARTIAL_ALIGN as u64;
                continue;
            };
            show::summary(&partial.summary, number, offset, out);
            for (entry, loc, bytes) in partial.blocks() {
                let live = match entry.kind {
                    Kind::Delta => "",
                    Kind::Map | Kind::Imap | Kind::Seg | Kind::Group | Kind::Free => "",
                    _ if self.locate(entry.id)? == Some(loc) => "live",
                    _ => "dead",
                };
                show::summary_entry(entry, loc, live, out);
                if entry.kind == Kind::Delta {
                    show::delta(open(bytes)?.1, out);
                }
            }
            offset += partial.len();
            partials += 1;
        }
        if partials == 0 {
            out.heading(format!("segment {number} holds nothing of this volume"));
        }
        Ok(())
    }
}
