//! Faults planted on purpose, to prove that the crash tests find them. There are none without the
//! feature `planted`, which nothing but those tests asks for: [`planted`] is false then, and what
//! depends on it is not compiled.

/// Something that the engine does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    /// D is not flushed before the metadata that refers to it is written.
    NoDataFlush,
    /// M is not flushed at the end of a commit.
    NoCommitFlush,
    /// M is not flushed between the IFile's blocks and the checkpoint.
    NoTableFlush,
    /// Freed data blocks are given away before the commit.
    EarlyReuse,
    /// Freed data blocks are discarded before the commit is durable.
    EarlyDiscard,
    /// A segment is used again while blocks in it are live.
    LiveSegment,
    /// Partial segments do not say that their commit goes on.
    NoContinues,
    /// Space that has been promised is not counted.
    NoReservation,
    /// An error of a write to D is ignored.
    DataErrorIgnored,
    /// An error of a write to M is ignored.
    LogErrorIgnored,
    /// The older checkpoint counts.
    OldCheckpoint,
    /// A mount goes on under the old crash count and with the next serial number.
    SameCrashCount,
    /// What was unlinked but in use at a crash is not freed.
    OrphansKept,
    /// Unlinked i-nodes in use get no entry in the hidden directory.
    OrphansUnsheltered,
    /// Roll-forward takes partial segments whose payload is not what was written.
    TornAccepted,
    /// Roll-forward takes commits whose end is missing.
    HalfCommit,
}

#[cfg(feature = "planted")]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Planted>> = const { std::cell::Cell::new(None) };
}

/// Plants a fault for the calling thread, or takes it away.
#[cfg(feature = "planted")]
pub fn plant(fault: Option<Planted>) {
    PLANTED.set(fault);
}

/// Whether a fault is planted.
#[cfg(feature = "planted")]
pub(crate) fn planted(fault: Planted) -> bool {
    PLANTED.get() == Some(fault)
}

/// Whether a fault is planted: no.
#[cfg(not(feature = "planted"))]
pub(crate) const fn planted(_: Planted) -> bool {
    false
}
