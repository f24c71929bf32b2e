//! Single operations, and one long stream.

use crate::common::fs::Fs;
use crate::{Args, Figures, Res};
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Instant;

/// Files in one directory.
const FAN: usize = 1000;

fn each(count: usize, mut work: impl FnMut(usize) -> std::io::Result<()>) -> Res<f64> {
    let start = Instant::now();
    for i in 0..count {
        work(i)?;
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / count as f64)
}

/// Microseconds for each operation, over `args.files` of them, a thousand in a directory.
pub fn measure(args: &Args, fs: &Fs, figures: &mut Figures) -> Res<()> {
    let root = fs.root();
    let top = |kind: &str, i: usize| root.join(format!("{kind}{}", i / FAN));
    let path = |kind: &str, i: usize| -> PathBuf { top(kind, i).join(format!("file{i:07}")) };
    let data = [7u8; 4096];
    let kinds = ["empty", "4k", "dir"];
    for kind in kinds {
        for i in (0..args.files).step_by(FAN) {
            std::fs::create_dir(top(kind, i))?;
        }
    }
    let n = args.files;
    let mut add = |measure: &str, value: Res<f64>| -> Res<()> {
        figures.add(&fs.name, measure, value?);
        Ok(())
    };
    if args.wants("create, empty") {
        add("create, empty, µs", each(n, |i| File::create_new(path("empty", i)).map(drop)))?;
    }
    if args.wants("create, 4 KiB") {
        let write = |i| File::create_new(path("4k", i))?.write_all(&data);
        add("create, 4 KiB, µs", each(n, write))?;
        add("stat, µs", each(n, |i| std::fs::metadata(path("4k", i)).map(drop)))?;
        add("read, 4 KiB, µs", each(n, |i| std::fs::read(path("4k", i)).map(drop)))?;
        add(
            "rename, µs",
            each(n, |i| std::fs::rename(path("4k", i), path("4k", i).with_extension("x"))),
        )?;
        let unlink = |i| std::fs::remove_file(path("4k", i).with_extension("x"));
        add("unlink, 4 KiB, µs", each(n, unlink))?;
    }
    if args.wants("mkdir") {
        add("mkdir, µs", each(n, |i| std::fs::create_dir(path("dir", i))))?;
        add("rmdir, µs", each(n, |i| std::fs::remove_dir(path("dir", i))))?;
    }
    Ok(())
}

/// One file, written, synced and read back cold: MB/s.
pub fn stream(args: &Args, fs: &mut Fs, figures: &mut Figures) -> Res<()> {
    let path = fs.root().join("stream");
    let rate = |start: Instant| args.stream as f64 / 1e6 / start.elapsed().as_secs_f64();
    let piece: Vec<u8> = (0..1usize << 20).map(|i| (i * 7 + i / 4096) as u8).collect();
    let start = Instant::now();
    let mut file = File::create(&path)?;
    for _ in 0..args.stream >> 20 {
        file.write_all(&piece)?;
    }
    figures.add(&fs.name, "stream write, not synced, MB/s", rate(start));
    file.sync_all()?;
    figures.add(&fs.name, "stream write, synced, MB/s", rate(start));
    drop(file);
    fs.cold()?;
    let mut buffer = vec![0u8; 1 << 20];
    let start = Instant::now();
    let mut file = File::open(&path)?;
    for _ in 0..args.stream >> 20 {
        file.read_exact(&mut buffer)?;
    }
    figures.add(&fs.name, "stream read, cold, MB/s", rate(start));
    if buffer != piece {
        return Err("the stream came back changed".into());
    }
    drop(file);
    std::fs::remove_file(&path)?;
    Ok(())
}
