//! Requests of a User-Mode Linux guest, put together again.
//!
//! The guest's driver makes a call for each page of a request, one after the other
//! (`drivers/um/ubd_kern.c`, `do_io`), so that a disk sees pieces of 4 KiB, each with a request's overhead.
//! The guest's own file systems asked for more at once, and on a drive would have got it.

use std::iter::Peekable;

use tandem_disk::request::{Nanos, Operation, SECTOR};
use tandem_disk::trace::{Record, TraceError};

/// The longest request of the guest's driver, in bytes: the block layer's `BLK_SAFE_MAX_SECTORS`.
const LONGEST: u64 = 255 * SECTOR;

/// How soon after a piece's end the next one comes, in nanoseconds: 10 to 30 µs in the middle, while who waits for
/// a whole request comes back after 300 µs and more.
const SOON: Nanos = 100_000;

/// Records of whole requests, from those of pieces.
pub(super) struct Pieces<I: Iterator>(Peekable<I>);

impl<I: Iterator<Item = Result<Record, TraceError>>> Pieces<I> {
    /// From a guest's trace.
    pub fn new(records: I) -> Pieces<I> {
        Pieces(records.peekable())
    }
}

impl<I: Iterator<Item = Result<Record, TraceError>>> Iterator for Pieces<I> {
    type Item = Result<Record, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut whole = match self.0.next()? {
            Ok(record) => record,
            error => return Some(error),
        };
        while let Some(Ok(piece)) =
            self.0.next_if(|next| matches!(next, Ok(next) if belongs(&whole, next)))
        {
            whole.length += piece.length;
            whole.service = piece.finish().map(|finish| finish.saturating_sub(whole.time));
        }
        Some(Ok(whole))
    }
}

fn belongs(whole: &Record, next: &Record) -> bool {
    let soon = |finish: Nanos| (finish..finish.saturating_add(SOON)).contains(&next.time);
    matches!(whole.operation, Operation::Read | Operation::Write)
        && (next.operation, next.device) == (whole.operation, whole.device)
        && whole.offset.checked_add(whole.length) == Some(next.offset)
        && whole.length.saturating_add(next.length) <= LONGEST
        && whole.finish().is_some_and(soon)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(time: Nanos, operation: Operation, page: u64) -> Record {
        let (offset, length) = (page * 4096, 4096);
        Record { time, operation, offset, length, service: Some(50_000), hit: None, device: 0 }
    }

    fn lengths(records: &[Record]) -> Vec<u64> {
        let whole = Pieces::new(records.iter().map(|record| Ok(*record)));
        whole.map(|record| record.unwrap().length / 4096).collect()
    }

    #[test]
    fn what_follows_at_once_is_one_request() {
        let read = |time, page| piece(time, Operation::Read, page);
        let near = [read(0, 7), read(70_000, 8), read(140_000, 9)];
        assert_eq!(lengths(&near), [3]);
        let whole = Pieces::new(near.iter().map(|record| Ok(*record))).next().unwrap().unwrap();
        assert_eq!((whole.time, whole.finish()), (0, Some(190_000)));
        assert_eq!(lengths(&[read(0, 7), read(400_000, 8)]), [1, 1]);
        assert_eq!(lengths(&[read(0, 7), read(70_000, 9)]), [1, 1]);
        assert_eq!(lengths(&[read(0, 7), piece(70_000, Operation::Write, 8)]), [1, 1]);
        // Both under way at once: no pieces of one request.
        assert_eq!(lengths(&[read(0, 7), read(20_000, 8)]), [1, 1]);
    }

    #[test]
    fn no_longer_than_the_driver_has_them() {
        let many: Vec<Record> =
            (0..40).map(|at| piece(at * 70_000, Operation::Write, at)).collect();
        assert_eq!(lengths(&many), [31, 9]);
    }
}
