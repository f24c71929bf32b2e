use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Take(u64),
    Extend(usize, u64),
    Touch(usize),
    Forget(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..200).prop_map(Step::Take),
        (0usize..5, 1u64..40).prop_map(|(at, more)| Step::Extend(at, more)),
        (0usize..5).prop_map(Step::Touch),
        (0u64..200, 1u64..30).prop_map(|(start, len)| Step::Forget(start, start + len)),
    ]
}

/// Segments without an index: every question goes through all of them.
#[derive(Default, Clone, Copy)]
struct Plain {
    start: u64,
    end: u64,
    used: u64,
}

proptest! {
    #[test]
    fn the_index_changes_nothing(steps in proptest::collection::vec(step(), 1..80)) {
        const SIZE: u64 = 24;
        let mut found = Segments::new(5, SIZE);
        let mut plain = [Plain::default(); 5];
        let mut clock = 0;
        for step in steps {
            clock += 1;
            match step {
                Step::Take(sector) => {
                    let at = found.take(None).unwrap();
                    let oldest = plain.iter().map(|s| (s.start < s.end, s.used)).min().unwrap();
                    let held = plain[at].start < plain[at].end;
                    // Of empty ones it does not matter which.
                    let is = if held { (held, plain[at].used) == oldest } else { !oldest.0 };
                    prop_assert!(is);
                    found.fill(at, sector, sector + 8);
                    plain[at] = Plain { start: sector, end: sector + 8, used: clock };
                }
                Step::Extend(at, more) => {
                    if plain[at].start < plain[at].end {
                        let end = plain[at].end + more;
                        found.extend(at, end);
                        let start = plain[at].start.max(end.saturating_sub(SIZE));
                        plain[at] = Plain { start, end, ..plain[at] };
                    }
                }
                Step::Touch(at) => {
                    found.touch(at);
                    plain[at].used = clock;
                }
                Step::Forget(start, end) => {
                    found.forget(start, end);
                    for segment in &mut plain {
                        if segment.start < end && start < segment.end {
                            *segment = Plain::default();
                        }
                    }
                }
            }
            for sector in 0..280 {
                let holding = plain.iter().filter(|s| s.start <= sector && sector < s.end);
                let furthest = holding.map(|s| s.end).max();
                prop_assert_eq!(found.find(sector).map(|(_, end)| end), furthest);
            }
        }
    }
}
