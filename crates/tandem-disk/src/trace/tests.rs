use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn record() -> impl Strategy<Value = Record> {
    let operation = prop_oneof![
        Just(Operation::Read),
        Just(Operation::Write),
        Just(Operation::Flush),
        Just(Operation::Discard)
    ];
    let service = proptest::option::of(0u64..50_000);
    let hit = proptest::option::of(any::<bool>());
    (0u64..1_000_000, operation, 0u64..1 << 40, 1u64..2048, service, hit, 0u32..4).prop_map(
        |(time, operation, sector, sectors, service, hit, device)| {
            let flush = operation == Operation::Flush;
            let offset = if flush { 0 } else { sector * SECTOR };
            let length = if flush { 0 } else { sectors * SECTOR };
            // Microseconds, which every format can hold.
            let (time, service) = (time * 1000, service.map(|s| s * 1000));
            Record { time, operation, offset, length, service, hit, device }
        },
    )
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    proptest::collection::vec(record(), 1..40).prop_map(|mut records| {
        records.sort_by_key(|record| record.time);
        // Two of a kind to one place at once cannot be told apart by their completions.
        let mut seen = std::collections::HashSet::new();
        records.retain(|r| seen.insert((r.device, r.operation, r.offset)));
        let first = records[0].time;
        records.iter_mut().for_each(|record| record.time -= first);
        records
    })
}

fn write(path: &Path, format: Format, records: &[Record]) -> Result<(), TraceError> {
    let mut sink = create(path, format)?;
    records.iter().try_for_each(|record| sink.write(record))?;
    sink.finish()
}

fn read(path: &Path) -> Result<Vec<Record>, TraceError> {
    open(path, Options::default())?.1.collect()
}

/// What a format cannot hold, taken away.
fn held(format: Format, record: &Record) -> Option<Record> {
    let mut kept = *record;
    let plain = matches!(kept.operation, Operation::Read | Operation::Write);
    match format {
        Format::Tandem => {}
        Format::Blktrace | Format::Blkparse => kept.hit = None,
        Format::Fio2 | Format::Fio3 => {
            kept.hit = None;
            kept.service = None;
        }
        Format::Msr => {
            kept.hit = None;
            kept.service = Some(kept.service.unwrap_or(0));
        }
        Format::Disksim => {
            kept.service = Some(kept.service.unwrap_or(0));
            kept.hit = Some(kept.hit.unwrap_or(true));
            kept.device = 0;
        }
    }
    (plain || !matches!(format, Format::Msr | Format::Disksim)).then_some(kept)
}

fn file(dir: &tempfile::TempDir, format: Format, ending: &str) -> PathBuf {
    let name = if format == Format::Blktrace { "t.bin" } else { "t.any" };
    dir.path().join(format!("{name}{ending}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn round_trips(records in records(), ending in prop_oneof![Just(""), Just(".zst"), Just(".gz")]) {
        let dir = tempfile::tempdir().unwrap();
        for format in Format::ALL {
            let mut kept: Vec<Record> = records.iter().filter_map(|r| held(format, r)).collect();
            if format == Format::Disksim {
                // It holds gaps between a completion and the next arrival.
                let mut time = 0;
                for record in &mut kept {
                    record.time = time;
                    time += record.service.unwrap_or(0) + 5000;
                }
            } else if let Some(first) = kept.first().map(|record| record.time) {
                kept.iter_mut().for_each(|record| record.time -= first);
            }
            if kept.is_empty() {
                continue;
            }
            let path = file(&dir, format, ending);
            write(&path, format, &kept).unwrap();
            prop_assert_eq!(&read(&path).unwrap(), &kept, "{:?}", format);
        }
    }

    #[test]
    fn damage_is_noticed(records in records(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
        let dir = tempfile::tempdir().unwrap();
        let path = file(&dir, Format::Tandem, "");
        write(&path, Format::Tandem, &records).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        std::fs::write(&path, &bytes).unwrap();
        prop_assert!(read(&path).is_err(), "byte {at}");
        bytes[at] ^= 1 << bit;
        bytes.truncate(at);
        std::fs::write(&path, &bytes).unwrap();
        prop_assert!(read(&path).is_err(), "cut at {at}");
    }

    #[test]
    fn garbage_does_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400), at in 0usize..7) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t");
        std::fs::write(&path, &bytes).unwrap();
        let options = Options { format: Some(Format::ALL[at]), sort: 0 };
        if let Ok((_, records)) = open(&path, options) {
            let _ = records.take(1000).collect::<Result<Vec<_>, _>>();
        }
    }
}

#[test]
fn writes_with_more_disconnects_waited_for_the_medium() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    std::fs::write(&path, "W Doub 8 4 100.0 5.0\nW Trip 16 4 100.0 5.0\nR Hit 8 4 1.0 5.0\n")
        .unwrap();
    let (format, records) = open(&path, Options::default()).unwrap();
    let hits: Vec<_> = records.map(|record| record.unwrap().hit).collect();
    assert_eq!((format, hits), (Format::Disksim, vec![Some(false), Some(false), Some(true)]));
}

fn error_of(text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    std::fs::write(&path, text).unwrap();
    read(&path).unwrap_err().to_string()
}

#[test]
fn errors_name_the_place() {
    let good = "R Hit 8 4 100.0 5.0\n";
    assert!(error_of(&format!("{good}X Hit 8 4 1 1\n")).contains("line 2"));
    assert!(error_of(&format!("{good}R Hit 8 4 100.0\n")).contains("line 2: gap is missing"));
    assert!(error_of(&format!("{good}R Hit 99999999999999999999 4 1 1\n")).contains("LBN"));
    let fio = "fio version 2 iolog\nf read 0 4096\nf jump 0 4096\n";
    assert!(error_of(fio).contains("line 3: `jump`"));
    let msr = "128166372003061629,h,0,Read,0,512,10\n128166372003061620,h,0,Read,0,512,10\n";
    assert!(error_of(msr).contains("line 2"));
    let fio = "fio version 3 iolog\n20 f read 0 512\n10 f read 0 512\n";
    assert!(error_of(fio).contains("record 2: 10000 ns earlier"));
    assert!(error_of("what is this\n").contains("no known format"));
    let queued = "8,0 1 1 0.000000001 5 Q R 8 + 8 [x]\n";
    assert!(error_of(queued).contains("no issues"));
}

#[test]
fn sorting_puts_records_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let text = "fio version 3 iolog\n20 f read 0 512\n20 f read 512 512\n10 f read 1024 512\n";
    std::fs::write(&path, text).unwrap();
    let (_, records) = open(&path, Options { format: None, sort: 4 }).unwrap();
    let offsets: Vec<u64> = records.map(|r| r.unwrap().offset).collect();
    assert_eq!(offsets, [1024, 0, 512]);
}

#[test]
fn blkparse_is_read_as_it_prints() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let text = "  8,0    3        1     0.000000000   697  A   W 223490 + 8 <- (8,1) 223427\n  \
                8,0    3        2     0.000000829   697  Q   W 223490 + 8 [kjournald]\n  \
                8,0    3        3     0.000009507   697  D   W 223490 + 8 [kjournald]\n  \
                8,0    3        4     0.000011507   697  D  FN [kworker]\n  \
                8,0    1        1     0.000119507     0  C   W 223490 + 8 [0]\n  \
                8,0    1        2     0.000219507     0  C  FN 0 [0]\n\
                CPU0 (sda):\n Reads Queued:           0,        0KiB\n";
    std::fs::write(&path, text).unwrap();
    let records = read(&path).unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!((records[0].offset, records[0].length), (223_490 * 512, 4096));
    assert_eq!(records[0].service, Some(110_000));
    assert_eq!(records[0].device, 8 << 20);
    assert_eq!((records[1].operation, records[1].service), (Operation::Flush, Some(208_000)));
}

#[test]
fn blktrace_cut_off_and_of_several_cpus() {
    let dir = tempfile::tempdir().unwrap();
    let all: Vec<Record> = (0..8u64)
        .map(|at| Record {
            time: at * 1000,
            operation: Operation::Read,
            offset: at * 4096,
            length: 4096,
            service: Some(500),
            hit: None,
            device: 0,
        })
        .collect();
    for cpu in 0..2usize {
        let path = dir.path().join(format!("sda.blktrace.{cpu}"));
        let part: Vec<Record> = all.iter().skip(cpu).step_by(2).copied().collect();
        write(&path, Format::Blktrace, &part).unwrap();
    }
    assert_eq!(read(&dir.path().join("sda.blktrace.1")).unwrap(), all);
    assert_eq!(read(&dir.path().join("sda")).unwrap(), all);
    let path = dir.path().join("cut");
    let bytes = std::fs::read(dir.path().join("sda.blktrace.0")).unwrap();
    std::fs::write(&path, &bytes[..100]).unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("byte 96: cut off: 4 of 48"));
}

/// What Linux 6.18 reports of a flush, as blkparse 1.3.0 prints it.
#[test]
fn a_flush_as_the_kernel_traces_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.txt");
    let text = "  7,1    1      173     0.003721143 24504  D  WS 0 + 8 [(null)]
  7,1    1      174     0.003725141 24504  Q FWS [(null)]
  7,1    1      175     0.003725583 24504  G FWS [(null)]
  7,1    1      176     0.003726500 24504  D  FN [(null)]
  7,1    1      184     0.003742411    22  C  FN 0 [0]
  7,1    1      185     0.003744635    22  C  WS 0 [0]
  7,1    1      186     0.003749143    22  C  WS 0 + 8 [0]
  7,1    1      188     0.023220386 24504  P   N [(null)]
  7,1    1      189     0.023221398 24504  U   N [(null)] 1
";
    std::fs::write(&path, text).unwrap();
    let found = read(&path).unwrap();
    let service = |at: usize| found[at].service;
    assert_eq!(
        found.iter().map(|r| r.operation).collect::<Vec<_>>(),
        [Operation::Write, Operation::Flush]
    );
    assert_eq!((service(0), service(1)), (Some(28_000), Some(15_911)));
    // The same in binary, beside the empty file of a CPU that had nothing to do.
    let raw = |time: u64, sector: u64, bytes: u32, action: u32| {
        let mut raw = Vec::new();
        raw.extend_from_slice(&blktrace::MAGIC.to_le_bytes());
        raw.extend_from_slice(&0u32.to_le_bytes());
        raw.extend_from_slice(&time.to_le_bytes());
        raw.extend_from_slice(&sector.to_le_bytes());
        [bytes, action, 1, 7 << 20 | 1, 1, 0].iter().for_each(|w| raw.extend(w.to_le_bytes()));
        raw
    };
    let events = [
        raw(1000, 0, 4096, 0x014a_0007),
        raw(2000, 0, 0, 0x0145_0007),
        raw(3000, 0, 0, 0x0185_0008),
        raw(4000, 0, 0, 0x018a_0008),
        raw(5000, 0, 4096, 0x018a_0008),
    ];
    std::fs::write(dir.path().join("b.blktrace.0"), []).unwrap();
    std::fs::write(dir.path().join("b.blktrace.1"), events.concat()).unwrap();
    let found = read(&dir.path().join("b.blktrace.0")).unwrap();
    let services: Vec<_> = found.iter().map(|r| (r.operation, r.service)).collect();
    assert_eq!(services, [(Operation::Write, Some(4000)), (Operation::Flush, Some(1000))]);
}

#[test]
fn an_iolog_of_too_many_files_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut sink = create(&dir.path().join("t.iolog"), Format::Fio3).unwrap();
    let record = |device| Record {
        time: 0,
        operation: Operation::Read,
        offset: 0,
        length: 512,
        service: None,
        hit: None,
        device,
    };
    let error = (0..70_000).find_map(|device| sink.write(&record(device)).err()).unwrap();
    assert!(error.to_string().contains("65,536"), "{error}");
}
