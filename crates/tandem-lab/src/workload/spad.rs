//! SpadFS's benchmarks (Patočka, seed 002, section V).

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::clock::Clock;
use super::error::{expect, io};
use super::parameter::{Arguments, Kind, Parameter};
use super::trees::{self, Packed};
use super::{
    Context, Missing, Outcome, PhaseSpec, Workload, WorkloadError, aside, cold, program, warm,
};
use crate::tree::{Figures, archive, ops};

/// The workload.
pub(super) struct Spad;

const TESTS: &[&str] = &[
    "cached-write",
    "cached-read",
    "large-write",
    "large-rewrite",
    "large-read",
    "tree-extract",
    "tree-copy",
    "tree-read",
    "tree-compare",
    "tree-delete",
];

/// Bytes of a call on the large file.
const BLOCK: usize = 64 * 1024;

/// What `grep` looks for; no file has it (a byte that is no text would make it stop early).
const ABSENT: &str = "no line of any file has this in it, or so one hopes";

impl Workload for Spad {
    fn name(&self) -> &'static str {
        "spad"
    }

    fn about(&self) -> &'static str {
        "cached reads and writes by file size, a large file, operations on a source tree (seed 002)"
    }

    fn parameters(&self) -> Vec<Parameter> {
        let tests: Vec<_> = TESTS.iter().map(|test| format!("{test:?}")).collect();
        let sizes = "[\"512\", \"1K\", \"2K\", \"4K\", \"8K\", \"16K\", \"32K\", \"64K\", \"128K\", \"256K\", \"512K\", \"1M\", \"2M\", \"4M\", \"8M\", \"16M\"]";
        let mut all = vec![
            Parameter::new(
                "tests",
                format!("[{}]", tests.join(", ")),
                "",
                Kind::Choices(TESTS),
                "which tests; they are run in the order of the default",
            ),
            Parameter::new(
                "sizes",
                sizes,
                "bytes",
                // A buffer has as many.
                Kind::Sizes(1, 1 << 30),
                "file sizes of the cached tests",
            ),
            Parameter::new(
                "for_seconds",
                "0.1",
                "seconds",
                Kind::Number(0.001, 60.0),
                "how long each size is repeated",
            ),
            Parameter::new(
                "large_size",
                "\"8G\"",
                "bytes",
                Kind::Bytes(BLOCK as u64, 1 << 50),
                "size of each process's large file",
            ),
            Parameter::new(
                "programs",
                "true",
                "",
                Kind::Flag,
                "use tar, cp -a, grep -r, diff -r and rm -rf, or system calls of the lab's own",
            ),
        ];
        // The paper's tree: 6,275 directories, 34,411 files, an archive of 365 MB.
        all.extend(trees::parameters(34_411, 6_275, 2_600.0));
        all
    }

    fn phases(&self, args: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError> {
        trees::check(args)?;
        Ok(phases(&args.texts("tests")?))
    }

    fn missing(&self, args: &Arguments) -> Result<Vec<Missing>, WorkloadError> {
        if !with_tree(&args.texts("tests")?) {
            return Ok(Vec::new());
        }
        let mut all = trees::missing(args)?;
        if args.flag("programs")? {
            let core = "coreutils";
            let tools = [
                ("tar", "tar"),
                ("cp", core),
                ("rm", core),
                ("grep", "grep"),
                ("diff", "diffutils"),
            ];
            all.extend(program::missing(&tools));
        }
        Ok(all)
    }

    fn prepare(&self, args: &Arguments, scratch: &Path) -> Result<(), WorkloadError> {
        if with_tree(&args.texts("tests")?) {
            trees::prepare(args, scratch)?;
        }
        Ok(())
    }

    fn run(&self, args: &Arguments, phase: &str, at: &Context) -> Result<Outcome, WorkloadError> {
        let place = |what: &str| at.dir.join(format!("{what}-{}", at.process));
        let (cached, large) = (place("cached"), place("large"));
        let size = args.count("large_size")? / BLOCK as u64 * BLOCK as u64;
        match phase {
            "cached-write" => each_size(args, &cached, true),
            "cached-read" => each_size(args, &cached, false),
            "cached-clear" => removed(&cached),
            "large-prepare" | "large-write" => {
                transfer(&large, size, File::create_new(&large), true)
            }
            "large-rewrite" => {
                transfer(&large, size, OpenOptions::new().write(true).open(&large), true)
            }
            "large-read" => transfer(&large, size, File::open(&large), false),
            "large-clear" => removed(&large),
            _ => {
                let packed = trees::packed(args, &at.scratch)?;
                let test = TreeTest { dir: &at.dir, process: at.process, packed: &packed };
                let (figures, bytes) = test.run(phase, args.flag("programs")?)?;
                let mut outcome = Outcome::of([
                    ("directories", figures.directories as f64),
                    ("files", figures.files as f64),
                ]);
                if let Some(name) = bytes {
                    outcome.values.insert(name.to_owned(), figures.bytes as f64);
                }
                Ok(outcome)
            }
        }
    }
}

fn with_tree(tests: &[&str]) -> bool {
    tests.iter().any(|test| test.starts_with("tree-"))
}

/// The phases for these tests; what they need and leave is made and removed apart.
fn phases(tests: &[&str]) -> Vec<PhaseSpec> {
    let wanted = |test: &str| tests.contains(&test);
    let tree = |name: &str| aside(name);
    let mut phases = Vec::new();
    for test in ["cached-write", "cached-read"].into_iter().filter(|test| wanted(test)) {
        phases.push(warm(test));
    }
    if wanted("cached-write") || wanted("cached-read") {
        phases.push(aside("cached-clear"));
    }
    let larges: Vec<_> = TESTS[2..5].iter().copied().filter(|test| wanted(test)).collect();
    if !larges.is_empty() && !wanted("large-write") {
        phases.push(aside("large-prepare"));
    }
    phases.extend(larges.iter().map(|test| cold(test)));
    if !larges.is_empty() {
        phases.push(aside("large-clear"));
    }
    if with_tree(tests) && !wanted("tree-extract") {
        phases.push(tree("tree-prepare"));
    }
    for test in TESTS[5..].iter().copied() {
        if test == "tree-compare" && wanted(test) && !wanted("tree-copy") {
            phases.push(tree("tree-prepare-copy"));
        }
        if wanted(test) {
            phases.push(cold(test));
        }
    }
    phases
}

fn removed(path: &Path) -> Result<Outcome, WorkloadError> {
    std::fs::remove_file(path).map_err(io("remove", path))?;
    Ok(Outcome::default())
}

/// The time to write or read a whole file of each size, repeated; a write begins with an empty file
/// each time, so that space is allocated anew.
fn each_size(args: &Arguments, path: &Path, write: bool) -> Result<Outcome, WorkloadError> {
    let limit = Duration::from_secs_f64(args.number("for_seconds")?);
    let mut outcome = Outcome::default();
    for size in args.sizes("sizes")? {
        let mut buffer = vec![0x5a; usize::try_from(size).unwrap_or(usize::MAX)];
        if !write {
            std::fs::write(path, &buffer).map_err(io("write", path))?;
        }
        let (start, mut times) = (Instant::now(), 0_u64);
        while times == 0 || start.elapsed() < limit {
            if write {
                let mut file = File::create(path).map_err(io("create", path))?;
                file.write_all(&buffer).map_err(io("write", path))?;
            } else {
                let mut file = File::open(path).map_err(io("open", path))?;
                file.read_exact(&mut buffer).map_err(io("read", path))?;
            }
            times += 1;
        }
        let micros = start.elapsed().as_secs_f64() * 1e6 / times as f64;
        let found = std::fs::metadata(path).map_err(io("stat", path))?.len();
        expect("bytes of the file", size, found)?;
        let verb = if write { "write" } else { "read" };
        outcome.values.insert(format!("{verb}_{size}_us"), micros);
    }
    Ok(outcome)
}

/// Writes or reads the whole of the large file.
fn transfer(
    path: &Path,
    size: u64,
    file: std::io::Result<File>,
    write: bool,
) -> Result<Outcome, WorkloadError> {
    let mut file = file.map_err(io("open", path))?;
    let mut buffer = vec![0x5a; BLOCK];
    let clock = Clock::start();
    let mut done = 0;
    while done < size {
        if write {
            file.write_all(&buffer).map_err(io("write", path))?;
        } else {
            file.read_exact(&mut buffer).map_err(io("read", path))?;
        }
        done += BLOCK as u64;
    }
    let took = clock.elapsed();
    let end = file.seek(SeekFrom::End(0)).map_err(io("seek in", path))?;
    expect("bytes of the large file", size, end)?;
    Ok(Outcome::of([
        ("bytes", size as f64),
        ("bytes_per_s", size as f64 / took.seconds),
        ("cpu_seconds", took.cpu),
    ]))
}

/// A test on one process's tree.
struct TreeTest<'a> {
    dir: &'a Path,
    process: u32,
    packed: &'a Packed,
}

impl TreeTest<'_> {
    fn at(&self, what: &str) -> PathBuf {
        self.dir.join(format!("{what}-{}", self.process))
    }

    /// What was done, and what its bytes are called.
    fn run(
        &self,
        phase: &str,
        programs: bool,
    ) -> Result<(Figures, Option<&'static str>), WorkloadError> {
        let (tree, copy, all) = (self.at("tree"), self.at("copy"), self.packed.figures);
        if programs {
            self.program(phase, &tree, &copy)?;
        }
        let found = match phase {
            _ if programs => all,
            "tree-prepare" | "tree-extract" => {
                std::fs::create_dir(&tree).map_err(io("create", &tree))?;
                archive::unpack(&self.packed.full, &tree)?
            }
            "tree-prepare-copy" | "tree-copy" => ops::copy(&tree, &copy)?,
            "tree-read" => ops::read(&tree)?,
            "tree-compare" => ops::compare(&tree, &copy)?,
            _ => Figures { bytes: all.bytes, ..ops::remove(&tree)? },
        };
        expect("directories", all.directories, found.directories)?;
        expect("files", all.files, found.files)?;
        expect("bytes", all.bytes, found.bytes)?;
        let bytes = match phase {
            "tree-extract" | "tree-copy" => Some("written_bytes"),
            "tree-read" | "tree-compare" => Some("read_bytes"),
            _ => None,
        };
        Ok((found, bytes))
    }

    fn program(&self, phase: &str, tree: &Path, copy: &Path) -> Result<(), WorkloadError> {
        let all = self.packed.figures;
        match phase {
            "tree-prepare" | "tree-extract" => {
                std::fs::create_dir(tree).map_err(io("create", tree))?;
                let mut tar = program::command("tar")?;
                program::run(tar.arg("xf").arg(&self.packed.full).arg("-C").arg(tree))
            }
            "tree-prepare-copy" | "tree-copy" => {
                program::run(program::command("cp")?.arg("-a").arg(tree).arg(copy))
            }
            "tree-read" => {
                // -L: the names of files without a match, which must be all of them.
                let mut grep = program::command("grep")?;
                let found = program::output(grep.args(["-rL", ABSENT]).arg(tree), &[1])?;
                let names = found.iter().filter(|&&byte| byte == b'\n').count() as u64;
                expect("files without a match", all.files, names)
            }
            "tree-compare" => program::run(
                program::command("diff")?.arg("-r").arg("--no-dereference").arg(tree).arg(copy),
            ),
            _ => {
                program::run(program::command("rm")?.arg("-rf").arg(tree))?;
                expect("trees left", 0, u64::from(tree.exists()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_alone_are_prepared() {
        let names = |tests: &[&str]| -> Vec<String> {
            phases(tests).into_iter().map(|phase| phase.name).collect()
        };
        assert_eq!(names(&["large-read"]), ["large-prepare", "large-read", "large-clear"]);
        let compared = ["tree-prepare", "tree-prepare-copy", "tree-compare"];
        assert_eq!(names(&["tree-compare"]), compared);
        let measured = phases(TESTS).into_iter().filter(|phase| phase.measured);
        assert_eq!(measured.map(|phase| phase.name).collect::<Vec<_>>(), TESTS);
    }
}
