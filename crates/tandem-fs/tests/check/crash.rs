//! What a crash leaves is sound: every state of M between two of its writes, and with the last one
//! torn.

use std::sync::Arc;

use tandem_device::{Device, MemoryDevice};
use tandem_disk::crash::{Change, Recorder, Store};
use tandem_fs::check::{CheckOptions, ProblemKind, check};
use tandem_fs::{MkfsOptions, MountOptions, Volume};

use crate::churn::churn;
use crate::rig::{Numbers, Steady};

/// What was written to the first device, in order.
fn writes(recorder: &Recorder) -> Vec<(u64, Arc<[u8]>)> {
    let events = recorder.history().events.into_iter();
    let writes = events.filter_map(|event| match event.change {
        Change::Write(at, bytes) => Some((at, bytes)),
        Change::Discard(..) | Change::Flush => None,
    });
    writes.collect()
}

/// Makes a volume and works on it; returns how many writes made it.
fn work(
    recorder: &Recorder,
    data: &Arc<dyn Device>,
    hash_bits: u8,
    numbers: &mut Numbers,
) -> usize {
    let env: Arc<Steady> = Arc::default();
    let device = recorder.device(0);
    let options = MkfsOptions {
        metadata_size: Some(4 << 20),
        hash_bits: Some(hash_bits),
        ..MkfsOptions::default()
    };
    Volume::mkfs(Arc::clone(&device), Some(Arc::clone(data)), &options, env.clone()).unwrap();
    let made = writes(recorder).len();
    for round in 0..4 {
        let checkpoint = std::time::Duration::from_millis(5);
        let opts = MountOptions { background: false, checkpoint, ..MountOptions::default() };
        let (meta, data) = (Arc::clone(&device), Some(Arc::clone(data)));
        let vol = Volume::open(meta, data, opts, env.clone()).unwrap();
        churn(&vol, numbers, 300);
        if round % 2 == 0 {
            vol.sync().unwrap();
        } else {
            vol.shutdown().unwrap();
        }
    }
    made
}

#[test]
fn every_state_between_two_writes_is_sound() {
    let seeds = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    for seed in 0..seeds {
        replay(seed, if seed % 2 == 0 { 48 } else { 3 });
    }
}

fn replay(seed: u64, hash_bits: u8) {
    let recorder = Recorder::new(vec![Store::new(4 << 20)]);
    let data: Arc<dyn Device> = Arc::new(MemoryDevice::new("data", 64 << 20));
    let made = work(&recorder, &data, hash_bits, &mut Numbers(seed));
    let writes = writes(&recorder);
    assert!(writes.len() > made + 80, "{}", writes.len());
    let device: Arc<dyn Device> = Arc::new(MemoryDevice::new("meta", 4 << 20));
    let options = CheckOptions { threads: 1, memory: 16 << 20 };
    let problems = || {
        let (meta, data) = (Arc::clone(&device), Some(Arc::clone(&data)));
        let report = check(meta, data, &options, Arc::new(Steady::default()), &|_| {}).unwrap();
        assert!(report.unverified.is_empty());
        report.problems
    };
    for (n, (at, bytes)) in writes.iter().enumerate() {
        if n >= made {
            device.write_at(&bytes[..bytes.len() / 1024 * 512], *at).unwrap();
            let mut torn = problems();
            if *at < 65536 {
                // The other checkpoint serves.
                torn.retain(|p| p.kind != ProblemKind::Checkpoint);
            }
            assert!(torn.is_empty(), "seed {seed}, write {n} torn: {torn:#?}");
        }
        device.write_at(bytes, *at).unwrap();
        if n >= made {
            let found = problems();
            assert!(
                found.is_empty(),
                "seed {seed}, write {n} of {} bytes at {at}: {found:#?}",
                bytes.len()
            );
        }
    }
}
