//! Times of single requests, computed by hand.

use super::*;
use crate::model::cache::ReadAhead;
use crate::model::geometry::ZoneLayout;
use crate::model::seek::SeekCurve;

const MS: Nanos = 1_000_000;

/// A disk of one surface, 100 sectors a track and 10 ms a turn; everything else takes no time.
fn plain() -> DiskParameters {
    let zone = ZoneLayout { last_cylinder: 99, sectors_per_track: 100, ..ZoneLayout::default() };
    DiskParameters {
        layout: Layout { surfaces: 1, cylinders: 100, zones: vec![zone], ..Layout::default() },
        mechanics: MechanicsParameters {
            rpm: 6000.0,
            seek: SeekCurve::Constant { ms: 2.0 },
            head_switch_ms: 0.0,
            write_settle_ms: 0.0,
        },
        cache: CacheParameters { read_ahead: ReadAhead::None, ..CacheParameters::default() },
        overheads: Overheads::default(),
        bus_sector_ms: 0.0,
        bus_write_sector_ms: 0.0,
    }
}

fn ask(disk: &mut HardDisk, at: Nanos, operation: Operation, sector: u64, sectors: u64) -> Nanos {
    disk.serve(at, &Request { operation, sector, sectors }).finish - at
}

#[test]
fn the_bus_is_taken_again_when_there_is_something_to_take() {
    let mut with = plain();
    with.bus_sector_ms = 0.01;
    with.overheads.reselection = 0.5;
    with.overheads.preparation = 0.25;
    let mut disk = HardDisk::new(&with).unwrap();
    // Sector 50 is there after 5.1 ms.
    assert_eq!(ask(&mut disk, 0, Operation::Read, 50, 1), 5 * MS + 100_000 + 750_000 + 10_000);
    let mut disk = HardDisk::new(&with).unwrap();
    assert_eq!(ask(&mut disk, 0, Operation::Write, 50, 1), 5 * MS + 100_000 + 500_000);
}

#[test]
fn a_write_settles_sooner_than_a_read() {
    let mut with = plain();
    with.mechanics.write_settle_ms = -0.5;
    let mut disk = HardDisk::new(&with).unwrap();
    // The arm is there after 1.5 ms, before sector 16 of the track comes; a read needs 2 ms.
    assert_eq!(ask(&mut disk, 0, Operation::Write, 116, 1), MS + 700_000);
    let mut disk = HardDisk::new(&with).unwrap();
    assert_eq!(ask(&mut disk, 0, Operation::Read, 116, 1), 11 * MS + 700_000);
    // Never before it began.
    with.mechanics.write_settle_ms = -50.0;
    let mut disk = HardDisk::new(&with).unwrap();
    assert_eq!(ask(&mut disk, 0, Operation::Write, 116, 1), MS + 700_000);
}

#[test]
fn the_move_before_a_write_takes_its_time() {
    let mut with = plain();
    with.overheads.least_write_seek = 1.0;
    let mut disk = HardDisk::new(&with).unwrap();
    // On the track already, but sector 5 passes by before 1 ms is over.
    assert_eq!(ask(&mut disk, 0, Operation::Write, 5, 1), 10 * MS + 600_000);
    let mut disk = HardDisk::new(&with).unwrap();
    assert_eq!(ask(&mut disk, 0, Operation::Read, 5, 1), 600_000);
    // A move that takes longer takes as long as it does.
    let mut disk = HardDisk::new(&with).unwrap();
    assert_eq!(ask(&mut disk, 0, Operation::Write, 125, 1), 2 * MS + 600_000);
}

#[test]
fn a_write_behind_another_gives_the_bus_back_once_more() {
    let mut with = plain();
    with.overheads.write_miss = Overhead { after_read: 0.2, after_write: 0.2 };
    with.overheads.extra_disconnect = Some(ExtraDisconnect {
        command: 1.0,
        disconnect: 0.5,
        pause: 0.5,
        second_disconnect: 0.0,
        reselection: 0.25,
        seek_delay: 0.0,
    });
    let mut disk = HardDisk::new(&with).unwrap();
    assert_eq!(ask(&mut disk, 0, Operation::Write, 10, 1), MS + 100_000);
    // One that goes on where the last one ended does not.
    assert_eq!(ask(&mut disk, 10 * MS, Operation::Write, 11, 1), MS + 200_000);
    // Data are there after 2 ms: sector 15 has passed by.
    assert_eq!(ask(&mut disk, 20 * MS, Operation::Write, 15, 1), 11 * MS + 600_000 + 250_000);
    // Behind a read neither.
    ask(&mut disk, 40 * MS, Operation::Read, 20, 1);
    assert_eq!(ask(&mut disk, 50 * MS, Operation::Write, 15, 1), MS + 600_000);
}

#[test]
fn sectors_written_have_a_time_of_their_own_on_the_bus() {
    let mut with = plain();
    with.cache.writes = WriteReporting::Sequential;
    with.bus_sector_ms = 0.1;
    let mut disk = HardDisk::new(&with).unwrap();
    assert_eq!(ask(&mut disk, 0, Operation::Write, 10, 4), 400_000);
    with.bus_write_sector_ms = 0.2;
    let mut disk = HardDisk::new(&with).unwrap();
    assert_eq!(ask(&mut disk, 0, Operation::Write, 10, 4), 800_000);
}
