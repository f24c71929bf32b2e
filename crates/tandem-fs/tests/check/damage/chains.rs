//! Chains of leaves that hold one and the same hash.

use std::sync::OnceLock;

use tandem_format::{Kind, Leaf};
use tandem_fs::check::ProblemKind as P;
use tandem_fs::{Cred, Error, MkfsOptions, ROOT, RenameFlags, Volume};

use super::reenter;
use crate::image::Image;
use crate::rig::Rig;

/// A copy of a volume whose root directory has long chains, with one of them changed by `f`.
fn damaged(f: impl FnOnce(&Image<'_>, &[u64])) -> Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    let rig = RIG.get_or_init(|| {
        let rig = Rig::new(&MkfsOptions { hash_bits: Some(1), ..MkfsOptions::default() });
        let vol = rig.open();
        for i in 0..800 {
            crate::fill::file(&vol, ROOT, &format!("file{i}"), 0);
        }
        vol.shutdown().unwrap();
        rig.assert_sound();
        rig
    });
    let rig = rig.copy();
    let image = Image::new(&rig);
    let next = |id: u64| read(&image, id).next();
    let leaves: Vec<u64> = image.blocks(Kind::Leaf).iter().map(|b| b.0).collect();
    let head = leaves.iter().find(|id| leaves.iter().all(|&other| next(other) != **id));
    let mut chain = vec![*head.unwrap()];
    while next(*chain.last().unwrap()) != 0 {
        chain.push(next(*chain.last().unwrap()));
    }
    assert!(chain.len() > 3, "{chain:?} of {leaves:?}");
    f(&image, &chain);
    drop(image);
    rig
}

fn read(image: &Image<'_>, id: u64) -> Leaf {
    let (meta, payload) = image.read(image.map[&id]);
    Leaf::decode(&payload, &meta, &image.sb.implied()).unwrap()
}

#[test]
fn check_finds_them() {
    let rig = damaged(|image, chain| image.edit_leaf(chain[2], |leaf| leaf.set_next(chain[1])));
    let report = rig.check();
    for kind in [P::SharedBlock, P::UnreferencedBlock] {
        assert!(report.problems.iter().any(|p| p.kind == kind), "{kind:?}: {report:#?}");
    }
    // A circle that nothing leads to.
    let rig = damaged(|image, chain| {
        image.edit_leaf(chain[0], |leaf| leaf.set_next(0));
        image.edit_leaf(chain[chain.len() - 1], |leaf| leaf.set_next(chain[1]));
    });
    let report = rig.check();
    assert!(report.problems.iter().any(|p| p.kind == P::Directory), "{report:#?}");
    let rig = damaged(|image, chain| {
        let taken = read(image, chain[0]).entry(0).key;
        image.edit_leaf(chain[1], |leaf| {
            let name = leaf.entry(0).name.to_vec();
            reenter(leaf, 0, taken, &name);
        });
    });
    let report = rig.check();
    assert!(
        report.problems.iter().any(|p| p.kind == P::Directory || p.kind == P::Damaged),
        "{report:#?}"
    );
}

/// Lists the root to its end, or to its first error.
fn list(vol: &Volume) -> tandem_fs::Result<()> {
    let mut cookie = 0;
    loop {
        let mut last = None;
        vol.readdir(&Cred::root(), ROOT, cookie, &mut |entry| {
            last = Some(entry.cookie);
            true
        })?;
        match last {
            Some(next) => cookie = next,
            None => return Ok(()),
        }
    }
}

#[test]
fn a_mount_does_not_run_in_their_circles() {
    // Back to the middle, to the head, and to itself.
    for (from, to) in [(2, 1), (3, 0), (1, 1)] {
        let mut inside = Vec::new();
        let rig = damaged(|image, chain| {
            inside = read(image, chain[0]).entry(0).name.to_vec();
            image.edit_leaf(chain[from], |leaf| leaf.set_next(chain[to]));
        });
        let (vol, root) = (rig.open(), Cred::root());
        let what_is_there = vol.lookup(&root, ROOT, &inside);
        assert!(what_is_there.is_ok(), "{what_is_there:?}");
        // Of two buckets, one is whole.
        let names: Vec<Vec<u8>> = (0..8).map(|n| format!("missing{n}").into_bytes()).collect();
        let is_circle = |error: &Error| matches!(error, Error::Corrupt { detail, .. } if detail.contains("no end"));
        let missing = names.iter().map(|name| vol.lookup(&root, ROOT, name).unwrap_err());
        let missing: Vec<Error> = missing.collect();
        assert!(missing.iter().any(is_circle), "{missing:?}");
        let posix = |e: &Error| matches!(e, Error::Posix(libc::ENOENT));
        assert!(missing.iter().all(|e| is_circle(e) || posix(e)), "{missing:?}");
        let listed = list(&vol);
        assert!(listed.as_ref().is_err_and(is_circle), "{listed:?}");
        for (name, error) in names.iter().zip(&missing) {
            let made = vol.mknod(&root, ROOT, name, 0o644, 0, 0).map(drop);
            assert_eq!(made.as_ref().is_err_and(is_circle), is_circle(error), "{made:?}");
            let gone = vol.unlink(&root, ROOT, name);
            assert_eq!(gone.as_ref().is_err_and(is_circle), is_circle(error), "{gone:?}");
            let flags = RenameFlags::empty();
            let moved = vol.rename(&root, ROOT, &inside, ROOT, name, flags);
            assert!(moved.as_ref().is_err_and(is_circle), "{moved:?}");
        }
    }
}
