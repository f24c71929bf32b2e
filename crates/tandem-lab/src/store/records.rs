//! `records.jsonl`.

use std::fs;
use std::path::Path;

use super::{StoreError, io_error};
use crate::record::{Record, SCHEMA};

/// The records, and the bytes up to the end of the last whole one.
pub(super) fn read(path: &Path) -> Result<(Vec<Record>, u64), StoreError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        bytes => bytes.map_err(io_error("read", path))?,
    };
    let mut records = Vec::new();
    let mut valid = 0;
    for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let last = valid + line.len() == bytes.len();
        match parse(line) {
            Ok(record) if line.ends_with(b"\n") => records.push(record),
            // A whole record without its end is torn all the same: the next would join it.
            Ok(_) => break,
            Err(Wrong::Record(_)) if last => break,
            Err(Wrong::Record(why) | Wrong::Schema(why)) => {
                return Err(StoreError::Corrupt { file: path.to_owned(), line: at + 1, why });
            }
        }
        valid += line.len();
    }
    Ok((records, valid as u64))
}

enum Wrong {
    Record(String),
    Schema(String),
}

fn parse(line: &[u8]) -> Result<Record, Wrong> {
    let value: serde_json::Value =
        serde_json::from_slice(line).map_err(|e| Wrong::Record(format!("no record: {e}")))?;
    match value.get("schema") {
        Some(schema) if *schema == SCHEMA => {}
        Some(schema) => {
            let why = format!("a record of shape {schema}; this lab reads {SCHEMA}");
            return Err(Wrong::Schema(why));
        }
        None => return Err(Wrong::Record("no record: it has no `schema`".to_owned())),
    }
    serde_json::from_value(value).map_err(|e| Wrong::Record(format!("no record: {e}")))
}

/// Of each run the last record, in the order in which runs were tried first.
pub(super) fn last_words(records: Vec<Record>) -> Vec<Record> {
    let mut places = std::collections::HashMap::new();
    let mut last: Vec<Record> = Vec::new();
    for record in records {
        match places.get(&record.id) {
            Some(&at) => last[at] = record,
            None => {
                places.insert(record.id.clone(), last.len());
                last.push(record);
            }
        }
    }
    last
}
