//! Which segments a round cleans.

use tandem_format::SegEntry;

use super::Need;
use crate::log::segments::Thin;

/// Live bytes that a round moves at most when a caller waits for it.
pub(super) const PIECE: u64 = 4 << 20;

/// How the log stands, as far as the choice of victims depends on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// Bytes of a segment.
    pub size: u64,
    /// Bytes of it that blocks can count on.
    pub usable: u64,
    /// What is worth a round in idle time.
    pub thin: Thin,
    /// Bytes that survivors may take up.
    pub room: u64,
    /// Bytes that a round moves at most when nobody waits for it.
    pub round: u64,
    /// Bytes that still fit into the active segment.
    pub here: u64,
    /// Number of the last commit.
    pub now: u64,
}

/// Cost and benefit (LFS §3.6): the emptier and the older, the better, but with the square of the share
/// that is gained: where nothing tells hot from cold, age is chance, and the emptiest are best. As
/// many as a round may move, and none unless they give half a segment more than they take: then it
/// would go on for ever. In idle time only those that lie thin. When old ones give too little, the
/// emptiest.
pub(super) fn choose(segments: &[(u64, SegEntry)], s: Standing, need: Need) -> Vec<u64> {
    let worth = |e: &SegEntry| {
        let u = f64::from(e.live) / s.size as f64;
        let age = s.now.saturating_sub(e.stamp) + 1;
        (1.0 - u).powi(2) * age as f64 / (1.0 + u)
    };
    let taken = take(segments, s, need, worth);
    if !taken.is_empty() || need == Need::Idle {
        return taken;
    }
    take(segments, s, need, |e| -f64::from(e.live))
}

/// As many as a round may move of those that `worth` puts first.
fn take(
    segments: &[(u64, SegEntry)],
    s: Standing,
    need: Need,
    worth: impl Fn(&SegEntry) -> f64,
) -> Vec<u64> {
    let limit = if need == Need::Idle { s.thin.of(s.usable) } else { s.usable };
    let mut ranked: Vec<(f64, u64, u64)> = segments
        .iter()
        .filter(|(_, e)| u64::from(e.live) < limit)
        .map(|(n, e)| (worth(e), *n, u64::from(e.live)))
        .collect();
    ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let most = if need == Need::Now { PIECE } else { s.round };
    let (mut taken, mut live, mut gain) = (Vec::new(), 0, s.here);
    for (_, n, bytes) in ranked {
        let enough = live + bytes > most && gain >= s.size / 2;
        if enough || live + bytes > s.room {
            break;
        }
        live += bytes;
        // Blocks come with an entry in a summary.
        gain += s.size.saturating_sub(bytes + bytes / 32);
        taken.push(n);
    }
    if gain < s.size / 2 {
        taken.clear();
    }
    taken
}
