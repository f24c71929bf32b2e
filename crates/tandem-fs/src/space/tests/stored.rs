//! What is read from M and written to it, and what stays in memory.

use proptest::prelude::*;

use super::super::*;
use super::{entry, list};
use tandem_format::GroupEntry;

fn load_error(free: u32, bytes: &[u8], bitmap: bool) -> FreeError {
    let mut space = Space::new(1024, 1024, vec![entry(free)]).unwrap();
    match space.load(0, bytes, bitmap) {
        Err(SpaceError::Corrupt { group: 0, reason }) => {
            assert!(!space.is_loaded(0) && space.memory() == 0);
            reason
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn corrupt_free_space() {
    assert_eq!(
        load_error(5, &list(&[(0, 3), (2, 2)]), false),
        FreeError::Order { start: 2, len: 2 }
    );
    assert_eq!(
        load_error(5, &list(&[(0, 3), (3, 2)]), false),
        FreeError::Order { start: 3, len: 2 }
    );
    assert_eq!(
        load_error(5, &list(&[(9, 3), (3, 2)]), false),
        FreeError::Order { start: 3, len: 2 }
    );
    assert_eq!(
        load_error(3, &list(&[(9, 3), (20, 0)]), false),
        FreeError::Order { start: 20, len: 0 }
    );
    assert_eq!(
        load_error(3, &list(&[(1022, 3)]), false),
        FreeError::Range { block: 1024, size: 1024 }
    );
    let wide = list(&[(1, u32::MAX)]);
    assert_eq!(
        load_error(3, &wide, false),
        FreeError::Range { block: u64::from(u32::MAX), size: 1024 }
    );
    assert_eq!(load_error(4, &list(&[(7, 3)]), false), FreeError::Count { found: 3, expected: 4 });
    let mut short = list(&[(7, 3), (11, 1)]);
    short.truncate(19);
    assert_eq!(load_error(4, &short, false), FreeError::Short { found: 19, expected: 20 });
    let huge = u32::MAX.to_le_bytes();
    assert_eq!(load_error(4, &huge, false), FreeError::Short { found: 4, expected: 8 });
    assert_eq!(load_error(4, &[], false), FreeError::Short { found: 0, expected: 4 });
    assert_eq!(load_error(4, &[0; 127], true), FreeError::Short { found: 127, expected: 128 });
    assert_eq!(load_error(4, &[0; 128], true), FreeError::Count { found: 0, expected: 4 });
}

#[test]
fn bits_beyond_the_last_group() {
    let mut space = Space::new(1500, 1024, vec![entry(0), entry(4)]).unwrap();
    let mut bytes = vec![0; 128];
    bytes[59] = 0xf8;
    let reason = FreeError::Range { block: 476, size: 476 };
    assert_eq!(space.load(1, &bytes, true), Err(SpaceError::Corrupt { group: 1, reason }));
    bytes[59] = 0x0f;
    space.load(1, &bytes, true).unwrap();
    assert_eq!(space.is_free(Run { start: 1024 + 472, len: 4 }), Ok(true));
}

#[test]
fn impossible_descriptors() {
    assert!(Space::new(100, 0, vec![]).is_err());
    assert!(Space::new(100, 64, vec![entry(1)]).is_err());
    assert!(Space::new(0, 64, vec![]).is_err());
    let reason = FreeError::Descriptor { free: 37, size: 36 };
    let e = Space::new(100, 64, vec![entry(1), entry(37)]).unwrap_err();
    assert_eq!(e, SpaceError::Corrupt { group: 1, reason });
}

proptest! {
    /// No bytes make `load` panic, and what it accepts is as many blocks as the descriptor says.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..64), form in any::<bool>(), free in 1..99u32) {
        let entry = GroupEntry { free, ..Default::default() };
        let mut space = Space::new(100, 200, vec![entry]).unwrap();
        if space.load(0, &bytes, form).is_ok() {
            let runs = space.groups[0].space.as_ref().unwrap().runs();
            prop_assert_eq!(runs.iter().map(|r| r.1).sum::<u32>(), free);
            prop_assert!(runs.iter().all(|r| r.0 + r.1 <= 100));
        }
    }
}

#[test]
fn blocks_free_on_m_only_keep_a_group_dirty() {
    let mut space = Space::format(2048, 1024).unwrap();
    for g in space.dirty() {
        space.encode_group(g, &[]).unwrap();
    }
    assert!(space.dirty().is_empty());
    let run = space.allocate(Goal { group: 0, near: None }, 100, false).unwrap()[0];
    let encoded = space.encode_group(0, &[run]).unwrap();
    assert_eq!(encoded.entry.free, 1024);
    assert_eq!(space.dirty(), [0]);
    space.unload_clean(0);
    assert_eq!(space.free_in(0), 924);
    assert_eq!(space.is_free(run), Ok(false));
    assert_eq!(space.encode_group(0, &[]).unwrap().entry.free, 924);
    assert!(space.dirty().is_empty());
    space.mark_dirty(0);
    assert_eq!(space.dirty(), [0]);
}

#[test]
fn eviction_takes_the_least_recently_used() {
    let bytes = list(&[(0, 10)]);
    let mut space = Space::new(10_240, 1024, vec![entry(10); 10]).unwrap();
    for g in 0..10 {
        space.load(g, &bytes, false).unwrap();
    }
    let each = space.memory() / 10;
    space.is_free(Run { start: 0, len: 1 }).unwrap();
    space.release(Run { start: 2048 + 10, len: 1 }).unwrap();
    space.unload_clean(each * 4);
    let loaded: Vec<u32> = (0..10).filter(|&g| space.is_loaded(g)).collect();
    assert_eq!(loaded, [0, 2, 9]);
    assert!(space.memory() <= each * 4);
}

#[test]
fn lists_become_bitmaps_and_lists_again() {
    let mut space = Space::format(32_768, 32_768).unwrap();
    let is_bitmap =
        |space: &Space| space.groups[0].space.as_ref().unwrap().bitmap_count().is_some();
    for i in 0..600 {
        assert_eq!(i > 512, i > 0 && is_bitmap(&space), "{i}");
        space.reserve_exact(Run { start: 2 * i, len: 1 }).unwrap();
    }
    assert!(space.encode_group(0, &[]).unwrap().entry.bitmap);
    for i in 0..600 {
        space.release(Run { start: 2 * i, len: 1 }).unwrap();
    }
    assert!(!is_bitmap(&space));
    let encoded = space.encode_group(0, &[]).unwrap();
    assert_eq!((encoded.entry.bitmap, encoded.entry.chunks, encoded.bytes.len()), (false, 1, 12));
}
