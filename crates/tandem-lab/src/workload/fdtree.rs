//! fdtree 1.0.2 (Seager and Loewe, LLNL), the benchmark of seed 001.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::clock::Clock;
use super::error::{expect, io};
use super::parameter::{Arguments, Kind, Parameter};
use super::{Context, Missing, Outcome, PhaseSpec, Workload, WorkloadError, program, warm};

/// The workload.
pub(super) struct Fdtree;

/// Bytes of a block, whatever the file system's.
const BLOCK: u64 = 4096;

/// The largest tree, in directories: a slip of the parameters would fill any disk.
const MOST: u64 = 1 << 32;

impl Workload for Fdtree {
    fn name(&self) -> &'static str {
        "fdtree"
    }

    fn about(&self) -> &'static str {
        "make and remove a regular tree of directories with files in all of them (seed 001)"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new(
                "levels",
                "4",
                "levels",
                Kind::Integer(0, 64),
                "-l: levels below the topmost directory",
            ),
            Parameter::new(
                "directories",
                "10",
                "directories",
                Kind::Integer(1, 100_000),
                "-d: directories in each directory",
            ),
            Parameter::new(
                "files",
                "10",
                "files",
                Kind::Integer(0, 10_000_000),
                "-f: files in each directory",
            ),
            Parameter::new(
                "blocks",
                "10",
                "blocks",
                Kind::Integer(0, 1 << 30),
                "-s: blocks of 4,096 bytes in each file",
            ),
            Parameter::new(
                "programs",
                "false",
                "",
                Kind::Flag,
                "start mkdir, dd, rm and rmdir as fdtree does, which costs more than most file systems, instead of system calls of the lab's own",
            ),
        ]
    }

    fn phases(&self, args: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError> {
        let tree = Tree::new(args)?;
        tree.directories()
            .and_then(|all| all.checked_mul(tree.files.max(1)))
            .and_then(|files| files.checked_mul(tree.blocks.max(1) * BLOCK))
            .ok_or_else(|| {
                args.wrong("levels", "a tree of more than 2^32 directories or 2^64 bytes")
            })?;
        let names = ["directory-create", "file-create", "file-remove", "directory-remove"];
        Ok(names.into_iter().map(warm).collect())
    }

    fn missing(&self, args: &Arguments) -> Result<Vec<Missing>, WorkloadError> {
        let needed = ["mkdir", "dd", "rm", "rmdir"].map(|name| (name, "coreutils"));
        Ok(if args.flag("programs")? { program::missing(&needed) } else { Vec::new() })
    }

    fn run(&self, args: &Arguments, phase: &str, at: &Context) -> Result<Outcome, WorkloadError> {
        // fdtree appends host and process, so that several have a tree each.
        let base = at.dir.join(format!("LEVEL0.lab.{}", at.process));
        let tree = Tree::new(args)?;
        let directories = tree.directories().unwrap_or(0);
        let clock = Clock::start();
        let (what, count, done) = match phase {
            "directory-create" => {
                tree.made(&base)?;
                ("directories", directories, 1 + tree.create_directories(tree.levels, &base)?)
            }
            "file-create" => {
                ("files", directories * tree.files, tree.create_files(tree.levels, &base)?)
            }
            "file-remove" => {
                ("files", directories * tree.files, tree.remove_files(tree.levels, &base)?)
            }
            _ => {
                let below = tree.remove_directories(tree.levels, &base)?;
                tree.gone(std::slice::from_ref(&base))?;
                ("directories", directories, 1 + below)
            }
        };
        let took = clock.elapsed();
        expect(what, count, done)?;
        let printed = |amount: u64| amount.checked_div(took.whole).unwrap_or(0) as f64;
        let mut outcome = Outcome::of([(what, count as f64)]);
        let rate = format!("{what}_per_s");
        outcome.values.insert(rate.clone(), count as f64 / took.seconds);
        outcome.values.insert(format!("printed_{rate}"), printed(count));
        outcome.values.insert("printed_seconds".to_owned(), took.whole as f64);
        if phase == "file-create" {
            let bytes = count * tree.blocks * BLOCK;
            outcome.values.insert("written_bytes".to_owned(), bytes as f64);
            outcome.values.insert("kib_per_s".to_owned(), bytes as f64 / 1024.0 / took.seconds);
            outcome.values.insert("printed_kib_per_s".to_owned(), printed(bytes / 1024));
        }
        Ok(outcome)
    }
}

/// One process's tree.
struct Tree {
    levels: u64,
    width: u64,
    files: u64,
    blocks: u64,
    programs: bool,
    zeroes: Vec<u8>,
}

impl Tree {
    fn new(args: &Arguments) -> Result<Tree, WorkloadError> {
        Ok(Tree {
            levels: args.count("levels")?,
            width: args.count("directories")?,
            files: args.count("files")?,
            blocks: args.count("blocks")?,
            programs: args.flag("programs")?,
            zeroes: vec![0; BLOCK as usize],
        })
    }

    /// All directories, the topmost one too: the sum of width^i for i from 0 to levels.
    fn directories(&self) -> Option<u64> {
        let mut all = 0_u64;
        for _ in 0..=self.levels {
            all = all.checked_mul(self.width)?.checked_add(1).filter(|&all| all <= MOST)?;
        }
        Some(all)
    }

    /// The directories in one of this level, in fdtree's order: counting down.
    fn below(&self, level: u64, base: &Path) -> Vec<PathBuf> {
        let width = if level == 0 { 0 } else { self.width };
        (1..=width).rev().map(|n| base.join(format!("L{level}D{n}"))).collect()
    }

    fn within(&self, level: u64, base: &Path) -> Vec<PathBuf> {
        (1..=self.files).rev().map(|n| base.join(format!("L{level}F{n}"))).collect()
    }

    fn made(&self, dir: &Path) -> Result<(), WorkloadError> {
        if self.programs {
            return program::run(program::command("mkdir")?.arg(dir));
        }
        std::fs::create_dir(dir).map_err(io("create", dir))
    }

    fn gone(&self, dirs: &[PathBuf]) -> Result<(), WorkloadError> {
        if self.programs {
            return program::run(program::command("rmdir")?.args(dirs));
        }
        dirs.iter().try_for_each(|dir| std::fs::remove_dir(dir).map_err(io("remove", dir)))
    }

    /// All siblings first, then what is below each.
    fn create_directories(&self, level: u64, base: &Path) -> Result<u64, WorkloadError> {
        let below = self.below(level, base);
        below.iter().try_for_each(|dir| self.made(dir))?;
        let mut done = below.len() as u64;
        for dir in below {
            done += self.create_directories(level - 1, &dir)?;
        }
        Ok(done)
    }

    fn create_files(&self, level: u64, base: &Path) -> Result<u64, WorkloadError> {
        let mut done = 0;
        for file in self.within(level, base) {
            self.create_file(&file)?;
            done += 1;
        }
        for dir in self.below(level, base) {
            done += self.create_files(level - 1, &dir)?;
        }
        Ok(done)
    }

    fn create_file(&self, path: &Path) -> Result<(), WorkloadError> {
        if self.programs {
            let mut dd = program::command("dd")?;
            dd.args(["if=/dev/zero", "bs=4096", &format!("count={}", self.blocks)]);
            return program::run(dd.arg(format!("of={}", path.display())));
        }
        let mut file = File::create(path).map_err(io("create", path))?;
        for _ in 0..self.blocks {
            file.write_all(&self.zeroes).map_err(io("write", path))?;
        }
        Ok(())
    }

    /// One `rm -f` a directory, before what is below it.
    fn remove_files(&self, level: u64, base: &Path) -> Result<u64, WorkloadError> {
        let files = self.within(level, base);
        if !self.programs {
            for file in &files {
                std::fs::remove_file(file).map_err(io("remove", file))?;
            }
        } else if !files.is_empty() {
            // -f says nothing of files that are not there; the rmdir of the last phase would.
            program::run(program::command("rm")?.arg("-f").args(&files))?;
        }
        let mut done = files.len() as u64;
        for dir in self.below(level, base) {
            done += self.remove_files(level - 1, &dir)?;
        }
        Ok(done)
    }

    /// What is below each first, then one `rmdir` of all siblings.
    fn remove_directories(&self, level: u64, base: &Path) -> Result<u64, WorkloadError> {
        let below = self.below(level, base);
        let mut done = below.len() as u64;
        if level > 1 {
            for dir in &below {
                done += self.remove_directories(level - 1, dir)?;
            }
        }
        if !below.is_empty() {
            self.gone(&below)?;
        }
        Ok(done)
    }
}
