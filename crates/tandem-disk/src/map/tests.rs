use proptest::prelude::*;

use super::*;
use crate::profile::Profile;

const FINE: Resolution = Resolution { columns: 100, rows: 50 };

fn request(time: Nanos, operation: Operation, sector: u64, sectors: u64) -> Record {
    let (offset, length) = (sector * SECTOR, sectors * SECTOR);
    Record { time, operation, offset, length, service: None, hit: None, device: 0 }
}

fn map_on(records: &[Record], tracks: Tracks) -> Map {
    let span = Span::of(records.iter().map(|&record| Ok(record))).unwrap().unwrap();
    let mut map = Map::new(span, tracks, FINE);
    records.iter().for_each(|record| map.add(record));
    map
}

fn map(records: &[Record]) -> Map {
    map_on(records, Tracks::Equal(63))
}

/// Reads of 8 sectors each from these sectors on.
fn reads(sectors: impl IntoIterator<Item = u64>) -> Vec<Record> {
    let reads = (0..).zip(sectors);
    reads.map(|(time, sector)| request(time * 1000, Operation::Read, sector, 8)).collect()
}

fn shares(records: &[Record]) -> [u64; 3] {
    let map = map(records);
    let share = |class| map.kinds[0].patterns.share(class).requests;
    [share(Class::Sequential), share(Class::Strided), share(Class::Random)]
}

#[test]
fn classes() {
    // The first of anything is random: nothing lies before it.
    assert_eq!(shares(&reads((0..100).map(|i| 1000 + i * 8))), [99, 0, 1]);
    assert_eq!(shares(&reads((0..100).map(|i| i * 64))), [0, 99, 1]);
    assert_eq!(shares(&reads((0..100).map(|i| 90_000 - i * 64))), [0, 99, 1]);
    assert_eq!(shares(&reads((0..100).map(|i| (i * i * 7919 + 13) % 100_003))), [0, 0, 100]);
    // The same place over and over is no stride.
    assert_eq!(shares(&reads([5; 10])), [0, 0, 10]);
    // Runs beside one another are sequential, each in itself.
    let runs = [0, 1_000_000, 2_500_000, 9_000_000];
    assert_eq!(shares(&reads((0..100).map(|i| runs[i % 4] + i as u64 / 4 * 8))), [96, 0, 4]);
    // What lies between two strided runs belongs to neither.
    let two = (0..10).map(|i| i * 64).chain([77_777]).chain((0..10).map(|i| 200_000 + i * 32));
    assert_eq!(shares(&reads(two)), [0, 18, 3]);
}

#[test]
fn an_extent_is_drawn_as_one() {
    // Eight sectors every eight sectors fill the track; their beginnings alone would be stripes.
    let found = map(&reads((0..63).map(|i| i * 8)));
    let counts = found.kinds[0].tracks.counts();
    assert_eq!(found.kinds[0].tracks.x, Axis::new(0, 8, 100));
    assert!(counts.iter().flatten().all(|&count| count > 0));
    // And a write of many tracks covers those between whole, the ends in part.
    let found = map(&[request(0, Operation::Write, 60, 63 * 3)]);
    let tracks = &found.kinds[1].tracks;
    let at = |track, slot| tracks.counts()[tracks.y.cell(slot)][tracks.x.cell(track)];
    assert_eq!([at(0, 0), at(0, 62), at(1, 0), at(2, 62), at(3, 0), at(3, 62)], [0, 1, 1, 1, 1, 0]);
}

#[test]
fn tracks_of_a_drive() {
    let profile = Profile::find("st34310a").unwrap();
    let crate::drive::Medium::Disk(disk) = &profile.medium else { panic!("no disk") };
    let geometry = crate::model::geometry::Geometry::new(&disk.layout).unwrap();
    let slots = geometry.longest_track();
    assert_eq!(slots, disk.layout.zones.iter().map(|z| z.sectors_per_track).max().unwrap());
    // Track numbers go up with addresses, by one at each track's end.
    let mut sector = 0;
    for track in 0..200 {
        assert_eq!(geometry.track(&geometry.locate(sector)), track);
        sector = geometry.track_end(sector);
    }
    let last = geometry.sectors() - 8;
    let records = reads([0, last]);
    let found = map_on(&records, Tracks::Drive(Box::new(geometry)));
    assert_eq!(found.layout.unit(), "cylinders");
    assert_eq!(found.seeks.mean() as u32 + 1, disk.layout.cylinders);
}

#[test]
fn distances() {
    let found = map(&reads([0, 8, 16, 100, 92, 92]));
    // Ends are 8, 16, 24, 108, 100: the arm goes 0, 0, +76, -16, -8.
    let histogram: Vec<_> = found.seeks.buckets().into_iter().filter(|b| b.2 > 0).collect();
    assert_eq!(histogram, [(-31, -16, 1), (-15, -8, 1), (0, 0, 2), (64, 127, 1)]);
    assert_eq!(found.kinds[0].steps.frequent(2), [(8, 2), (0, 1)]);
    let far =
        map(&[request(0, Operation::Read, 0, 1), request(1, Operation::Read, u64::MAX >> 9, 1)]);
    assert_eq!(far.seeks.count(), 1);
}

#[test]
fn rates_and_services() {
    let mut records = reads([0, 800, 1600]);
    records[1].service = Some(2_000_000);
    records.push(request(3_000, Operation::Write, 5000, 16));
    records.push(request(3_500, Operation::Flush, 0, 0));
    let found = map(&records);
    let sum = |bins: &[Bin]| bins.iter().map(|bin| bin.bytes).sum::<u64>();
    assert_eq!((sum(&found.rates.reads), sum(&found.rates.writes)), (3 * 4096, 8192));
    assert_eq!(found.rates.reads.iter().map(|bin| bin.longest).max(), Some(2_000_000));
    assert!(found.has_services());
    let summary = found.summary();
    assert_eq!(summary.flushes, 1);
    assert_eq!(summary.kinds["reads"].service_ms.unwrap().max.round(), 2.0);
    assert!(!summary.kinds.contains_key("discards"));
}

#[test]
fn nothing_and_the_largest() {
    assert_eq!(Span::of(std::iter::empty()).unwrap(), None);
    map(&[request(0, Operation::Flush, 0, 0)]);
    let odd = Record { offset: u64::MAX - 5, length: u64::MAX, ..reads([0])[0] };
    map(&[odd, Record { time: u64::MAX, service: Some(u64::MAX), ..odd }]);
    map(&[odd, Record { operation: Operation::Discard, offset: 0, ..odd }]);
}

proptest! {
    #[test]
    fn every_mark_is_counted(marks in proptest::collection::vec(
        (0u64..1000, 0u64..300, 0u64..1000, 0u64..300), 0..30)) {
        let (x, y) = (Axis::new(0, 1000, 37), Axis::new(0, 1000, 23));
        let mut grid = Grid::new(x, y);
        let mut plain = vec![vec![0u64; 37]; 23];
        for (left, width, low, height) in marks {
            grid.mark((left, left + width), (low, low + height));
            // A cell is marked when it and the range have something in common.
            let within = |cell: usize, cells: u64, from: u64, len: u64| {
                let (cell, to) = (cell as u64, (from + len.max(1)).min(1000));
                from.min(999) * cells < (cell + 1) * 1000 && to * cells > cell * 1000
            };
            for (row, cells) in plain.iter_mut().enumerate() {
                for (column, count) in cells.iter_mut().enumerate() {
                    let marked = within(row, 23, low, height) && within(column, 37, left, width);
                    *count += u64::from(marked);
                }
            }
        }
        prop_assert_eq!(grid.counts(), plain.clone());
        let most = plain.iter().flatten().copied().max().unwrap_or(0);
        prop_assert_eq!(grid.coarse(5, 4).into_iter().flatten().max(), Some(most));
    }

    #[test]
    fn every_request_has_a_class(sectors in proptest::collection::vec(0u64..400, 1..60)) {
        let records = reads(sectors.iter().map(|s| s * 4));
        prop_assert_eq!(shares(&records).iter().sum::<u64>(), records.len() as u64);
        let sectors = map(&records).summary().kinds["reads"].classes.iter().map(|c| c.bytes).sum::<u64>();
        prop_assert_eq!(sectors, records.len() as u64 * 4096);
    }
}

#[test]
fn devices_that_no_machine_has_are_counted_together() {
    let records =
        (0..1000).map(|device| Ok(Record { device, ..request(0, Operation::Read, 0, 8) }));
    let span = Span::of(records).unwrap().unwrap();
    assert_eq!((span.devices.len(), span.other_devices), (256, 744));
}
