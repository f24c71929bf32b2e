//! A file of a hundred gigabytes on sparse images: scattered and sequential I/O, and its removal.

use crate::common::fs::{DATA, Fs, META};
use crate::{Args, Res};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::Instant;

const PIECES: u64 = 20_000;
const PIECE: usize = 4096;
const RUN: u64 = 1 << 30;

/// Places in the file, scattered and in no order, each once.
fn places(size: u64) -> impl Iterator<Item = u64> {
    let slots = size / PIECE as u64;
    (0..PIECES).map(move |i| (i * 2_654_435_761 + 12_345) % slots * PIECE as u64)
}

fn scattered(file: &File, size: u64) -> Res<[f64; 2]> {
    let per = |start: Instant| start.elapsed().as_secs_f64() * 1e6 / PIECES as f64;
    let start = Instant::now();
    for (i, at) in places(size).enumerate() {
        file.write_all_at(&[i as u8 | 1; PIECE], at)?;
    }
    file.sync_all()?;
    let write = per(start);
    let start = Instant::now();
    let mut buffer = [0; PIECE];
    for (i, at) in places(size).enumerate() {
        file.read_exact_at(&mut buffer, at)?;
        if buffer != [i as u8 | 1; PIECE] {
            return Err(format!("wrong contents at {at}").into());
        }
    }
    Ok([write, per(start)])
}

/// Prints what such a file costs, made of a hole and made of allocated space.
pub fn file(args: &Args, size: u64) -> Res<()> {
    for name in &args.fs {
        println!("\n{name}: a file of {} GiB", size >> 30);
        let mut fs = Fs::make_sized(&args.setup(), name, META, DATA.max(size + (8 << 30)))?;
        for allocated in [false, true] {
            let kind = if allocated { "allocated" } else { "sparse" };
            let path = fs.root().join("large");
            let mut file =
                File::options().create(true).read(true).write(true).truncate(true).open(&path)?;
            if allocated {
                let start = Instant::now();
                let size = format!("{size}");
                crate::common::fs::run(
                    Command::new("fallocate").args(["-l", &size]).arg(&path),
                    false,
                )?;
                println!("{kind:>10}: allocating {:.3} s", start.elapsed().as_secs_f64());
            } else {
                file.set_len(size)?;
            }
            let [write, read] = scattered(&file, size)?;
            drop(file);
            fs.cold()?;
            file = File::options().read(true).write(true).open(&path)?;
            let [over, cold] = scattered(&file, size)?;
            println!(
                "{kind:>10}: {PIECES} scattered pieces of 4 KiB, µs each: write and sync {write:.1}, \
                 read {read:.1}, again cold: {over:.1}, {cold:.1}"
            );
            let piece = vec![0x5au8; 1 << 20];
            let start = Instant::now();
            for at in (0..RUN).step_by(1 << 20) {
                file.write_all_at(&piece, at)?;
            }
            file.sync_all()?;
            let rate = RUN as f64 / 1e6 / start.elapsed().as_secs_f64();
            println!("{kind:>10}: sequential write over them and sync {rate:.0} MB/s");
            let count = Command::new("filefrag").arg(&path).output();
            let count = count.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
            println!("{kind:>10}: {}", count.unwrap_or_default());
            drop(file);
            fs.cold()?;
            let start = Instant::now();
            std::fs::remove_file(&path)?;
            println!("{kind:>10}: removed cold in {:.3} s", start.elapsed().as_secs_f64());
            let start = Instant::now();
            fs.cold()?;
            println!(
                "{kind:>10}: then unmounted and mounted in {:.3} s",
                start.elapsed().as_secs_f64()
            );
        }
        fs.end()?;
    }
    Ok(())
}
