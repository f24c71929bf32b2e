//! The corpus, and bytes from a seed.

use std::path::Path;

use tandem_fuzz::{Outcome, image, request, structures, text};

fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

/// Runs; `FUZZ_RUNS` has another factor than 1.
fn runs(usual: u64) -> u64 {
    usual * std::env::var("FUZZ_RUNS").ok().and_then(|n| n.parse::<u64>().ok()).unwrap_or(1)
}

/// Says which input it was when a run panics.
struct Running<'a>(&'a str, &'a [u8]);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let path = std::env::temp_dir().join(format!("tandem-fuzz-{}", self.0));
            let kept = std::fs::write(&path, self.1);
            eprintln!("the input {} is kept: {} {kept:?}", self.0, path.display());
        }
    }
}

/// An input of the corpus with some bytes changed, or random bytes.
fn varied(rng: &mut fastrand::Rng, corpus: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = match rng.choice(corpus) {
        Some((_, bytes)) if rng.u8(..4) > 0 => bytes.clone(),
        _ => (0..rng.usize(1..200)).map(|_| rng.u8(..)).collect(),
    };
    for _ in 0..rng.usize(0..4) {
        let at = rng.usize(..=bytes.len());
        match rng.u8(..4) {
            0 => bytes.insert(at, rng.u8(..)),
            1 => bytes.truncate(at),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = if rng.bool() { rng.u8(..) } else { *byte ^ 1 << rng.u8(..8) };
                }
            }
        }
    }
    bytes
}

fn replay<T>(target: &str, times: u64, f: impl Fn(&[u8]) -> T, mut seen: impl FnMut(T)) {
    let corpus = corpus(target);
    assert!(!corpus.is_empty());
    for (name, bytes) in &corpus {
        let running = Running(name, bytes);
        seen(f(bytes));
        drop(running);
    }
    for seed in 0..runs(times) {
        let bytes = varied(&mut fastrand::Rng::with_seed(seed), &corpus);
        let name = format!("{target}-{seed}");
        let running = Running(&name, &bytes);
        seen(f(&bytes));
        drop(running);
    }
}

#[test]
fn every_structure() {
    replay("structures", 40_000, structures, drop);
}

#[test]
fn requests() {
    replay("request", 40_000, request, drop);
}

#[test]
fn traces_and_profiles() {
    replay("text", 20_000, text, drop);
}

#[test]
fn volumes() {
    let (mut all, mut counts) = (0, [0; 4]);
    replay("image", 3000, image, |outcome| {
        all += 1;
        for (n, is) in [outcome.sound, outcome.mounted, outcome.written, outcome.repaired]
            .into_iter()
            .enumerate()
        {
            counts[n] += u64::from(is);
        }
    });
    let [sound, mounted, written, repaired] = counts;
    println!(
        "{all} volumes: {sound} sound, {mounted} mounted, {written} written, {repaired} repaired"
    );
    assert!(mounted > all / 3 && mounted < all && sound < all && written > 0 && repaired > 0);
}

#[test]
fn volumes_that_nobody_changed() {
    for base in 0..4 {
        let whole = Outcome { sound: true, mounted: true, written: true, repaired: false };
        assert_eq!(image(&[base]), whole);
    }
}
