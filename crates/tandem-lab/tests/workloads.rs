//! Every workload at a tiny size: what it says it did, and what lies on the disk then.

use std::collections::BTreeMap;
use std::path::Path;

use tandem_lab::workload::{self, Context, Outcome, WorkloadError, WorkloadSpec};
use tempfile::TempDir;

/// A workload with its directories.
struct Lab {
    spec: WorkloadSpec,
    dir: TempDir,
    scratch: TempDir,
}

impl Lab {
    fn new(name: &str, parameters: &str, processes: u32) -> Lab {
        let lab = Lab {
            spec: spec(name, parameters, processes),
            dir: tempfile::tempdir().expect("directory"),
            scratch: tempfile::tempdir().expect("directory"),
        };
        workload::prepare(&lab.spec, lab.scratch.path()).expect("prepared");
        lab
    }

    fn phases(&self) -> Vec<String> {
        let phases = workload::phases(&self.spec).expect("phases");
        phases.into_iter().map(|phase| phase.name).collect()
    }

    /// A phase in all processes; their values added.
    fn phase(&self, phase: &str) -> Result<BTreeMap<String, f64>, WorkloadError> {
        let run = |process| {
            let at = Context {
                dir: self.dir.path().to_owned(),
                scratch: self.scratch.path().to_owned(),
                process,
                processes: self.spec.processes,
                seed: self.spec.seed,
            };
            workload::run(&self.spec, phase, &at)
        };
        let done: Vec<Result<Outcome, WorkloadError>> = std::thread::scope(|scope| {
            let started: Vec<_> =
                (0..self.spec.processes).map(|process| scope.spawn(move || run(process))).collect();
            started.into_iter().map(|thread| thread.join().expect("no panic")).collect()
        });
        let mut sum = BTreeMap::new();
        for outcome in done {
            for (name, value) in outcome?.values {
                *sum.entry(name).or_insert(0.0) += value;
            }
        }
        Ok(sum)
    }

    /// All phases; their values by phase.
    fn whole(&self) -> BTreeMap<String, BTreeMap<String, f64>> {
        let run = |phase: String| {
            let values = self.phase(&phase).unwrap_or_else(|error| panic!("{phase}: {error}"));
            (phase, values)
        };
        self.phases().into_iter().map(run).collect()
    }
}

fn spec(name: &str, parameters: &str, processes: u32) -> WorkloadSpec {
    let table: toml::Table = parameters.parse().expect("TOML");
    WorkloadSpec {
        name: name.to_owned(),
        parameters: table.into_iter().collect(),
        processes,
        seed: 42,
    }
}

fn left(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .expect("list")
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn reason(spec: &WorkloadSpec) -> String {
    workload::check(spec).expect_err("refused").to_string()
}

#[test]
fn all_are_described() {
    for (name, about) in workload::names() {
        assert!(!about.is_empty());
        for parameter in workload::parameters(name).expect("known") {
            assert!(!parameter.about.is_empty(), "{name}: {}", parameter.name);
        }
    }
}

#[test]
fn wrong_parameters_are_named() {
    assert!(reason(&spec("io-bund", "", 1)).contains("io-bound"));
    assert!(reason(&spec("io-bound", "cuont = 3", 1)).contains("there are count"));
    assert!(reason(&spec("io-bound", "count = 0", 1)).contains("1 to"));
    assert!(reason(&spec("io-bound", "way = 'fast'", 1)).contains("in-process"));
    assert!(reason(&spec("dualfs-micro", "copies = 2", 4)).contains("copies"));
    assert!(reason(&spec("dualfs-micro", "tree = 'linux'", 1)).contains("absolute"));
    assert!(reason(&spec("dualfs-micro", "tests = ['read']", 1)).contains("read-meta"));
}

#[test]
fn io_bound() {
    for way in ["in-process", "programs", "program-each"] {
        for processes in [1, 3] {
            let lab = Lab::new("io-bound", &format!("count = 50\nway = '{way}'"), processes);
            assert_eq!(lab.phase("create-files").expect("created")["files"], 50.0);
            let made: usize =
                left(lab.dir.path()).iter().map(|d| left(&lab.dir.path().join(d)).len()).sum();
            assert_eq!(made, 50);
            for phase in &lab.phases()[1..] {
                let values = lab.phase(phase).expect(phase);
                assert_eq!(values.values().copied().collect::<Vec<_>>(), [50.0], "{phase}");
            }
            assert_eq!(left(lab.dir.path()), Vec::<String>::new());
        }
    }
}

#[test]
fn io_bound_misses_what_is_gone() {
    for way in ["in-process", "programs"] {
        let lab = Lab::new("io-bound", &format!("count = 5\nway = '{way}'"), 1);
        lab.phase("create-files").expect("created");
        std::fs::remove_file(lab.dir.path().join("files-0/f00003")).expect("removed");
        let wrong = lab.phase("find-files").expect_err("one is gone");
        assert!(matches!(wrong, WorkloadError::Wrong { .. }), "{wrong}");
        assert!(lab.phase("remove-files").is_err());
    }
}

#[test]
fn dualfs_micro() {
    for (programs, processes) in [(false, 1), (false, 4), (true, 2)] {
        let parameters = format!("files = 60\ndirectories = 9\nprograms = {programs}");
        let lab = Lab::new("dualfs-micro", &parameters, processes);
        let done = lab.whole();
        let bytes = done["write-data-meta"]["written_bytes"];
        assert!(bytes > 60.0 * 500.0);
        assert_eq!(done["read-data-meta"]["read_bytes"], bytes);
        assert_eq!(done["read-write-data-meta"]["written_bytes"], bytes);
        let found = done["read-meta"]["found_files"];
        assert!(found > 0.0 && found < 240.0);
        for phase in done.keys().filter(|phase| phase.as_str() != "clear") {
            assert_eq!((done[phase]["files"], done[phase]["directories"]), (240.0, 36.0));
        }
        let copies: Vec<_> = (0..4).map(|copy| format!("tree-copy-{copy}")).collect();
        assert_eq!(left(lab.dir.path()), copies);
    }
}

#[test]
fn one_test_of_dualfs_misses_a_file() {
    let lab = Lab::new("dualfs-micro", "files = 30\ndirectories = 4\ntests = ['read-meta']", 1);
    assert_eq!(lab.phases(), ["unpack", "read-meta"]);
    lab.phase("unpack").expect("unpacked");
    let tree = lab.dir.path().join("tree-2/tree");
    let file = left(&tree).into_iter().find(|name| name.contains('.')).expect("a file");
    std::fs::remove_file(tree.join(file)).expect("removed");
    let wrong = lab.phase("read-meta").expect_err("one is gone");
    assert!(matches!(wrong, WorkloadError::Wrong { .. }), "{wrong}");
}

#[test]
fn trees_of_the_users() {
    let home = tempfile::tempdir().expect("directory");
    let dir = home.path().join("mine");
    std::fs::create_dir_all(dir.join("a/b")).expect("made");
    std::fs::create_dir(dir.join("empty")).expect("made");
    std::fs::write(dir.join("a/one"), "1").expect("made");
    std::fs::write(dir.join("a/b/two"), vec![2; 5000]).expect("made");
    std::os::unix::fs::symlink("../a/one", dir.join("a/link")).expect("made");
    let archive = home.path().join("mine.tar.gz");
    let mut tar = std::process::Command::new("tar");
    let status = tar.arg("czf").arg(&archive).arg("-C").arg(home.path()).arg("mine").status();
    assert!(status.expect("tar").success());
    for tree in [&dir, &archive] {
        let lab = Lab::new("dualfs-micro", &format!("tree = '{}'\ncopies = 1", tree.display()), 1);
        let done = lab.whole();
        let values = &done["read-data-meta"];
        assert_eq!((values["files"], values["directories"], values["links"]), (2.0, 4.0, 1.0));
        assert_eq!(values["read_bytes"], 5001.0);
        assert_eq!(done["read-meta"]["found_files"], 1.0);
        let copy = lab.dir.path().join("tree-copy-0/mine/a/link");
        assert_eq!(std::fs::read(copy).expect("link"), b"1");
    }
}

#[test]
fn hostile_archives_are_refused() {
    let home = tempfile::tempdir().expect("directory");
    let path = home.path().join("bad.tar");
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    let name = b"../../out";
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_cksum();
    let mut archive = tar::Builder::new(Vec::new());
    archive.append(&header, std::io::empty()).expect("entry");
    std::fs::write(&path, archive.into_inner().expect("archive")).expect("written");
    let refused = |text: &str| {
        let spec = spec("dualfs-micro", &format!("tree = '{}'", path.display()), 1);
        let error = workload::prepare(&spec, home.path()).expect_err("refused").to_string();
        assert!(error.contains(text), "{error}");
        assert_eq!(left(home.path()), ["bad.tar"]);
    };
    refused("leads out of it");
    std::fs::write(&path, vec![7; 3000]).expect("written");
    refused("not a tar archive");
}

#[test]
fn shares_of_a_tree() {
    let values = |share: f64| {
        let lab = Lab::new(
            "dualfs-micro",
            &format!("files = 2000\ncopies = 1\nshare = {share:?}\ntests = ['write-meta']"),
            1,
        );
        lab.phase("write-meta").expect("done")["files"]
    };
    assert_eq!(values(1.0), 2000.0);
    let half = values(0.5);
    assert!((600.0..1400.0).contains(&half), "{half}");
}

#[test]
fn fdtree() {
    // 1 + 3 + 9 directories; files in all of them.
    for (programs, processes) in [(false, 2), (true, 1)] {
        let parameters =
            format!("levels = 2\ndirectories = 3\nfiles = 2\nblocks = 1\nprograms = {programs}");
        let lab = Lab::new("fdtree", &parameters, processes);
        let n = f64::from(processes);
        let made = lab.phase("directory-create").expect("made");
        assert_eq!(made["directories"], 13.0 * n);
        assert!(made["directories_per_s"] > 0.0);
        let written = lab.phase("file-create").expect("written");
        assert_eq!((written["files"], written["written_bytes"]), (26.0 * n, 26.0 * 4096.0 * n));
        let base = lab.dir.path().join("LEVEL0.lab.0");
        assert_eq!(left(&base), ["L2D1", "L2D2", "L2D3", "L2F1", "L2F2"]);
        let leaf = base.join("L2D3/L1D2");
        assert_eq!(left(&leaf), ["L0F1", "L0F2"]);
        assert_eq!(std::fs::read(leaf.join("L0F1")).expect("file"), [0; 4096]);
        assert_eq!(lab.phase("file-remove").expect("removed")["files"], 26.0 * n);
        assert_eq!(left(&leaf), Vec::<String>::new());
        assert_eq!(lab.phase("directory-remove").expect("removed")["directories"], 13.0 * n);
        assert_eq!(left(lab.dir.path()), Vec::<String>::new());
    }
    assert!(reason(&spec("fdtree", "levels = 60", 1)).contains("2^32"));
}

#[test]
fn the_trees_of_seed_001() {
    for (parameters, directories) in [
        ("directories = 20\nfiles = 0\nlevels = 3", 8421.0),
        ("directories = 17\nfiles = 0\nlevels = 2", 307.0),
        ("directories = 2\nfiles = 0\nlevels = 10", 2047.0),
    ] {
        let lab = Lab::new("fdtree", parameters, 1);
        let made = lab.phase("directory-create").expect("made");
        assert_eq!(made["directories"], directories);
    }
}

#[test]
fn bonnie() {
    let lab = Lab::new("bonnie", "size = 1000000\nseeks = 40", 2);
    // 61 blocks of 16 KiB each.
    let bytes = 2.0 * 61.0 * 16384.0;
    let done = lab.whole();
    for phase in ["putc", "rewrite", "write", "getc", "read"] {
        assert_eq!(done[phase]["bytes"], bytes, "{phase}");
        assert!(done[phase]["kib_per_s"] > 0.0 && done[phase]["cpu_percent"] > 0.0);
    }
    assert_eq!(done["seek"]["seeks"], 80.0);
    assert_eq!(left(lab.dir.path()), Vec::<String>::new());
}

#[test]
fn bonnie_misses_blocks() {
    let lab = Lab::new("bonnie", "size = '64K'", 1);
    lab.phase("putc").expect("written");
    let file = lab.dir.path().join("Bonnie.0");
    let bytes = std::fs::read(&file).expect("file");
    assert!(bytes.iter().enumerate().all(|(at, &byte)| byte == (at & 0x7f) as u8));
    std::fs::write(&file, &bytes[..40000]).expect("cut");
    for phase in ["rewrite", "getc", "read"] {
        assert!(matches!(lab.phase(phase), Err(WorkloadError::Wrong { .. })), "{phase}");
    }
}

#[test]
fn postmark() {
    let parameters = "files = 40\ntransactions = 100\nleast_size = 512\nmost_size = '2K'\n";
    for more in ["subdirectories = 5", "buffering = false"] {
        let lab = Lab::new("postmark", &format!("{parameters}{more}"), 1);
        let values = &lab.whole()["postmark"];
        let value = |name: &str| values[name];
        assert_eq!(value("created_alone_files"), 40.0);
        assert_eq!(value("created_files"), value("deleted_files"));
        assert_eq!(value("created_mixed_files") + value("deleted_mixed_files"), 100.0);
        // Appends to files that have their largest size already are passed over.
        assert!(value("read_files") + value("appended_files") <= 100.0);
        assert!(value("read_files") > 30.0 && value("appended_files") > 25.0);
        let written = value("created_files") * 512.0;
        assert!((written..value("created_files") * 2048.0 + 1.0).contains(&value("written_bytes")));
        assert_eq!(left(lab.dir.path()), Vec::<String>::new());
    }
}

#[test]
fn postmark_does_the_same_for_the_same_seed() {
    let counts = |seed: u64| {
        let mut lab = Lab::new("postmark", "", 1);
        lab.spec.seed = seed;
        let mut values = lab.whole().remove("postmark").expect("values");
        values.retain(|name, _| !name.contains("seconds") && !name.ends_with("per_s"));
        values
    };
    assert_eq!(counts(42), counts(42));
    assert_ne!(counts(42), counts(43));
}

#[test]
fn postmark_of_reads_alone() {
    let lab = Lab::new("postmark", "read_bias = 10\ncreate_bias = -1\nfiles = 3", 1);
    let values = &lab.whole()["postmark"];
    assert_eq!((values["read_files"], values["appended_files"]), (500.0, 0.0));
    assert_eq!((values["created_files"], values["created_mixed_files"]), (3.0, 0.0));
    let lab = Lab::new("postmark", "create_bias = 0\nfiles = 5", 1);
    lab.phase("make-directories").expect("made");
    assert!(matches!(lab.phase("postmark"), Err(WorkloadError::Wrong { .. })), "out of files");
}

#[test]
fn spad() {
    for programs in [true, false] {
        let parameters = format!(
            "files = 50\ndirectories = 6\nlarge_size = '1M'\nsizes = [100, '4K']\nfor_seconds = 0.001\nprograms = {programs}"
        );
        let lab = Lab::new("spad", &parameters, 2);
        let done = lab.whole();
        assert!(done["cached-write"]["write_4096_us"] > 0.0);
        assert!(done["cached-read"]["read_100_us"] > 0.0);
        for phase in ["large-write", "large-rewrite", "large-read"] {
            assert_eq!(done[phase]["bytes"], 2.0 * 1048576.0);
        }
        let bytes = done["tree-extract"]["written_bytes"];
        for phase in ["tree-extract", "tree-copy", "tree-read", "tree-compare", "tree-delete"] {
            assert_eq!((done[phase]["files"], done[phase]["directories"]), (100.0, 12.0));
        }
        assert_eq!(done["tree-compare"]["read_bytes"], bytes);
        assert_eq!(left(lab.dir.path()), ["copy-0", "copy-1"]);
    }
}

#[test]
fn spad_sees_a_difference() {
    for programs in [true, false] {
        let parameters =
            format!("files = 20\ndirectories = 3\nprograms = {programs}\ntests = ['tree-compare']");
        let lab = Lab::new("spad", &parameters, 1);
        lab.phase("tree-prepare").expect("tree");
        lab.phase("tree-prepare-copy").expect("copy");
        lab.phase("tree-compare").expect("alike");
        let tree = lab.dir.path().join("copy-0/tree");
        let file = left(&tree).into_iter().find(|name| name.contains('.')).expect("a file");
        std::fs::write(tree.join(file), "changed").expect("changed");
        assert!(lab.phase("tree-compare").is_err());
    }
}

/// Says so where a test cannot be made.
fn lacks(spec: &WorkloadSpec) -> bool {
    let missing = workload::missing(spec).expect("known");
    for what in &missing {
        eprintln!("skipped: {what}");
    }
    !missing.is_empty()
}

#[test]
fn command() {
    let parameters = r#"
        prepare = "echo 7 > seven"
        [[steps]]
        name = "write"
        command = "cat $LAB_PREPARED/seven > f$LAB_PROCESS; echo value answer_files $LAB_PROCESSES; echo chatter"
        cold = true
        [[steps]]
        name = "fail"
        command = "echo because >&2; false"
        measured = false
    "#;
    let lab = Lab::new("command", parameters, 2);
    let phases = workload::phases(&lab.spec).expect("phases");
    assert!(phases[0].cold && phases[0].measured && !phases[1].cold && !phases[1].measured);
    assert_eq!(lab.phase("write").expect("done")["answer_files"], 4.0);
    assert_eq!(std::fs::read(lab.dir.path().join("f1")).expect("file"), b"7\n");
    assert!(lab.phase("fail").expect_err("fails").to_string().contains("because"));
    assert!(reason(&spec("command", "", 1)).contains("name and a command"));
    assert!(reason(&spec("command", "steps = [{ nam = 'x' }]", 1)).contains("nam"));
}

#[test]
fn fio() {
    let job = "[job]\\nrw=write\\nbs=4k\\nsize=64k\\n[read]\\nstonewall\\nrw=randread\\nsize=64k";
    let parameters = format!("job = \"{job}\"");
    if lacks(&spec("fio", &parameters, 1)) {
        return;
    }
    let lab = Lab::new("fio", &parameters, 2);
    let values = lab.phase("fio").expect("done");
    assert_eq!((values["write_bytes"], values["write_requests"]), (131072.0, 32.0));
    assert_eq!(values["read_bytes"], 131072.0);
    assert!(values["read_p99_us"] >= values["read_p50_us"]);
    assert!(reason(&spec("fio", "", 1)).contains("neither"));
    let lab = Lab::new("fio", "job = \"[job]\\nrw=sideways\\nsize=4k\"", 1);
    assert!(matches!(lab.phase("fio"), Err(WorkloadError::Program { .. })));
}

#[test]
fn web() {
    let parameters = "directories = 2\nconnections = 4\nseconds = 1";
    if lacks(&spec("web", parameters, 1)) {
        return;
    }
    let lab = Lab::new("web", parameters, 1);
    let done = lab.whole();
    // 9 x (102 + 1024 + 10240 + 102400) x 5 bytes a directory.
    assert_eq!(
        (done["make-files"]["files"], done["make-files"]["written_bytes"]),
        (72.0, 10238940.0)
    );
    let serve = &done["serve"];
    assert!(serve["requests"] > 0.0 && serve["bytes"] > serve["requests"] * 102.0);
    assert!(done["check"]["logged_requests"] >= serve["requests"]);
    assert!(lab.dir.path().join("access.log").exists());
}

#[test]
fn tpcc() {
    let parameters = "warehouses = 2\nshare = 0.01\nclients = 4\nwarmup_seconds = 1\nseconds = 2";
    if lacks(&spec("tpcc", parameters, 1)) {
        return;
    }
    let lab = Lab::new("tpcc", parameters, 1);
    let done = lab.whole();
    assert!(done["load"]["database_bytes"] > 1e6);
    let values = &done["transactions"];
    assert!(values["new_order_transactions"] > 10.0, "{values:?}");
    assert!(values["payment_p90_seconds"] > 0.0);
    let minutes = values["new_order_transactions"] * 30.0;
    assert_eq!(values["new_orders_per_minute"], minutes);
    assert_eq!(left(lab.dir.path()), ["postgresql"]);
}

#[test]
fn compile_says_what_is_missing() {
    let spec = spec("compile", "source = '/nowhere/linux.tar.xz'", 1);
    let missing = workload::missing(&spec).expect("known");
    assert!(missing.iter().any(|what| what.to_string().contains("/nowhere")), "{missing:?}");
    let dir = tempfile::tempdir().expect("directory");
    assert!(matches!(workload::prepare(&spec, dir.path()), Err(WorkloadError::Missing(_))));
}

#[test]
#[ignore = "takes minutes"]
fn compile() {
    let spec = spec("compile", "", 2);
    if lacks(&spec) {
        return;
    }
    let lab = Lab::new("compile", "", 2);
    assert!(lab.whole()["compile"]["image_bytes"] > 1e6);
}

/// A workload's parameters, as the documentation has them.
fn table(name: &str) -> String {
    let mut table =
        "| parameter | default | unit | meaning |\n| --- | --- | --- | --- |\n".to_owned();
    for parameter in workload::parameters(name).expect("known") {
        let (unit, about) = (parameter.unit, parameter.about);
        table += &format!("| {} | `{}` | {unit} | {about} |\n", parameter.name, parameter.default);
    }
    table
}

#[test]
fn documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab-workloads.md");
    let text = std::fs::read_to_string(path).expect("docs/lab-workloads.md");
    let mut lacking = Vec::new();
    for (name, about) in workload::names() {
        let parts = [format!("## {name}\n"), about.to_owned(), table(name)];
        lacking.extend(parts.into_iter().filter(|part| !text.contains(part)));
    }
    assert!(lacking.is_empty(), "docs/lab-workloads.md lacks\n{}", lacking.join("\n"));
}

/// The figures of `docs/lab-workloads.md`.
#[test]
#[ignore = "takes minutes"]
fn the_linux_source() {
    let path = Path::new("/usr/src/linux-source-6.1.tar.xz");
    if !path.exists() {
        eprintln!("skipped: {} is missing; package linux-source-6.1 has it", path.display());
        return;
    }
    let (mut files, mut bytes, mut over_2k) = (0, 0, 0);
    let source = tandem_lab::tree::Source::at(path).expect("archive");
    source
        .each(&mut |entry, _| {
            if let tandem_lab::tree::Kind::File(size) = entry.kind {
                files += 1;
                bytes += size;
                over_2k += u64::from(size > 2048);
            }
            Ok(())
        })
        .expect("read");
    // The package may have been updated; it was measured at 78,579 files and 16,527 bytes each.
    assert!((70_000..90_000).contains(&files), "{files}");
    assert!((14_000..19_000).contains(&(bytes / files)), "{bytes}");
    assert!((63..68).contains(&(over_2k * 100 / files)), "{over_2k}");
    let parameters = format!("tree = '{}'\nshare = 0.03\ncopies = 2", path.display());
    let lab = Lab::new("dualfs-micro", &parameters, 2);
    let done = lab.whole();
    println!("{done:?}");
    assert!(done["read-data-meta"]["files"] > 1000.0);
}

/// A small file system of its own, for what looks at the space that is left.
struct Small(TempDir);

impl Small {
    fn new(size: &str) -> Option<Small> {
        let dir = tempfile::tempdir().expect("directory");
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "lab-test"]).arg(dir.path());
        let mounted = mount.output().is_ok_and(|done| done.status.success());
        if !mounted {
            eprintln!("skipped: no tmpfs can be mounted");
        }
        mounted.then_some(Small(dir))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn aged() {
    let Some(small) = Small::new("40M") else { return };
    let parameters = "files = 100\ndirectories = 8\ncopies = 1\nage = 0.6\ntests = ['write-meta']\nsize_sigma = 0.5";
    let mut lab = Lab::new("dualfs-micro", parameters, 1);
    lab.dir = tempfile::tempdir_in(small.0.path()).expect("directory");
    assert_eq!(lab.phases(), ["age", "write-meta"]);
    let values = lab.phase("age").expect("aged");
    // Two rounds: 40 MB are filled to 60 % with files of 4 or 8 KiB; half of them are removed.
    let (made, removed) = (values["made_files"], values["removed_files"]);
    assert!((3000.0..9000.0).contains(&made), "{made}");
    assert!(removed > made * 0.55 && removed < made * 0.8, "{removed} of {made}");
    lab.phase("write-meta").expect("done");
    // The disk is smaller than a tree.
    let mut lab = Lab::new("dualfs-micro", "files = 9000\nage = 0.5\ncopies = 1", 1);
    lab.dir = tempfile::tempdir_in(small.0.path()).expect("directory");
    assert!(lab.phase("age").expect_err("too small").to_string().contains("larger disk"));
}
