//! What is gathered in idle time, and that it ends.

use std::sync::Arc;

use tandem_device::{Device, MemoryDevice};
use tandem_disk::crash::{Recorder, Store};

use super::through_a_volume::{FILES, Rig, accessed};
use crate::Volume;
use crate::commit::Quiet;
use crate::types::{Cred, Ino, ROOT};

fn memory(meta: u64) -> [Arc<dyn Device>; 2] {
    [Arc::new(MemoryDevice::new("meta", meta)), Arc::new(MemoryDevice::new("data", 64 << 20))]
}

fn idle(vol: &Volume, quiet: &mut Quiet, ticks: u32) {
    (0..ticks).for_each(|_| vol.core.idle(quiet).unwrap());
}

/// A checkpoint, and idle time until nothing more is written to M; it must come to that. Returns how
/// many rounds it took.
fn settle(vol: &Volume) -> u64 {
    vol.core.commit_all(true).unwrap();
    let (mut quiet, before) = (Quiet::default(), vol.stats().cleaner.idle_rounds);
    idle(vol, &mut quiet, 100);
    let written = |vol: &Volume| vol.stats().metadata.counts.writes;
    let (writes, rounds) = (written(vol), vol.stats().cleaner.idle_rounds);
    idle(vol, &mut quiet, 50);
    assert_eq!(written(vol), writes, "it is written to for ever");
    rounds - before
}

/// Changes files picked at random, each with a commit.
fn change(rig: &mut Rig, vol: &Volume, times: u64) {
    let files: Vec<Ino> = rig.dirs.iter().flatten().copied().collect();
    for n in 0..times {
        let ino = files[rig.below(files.len() as u64) as usize];
        vol.setattr(&Cred::root(), ino, &accessed(n)).unwrap();
        vol.sync().unwrap();
    }
}

/// Removes the files of a directory: their blocks lie anywhere.
fn empty(rig: &mut Rig, vol: &Volume, n: usize) {
    let dir = format!("directory {n}");
    let dir = vol.lookup(&Cred::root(), ROOT, dir.as_bytes()).unwrap().ino;
    for n in 0..FILES {
        let name = format!("a file with a name of some length {n}");
        vol.unlink(&Cred::root(), dir, name.as_bytes()).unwrap();
    }
    rig.dirs[n].clear();
}

/// Bytes of M that the log takes up, and those of live blocks.
fn spread(vol: &Volume) -> (u64, u64) {
    let st = vol.core.state.lock();
    (st.segs.spread(), st.segs.live_bytes())
}

fn active(vol: &Volume) -> u64 {
    vol.core.state.lock().segs.active
}

#[test]
fn an_idle_volume_is_cleaned_until_it_can_rest() {
    let (mut rig, vol) = Rig::new(58);
    rig.update(&vol, 3, false);
    vol.sync().unwrap();
    let clean = |vol: &Volume| vol.core.state.lock().segs.clean();
    (0..rig.dirs.len()).filter(|n| n % 3 > 0).for_each(|n| empty(&mut rig, &vol, n));
    vol.core.commit_all(true).unwrap();
    let (before, mut quiet) = (clean(&vol), Quiet::default());
    let plenty = vol.core.state.lock().segs.plenty();
    assert!(before < plenty, "{before} clean segments leave nothing to do");
    vol.core.idle(&mut quiet).unwrap();
    assert_eq!(vol.stats().cleaner.idle_rounds, 0, "it was changed a moment ago");
    idle(&vol, &mut quiet, 200);
    assert!(vol.stats().cleaner.idle_rounds > 0 && clean(&vol) >= plenty);
    settle(&vol);
    rig.assert_sound(&vol);
}

#[test]
fn what_lies_thin_is_gathered_in_idle_time() {
    let (mut rig, vol) = Rig::new(3);
    change(&mut rig, &vol, 1500);
    let (before, live) = spread(&vol);
    assert!(before > 4 * live, "{before} bytes for {live}");
    let enough = |vol: &Volume| {
        let st = vol.core.state.lock();
        st.segs.clean() > st.segs.plenty()
    };
    assert!(enough(&vol), "for lack of segments it is not cleaned");
    settle(&vol);
    let (after, live) = spread(&vol);
    assert!(after * 4 <= live * 5, "{after} bytes for {live}");
    rig.assert_sound(&vol);
}

/// Little of M is live, and segments decay evenly: none is half dead, but the log is long.
#[test]
fn so_is_what_is_a_quarter_dead_where_little_is_live() {
    let (rig, vol) = Rig::on(memory(64 << 20), Some(256 << 10), 3 << 20);
    settle(&vol);
    let two_of_five = rig.dirs.iter().enumerate().filter(|(n, _)| n % 5 < 2);
    for file in two_of_five.flat_map(|(_, files)| files) {
        vol.setattr(&Cred::root(), *file, &accessed(7)).unwrap();
    }
    vol.sync().unwrap();
    let (before, live) = spread(&vol);
    assert!(before * 4 > live * 5, "{before} bytes for {live} are not long");
    assert!(settle(&vol) > 0);
    let (after, live) = spread(&vol);
    assert!(after * 4 <= live * 5, "{after} bytes for {live}");
    rig.assert_sound(&vol);
}

#[test]
fn the_segment_being_filled_is_left_when_it_lies_thin() {
    let (mut rig, vol) = Rig::on(memory(64 << 20), Some(256 << 10), 64 << 10);
    settle(&vol);
    while spread(&vol).0 < 2 * spread(&vol).1 + (16 << 10) {
        change(&mut rig, &vol, 1);
    }
    let ((before, live), segment) = (spread(&vol), active(&vol));
    assert!(before < 256 << 10, "{live} of {before} bytes are live, in one segment");
    assert_eq!(settle(&vol), 1);
    let (after, live) = spread(&vol);
    assert_ne!(active(&vol), segment);
    assert!(!vol.core.state.lock().segs.entry(segment).used);
    assert!(after * 4 <= live * 5, "{after} bytes for {live}");
    rig.assert_sound(&vol);
}

#[test]
fn idle_time_ends() {
    let sizes =
        [(4 << 20, 64 << 10), (13 << 20, 64 << 10), (48 << 20, 64 << 10), (64 << 20, 1 << 20)];
    for (n, (meta, segment)) in sizes.into_iter().enumerate() {
        let live = [32 << 10, 256 << 10, 1 << 20].into_iter();
        for live in live.filter(|live| live * 3 < meta) {
            let (mut rig, mut vol) = Rig::on(memory(meta), Some(segment), live);
            for round in 0..6 {
                change(&mut rig, &vol, 40 << round);
                if round == 3 && rig.dirs.len() > 2 {
                    empty(&mut rig, &vol, round);
                }
                if round % 2 == 1 {
                    vol.shutdown().unwrap();
                    vol = rig.open();
                }
                let rounds = settle(&vol);
                assert!(rounds < 20, "{rounds} rounds");
            }
            // One change is soon dealt with.
            change(&mut rig, &vol, 1);
            let rounds = settle(&vol);
            assert!(rounds <= 3, "{n}: {rounds} rounds after one change");
            rig.assert_sound(&vol);
        }
    }
}

#[test]
fn a_crash_while_the_segment_being_filled_is_left_loses_nothing() {
    let recorder = Recorder::new(vec![Store::new(13 << 20), Store::new(64 << 20)]);
    let devices = |recorder: &Recorder| [recorder.device(0), recorder.device(1)];
    let (mut rig, vol) = Rig::on(devices(&recorder), Some(64 << 10), 12 << 10);
    settle(&vol);
    while spread(&vol).0 < 2 * spread(&vol).1 + (8 << 10) {
        change(&mut rig, &vol, 1);
    }
    recorder.forget();
    let segment = active(&vol);
    assert_eq!(settle(&vol), 1);
    assert_ne!(active(&vol), segment);
    let (history, mut rolled) = (recorder.history(), 0);
    let mut walk = history.walk();
    loop {
        for image in walk.images(12, 7) {
            let crashed = Rig::found(devices(&Recorder::new(image.stores)), rig.dirs.clone());
            let after = crashed.open();
            rolled += u64::from(after.stats().recovered_commits > 0);
            crashed.assert_sound(&after);
        }
        if !walk.step() {
            break;
        }
    }
    assert!(rolled > 0, "no crash came between the commit and its checkpoint");
}
