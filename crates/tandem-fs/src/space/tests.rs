//! Tests of free space and placement.

mod model;
mod placement;
mod stored;

use tandem_format::GroupEntry;

fn entry(free: u32) -> GroupEntry {
    GroupEntry { free, ..Default::default() }
}

fn list(runs: &[(u32, u32)]) -> Vec<u8> {
    let words = runs.iter().flat_map(|r| [r.0, r.1]);
    std::iter::once(runs.len() as u32).chain(words).flat_map(u32::to_le_bytes).collect()
}
