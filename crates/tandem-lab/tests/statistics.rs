//! The statistics against published figures, closed forms, other programs and their own laws.

#[path = "statistics/distributions.rs"]
mod distributions;
#[path = "statistics/laws.rs"]
mod laws;
#[path = "statistics/tests_of_samples.rs"]
mod tests_of_samples;
#[path = "statistics/wettstein.rs"]
mod wettstein;
