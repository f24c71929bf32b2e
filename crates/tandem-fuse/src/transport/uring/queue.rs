//! The thread of a CPU's queue.
#![allow(unsafe_code, reason = "submission entries carry addresses")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use io_uring::squeue::Entry128;
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use zerocopy::IntoBytes;

use super::entries::Entries;
use super::{Share, place};
use crate::abi::{URING_CMD_COMMIT_AND_FETCH, URING_CMD_REGISTER, UringCmdReq};
use crate::stats::Counters;
use crate::transport::classic::End;
use crate::transport::{Link, cpu, prepare_thread};

type Ring = IoUring<Entry128, cqueue::Entry>;

/// `user_data` of the read that waits for the bell.
const BELL: u64 = u64::MAX;
/// The FUSE device and the bell among the ring's registered files.
const DEVICE: types::Fixed = types::Fixed(0);
const RINGER: types::Fixed = types::Fixed(1);

/// Everything a queue's thread does: it reports when its ring is made, waits for `started`,
/// registers its queues, reports again, and serves.
pub(super) fn run(
    link: &Arc<Link>,
    device: &OwnedFd,
    share: &Share,
    depth: u16,
    report: &Sender<io::Result<()>>,
    started: &Receiver<()>,
) -> End {
    prepare_thread();
    let pinned = cpu::pin(share.cpu);
    let mut queue = match Queue::new(link, device, share, depth, pinned) {
        Ok(queue) => queue,
        Err(e) => {
            let _ = report.send(Err(e));
            return End::Failed;
        }
    };
    let _ = report.send(Ok(()));
    if started.recv().is_err() {
        return End::Unmounted;
    }
    let registered = queue.register();
    let failed = registered.is_err();
    let _ = report.send(registered);
    if failed {
        return End::Failed;
    }
    match queue.serve() {
        Ok(()) => End::Unmounted,
        Err(e) => {
            tracing::error!("io_uring on CPU {}: {e}", share.cpu);
            End::Failed
        }
    }
}

struct Queue {
    // First, so that it is dropped before the memory that the kernel writes through it.
    ring: Ring,
    entries: Arc<Entries>,
    /// Where the bell's count is read to.
    count: Box<u64>,
    link: Arc<Link>,
    counters: Arc<Counters>,
    /// Entries that the kernel or a helper has; the others are lost for this connection.
    live: usize,
    /// Completions taken from the ring and not yet looked at: token and result.
    done: Vec<(u64, i32)>,
}

impl Queue {
    fn new(
        link: &Arc<Link>,
        device: &OwnedFd,
        share: &Share,
        depth: u16,
        pinned: bool,
    ) -> io::Result<Queue> {
        let entries = Entries::new(&share.queues, depth, link.payload)?;
        let slots = (entries.len() as u32 + 1).next_power_of_two();
        let ring: Ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(slots * 2)
            .build(slots)?;
        ring.submitter().register_files(&[device.as_raw_fd(), entries.bell().as_raw_fd()])?;
        let live = entries.len();
        let counters = link.board.enlist(place(share, pinned));
        Ok(Queue {
            ring,
            count: Box::new(0),
            link: Arc::clone(link),
            counters,
            live,
            done: Vec::with_capacity(entries.len() + 1),
            entries,
        })
    }

    /// Hands all entries to the kernel.
    fn register(&mut self) -> io::Result<()> {
        for i in 0..self.entries.len() {
            let iovec = self.entries.iovec(i);
            self.push(&command(URING_CMD_REGISTER, self.entries.queue(i), 0, iovec, i as u64))?;
        }
        self.await_bell()?;
        self.ring.submit()?;
        self.reap();
        // A command that the kernel does not take is complete at once.
        let refused = self.done.iter().find(|(_, result)| *result < 0);
        refused.map_or(Ok(()), |(_, result)| Err(io::Error::from_raw_os_error(-result)))
    }

    fn reap(&mut self) {
        let Queue { ring, done, .. } = self;
        done.extend(ring.completion().map(|cqe| (cqe.user_data(), cqe.result())));
    }

    /// Serves until the kernel has given up every entry.
    fn serve(&mut self) -> io::Result<()> {
        loop {
            for i in 0..self.done.len() {
                match self.done[i] {
                    (BELL, _) => self.rung()?,
                    (token, result) => self.completed(token as usize, result)?,
                }
            }
            self.done.clear();
            if self.live == 0 {
                return Ok(());
            }
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(e) if e.raw_os_error() == Some(libc::EINTR) => {}
                Err(e) => return Err(e),
            }
            self.reap();
        }
    }

    /// Commits what helpers have answered.
    fn rung(&mut self) -> io::Result<()> {
        for i in self.entries.take_finished() {
            self.commit(i)?;
        }
        self.await_bell()
    }

    fn completed(&mut self, i: usize, result: i32) -> io::Result<()> {
        match -result {
            0 => {
                // SAFETY: the entry's command is complete, and `commit` or a helper's `finish`
                // is what comes next.
                let mut turn = unsafe { self.entries.turn(i) };
                if turn.blocking(&self.link) {
                    self.counters.handed_over();
                    let (link, counters) = (Arc::clone(&self.link), Arc::clone(&self.counters));
                    self.link.helpers.run(Box::new(move || {
                        turn.serve(&link, &counters);
                        turn.finish();
                    }));
                    Ok(())
                } else {
                    turn.serve(&self.link, &self.counters);
                    drop(turn);
                    self.commit(i)
                }
            }
            errno => {
                if errno != libc::ENOTCONN && errno != libc::ECONNABORTED {
                    let e = io::Error::from_raw_os_error(errno);
                    tracing::warn!("an io_uring entry is lost: {e}");
                }
                self.live -= 1;
                Ok(())
            }
        }
    }

    /// Answers entry `i`'s request and waits for the next.
    fn commit(&mut self, i: usize) -> io::Result<()> {
        // SAFETY: answered, not yet submitted, and dropped before it is.
        let id = unsafe { self.entries.turn(i) }.commit_id();
        let queue = self.entries.queue(i);
        self.push(&command(URING_CMD_COMMIT_AND_FETCH, queue, id, 0, i as u64))
    }

    fn await_bell(&mut self) -> io::Result<()> {
        let to = (&raw mut *self.count).cast();
        let read: squeue::Entry =
            opcode::Read::new(RINGER, to, size_of::<u64>() as u32).build().user_data(BELL);
        self.push(&read.into())
    }

    fn push(&mut self, entry: &Entry128) -> io::Result<()> {
        // SAFETY: what the entry points to (iovecs, buffers, the bell's count) lives in `self`
        // or is shared with it, and the ring is dropped first.
        unsafe { self.ring.submission().push(entry) }
            .map_err(|_| io::Error::other("the submission queue is full"))
    }
}

/// A FUSE command.
fn command(op: u32, qid: u16, commit_id: u64, iovec: u64, token: u64) -> Entry128 {
    /// Where a submission entry has its length field, in bytes.
    const LEN: usize = 24;
    let request = UringCmdReq { commit_id, qid, ..Default::default() };
    let mut data = [0; 80];
    data[..size_of::<UringCmdReq>()].copy_from_slice(request.as_bytes());
    let addr = (iovec != 0).then_some(iovec);
    let entry = opcode::UringCmd80::new(DEVICE, op).cmd(data).addr(addr).build().user_data(token);
    if iovec == 0 {
        return entry;
    }
    // SAFETY: an `Entry128` is the kernel's 128-byte submission entry and nothing else; the
    // library has no setter for the length, which must be that of the vector.
    unsafe {
        let mut bytes = std::mem::transmute::<Entry128, [u8; 128]>(entry);
        bytes[LEN..LEN + 4].copy_from_slice(&2u32.to_ne_bytes());
        std::mem::transmute::<[u8; 128], Entry128>(bytes)
    }
}
