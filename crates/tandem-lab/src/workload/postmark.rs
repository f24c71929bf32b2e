//! PostMark 1.5 (Katcher 1997), a macrobenchmark of seed 000.
//!
//! Files, transactions and their counting are the original's; the random numbers are not its own
//! generator's. They depend on the seed and the process alone, so that every file system gets the
//! same transactions.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::clock::Clock;
use super::error::{expect, io};
use super::parameter::{Arguments, Kind, Parameter};
use super::{Context, Missing, Outcome, PhaseSpec, Workload, WorkloadError, aside, warm};

/// The workload.
pub(super) struct Postmark;

/// The buffer of stdio, in bytes.
const STDIO: usize = 4096;

impl Workload for Postmark {
    fn name(&self) -> &'static str {
        "postmark"
    }

    fn about(&self) -> &'static str {
        "transactions on many small files, as a mail server makes them (PostMark 1.5; seed 000)"
    }

    fn parameters(&self) -> Vec<Parameter> {
        let bias = Kind::Integer(-1, 10);
        vec![
            Parameter::new(
                "files",
                "500",
                "files",
                Kind::Integer(1, 100_000_000),
                "number: files at once, of each process",
            ),
            Parameter::new(
                "transactions",
                "500",
                "transactions",
                Kind::Integer(1, 1 << 40),
                "transactions of each process",
            ),
            Parameter::new(
                "least_size",
                "500",
                "bytes",
                Kind::Bytes(1, 1 << 30),
                "size: the least of a new file",
            ),
            Parameter::new(
                "most_size",
                "10000",
                "bytes",
                Kind::Bytes(1, 1 << 30),
                "size: the most of any file",
            ),
            Parameter::new(
                "subdirectories",
                "0",
                "directories",
                Kind::Integer(0, 10_000_000),
                "directories that files are spread over; with 0 or 1 there are none",
            ),
            Parameter::new(
                "read_block",
                "512",
                "bytes",
                Kind::Bytes(1, 1 << 30),
                "read: bytes of a read",
            ),
            Parameter::new(
                "write_block",
                "512",
                "bytes",
                Kind::Bytes(1, 1 << 30),
                "write: bytes of a write",
            ),
            Parameter::new(
                "read_bias",
                "5",
                "",
                bias,
                "of ten, how many read and do not append; -1: neither",
            ),
            Parameter::new(
                "create_bias",
                "5",
                "",
                bias,
                "of ten, how many create and do not delete; -1: neither",
            ),
            Parameter::new(
                "buffering",
                "true",
                "",
                Kind::Flag,
                "through a buffer of 4,096 bytes, as stdio does it",
            ),
        ]
    }

    fn phases(&self, args: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError> {
        if args.count("most_size")? < args.count("least_size")? {
            return Err(args.wrong("most_size", "less than least_size"));
        }
        // Making and removing subdirectories is outside PostMark's time.
        let outside = |name| PhaseSpec { cold: false, ..aside(name) };
        Ok(vec![outside("make-directories"), warm("postmark"), outside("remove-directories")])
    }

    fn missing(&self, _: &Arguments) -> Result<Vec<Missing>, WorkloadError> {
        Ok(Vec::new())
    }

    fn run(&self, args: &Arguments, phase: &str, at: &Context) -> Result<Outcome, WorkloadError> {
        let dir = at.dir.join(format!("postmark-{}", at.process));
        let directories = Some(args.count("subdirectories")?).filter(|&n| n > 1).unwrap_or(0);
        let inside = (0..directories).map(|n| dir.join(format!("s{n}")));
        match phase {
            "make-directories" => {
                for dir in std::iter::once(dir.clone()).chain(inside) {
                    std::fs::create_dir(&dir).map_err(io("create", &dir))?;
                }
                Ok(Outcome::default())
            }
            "remove-directories" => {
                for dir in inside.chain(std::iter::once(dir.clone())) {
                    std::fs::remove_dir(&dir).map_err(io("remove", &dir))?;
                }
                Ok(Outcome::default())
            }
            _ => Marking::new(args, dir, directories, at)?.whole(),
        }
    }
}

/// A benchmark under way.
struct Marking {
    dir: PathBuf,
    directories: u64,
    least: u64,
    most: u64,
    files: usize,
    transactions: u64,
    read_block: usize,
    write_block: usize,
    read_bias: i64,
    create_bias: i64,
    buffered: bool,
    random: fastrand::Rng,
    source: Vec<u8>,
    /// Twice as many places as files at once; a size of 0: free.
    table: Vec<(PathBuf, u64)>,
    next: usize,
    counted: Counted,
}

#[derive(Default)]
struct Counted {
    created: u64,
    deleted: u64,
    read: u64,
    appended: u64,
    read_bytes: u64,
    written_bytes: u64,
}

impl Marking {
    fn new(
        args: &Arguments,
        dir: PathBuf,
        directories: u64,
        at: &Context,
    ) -> Result<Marking, WorkloadError> {
        let size = |name: &str| Ok::<_, WorkloadError>(args.count(name)? as usize);
        let seed = at.seed ^ u64::from(at.process).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = fastrand::Rng::with_seed(seed);
        let (least, most) = (args.count("least_size")?, args.count("most_size")?);
        let source = (0..most).map(|_| b' ' + random.u8(..95)).collect();
        let files = size("files")?;
        Ok(Marking {
            dir,
            directories,
            least,
            most,
            files,
            transactions: args.count("transactions")?,
            read_block: size("read_block")?,
            write_block: size("write_block")?,
            read_bias: args.integer("read_bias")?,
            create_bias: args.integer("create_bias")?,
            buffered: args.flag("buffering")?,
            random,
            source,
            table: vec![(PathBuf::new(), 0); files * 2],
            next: 0,
            counted: Counted::default(),
        })
    }

    fn whole(mut self) -> Result<Outcome, WorkloadError> {
        let clock = Clock::start();
        for _ in 0..self.files {
            self.create()?;
        }
        let creating = clock.elapsed().seconds;
        for _ in 0..self.transactions {
            self.transaction()?;
        }
        let transacting = clock.elapsed().seconds - creating;
        let mixed = (self.counted.created - self.files as u64, self.counted.deleted);
        for number in 0..self.table.len() {
            self.delete(number)?;
        }
        let total = clock.elapsed().seconds;
        let counted = &self.counted;
        expect("files deleted", counted.created, counted.deleted)?;
        Ok(Outcome::of([
            ("total_seconds", total),
            ("transaction_seconds", transacting),
            ("transactions", self.transactions as f64),
            ("transactions_per_s", self.transactions as f64 / transacting.max(1e-9)),
            ("created_files", counted.created as f64),
            ("created_alone_files", self.files as f64),
            ("created_mixed_files", mixed.0 as f64),
            ("created_per_s", counted.created as f64 / total),
            ("created_alone_per_s", self.files as f64 / creating),
            ("read_files", counted.read as f64),
            ("appended_files", counted.appended as f64),
            ("deleted_files", counted.deleted as f64),
            ("deleted_alone_files", (counted.deleted - mixed.1) as f64),
            ("deleted_mixed_files", mixed.1 as f64),
            ("read_bytes", counted.read_bytes as f64),
            ("written_bytes", counted.written_bytes as f64),
            ("read_bytes_per_s", counted.read_bytes as f64 / total),
            ("written_bytes_per_s", counted.written_bytes as f64 / total),
        ]))
    }

    fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.random.u64(..bound) }
    }

    fn transaction(&mut self) -> Result<(), WorkloadError> {
        if self.counted.created == self.counted.deleted {
            // As PostMark has it: out of files, for this workload there are too few.
            return expect("files left for the next transaction", 1, 0);
        }
        if self.read_bias >= 0 {
            if (self.below(10) as i64) < self.read_bias {
                let number = self.used();
                self.read(number)?;
            } else {
                let number = self.used();
                self.append(number)?;
            }
        }
        if self.create_bias >= 0 {
            if (self.below(10) as i64) < self.create_bias {
                self.create()?;
            } else {
                let number = self.used();
                self.delete(number)?;
            }
        }
        Ok(())
    }

    /// A file that there is, all alike.
    fn used(&mut self) -> usize {
        loop {
            let number = self.random.usize(..self.table.len());
            if self.table[number].1 > 0 {
                return number;
            }
        }
    }

    /// The next free place, in order; from the beginning when they have been used up. None when all
    /// are taken: PostMark creates nothing then.
    fn free(&mut self) -> Option<usize> {
        let free = |place: usize| self.table.get(place).is_some_and(|(_, size)| *size == 0);
        let place =
            if free(self.next) { self.next } else { (0..self.table.len()).find(|&p| free(p))? };
        self.next = place + 1;
        Some(place)
    }

    fn create(&mut self) -> Result<(), WorkloadError> {
        let Some(place) = self.free() else { return Ok(()) };
        let mut path = self.dir.clone();
        if self.directories > 0 {
            let number = self.below(self.directories);
            path.push(format!("s{number}"));
        }
        self.counted.created += 1;
        path.push(self.counted.created.to_string());
        let size = self.least + self.below(self.most - self.least);
        let file = File::create_new(&path).map_err(io("create", &path))?;
        self.write(file, size).map_err(io("write", &path))?;
        self.table[place] = (path, size);
        Ok(())
    }

    fn write(&mut self, file: File, size: u64) -> std::io::Result<()> {
        let bytes = &self.source[..size as usize];
        if self.buffered {
            let mut out = BufWriter::with_capacity(STDIO, file);
            for block in bytes.chunks(self.write_block) {
                out.write_all(block)?;
            }
            out.flush()?;
        } else {
            let mut file = file;
            for block in bytes.chunks(self.write_block) {
                file.write_all(block)?;
            }
        }
        self.counted.written_bytes += size;
        Ok(())
    }

    fn read(&mut self, number: usize) -> Result<(), WorkloadError> {
        let (path, size) = &self.table[number];
        let file = File::open(path).map_err(io("open", path))?;
        let read = if self.buffered {
            blocks(&mut BufReader::with_capacity(STDIO, file), self.read_block, path)?
        } else {
            blocks(&mut &file, self.read_block, path)?
        };
        expect("bytes of a file", *size, read)?;
        self.counted.read += 1;
        self.counted.read_bytes += read;
        Ok(())
    }

    fn append(&mut self, number: usize) -> Result<(), WorkloadError> {
        let (path, size) = self.table[number].clone();
        if size >= self.most {
            return Ok(());
        }
        let file = OpenOptions::new().append(true).open(&path).map_err(io("open", &path))?;
        let more = self.below(self.most - size) + 1;
        self.write(file, more).map_err(io("write", &path))?;
        self.table[number].1 += more;
        self.counted.appended += 1;
        Ok(())
    }

    fn delete(&mut self, number: usize) -> Result<(), WorkloadError> {
        let (path, size) = &mut self.table[number];
        if *size > 0 {
            std::fs::remove_file(&*path).map_err(io("remove", path))?;
            *size = 0;
            self.counted.deleted += 1;
        }
        Ok(())
    }
}

/// Reads to the end, a block at a time.
fn blocks(from: &mut impl Read, block: usize, path: &Path) -> Result<u64, WorkloadError> {
    let mut buffer = vec![0; block];
    let mut size = 0;
    loop {
        match from.read(&mut buffer).map_err(io("read", path))? {
            0 => return Ok(size),
            n => size += n as u64,
        }
    }
}
