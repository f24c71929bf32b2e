//! The daemon killed with SIGKILL while writers are at work.
//!
//! What it has handed to the devices stays (the page cache of image files survives it), so this
//! tests the order in which things are handed over and what is acknowledged when, through the
//! kernel and all layers; losing what was not flushed is for the device that crashes. Writers keep
//! account in this process of what was acknowledged. `TANDEM_KILLS=500` says how many rounds.

mod common;

mod kill {
    pub mod cells;
    pub mod links;
    pub mod replace;
    pub mod tail;
    pub mod writer;
}

use common::random::Random;
use common::volume::{Shape, Volume, skip};
use kill::writer::Writer;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const WRITERS: usize = 4;

/// How one round goes.
struct Round {
    number: u64,
    random: Random,
}

fn shapes() -> Vec<Shape> {
    let shape = |meta: u64, data: u64, mkfs: &[&str], more: &str| Shape {
        meta,
        data,
        mkfs: mkfs.iter().map(|s| (*s).to_owned()).collect(),
        options: format!("allow_other,default_permissions,{more}"),
    };
    vec![
        shape(64 << 20, 512 << 20, &[], "flush=5s"),
        shape(32 << 20, 512 << 20, &["--data-block-size", "512"], "flush=50ms,checkpoint=100ms"),
        shape(512 << 20, 0, &["--metadata-size", "48M"], "flush=100ms,cache=16M"),
    ]
}

impl Round {
    /// Works, kills, recovers, and compares with what was acknowledged.
    fn run(&mut self, volume: &mut Volume) -> Result<u64, String> {
        let dir = volume.at(&format!("round{}", self.number));
        let keys = (0..WRITERS as u64).map(|w| self.number << 8 | w);
        let mut writers: Vec<Writer> = keys
            .map(|key| Writer::new(key, &dir, self.random.next()))
            .collect::<Result<_, _>>()
            .map_err(|e| format!("beginning: {e}"))?;
        let killed = AtomicBool::new(false);
        let life = Duration::from_millis(10 + self.random.below(400) as u64);
        let ends: Vec<Result<(), String>> = std::thread::scope(|scope| {
            let work: Vec<_> =
                writers.iter_mut().map(|w| scope.spawn(|| w.work(&killed))).collect();
            std::thread::sleep(life);
            // With nobody at work a signal ends the daemon well; this one does not let it.
            killed.store(true, Ordering::SeqCst);
            volume.crash();
            work.into_iter().map(|w| w.join().expect("a writer")).collect()
        });
        ends.into_iter().collect::<Result<(), _>>()?;
        volume.try_check().map_err(|e| format!("check: {e}"))?;
        while self.random.once_in(3) {
            volume.mount_and_kill(Duration::from_micros(self.random.below(30_000) as u64));
            volume.try_check().map_err(|e| format!("check after recovering half-way: {e}"))?;
        }
        volume.mount();
        for writer in &writers {
            writer.verify()?;
        }
        std::fs::remove_dir_all(&dir).map_err(|e| format!("removing: {e}"))?;
        Ok(writers.iter().map(|w| w.acknowledged).sum())
    }
}

#[test]
fn acknowledged_is_there() {
    if skip() {
        return;
    }
    let rounds = std::env::var("TANDEM_KILLS").map_or(6, |v| v.parse().unwrap());
    let mut volumes: Vec<Volume> = shapes().into_iter().map(Volume::mounted).collect();
    let mut acknowledged = 0;
    for number in 0..rounds {
        let mut round = Round { number, random: Random::new(number) };
        let volume = &mut volumes[number as usize % shapes().len()];
        match round.run(volume) {
            Ok(n) => acknowledged += n,
            Err(e) => panic!("round {number}: {e}\n{}", volume.log()),
        }
    }
    volumes.iter_mut().for_each(Volume::finish);
    println!("{rounds} rounds, {acknowledged} acknowledgements, all kept");
}
