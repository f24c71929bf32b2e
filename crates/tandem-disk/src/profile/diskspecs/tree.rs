//! The syntax of DiskSim's parameter files: blocks of `key = value`, lists, blocks within, and
//! other files by `source`.

mod parse;

use std::path::{Path, PathBuf};
use std::rc::Rc;

pub(super) use parse::{read, read_text};

/// What is wrong with a parameter file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}{}: {why}", at_line(*.line), of_key(.key))]
pub struct SpecError {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 when it is the file as a whole.
    pub line: usize,
    /// The key, or nothing.
    pub key: String,
    /// What is wrong.
    pub why: String,
}

fn at_line(line: usize) -> String {
    if line == 0 { String::new() } else { format!(", line {line}") }
}

fn of_key(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!(", `{key}`") }
}

impl SpecError {
    pub(super) fn file(path: &Path, why: impl Into<String>) -> SpecError {
        SpecError::line(path, 0, "", why)
    }

    pub(super) fn line(path: &Path, line: usize, key: &str, why: impl Into<String>) -> SpecError {
        let (file, key) = (path.display().to_string(), key.to_string());
        SpecError { file, line, key, why: why.into() }
    }
}

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Word(String),
    List(Vec<Value>),
    Block(Block),
}

/// A block: its type, its name if it has one, and its entries.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub kind: String,
    pub name: String,
    file: Rc<PathBuf>,
    line: usize,
    entries: Vec<(String, usize, Value)>,
}

impl Block {
    fn find(&self, key: &str) -> Option<&(String, usize, Value)> {
        self.entries.iter().find(|(name, _, _)| name.eq_ignore_ascii_case(key))
    }

    fn need(&self, key: &str) -> Result<&Value, SpecError> {
        let found = self.find(key).map(|(_, _, value)| value);
        found.ok_or_else(|| self.error(key, format!("is missing from {} {}", self.kind, self.name)))
    }

    /// An error about a key, at the line where that is.
    pub fn error(&self, key: &str, why: impl Into<String>) -> SpecError {
        let line = self.find(key).map_or(self.line, |(_, line, _)| *line);
        SpecError::line(&self.file, line, key, why)
    }

    /// A file beside the one that the block is in.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).join(name)
    }

    pub fn block(&self, key: &str) -> Result<&Block, SpecError> {
        match self.need(key)? {
            Value::Block(block) => Ok(block),
            _ => Err(self.error(key, "is not a block")),
        }
    }

    pub fn list(&self, key: &str) -> Result<&[Value], SpecError> {
        match self.need(key)? {
            Value::List(list) => Ok(list),
            _ => Err(self.error(key, "is not a list")),
        }
    }

    pub fn word(&self, key: &str) -> Result<&str, SpecError> {
        match self.need(key)? {
            Value::Word(word) => Ok(word),
            _ => Err(self.error(key, "is not a word")),
        }
    }

    pub fn word_or<'a>(&'a self, key: &str, default: &'a str) -> Result<&'a str, SpecError> {
        if self.find(key).is_some() { self.word(key) } else { Ok(default) }
    }

    pub fn number(&self, key: &str) -> Result<f64, SpecError> {
        let word = self.word(key)?;
        number(word).ok_or_else(|| self.error(key, format!("`{word}` is not a number")))
    }

    pub fn number_or(&self, key: &str, default: f64) -> Result<f64, SpecError> {
        if self.find(key).is_some() { self.number(key) } else { Ok(default) }
    }

    pub fn integer(&self, key: &str, min: u64, max: u64) -> Result<u64, SpecError> {
        Ok(self.whole(key, min as f64, max as f64)? as u64)
    }

    fn whole(&self, key: &str, min: f64, max: f64) -> Result<f64, SpecError> {
        let value = self.number(key)?;
        if value.fract() != 0.0 || value < min || value > max {
            return Err(self.error(key, format!("{value} is not a whole number {min} to {max}")));
        }
        Ok(value)
    }

    pub fn integer_or(&self, key: &str, min: u64, max: u64, or: u64) -> Result<u64, SpecError> {
        if self.find(key).is_some() { self.integer(key, min, max) } else { Ok(or) }
    }

    pub fn signed_or(&self, key: &str, min: i32, max: i32, or: i32) -> Result<i32, SpecError> {
        if self.find(key).is_none() {
            return Ok(or);
        }
        Ok(self.whole(key, min.into(), max.into())? as i32)
    }

    /// 0 or 1; 0 when it is not there.
    pub fn flag(&self, key: &str) -> Result<bool, SpecError> {
        Ok(self.integer_or(key, 0, 1, 0)? == 1)
    }

    pub fn numbers(&self, key: &str) -> Result<Vec<f64>, SpecError> {
        let wrong = || self.error(key, "is not a list of numbers");
        let of = |value: &Value| match value {
            Value::Word(word) => number(word).ok_or_else(wrong),
            _ => Err(wrong()),
        };
        self.list(key)?.iter().map(of).collect()
    }

    /// A list of whole numbers; empty when it is not there.
    pub fn integers(&self, key: &str) -> Result<Vec<u64>, SpecError> {
        if self.find(key).is_none() {
            return Ok(Vec::new());
        }
        let whole = |value: f64| {
            let fits = value.fract() == 0.0 && (0.0..=9e15).contains(&value);
            let wrong = || self.error(key, format!("{value} is not a number of a sector"));
            fits.then_some(value as u64).ok_or_else(wrong)
        };
        self.numbers(key)?.into_iter().map(whole).collect()
    }
}

pub(super) fn number(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|value| value.is_finite())
}
