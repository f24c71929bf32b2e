use tandem_disk::profile::Profile;

use super::*;
use crate::record::DeviceIo;

fn record(time: u64, operation: Operation, sector: u64, sectors: u64) -> Record {
    let (offset, length) = (sector * SECTOR, sectors * SECTOR);
    Record { time, operation, offset, length, service: Some(1), hit: None, device: 0 }
}

/// Two phases on one disk with two devices, and what is between them, which belongs to neither.
fn executed(counted: u64) -> (tempfile::TempDir, Executed, Result<(), StageError>) {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("disk.tdt.zst");
    let inner = outer_bytes(1 << 30) / SECTOR;
    let mut sink = trace::create(&trace, Format::Tandem).unwrap();
    for record in [
        record(5, Operation::Write, 0, 8),
        record(10, Operation::Write, 64, 8),
        record(11, Operation::Write, inner + 4096, 16),
        record(12, Operation::Flush, 0, 0),
        record(25, Operation::Write, inner, 800),
        record(31, Operation::Read, inner + 500_000, 8),
    ] {
        sink.write(&record).unwrap();
    }
    sink.finish().unwrap();
    let profile = Box::new(Profile::find("st34310a").unwrap());
    let parts = vec!["metadata", "data"];
    let store = Store { place: Place::Drive(profile), size: 1 << 30, real_time: false, parts };
    let device = |name: &str, sectors| DeviceIo {
        name: name.into(),
        write_sectors: sectors,
        ..DeviceIo::default()
    };
    let phase = |name: &str, sectors| Phase {
        name: name.into(),
        devices: vec![device("data", sectors), device("metadata", 0)],
        ..Phase::default()
    };
    let phases = vec![phase("one", counted), phase("two", 8)];
    let mut done = Executed { phases, ..Executed::default() };
    let marks = "3 mount 0\n10 begin 0\n20 end 0\n30 begin 1\n40 end 1\n";
    let result = cut(&store, marks, &trace, &dir.path().join("cut"), World::Host, &mut done);
    (dir, done, result)
}

#[test]
fn phases_have_their_requests() {
    let (dir, done, result) = executed(24);
    result.unwrap();
    assert_eq!(done.flags, []);
    let records = |at: usize| {
        let file = done.phases[at].devices[0].trace.clone().unwrap();
        let records = trace::open(Path::new(&file), trace::Options::default()).unwrap().1;
        records.map(|record| record.unwrap().time).collect::<Vec<_>>()
    };
    assert_eq!((records(0), records(1)), (vec![0, 1, 2], vec![1]));
    assert_eq!(std::fs::read_dir(dir.path().join("cut")).unwrap().count(), 3);
    let mounted = |at: usize| done.phases[at].values.get("mount_io_seconds").copied();
    assert!(mounted(0).is_some_and(|seconds| seconds > 0.0) && mounted(1).is_none());
}

#[test]
fn shares_make_the_whole() {
    let (_dir, done, result) = executed(24);
    result.unwrap();
    let one = &done.phases[0].devices;
    let file = one[0].trace.clone().unwrap();
    let mut drive = Profile::find("st34310a").unwrap().drive().unwrap();
    let records = trace::open(Path::new(&file), trace::Options::default()).unwrap().1;
    let options = Options { mode: Mode::Dependent, outside: Outside::Refuse };
    let whole = replay::replay(&mut drive, records, options, &mut |_| Ok(())).unwrap();
    let times: Vec<&DiskTime> = one.iter().map(|device| device.disk.as_ref().unwrap()).collect();
    let sum = |of: fn(&DiskTime) -> f64| times.iter().map(|time| of(time)).sum::<f64>();
    assert!((sum(|time| time.io_seconds) - whole.io_time_s).abs() < 1e-9);
    assert!((sum(|time| time.busy_seconds) - whole.busy_s).abs() < 1e-9);
    assert_eq!(sum(|time| time.seeks as f64) as u64, whole.seeks);
    assert!(times.iter().all(|time| time.io_seconds > 0.0), "{times:?}");
}

#[test]
fn counts_that_differ_are_marked() {
    let (_dir, done, result) = executed(24 + SLACK + 1);
    result.unwrap();
    assert_eq!(done.flags.len(), 1);
    assert_eq!(done.flags[0].rule, "counts-differ");
}

#[test]
fn a_mark_that_is_missing() {
    assert!(spans("10 begin 0\n", 1).is_err());
    assert!(spans("ten begin 0\n20 end 0\n", 1).is_err());
    let phase = Span { begin: 10, end: 20 };
    assert_eq!(spans("10 begin 0\n20 end 0\n", 1), Ok(vec![Spans { mount: None, phase }]));
}
