//! Trees as parameters of workloads, and as their products.

use std::path::{Path, PathBuf};

use super::error::io;
use super::parameter::{Arguments, Kind, Parameter};
use super::{WorkloadError, product, program};
use crate::tree::synthetic::{LINUX_DEPTHS, LINUX_MEDIAN, LINUX_SIGMA};
use crate::tree::{Figures, Shape, Source, archive};

/// The names of [`parameters`] that decide what the archives hold.
const NAMES: [&str; 9] = [
    "tree",
    "share",
    "tree_seed",
    "files",
    "directories",
    "depths",
    "median_size",
    "size_sigma",
    "largest_size",
];

/// The parameters of a tree; by default, `files` and `directories` of Linux 6.1's shape.
pub(super) fn parameters(files: u32, directories: u32, median: f64) -> Vec<Parameter> {
    let depths: Vec<_> = LINUX_DEPTHS.iter().map(|depth| format!("{depth:?}")).collect();
    vec![
        Parameter::new(
            "tree",
            "\"synthetic\"",
            "",
            Kind::Text,
            "\"synthetic\", or the path of a directory or tar archive (plain, gz, bz2, xz, zst)",
        ),
        Parameter::new(
            "share",
            "1.0",
            "",
            Kind::Number(0.000_001, 1.0),
            "share of the tree's directories that is used, each with the files in it",
        ),
        Parameter::new(
            "tree_seed",
            "1",
            "",
            Kind::Integer(0, i64::MAX),
            "what a synthetic tree begins with; not the run's seed, so that all runs have one tree",
        ),
        Parameter::new(
            "files",
            files.to_string(),
            "files",
            Kind::Integer(0, 100_000_000),
            "files of a synthetic tree",
        ),
        Parameter::new(
            "directories",
            directories.to_string(),
            "directories",
            Kind::Integer(1, 10_000_000),
            "directories of a synthetic tree",
        ),
        Parameter::new(
            "depths",
            format!("[{}]", depths.join(", ")),
            "",
            Kind::Numbers,
            "shares of a synthetic tree's directories by depth, the topmost one's first",
        ),
        Parameter::new(
            "median_size",
            format!("{median:?}"),
            "bytes",
            Kind::Number(0.0, 1e12),
            "median size of a synthetic tree's files",
        ),
        Parameter::new(
            "size_sigma",
            format!("{LINUX_SIGMA:?}"),
            "",
            Kind::Number(0.0, 5.0),
            "standard deviation of the natural logarithm of their sizes",
        ),
        Parameter::new(
            "largest_size",
            "\"24M\"",
            "bytes",
            Kind::Bytes(0, 1 << 40),
            "largest size of a synthetic tree's files",
        ),
    ]
}

/// The median size of Linux 6.1's files, in bytes.
pub(super) const MEDIAN: f64 = LINUX_MEDIAN;

/// Where the parameters say that the tree comes from.
pub(super) fn source(args: &Arguments) -> Result<Source, WorkloadError> {
    let tree = args.text("tree")?;
    if tree != "synthetic" {
        let path = Path::new(tree);
        if !path.is_absolute() {
            return Err(args.wrong("tree", "neither \"synthetic\" nor an absolute path"));
        }
        return Ok(Source::at(path)?);
    }
    Ok(Source::Synthetic(Shape {
        seed: args.count("tree_seed")?,
        files: args.count("files")?,
        directories: args.count("directories")?,
        depths: args.numbers("depths")?,
        median: args.number("median_size")?,
        sigma: args.number("size_sigma")?,
        largest: args.count("largest_size")?,
    }))
}

/// What is there of it only from the parameters, without looking at the disk.
pub(super) fn check(args: &Arguments) -> Result<(), WorkloadError> {
    let tree = args.text("tree")?;
    if tree == "synthetic" || Path::new(tree).is_absolute() {
        return Ok(());
    }
    Err(args.wrong("tree", "neither \"synthetic\" nor an absolute path"))
}

/// What the machine lacks to read the tree.
pub(super) fn missing(args: &Arguments) -> Result<Vec<super::Missing>, WorkloadError> {
    let tree = args.text("tree")?;
    if tree == "synthetic" {
        return Ok(Vec::new());
    }
    let path = Path::new(tree);
    if !path.exists() {
        return Ok(vec![super::Missing { what: tree.to_owned(), package: None }]);
    }
    let programs = archive::program(path).map(|name| (name, archive::package(name)));
    Ok(program::missing(programs.as_slice()))
}

/// A tree as archives, and what it consists of.
pub(super) struct Packed {
    /// The tree.
    pub full: PathBuf,
    /// The tree with empty files.
    pub empty: PathBuf,
    /// Of the full one.
    pub figures: Figures,
}

fn key(args: &Arguments) -> Result<String, WorkloadError> {
    Ok(format!("{}\n{}", args.key(&NAMES)?, source(args)?.identity()?))
}

/// Makes the archives, if they are not there.
pub(super) fn prepare(args: &Arguments, scratch: &Path) -> Result<Packed, WorkloadError> {
    pack(&source(args)?, args.number("share")?, &key(args)?, scratch)
}

/// The archives that [`prepare`] has made.
pub(super) fn packed(args: &Arguments, scratch: &Path) -> Result<Packed, WorkloadError> {
    place(&key(args)?, scratch)
}

/// A share of this tree as archives, which go by this key.
pub(super) fn pack(
    source: &Source,
    share: f64,
    key: &str,
    scratch: &Path,
) -> Result<Packed, WorkloadError> {
    let place = product::made(scratch, "tree", key, |draft| {
        let figures =
            archive::pack(source, share, &draft.join("full.tar"), &draft.join("empty.tar"))?;
        let path = draft.join("figures.json");
        let file = std::fs::File::create_new(&path).map_err(io("create", &path))?;
        serde_json::to_writer(file, &figures).map_err(io("write", &path))
    })?;
    read(&place)
}

/// The archives that [`pack`] has made.
pub(super) fn place(key: &str, scratch: &Path) -> Result<Packed, WorkloadError> {
    read(&product::place(scratch, "tree", key))
}

fn read(place: &Path) -> Result<Packed, WorkloadError> {
    let path = place.join("figures.json");
    let text = std::fs::read(&path).map_err(io("read", &path))?;
    let figures = serde_json::from_slice(&text).map_err(|error| WorkloadError::Product {
        path: path.clone(),
        reason: format!("{error}; remove {}", place.display()),
    })?;
    Ok(Packed { full: place.join("full.tar"), empty: place.join("empty.tar"), figures })
}
