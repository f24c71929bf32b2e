//! How figures are printed.

use std::fmt;
use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use crate::units::{bytes, grouped};

/// Standard output takes nothing more.
#[derive(Debug)]
struct Unprinted(io::Error);

impl fmt::Display for Unprinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "standard output: {}", self.0)
    }
}

impl std::error::Error for Unprinted {}

/// Whether an error only says that the reader of standard output has gone.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Unprinted>().is_some_and(|e| e.0.kind() == io::ErrorKind::BrokenPipe)
}

/// An error with its causes; many name theirs already.
pub fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.contains(&cause) {
            continue;
        }
        if !text.is_empty() {
            text += ": ";
        }
        text += &cause;
    }
    text
}

/// Says something on standard error, if that takes it.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "tandem: {text}");
}

/// Says how something goes on, on standard error, if that takes it.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Prints lines on standard output; unlike `println!`, an error comes back.
pub fn print(text: &str) -> Result<()> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let mut out = io::stdout().lock();
    write!(out, "{text}{end}").and_then(|()| out.flush()).map_err(|e| Unprinted(e).into())
}

/// Prints a value as JSON, indented.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

/// Lines of names and values, the values in one column.
#[derive(Default)]
pub struct Listing {
    rows: Vec<(usize, String, Option<String>)>,
}

impl Listing {
    /// A heading.
    pub fn heading(&mut self, name: impl Into<String>) -> &mut Listing {
        self.rows.push((0, name.into(), None));
        self
    }

    /// A line beneath the last heading.
    pub fn row(&mut self, name: impl Into<String>, value: impl Into<String>) -> &mut Listing {
        self.rows.push((1, name.into(), Some(value.into())));
        self
    }

    /// All of a JSON value: objects within it become headings, indented by their depth.
    pub fn value(&mut self, name: &str, value: &Value) -> &mut Listing {
        self.nested(name, value, 0);
        self
    }

    fn nested(&mut self, name: &str, value: &Value, depth: usize) {
        match value {
            Value::Object(fields) => {
                self.rows.push((depth, label(name), None));
                for (name, value) in fields {
                    self.nested(name, value, depth + 1);
                }
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                for (at, item) in items.iter().enumerate() {
                    self.nested(&format!("{name} {at}"), item, depth);
                }
            }
            value => self.rows.push((depth, label(name), Some(figure(name, value)))),
        }
    }

    /// The lines.
    pub fn render(&self) -> String {
        let indent = |depth: &usize| depth * 2;
        let width = self
            .rows
            .iter()
            .filter(|(_, _, value)| value.is_some())
            .map(|(depth, name, _)| indent(depth) + name.chars().count())
            .max()
            .unwrap_or(0);
        let mut out = String::new();
        for (depth, name, value) in &self.rows {
            let pad = indent(depth);
            match value {
                Some(value) => {
                    let gap = (width + 2).saturating_sub(pad + name.chars().count());
                    let line = format!("{:pad$}{name}{:gap$}{value}", "", "");
                    out.push_str(line.trim_end());
                    out.push('\n');
                }
                None => out.push_str(&format!("{:pad$}{name}\n", "")),
            }
        }
        out
    }
}

fn label(name: &str) -> String {
    name.replace('_', " ")
}

/// A value as people read it; what its name says counts bytes is given in a unit as well.
pub fn figure(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "-".to_string(),
        Value::Bool(true) => "yes".to_string(),
        Value::Bool(false) => "no".to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            items.iter().map(|item| figure(name, item)).collect::<Vec<_>>().join(", ")
        }
        Value::Number(number) => match number.as_u64() {
            Some(count) if counts_bytes(name) && count >= 1024 => {
                format!("{} ({})", grouped(count), bytes(count))
            }
            Some(count) => grouped(count),
            None => number.as_f64().map_or_else(|| number.to_string(), |real| format!("{real:.3}")),
        },
        Value::Object(_) => value.to_string(),
    }
}

fn counts_bytes(name: &str) -> bool {
    ["bytes", "size", "cache", "memory", "resident"].iter().any(|word| name.ends_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_values_are_indented_and_aligned() {
        let value = serde_json::json!({
            "reads": 1234, "read_bytes": 4096, "door": { "transport": "uring", "cpus": [0, 1] },
        });
        let mut listing = Listing::default();
        listing.value("volume", &value);
        let expected = "volume\n  \
                          door\n    \
                            cpus       0, 1\n    \
                            transport  uring\n  \
                          read bytes   4,096 (4.0 KiB)\n  \
                          reads        1,234\n";
        assert_eq!(listing.render(), expected);
    }
}
