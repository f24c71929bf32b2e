//! Runs of the lab, small ones: real devices, real file systems, another kernel. Root only.

#[path = "lab_stage/memory.rs"]
mod memory;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tandem_lab::peer::{self, Peer, World};
use tandem_lab::record::{Levels, Metric, Phase};
use tandem_lab::stage::{self, Executed, Setup, StageError};
use tandem_lab::workload::WorkloadSpec;

const TANDEM: &str = env!("CARGO_BIN_EXE_tandem");
const DISK: (&str, &str) = ("disk", "st34310a");
const FILES: i64 = 300;
/// Tells the test that runs in a process of its own where it works, and on which file system.
const WORK: &str = "TANDEM_LAB_TEST_WORK";
const VICTIM: &str = "TANDEM_LAB_TEST_VICTIM";

fn setup(filesystem: &str, levels: &[(&str, &str)], work: &Path) -> Setup {
    let levels: Levels = levels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let parameters = BTreeMap::from([("count".to_owned(), toml::Value::Integer(FILES))]);
    Setup {
        id: "test".into(),
        levels,
        filesystem: filesystem.into(),
        mkfs: vec![],
        mount: String::new(),
        workload: WorkloadSpec { name: "io-bound".into(), parameters, processes: 2, seed: 1 },
        size: 1 << 30,
        memory: None,
        work: work.to_owned(),
        traces: work.join("traces"),
    }
}

/// Runs it; what is missing here is said, and skipped.
fn run(filesystem: &str, levels: &[(&str, &str)]) -> Option<Executed> {
    run_in(&std::env::temp_dir(), filesystem, levels)
}

fn run_in(dir: &Path, filesystem: &str, levels: &[(&str, &str)]) -> Option<Executed> {
    let work = tempfile::tempdir_in(dir).unwrap();
    let setup = setup(filesystem, levels, work.path());
    let name = format!("{filesystem} {levels:?}");
    match stage::execute_as(Path::new(TANDEM), &setup, &|_| ()) {
        Ok(done) => {
            nothing_left(work.path());
            judge(&name, peer::find(filesystem).unwrap(), &done);
            Some(done)
        }
        Err(StageError::Missing { what, .. }) => {
            eprintln!("skipped: {name}: {what} is missing");
            None
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

/// What must be so whatever the file system.
fn judge(name: &str, peer: &Peer, done: &Executed) {
    let names: Vec<&str> = done.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names.len(), 6, "{name}: {names:?}");
    for phase in &done.phases {
        let get = |metric| phase.metric(&metric).unwrap_or(0.0);
        assert!(phase.seconds > 0.0, "{name}: {phase:?}");
        assert!(get(Metric::CpuSeconds) > 0.0, "{name}: {phase:?}");
        assert!(phase.peak_memory > 100 << 10, "{name}: {phase:?}");
        let served = phase.cpu.iter().any(|cpu| cpu.role == "daemon");
        assert_eq!(served, !peer.daemons.is_empty(), "{name}: {phase:?}");
        let made = phase.values.values().sum::<f64>();
        assert!(made >= FILES as f64, "{name}: {phase:?}");
    }
    let sum = |metric: Metric| -> f64 {
        done.phases.iter().filter_map(|phase| phase.metric(&metric)).sum()
    };
    assert!(sum(Metric::SectorsWritten) > 0.0, "{name}");
    // Metadata in memory leave nothing to do for the disk.
    let ram = done.phases[0].devices.iter().any(|device| device.place == "ram");
    assert!(ram || sum(Metric::IoSeconds) > 0.0, "{name}");
    // The kernel and the emulated disk have counted the same.
    let wrong: Vec<_> = done.flags.iter().filter(|flag| flag.rule == "counts-differ").collect();
    assert!(wrong.is_empty(), "{name}: {wrong:?}");
}

fn nothing_left(work: &Path) {
    let work = work.canonicalize().unwrap();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let text = work.to_string_lossy().into_owned();
    assert!(!mounts.contains(&text), "{mounts}");
    for block in std::fs::read_dir("/sys/block").unwrap().flatten() {
        let backing = std::fs::read_to_string(block.path().join("loop/backing_file"));
        assert!(!backing.unwrap_or_default().contains(&text), "{:?}", block.path());
    }
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let own = process.file_name() == std::process::id().to_string().as_str();
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        assert!(own || !line.contains(&text), "{line}");
    }
    assert!(!work.join("stage").exists());
}

fn root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: not root");
    }
    root
}

fn device<'a>(phase: &'a Phase, name: &str) -> &'a tandem_lab::record::DeviceIo {
    phase.devices.iter().find(|device| device.name == name).unwrap()
}

#[test]
fn running_kernel() {
    if !root() {
        return;
    }
    for filesystem in ["ext2", "ext3", "ext4", "xfs", "btrfs"] {
        run(filesystem, &[DISK, ("world", "host")]);
    }
}

#[test]
fn tandem_on_one_disk() {
    if !root() {
        return;
    }
    let Some(done) = run("tandem", &[DISK]) else { return };
    let create = &done.phases[0];
    assert!(device(create, "metadata").write_sectors > 0, "{create:?}");
    assert!(device(create, "metadata").disk.is_some() && device(create, "data").disk.is_some());
    // Its time may be less than a tick of the kernel's clock.
    assert!(create.cpu.iter().any(|cpu| cpu.role == "daemon"), "{create:?}");
}

#[test]
fn journals_elsewhere() {
    if !root() {
        return;
    }
    for place in ["second-disk", "ram", "nvme"] {
        for filesystem in ["ext4", "tandem"] {
            let part = if filesystem == "tandem" { "metadata" } else { "journal" };
            let Some(done) = run(filesystem, &[DISK, ("placement", place)]) else { continue };
            let journal = device(&done.phases[0], part);
            assert!(journal.write_sectors > 0, "{filesystem} {place}: {journal:?}");
            assert_eq!(journal.disk.is_some(), place != "ram", "{filesystem} {place}");
        }
    }
    run("xfs", &[DISK, ("placement", "second-disk"), ("world", "host")]);
}

#[test]
fn other_kernel() {
    if !root() {
        return;
    }
    // The guest has a /dev/shm of its own, over which the work directory must be mounted.
    for (filesystem, dir) in [("jfs", std::env::temp_dir()), ("tandem", "/dev/shm".into())] {
        let Some(done) = run_in(&dir, filesystem, &[DISK, ("world", "uml")]) else { continue };
        assert!(done.commands[0].contains("linux.uml"), "{:?}", done.commands);
    }
}

#[test]
fn a_disk_that_takes_its_time() {
    if !root() {
        return;
    }
    let Some(done) = run("ext2", &[DISK, ("time", "real"), ("world", "host")]) else { return };
    for phase in &done.phases {
        let get = |metric| phase.metric(&metric).unwrap_or(0.0);
        // What is read is waited for; the rest is waited for by sync and unmount.
        let (took, busy) = (get(Metric::TotalSeconds), get(Metric::BusySeconds));
        assert!(took > 0.5 * busy, "{took} s for a disk that was busy for {busy}: {phase:?}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn every_file_system() {
    for peer in peer::ALL {
        for world in ["host", "uml"] {
            let Some(done) = run(peer.name, &[DISK, ("world", world)]) else { continue };
            for phase in &done.phases {
                let get = |metric| phase.metric(&metric).unwrap_or(0.0);
                let (read, written) = (get(Metric::SectorsRead), get(Metric::SectorsWritten));
                eprintln!(
                    "{} {world} {}: {read} + {written} sectors, {:.3} s disk, {:.3} + {:.3} s",
                    peer.name,
                    phase.name,
                    get(Metric::IoSeconds),
                    phase.seconds,
                    phase.flush_seconds,
                );
            }
            eprintln!("{} {world}: {:?}", peer.name, done.flags);
        }
        if peer.external_journal && peer.name != "tandem" {
            run(peer.name, &[DISK, ("placement", "second-disk"), ("world", "uml")]);
        }
    }
}

#[test]
fn mkfs_fails() {
    if !root() || !peer::find("ext4").unwrap().lacks(World::Host).is_empty() {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let mut setup = setup("ext4", &[DISK], work.path());
    setup.mkfs = vec!["-O".into(), "no-such-feature".into()];
    let error = stage::execute_as(Path::new(TANDEM), &setup, &|_| ()).unwrap_err();
    let StageError::Failed { step, reason } = &error else { panic!("{error:?}") };
    assert!(step.starts_with("mke2fs") && reason.contains("no-such-feature"), "{error}");
    nothing_left(work.path());
}

/// Not a test of its own: what [`killed`] kills.
#[test]
#[ignore = "for the test that kills it"]
fn victim() {
    let Some(work) = std::env::var_os(WORK).map(PathBuf::from) else { return };
    let what = std::env::var(VICTIM).unwrap();
    let mut words = what.split(' ');
    let mut next = || words.next().unwrap();
    let mut setup = setup(next(), &[DISK, ("world", next())], &work);
    setup.memory = next().parse().ok().filter(|bound| *bound > 0);
    setup.workload.parameters.insert("count".into(), toml::Value::Integer(3_000_000));
    let _ = stage::execute_as(Path::new(TANDEM), &setup, &|_| ());
}

/// Kills a run under way, after `look` was given its work directory.
fn kill(filesystem: &str, world: World, memory: Option<u64>, look: &dyn Fn(&Path)) {
    if !root() || !peer::find(filesystem).unwrap().lacks(world).is_empty() {
        eprintln!("skipped: {filesystem} in {}", world.name());
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let mut lab = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--ignored"])
        .env(WORK, work.path())
        .env(VICTIM, format!("{filesystem} {} {}", world.name(), memory.unwrap_or(0)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let since = Instant::now();
    let progress = work.path().join("stage/report.progress");
    while !std::fs::read_to_string(&progress).unwrap_or_default().contains("create-files") {
        assert!(since.elapsed() < Duration::from_secs(200), "does not come that far");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    look(work.path());
    lab.kill().unwrap();
    lab.wait().unwrap();
    stage::clean(work.path()).unwrap();
    nothing_left(work.path());
    stage::clean(work.path()).unwrap();
}

#[test]
fn killed() {
    kill("ext4", World::Host, None, &|_| ());
    kill("tandem", World::Host, None, &|_| ());
}

#[test]
fn killed_with_a_guest() {
    kill("jfs", World::Uml, None, &|_| ());
}
