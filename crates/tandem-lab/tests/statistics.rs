//! The statistics against published figures, closed forms and their own laws.

#[path = "statistics/wettstein.rs"]
mod wettstein;
