//! What the controller and the bus take.

use serde::{Deserialize, Serialize};

use super::DiskParameters;
use crate::model::ModelError;
use crate::model::seek::time;
use crate::request::Nanos;

/// A time after a read and after a write, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overhead {
    /// When the request before was a read.
    pub after_read: f64,
    /// When it was a write.
    pub after_write: f64,
}

/// What the controller takes for itself; all in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overheads {
    /// Every request.
    pub request: f64,
    /// A read that memory serves.
    pub read_hit: Overhead,
    /// A read that the medium serves.
    pub read_miss: Overhead,
    /// A write that is reported at once.
    pub write_hit: Overhead,
    /// A write that is reported when it is on the medium.
    pub write_miss: Overhead,
    /// Reporting a read.
    pub read_completion: f64,
    /// Reporting a write.
    pub write_completion: f64,
    /// Preparing data when the bus was kept.
    pub preparation: f64,
    /// Taking the bus again: for the data of a read, to report a write.
    pub reselection: f64,
    /// Giving the bus back before a read.
    pub read_disconnect: Overhead,
    /// Giving the bus back before or after the data of a write.
    pub write_disconnect: f64,
    /// For drives that give the bus back once more. Of use where writes are reported from the
    /// medium.
    pub extra_disconnect: Option<ExtraDisconnect>,
    /// What the move before a write takes at least, even on the same track. Of use where writes
    /// are reported from the medium.
    pub least_write_seek: f64,
}

/// A bus given back between the command and the data of a write that follows another one without
/// going on where that ended, as some drives of 1992 do; all in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExtraDisconnect {
    /// Taking the command in, instead of the overhead of other writes.
    pub command: f64,
    /// Giving the bus back after the command.
    pub disconnect: f64,
    /// Until the bus is wanted again.
    pub pause: f64,
    /// Giving the bus back after the data.
    pub second_disconnect: f64,
    /// Taking the bus again to report.
    pub reselection: f64,
    /// From the command's end until the arm moves.
    pub seek_delay: f64,
}

/// Overheads in nanoseconds, [after a read, after a write].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Costs {
    pub request: Nanos,
    pub read_hit: [Nanos; 2],
    pub read_miss: [Nanos; 2],
    pub write_hit: [Nanos; 2],
    pub write_miss: [Nanos; 2],
    pub read_completion: Nanos,
    pub write_completion: Nanos,
    pub preparation: Nanos,
    pub reselection: Nanos,
    pub read_disconnect: [Nanos; 2],
    pub write_disconnect: Nanos,
    pub extra: Option<ExtraCosts>,
    pub least_write_seek: Nanos,
    pub sector: Nanos,
    pub write_sector: Nanos,
}

/// [`ExtraDisconnect`] in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExtraCosts {
    pub command: Nanos,
    pub disconnect: Nanos,
    pub pause: Nanos,
    pub second_disconnect: Nanos,
    pub reselection: Nanos,
    pub seek_delay: Nanos,
}

/// Of all that a drive's controller and bus take.
///
/// # Errors
/// Times that are none.
pub(super) fn costs(from: &DiskParameters) -> Result<Costs, ModelError> {
    let o = &from.overheads;
    let write_sector_ms =
        if from.bus_write_sector_ms == 0.0 { from.bus_sector_ms } else { from.bus_write_sector_ms };
    let pair = |what: &str, o: Overhead| -> Result<[Nanos; 2], ModelError> {
        Ok([time(what, o.after_read)?, time(what, o.after_write)?])
    };
    Ok(Costs {
        request: time("request overhead", o.request)?,
        read_hit: pair("read hit overhead", o.read_hit)?,
        read_miss: pair("read miss overhead", o.read_miss)?,
        write_hit: pair("write hit overhead", o.write_hit)?,
        write_miss: pair("write miss overhead", o.write_miss)?,
        read_completion: time("read completion overhead", o.read_completion)?,
        write_completion: time("write completion overhead", o.write_completion)?,
        preparation: time("preparation overhead", o.preparation)?,
        reselection: time("reselection overhead", o.reselection)?,
        read_disconnect: pair("read disconnect overhead", o.read_disconnect)?,
        write_disconnect: time("write disconnect overhead", o.write_disconnect)?,
        extra: o.extra_disconnect.map(|extra| extra_costs(&extra)).transpose()?,
        least_write_seek: time("least write seek", o.least_write_seek)?,
        sector: time("bus time of a sector", from.bus_sector_ms)?,
        write_sector: time("bus time of a sector written", write_sector_ms)?,
    })
}

fn extra_costs(o: &ExtraDisconnect) -> Result<ExtraCosts, ModelError> {
    Ok(ExtraCosts {
        command: time("extra disconnect's command overhead", o.command)?,
        disconnect: time("extra disconnect overhead", o.disconnect)?,
        pause: time("extra disconnect's pause", o.pause)?,
        second_disconnect: time("second disconnect overhead", o.second_disconnect)?,
        reselection: time("reselection overhead after an extra disconnect", o.reselection)?,
        seek_delay: time("extra disconnect's seek delay", o.seek_delay)?,
    })
}
