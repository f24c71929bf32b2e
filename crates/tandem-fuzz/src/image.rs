//! Whole volumes: a valid one is changed as the bytes say, its checksums are made right again, and
//! then it is used in every way there is.

mod base;
mod edit;
mod exercise;
mod overlay;
mod places;
mod typed;
mod walk;

use arbitrary::Unstructured;

use base::bases;
use exercise::Trial;

/// How far a changed volume came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// A check found nothing wrong with it.
    pub sound: bool,
    /// It could be mounted for reading.
    pub mounted: bool,
    /// It could be mounted for writing and unmounted cleanly.
    pub written: bool,
    /// It was repaired.
    pub repaired: bool,
}

/// Changes a volume and uses it: checks it, mounts it for reading and reads everything, mounts it
/// for writing and changes a little of everything, unmounts and checks it, repairs it.
///
/// # Panics
/// When any of this panics, takes more work than [`overlay::WORK_MAX`], writes where nothing may
/// be written, or shows what must not be: other bytes than those of a file's own blocks; an error
/// or a foreign file's bytes on a volume that a check finds sound; an unsound volume after a clean
/// unmount of a sound one, or after a repair.
pub fn image(input: &[u8]) -> Outcome {
    let Some((&head, script)) = input.split_first() else { return Outcome::default() };
    let base = &bases()[usize::from(head) % bases().len()];
    let mut choices = Unstructured::new(script);
    let mut trial = Trial::new(base);
    let mut edits = 0;
    while !choices.is_empty() && edits < edit::EDITS_MAX {
        edit::edit(&mut trial.target, base, &mut choices);
        edits += 1;
    }
    trial.target.seal(base);
    trial.run(head & 0x40 != 0 || edits == 0)
}
