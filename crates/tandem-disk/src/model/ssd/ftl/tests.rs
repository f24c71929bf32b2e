use proptest::prelude::*;

use super::*;

/// Pages programmed for each written under uniformly random writes: Luojie and Kurkoski, "An
/// improved analytical expression for write amplification in NAND flash" (2012), eq. for the share
/// of a reclaimed block that is valid, p = exp(−(1 + ρ)(1 − p)).
fn theory(spare: f64) -> f64 {
    let mut p: f64 = 0.5;
    for _ in 0..10_000 {
        p = (-(1.0 + spare) * (1.0 - p)).exp();
    }
    1.0 / (1.0 - p)
}

/// Flash besides the data, as far as it is not kept free or open.
fn spare(ftl: &Ftl, data: usize) -> f64 {
    let open = RESERVE + 2;
    let places = (ftl.blocks.valid().len() - open) * PER_BLOCK as usize;
    places as f64 / data as f64 - 1.0
}

/// What `count` random writes below `limit` cost, each.
fn amplification(ftl: &mut Ftl, count: u64, limit: u64, seed: u64) -> f64 {
    let moved: u64 = (0..count)
        .map(|at| {
            let unit = scatter(seed << 32 | at) % limit;
            ftl.write(unit, unit + 1)
        })
        .sum();
    1.0 + moved as f64 / count as f64
}

#[test]
fn the_published_value() {
    assert!((theory(0.3) - 2.35).abs() < 0.02, "{}", theory(0.3));
}

#[test]
fn random_writes_amplify_as_theory_says() {
    const UNITS: u64 = 1 << 18;
    for part in [0.07, 0.15, 0.28, 0.6] {
        let mut ftl = Ftl::new(UNITS, part, true);
        let expected = theory(spare(&ftl, UNITS as usize));
        // From the first write on, and after the drive has been written over several times.
        let early = amplification(&mut ftl, UNITS / 2, UNITS, 1);
        amplification(&mut ftl, UNITS * 2, UNITS, 2);
        let late = amplification(&mut ftl, UNITS, UNITS, 3);
        for found in [early, late] {
            // The formula is the limit for large blocks. Greedy is best where all units are alike
            // (Yang et al. 2014), so that it is a bound, too.
            let share = found / expected;
            assert!((0.94..1.01).contains(&share), "{part}: {found}, not {expected}");
        }
    }
}

#[test]
fn a_sample_behaves_as_the_whole() {
    // 8 neighbours to one that is mapped.
    let units = MAPPED * 8;
    let mut ftl = Ftl::new(units, 0.28, true);
    assert_eq!(ftl.group, 8);
    let expected = theory(spare(&ftl, MAPPED as usize));
    let found = amplification(&mut ftl, units / 8, units, 4);
    assert!((found / expected - 1.0).abs() < 0.06, "{found}, not {expected}");
}

#[test]
fn sequential_overwriting_amplifies_hardly() {
    const UNITS: u64 = 1 << 18;
    let mut ftl = Ftl::new(UNITS, 0.07, true);
    let pass = |ftl: &mut Ftl| -> u64 {
        (0..UNITS / 64).map(|at| ftl.write(at * 64, (at + 1) * 64)).sum()
    };
    // The first pass finds blocks full of everything.
    let (first, _, third) = (pass(&mut ftl), pass(&mut ftl), pass(&mut ftl));
    assert!(first > UNITS / 4, "{first}");
    assert!(third < UNITS / 50, "{third}");
}

#[test]
fn what_is_trimmed_is_spare() {
    const UNITS: u64 = 1 << 18;
    let mut ftl = Ftl::new(UNITS, 0.07, true);
    ftl.trim(UNITS / 2, UNITS);
    let half = UNITS as usize / 2;
    let expected = theory(spare(&ftl, half));
    amplification(&mut ftl, UNITS * 2, UNITS / 2, 5);
    let found = amplification(&mut ftl, UNITS, UNITS / 2, 6);
    assert!((found / expected - 1.0).abs() < 0.06, "{found}, not {expected}");
    ftl.trim(0, UNITS);
    // What was moved before is still to be paid.
    assert!(ftl.write(0, UNITS) < 2000);
    ftl.trim(0, UNITS);
    assert_eq!(ftl.write(0, UNITS), 0);
}

#[test]
fn costs_come_evenly() {
    // Of the drive of a terabyte 4 MB are written, then again.
    let mut ftl = Ftl::new(244_190_646, 0.07, true);
    let costs: Vec<f64> =
        (0..50).map(|at| amplification(&mut ftl, 1000, 244_190_646, at)).collect();
    let (least, most) = costs.iter().fold((f64::MAX, 0.0f64), |(a, b), &c| (a.min(c), b.max(c)));
    assert!(6.0 < least && most < 9.0, "{least} to {most}");
}

#[test]
fn an_empty_drive_moves_nothing_before_it_is_full() {
    let mut ftl = Ftl::new(1 << 14, 0.1, false);
    assert_eq!(ftl.write(0, 1 << 14), 0);
    assert!(ftl.write(0, 100) <= 256);
}

/// Every unit that is mapped is where the map says, and blocks count what is in them.
fn consistent(ftl: &Ftl) {
    for (unit, &place) in ftl.map.iter().enumerate() {
        assert!(place == NONE || ftl.unit[place as usize] == unit as u32);
    }
    for (places, &valid) in ftl.unit.chunks(PER_BLOCK as usize).zip(ftl.blocks.valid()) {
        assert_eq!(places.iter().filter(|&&unit| unit != NONE).count(), valid as usize);
    }
    let stored = ftl.map.iter().filter(|&&place| place != NONE).count();
    assert_eq!(stored as u32, ftl.blocks.valid().iter().sum::<u32>());
    assert!(ftl.blocks.free() >= RESERVE - 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_is_lost(
        full: bool,
        spare in 0.0f64..0.5,
        asked in proptest::collection::vec((0u64..3000, 1u64..900, 0u8..5), 1..60),
    ) {
        let mut ftl = Ftl::new(3000, spare, full);
        let mut stored: Vec<bool> = vec![full; 3000];
        consistent(&ftl);
        for (from, len, kind) in asked {
            let to = (from + len).min(3000);
            if kind == 0 { ftl.trim(from, to) } else { ftl.write(from, to); }
            stored[from as usize..to as usize].fill(kind != 0);
            consistent(&ftl);
            for (at, &stored) in stored.iter().enumerate() {
                prop_assert_eq!(ftl.map[at] != NONE, stored);
            }
        }
    }
}
