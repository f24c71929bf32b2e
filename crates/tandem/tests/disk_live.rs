//! `tandem disk emulate` and `tandem disk trace`, which need a running kernel. Root only.

mod common;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::program::{self, run};

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");

/// An emulated disk, unmounted at the end whatever happens.
struct Disk {
    dir: tempfile::TempDir,
    server: Option<Child>,
}

impl Disk {
    fn new(options: &[&str]) -> Disk {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        std::fs::create_dir(dir.path().join("mnt")).unwrap();
        let mut server = Command::new(TANDEM)
            .args(["disk", "emulate", "image", "--mount", "mnt"])
            .args(options)
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let ready = lines.map_while(Result::ok).any(|line| line.starts_with("ready"));
        let disk = Disk { dir, server: Some(server) };
        assert!(ready, "the disk does not come up");
        disk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn open(&self, name: &str) -> File {
        OpenOptions::new().read(true).write(true).open(self.path("mnt").join(name)).unwrap()
    }

    fn stats(&self) -> serde_json::Value {
        let text = std::fs::read_to_string(self.path("mnt/disk.stats")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Unmounts, and gives the server's exit status.
    fn end(&mut self) -> bool {
        run(Command::new("umount").arg(self.path("mnt"))).must();
        let server = self.server.take().unwrap();
        program::wait(server, Duration::from_secs(20)).is_some_and(|status| status.success())
    }

    fn records(&self, trace: &str) -> Vec<String> {
        let out = self.path("out.blkparse");
        let convert = ["disk", "convert"];
        run(Command::new(TANDEM).args(convert).arg(self.path(trace)).arg(&out)).must();
        let text = std::fs::read_to_string(out).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = Command::new("umount").arg("-l").arg(self.path("mnt")).status();
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("not run: needs root");
    }
    root
}

#[test]
fn bytes_come_back_and_requests_are_written_down() {
    if !root() {
        return;
    }
    let mut disk = Disk::new(&["--size", "16M", "--trace", "run.tdt.zst"]);
    let file = disk.open("disk");
    file.write_all_at(&[7; 8192], 4096).unwrap();
    file.sync_all().unwrap();
    let mut buf = [0; 512];
    file.read_exact_at(&mut buf, 8192).unwrap();
    assert_eq!(buf, [7; 512]);
    assert!(file.write_all_at(&[1], 16 << 20).is_err());
    let stats = disk.stats();
    assert_eq!(stats["requests"]["writes"], 1);
    assert_eq!(stats["requests"]["flushes"], 1);
    assert_eq!(stats["requests"]["reads"], 1);
    drop(file);
    assert!(disk.end());
    let image = std::fs::read(disk.path("image")).unwrap();
    assert_eq!((image.len(), &image[4096..12288]), (16 << 20, &[7; 8192][..]));
    let records = disk.records("run.tdt.zst").join("\n");
    assert!(records.contains("W 8 + 16"), "{records}");
    assert!(records.contains("R 16 + 1"), "{records}");
}

#[test]
fn two_areas_of_one_disk() {
    if !root() {
        return;
    }
    let mut disk = Disk::new(&["--size", "100M", "--split", "10"]);
    disk.open("disk.outer").write_all_at(b"outer", 0).unwrap();
    disk.open("disk.inner").write_all_at(b"inner", 0).unwrap();
    let sizes = ["disk.outer", "disk.inner"].map(|name| disk.open(name).metadata().unwrap().len());
    assert_eq!(sizes.iter().sum::<u64>(), 100 << 20);
    assert!(disk.end());
    let image = std::fs::read(disk.path("image")).unwrap();
    assert_eq!(&image[..5], b"outer");
    assert_eq!(&image[sizes[0] as usize..][..5], b"inner");
}

#[test]
fn faults_as_told() {
    if !root() {
        return;
    }
    let mut disk = Disk::new(&["--size", "16M", "--faults", "read:error,at=1m+4k"]);
    let file = disk.open("disk");
    let mut buf = [0; 4096];
    file.read_exact_at(&mut buf, 0).unwrap();
    let error = file.read_exact_at(&mut buf, 1 << 20).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
    file.read_exact_at(&mut buf, 2 << 20).unwrap();
    drop(file);
    assert!(disk.end());
}

#[test]
fn a_drive_takes_its_time() {
    if !root() {
        return;
    }
    let mut disk = Disk::new(&["--size", "1G", "--profile", "st34310a", "--trace", "run.tdt"]);
    let file = disk.open("disk");
    let mut buf = [0; 4096];
    // From one end to the other: the time is the drive's, which has a seek and a turn for each.
    for i in 0..20u64 {
        file.read_exact_at(&mut buf, i % 2 * (900 << 20) + i * (1 << 20)).unwrap();
    }
    drop(file);
    let drive = &disk.stats()["drive"];
    assert_eq!(drive["requests"], 20);
    let io_time = drive["io_ns"].as_u64().unwrap();
    let mean = drive["service_ns"].as_u64().unwrap() / 20;
    assert!((3_000_000..30_000_000).contains(&mean), "{mean} ns");
    assert!(disk.end());
    let replayed = run(Command::new(TANDEM)
        .args(["disk", "replay", "run.tdt", "--profile", "st34310a", "--json"])
        .current_dir(disk.dir.path()))
    .must();
    let replayed: serde_json::Value = serde_json::from_str(&replayed.out).unwrap();
    assert_eq!(replayed["requests"], 20);
    // The same requests at the same times: the same drive, however late the machine was.
    let nanos = replayed["io_time_s"].as_f64().unwrap() * 1e9;
    assert_eq!(nanos.round() as u64, io_time);
}

#[test]
fn a_file_system_on_an_emulated_disk_traced() {
    if !root() || !program::have_all(&["mkfs.ext4", "losetup"]) {
        return;
    }
    let mut disk = Disk::new(&["--size", "64M"]);
    let script = r#"
        set -e
        dev=$(losetup --find --show "$1/mnt/disk")
        trap 'umount "$1/fs" 2>/dev/null || true; losetup -d "$dev"' EXIT
        mkdir "$1/fs"
        mkfs.ext4 -q "$dev"
        mount "$dev" "$1/fs"
        "$2" disk trace --device "$dev" --sync --out "$1/t.tdt" -- dd if=/dev/zero of="$1/fs/f" bs=64k count=16 status=none
        umount "$1/fs"
        fsck.ext4 -fn "$dev"
    "#;
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(disk.dir.path()).arg(TANDEM);
    run(&mut command).must();
    assert!(disk.end());
    let records = disk.records("t.tdt");
    let written: u64 = records
        .iter()
        .filter(|line| line.contains(" W"))
        .filter_map(|line| line.split(" + ").nth(1)?.split(' ').next()?.parse::<u64>().ok())
        .sum();
    assert!(written >= 16 * 128, "{written} sectors:\n{}", records.join("\n"));
}

#[test]
fn a_killed_disk_loses_nothing_that_it_answered() {
    if !root() {
        return;
    }
    let mut disk = Disk::new(&["--size", "16M"]);
    let file = disk.open("disk");
    for at in 0..64u64 {
        file.write_all_at(&[at as u8 + 1; 4096], at * 65_536).unwrap();
    }
    let mut server = disk.server.take().unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(file.write_all_at(&[0; 4096], 0).is_err());
    drop(file);
    run(Command::new("umount").arg("-l").arg(disk.path("mnt"))).must();
    let image = std::fs::read(disk.path("image")).unwrap();
    for at in 0..64 {
        assert_eq!(image[at * 65_536..][..4096], [at as u8 + 1; 4096]);
    }
}

#[test]
fn what_cannot_be() {
    let dir = tempfile::tempdir().unwrap();
    let emulate = |args: &[&str]| {
        run(Command::new(TANDEM).args(["disk", "emulate"]).args(args).current_dir(dir.path()))
            .must_fail()
    };
    let mount = dir.path().to_str().unwrap();
    emulate(&["image", "--mount", mount]).says(&["image", "--size"]);
    emulate(&["image", "--mount", "nowhere", "--size", "1M"]).says(&["nowhere"]);
    emulate(&["image", "--mount", mount, "--profile", "zx81"]).says(&["zx81", "st34310a"]);
    emulate(&["image", "--mount", mount, "--size", "1M", "--faults", "read:melt"]).says(&["melt"]);
    emulate(&["image", "--mount", mount, "--size", "90G", "--profile", "st34310a"])
        .says(&["st34310a", "do not fit"]);
    emulate(&["image", "--mount", mount, "--size", "0"]).says(&["0 bytes", "sectors"]);
    emulate(&["image", "--mount", mount, "--size", "1000"]).says(&["1000 bytes", "sectors"]);
    assert!(!dir.path().join("image").exists());
    let missing = run(Command::new(TANDEM).args(["disk", "trace", "--out", "t"])).must_fail();
    missing.says(&["COMMAND"]);
}
