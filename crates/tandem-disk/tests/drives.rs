//! Drives as their users see them.

use proptest::prelude::*;
use tandem_disk::drive::{Completion, Drive, Policy, Queue};
use tandem_disk::profile::Profile;
use tandem_disk::replay::{Mode, Options, Outside, ReplayError, Report, replay};
use tandem_disk::request::{Cached, Operation, Request, SECTOR};
use tandem_disk::trace::Record;

fn drive(name: &str, policy: Policy) -> Drive {
    let profile = Profile::find(name).unwrap();
    Drive::new(&profile.medium, Queue { depth: 32, policy }).unwrap()
}

fn request(operation: Operation, sector: u64, sectors: u64) -> Request {
    Request { operation, sector, sectors }
}

fn all(drive: &mut Drive) -> Vec<Completion> {
    std::iter::from_fn(|| drive.complete(u64::MAX)).collect()
}

#[test]
fn elevator_goes_by_address() {
    let mut drive = drive("st39102lw", Policy::Elevator);
    for (tag, sector) in [(0, 5_000_000), (1, 9_000_000), (2, 1_000_000), (3, 7_000_000)] {
        drive.submit(0, tag, request(Operation::Read, sector, 8));
    }
    let order: Vec<u64> = all(&mut drive).iter().map(|done| done.tag).collect();
    assert_eq!(order, [2, 0, 3, 1]);
}

#[test]
fn shortest_first_beats_order_of_arrival() {
    let time = |policy| {
        let mut drive = drive("st39102lw", policy);
        for at in 0..32u64 {
            let sector = at * 7_919_191 % 17_000_000;
            drive.submit(0, at, request(Operation::Read, sector, 8));
        }
        all(&mut drive).last().unwrap().service.finish
    };
    assert!(time(Policy::Sstf) < time(Policy::Fcfs) * 3 / 4);
    assert!(time(Policy::Satf) < time(Policy::Sstf));
}

#[test]
fn io_time_begins_when_the_drive_has_a_request() {
    let time = |depth| {
        let medium = Profile::find("st39102lw").unwrap().medium;
        let mut drive = Drive::new(&medium, Queue { depth, policy: Policy::Fcfs }).unwrap();
        for at in 0..8u64 {
            drive.submit(0, at, request(Operation::Read, at * 1_000_000, 8));
        }
        let done = all(&mut drive);
        let service: u64 = done.iter().map(|one| one.service.finish - one.started).sum();
        (done.iter().map(Completion::io_time).sum::<u64>(), service, done)
    };
    // What waits before a drive that takes one at a time costs it nothing.
    let (one, service, _) = time(1);
    assert_eq!(one, service);
    let (two, _, done) = time(2);
    assert_eq!([done[0].accepted, done[1].accepted], [0, 0]);
    assert!((2..8).all(|at| done[at].accepted == done[at - 2].service.finish), "{done:?}");
    assert!(one < two && two < done.iter().map(|one| one.service.finish).sum());
}

#[test]
fn what_was_read_ahead_is_a_hit() {
    let mut drive = drive("st39102lw", Policy::Fcfs);
    drive.submit(0, 0, request(Operation::Read, 1_000_000, 8));
    let miss = drive.complete(u64::MAX).unwrap().service;
    assert_eq!(miss.cached, Cached::Miss);
    let later = miss.finish + 50_000_000;
    drive.submit(later, 1, request(Operation::Read, 1_000_008, 8));
    let hit = drive.complete(u64::MAX).unwrap().service;
    // The parameter file's 0.066 ms and 8 × 0.105 ms.
    assert_eq!((hit.cached, hit.finish - later), (Cached::Hit, 906_000));
}

#[test]
fn a_flush_waits_for_what_was_reported() {
    let mut drive = drive("hdd20t", Policy::Fcfs);
    drive.submit(0, 0, request(Operation::Write, 20_000_000_000, 8));
    let written = drive.complete(u64::MAX).unwrap().service.finish;
    assert!(written < 1_000_000, "{written} ns: not reported at once");
    drive.submit(written, 1, request(Operation::Flush, 0, 0));
    let flushed = drive.complete(u64::MAX).unwrap().service.finish;
    assert!(flushed > 4_000_000, "{flushed} ns: too soon for the medium");
}

/// Reads the first sectors of a track, which the drive goes on behind, has `writes` come meanwhile
/// to where they say counted from there, and asks for what lies before the track.
fn before_what_is_read_ahead(writes: &[i64]) -> Cached {
    const TRACK: u64 = 1000 * 431;
    let mut drive = drive("st34310a", Policy::Fcfs);
    let ask = |drive: &mut Drive, at, operation, sector| {
        drive.submit(at, 0, request(operation, sector, 8));
        drive.complete(u64::MAX).unwrap().service
    };
    // More to write than can be written before the read, which then goes first.
    let far = |at: u64| 6_000_000 + at * 10_007;
    let mut now = 0;
    for at in 0..10 {
        now = ask(&mut drive, now, Operation::Write, far(at)).finish;
    }
    now = ask(&mut drive, now, Operation::Read, TRACK).finish;
    for write in writes {
        now = ask(&mut drive, now, Operation::Write, TRACK.wrapping_add_signed(*write)).finish;
    }
    ask(&mut drive, now + 1_500_000, Operation::Read, TRACK - 40).cached
}

#[test]
fn what_was_not_read_is_no_hit() {
    assert_eq!(before_what_is_read_ahead(&[]), Cached::Miss);
    // To what was read, in the segment that the drive reads on into.
    assert_eq!(before_what_is_read_ahead(&[0]), Cached::Miss);
    // So many that they take every segment.
    assert_eq!(before_what_is_read_ahead(&[-9000, -8000, -7000, -6000, -5000]), Cached::Miss);
}

#[test]
fn dies_work_side_by_side() {
    let time = |depth| {
        let profile = Profile::find("ssd-nvme").unwrap();
        let mut drive = Drive::new(&profile.medium, Queue { depth, policy: Policy::Fcfs }).unwrap();
        for at in 0..256u64 {
            drive.submit(0, at, request(Operation::Read, at * 6_700_417 % 3_000_000_000, 8));
        }
        all(&mut drive).last().unwrap().service.finish
    };
    assert!(time(1) > 10 * time(256), "{} {}", time(1), time(256));
}

fn records(count: u64) -> Vec<Record> {
    (0..count)
        .map(|at| Record {
            time: at * 20_000_000,
            operation: if at % 3 == 0 { Operation::Write } else { Operation::Read },
            offset: at / 4 * 7_919_191 % 4_000_000 * SECTOR + at % 4 * 4096,
            length: 4096,
            service: None,
            hit: None,
            device: 0,
        })
        .collect()
}

fn run(mode: Mode, outside: Outside, records: &[Record]) -> Result<Report, ReplayError> {
    let mut drive = Profile::find("st39102lw").unwrap().drive().unwrap();
    let records = records.iter().map(|record| Ok(*record));
    replay(&mut drive, records, Options { mode, outside }, &mut |_| Ok(()))
}

#[test]
fn open_and_closed() {
    let records = records(400);
    let open = run(Mode::Open, Outside::Refuse, &records).unwrap();
    let closed = run(Mode::Closed { depth: 1 }, Outside::Refuse, &records).unwrap();
    assert_eq!((open.requests, closed.requests), (400, 400));
    assert_eq!((open.reads.requests, open.writes.requests), (266, 134));
    assert!((7.9..8.1).contains(&open.elapsed_s), "{}", open.elapsed_s);
    assert!(closed.elapsed_s < open.elapsed_s);
    // One at a time, the drive is busy all the time, and the sum of responses is that.
    assert!((closed.busy_s - closed.elapsed_s).abs() < 1e-9);
    assert!((closed.io_time_s - closed.elapsed_s).abs() < 1e-9);
    assert!((open.sequential - 0.75).abs() < 0.01, "{}", open.sequential);
    assert_eq!(open.sizes, [(4096, 400)]);
}

/// Rates outside, in MB/s, as the profiles' sources have them. With skews that left out the write settle each
/// track took two revolutions to write.
#[test]
fn what_is_sequential_streams() {
    for (name, rate) in [
        ("st34310a", 17.0),
        ("st3500641as", 65.0),
        ("wd1600jb", 48.6),
        ("ata80-5400", 40.0),
        ("hdd20t", 285.0),
    ] {
        for operation in [Operation::Read, Operation::Write] {
            // Half a minute's worth: what is left in a cache of writes counts for little.
            let (length, count) = (128 << 10, 32 * rate as u64 * 8);
            let records = (0..count).map(|at| {
                let offset = at * length;
                let (service, hit) = (None, None);
                Ok(Record { time: 0, operation, offset, length, service, hit, device: 0 })
            });
            let mut drive = Profile::find(name).unwrap().drive().unwrap();
            let options = Options { mode: Mode::Closed { depth: 1 }, outside: Outside::Refuse };
            let report = replay(&mut drive, records, options, &mut |_| Ok(())).unwrap();
            let got = report.bytes as f64 / 1e6 / report.elapsed_s;
            assert!((0.93..1.1).contains(&(got / rate)), "{name} {operation:?}: {got} MB/s");
        }
    }
}

#[test]
fn requests_beyond_the_end() {
    let mut records = records(4);
    records[2].offset = 20_000_000 * SECTOR;
    let error = run(Mode::Open, Outside::Refuse, &records).unwrap_err();
    assert!(matches!(error, ReplayError::Beyond { record: 3, .. }), "{error}");
    let scaled = run(Mode::Open, Outside::Scale(0.8), &records).unwrap();
    assert_eq!(scaled.requests, 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is asked of whatever drive: every request is done once, not before it was asked,
    /// and the same again gives the same.
    #[test]
    fn every_request_is_done(
        name in prop::sample::select(vec!["st39102lw", "st34310a", "hdd20t", "ssd-sata", "ram"]),
        policy in prop::sample::select(vec![
            Policy::Fcfs, Policy::Elevator, Policy::Sstf, Policy::Satf
        ]),
        asked in proptest::collection::vec((0u64..8_000_000, 0u64..600, 0u8..12, 0u64..9_000_000), 1..120),
    ) {
        let go = || {
            let mut drive = drive(name, policy);
            let (mut now, mut done) = (0, Vec::new());
            for (tag, &(sector, sectors, kind, later)) in asked.iter().enumerate() {
                now += later;
                while let Some(completion) = drive.complete(now) {
                    done.push(completion);
                }
                let operation = match kind {
                    0 => Operation::Flush,
                    1 => Operation::Discard,
                    2..6 => Operation::Write,
                    _ => Operation::Read,
                };
                drive.submit(now, tag as u64, request(operation, sector, sectors));
            }
            done.extend(all(&mut drive));
            done
        };
        let done = go();
        prop_assert_eq!(done.len(), asked.len());
        let mut tags: Vec<u64> = done.iter().map(|d| d.tag).collect();
        tags.sort_unstable();
        tags.dedup();
        prop_assert_eq!(tags.len(), asked.len());
        for pair in done.windows(2) {
            prop_assert!(pair[0].service.finish <= pair[1].service.finish);
        }
        for d in &done {
            prop_assert!(d.submitted <= d.started && d.started <= d.service.finish, "{d:?}");
        }
        prop_assert_eq!(go(), done);
    }
}
