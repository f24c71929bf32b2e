//! Measures a mounted file system from programs' side, in microseconds of wall time per operation
//! of all clients together: `door_bench DIR [COUNT [CLIENTS]]`. Needs an empty directory; each
//! client works in a directory of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let dir = Path::new(&args[0]);
    let number = |i: usize, otherwise| args.get(i).map_or(otherwise, |n| n.parse().unwrap());
    let (count, clients) = (number(1, 20_000), number(2, 1));
    let dirs: Vec<PathBuf> = (0..clients).map(|c| dir.join(format!("client{c}"))).collect();
    dirs.iter().for_each(|dir| fs::create_dir(dir).unwrap());
    let data = [7u8; 4096];

    let timed = |name: &str, f: &(dyn Fn(&Path, usize) + Sync)| {
        let start = Instant::now();
        std::thread::scope(|s| {
            for dir in &dirs {
                s.spawn(move || (0..count).for_each(|i| f(dir, i)));
            }
        });
        print!("{name} {:.1}  ", start.elapsed().as_secs_f64() * 1e6 / (count * clients) as f64);
    };
    let path = |dir: &Path, kind: &str, i: usize| dir.join(format!("{kind}{i:07}"));
    timed("create", &|dir, i| drop(fs::File::create_new(path(dir, "c", i)).unwrap()));
    timed("create+4K", &|dir, i| {
        fs::File::create(path(dir, "w", i)).unwrap().write_all(&data).unwrap();
    });
    timed("stat", &|dir, i| assert!(fs::metadata(path(dir, "w", i)).is_ok()));
    timed("stat-again", &|dir, i| assert!(fs::metadata(path(dir, "w", i)).is_ok()));
    timed("unlink", &|dir, i| fs::remove_file(path(dir, "w", i)).unwrap());
    timed("mkdir", &|dir, i| fs::create_dir(path(dir, "d", i)).unwrap());
    timed("rmdir", &|dir, i| fs::remove_dir(path(dir, "d", i)).unwrap());
    println!();
    dirs.iter().for_each(|dir| fs::remove_dir_all(dir).unwrap());
}
