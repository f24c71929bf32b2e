//! Wettstein, "Journalling file systems" (seed 004): Bonnie, 1,024 MB, ten runs, block read and block
//! write of four file systems, KB/s. From these raw values come the paper's own summaries, and the
//! analysis of variance that it should have had.

use tandem_lab::stats::check::{brown_forsythe, normal_points, shapiro_wilk};
use tandem_lab::stats::distribution::normal_quantile;
use tandem_lab::stats::factorial::{Anova, Design, Factor};
use tandem_lab::stats::{Level, Summary};

/// File system, access mode, ten runs.
pub const RUNS: [(&str, &str, [u32; 10]); 8] = [
    ("ext2-2.3.0", "read", [13292, 13336, 13454, 13161, 13076, 13093, 13148, 13138, 13018, 13308]),
    ("ext2-2.3.0", "write", [8828, 8854, 8891, 8806, 8866, 8839, 8869, 8862, 8907, 8853]),
    ("ext2-2.4.17", "read", [13441, 13480, 13503, 13386, 13473, 13483, 13438, 13431, 13449, 13486]),
    (
        "ext2-2.4.17",
        "write",
        [12202, 12178, 12210, 12059, 11980, 12161, 11998, 11661, 11848, 12092],
    ),
    ("ext3", "read", [12667, 12743, 12736, 12736, 12694, 12744, 12706, 12727, 12753, 12728]),
    ("ext3", "write", [11648, 11586, 12028, 11850, 12062, 11801, 11956, 11671, 12158, 11838]),
    ("reiserfs", "read", [12722, 12708, 12698, 12735, 12641, 12714, 12726, 12738, 12715, 12717]),
    ("reiserfs", "write", [9753, 9774, 10301, 10097, 10254, 9880, 10176, 10315, 9829, 9979]),
];

/// As the paper scales them: MB/s.
pub fn megabytes(runs: &[u32]) -> Vec<f64> {
    runs.iter().map(|&kilobytes| f64::from(kilobytes) / 1024.0).collect()
}

/// The paper's table A.3, its columns in the order of [`RUNS`]: arithmetic, geometric, harmonic mean,
/// median, ends of the 99 % interval, standard deviation, C.O.V., skewness, SIQR, least, greatest,
/// max/min.
#[rustfmt::skip]
#[allow(clippy::approx_constant)] // 1.0471 is no third of pi
const A3: [[f64; 13]; 8] = [
    [12.8930, 12.8923, 12.8917, 12.8462, 12.7833, 13.0026, 0.1346, 0.0104, 0.5357, 0.0975, 12.7129, 13.1387, 1.0335],
    [8.6499, 8.6499, 8.6498, 8.6504, 8.6266, 8.6732, 0.0286, 0.0033, -0.0423, 0.0126, 8.5996, 8.6982, 1.0115],
    [13.1416, 13.1416, 13.1415, 13.1455, 13.1140, 13.1692, 0.0339, 0.0026, -0.7714, 0.0212, 13.0723, 13.1865, 1.0087],
    [11.7567, 11.7556, 11.7545, 11.7925, 11.6170, 11.8965, 0.1716, 0.0146, -1.2087, 0.0924, 11.3877, 11.9238, 1.0471],
    [12.4252, 12.4252, 12.4251, 12.4336, 12.4040, 12.4464, 0.0260, 0.0021, -1.2036, 0.0146, 12.3701, 12.4541, 1.0068],
    [11.5818, 11.5805, 11.5791, 11.5664, 11.4302, 11.7334, 0.1861, 0.0161, 0.0695, 0.1497, 11.3145, 11.8730, 1.0494],
    [12.4135, 12.4135, 12.4134, 12.4180, 12.3916, 12.4353, 0.0268, 0.0022, -2.1110, 0.0076, 12.3447, 12.4395, 1.0077],
    [9.8006, 9.7985, 9.7963, 9.8027, 9.6251, 9.9761, 0.2155, 0.0220, 0.0054, 0.1918, 9.5244, 10.0732, 1.0576],
];

#[test]
fn summaries_are_the_papers() {
    let level = Level::new(0.99).unwrap();
    for ((system, mode, runs), expected) in RUNS.iter().zip(A3) {
        let s = Summary::of(&megabytes(runs), level).unwrap();
        // The paper takes the normal quantile for its intervals; ten runs need Student's.
        let half = |quantile: f64| quantile * s.sd.unwrap() / 10f64.sqrt();
        let student = s.interval.unwrap();
        assert!((student.width() - 2.0 * half(3.249_835_541_592)).abs() < 1e-10);
        let got = [
            s.mean,
            s.geometric_mean.unwrap(),
            s.harmonic_mean.unwrap(),
            s.median,
            s.mean - half(normal_quantile(0.995)),
            s.mean + half(normal_quantile(0.995)),
            s.sd.unwrap(),
            s.cov.unwrap(),
            s.skewness.unwrap(),
            s.siqr,
            s.min,
            s.max,
            s.max_by_min.unwrap(),
        ];
        for (which, (got, expected)) in got.into_iter().zip(expected).enumerate() {
            assert!((got - expected).abs() < 1e-4, "{system} {mode} {which}: {got}, {expected}");
        }
    }
}

fn anova(level: f64) -> Anova {
    let systems = ["ext2-2.3.0", "ext2-2.4.17", "ext3", "reiserfs"];
    let modes = ["read", "write"];
    let factor = |name: &str, levels: &[&str]| Factor {
        name: name.into(),
        levels: levels.iter().map(|&level| level.into()).collect(),
    };
    let factors = vec![factor("access mode", &modes), factor("filesystem", &systems)];
    let observations = RUNS.iter().flat_map(|(system, mode, runs)| {
        let place =
            |levels: &[&str], own: &str| levels.iter().position(|level| *level == own).unwrap();
        let at = vec![place(&modes, mode), place(&systems, system)];
        megabytes(runs).into_iter().map(move |value| (at.clone(), value))
    });
    Design::new(factors, observations).unwrap().analyse(Level::new(level).unwrap())
}

fn near(got: f64, expected: f64, digits: i32) {
    assert!((got - expected).abs() <= 0.51 * 10f64.powi(-digits), "{got}, {expected}");
}

/// The paper lost the factor r = 10 in the interaction's sum of squares, which then went to the errors.
#[test]
fn analysis_of_variance_corrected() {
    let anova = anova(0.9);
    near(anova.ssy, 10907.61, 2);
    near(anova.ss0, 10732.88, 2);
    near(anova.sst, 174.73, 2);
    let [mode, system, both] = &anova.terms[..] else { panic!() };
    for (term, ss, share, dof, f) in [
        (mode, 103.15, 59.03, 1, 6252.9),
        (system, 36.25, 20.74, 3, 732.4),
        (both, 34.147, 19.54, 3, 690.0),
    ] {
        near(term.ss, ss, 2);
        near(term.share.unwrap() * 100.0, share, 2);
        assert_eq!(term.dof, dof);
        near(term.f.unwrap(), f, 1);
        assert!(term.p.unwrap() < 1e-40);
    }
    near(both.ss, 34.147, 3);
    near(anova.error.ss, 1.188, 3);
    near(anova.error.share.unwrap() * 100.0, 0.68, 2);
    assert_eq!(anova.error.dof, 72);
    near(anova.explained.unwrap() * 100.0, 99.3, 1);
    near(anova.mean.interval.width() / 2.0, 0.024, 3);
    near(mode.critical, 2.7765, 4);
    near(system.critical, 2.1615, 4);
}

/// The effects of tables A.5 (a) and (b) are right in the paper.
#[test]
fn effects_are_the_papers() {
    let anova = anova(0.9);
    let effects =
        |at: usize| -> Vec<f64> { anova.terms[at].effects.iter().map(|e| e.value).collect() };
    near(anova.mean.value, 11.5828, 4);
    for (got, expected) in effects(0).into_iter().zip([1.1355, -1.1355]) {
        near(got, expected, 4);
    }
    for (got, expected) in effects(1).into_iter().zip([-0.8114, 0.8664, 0.4207, -0.4758]) {
        near(got, expected, 4);
    }
    let of_reads = [0.9860, -0.4431, -0.7138, 0.1709];
    for (at, expected) in of_reads.into_iter().enumerate() {
        near(effects(2)[at], expected, 4);
        near(effects(2)[at + 4], -expected, 4);
    }
}

/// The checks that the paper left out: neither are the errors normal, nor the variances equal.
#[test]
fn the_models_assumptions_fail() {
    let residuals: Vec<f64> =
        anova(0.9).cells.iter().flat_map(|cell| cell.residuals.clone()).collect();
    let normal = shapiro_wilk(&residuals).unwrap();
    assert!((normal.p - 0.0022640007220649894).abs() < 1e-6, "{}", normal.p);
    let groups: Vec<Vec<f64>> = RUNS.iter().map(|(_, _, runs)| megabytes(runs)).collect();
    assert!(brown_forsythe(&groups).unwrap().p < 1e-7);
    let p = [0.56066, 0.98328, 0.50896, 0.14087, 0.14675, 0.79500, 0.00816, 0.22006];
    for (group, p) in groups.iter().zip(p) {
        near(shapiro_wilk(group).unwrap().p, p, 5);
    }
}

/// The paper's points: quantiles by Jain's formula 12.1, samples scaled by their mean and deviation.
/// Ours have the exact quantiles, which his formula approximates to 0.01.
#[test]
fn quantile_quantile_points() {
    for (_, _, runs) in &RUNS {
        let values = megabytes(runs);
        let s = Summary::of(&values, Level::P95).unwrap();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let points = normal_points(&values);
        for (i, ((x, y), value)) in points.iter().zip(&sorted).enumerate() {
            let q = (i as f64 + 0.5) / 10.0;
            let jain = 4.91 * (q.powf(0.14) - (1.0 - q).powf(0.14));
            assert!((x - jain).abs() < 0.01, "{x}, {jain}");
            let scaled = |value: f64| (value - s.mean) / s.sd.unwrap();
            assert_eq!(scaled(*y), scaled(*value));
        }
    }
}
