//! Every kind of damage, one by one. Where the damage is logical, all checksums are right.

#[path = "damage/blocks.rs"]
mod blocks;
#[path = "damage/chains.rs"]
mod chains;
#[path = "damage/contents.rs"]
mod contents;
#[path = "damage/directories.rs"]
mod directories;

use std::sync::OnceLock;

use tandem_fs::MkfsOptions;
use tandem_fs::check::CheckReport;

use crate::fill::everything;
use crate::image::Image;
use crate::rig::Rig;

/// A volume with one of everything, cleanly unmounted.
fn filled() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    RIG.get_or_init(|| {
        let rig = Rig::new(&MkfsOptions::default());
        let vol = rig.open();
        everything(&vol);
        vol.shutdown().unwrap();
        rig.assert_sound();
        rig
    })
}

/// Damages a copy of it, and checks that.
#[track_caller]
fn damaged(f: impl FnOnce(&Image<'_>)) -> CheckReport {
    let rig = filled().copy();
    f(&Image::new(&rig));
    rig.check()
}

/// Puts other bytes of the same length into a leaf.
fn patch(image: &Image<'_>, id: u64, from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    image.edit(id, |_, payload| {
        let at = payload.windows(from.len()).position(|w| w == from).unwrap();
        payload[at..at + to.len()].copy_from_slice(to);
    });
}
