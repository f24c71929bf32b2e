//! How long the arm takes from one cylinder to another.

use super::ModelError;
use crate::request::Nanos;

/// A seek curve as given.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SeekCurve {
    /// Always the same.
    Constant {
        /// Milliseconds.
        ms: f64,
    },
    /// A line from one cylinder to a full stroke.
    Linear {
        /// One cylinder, in milliseconds.
        single_ms: f64,
        /// All cylinders, in milliseconds.
        full_ms: f64,
    },
    /// a·√(d−1) + b·(d−1) + c through three points (Lee and Katz 1993, "An analytic performance
    /// model of disk arrays", §3).
    ThreePoint {
        /// One cylinder, in milliseconds.
        single_ms: f64,
        /// Mean over random pairs of cylinders, in milliseconds.
        average_ms: f64,
        /// All cylinders, in milliseconds.
        full_ms: f64,
    },
    /// Two formulas: a + b·√d below a distance, c + e·d from it on (Ruemmler and Wilkes 1994,
    /// "An introduction to disk drive modeling", table 2), after measured times of the shortest.
    Hpl {
        /// Cylinders from which the second formula holds.
        cutoff: u32,
        /// a and b, in milliseconds.
        short_ms: (f64, f64),
        /// c and e, in milliseconds.
        long_ms: (f64, f64),
        /// Times of 1, 2, … cylinders, in milliseconds.
        #[serde(default)]
        first_ms: Vec<f64>,
    },
    /// Measured: (cylinders, milliseconds), with lines in between.
    Measured {
        /// The points, distances rising.
        points: Vec<(u32, f64)>,
        /// Those of writes, if they were measured apart.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        write_points: Vec<(u32, f64)>,
    },
}

/// A seek curve, ready to be asked.
#[derive(Debug, Clone)]
pub struct SeekTimes {
    table: Vec<(u32, Nanos)>,
}

/// Distances up to this have an entry each when the curve is a formula.
const EXACT: u32 = 256;

impl SeekTimes {
    /// Takes a curve over, for a disk of so many cylinders.
    ///
    /// # Errors
    /// Times that are negative or no numbers; points that do not rise.
    pub fn new(curve: &SeekCurve, cylinders: u32) -> Result<SeekTimes, ModelError> {
        let last = cylinders.saturating_sub(1).max(1);
        let mut table = Vec::new();
        if let SeekCurve::Measured { points, .. } = curve {
            return SeekTimes::measured(points);
        }
        let mut distance = 1;
        while distance < last {
            table.push((distance, time("seek curve", formula(curve, distance, cylinders))?));
            // Beyond, steps of a sixteenth: lines between them miss the formulas by under 0.1 %.
            distance += if distance < EXACT { 1 } else { distance / 16 };
            if let SeekCurve::Hpl { cutoff, .. } = curve {
                let before = table.last().map_or(0, |&(d, _)| d);
                for edge in [cutoff.saturating_sub(1), *cutoff] {
                    if before < edge && edge < distance {
                        distance = edge;
                        break;
                    }
                }
            }
        }
        table.push((last, time("seek curve", formula(curve, last, cylinders))?));
        Ok(SeekTimes { table })
    }

    /// The times of writes, where they are not those of reads.
    ///
    /// # Errors
    /// The same.
    pub fn of_writes(curve: &SeekCurve) -> Result<Option<SeekTimes>, ModelError> {
        match curve {
            SeekCurve::Measured { write_points, .. } if !write_points.is_empty() => {
                SeekTimes::measured(write_points).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn measured(points: &[(u32, f64)]) -> Result<SeekTimes, ModelError> {
        if points.is_empty() {
            return Err(ModelError::new("seek curve", "there are no points"));
        }
        let mut table = Vec::with_capacity(points.len());
        for (at, &(distance, ms)) in points.iter().enumerate() {
            if distance == 0 || (at > 0 && distance <= points[at - 1].0) {
                let why = format!("the distances do not rise at {distance}");
                return Err(ModelError::new("seek curve", why));
            }
            table.push((distance, time("seek curve", ms)?));
        }
        Ok(SeekTimes { table })
    }

    /// The time of a seek; 0 for none.
    pub fn time(&self, distance: u32) -> Nanos {
        if distance == 0 {
            return 0;
        }
        let at = self.table.partition_point(|&(d, _)| d < distance);
        let (low, high) = match (at, self.table.len()) {
            (0, _) => return self.table[0].1,
            (at, len) if at == len => {
                // Beyond the last measured point the last line goes on.
                if len < 2 {
                    return self.table[len - 1].1;
                }
                (self.table[len - 2], self.table[len - 1])
            }
            (at, _) => (self.table[at - 1], self.table[at]),
        };
        let span = f64::from(high.0 - low.0);
        let share = f64::from(distance - low.0) / span;
        let time = low.1 as f64 + (high.1 as f64 - low.1 as f64) * share;
        time.max(0.0) as Nanos
    }

    /// The mean over all pairs of cylinders.
    pub fn average(&self, cylinders: u32) -> Nanos {
        let n = f64::from(cylinders.max(2));
        let steps = 4096u32.min(cylinders.max(2));
        let (mut sum, mut weight) = (0.0, 0.0);
        for at in 1..steps {
            let distance = f64::from(at) / f64::from(steps) * n;
            let share = n - distance;
            sum += share * self.time((distance as u32).max(1)) as f64;
            weight += share;
        }
        (sum / weight.max(1.0)) as Nanos
    }
}

fn formula(curve: &SeekCurve, distance: u32, cylinders: u32) -> f64 {
    let d = f64::from(distance);
    let n = f64::from(cylinders.max(1));
    match curve {
        SeekCurve::Constant { ms } => *ms,
        SeekCurve::Linear { single_ms, full_ms } => {
            single_ms + (full_ms - single_ms) * (d - 1.0) / (n - 2.0).max(1.0)
        }
        SeekCurve::ThreePoint { single_ms, average_ms, full_ms } => {
            let a = (-10.0 * single_ms + 15.0 * average_ms - 5.0 * full_ms) / (3.0 * n.sqrt());
            let b = (7.0 * single_ms - 15.0 * average_ms + 8.0 * full_ms) / (3.0 * n);
            a * (d - 1.0).sqrt() + b * (d - 1.0) + single_ms
        }
        SeekCurve::Hpl { cutoff, short_ms, long_ms, first_ms } => {
            if let Some(&ms) = first_ms.get(distance as usize - 1) {
                ms
            } else if distance < *cutoff {
                short_ms.0 + short_ms.1 * d.sqrt()
            } else {
                long_ms.0 + long_ms.1 * d
            }
        }
        SeekCurve::Measured { .. } => 0.0,
    }
}

/// Milliseconds as nanoseconds, if they can be a time on a drive.
pub(crate) fn time(what: &str, ms: f64) -> Result<Nanos, ModelError> {
    if !(0.0..=100_000.0).contains(&ms) {
        return Err(ModelError::new(what, format!("{ms} ms is not a time from 0 to 100 s")));
    }
    Ok((ms * 1e6).round() as Nanos)
}

/// The same for what may be taken off another time.
pub(crate) fn signed_time(what: &str, ms: f64) -> Result<i64, ModelError> {
    if !(-100_000.0..=100_000.0).contains(&ms) {
        return Err(ModelError::new(what, format!("{ms} ms is not a time from -100 to 100 s")));
    }
    Ok((ms * 1e6).round() as i64)
}
