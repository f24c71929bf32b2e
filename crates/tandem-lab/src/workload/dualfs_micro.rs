//! DualFS's seven microbenchmarks (Piernas, Cortes and García, seed 000, section 3.1).

use std::path::{Path, PathBuf};

use super::error::{expect, io};
use super::parameter::{Arguments, Kind, Parameter};
use super::trees::{self, Packed};
use super::{
    Context, Missing, Outcome, PhaseSpec, Workload, WorkloadError, aging, aside, cold, program,
};
use crate::tree::{Figures, archive, ops};

/// The workload.
pub(super) struct DualfsMicro;

const TESTS: &[&str] = &[
    "write-meta",
    "read-write-meta",
    "write-data-meta",
    "read-meta",
    "read-data-meta",
    "read-write-data-meta",
    "delete",
];

/// What prepares a test when the one that does is not among those wanted.
const AGE: &str = "age";
const UNPACK: &str = "unpack";
const UNPACK_EMPTY: &str = "unpack-empty";
const CLEAR: &str = "clear";

impl Workload for DualfsMicro {
    fn name(&self) -> &'static str {
        "dualfs-micro"
    }

    fn about(&self) -> &'static str {
        "unpack, find, read, copy and delete copies of a source tree, with and without contents (seed 000)"
    }

    fn parameters(&self) -> Vec<Parameter> {
        let tests: Vec<_> = TESTS.iter().map(|test| format!("{test:?}")).collect();
        let mut all = vec![
            Parameter::new(
                "tests",
                format!("[{}]", tests.join(", ")),
                "",
                Kind::Choices(TESTS),
                "which of the seven; they are run in the order of the default",
            ),
            Parameter::new(
                "copies",
                "4",
                "trees",
                Kind::Integer(1, 1000),
                "copies of the tree, of all processes together",
            ),
            Parameter::new(
                "programs",
                "false",
                "",
                Kind::Flag,
                "use tar, find, cat, cp and rm instead of system calls of the lab's own",
            ),
            Parameter::new(
                "age",
                "0.0",
                "",
                Kind::Number(0.0, 0.95),
                "share of the file system that is filled, and then thinned out, before the tests; 0: none, the file system is new",
            ),
            Parameter::new(
                "age_rounds",
                "2",
                "rounds",
                Kind::Integer(1, 1000),
                "how often it is filled and thinned out",
            ),
        ];
        all.extend(trees::parameters(12_000, 780, trees::MEDIAN));
        all
    }

    fn phases(&self, args: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError> {
        trees::check(args)?;
        if args.count("copies")? < u64::from(args.processes) {
            return Err(args.wrong("copies", "fewer than processes: each works on its own copy"));
        }
        let aged = args.number("age")? > 0.0;
        let first = aged.then(|| aside(AGE));
        Ok(first.into_iter().chain(phases(&args.texts("tests")?)).collect())
    }

    fn missing(&self, args: &Arguments) -> Result<Vec<Missing>, WorkloadError> {
        let mut all = trees::missing(args)?;
        if args.flag("programs")? {
            let core = "coreutils";
            let needed =
                [("tar", "tar"), ("find", "findutils"), ("cat", core), ("cp", core), ("rm", core)];
            all.extend(program::missing(&needed));
        }
        Ok(all)
    }

    fn prepare(&self, args: &Arguments, scratch: &Path) -> Result<(), WorkloadError> {
        trees::prepare(args, scratch).map(drop)
    }

    fn run(&self, args: &Arguments, phase: &str, at: &Context) -> Result<Outcome, WorkloadError> {
        let packed = trees::packed(args, &at.scratch)?;
        if phase == AGE {
            return age(args, &packed, at);
        }
        let programs = args.flag("programs")?;
        let copies = args.count("copies")?;
        let mine = (u64::from(at.process)..copies).step_by(at.processes.max(1) as usize);
        let mut sum = Figures::default();
        for copy in mine {
            let test = Test { dir: &at.dir, copy, packed: &packed, programs };
            let done = test.run(phase)?;
            sum.directories += done.directories;
            sum.files += done.files;
            sum.links += done.links;
            sum.bytes += done.bytes;
            sum.over_2k += done.over_2k;
        }
        let mut outcome = Outcome::of([
            ("directories", sum.directories as f64),
            ("files", sum.files as f64),
            ("links", sum.links as f64),
        ]);
        let moved = match phase {
            "read-meta" => Some(("found_files", sum.over_2k)),
            "read-data-meta" => Some(("read_bytes", sum.bytes)),
            "write-data-meta" | "read-write-data-meta" => Some(("written_bytes", sum.bytes)),
            _ => None,
        };
        outcome.values.extend(moved.map(|(name, value)| (name.to_owned(), value as f64)));
        Ok(outcome)
    }
}

/// One process ages the file system; the same way whatever their number.
fn age(args: &Arguments, packed: &Packed, at: &Context) -> Result<Outcome, WorkloadError> {
    if at.process > 0 {
        return Ok(Outcome::default());
    }
    let (share, rounds) = (args.number("age")?, args.count("age_rounds")?);
    let (made, removed) = aging::age(&at.dir, packed, share, rounds, at.seed)?;
    if made == 0 {
        let reason =
            "not even one copy of the tree fits; a smaller tree or a larger disk is needed";
        return Err(args.wrong("age", reason));
    }
    Ok(Outcome::of([("made_files", made as f64), ("removed_files", removed as f64)]))
}

/// The phases for these tests. The empty trees come first and are removed, so that the full ones
/// have the file system for themselves.
fn phases(tests: &[&str]) -> Vec<PhaseSpec> {
    let wanted = |test: &str| tests.contains(&test);
    let mut phases = Vec::new();
    let empty = wanted("write-meta") || wanted("read-write-meta");
    if wanted("write-meta") {
        phases.push(cold("write-meta"));
    } else if empty {
        phases.push(aside(UNPACK_EMPTY));
    }
    if wanted("read-write-meta") {
        phases.push(cold("read-write-meta"));
    }
    let full: Vec<_> = TESTS[2..].iter().copied().filter(|test| wanted(test)).collect();
    if empty && !full.is_empty() {
        phases.push(aside(CLEAR));
    }
    if !full.is_empty() && !wanted("write-data-meta") {
        phases.push(aside(UNPACK));
    }
    phases.extend(full.into_iter().map(cold));
    phases
}

/// A test on one copy of the tree.
struct Test<'a> {
    dir: &'a Path,
    copy: u64,
    packed: &'a Packed,
    programs: bool,
}

impl Test<'_> {
    fn at(&self, what: &str) -> PathBuf {
        self.dir.join(format!("{what}-{}", self.copy))
    }

    fn run(&self, phase: &str) -> Result<Figures, WorkloadError> {
        let full = self.packed.figures;
        match phase {
            "write-meta" | UNPACK_EMPTY => {
                self.unpack(&self.packed.empty, &self.at("empty"), full.emptied())
            }
            "write-data-meta" | UNPACK => self.unpack(&self.packed.full, &self.at("tree"), full),
            "read-write-meta" => {
                self.copy(&self.at("empty"), &self.at("empty-copy"), full.emptied())
            }
            "read-write-data-meta" => self.copy(&self.at("tree"), &self.at("tree-copy"), full),
            "read-meta" => self.find(&self.at("tree")),
            "read-data-meta" => self.read(&self.at("tree")),
            "delete" => self.delete(&self.at("tree")),
            _ => self.clear(),
        }
    }

    /// What was counted, if it is what had to be.
    fn all(&self, expected: Figures, found: Figures) -> Result<Figures, WorkloadError> {
        expect("directories", expected.directories, found.directories)?;
        expect("files", expected.files, found.files)?;
        expect("links", expected.links, found.links)?;
        expect("bytes", expected.bytes, found.bytes)?;
        Ok(found)
    }

    fn unpack(
        &self,
        archive: &Path,
        to: &Path,
        expected: Figures,
    ) -> Result<Figures, WorkloadError> {
        std::fs::create_dir(to).map_err(io("create", to))?;
        if !self.programs {
            return self.all(expected, archive::unpack(archive, to)?);
        }
        // -v: tar says what it has made; the names are counted.
        let mut tar = program::command("tar")?;
        tar.arg("xvf").arg(archive).arg("-C").arg(to);
        self.lines(&program::output(&mut tar, &[])?, expected)
    }

    /// The tree, if the program named as many entries.
    fn lines(&self, said: &[u8], expected: Figures) -> Result<Figures, WorkloadError> {
        let lines = said.iter().filter(|&&byte| byte == b'\n').count() as u64;
        expect("entries", expected.directories + expected.files + expected.links, lines)?;
        Ok(expected)
    }

    fn copy(&self, from: &Path, to: &Path, expected: Figures) -> Result<Figures, WorkloadError> {
        if !self.programs {
            return self.all(expected, ops::copy(from, to)?);
        }
        let mut cp = program::command("cp")?;
        cp.arg("-rv").arg(from).arg(to);
        let said = program::output(&mut cp, &[])?;
        // It names the directory itself, too.
        self.lines(said.splitn(2, |&byte| byte == b'\n').nth(1).unwrap_or_default(), expected)
    }

    fn find(&self, dir: &Path) -> Result<Figures, WorkloadError> {
        let expected = self.packed.figures;
        if !self.programs {
            let found = self.all(expected, ops::find(dir)?)?;
            expect("files over 2 KB", expected.over_2k, found.over_2k)?;
            return Ok(found);
        }
        let mut find = program::command("find")?;
        find.arg(dir).args(["-type", "f", "-size", "+2k"]);
        let found = program::output(&mut find, &[])?;
        let files = found.iter().filter(|&&byte| byte == b'\n').count() as u64;
        expect("files over 2 KB", expected.over_2k, files)?;
        Ok(expected)
    }

    fn read(&self, dir: &Path) -> Result<Figures, WorkloadError> {
        let expected = self.packed.figures;
        if !self.programs {
            return self.all(expected, ops::read(dir)?);
        }
        let mut find = program::command("find")?;
        find.arg(dir).args(["-type", "f", "-exec", "cat", "{}", "+"]);
        let bytes = program::count(&mut find)?;
        expect("bytes", expected.bytes, bytes)?;
        Ok(expected)
    }

    fn delete(&self, dir: &Path) -> Result<Figures, WorkloadError> {
        let expected = self.packed.figures;
        if !self.programs {
            let found = ops::remove(dir)?;
            return self.all(expected.emptied(), found);
        }
        let mut rm = program::command("rm")?;
        rm.arg("-rfv").arg(dir);
        let said = program::output(&mut rm, &[])?;
        let lines = said.strip_suffix(b"\n").unwrap_or(&said);
        let last = lines.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        self.lines(&said[..last], expected)
    }

    fn clear(&self) -> Result<Figures, WorkloadError> {
        for what in ["empty", "empty-copy"] {
            let dir = self.at(what);
            if dir.exists() {
                ops::remove(&dir)?;
            }
        }
        Ok(Figures::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_alone_is_prepared() {
        let names = |tests: &[&str]| -> Vec<(String, bool)> {
            phases(tests).into_iter().map(|phase| (phase.name, phase.measured)).collect()
        };
        let phase = |name: &str, measured| (name.to_owned(), measured);
        assert_eq!(names(&["delete"]), [phase(UNPACK, false), phase("delete", true)]);
        let both = [phase(UNPACK_EMPTY, false), phase("read-write-meta", true)];
        assert_eq!(names(&["read-write-meta"]), both);
        let measured = phases(TESTS).into_iter().filter(|phase| phase.measured);
        assert_eq!(measured.map(|phase| phase.name).collect::<Vec<_>>(), TESTS);
        assert!(phases(TESTS).iter().all(|phase| phase.cold));
    }
}
