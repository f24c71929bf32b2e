//! How much of the log is kept free, for whom, and what remains for live blocks.

use super::Segments;

/// A log of fewer segments keeps more of its room free, and the IFile's blocks among the others.
const FEW: u64 = 192;

/// Of segments of fewer bytes, more are kept.
const SMALL: u64 = 1 << 20;

impl Segments {
    /// Whether the IFile's blocks have segments of their own.
    pub fn tables_apart(&self) -> bool {
        self.count() >= FEW
    }

    /// Segments that only deletion, the cleaner and checkpoints may use: more than the block map
    /// takes up, all of which the checkpoint behind a round may have to write.
    pub fn reserve(&self) -> u64 {
        let map = self.map_bytes.div_ceil(self.usable()) + 2;
        (self.count() / 128).max(if self.size < SMALL { 6 } else { 4 }).max(map)
    }

    /// With fewer clean segments than this, the cleaner sees to more. Every one more is one that
    /// live blocks do not spread over.
    pub fn low(&self) -> u64 {
        self.reserve() + (self.count() / 128).max(5)
    }

    /// With so many, there is nothing for it to do in idle time.
    pub fn plenty(&self) -> u64 {
        self.count() / 4
    }

    /// Bytes of a segment that blocks can count on. The rest goes to summaries, to padding, and to
    /// the end of a segment that the next block is too long for.
    pub fn usable(&self) -> u64 {
        self.size - self.size / 16 - (12 << 10)
    }

    /// Bytes that live blocks may take up: the rest keeps the cleaner effective.
    pub fn room_for_live(&self) -> u64 {
        let kept = self.reserve() + 1 + u64::from(self.tables_apart());
        let segments = self.count() - kept.min(self.count());
        let share = if self.count() < FEW { 28 } else { 29 };
        segments * self.usable() / 32 * share
    }

    /// Bytes that the cleaner can write.
    pub fn room_for_moves(&self) -> u64 {
        self.room(1)
    }

    /// Bytes that can be written before segments must be cleaned.
    pub fn room_for_writes(&self, essential: bool) -> u64 {
        self.room(if essential { 1 } else { self.reserve() })
    }

    fn room(&self, kept: u64) -> u64 {
        let here =
            (self.size - self.filled.min(self.size)).saturating_sub(self.size - self.usable());
        // What checkpoints write takes up a segment more at most when it does not go here.
        let kept = kept + u64::from(self.tables_apart());
        self.clean.saturating_sub(kept) * self.usable() + here
    }
}
