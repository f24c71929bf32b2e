//! Keeping CPUs out of deep idle states while the door is busy. A request is a short wait of one
//! thread for another, mostly on an idle CPU: where leaving the idle state takes tens of
//! microseconds, as in virtual machines, that is most of a request's time.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::stats::Board;
use crate::transport::cpu;

/// How often the door looks how busy it is.
const INTERVAL: Duration = Duration::from_millis(50);

/// Requests in an interval that make it busy.
const BUSY: u64 = 50;

/// Quiet intervals after which the CPUs may sleep again.
const PATIENCE: u32 = 10;

/// Holds the CPUs awake, always or while there is much to do, until it is dropped.
pub(crate) enum Awake {
    /// For as long as the file is open.
    Always { _file: File },
    /// As a thread of its own decides.
    WhileBusy { stop: Arc<AtomicBool> },
    /// Not at all.
    Never,
}

impl Awake {
    /// As `lowlatency` has it: on, off, or (`None`) while busy, where this process may.
    pub fn new(lowlatency: Option<bool>, board: &Arc<Board>) -> Awake {
        match lowlatency {
            Some(false) => Awake::Never,
            Some(true) => match cpu::hold_awake() {
                Ok(file) => Awake::Always { _file: file },
                Err(e) => {
                    tracing::warn!("lowlatency: /dev/cpu_dma_latency: {e}");
                    Awake::Never
                }
            },
            None if cpu::hold_awake().is_err() => Awake::Never,
            None => {
                let stop = Arc::new(AtomicBool::new(false));
                let (stopped, board) = (Arc::clone(&stop), Arc::clone(board));
                let watch = move || watch(&board, &stopped);
                // Without the thread requests are slower, not wrong.
                match std::thread::Builder::new().name("tandem-awake".into()).spawn(watch) {
                    Ok(_) => Awake::WhileBusy { stop },
                    Err(_) => Awake::Never,
                }
            }
        }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        if let Awake::WhileBusy { stop } = self {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

fn watch(board: &Board, stop: &AtomicBool) {
    let mut held: Option<File> = None;
    let mut quiet = 0;
    let mut before = board.requests();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(INTERVAL);
        let now = board.requests();
        if now.wrapping_sub(before) >= BUSY {
            quiet = 0;
            if held.is_none() {
                held = cpu::hold_awake().ok();
            }
        } else {
            quiet += 1;
            if quiet > PATIENCE {
                held = None;
            }
        }
        before = now;
    }
}
