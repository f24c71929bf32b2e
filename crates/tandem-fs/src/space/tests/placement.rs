//! Where requests are placed.

use super::super::*;
use super::entry;
use tandem_format::GroupEntry;

#[test]
fn beyond_the_end() {
    let mut space = Space::format(100, 64).unwrap();
    for (start, len) in [(100, 1), (99, 2), (u64::MAX, 1), (1, u64::MAX)] {
        let run = Run { start, len };
        assert_eq!(space.reserve_exact(run), Err(SpaceError::OutOfRange(run)));
        assert_eq!(space.release(run), Err(SpaceError::OutOfRange(run)));
    }
    let full = space.allocate(Goal { group: 0, near: None }, 101, false);
    assert_eq!(full, Err(SpaceError::Full));
    assert_eq!(space.free_blocks(), 100);
}

#[test]
fn placements_pack_behind_the_cursor() {
    let mut space = Space::format(4096, 1024).unwrap();
    let goal = Goal { group: 2, near: None };
    for i in 0..10 {
        let runs = space.allocate(goal, 10, false).unwrap();
        assert_eq!(runs.as_slice(), &[Run { start: 2048 + i * 10, len: 10 }]);
    }
    // A hole behind the cursor does not break the packing as long as the run there is long enough.
    space.release(Run { start: 2058, len: 10 }).unwrap();
    assert_eq!(space.allocate(goal, 10, false).unwrap()[0].start, 2148);
    // A file that grows in place elsewhere leaves the cursor alone.
    let grown = space.allocate(Goal { group: 2, near: Some(100) }, 7, false).unwrap();
    assert_eq!(grown.as_slice(), &[Run { start: 100, len: 7 }]);
    assert_eq!(space.allocate(goal, 5, false).unwrap()[0].start, 2158);
    // Too long for what is left behind the cursor, but not for the group.
    space.reserve_exact(Run { start: 2200, len: 872 }).unwrap();
    assert_eq!(space.allocate(goal, 10, true).unwrap()[0].start, 2163);
    space.reserve_exact(Run { start: 2173, len: 27 }).unwrap();
    assert_eq!(space.allocate(goal, 9, false).unwrap()[0].start, 2058);
}

#[test]
fn the_smallest_run_that_fits_keeps_long_ones_long() {
    let mut space = Space::format(1024, 1024).unwrap();
    space.reserve_exact(Run { start: 0, len: 1024 }).unwrap();
    for (start, len) in [(100, 300), (500, 40), (600, 31), (700, 200)] {
        space.release(Run { start, len }).unwrap();
    }
    let goal = Goal { group: 0, near: None };
    assert_eq!(space.allocate(goal, 30, false).unwrap()[0].start, 600);
    assert_eq!(space.allocate(goal, 30, false).unwrap()[0].start, 500);
    assert_eq!(space.allocate(goal, 30, false).unwrap()[0].start, 700);
}

#[test]
fn a_request_larger_than_a_group_is_one_run() {
    let mut space = Space::format(64 * 1024, 1024).unwrap();
    space.allocate(Goal { group: 10, near: None }, 100, false).unwrap();
    let runs = space.allocate(Goal { group: 10, near: None }, 5000, false).unwrap();
    assert_eq!(runs.as_slice(), &[Run { start: 10 * 1024 + 100, len: 5000 }]);
    // It grows over the groups' borders.
    let more = space.allocate(Goal { group: 10, near: Some(runs[0].end()) }, 3000, true).unwrap();
    assert_eq!(more.as_slice(), &[Run { start: runs[0].end(), len: 3000 }]);
}

#[test]
fn full_groups_spill_into_the_nearest() {
    let mut space = Space::format(8 * 1024, 1024).unwrap();
    space.reserve_exact(Run { start: 3 * 1024, len: 2048 - 10 }).unwrap();
    let goal = Goal { group: 3, near: None };
    let runs = space.allocate(goal, 20, false).unwrap();
    assert_eq!(runs.as_slice(), &[Run { start: 2 * 1024, len: 20 }]);
    assert_eq!(space.allocate(goal, 10, false).unwrap()[0].start, 5 * 1024 - 10);
}

#[test]
fn pieces_only_when_no_run_is_long_enough() {
    let mut space = Space::format(2048, 1024).unwrap();
    space.reserve_exact(Run { start: 0, len: 2048 }).unwrap();
    for (start, len) in [(10, 5), (100, 50), (300, 20), (1500, 40), (1600, 3)] {
        space.release(Run { start, len }).unwrap();
    }
    let goal = Goal { group: 0, near: None };
    assert_eq!(space.allocate(goal, 119, false), Err(SpaceError::Full));
    let runs = space.allocate(goal, 100, false).unwrap();
    assert_eq!(runs.iter().map(|r| r.start).collect::<Vec<_>>(), [100, 300, 1500]);
    assert_eq!(space.free_blocks(), 18);
}

#[test]
fn a_fragmented_volume_is_not_read_whole() {
    // Every second block of 1,000 groups is free: no run of two anywhere, and nobody knows.
    let bytes = vec![0x55; 128];
    let entries =
        vec![GroupEntry { free: 512, bitmap: true, chunks: 1, ..Default::default() }; 1000];
    let mut space = Space::new(1_024_000, 1024, entries).unwrap();
    let mut loads = 0;
    let runs = loop {
        match space.allocate(Goal { group: 500, near: None }, 100, false) {
            Err(SpaceError::Load(g)) => {
                assert!((490..510).contains(&g));
                space.load(g, &bytes, true).unwrap();
                loads += 1;
            }
            other => break other.unwrap(),
        }
    };
    assert_eq!((runs.len(), loads), (100, 8));
    assert!(runs.iter().all(|run| space.group_of(run.start) == 500));
}

#[test]
fn large_files_leave_the_group() {
    let mut space = Space::format(4096, 1024).unwrap();
    assert_eq!(space.group_for_large(1, 0, 256), None);
    space.count(0, 1, 0);
    space.count(1, 1, 0);
    let away = space.group_for_large(1, 200, 57);
    assert!(matches!(away, Some(2 | 3)));
    // The emptiest group is where it is.
    for start in [1024, 2048, 3072] {
        space.reserve_exact(Run { start, len: 1 }).unwrap();
    }
    assert_eq!(space.group_for_large(0, 0, 1000), None);
    // Nothing is free: the allocation says so.
    let full = Space::new(2048, 1024, vec![entry(0), entry(0)]).unwrap();
    assert_eq!(full.group_for_large(1, 0, 1000), None);
}

#[test]
fn directories_and_placements_are_counted() {
    let mut space = Space::format(2048, 1024).unwrap();
    space.directory_placed(1, 1);
    space.directory_placed(1, 0);
    let goal = Goal { group: 1, near: None };
    space.allocate(goal, 1000, true).unwrap();
    space.allocate(goal, 100, true).unwrap();
    // What follows its file is meant for no group.
    space.allocate(Goal { group: 0, near: Some(500) }, 1, false).unwrap();
    let stats = space.affinity();
    assert_eq!((stats.kept, stats.left, stats.placed_home, stats.placed_away), (1, 1, 1, 1));
}

#[test]
fn directory_affinity() {
    let mut space =
        Space::new(4000, 1000, vec![entry(500), entry(549), entry(100), entry(0)]).unwrap();
    assert_eq!(space.choose_directory_group(0, 0), 1);
    assert_eq!(space.choose_directory_group(0, 9), 1);
    assert_eq!(space.choose_directory_group(0, 10), 0);
    assert_eq!(space.choose_directory_group(2, 10), 1);
    assert_eq!(space.choose_directory_group(2, 448), 1);
    assert_eq!(space.choose_directory_group(2, 450), 2);
    assert_eq!(space.choose_directory_group(3, u32::MAX), 1);
    assert_eq!(space.choose_directory_group(77, 10), 1);
    // Equally empty groups: the one with the fewest directories.
    let mut empty = Space::format(4000, 1000).unwrap();
    for expected in [0, 1, 2, 3, 0] {
        let g = empty.choose_directory_group(0, 0);
        assert_eq!(g, expected);
        empty.count(g, 1, 1);
    }
    assert_eq!(empty.choose_directory_group(2, 10), 2);
    space.count(3, -5, i64::MAX);
    assert_eq!(space.dirty_entries(), [3]);
    let counted = space.encode_entry(3);
    assert_eq!((counted.dirs, counted.inodes), (0, u32::MAX));
    assert!(space.dirty_entries().is_empty());
}

#[test]
fn room_is_left_for_who_grows() {
    let mut space = Space::format(4096, 1024).unwrap();
    let goal = Goal { group: 1, near: None };
    let run = space.allocate(goal, 10, false).unwrap()[0];
    space.leave_room(run.end(), 16);
    assert_eq!(space.allocate(goal, 5, false).unwrap()[0].start, run.end() + 16);
    // Who grows takes it; the others go on behind.
    let near = Some(run.end());
    assert_eq!(space.allocate(Goal { group: 1, near }, 16, false).unwrap()[0].start, run.end());
    assert_eq!(space.allocate(goal, 5, false).unwrap()[0].start, run.end() + 21);
    // Not where something else has been placed since, nor beyond the device.
    space.leave_room(run.end(), 16);
    assert_eq!(space.allocate(goal, 5, false).unwrap()[0].start, run.end() + 26);
    for end in [0, 4096, 4097, u64::MAX] {
        space.leave_room(end, u32::MAX);
    }
    // The room is free space like any other.
    space.leave_room(run.end() + 31, u32::MAX);
    let free = space.free_blocks();
    assert!(space.allocate(goal, free, false).is_ok());
}
