//! Replays that keep a trace's dependences.

use proptest::prelude::*;
use tandem_disk::drive::Completion;
use tandem_disk::profile::Profile;
use tandem_disk::replay::{Mode, Options, Outside, ReplayError, replay};
use tandem_disk::request::{Operation, SECTOR};
use tandem_disk::trace::Record;

/// What came of every request, in the order of the trace.
fn run(name: &str, mode: Mode, records: &[Record]) -> Result<Vec<Completion>, ReplayError> {
    let mut drive = Profile::find(name).unwrap().drive().unwrap();
    let mut done = Vec::new();
    let options = Options { mode, outside: Outside::Refuse };
    replay(&mut drive, records.iter().map(|record| Ok(*record)), options, &mut |finished| {
        done.push(finished.completion);
        Ok(())
    })?;
    done.sort_by_key(|completion| completion.tag);
    Ok(done)
}

fn record(time: u64, service: Option<u64>, sector: u64) -> Record {
    let (operation, offset) = (Operation::Read, sector * SECTOR);
    Record { time, operation, offset, length: 4096, service, hit: None, device: 0 }
}

fn somewhere(at: u64) -> u64 {
    at * 7_919_191 % 8_000_000
}

#[test]
fn who_waited_waits() {
    let serial: Vec<Record> =
        (0..200).map(|at| record(at * 900, Some(700), somewhere(at))).collect();
    for name in ["st34310a", "ssd-sata"] {
        let dependent = run(name, Mode::Dependent, &serial).unwrap();
        assert_eq!(dependent, run(name, Mode::Closed { depth: 1 }, &serial).unwrap());
    }
}

#[test]
fn what_was_queued_is_queued() {
    // Bursts of 16 that end long after they have come, on a disk that chooses among them.
    let burst = |at: u64| record(at / 16 * 100_000 + at % 16, Some(50_000), somewhere(at));
    let records: Vec<Record> = (0..160).map(burst).collect();
    let dependent = run("hdd20t", Mode::Dependent, &records).unwrap();
    assert_eq!(dependent[..16], run("hdd20t", Mode::Closed { depth: 16 }, &records[..16]).unwrap());
    for burst in dependent.chunks(16) {
        assert!(burst.iter().all(|done| done.submitted == burst[0].submitted));
    }
    let alone = run("hdd20t", Mode::Closed { depth: 1 }, &records).unwrap();
    let end = |done: &[Completion]| done.iter().map(|done| done.service.finish).max();
    assert!(end(&dependent) < end(&alone));
}

#[test]
fn service_times_are_needed() {
    let untimed: Vec<Record> = (0..4).map(|at| record(at, None, somewhere(at))).collect();
    let error = run("ram", Mode::Dependent, &untimed).unwrap_err();
    assert!(matches!(error, ReplayError::Untimed { record: 1 }), "{error}");
}

#[test]
fn nobody_waits_for_what_never_ended() {
    let mut records: Vec<Record> =
        (0..3).map(|at| record(at * 10, Some(5), somewhere(at))).collect();
    records[1].service = None;
    let done = run("st34310a", Mode::Dependent, &records).unwrap();
    assert_eq!(done[2].submitted, done[1].submitted);
    assert_eq!(done[1].submitted, done[0].service.finish);
}

fn requests() -> impl Strategy<Value = Vec<Record>> {
    let one = (0u64..40_000, proptest::option::weighted(0.95, 0u64..60_000), 0u64..8_000_000, 0..8);
    proptest::collection::vec(one, 1..150).prop_map(|all| {
        let mut time = 0;
        let records = all.into_iter().enumerate().map(|(at, (later, service, sector, kind))| {
            time += later;
            let service = if at == 0 { service.or(Some(1)) } else { service };
            match kind {
                0 => Record { operation: Operation::Flush, length: 0, ..record(time, service, 0) },
                1..4 => Record { operation: Operation::Write, ..record(time, service, sector) },
                _ => record(time, service, sector),
            }
        });
        records.collect()
    })
}

const DRIVES: [&str; 4] = ["st34310a", "hdd20t", "ssd-sata", "ram"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each is submitted with the last of those that it may have waited for, by the definition.
    #[test]
    fn by_definition(name in prop::sample::select(DRIVES.to_vec()), records in requests()) {
        let done = run(name, Mode::Dependent, &records).unwrap();
        let mut submitted = 0;
        for (at, record) in records.iter().enumerate() {
            let waited = records[..at].iter().zip(&done);
            let waited = waited.filter(|(r, _)| r.finish().is_some_and(|end| end <= record.time));
            let last = waited.map(|(_, done)| done.service.finish).max().unwrap_or(0);
            submitted = submitted.max(last);
            prop_assert_eq!(done[at].submitted, submitted);
        }
    }

    /// A closed run's own trace gives that run again.
    #[test]
    fn a_closed_run_again(
        name in prop::sample::select(DRIVES.to_vec()),
        depth in 1usize..20,
        records in requests(),
    ) {
        let closed = run(name, Mode::Closed { depth }, &records).unwrap();
        let traced: Vec<Record> = records.iter().zip(&closed).map(|(record, done)| {
            let service = Some(done.service.finish - done.submitted);
            Record { time: done.submitted, service, ..*record }
        }).collect();
        prop_assert_eq!(run(name, Mode::Dependent, &traced).unwrap(), closed);
    }
}
