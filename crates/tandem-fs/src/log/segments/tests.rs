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
