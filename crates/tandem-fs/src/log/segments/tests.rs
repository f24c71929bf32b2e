use super::*;

const SIZE: u64 = 1 << 16;

fn table() -> Segments {
    let mut segs = Segments {
        entries: vec![SegEntry::default(); 32],
        base: SIZE,
        size: SIZE,
        clean: 32,
        live: 0,
        active: 0,
        next: 1,
        filled: 0,
        tables: None,
        map_bytes: 0,
        cursor: 0,
        dirty: BTreeSet::new(),
        touched: false,
        released: 0,
        writes: vec![0; 32],
        mean: 0,
        own: BTreeMap::new(),
    };
    segs.mark_used(0, 1);
    segs.moved(Loc::NONE, at(0));
    segs
}

fn at(segment: u64) -> Loc {
    Loc::new((SIZE + segment * SIZE) / 64, 8)
}

#[test]
fn only_a_checkpoint_makes_an_empty_segment_clean() {
    let mut segs = table();
    segs.mark_used(5, 2);
    segs.moved(Loc::NONE, at(5));
    segs.moved(at(5), at(0));
    assert!(segs.entry(5).used);
    assert_eq!((segs.release_dead(), segs.entry(5).used), (1, false));
}

#[test]
fn a_segment_is_as_young_as_its_youngest_block() {
    let mut segs = table();
    segs.mark_used(5, 0);
    segs.mark_used(5, 17);
    segs.mark_used(5, 12);
    assert_eq!(segs.entry(5).stamp, 17);
    segs.moved(Loc::NONE, at(5));
    segs.release_dead();
    segs.moved(at(5), Loc::NONE);
    segs.release_dead();
    segs.mark_used(5, 3);
    assert_eq!(segs.entry(5).stamp, 3, "what was there before does not count");
}

/// A table of many clean segments; closed ones with so many bytes of live blocks, and the active one.
fn log(closed: &[u32], filled: u64, live: u32) -> Segments {
    let mut segs = table();
    segs.entries = vec![SegEntry::default(); 400];
    (segs.clean, segs.live) = (400, 0);
    let mut enter = |n: usize, live: u32| {
        segs.entries[n] = SegEntry { live, used: true, stamp: 1 };
        segs.clean -= 1;
        segs.live += u64::from(live);
    };
    enter(0, live);
    (2..).zip(closed).for_each(|(n, &live)| enter(n, live));
    segs.filled = filled;
    segs
}

/// Bytes of a segment of which so many in a hundred are live.
fn percent(n: u32) -> u32 {
    SIZE as u32 / 100 * n
}

#[test]
fn segments_lie_thin_when_they_give_a_whole_one() {
    let (full, filled) = (percent(80), 40 << 10);
    assert_eq!(log(&[percent(30)], filled, 39 << 10).thin(), None);
    assert_eq!(log(&[percent(30), percent(30)], filled, 39 << 10).thin(), Some(Thin::Half));
    // Also in a log that is not much longer than what is live.
    let mut closed = [full; 20];
    closed[..2].fill(percent(30));
    assert_eq!(log(&closed, filled, 39 << 10).thin(), Some(Thin::Half));
}

#[test]
fn a_quarter_dead_is_thin_where_the_log_is_long_and_little_of_m_is_live() {
    let filled = 40 << 10;
    assert_eq!(log(&[percent(50); 6], filled, 39 << 10).thin(), Some(Thin::ThreeQuarters));
    assert_eq!(log(&[percent(85); 6], filled, 39 << 10).thin(), None);
    assert_eq!(log(&[percent(50); 80], filled, 39 << 10).thin(), None);
}

#[test]
fn the_active_segment_lies_thin_by_what_was_written_to_it() {
    assert_eq!(log(&[], 40 << 10, 39 << 10).thin(), None);
    assert_eq!(log(&[], 40 << 10, 25 << 10).thin(), Some(Thin::ThreeQuarters));
    assert_eq!(log(&[], 40 << 10, 15 << 10).thin(), Some(Thin::Half));
    assert_eq!(log(&[], 4 << 10, 1 << 10).thin(), None, "hardly begun");
    assert_eq!(log(&[percent(95); 10], 40 << 10, 15 << 10).thin(), None, "it is a small part");
}

#[test]
fn while_clean_segments_are_few_the_active_one_is_not_left() {
    let few = log(&[percent(95); 320], 40 << 10, 1 << 10);
    assert!(few.clean() < few.plenty() && !few.is_active_thin(Thin::Half));
    let some = log(&[percent(95); 200], 40 << 10, 1 << 10);
    assert!(some.is_active_thin(Thin::Half));
}
