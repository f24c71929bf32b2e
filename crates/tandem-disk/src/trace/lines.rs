//! Lines of text, with their numbers and a bound on their length.

use std::io::{BufRead, Write};

use super::{At, Origin, TraceError};

/// A line longer than this is no line of a trace.
const MAX_LINE: usize = 64 << 10;

/// Where text comes from.
pub type Input = Box<dyn BufRead>;
/// Where bytes go.
pub type Output = Box<dyn Write + Send>;

/// The lines of a text.
pub struct Lines {
    input: Input,
    origin: Origin,
    number: u64,
    buffer: Vec<u8>,
}

impl Lines {
    /// Of an input.
    pub fn new(input: Input, origin: Origin) -> Lines {
        Lines { input, origin, number: 0, buffer: Vec::new() }
    }

    /// The next line, without its end; `None` behind the last.
    ///
    /// # Errors
    /// Failures to read, a line that has no end for long, what is no text.
    pub fn next_line(&mut self) -> Result<Option<&str>, TraceError> {
        self.buffer.clear();
        self.number += 1;
        let at = At::Line(self.number);
        loop {
            let available = self.input.fill_buf().map_err(|e| self.origin.io(at, e))?;
            if available.is_empty() {
                break;
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let used = end.map_or(available.len(), |end| end + 1);
            self.buffer.extend_from_slice(&available[..used]);
            self.input.consume(used);
            if end.is_some() {
                break;
            }
            if self.buffer.len() > MAX_LINE {
                return Err(self.origin.error(at, "longer than any line of a trace"));
            }
        }
        if self.buffer.is_empty() {
            return Ok(None);
        }
        let text = std::str::from_utf8(&self.buffer);
        text.map(|text| Some(text.trim_end())).map_err(|_| self.origin.error(at, "is not text"))
    }

    /// The number of the line given last.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// An error about that line.
    pub fn error(&self, why: impl Into<String>) -> TraceError {
        self.origin.error(At::Line(self.number), why)
    }
}

/// A decimal number of some unit, exactly, in thousandths or less of it: `12.5` with 3 digits is
/// 12,500.
pub fn fixed(text: &str, digits: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let plain = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if !plain(whole) || !plain(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let kept: String = fraction.chars().chain(std::iter::repeat('0')).take(digits).collect();
    let scale = 10u64.checked_pow(u32::try_from(digits).ok()?)?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u64 = if kept.is_empty() { 0 } else { kept.parse().ok()? };
    whole.checked_mul(scale)?.checked_add(part)
}

/// The next field of a line as a number.
pub(crate) fn number<'a>(
    lines: &Lines,
    fields: &mut impl Iterator<Item = &'a str>,
    what: &str,
) -> Result<u64, TraceError> {
    let field = fields.next().ok_or_else(|| lines.error(format!("{what} is missing")))?;
    field.parse().map_err(|_| lines.error(format!("{what} `{field}` is not a number")))
}
