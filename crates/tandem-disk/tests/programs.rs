//! Traces beside the programs whose formats they have: fio, blkparse and blktrace, where these are
//! installed and may be used.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tandem_disk::request::Operation;
use tandem_disk::trace::{Format, Options, Record, create, open};

/// Whether a program can be run; says so when not.
fn there_is(program: &str) -> bool {
    let mut tried = Command::new(program);
    tried.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let there = tried.status().is_ok();
    if !there {
        eprintln!("not run: {program} is not installed");
    }
    there
}

fn run(command: &mut Command) -> String {
    let out = command.output().unwrap();
    let (text, errors) = (String::from_utf8(out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{command:?}: {errors}");
    text.unwrap()
}

fn records() -> Vec<Record> {
    let record = |at: u64| Record {
        time: at * 1_000_000,
        operation: if at.is_multiple_of(3) { Operation::Write } else { Operation::Read },
        offset: at * 7919 % 200 * 4096,
        length: 4096,
        service: Some(400_000 + at * 1000),
        hit: None,
        device: 8 << 20,
    };
    (0..100).map(record).collect()
}

fn write(path: &Path, format: Format) {
    let mut sink = create(path, format).unwrap();
    records().iter().for_each(|record| sink.write(record).unwrap());
    sink.finish().unwrap();
}

fn read(path: &Path) -> Vec<Record> {
    open(path, Options::default()).unwrap().1.map(Result::unwrap).collect()
}

#[test]
fn blkparse_reads_ours_and_we_read_it() {
    if !there_is("blkparse") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("ours.blktrace.0"), Format::Blktrace);
    let printed = run(Command::new("blkparse").args(["-i", "ours"]).current_dir(&dir));
    // Behind the events blkparse prints its sums.
    let events: String = printed
        .lines()
        .take_while(|line| line.trim_start().starts_with("8,0"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let path = dir.path().join("printed.blkparse");
    std::fs::write(&path, events).unwrap();
    assert_eq!(read(&path), records());
    std::fs::write(&path, printed).unwrap();
    assert_eq!(read(&path), records());
}

#[test]
fn fio_replays_ours() {
    if !there_is("fio") {
        return;
    }
    for format in [Format::Fio2, Format::Fio3] {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("ours.iolog"), format);
        std::fs::write(dir.path().join("target"), vec![0; 1 << 20]).unwrap();
        let target = dir.path().join("target");
        let mut fio = Command::new("fio");
        fio.args(["--name=replay", "--read_iolog=ours.iolog", "--replay_no_stall=1"])
            .arg(format!("--replay_redirect={}", target.display()))
            .args(["--ioengine=psync", "--output-format=json", "--eta=never"])
            .current_dir(&dir);
        let report: serde_json::Value = serde_json::from_str(&run(&mut fio)).unwrap();
        let job = &report["jobs"][0];
        let writes = records().iter().filter(|r| r.operation == Operation::Write).count();
        assert_eq!(job["write"]["total_ios"], writes, "{format:?}");
        assert_eq!(job["read"]["total_ios"], 100 - writes, "{format:?}");
    }
}

#[test]
fn we_read_fios() {
    if !there_is("fio") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut fio = Command::new("fio");
    fio.args(["--name=w", "--rw=randrw", "--size=256k", "--bs=4k", "--filename=file"])
        .args(["--fsync=8", "--write_iolog=theirs.iolog", "--ioengine=psync", "--eta=never"])
        .args(["--output-format=json"])
        .current_dir(&dir);
    let report: serde_json::Value = serde_json::from_str(&run(&mut fio)).unwrap();
    let theirs = read(&dir.path().join("theirs.iolog"));
    let count = |operation| theirs.iter().filter(|r| r.operation == operation).count();
    let job = &report["jobs"][0];
    assert_eq!(job["read"]["total_ios"], count(Operation::Read));
    assert_eq!(job["write"]["total_ios"], count(Operation::Write));
    assert!(count(Operation::Flush) > 0);
    let moved = theirs.iter().filter(|r| r.operation != Operation::Flush);
    assert_eq!(moved.map(|r| r.length).sum::<u64>(), 256 << 10);
}

/// A loop device over a file, taken down at the end.
struct Loop(String);

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn we_read_blktraces() {
    if !there_is("blktrace") || !rustix::process::geteuid().is_root() {
        eprintln!("not run: needs root and blktrace");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("image"), vec![0; 1 << 20]).unwrap();
    let name = run(Command::new("losetup").args(["-f", "--show", "image"]).current_dir(&dir));
    let device = Loop(name.trim().to_string());
    let mut traced = Command::new("blktrace");
    traced.args(["-d", &device.0, "-o", "theirs"]).current_dir(&dir);
    let mut traced = traced.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let files = Path::new("/sys/kernel/debug/block").join(device.0.trim_start_matches("/dev/"));
    let began = Instant::now();
    while !files.join("dropped").exists() {
        if let Some(status) = traced.try_wait().unwrap() {
            eprintln!("not run: blktrace may not trace here ({status})");
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "blktrace does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    let to = format!("of={}", device.0);
    let dd = ["if=/dev/zero", &to, "bs=4k", "count=16", "oflag=direct"];
    run(Command::new("dd").args(dd));
    run(Command::new("kill").args(["-INT", &traced.id().to_string()]));
    let status = traced.wait().unwrap();
    if !dir.path().join("theirs.blktrace.0").exists() {
        eprintln!("not run: blktrace may not trace here ({status})");
        return;
    }
    let theirs = read(&dir.path().join("theirs"));
    let written = theirs.iter().filter(|r| r.operation == Operation::Write);
    assert_eq!(written.map(|r| r.length).sum::<u64>(), 16 * 4096);
}
