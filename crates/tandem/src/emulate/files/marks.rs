//! Marks in a disk's trace.

use std::fmt::Write as _;

use super::Answer;

/// All marks together.
const MARKS_BYTES: usize = 1 << 20;

/// Lines that were written, and the same with their times before them.
#[derive(Default)]
pub(super) struct Marks {
    written: Vec<u8>,
    lines: usize,
    /// What has been marked, a line each: time in nanoseconds, mark.
    pub(super) report: String,
}

impl Marks {
    /// A page that is written out again with a line more (as a guest's kernel does it) is that line.
    /// `clock`: which time it is in the disk's trace, in nanoseconds.
    pub(super) fn write(&mut self, offset: u64, data: &[u8], clock: impl Fn() -> u64) -> Answer {
        let at = usize::try_from(offset).map_err(|_| libc::EFBIG)?;
        let end = at.checked_add(data.len()).filter(|&end| end <= MARKS_BYTES);
        let end = end.ok_or(libc::EFBIG)?;
        if self.written.len() < end {
            self.written.resize(end, 0);
        }
        self.written[at..end].copy_from_slice(data);
        let now = clock();
        while let Some(len) = self.written[self.lines..].iter().position(|&byte| byte == b'\n') {
            let line = &self.written[self.lines..self.lines + len];
            let _ = writeln!(self.report, "{now} {}", String::from_utf8_lossy(line));
            self.lines += len + 1;
        }
        Ok(())
    }
}
