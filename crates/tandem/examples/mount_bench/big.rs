//! One big directory, and a volume of very many files.

use crate::common::fs::{DATA, Fs, META};
use crate::{Args, Res};
use std::fs::File;
use std::time::Instant;

const LOOKUPS: usize = 100_000;

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn memory(fs: &Fs) -> String {
    fs.daemon().map_or("-".into(), |(now, most, _)| {
        format!("{:.0} MB (at most {:.0})", now / 1e6, most / 1e6)
    })
}

/// Creates, looks up, lists and unlinks in directories of each size; microseconds per entry.
pub fn directories(args: &Args) -> Res<()> {
    for name in &args.fs {
        println!("\n{name}: µs per entry");
        println!(
            "{:>10} {:>8} {:>8} {:>8} {:>8} {:>8}  memory of the daemon",
            "files", "create", "look-up", "cold", "list", "unlink"
        );
        for &files in &args.big {
            let mut fs = Fs::make(&args.setup(), name)?;
            let dir = fs.root().join("d");
            std::fs::create_dir(&dir)?;
            let path = |i: usize| dir.join(format!("file-{i:08}"));
            let per = |start: Instant, n: usize| start.elapsed().as_secs_f64() * 1e6 / n as f64;
            let start = Instant::now();
            for i in 0..files {
                File::create_new(path(i))?;
            }
            let create = per(start, files);
            let lookups = LOOKUPS.min(files * 4);
            let mut state = 88_172_645_463_325_252;
            let mut look = || -> Res<f64> {
                let start = Instant::now();
                for _ in 0..lookups {
                    // Not std's, which asks for the time of birth: a FUSE file system must be
                    // asked for that alone.
                    rustix::fs::lstat(path(random(&mut state) as usize % files))?;
                }
                Ok(per(start, lookups))
            };
            let warm = look()?;
            fs.cold()?;
            let cold = look()?;
            fs.cold()?;
            let start = Instant::now();
            let listed = std::fs::read_dir(&dir)?.filter(Result::is_ok).count();
            let list = per(start, files);
            if listed != files {
                return Err(format!("{listed} of {files} files were listed").into());
            }
            let start = Instant::now();
            // Random order: the worst for a directory on a device.
            let mut order: Vec<usize> = (0..files).collect();
            for i in (1..files).rev() {
                order.swap(i, random(&mut state) as usize % (i + 1));
            }
            for i in order {
                std::fs::remove_file(path(i))?;
            }
            let unlink = per(start, files);
            println!(
                "{files:>10} {create:>8.1} {warm:>8.1} {cold:>8.1} {list:>8.2} {unlink:>8.1}  {}",
                memory(&fs)
            );
            fs.end()?;
        }
    }
    Ok(())
}

/// A volume of so many files: time to mount it, and the daemon's memory.
pub fn volume(args: &Args, files: usize) -> Res<()> {
    const FAN: usize = 1000;
    for name in &args.fs {
        let mut fs = Fs::make_sized(&args.setup(), name, META.max(files as u64 * 400), DATA)?;
        let start = Instant::now();
        let root = fs.root();
        for top in 0..files.div_ceil(FAN * FAN) {
            std::fs::create_dir(root.join(format!("{top}")))?;
        }
        // Two threads, as this is only the way to the measure.
        std::thread::scope(|s| -> Res<()> {
            let root = &root;
            let parts: Vec<_> = (0..2usize)
                .map(|part| {
                    s.spawn(move || -> std::io::Result<()> {
                        for dir in (part..files.div_ceil(FAN)).step_by(2) {
                            let path = root.join(format!("{}/{dir}", dir / FAN));
                            std::fs::create_dir(&path)?;
                            for i in 0..FAN.min(files - dir * FAN) {
                                File::create_new(path.join(format!("file{i}")))?;
                            }
                        }
                        Ok(())
                    })
                })
                .collect();
            for part in parts {
                part.join().map_err(|_| "a writer failed")??;
            }
            Ok(())
        })?;
        let made = start.elapsed().as_secs_f64();
        println!("\n{name}: {files} files made in {made:.1} s; memory {}", memory(&fs));
        for _ in 0..args.runs {
            let seconds = fs.remount()?;
            println!("mounted in {seconds:.3} s; memory {}", memory(&fs));
        }
        let start = Instant::now();
        let found = std::process::Command::new("find").arg(fs.root()).output()?;
        let entries = found.stdout.iter().filter(|b| **b == b'\n').count();
        println!(
            "find: {entries} entries in {:.1} s; memory {}",
            start.elapsed().as_secs_f64(),
            memory(&fs)
        );
        fs.end()?;
    }
    Ok(())
}
