//! What lies thin in the log: whoever reads around a block there reads what is dead, so idle time
//! gathers it.

use tandem_format::SegEntry;

use super::Segments;

/// The part of M below which live blocks are little, as a divisor.
const LITTLE: u64 = 16;

/// The part of a segment that has been filled before it is worth leaving it, as a divisor.
const BEGUN: u64 = 8;

/// Less than how much of a segment is live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thin {
    /// Gathering gives as much as it takes, at least.
    Half,
    /// It gives a third of that, at least.
    ThreeQuarters,
}

impl Thin {
    /// So much of these bytes.
    pub fn of(self, bytes: u64) -> u64 {
        match self {
            Thin::Half => bytes / 2,
            Thin::ThreeQuarters => bytes / 4 * 3,
        }
    }
}

impl Segments {
    /// What lies thin and is worth gathering: what gives a whole segment when half of it is dead; and
    /// while the log is a quarter longer than what is live, also the active segment alone, and, where
    /// little of M is live, what has only a quarter dead.
    pub fn thin(&self) -> Option<Thin> {
        let whole = |thin| self.gain(thin) >= self.size;
        if whole(Thin::Half) {
            return Some(Thin::Half);
        }
        if self.spread() / 5 * 4 <= self.live {
            return None;
        }
        let little = self.live <= self.count() * self.size / LITTLE;
        let most = if little { Thin::ThreeQuarters } else { Thin::Half };
        [Thin::Half, most].into_iter().find(|&thin| whole(thin) || self.is_active_thin(thin))
    }

    /// Bytes of the log that gathering would free.
    fn gain(&self, thin: Thin) -> u64 {
        let limit = thin.of(self.usable());
        let lies_thin = |e: &SegEntry| e.live > 0 && u64::from(e.live) < limit;
        let closed = self.used().map(|(_, e)| e).filter(lies_thin);
        let gain: u64 = closed.map(|e| self.size - u64::from(e.live)).sum();
        match self.is_active_thin(thin) {
            true => gain + self.filled - u64::from(self.entry(self.active).live),
            false => gain,
        }
    }

    /// Whether what was written to the active segment lies thin, and the log may go on in another one:
    /// never while clean ones are few.
    pub fn is_active_thin(&self, thin: Thin) -> bool {
        let live = u64::from(self.entry(self.active).live);
        self.clean > self.low().max(self.plenty())
            && self.filled >= self.size / BEGUN
            && live > 0
            && live < thin.of(self.filled)
    }

    /// Bytes that the log takes up, without the segment in which checkpoints go on.
    pub fn spread(&self) -> u64 {
        self.used().count() as u64 * self.size + self.filled
    }
}
