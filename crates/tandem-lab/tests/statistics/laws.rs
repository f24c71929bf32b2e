//! Laws that hold for all values.

use proptest::prelude::*;
use tandem_lab::stats::factorial::{Anova, Design, Factor};
use tandem_lab::stats::multiple::holm;
use tandem_lab::stats::{Level, Summary};

/// Sizes of the factors, runs of each cell, and the values, in the order of the cells.
fn designs() -> impl Strategy<Value = (Vec<usize>, usize, Vec<f64>)> {
    (prop::collection::vec(2usize..4, 1..4), 2usize..4).prop_flat_map(|(sizes, runs)| {
        let n = sizes.iter().product::<usize>() * runs;
        (Just(sizes), Just(runs), prop::collection::vec(-100.0..100.0, n))
    })
}

fn analysed(sizes: &[usize], observations: Vec<(Vec<usize>, f64)>) -> Anova {
    let factor = |(at, size): (usize, &usize)| Factor {
        name: format!("f{at}"),
        levels: (0..*size).map(|level| level.to_string()).collect(),
    };
    let factors = sizes.iter().enumerate().map(factor).collect();
    Design::new(factors, observations).unwrap().analyse(Level::P95)
}

fn observations(sizes: &[usize], runs: usize, values: &[f64]) -> Vec<(Vec<usize>, f64)> {
    let levels = |mut cell: usize| {
        let mut levels: Vec<usize> = Vec::new();
        for size in sizes.iter().rev() {
            levels.push(cell % size);
            cell /= size;
        }
        levels.reverse();
        levels
    };
    values.iter().enumerate().map(|(at, value)| (levels(at / runs), *value)).collect()
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-9 * scale.abs().max(1e-9)
}

proptest! {
    #[test]
    fn sums_of_squares_add_up((sizes, runs, values) in designs()) {
        let anova = analysed(&sizes, observations(&sizes, runs, &values));
        let terms: f64 = anova.terms.iter().map(|term| term.ss).sum();
        prop_assert!(close(terms + anova.error.ss, anova.sst, anova.sst));
        prop_assert!(close(anova.ss0 + anova.sst, anova.ssy, anova.ssy));
        let dof: usize = anova.terms.iter().map(|term| term.dof).sum();
        prop_assert_eq!(dof + anova.error.dof + 1, values.len());
        prop_assert!(anova.balanced);
    }

    #[test]
    fn effects_sum_to_nothing_and_predict((sizes, runs, values) in designs()) {
        let anova = analysed(&sizes, observations(&sizes, runs, &values));
        for term in &anova.terms {
            let sum: f64 = term.effects.iter().map(|effect| effect.value).sum();
            prop_assert!(close(sum, 0.0, 100.0), "{:?}: {}", term.factors, sum);
        }
        // Mean and all effects of a cell's levels together are its mean.
        let names: Vec<&String> = anova.factors.iter().map(|factor| &factor.name).collect();
        for cell in &anova.cells {
            let mut sum = anova.mean.value;
            for term in &anova.terms {
                let own: Vec<&String> = (0..names.len())
                    .filter(|at| term.factors.contains(names[*at]))
                    .map(|at| &cell.levels[at])
                    .collect();
                let effect = term.effects.iter().find(|e| e.levels.iter().eq(own.iter().copied()));
                sum += effect.unwrap().value;
            }
            prop_assert!(close(sum, cell.mean, 100.0));
        }
    }

    #[test]
    fn order_does_not_matter((sizes, runs, values) in designs(), seed: u64) {
        let mut mixed = observations(&sizes, runs, &values);
        let before = analysed(&sizes, mixed.clone());
        fastrand::Rng::with_seed(seed).shuffle(&mut mixed);
        prop_assert_eq!(analysed(&sizes, mixed), before);
        let summary = Summary::of(&values, Level::P95);
        let mut values = values;
        fastrand::Rng::with_seed(seed).shuffle(&mut values);
        prop_assert_eq!(Summary::of(&values, Level::P95), summary);
    }

    #[test]
    fn units_do_not_matter((sizes, runs, values) in designs(), factor in 0.001..1000.0f64) {
        let before = analysed(&sizes, observations(&sizes, runs, &values));
        let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
        let after = analysed(&sizes, observations(&sizes, runs, &scaled));
        for (a, b) in before.terms.iter().zip(&after.terms) {
            prop_assert!((a.share.unwrap() - b.share.unwrap()).abs() < 1e-9);
            prop_assert!((a.p.unwrap() - b.p.unwrap()).abs() < 1e-6);
        }
        let (a, b) = (Summary::of(&values, Level::P95).unwrap(), Summary::of(&scaled, Level::P95).unwrap());
        prop_assert!(close(a.mean * factor, b.mean, 100.0 * factor));
        prop_assert!(close(a.sd.unwrap() * factor, b.sd.unwrap(), 100.0 * factor));
        prop_assert!(close(a.skewness.unwrap(), b.skewness.unwrap(), 1.0));
        prop_assert!(close(a.siqr * factor, b.siqr, 100.0 * factor));
    }

    #[test]
    fn means_have_their_order(values in prop::collection::vec(0.001..1e6f64, 1..30)) {
        let s = Summary::of(&values, Level::P95).unwrap();
        let (geometric, harmonic) = (s.geometric_mean.unwrap(), s.harmonic_mean.unwrap());
        let slack = 1.0 + 1e-12;
        prop_assert!(harmonic <= geometric * slack && geometric <= s.mean * slack);
        prop_assert!(s.min <= s.q1 && s.q1 <= s.median && s.median <= s.q3 && s.q3 <= s.max);
        prop_assert!(s.interval.is_none_or(|interval| interval.contains(s.mean)));
    }

    #[test]
    fn holm_lies_between_one_and_bonferroni(p in prop::collection::vec(0.0..1.0f64, 1..20)) {
        let corrected = holm(&p);
        for (before, after) in p.iter().zip(&corrected) {
            prop_assert!(before <= after && *after <= (before * p.len() as f64).min(1.0));
        }
        for (i, a) in p.iter().enumerate() {
            for (j, b) in p.iter().enumerate() {
                prop_assert!(a >= b || corrected[i] <= corrected[j]);
            }
        }
    }
}
