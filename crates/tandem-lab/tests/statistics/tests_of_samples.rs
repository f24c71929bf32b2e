//! Tests and regressions against what SciPy gives.

use tandem_lab::stats::check::{brown_forsythe, shapiro_wilk};
use tandem_lab::stats::factorial::{Design, Factor};
use tandem_lab::stats::interval::{mean_interval, runs_needed, welch};
use tandem_lab::stats::rank::{kruskal_wallis, mann_whitney, signed_rank};
use tandem_lab::stats::regression::Line;
use tandem_lab::stats::{Level, StatsError, bootstrap, ratio};

use crate::wettstein::RUNS;

fn near(got: f64, expected: f64, within: f64) {
    assert!((got - expected).abs() <= within * expected.abs(), "{got}, {expected}");
}

#[test]
fn normality() {
    let twelve = [2.1, 3.3, 1.2, 9.9, 4.4, 5.1, 2.2, 3.1, 8.7, 6.5, 7.1, 0.3];
    let cases: [(&[f64], f64, f64); 3] = [
        (&[1.0, 2.0, 4.0], 0.9642857142857142, 0.6368868450289689),
        (&[1.0, 2.0, 3.0, 4.0, 10.0], 0.8357883166461942, 0.1536125843490888),
        (&twelve, 0.9563610673513125, 0.7309015438740061),
    ];
    for (values, w, p) in cases {
        let tested = shapiro_wilk(values).unwrap();
        near(tested.statistic, w, 1e-6);
        near(tested.p, p, 1e-5);
    }
    assert_eq!(shapiro_wilk(&[1.0; 5]), Err(StatsError::NoVariation));
    assert_eq!(shapiro_wilk(&[1.0, 2.0]), Err(StatsError::TooFew { need: 3, have: 2 }));
}

#[test]
fn equal_variances() {
    let groups: Vec<Vec<f64>> =
        RUNS.iter().map(|(_, _, runs)| runs.iter().map(|&v| f64::from(v)).collect()).collect();
    let tested = brown_forsythe(&groups).unwrap();
    near(tested.statistic, 9.36631875745865, 1e-9);
    near(tested.p, 3.358347705435644e-08, 1e-8);
}

#[test]
fn ranks() {
    let u = mann_whitney(&[1.1, 2.3, 3.2, 4.8, 5.0], &[2.9, 6.1, 7.7, 8.0]).unwrap();
    assert_eq!(u.statistic, 3.0);
    near(u.p, 0.1111111111111111, 1e-12);
    let a: Vec<f64> = (0..25).map(|x| f64::from(2 * x)).collect();
    let b: Vec<f64> = (0..20).map(|x| f64::from(2 * x) + 3.5).chain([10.0]).collect();
    let u = mann_whitney(&a, &b).unwrap();
    assert_eq!(u.statistic, 289.5);
    near(u.p, 0.558941178784341, 1e-9);
    let w = signed_rank(&[1.5, -0.5, 2.5, 3.0, -1.0, 4.2, 0.7]).unwrap();
    assert_eq!(w.statistic, 24.0);
    near(w.p, 0.109375, 1e-12);
    let groups =
        [vec![1.0, 2.0, 3.0, 4.0], vec![2.0, 3.0, 4.0, 5.0], vec![6.0, 7.0, 8.0, 9.0, 9.0]];
    let h = kruskal_wallis(&groups).unwrap();
    near(h.h, 9.075, 1e-12);
    near(h.p, 0.010700123452114895, 1e-9);
}

/// Ties do not spoil the exact distribution: of C(4, 2) = 6 ways to choose two of 1, 2, 2, 3, two are
/// as far out as {1, 2}, twice.
#[test]
fn exact_with_ties() {
    let u = mann_whitney(&[1.0, 2.0], &[2.0, 3.0]).unwrap();
    near(u.p, 4.0 / 6.0, 1e-12);
}

#[test]
fn lines() {
    let points = [(1.0, 2.1), (2.0, 3.9), (3.0, 6.2), (4.0, 7.8), (5.0, 10.1)];
    let line = Line::fit(&points, Level::P95).unwrap();
    near(line.slope, 1.99, 1e-12);
    near(line.intercept, 0.05, 1e-9);
    near(line.explained.sqrt(), 0.9986517555689656, 1e-12);
    near(line.slope_p, 5.941539111755929e-05, 1e-9);
    let t = 3.18244630528371;
    near(line.slope_interval.width(), 2.0 * t * 0.059721576223897795, 1e-9);
    near(line.intercept_interval.width(), 2.0 * t * 0.19807406022327906, 1e-9);
    assert!((line.at(0.0).1.width() - line.intercept_interval.width()).abs() < 1e-12);
    assert_eq!(
        Line::fit(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)], Level::P95),
        Err(StatsError::NoVariation)
    );
}

#[test]
fn welch_without_variation() {
    let same = welch(&[3.0, 3.0], &[3.0, 3.0, 3.0], Level::P95).unwrap();
    assert_eq!((same.p, same.dof), (1.0, None));
    let other = welch(&[3.0, 3.0], &[4.0, 4.0], Level::P95).unwrap();
    assert_eq!((other.p, other.interval.width()), (0.0, 0.0));
}

#[test]
fn runs_for_a_width() {
    let pilot = [10.0, 11.0, 9.0, 10.5, 9.5];
    let n = runs_needed(&pilot, Level::P95, 0.1, 1_000).unwrap().unwrap();
    let sd = 0.625f64.sqrt();
    let width = |n: usize| {
        let t = tandem_lab::stats::distribution::t_two_sided(Level::P95, (n - 1) as f64);
        2.0 * t * sd / (n as f64).sqrt()
    };
    assert!(width(n) <= 1.0 && width(n - 1) > 1.0, "{n}");
    assert_eq!(runs_needed(&pilot, Level::P95, 1e-6, 1_000), Ok(None));
    assert_eq!(runs_needed(&[5.0, 5.0], Level::P95, 0.1, 1_000), Ok(Some(2)));
}

/// With an exact denominator, Fieller's interval is that of the numerator divided by it.
#[test]
fn fieller_with_a_fixed_denominator() {
    let a = [4.0, 5.0, 6.5];
    let ratio = ratio::ratio(&a, &[2.0, 2.0, 2.0], Level::P95).unwrap().unwrap();
    let (got, own) = (ratio.interval.unwrap(), mean_interval(&a, Level::P95).unwrap());
    near(got.low, own.low / 2.0, 1e-9);
    near(got.high, own.high / 2.0, 1e-9);
    assert_eq!(ratio::ratio(&a, &[0.0, 0.0], Level::P95), Ok(None));
    let unsure = ratio::ratio(&a, &[-3.0, 4.0], Level::P95).unwrap().unwrap();
    assert_eq!(unsure.interval, None);
}

/// How often intervals hold the true ratio, of 400 pairs of samples of 12 from a seed.
#[test]
fn ratios_are_covered() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut normal = |mean: f64| {
        let sum: f64 = (0..12).map(|_| random.f64()).sum();
        mean + sum - 6.0
    };
    let (mut fieller, mut drawn) = (0, 0);
    for seed in 0..400 {
        let a: Vec<f64> = (0..12).map(|_| normal(20.0)).collect();
        let b: Vec<f64> = (0..12).map(|_| normal(10.0)).collect();
        let interval = ratio::ratio(&a, &b, Level::P95).unwrap().unwrap().interval.unwrap();
        fieller += usize::from(interval.contains(2.0));
        let interval = bootstrap::ratio(&a, &b, Level::P95, seed).unwrap().unwrap();
        drawn += usize::from(interval.contains(2.0));
    }
    assert!((370..=392).contains(&fieller), "{fieller} of 400");
    assert!((355..=392).contains(&drawn), "{drawn} of 400");
}

/// Unequal replications: sums of squares by comparison of least-squares fits with and without each
/// term, effects coded (NumPy).
#[test]
fn unbalanced_designs() {
    let factor = |name: &str, levels: &[&str]| Factor {
        name: name.into(),
        levels: levels.iter().map(|&level| level.into()).collect(),
    };
    let factors = vec![factor("a", &["0", "1"]), factor("b", &["0", "1", "2"])];
    let cells: [(&[usize], &[f64]); 6] = [
        (&[0, 0], &[1.0, 2.0, 4.0]),
        (&[0, 1], &[2.0, 5.0]),
        (&[0, 2], &[7.0, 8.0, 8.5, 9.0]),
        (&[1, 0], &[3.0, 3.5]),
        (&[1, 1], &[9.0, 7.0, 8.0]),
        (&[1, 2], &[4.0, 6.0]),
    ];
    let observations =
        cells.iter().flat_map(|(at, values)| values.iter().map(|value| (at.to_vec(), *value)));
    let anova = Design::new(factors.clone(), observations.clone()).unwrap().analyse(Level::P95);
    assert!(!anova.balanced);
    near(anova.error.ss, 15.479166666666664, 1e-12);
    for (term, ss) in
        anova.terms.iter().zip([2.1731321839080486, 39.01011904761905, 36.87083333333333])
    {
        near(term.ss, ss, 1e-12);
    }
    let hole = observations.clone().filter(|(at, _)| at[..] != [1, 1]);
    let refused = Design::new(factors.clone(), hole);
    assert_eq!(refused, Err(StatsError::EmptyCell("1, 1".into())));
    let once = cells.iter().map(|(at, values)| (at.to_vec(), values[0]));
    assert_eq!(Design::new(factors.clone(), once), Err(StatsError::NoReplication));
    let beyond = [(vec![0, 3], 1.0)];
    assert_eq!(Design::new(factors, beyond), Err(StatsError::Observation));
}
