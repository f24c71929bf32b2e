//! Replaying a trace on a drive.

mod dependence;
mod report;
mod run;

pub use report::{Distribution, Kind, Report};
pub use run::{Finished, Mode, Options, Outside, ReplayError, fitting, replay};
