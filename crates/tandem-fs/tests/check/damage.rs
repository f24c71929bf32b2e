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

use tandem_format::{Body, Leaf};
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

/// Damages a copy of it, checks that, and repairs it.
#[track_caller]
fn damaged(f: impl FnOnce(&Image<'_>)) -> CheckReport {
    let rig = filled().copy();
    f(&Image::new(&rig));
    crate::repair::repairs(&rig);
    rig.check()
}

/// Gives the entry in a slot another key and name.
fn reenter(leaf: &mut Leaf, slot: usize, key: u64, name: &[u8]) {
    let entry = leaf.entry(slot);
    let (kind, record) = (
        entry.kind,
        match entry.body {
            Body::Embedded(bytes) => Ok(bytes.to_vec()),
            Body::Link(ino) => Err(ino),
        },
    );
    leaf.remove(slot);
    let body = match &record {
        Ok(bytes) => Body::Embedded(bytes),
        Err(ino) => Body::Link(*ino),
    };
    leaf.insert(key, kind, name, body).unwrap();
}
