//! The text form of rules.

use std::str::FromStr;
use std::time::Duration;

use super::{Fault, Request, Rule};

/// What is wrong with a rule's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No colon between request and fault.
    #[error("{0:?}: a rule is REQUEST:FAULT[,KEY=VALUE ...], as in read:error,at=1m+64k")]
    Form(String),
    /// Not a kind of request.
    #[error("{0:?} is no request: read, write, flush, discard or any")]
    Request(String),
    /// Not a fault.
    #[error("{0:?} is no fault: error, short, lost, misdirect, flip, stale, delay or gone")]
    Fault(String),
    /// Not a key, or not one of this fault.
    #[error("{key:?} says nothing about {fault:?}")]
    Key {
        /// As written.
        key: String,
        /// The fault it was written for.
        fault: String,
    },
    /// Not a number, or one that is too large.
    #[error("{0:?} is no number; numbers are decimal, with k, m or g behind them")]
    Number(String),
    /// Not an errno that can be asked for.
    #[error("{0:?} is no error: EIO, ENOSPC, ENXIO, EROFS or ETIMEDOUT")]
    Errno(String),
    /// The request cannot fail in this way.
    #[error("{request} cannot be {fault}")]
    Never {
        /// The request.
        request: String,
        /// The fault.
        fault: String,
    },
}

impl Rule {
    /// Parses rules separated by semicolons, as the module describes them; empty ones count for
    /// nothing.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse_all(text: &str) -> Result<Vec<Rule>, ParseError> {
        text.split(';').map(str::trim).filter(|rule| !rule.is_empty()).map(str::parse).collect()
    }
}

impl FromStr for Rule {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Rule, ParseError> {
        let mut parts = text.split(',').map(str::trim);
        let head = parts.next().unwrap_or_default();
        let Some((request, fault)) = head.split_once(':') else {
            return Err(ParseError::Form(text.into()));
        };
        let (request_name, name) = (request.trim(), fault.trim());
        let request = match request_name {
            "read" => Some(Request::Read),
            "write" => Some(Request::Write),
            "flush" => Some(Request::Flush),
            "discard" => Some(Request::Discard),
            "any" => None,
            other => return Err(ParseError::Request(other.into())),
        };
        let fault = match name {
            "error" => Fault::Error(EIO),
            "short" => Fault::Short(None),
            "lost" => Fault::Lost,
            "misdirect" => Fault::Misdirect(4096),
            "flip" => Fault::Flip(1),
            "stale" => Fault::Stale,
            "delay" => Fault::Delay(Duration::from_millis(1)),
            "gone" => Fault::Gone,
            other => return Err(ParseError::Fault(other.into())),
        };
        let mut rule = Rule { request, fault, at: None, after: 0, times: None, one_in: 1 };
        if request.is_some_and(|request| !rule.fits(request, 0, 1)) {
            return Err(ParseError::Never { request: request_name.into(), fault: name.into() });
        }
        for part in parts {
            let Some((key, value)) = part.split_once('=') else {
                return Err(ParseError::Form(text.into()));
            };
            rule.set(name, key.trim(), value.trim())?;
        }
        Ok(rule)
    }
}

impl Rule {
    fn set(&mut self, name: &str, key: &str, value: &str) -> Result<(), ParseError> {
        match (key, &mut self.fault) {
            ("at", _) => {
                let (from, len) = value.split_once('+').unwrap_or((value, "1"));
                let (from, len) = (number(from)?, number(len)?);
                let end = from.checked_add(len).ok_or_else(|| ParseError::Number(value.into()))?;
                self.at = Some(from..end);
            }
            ("after", _) => self.after = number(value)?,
            ("times", _) => self.times = Some(number(value)?),
            ("one-in", _) => self.one_in = number(value)?,
            ("nth", _) => {
                let n = number(value)?;
                self.after = n.checked_sub(1).ok_or_else(|| ParseError::Number(value.into()))?;
                self.times = Some(1);
            }
            ("errno", Fault::Error(code)) => *code = errno(value)?,
            ("bytes", Fault::Short(bytes)) => *bytes = Some(number(value)?),
            ("by", Fault::Misdirect(by)) => *by = number(value)?,
            ("bits", Fault::Flip(bits)) => {
                let many = number(value)?;
                *bits = u32::try_from(many).map_err(|_| ParseError::Number(value.into()))?;
            }
            ("us", Fault::Delay(by)) => *by = Duration::from_micros(number(value)?),
            _ => return Err(ParseError::Key { key: key.into(), fault: name.into() }),
        }
        Ok(())
    }
}

pub(super) const EIO: i32 = 5;
pub(super) const ENXIO: i32 = 6;

/// Linux has the same numbers on every architecture for these.
fn errno(name: &str) -> Result<i32, ParseError> {
    match name {
        "EIO" => Ok(EIO),
        "ENXIO" => Ok(ENXIO),
        "ENOSPC" => Ok(28),
        "EROFS" => Ok(30),
        "ETIMEDOUT" => Ok(110),
        other => Err(ParseError::Errno(other.into())),
    }
}

fn number(text: &str) -> Result<u64, ParseError> {
    let bad = || ParseError::Number(text.into());
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    digits.trim().parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(bad)
}
