use tandem_format::{Geometry, Loc, SegEntry};

use super::{Prefetch, RECENT, Window};
use crate::log::Segments;

const ROOM: u64 = 64 << 20;

fn geometry() -> Geometry {
    Geometry {
        segment_size: 1 << 20,
        segments: 8,
        block_size: 4096,
        blocks: 1000,
        group_blocks: 1000,
        groups: 1,
        data_offset: 0,
        meta_size: 16 << 20,
    }
}

/// Segments of which 1 to 7 have `live` bytes each.
fn segments(live: u32) -> Segments {
    let mut entries = vec![SegEntry { live, used: true, stamp: 1 }; 8];
    entries[0] = SegEntry::default();
    Segments::new(&geometry(), entries)
}

/// A block of 8 grains at the start of a page of a segment.
fn at(segment: u64, page: u64) -> Loc {
    Loc::new((geometry().segment_offset(segment) + page * 4096) / 64, 8)
}

fn read(p: &mut Prefetch, segs: &Segments, loc: Loc) -> Window {
    let window = p.plan(&geometry(), segs, loc, (0, 0), ROOM);
    p.done(&window, (false, false));
    window
}

#[test]
fn most_of_a_window_is_before_the_block() {
    let (mut p, segs) = (Prefetch::new(16), segments(0));
    assert_eq!(read(&mut p, &segs, at(1, 100)).pages, 88..104);
    assert_eq!(read(&mut p, &segs, at(2, 2)).pages, 0..16);
    assert_eq!(read(&mut p, &segs, at(3, 255)).pages, 240..256);
}

#[test]
fn what_has_been_read_is_not_read_again() {
    let (mut p, segs) = (Prefetch::new(16), segments(0));
    assert_eq!(read(&mut p, &segs, at(1, 100)).pages, 88..104);
    assert_eq!(read(&mut p, &segs, at(1, 87)).pages, 72..88);
    assert_eq!(read(&mut p, &segs, at(1, 104)).pages, 104..120);
    // Unless it has gone.
    let again = read(&mut p, &segs, at(1, 90));
    assert!(again.again && again.pages.contains(&90));
}

#[test]
fn the_option_is_a_bound() {
    for option in [0, 1, 2, 7, 16, 4096] {
        let (mut p, segs) = (Prefetch::new(option), segments(0));
        for n in 0..200 {
            let window = read(&mut p, &segs, at(1 + n % 7, n * 37 % 256));
            let most = (option as usize * 4096).clamp(512, 1 << 20);
            assert!(window.len <= most, "{} bytes with prefetch={option}", window.len);
        }
        assert_eq!(p.segment_reads, 0);
    }
}

#[test]
fn misses_that_run_through_a_segment_read_the_rest_of_it() {
    let (mut p, segs) = (Prefetch::new(16), segments(900 << 10));
    let pages: Vec<_> = [200, 187, 171].map(|n| read(&mut p, &segs, at(1, n)).pages).into();
    assert_eq!(pages, [188..204, 172..188, 0..172]);
    // Elsewhere nothing runs.
    assert_eq!(read(&mut p, &segs, at(2, 200)).pages.len(), 16);
}

#[test]
fn a_segment_with_much_dead_in_it_is_not_read_whole() {
    let (mut p, segs) = (Prefetch::new(16), segments(300 << 10));
    for n in (0..RECENT as u64).rev() {
        assert!(read(&mut p, &segs, at(1, 100 + 16 * n)).pages.len() <= 16);
    }
}

#[test]
fn waste_makes_the_window_smaller_and_use_larger() {
    let (mut p, segs) = (Prefetch::new(16), segments(0));
    let mut plan = |loc, used, wasted| p.plan(&geometry(), &segs, loc, (used, wasted), ROOM).len;
    assert_eq!(plan(at(1, 100), 10, 90), 8 * 4096);
    assert_eq!(plan(at(2, 100), 10, 190), 4 * 4096);
    assert_eq!(plan(at(3, 100), 10, 290), 2 * 4096);
    assert_eq!(plan(at(4, 100), 10, 390), 2 * 4096);
    assert_eq!(plan(at(5, 100), 110, 390), 4 * 4096);
    assert_eq!(plan(at(6, 100), 210, 390), 8 * 4096);
}
