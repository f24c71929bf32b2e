//! Bonnie 1.x (Bray 1990, with Tweedie's changes), the benchmark of seed 004.
//!
//! The order is the original's: the file written by the character is rewritten, then written anew
//! by the block and read twice. Every phase closes the file before its time ends; none forces it to
//! the disk.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::Clock;
use super::error::{expect, io};
use super::parameter::{Arguments, Kind, Parameter};
use super::{Context, Missing, Outcome, PhaseSpec, Workload, WorkloadError, aside, warm};

/// The workload.
pub(super) struct Bonnie;

/// Bytes of a block.
const CHUNK: usize = 16384;

/// Every tenth block that is sought is written back.
const UPDATE: u64 = 10;

impl Workload for Bonnie {
    fn name(&self) -> &'static str {
        "bonnie"
    }

    fn about(&self) -> &'static str {
        "write, rewrite and read one large file by character and block, then seek in it (seed 004)"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new(
                "size",
                "\"1024M\"",
                "bytes",
                Kind::Bytes(CHUNK as u64, 1 << 50),
                "-s: size of each process's file, rounded down to whole blocks of 16 KiB; more than memory, or the cache is measured",
            ),
            Parameter::new(
                "seeks",
                "4000",
                "seeks",
                Kind::Integer(1, 1 << 40),
                "seeks of all seekers together",
            ),
            Parameter::new(
                "seekers",
                "3",
                "threads",
                Kind::Integer(1, 1024),
                "how many seek at once",
            ),
        ]
    }

    fn phases(&self, _: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError> {
        let names = ["putc", "rewrite", "write", "getc", "read", "seek"];
        let mut phases: Vec<_> = names.into_iter().map(warm).collect();
        phases.push(PhaseSpec { cold: false, ..aside("remove") });
        Ok(phases)
    }

    fn missing(&self, _: &Arguments) -> Result<Vec<Missing>, WorkloadError> {
        Ok(Vec::new())
    }

    fn run(&self, args: &Arguments, phase: &str, at: &Context) -> Result<Outcome, WorkloadError> {
        let test = Test {
            path: at.dir.join(format!("Bonnie.{}", at.process)),
            chunks: args.count("size")? / CHUNK as u64,
        };
        let clock = Clock::start();
        match phase {
            "putc" => test.putc()?,
            "rewrite" => test.rewrite()?,
            "write" => test.write()?,
            "getc" => test.getc()?,
            "read" => test.read()?,
            "seek" => {
                let seekers = u32::try_from(args.count("seekers")?).unwrap_or(u32::MAX);
                let done = test.seek(args.count("seeks")?, seekers, at)?;
                let took = clock.elapsed();
                return Ok(Outcome::of([
                    ("seeks", done as f64),
                    ("seeks_per_s", done as f64 / took.seconds),
                    ("cpu_percent", 100.0 * took.cpu / took.seconds),
                ]));
            }
            _ => {
                std::fs::remove_file(&test.path).map_err(io("remove", &test.path))?;
                return Ok(Outcome::default());
            }
        }
        let took = clock.elapsed();
        let bytes = (test.chunks * CHUNK as u64) as f64;
        Ok(Outcome::of([
            ("bytes", bytes),
            ("kib_per_s", bytes / 1024.0 / took.seconds),
            ("cpu_percent", 100.0 * took.cpu / took.seconds),
        ]))
    }
}

struct Test {
    path: PathBuf,
    chunks: u64,
}

/// The block with another of its words counted up.
fn dirty(buffer: &mut [u8], at: u64) {
    let words = buffer.len() / 4;
    let word = (at % words as u64) as usize * 4;
    if let Some(bytes) = buffer.get_mut(word..word + 4) {
        let value = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        bytes.copy_from_slice(&value.wrapping_add(1).to_le_bytes());
    }
}

impl Test {
    /// As Bonnie makes a new file: the old one is removed.
    fn create(&self) -> Result<File, WorkloadError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io("remove", &self.path)(error));
            }
            _ => {}
        }
        File::create_new(&self.path).map_err(io("create", &self.path))
    }

    fn open(&self) -> Result<File, WorkloadError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).open(&self.path).map_err(io("open", &self.path))
    }

    fn putc(&self) -> Result<(), WorkloadError> {
        // The buffer of stdio: a block of the file system.
        let mut out = BufWriter::with_capacity(4096, self.create()?);
        for at in 0..self.chunks * CHUNK as u64 {
            let character = [std::hint::black_box((at & 0x7f) as u8)];
            out.write_all(&character).map_err(io("write", &self.path))?;
        }
        out.flush().map_err(io("write", &self.path))
    }

    fn rewrite(&self) -> Result<(), WorkloadError> {
        let mut file = self.open()?;
        let mut buffer = vec![0; CHUNK];
        let mut done = 0;
        while fill(&mut file, &mut buffer, &self.path)? == CHUNK {
            dirty(&mut buffer, done);
            file.seek(SeekFrom::Current(-(CHUNK as i64))).map_err(io("seek in", &self.path))?;
            file.write_all(&buffer).map_err(io("write", &self.path))?;
            done += 1;
        }
        expect("blocks rewritten", self.chunks, done)
    }

    fn write(&self) -> Result<(), WorkloadError> {
        let mut file = self.create()?;
        let mut buffer = vec![0; CHUNK];
        for at in 0..self.chunks {
            dirty(&mut buffer, at);
            file.write_all(&buffer).map_err(io("write", &self.path))?;
        }
        Ok(())
    }

    fn getc(&self) -> Result<(), WorkloadError> {
        let mut from = BufReader::with_capacity(4096, self.open()?);
        let mut frequency = [0_u64; 256];
        loop {
            let block = from.fill_buf().map_err(io("read", &self.path))?;
            if block.is_empty() {
                break;
            }
            for &character in block {
                frequency[usize::from(std::hint::black_box(character))] += 1;
            }
            let read = block.len();
            from.consume(read);
        }
        expect("characters read", self.chunks * CHUNK as u64, frequency.iter().sum())
    }

    fn read(&self) -> Result<(), WorkloadError> {
        let mut file = self.open()?;
        let mut buffer = vec![0; CHUNK];
        let mut done = 0;
        while fill(&mut file, &mut buffer, &self.path)? == CHUNK {
            std::hint::black_box(buffer[(done % CHUNK as u64) as usize]);
            done += 1;
        }
        expect("blocks read", self.chunks, done)
    }

    /// Seekers take seeks from one pool, as Bonnie's children take tickets from a pipe.
    fn seek(&self, seeks: u64, seekers: u32, at: &Context) -> Result<u64, WorkloadError> {
        let left = AtomicU64::new(seeks);
        let take = || {
            let one = |left: u64| left.checked_sub(1);
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one).is_ok()
        };
        let seeker = |number: u32| {
            let mix = (u64::from(at.process) << 32) | u64::from(number);
            self.seeker(at.seed ^ mix.wrapping_mul(0x9e37_79b9_7f4a_7c15), &take)
        };
        let done: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..seekers)
                .map(|n| {
                    scope.spawn({
                        let seeker = &seeker;
                        move || seeker(n)
                    })
                })
                .collect();
            all.into_iter()
                .map(|thread| thread.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
                .collect()
        });
        let done = done.into_iter().sum::<Result<u64, _>>()?;
        expect("seeks", seeks, done)?;
        Ok(done)
    }

    fn seeker(&self, seed: u64, take: &(dyn Fn() -> bool + Sync)) -> Result<u64, WorkloadError> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut file = self.open()?;
        let mut buffer = vec![0; CHUNK];
        let mut done = 0;
        while take() {
            let place = SeekFrom::Start(random.u64(..self.chunks) * CHUNK as u64);
            file.seek(place).map_err(io("seek in", &self.path))?;
            file.read_exact(&mut buffer).map_err(io("read", &self.path))?;
            if done % UPDATE == 0 {
                dirty(&mut buffer, random.u64(..));
                file.seek(place).map_err(io("seek in", &self.path))?;
                file.write_all(&buffer).map_err(io("write", &self.path))?;
            }
            done += 1;
        }
        Ok(done)
    }
}

fn fill(file: &mut File, buffer: &mut [u8], path: &Path) -> Result<usize, WorkloadError> {
    let mut at = 0;
    while at < buffer.len() {
        match file.read(&mut buffer[at..]).map_err(io("read", path))? {
            0 => break,
            n => at += n,
        }
    }
    Ok(at)
}
