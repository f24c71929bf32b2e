//! `tandem dump`: structures of a volume, read from its metadata device alone.

mod log;
pub mod reader;
mod show;
mod tree;

use anyhow::{Result, bail};
use tandem_device::{Access, DeviceError, FileDevice};
use tandem_format::{CHECKPOINTS, SUPERBLOCK_A};

use crate::cli::{DumpArgs, DumpWhat, exit};
use crate::output::{self, Listing};
use reader::Reader;

/// Shows a structure.
pub fn run(args: &DumpArgs) -> Result<u8> {
    let device = open(&args.meta)?;
    let mut out = Listing::default();
    match &args.what {
        DumpWhat::Superblock if !superblocks(&device, &mut out) => {
            output::print(&out.render())?;
            bail!("{}: both superblocks are damaged", args.meta.display());
        }
        DumpWhat::Superblock => {}
        DumpWhat::Checkpoint => checkpoints(&device, &mut out),
        DumpWhat::Segment { number } => Reader::open(&device)?.show_segment(*number, &mut out)?,
        DumpWhat::Inode { number } => {
            let reader = Reader::open(&device)?;
            let (record, home) = reader.inode(*number)?;
            show::record(&record, &home, &mut out);
            reader.show_extents(&record, &mut out)?;
        }
        DumpWhat::Dir { path } => Reader::open(&device)?.show_dir(path, &mut out)?,
        DumpWhat::Block { id } => {
            let reader = Reader::open(&device)?;
            let Some(loc) = reader.locate(*id)? else { bail!("block {id} does not exist") };
            let block = reader.read(loc)?;
            show::block(&block, loc, &reader.superblock.implied(), &mut out);
        }
    }
    output::print(&out.render())?;
    Ok(exit::OK)
}

/// Opens the device; when somebody is writing to it, without being able to keep them from it.
fn open(path: &std::path::Path) -> Result<FileDevice> {
    match FileDevice::open(path, Access::ReadOnly) {
        Err(DeviceError::InUse { .. }) => {
            output::complain(&format!(
                "{} is in use: what is not written yet is not shown, and what is shown may be \
                 changing",
                path.display()
            ));
            Ok(FileDevice::open(path, Access::Peek)?)
        }
        device => Ok(device?),
    }
}

/// Shows both superblocks, whole or not; whether one is whole.
fn superblocks(device: &FileDevice, out: &mut Listing) -> bool {
    let first = reader::superblock_at(device, SUPERBLOCK_A);
    show::superblock("superblock A", SUPERBLOCK_A, &first, out);
    let places = match &first {
        Ok(superblock) => vec![superblock.geometry().superblock_b()],
        Err(_) => reader::places_of_second(device),
    };
    let mut seconds = places.into_iter().map(|at| (at, reader::superblock_at(device, at)));
    // When there is none, what is where it should be is shown.
    let Some(mut second) = seconds.next() else { return first.is_ok() };
    if second.1.is_err() {
        second = seconds.find(|(_, found)| found.is_ok()).unwrap_or(second);
    }
    show::superblock("superblock B", second.0, &second.1, out);
    first.is_ok() || second.1.is_ok()
}

/// Shows both checkpoint areas, whole or not.
fn checkpoints(device: &FileDevice, out: &mut Listing) {
    let areas = CHECKPOINTS.map(|at| reader::checkpoint_at(device, at));
    let newest = reader::newest(&areas).map(tandem_format::Checkpoint::order);
    for (number, (at, area)) in CHECKPOINTS.into_iter().zip(&areas).enumerate() {
        let counts = area.as_ref().is_ok_and(|checkpoint| Some(checkpoint.order()) == newest);
        show::checkpoint(number, at, area, counts, out);
    }
}
