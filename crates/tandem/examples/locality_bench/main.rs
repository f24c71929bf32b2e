//! Counts what file systems ask of their devices: requests and sectors from the kernel's statistics
//! of loop devices, the same way for Tandem (M and D) and the kernel's file systems.
//! `scripts/bench-locality.sh` builds and calls it; docs/locality.md says what each measure is.

mod affinity;
mod age;
#[path = "../common/mod.rs"]
mod common;
mod contents;
mod layout;
mod measure;
mod metadata;
mod six;
mod table;
mod tree;

use common::fs::{Res, Setup};
use std::path::{Path, PathBuf};

const USAGE: &str = "\
locality_bench [OPTION…]         all measures, as Markdown tables
locality_bench age DIR           age the file system that DIR is on (any file system)

  --only six,affinity,fresh,tree,aged  which measures
  --fs tandem,ext2,ext3,ext4,xfs,btrfs   for the six tests
  --tree-fs tandem,ext4          for the measures on a source tree
  --runs 3                       runs of the six tests; medians are shown
  --files 10000                  files and directories in the six tests
  --tree FILE.tar                the source tree
  --part DIR[,DIR…]              parts of the tree that go on the aged volume
  --options LIST                 further mount options for Tandem
  --dir DIR                      where the images go
  --tandem PROGRAM

age DIR:
  --fill 80                      per cent of the file system that are full at the end
  --times 10                     files created and deleted, as a multiple of those that stay
  --seed 1";

/// What the command line says.
struct Args {
    only: Vec<String>,
    fs: Vec<String>,
    tree_fs: Vec<String>,
    runs: usize,
    files: usize,
    tree: PathBuf,
    parts: Vec<String>,
    setup: Setup,
    age: age::Ageing,
    target: Option<PathBuf>,
}

fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

impl Args {
    fn parse() -> Res<Args> {
        let mut args = Args {
            only: vec![],
            fs: list("tandem,ext2,ext3,ext4,xfs,btrfs"),
            tree_fs: list("tandem,ext4"),
            runs: 3,
            files: 10_000,
            tree: "/dev/shm/linux-source-6.1.tar".into(),
            parts: list("linux-source-6.1/fs,linux-source-6.1/net,linux-source-6.1/include"),
            setup: Setup {
                dir: "/dev/shm/tandem-locality".into(),
                tandem: "tandem".into(),
                options: String::new(),
                loops: true,
            },
            age: age::Ageing::default(),
            target: None,
        };
        let mut words = std::env::args().skip(1).peekable();
        if words.next_if_eq("age").is_some() {
            args.target = Some(words.next().ok_or(USAGE)?.into());
        }
        while let Some(word) = words.next() {
            if word == "--help" {
                println!("{USAGE}");
                std::process::exit(0);
            }
            let value = words.next().ok_or(format!("{word}: a value is missing\n{USAGE}"))?;
            match word.as_str() {
                "--only" => args.only = list(&value),
                "--fs" => args.fs = list(&value),
                "--tree-fs" => args.tree_fs = list(&value),
                "--runs" => args.runs = value.parse()?,
                "--files" => args.files = value.parse()?,
                "--tree" => args.tree = value.into(),
                "--part" => args.parts = list(&value),
                "--options" => args.setup.options = value,
                "--dir" => args.setup.dir = value.into(),
                "--tandem" => args.setup.tandem = value.into(),
                "--fill" => args.age.fill = value.parse()?,
                "--times" => args.age.times = value.parse()?,
                "--seed" => args.age.seed = value.parse()?,
                _ => return Err(format!("{word}: not known\n{USAGE}").into()),
            }
        }
        Ok(args)
    }

    /// The directory that the archive unpacks to.
    fn top(&self) -> String {
        let part = self.parts.first().map_or("", String::as_str);
        part.split('/').next().unwrap_or_default().to_owned()
    }

    fn wants(&self, measure: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == measure)
    }
}

/// The directory for images, made afresh and removed at the end.
struct Scratch<'a>(&'a Path);

impl Scratch<'_> {
    fn new(dir: &Path) -> Res<Scratch<'_>> {
        let _ = std::fs::remove_dir_all(dir);
        std::fs::create_dir_all(dir)?;
        Ok(Scratch(dir))
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0);
    }
}

fn main() -> Res<()> {
    let args = Args::parse()?;
    if let Some(dir) = &args.target {
        println!("{}", age::age(dir, &args.age)?);
        return Ok(());
    }
    let _scratch = Scratch::new(&args.setup.dir)?;
    println!("{}\n", table::machine());
    if args.wants("six") {
        six::all(&args)?;
    }
    if args.wants("affinity") {
        affinity::all(&args)?;
    }
    if args.wants("fresh") {
        tree::fresh(&args)?;
    }
    if args.wants("tree") {
        tree::all(&args)?;
    }
    if args.wants("aged") {
        tree::aged(&args)?;
    }
    Ok(())
}
