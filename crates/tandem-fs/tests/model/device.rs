//! A pair of devices that can lose power, and fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tandem_device::Device;
use tandem_disk::crash::{Change, History, Recorder, Store};
use tandem_disk::fault::{Fault, FaultDevice, Faults, Request, Rule};

/// As many images of a power failure there are to choose from.
const IMAGES: u64 = 64;

/// The history is cut off when it is longer than this.
const LONG: usize = 1000;

/// Two devices that lose power together.
#[derive(Clone)]
pub struct Pair {
    pub recorder: Recorder,
    /// What is wrong with them.
    pub faults: [Arc<Faults>; 2],
    pub(super) devices: [Arc<dyn Device>; 2],
    /// Number of the request at which the power fails; 0 when it does not.
    pub(super) fuse: Arc<AtomicUsize>,
}

impl Pair {
    /// Two devices, or one when the second has no size.
    pub fn new(meta: u64, data: u64) -> Pair {
        Pair::with(vec![Store::new(meta), Store::new(data)])
    }

    /// Devices with the given contents.
    pub fn with(stores: Vec<Store>) -> Pair {
        let recorder = Recorder::new(stores);
        let faults = [0, 1].map(|n| Arc::new(Faults::new(Vec::new(), n)));
        let devices = [0, 1].map(|n| {
            let faults = Arc::clone(&faults[n]);
            Arc::new(FaultDevice::new(recorder.device(n), faults)) as Arc<dyn Device>
        });
        Pair { recorder, faults, devices, fuse: Arc::default() }
    }

    pub fn meta(&self) -> Arc<dyn Device> {
        Arc::clone(&self.devices[0])
    }

    /// None when the other one holds everything.
    pub fn data(&self) -> Option<Arc<dyn Device>> {
        (self.devices[1].size() > 0).then(|| Arc::clone(&self.devices[1]))
    }

    /// Has the power fail at the `n`th write, discard or flush from now on, counted from 1. The
    /// devices go on working; [`Pair::failed`] has what would be left.
    pub fn fuse(&self, n: u64) {
        self.fuse.store(self.recorder.len() + n.max(1) as usize, Ordering::SeqCst);
    }

    /// The devices as they are after the power has failed where [`Pair::fuse`] said.
    pub fn failed(&self, seed: u64) -> Option<Pair> {
        let at = self.fuse.load(Ordering::SeqCst);
        self.is_dark().then(|| {
            self.defuse();
            let history = self.recorder.history();
            // A flush that the power failed in has done nothing.
            let flush = history.events[at - 1].change == Change::Flush;
            image(&history, at - usize::from(flush), seed)
        })
    }

    /// Whether that has come to pass.
    pub fn is_dark(&self) -> bool {
        let at = self.fuse.load(Ordering::SeqCst);
        at > 0 && self.recorder.len() >= at
    }

    /// Takes [`Pair::fuse`] back.
    pub fn defuse(&self) {
        self.fuse.store(0, Ordering::SeqCst);
    }

    /// The devices as they are when the power fails now.
    pub fn crash(&self, seed: u64) -> Pair {
        image(&self.recorder.history(), usize::MAX, seed)
    }

    /// Other devices that hold what these do.
    pub fn copy(&self) -> Pair {
        Pair::with(self.recorder.now())
    }

    /// How many requests, of those that `which` holds for, have failed and said so.
    pub fn refused(&self, which: impl Fn(Request) -> bool) -> u64 {
        let says = |rule: &Rule| {
            let says = matches!(rule.fault, Fault::Error(_) | Fault::Short(_) | Fault::Gone);
            says && rule.request.is_none_or(&which)
        };
        self.faults.iter().map(|faults| faults.happened(says)).sum()
    }

    /// Nothing is wrong with the devices any more.
    pub fn heal(&self) {
        self.faults.iter().for_each(|faults| faults.set(Vec::new()));
    }

    /// Keeps the history short.
    pub fn trim(&self) {
        if self.fuse.load(Ordering::SeqCst) == 0 && self.recorder.len() > LONG {
            self.recorder.forget();
        }
    }

    /// Has some requests take long, so that threads meet in between.
    pub fn slow(&self) {
        for faults in &self.faults {
            let delay = |us, one_in| {
                let fault = Fault::Delay(Duration::from_micros(us));
                Rule { request: None, fault, at: None, after: 0, times: None, one_in }
            };
            faults.set(vec![delay(150, 32), delay(40, 32), delay(0, 2)]);
        }
    }
}

fn image(history: &History, at: usize, seed: u64) -> Pair {
    let mut walk = history.walk();
    walk.go_to(at);
    let mut images = walk.images(IMAGES, seed);
    let number = (seed >> 32) as usize % images.len();
    Pair::with(images.nth(number).map_or_else(Vec::new, |image| image.stores))
}
