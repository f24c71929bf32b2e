//! Runs whose memory is bounded.

use super::*;
use tandem_lab::checklist::{self, Machine};
use tandem_lab::doctor::{self, State};

const BOUND: u64 = 64 << 20;
const FILE: u64 = 4 * BOUND;

/// Can this machine bound memory?
fn bounds() -> bool {
    let rows = doctor::examine();
    let row = rows.iter().find(|row| row.what.contains("control group")).unwrap();
    if row.state != State::Here {
        eprintln!("skipped: {}: {}", row.what, row.detail);
    }
    row.state == State::Here
}

fn step(name: &str, command: &str) -> toml::Value {
    let pair = |key: &str, value: &str| (key.to_owned(), toml::Value::String(value.to_owned()));
    toml::Value::Table([pair("name", name), pair("command", command)].into_iter().collect())
}

fn bounded(filesystem: &str, disk: &str, steps: &[(&str, &str)], work: &Path) -> Setup {
    let mut setup = setup(filesystem, &[("disk", disk), ("world", "host")], work);
    let steps = steps.iter().map(|(name, command)| step(name, command)).collect();
    let parameters = [("steps".to_owned(), toml::Value::Array(steps))].into();
    let name = "command".to_owned();
    setup.workload = WorkloadSpec { name, parameters, processes: 1, seed: 1 };
    setup.memory = Some(BOUND);
    setup
}

/// The group that a bound was written to.
fn group(commands: &[String]) -> PathBuf {
    let file = commands[0].strip_prefix(&format!("echo {BOUND} > ")).unwrap();
    Path::new(file).parent().unwrap().to_owned()
}

#[test]
fn what_does_not_fit_is_read_from_the_disk() {
    if !root() || !bounds() {
        return;
    }
    let write = format!("dd if=/dev/zero of=file bs=1M count={}", FILE >> 20);
    let steps = [("write", write.as_str()), ("read", "dd if=file of=/dev/null bs=1M")];
    for (filesystem, disk) in [("ext4", DISK.1), ("ext4", "ram"), ("tandem", DISK.1)] {
        if !peer::find(filesystem).unwrap().lacks(World::Host).is_empty() {
            eprintln!("skipped: {filesystem}");
            continue;
        }
        let work = tempfile::tempdir().unwrap();
        let setup = bounded(filesystem, disk, &steps, work.path());
        let done = stage::execute_as(Path::new(TANDEM), &setup, &|_| ()).unwrap();
        nothing_left(work.path());
        assert!(!group(&done.commands).exists(), "{:?}", done.commands);
        let read = |at: usize| done.phases[at].metric(&Metric::SectorsRead).unwrap() as u64 * 512;
        eprintln!("{filesystem} on {disk}: {} of {FILE} bytes", read(1));
        assert!(read(0) < FILE / 2 && read(1) > FILE / 2, "{filesystem} {disk}: {}", read(1));
        assert_eq!(done.memory, Some(BOUND));
        let flags = checklist::judge(&done.phases, Machine::now().with(done.memory));
        let flags: Vec<_> = done.flags.iter().chain(&flags).collect();
        let wrong = |rule: &str| ["fits-memory", "counts-differ"].contains(&rule);
        assert!(!flags.iter().any(|flag| wrong(&flag.rule)), "{filesystem} {disk}: {flags:?}");
    }
}

#[test]
fn too_little_memory_is_told() {
    if !root() || !bounds() || !peer::find("ext4").unwrap().lacks(World::Host).is_empty() {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    // What has no line is kept in memory.
    let steps = [("hoard", "head -c 200M /dev/zero | tail > file")];
    let setup = bounded("ext4", DISK.1, &steps, work.path());
    let places = std::cell::RefCell::new(Vec::new());
    let see = |_: &str| places.borrow_mut().extend(noted(work.path()));
    let error = stage::execute_as(Path::new(TANDEM), &setup, &see).unwrap_err();
    let StageError::Failed { step, reason } = &error else { panic!("{error:?}") };
    assert!(step.contains("hoard") && reason.starts_with("out of memory: the kernel"), "{error}");
    nothing_left(work.path());
    assert!(!places.borrow().is_empty() && !places.borrow().iter().any(|dir| dir.exists()));
}

/// Where the group of a run under way may be.
fn noted(work: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(work.join("stage/groups")).unwrap_or_default();
    text.lines().map(PathBuf::from).collect()
}

#[test]
fn killed_with_a_bound() {
    if !root() || !bounds() {
        return;
    }
    for filesystem in ["ext4", "tandem"] {
        let places = std::cell::RefCell::new(Vec::new());
        kill(filesystem, World::Host, Some(BOUND), &|work| {
            let there: Vec<PathBuf> = noted(work).into_iter().filter(|dir| dir.exists()).collect();
            assert_eq!(there.len(), 1, "{filesystem}");
            let members = || std::fs::read_to_string(there[0].join("cgroup.procs")).unwrap();
            // The agent and two workers, and Tandem's daemon.
            let least = if filesystem == "tandem" { 4 } else { 3 };
            let since = Instant::now();
            while members().lines().count() < least {
                assert!(since.elapsed() < Duration::from_secs(60), "{filesystem}: {}", members());
                std::thread::sleep(Duration::from_millis(10));
            }
            places.borrow_mut().extend(there);
        });
        assert!(!places.borrow().iter().any(|dir| dir.exists()), "{places:?}");
    }
}

#[test]
fn a_guest_has_what_it_may_fill() {
    let jfs = peer::find("jfs").unwrap();
    if !root() || !jfs.lacks(World::Uml).is_empty() {
        return;
    }
    let count = r"echo value kib $(sed -n 's/MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)";
    let work = tempfile::tempdir().unwrap();
    let mut setup = bounded("jfs", DISK.1, &[("count", count)], work.path());
    setup.levels.insert("world".into(), "uml".into());
    let done = stage::execute_as(Path::new(TANDEM), &setup, &|_| ()).unwrap();
    nothing_left(work.path());
    assert!(done.commands[0].contains(" mem=65536K "), "{:?}", done.commands);
    let had = done.phases[0].values["kib"];
    assert!(had > 30_000.0 && had <= 65_536.0, "{had} KiB");
    assert_eq!(done.memory, Some(BOUND));
}
