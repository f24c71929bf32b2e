//! Measures a mounted volume from the programs' side, with ext4, XFS and btrfs beside it in the
//! same run. `scripts/bench-mount.sh` builds and calls it.
//!
//! All devices are in memory (files in /dev/shm; the kernel's file systems on loop devices over
//! such files), so that what is measured is software.

mod big;
#[path = "../common/mod.rs"]
mod common;
mod large;
mod micro;
mod table;
mod trees;

use common::fs;
use common::fs::Res;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const USAGE: &str = "\
mount_bench [OPTION…]            the table of the main measures
mount_bench --big N[,N…]         directories of N files each
mount_bench --volume N           a volume of N files: time to mount, memory
mount_bench --large 100G         one file of this size

  --fs tandem,ext4,xfs,btrfs     which file systems
  --runs 5                       how often; medians are shown
  --only untar,find,…            which measures (prefixes)
  --tree FILE.tar                the archive to unpack
  --files 20000                  how many files in the small measures
  --stream 4G                    how much to write and read in one stream
  --options LIST                 mount options for Tandem
  --loop                         Tandem on loop devices too
  --dir DIR                      where the images go
  --json FILE                    all figures, for other programs";

/// What the command line says.
struct Args {
    fs: Vec<String>,
    runs: usize,
    only: Vec<String>,
    tree: PathBuf,
    files: usize,
    stream: u64,
    options: String,
    loops: bool,
    dir: PathBuf,
    json: Option<PathBuf>,
    big: Vec<usize>,
    volume: Option<usize>,
    large: Option<u64>,
    tandem: PathBuf,
}

impl Args {
    fn parse() -> Res<Args> {
        let list = |s: String| s.split(',').map(str::to_owned).collect::<Vec<_>>();
        let mut args = Args {
            fs: list("tandem,ext4,xfs,btrfs".into()),
            runs: 5,
            only: vec![],
            tree: "/dev/shm/linux-source-6.1.tar".into(),
            files: 20_000,
            stream: 4 << 30,
            options: String::new(),
            loops: false,
            dir: "/dev/shm/tandem-bench".into(),
            json: None,
            big: vec![],
            volume: None,
            large: None,
            tandem: "tandem".into(),
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            if word == "--loop" {
                args.loops = true;
                continue;
            }
            if word == "--help" {
                println!("{USAGE}");
                std::process::exit(0);
            }
            let value = words.next().ok_or(format!("{word}: a value is missing\n{USAGE}"))?;
            match word.as_str() {
                "--fs" => args.fs = list(value),
                "--runs" => args.runs = value.parse()?,
                "--only" => args.only = list(value),
                "--tree" => args.tree = value.into(),
                "--files" => args.files = value.parse()?,
                "--stream" => args.stream = size(&value)?,
                "--options" => args.options = value,
                "--dir" => args.dir = value.into(),
                "--json" => args.json = Some(value.into()),
                "--big" => {
                    args.big = list(value).iter().map(|n| n.parse()).collect::<Result<_, _>>()?
                }
                "--volume" => args.volume = Some(value.parse()?),
                "--large" => args.large = Some(size(&value)?),
                "--tandem" => args.tandem = value.into(),
                _ => return Err(format!("{word}: not known\n{USAGE}").into()),
            }
        }
        Ok(args)
    }

    /// What the file systems are made with.
    fn setup(&self) -> fs::Setup {
        fs::Setup {
            dir: self.dir.clone(),
            tandem: self.tandem.clone(),
            options: self.options.clone(),
            loops: self.loops,
        }
    }

    /// Whether this measure is wanted.
    fn wants(&self, measure: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|o| measure.starts_with(o.as_str()))
    }
}

fn size(text: &str) -> Res<u64> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        Some(b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    Ok(digits.parse::<u64>()? << shift)
}

/// What was measured: file system, measure → one figure a run.
#[derive(Default)]
struct Figures(pub BTreeMap<(String, String), Vec<f64>>);

impl Figures {
    /// Adds one run's figure.
    fn add(&mut self, fs: &str, measure: &str, value: f64) {
        self.0.entry((fs.to_owned(), measure.to_owned())).or_default().push(value);
    }

    /// The median of all runs.
    fn median(&self, fs: &str, measure: &str) -> Option<f64> {
        let mut all = self.0.get(&(fs.to_owned(), measure.to_owned()))?.clone();
        all.sort_by(f64::total_cmp);
        let half = all.len() / 2;
        Some(if all.len() % 2 == 1 { all[half] } else { (all[half - 1] + all[half]) / 2.0 })
    }
}

/// Creates the directory for images afresh, and removes it at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(dir: &Path) -> Res<Scratch> {
        let _ = std::fs::remove_dir_all(dir);
        std::fs::create_dir_all(dir)?;
        Ok(Scratch(dir.to_owned()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn main() -> Res<()> {
    let args = Args::parse()?;
    let _scratch = Scratch::new(&args.dir)?;
    if !args.big.is_empty() {
        return big::directories(&args);
    }
    if let Some(files) = args.volume {
        return big::volume(&args, files);
    }
    if let Some(size) = args.large {
        return large::file(&args, size);
    }
    let reference = trees::reference(&args)?;
    let mut figures = Figures::default();
    let mut threads = None;
    for run in 1..=args.runs {
        for name in &args.fs {
            eprintln!("run {run} of {}: {name}", args.runs);
            let mut fs = fs::Fs::make(&args.setup(), name)?;
            micro::measure(&args, &fs, &mut figures)?;
            if name == "tandem" && threads.is_none() {
                threads = fs.threads();
            }
            fs.end()?;
            drop(fs);
            let mut fs = fs::Fs::make(&args.setup(), name)?;
            trees::measure(&args, &mut fs, reference.as_deref(), &mut figures)?;
            drop(fs);
            if args.wants("stream") {
                let mut fs = fs::Fs::make(&args.setup(), name)?;
                micro::stream(&args, &mut fs, &mut figures)?;
            }
        }
    }
    table::show(&args, &figures, threads.as_deref());
    if let Some(path) = &args.json {
        let rows: Vec<_> = figures
            .0
            .iter()
            .map(|((fs, measure), runs)| {
                serde_json::json!({ "fs": fs, "measure": measure, "runs": runs })
            })
            .collect();
        std::fs::write(path, serde_json::to_string_pretty(&rows)?)?;
    }
    Ok(())
}
