//! The controller's overheads.

use super::tree::{Block, SpecError};
use crate::model::disk::{ExtraDisconnect, Overhead, Overheads};

pub(super) fn overheads(disk: &Block) -> Result<Overheads, SpecError> {
    let scale = disk.number_or("Time scale for overheads", 1.0)?;
    let one = |key: &str| -> Result<f64, SpecError> { Ok(disk.number_or(key, 0.0)? * scale) };
    let pair = |read: &str, write: &str| -> Result<Overhead, SpecError> {
        Ok(Overhead { after_read: one(read)?, after_write: one(write)? })
    };
    // A drive that keeps the bus has nothing to give back or to take again.
    let kept = disk.flag("Never disconnect")?;
    let unless_kept = |key: &str| if kept { Ok(0.0) } else { one(key) };
    Ok(Overheads {
        request: one("Per-request overhead time")?,
        read_hit: pair("Read hit over. after read", "Read hit over. after write")?,
        read_miss: pair("Read miss over. after read", "Read miss over. after write")?,
        write_hit: pair("Write hit over. after read", "Write hit over. after write")?,
        write_miss: pair("Write miss over. after read", "Write miss over. after write")?,
        read_completion: one("Read completion overhead")?,
        write_completion: one("Write completion overhead")?,
        preparation: one("Data preparation overhead")?,
        reselection: unless_kept("First reselect overhead")?,
        read_disconnect: Overhead {
            after_read: unless_kept("Read disconnect afterread")?,
            after_write: unless_kept("Read disconnect afterwrite")?,
        },
        write_disconnect: unless_kept("Write disconnect overhead")?,
        extra_disconnect: if kept { None } else { extra_disconnect(disk, scale)? },
        least_write_seek: disk.number_or("Minimum seek delay", 0.0)?,
    })
}

fn extra_disconnect(disk: &Block, scale: f64) -> Result<Option<ExtraDisconnect>, SpecError> {
    if !disk.flag("Extra write disconnect")? {
        return Ok(None);
    }
    let one = |key: &str| -> Result<f64, SpecError> { Ok(disk.number_or(key, 0.0)? * scale) };
    Ok(Some(ExtraDisconnect {
        command: one("Extradisc command overhead")?,
        disconnect: one("Extradisc disconnect overhead")?,
        // A delay of the drive's, not an overhead: DiskSim does not scale it.
        pause: disk.number_or("Extradisc inter-disconnect delay", 0.0)?,
        second_disconnect: one("Extradisc 2nd disconnect overhead")?,
        reselection: one("Other reselect overhead")?,
        seek_delay: one("Extradisc seek delta")?,
    }))
}
