//! Levels and sizes as text.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::record::Levels;

/// A level as records have it; a table or a list is none.
pub fn level(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// Levels in a file may be numbers: `processes = 4`.
pub(super) fn levels<'de, D: Deserializer<'de>>(from: D) -> Result<Levels, D::Error> {
    let given = BTreeMap::<String, toml::Value>::deserialize(from)?;
    let text = |(factor, value): (String, toml::Value)| match level(&value) {
        Some(level) => Ok((factor, level)),
        None => Err(serde::de::Error::custom(format!("{factor}: a level is a text or a number"))),
    };
    given.into_iter().map(text).collect()
}

/// A size in bytes, with K, M, G or T for powers of 1,024.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no size; write bytes, or 512M, 2G, 1T");
    let shift = match text.trim().chars().last() {
        Some('K' | 'k') => 10,
        Some('M' | 'm') => 20,
        Some('G' | 'g') => 30,
        Some('T' | 't') => 40,
        _ => 0,
    };
    let digits = if shift == 0 { text.trim() } else { &text.trim()[..text.trim().len() - 1] };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        assert_eq!(parse_size(" 512m"), Ok(512 << 20));
        for wrong in ["", "G", "1.5G", "-1", "2 GB", "99999999T", "1ä"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_levels() {
        assert_eq!(level(&toml::Value::Integer(4)), Some("4".into()));
        assert_eq!(level(&toml::Value::Array(vec![])), None);
    }
}
