//! The six tests of the I/O bound property (Bhat and Quadri, seed 003, section V).

use std::path::{Path, PathBuf};

use super::error::{expect, io};
use super::parameter::{Arguments, Kind, Parameter};
use super::{Context, Missing, Outcome, PhaseSpec, Workload, WorkloadError, cold, program};
use crate::tree::walk;

/// The workload.
pub(super) struct IoBound;

const WAYS: &[&str] = &["in-process", "programs", "program-each"];

/// A name that is not there: the fugitive of the paper.
const ABSENT: &str = "fugitive";

impl Workload for IoBound {
    fn name(&self) -> &'static str {
        "io-bound"
    }

    fn about(&self) -> &'static str {
        "create, find and remove empty files, then directories, caches emptied in between (seed 003)"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new(
                "count",
                "10000",
                "files",
                Kind::Integer(1, 10_000_000),
                "files, and then directories, of all processes together, each process's in one directory",
            ),
            Parameter::new(
                "way",
                "\"in-process\"",
                "",
                Kind::Choice(WAYS),
                "system calls of the lab's own, or touch, find, rm and mkdir over many names or over one each",
            ),
        ]
    }

    fn phases(&self, _: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError> {
        let names = ["create-files", "find-files", "remove-files"];
        let more = ["create-directories", "find-directories", "remove-directories"];
        Ok(names.into_iter().chain(more).map(cold).collect())
    }

    fn missing(&self, args: &Arguments) -> Result<Vec<Missing>, WorkloadError> {
        if args.text("way")? == "in-process" {
            return Ok(Vec::new());
        }
        let core = "coreutils";
        let needed = [("touch", core), ("find", "findutils"), ("rm", core), ("mkdir", core)];
        Ok(program::missing(&needed))
    }

    fn run(&self, args: &Arguments, phase: &str, at: &Context) -> Result<Outcome, WorkloadError> {
        let (test, what) = phase.split_once('-').unwrap_or((phase, ""));
        let share = Share {
            dir: at.dir.join(format!("{what}-{}", at.process)),
            count: part(args.count("count")?, at),
            directories: what == "directories",
            way: args.text("way")?,
        };
        match test {
            "create" => share.create()?,
            "find" => share.find()?,
            _ => share.remove()?,
        }
        Ok(Outcome::of([(what, share.count as f64)]))
    }
}

/// How many of `count` are this process's.
fn part(count: u64, at: &Context) -> u64 {
    let (process, processes) = (u64::from(at.process), u64::from(at.processes.max(1)));
    count / processes + u64::from(process < count % processes)
}

/// One process's files or directories.
struct Share<'a> {
    dir: PathBuf,
    count: u64,
    directories: bool,
    way: &'a str,
}

impl Share<'_> {
    fn names(&self) -> impl Iterator<Item = String> + use<> {
        let letter = if self.directories { 'd' } else { 'f' };
        (0..self.count).map(move |at| format!("{letter}{at:05}"))
    }

    fn create(&self) -> Result<(), WorkloadError> {
        std::fs::create_dir(&self.dir).map_err(io("create", &self.dir))?;
        let program = if self.directories { "mkdir" } else { "touch" };
        if self.way != "in-process" {
            return program::over(&[program], self.names(), &self.dir, self.way == "program-each");
        }
        for name in self.names() {
            let path = self.dir.join(name);
            let made = if self.directories {
                std::fs::create_dir(&path)
            } else {
                std::fs::File::create_new(&path).map(drop)
            };
            made.map_err(io("create", &path))?;
        }
        Ok(())
    }

    /// Looks for what is not there, and counts what is.
    fn find(&self) -> Result<(), WorkloadError> {
        if self.way != "in-process" {
            return self.find_program();
        }
        let (mut seen, mut found) = (0, 0);
        walk::each(&self.dir, &mut |path, _| {
            seen += 1;
            found += u64::from(path.file_name().is_some_and(|name| name == ABSENT));
            Ok(())
        })?;
        expect("entries found", self.count, seen)?;
        expect("entries of a name that is not there", 0, found)
    }

    fn find_program(&self) -> Result<(), WorkloadError> {
        let mut find = program::command("find")?;
        // Entries are counted on the way, a dot each: without I/O of its own.
        find.arg(&self.dir).args(["-name", ABSENT, "-print", "-o", "-printf", "."]);
        let said = program::output(&mut find, &[])?;
        expect("entries found", self.count + 1, said.len() as u64)
    }

    fn remove(&self) -> Result<(), WorkloadError> {
        if self.way != "in-process" {
            let rm: &[&str] = if self.directories { &["rm", "-r"] } else { &["rm"] };
            program::over(rm, self.names(), &self.dir, self.way == "program-each")?;
        } else {
            let removed = clear(&self.dir)?;
            expect("entries removed", self.count, removed)?;
        }
        // Fails if anything is left.
        std::fs::remove_dir(&self.dir).map_err(io("remove", &self.dir))
    }
}

/// Removes all entries below `dir` as `rm -r` does: a directory is read before it is removed.
fn clear(dir: &Path) -> Result<u64, WorkloadError> {
    let mut removed = 0;
    for (path, kind) in walk::entries(dir)? {
        if kind.is_dir() {
            removed += clear(&path)?;
            std::fs::remove_dir(&path).map_err(io("remove", &path))?;
        } else {
            std::fs::remove_file(&path).map_err(io("remove", &path))?;
        }
        removed += 1;
    }
    Ok(removed)
}
