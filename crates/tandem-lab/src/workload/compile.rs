//! Compilation of a kernel, a macrobenchmark of seed 000 (section 3.2).

use std::path::{Path, PathBuf};

use super::error::{expect, io};
use super::parameter::{Arguments, Kind, Parameter};
use super::{
    Context, Missing, Outcome, PhaseSpec, Workload, WorkloadError, aside, cold, program, trees,
};
use crate::tree::{Source, archive, walk};

/// The workload.
pub(super) struct Compile;

/// What building a kernel for this processor takes.
const TOOLS: [(&str, &str); 6] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
];

/// Needed for objtool, which 64-bit kernels of x86 are built with.
const LIBELF: &str = "/usr/include/libelf.h";

impl Workload for Compile {
    fn name(&self) -> &'static str {
        "compile"
    }

    fn about(&self) -> &'static str {
        "compile a Linux kernel from its source on the file system (seed 000)"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new(
                "source",
                "\"/usr/src/linux-source-6.1.tar.xz\"",
                "",
                Kind::Text,
                "the kernel's source: a directory or an archive, by its absolute path",
            ),
            Parameter::new(
                "configuration",
                "\"tinyconfig\"",
                "",
                Kind::Text,
                "make target that configures it",
            ),
            Parameter::new(
                "target",
                "\"vmlinux\"",
                "",
                Kind::Text,
                "make target that is timed, and the file that must come out",
            ),
        ]
    }

    fn phases(&self, args: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError> {
        for name in ["configuration", "target"] {
            let word = args.text(name)?;
            let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
            if word.is_empty() || word.starts_with('-') || !word.chars().all(plain) {
                return Err(args.wrong(name, "not a make target"));
            }
        }
        if !Path::new(args.text("source")?).is_absolute() {
            return Err(args.wrong("source", "not an absolute path"));
        }
        Ok(vec![aside("unpack"), aside("configure"), cold("compile")])
    }

    fn missing(&self, args: &Arguments) -> Result<Vec<Missing>, WorkloadError> {
        let mut all = program::missing(&TOOLS);
        let libelf = Missing { what: LIBELF.to_owned(), package: Some("libelf-dev".to_owned()) };
        all.extend((!Path::new(LIBELF).exists()).then_some(libelf));
        let source = Path::new(args.text("source")?);
        if !source.exists() {
            let debian = source.starts_with("/usr/src/linux-source-6.1.tar.xz");
            let package = debian.then(|| "linux-source-6.1".to_owned());
            all.push(Missing { what: source.display().to_string(), package });
        }
        let unpacker = archive::program(source).map(|name| (name, archive::package(name)));
        all.extend(program::missing(unpacker.as_slice()));
        Ok(all)
    }

    fn prepare(&self, args: &Arguments, scratch: &Path) -> Result<(), WorkloadError> {
        let source = Source::at(Path::new(args.text("source")?))?;
        trees::pack(&source, 1.0, &source.identity()?, scratch).map(drop)
    }

    /// `make` has as many jobs as there are processes; the first process runs it.
    fn run(&self, args: &Arguments, phase: &str, at: &Context) -> Result<Outcome, WorkloadError> {
        if at.process > 0 {
            return Ok(Outcome::default());
        }
        let dir = at.dir.join("linux");
        if phase == "unpack" {
            let source = Source::at(Path::new(args.text("source")?))?;
            let packed = trees::place(&source.identity()?, &at.scratch)?;
            std::fs::create_dir(&dir).map_err(io("create", &dir))?;
            expect("files", packed.figures.files, archive::unpack(&packed.full, &dir)?.files)?;
            return Ok(Outcome::default());
        }
        let dir = topmost(&dir)?;
        let target = args.text(if phase == "configure" { "configuration" } else { "target" })?;
        let mut make = program::command("make")?;
        make.arg("-C").arg(&dir).arg(format!("-j{}", at.processes)).arg(target);
        program::run(&mut make)?;
        if phase == "configure" {
            return Ok(Outcome::default());
        }
        let image = dir.join(target);
        let bytes = std::fs::metadata(&image).map_err(io("stat", &image))?.len();
        Ok(Outcome::of([("image_bytes", bytes as f64)]))
    }
}

/// The directory that the source lies in: an archive has one of its own.
fn topmost(dir: &Path) -> Result<PathBuf, WorkloadError> {
    let entries = walk::entries(dir)?;
    Ok(match entries.as_slice() {
        [(only, kind)] if kind.is_dir() => only.clone(),
        _ => dir.to_owned(),
    })
}
