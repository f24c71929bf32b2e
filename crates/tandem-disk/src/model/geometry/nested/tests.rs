use std::collections::BTreeSet;

use super::*;
use crate::model::geometry::{Geometry, Layout};

/// Three cylinders inwards on one surface and back on the other, twice; then a track of another
/// pattern.
fn layout() -> NestedLayout {
    let run = |first, total, cylinder, slots, cylinder_step, of| Run {
        first,
        total,
        cylinder,
        angle: 0.25,
        slots,
        cylinder_step,
        angle_step: 0.1,
        of,
    };
    let track = |pattern, head| Repeated::Track { pattern, head };
    NestedLayout {
        tracks: vec![
            TrackPattern { first: 0, last: 9, slots: 10 },
            TrackPattern { first: 2, last: 7, slots: 9 },
        ],
        sequences: vec![
            vec![run(0, 30, 0, 10, 1, track(0, 0)), run(30, 30, 2, 10, -1, track(0, 1))],
            vec![run(0, 120, 0, 60, 3, Repeated::Runs(0)), run(120, 6, 6, 6, 1, track(1, 0))],
        ],
        slips: vec![(4, 1), (29, 2), (125, 1)],
    }
}

fn geometry(nested: NestedLayout) -> Result<Geometry, ModelError> {
    let nested = Some(nested);
    Geometry::new(&Layout { surfaces: 2, cylinders: 7, nested, ..Layout::default() })
}

#[test]
fn sectors_lie_where_the_runs_say() {
    let disk = geometry(layout()).unwrap();
    assert_eq!((disk.sectors(), disk.longest_track()), (122, 10));
    let at = |sector| {
        let place = disk.locate(sector);
        (place.cylinder, place.head, place.slot, place.run)
    };
    assert_eq!([at(0), at(3), at(4)], [(0, 0, 0, 9), (0, 0, 3, 6), (0, 0, 5, 5)]);
    // Slot 28 is the last of its track that is not slipped, slot 31 the first of the next.
    assert_eq!([at(27), at(28)], [(2, 0, 8, 1), (2, 1, 1, 9)]);
    // The second time three cylinders on, backwards on the other surface.
    assert_eq!([at(57), at(57 + 50)], [(3, 0, 0, 10), (3, 1, 0, 10)]);
    assert_eq!([at(117), at(121), at(999)], [(6, 0, 2, 5), (6, 0, 6, 1), (6, 0, 6, 1)]);
    let angle = |sector| disk.locate(sector).angle;
    // 0.25 turns of the run and 0.25 of what it is of; a tenth on for the second track.
    assert!((angle(0) - 5.0).abs() < 1e-9 && (angle(9) - 6.0).abs() < 1e-9);
    assert!((angle(57) - 6.0).abs() < 1e-9, "a tenth on for the second time");
    assert!((angle(118) - (0.25 * 9.0 + 1.0)).abs() < 1e-9);
}

#[test]
fn tracks_begin_and_end_where_sectors_change_them() {
    let disk = geometry(layout()).unwrap();
    let mut seen = BTreeSet::new();
    for sector in 0..disk.sectors() {
        let place = disk.locate(sector);
        assert!(seen.insert((place.cylinder, place.head, place.slot)));
        let (start, end) = (disk.track_start(sector), disk.track_end(sector));
        assert!(start <= sector && sector < end);
        for other in start..end {
            let other = disk.locate(other);
            assert_eq!(disk.track(&other), disk.track(&place));
        }
        assert_eq!(end - sector, place.run);
        assert_eq!(disk.sector_at(&place, place.slot), sector);
        let last = disk.locate(end - 1);
        let slots = u64::from(last.slot - place.slot) + 1;
        assert_eq!(disk.slots_of(&place, place.run), slots);
        if end < disk.sectors() {
            assert_ne!(disk.track(&disk.locate(end)), disk.track(&place));
        }
    }
}

#[test]
fn what_no_disk_can_have() {
    let error = |change: &dyn Fn(&mut NestedLayout)| {
        let mut changed = layout();
        change(&mut changed);
        geometry(changed).unwrap_err().to_string()
    };
    let text = error(&|l| l.sequences[1][1].first = 121);
    assert!(text.contains("run 1 begins at 121"), "{text}");
    let text = error(&|l| l.sequences[1][0].of = Repeated::Runs(1));
    assert!(text.contains("does not come before"), "{text}");
    let text = error(&|l| l.sequences[0][0].slots = 11);
    assert!(text.contains("of 10 slots, not of 11"), "{text}");
    let text = error(&|l| l.sequences[1][1].cylinder = 7);
    assert!(text.contains("0 to 7, of 7"), "{text}");
    let text = error(&|l| l.sequences[0][1].cylinder = 1);
    assert!(text.contains("-1 to"), "{text}");
    let text = error(&|l| l.slips[2].0 = 126);
    assert!(text.contains("126 is not on the disk"), "{text}");
    let text = error(&|l| l.tracks[1].last = 9);
    assert!(text.contains("track pattern 1"), "{text}");
    error(&|l| l.sequences[0][0].of = Repeated::Track { pattern: 2, head: 0 });
    error(&|l| l.sequences[0][0].of = Repeated::Track { pattern: 0, head: 2 });
    error(&|l| l.sequences[0][0].slots = 0);
    error(&|l| l.sequences[0][0].angle = f64::NAN);
    error(&|l| l.sequences[0][0].cylinder_step = i64::MIN);
    error(&|l| l.sequences.clear());
    error(&|l| l.slips = vec![(0, 126)]);
}
