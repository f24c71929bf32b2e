//! What a volume goes through between two mounts, and how it is mounted again.

use tandem_disk::fault::{Fault, Request, Rule};

use crate::model::device::Pair;
use crate::model::env::Rng;
use crate::model::world::{Outcome, World, is_device_error, mount, verify, wrong};

/// How the time between two mounts ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Clean,
    /// The power fails, at a request to a device or when nothing more is asked of the volume.
    Dark,
    /// A device fails, now and then.
    Failing,
}

impl End {
    /// Decides, and prepares the devices.
    pub fn choose(rng: &mut Rng, pair: &Pair) -> End {
        match rng.below(10) {
            0..5 => {
                let most = rng.pick(&[3, 30, 300, 2000]);
                pair.fuse(rng.below(most) + 1);
                End::Dark
            }
            5..8 => {
                let most = rng.pick(&[5, 50, 400]);
                fail(rng, pair, most);
                End::Failing
            }
            _ => End::Clean,
        }
    }
}

/// One of the next requests to a device fails, or all from some on.
fn fail(rng: &mut Rng, pair: &Pair, most: u64) {
    let error = Fault::Error(rng.pick(&[libc::EIO, libc::EIO, libc::ENOSPC]));
    let rule = match rng.below(5) {
        0 | 1 => Rule::new(Request::Read, Fault::Error(libc::EIO)),
        2 => Rule::new(Request::Write, error),
        3 => Rule::new(Request::Write, Fault::Short(None)),
        _ => Rule::new(Request::Flush, Fault::Error(libc::EIO)),
    };
    let rule = rule.nth(rng.below(most) + 1);
    let times = if rng.one_in(3) { None } else { Some(1) };
    pair.faults[rng.below(2) as usize].set(vec![Rule { times, ..rule }]);
}

/// Whether a request changes a device, or promises something.
pub fn changes(request: Request) -> bool {
    matches!(request, Request::Write | Request::Flush)
}

/// Has a volume recovered; what goes wrong in between, several times perhaps, must not matter.
pub fn mount_again(world: &mut World, rng: &mut Rng, from: Pair) -> Outcome {
    let mut pair = from;
    loop {
        verify(&pair, &world.env)?;
        match rng.below(8) {
            0..3 => pair.fuse(rng.below(40) + 1),
            3 => fail(rng, &pair, 60),
            _ => {}
        }
        let mounted = mount(&pair.slower(), &world.env, &world.cfg, true);
        if let Some(image) = pair.failed(rng.next()) {
            pair = image;
            continue;
        }
        let lost = pair.refused(changes) > 0;
        match mounted {
            Ok(vol) if !lost => {
                pair.defuse();
                pair.heal();
                (world.pair, world.vol) = (pair, vol);
                return Ok(());
            }
            Ok(_) => {}
            Err(e) if pair.refused(|_| true) > 0 && is_device_error(&e) => {}
            Err(e) => return wrong(e),
        }
        pair = if rng.one_in(2) { pair.copy() } else { pair.crash(rng.next()) };
    }
}
