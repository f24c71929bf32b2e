//! A study's file: where in it something stands, and what is wrong with it.

use std::fmt;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::{Study, check, shipped};

/// A study and its file, as it was run.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The study.
    pub study: Study,
    /// The file's text.
    pub text: String,
}

/// Something wrong with a study's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The key, as `scale.quick.size`.
    pub key: String,
    /// What is wrong, and what would be right.
    pub text: String,
}

/// A study that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// No shipped study has that name.
    #[error("no study is called {name:?}; there are {}; a file of your own is given as a path, \
             as ./{name}.toml", .known.join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// The file cannot be read.
    #[error("{file}: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// The file is no study.
    #[error("{}", Lines(.file, .problems))]
    Wrong {
        /// The file.
        file: String,
        /// What is wrong, in the file's order.
        problems: Vec<Problem>,
    },
}

struct Lines<'a>(&'a str, &'a [Problem]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.1.iter().enumerate() {
            let end = if at == 0 { "" } else { "\n" };
            let colon = if problem.key.is_empty() { "" } else { ": " };
            let Problem { line, key, text } = problem;
            write!(f, "{end}{}:{line}: {key}{colon}{text}", self.0)?;
        }
        Ok(())
    }
}

impl Given {
    /// The shipped study of that name, or the file when it is a path (has a `/` or ends in `.toml`).
    pub fn find(name: &str) -> Result<Given, StudyError> {
        if name.contains('/') || name.ends_with(".toml") {
            let text = std::fs::read_to_string(Path::new(name));
            let text =
                text.map_err(|error| StudyError::Unreadable { file: name.to_owned(), error })?;
            return Given::parse(name, &text);
        }
        let found = shipped().iter().find(|(known, _)| *known == name);
        let Some((_, text)) = found else {
            let known = shipped().iter().map(|(known, _)| *known).collect();
            return Err(StudyError::Unknown { name: name.to_owned(), known });
        };
        Given::parse(&format!("{name}.toml"), text)
    }

    /// Reads and checks the text of `file`.
    pub fn parse(file: &str, text: &str) -> Result<Given, StudyError> {
        let wrong = |problems| StudyError::Wrong { file: file.to_owned(), problems };
        let source = Source::new(text).map_err(|problem| wrong(vec![problem]))?;
        let study: Study = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let key = source.key_at(offset);
            let text = error.message().to_owned();
            wrong(vec![Problem { line: source.line_of(offset), key, text }])
        })?;
        let mut problems = check::check(&study, &source);
        problems.sort_by_key(|problem| problem.line);
        if problems.is_empty() {
            return Ok(Given { study, text: text.to_owned() });
        }
        Err(wrong(problems))
    }
}

/// The text of a study with the places of its keys.
pub(super) struct Source<'a> {
    text: &'a str,
    root: DeTable<'a>,
}

impl<'a> Source<'a> {
    fn new(text: &'a str) -> Result<Source<'a>, Problem> {
        match DeTable::parse(text) {
            Ok(root) => Ok(Source { text, root: root.into_inner() }),
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                let line = line(text, offset);
                Err(Problem { line, key: String::new(), text: error.message().to_owned() })
            }
        }
    }

    fn line_of(&self, offset: usize) -> usize {
        line(self.text, offset)
    }

    /// The line of `factors.disk` or `exclude.2.reason`, or of as much of it as there is.
    pub(super) fn line(&self, key: &[&str]) -> usize {
        let mut table = Some(&self.root);
        let mut list = None;
        let mut offset = 0;
        for step in key {
            let value = if let Some(found) = table.and_then(|t| t.get_key_value(*step)) {
                offset = found.0.span().start;
                found.1
            } else if let Some(item) = nth(list, step) {
                offset = item.span().start;
                item
            } else {
                break;
            };
            table = value.get_ref().as_table();
            list = value.get_ref().as_array();
        }
        self.line_of(offset)
    }

    /// The last key that begins at or before `offset`. (Spans of tables end with their headers.)
    fn key_at(&self, offset: usize) -> String {
        let mut last = (0, String::new());
        before(&self.root, "", offset, &mut last);
        last.1
    }
}

fn before(table: &DeTable<'_>, at: &str, offset: usize, last: &mut (usize, String)) {
    for (name, value) in table {
        let dot = if at.is_empty() { "" } else { "." };
        let key = format!("{at}{dot}{}", name.get_ref());
        let start = name.span().start;
        if start <= offset && start >= last.0 {
            *last = (start, key.clone());
        }
        if let Some(inside) = value.get_ref().as_table() {
            before(inside, &key, offset, last);
        }
        for (nth, item) in value.get_ref().as_array().into_iter().flatten().enumerate() {
            if let Some(inside) = item.get_ref().as_table() {
                before(inside, &format!("{key}.{}", nth + 1), offset, last);
            }
        }
    }
}

fn nth<'t, 'a>(
    list: Option<&'t toml::de::DeArray<'a>>,
    step: &str,
) -> Option<&'t toml::Spanned<DeValue<'a>>> {
    list?.get(step.parse::<usize>().ok()?.checked_sub(1)?)
}

fn line(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
