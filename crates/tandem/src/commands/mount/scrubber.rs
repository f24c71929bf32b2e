//! A scrub of the volume that this process serves.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tandem_fs::{ScrubReport, Volume};

/// A pause is never longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The scrub under way, or the last one.
#[derive(Default)]
struct Now {
    running: bool,
    report: ScrubReport,
    error: Option<String>,
}

/// At most one scrub at a time.
pub struct Scrubber {
    volume: Arc<Volume>,
    now: Mutex<Now>,
    stop: AtomicBool,
}

impl Scrubber {
    /// Nothing is being scrubbed.
    pub fn new(volume: Arc<Volume>) -> Arc<Scrubber> {
        Arc::new(Scrubber { volume, now: Mutex::default(), stop: AtomicBool::new(false) })
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins one, unless one is under way, which is as good.
    pub fn start(self: &Arc<Self>) -> Value {
        {
            let mut now = self.now();
            if !now.running {
                *now = Now { running: true, ..Now::default() };
                self.stop.store(false, Ordering::SeqCst);
                let this = Arc::clone(self);
                let thread = std::thread::Builder::new().name("scrub".to_string());
                if let Err(error) = thread.spawn(move || this.work()) {
                    *now = Now { error: Some(error.to_string()), ..Now::default() };
                }
            }
        }
        self.status()
    }

    /// Ends the one under way soon, if there is one.
    pub fn stop(&self) -> Value {
        self.stop.store(true, Ordering::SeqCst);
        self.status()
    }

    /// How it stands.
    pub fn status(&self) -> Value {
        let now = self.now();
        json!({ "running": now.running, "report": now.report, "failure": now.error })
    }

    fn work(&self) {
        tandem_device::yield_to_all();
        let mut since = Instant::now();
        let done = self.volume.scrub(&mut |report| {
            self.now().report = report.clone();
            // As long a pause as the work took: half of the device's time is everybody else's.
            std::thread::sleep(since.elapsed().min(LONGEST_PAUSE));
            since = Instant::now();
            match self.stop.load(Ordering::SeqCst) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        let mut now = self.now();
        now.running = false;
        match done {
            Ok(report) => now.report = report,
            Err(error) => now.error = Some(error.to_string()),
        }
    }
}
