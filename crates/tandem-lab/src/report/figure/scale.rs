//! From values to places, and the round values at which axes are marked.

/// An axis: linear or logarithmic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The values at its ends.
    pub from: f64,
    /// See [`Scale::from`].
    pub to: f64,
    /// The places of its ends.
    pub start: f64,
    /// See [`Scale::start`].
    pub end: f64,
    /// Does it show powers at equal distances? Then both ends are above zero.
    pub logarithmic: bool,
}

impl Scale {
    /// From zero to at least `to`, a round value.
    pub fn from_zero(to: f64, start: f64, end: f64) -> Scale {
        let to = if to.is_finite() && to > 0.0 { to } else { 1.0 };
        Scale { from: 0.0, to, start, end, logarithmic: false }
    }

    /// Around all values, with a little room.
    pub fn around(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Scale {
        let (low, high) = bounds(values);
        let room = if high > low { (high - low) * 0.06 } else { low.abs().max(1.0) * 0.1 };
        Scale { from: low - room, to: high + room, start, end, logarithmic: false }
    }

    /// Around all values above zero, logarithmically.
    pub fn powers(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Scale {
        let (low, high) = bounds(values.filter(|&value| value > 0.0));
        let (low, high) = if low > 0.0 { (low, high) } else { (1.0, 10.0) };
        Scale { from: low / 1.3, to: high * 1.3, start, end, logarithmic: true }
    }

    /// Where a value lies; what is outside lies at that end.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.from) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        self.start + (self.end - self.start) * share
    }

    /// About `wanted` round values within it, in rising order.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.logarithmic { self.powers_within(wanted) } else { self.multiples(wanted) }
    }

    fn multiples(&self, wanted: usize) -> Vec<f64> {
        let step = round_step((self.to - self.from) / wanted.max(1) as f64);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        (first..=last.min(first + 100)).map(|at| tidy(at as f64 * step)).collect()
    }

    fn powers_within(&self, wanted: usize) -> Vec<f64> {
        let (low, high) = (self.from.log10().floor() as i32, self.to.log10().ceil() as i32);
        let all = |steps: &[f64]| -> Vec<f64> {
            let powers = (low..=high).flat_map(|p| steps.iter().map(move |s| s * 10f64.powi(p)));
            powers.map(tidy).filter(|&v| v >= self.from && v <= self.to).collect()
        };
        let tens = all(&[1.0]);
        if tens.len() >= wanted {
            let every = tens.len().div_ceil(wanted.max(1));
            return tens.into_iter().step_by(every).collect();
        }
        let finer = all(&[1.0, 2.0, 5.0]);
        let coarse = finer.len() > wanted * 2;
        if coarse { tens } else { finer }
    }
}

/// 1, 2 or 5 times a power of ten, at least `step`.
fn round_step(step: f64) -> f64 {
    if !step.is_finite() || step <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= step * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Without the last digits' noise: 0.3, not 0.30000000000000004.
fn tidy(value: f64) -> f64 {
    format!("{value:.12e}").parse().unwrap_or(value)
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_ticks() {
        let ticks = |to| Scale::from_zero(to, 0.0, 100.0).ticks(4);
        assert_eq!(ticks(1.0), [0.0, 0.5, 1.0]);
        assert_eq!(ticks(98.1), [0.0, 50.0]);
        assert_eq!(ticks(1.3), [0.0, 0.5, 1.0]);
        assert_eq!(ticks(0.7), [0.0, 0.2, 0.4, 0.6]);
        let powers = Scale::powers([0.01, 100.0].into_iter(), 0.0, 1.0).ticks(5);
        assert_eq!(powers, [0.01, 0.1, 1.0, 10.0, 100.0]);
    }

    #[test]
    fn places() {
        let scale = Scale::from_zero(10.0, 50.0, 150.0);
        assert_eq!((scale.at(0.0), scale.at(5.0), scale.at(20.0)), (50.0, 100.0, 150.0));
        let powers = Scale { from: 1.0, to: 100.0, start: 0.0, end: 2.0, logarithmic: true };
        assert!((powers.at(10.0) - 1.0).abs() < 1e-12);
        assert_eq!(powers.at(0.0), 0.0);
    }

    #[test]
    fn odd_values() {
        for values in [vec![], vec![f64::NAN], vec![5.0], vec![-1.0, -1.0]] {
            let scale = Scale::around(values.iter().copied(), 0.0, 100.0);
            assert!(scale.at(1.0).is_finite() && scale.ticks(4).len() <= 101, "{values:?}");
            let powers = Scale::powers(values.into_iter(), 0.0, 100.0);
            assert!(powers.at(1.0).is_finite() && !powers.ticks(4).is_empty());
        }
        assert!(Scale::from_zero(f64::INFINITY, 0.0, 1.0).at(0.5).is_finite());
    }
}
