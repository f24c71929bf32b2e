//! How long a replay takes.
//!
//! A million requests, half of them where the last one ended, the others at random in the first
//! 4 GB; 4 to 128 KiB, three reads to two writes, 2 to 12 ms apart. They are written to a file in
//! Tandem's own format and replayed from there against each profile: closed, one at a time, and
//! open, at the times of the trace, which come faster than disks can follow. Seconds on the clock,
//! the median of five (open: of one), and the least.
//!
//! `cargo bench -p tandem-disk --bench replay -- [requests=1000000] [open=no] [PROFILE…]`

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use tandem_disk::profile::Profile;
use tandem_disk::replay::{self, Mode, Options, Outside};
use tandem_disk::request::{Nanos, Operation, SECTOR};
use tandem_disk::trace::{self, Format, Record};

const SPACE: u64 = 4_000_000_000 / SECTOR;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut requests, mut open, mut names) = (1_000_000, false, Vec::new());
    for argument in std::env::args().skip(1).filter(|argument| argument != "--bench") {
        match argument.split_once('=') {
            Some(("requests", n)) => requests = n.parse()?,
            Some(("open", answer)) => open = answer == "yes",
            Some(_) => return Err(format!("{argument}: not known").into()),
            None => names.push(argument),
        }
    }
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("trace.tdt");
    write(&path, requests)?;
    for profile in Profile::shipped()? {
        if !names.is_empty() && !names.contains(&profile.name) {
            continue;
        }
        let closed = Mode::Closed { depth: 1 };
        let mut times =
            (0..5).map(|_| run(&path, &profile, closed)).collect::<Result<Vec<_>, _>>()?;
        times.sort_by(f64::total_cmp);
        print!("{:<12} closed {:.2} s ({:.2})", profile.name, times[2], times[0]);
        if open {
            print!("   open {:.2} s", run(&path, &profile, Mode::Open)?);
        }
        println!();
    }
    Ok(())
}

fn write(path: &Path, requests: u64) -> Result<(), Box<dyn Error>> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut sink = trace::create(path, Format::Tandem)?;
    let (mut time, mut next): (Nanos, u64) = (0, 0);
    for _ in 0..requests {
        time += random.u64(2_000_000..12_000_000);
        let sectors = 8 << random.u32(0..6);
        let sector = if random.bool() { next } else { random.u64(0..SPACE / 8) * 8 };
        let sector = if sector + sectors > SPACE { 0 } else { sector };
        next = sector + sectors;
        let read = random.u32(0..5) < 3;
        let operation = if read { Operation::Read } else { Operation::Write };
        let (offset, length) = (sector * SECTOR, sectors * SECTOR);
        let record =
            Record { time, operation, offset, length, service: None, hit: None, device: 0 };
        sink.write(&record)?;
    }
    sink.finish()?;
    Ok(())
}

fn run(path: &Path, profile: &Profile, mode: Mode) -> Result<f64, Box<dyn Error>> {
    let begin = Instant::now();
    let mut drive = profile.drive()?;
    let (_, records) = trace::open(path, trace::Options::default())?;
    let options = Options { mode, outside: Outside::Refuse };
    replay::replay(&mut drive, records, options, &mut |_| Ok(()))?;
    Ok(begin.elapsed().as_secs_f64())
}
