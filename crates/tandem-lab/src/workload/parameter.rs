//! Parameters of workloads: what they are called, mean and may be.

use std::collections::BTreeMap;

use toml::Value;

use super::{WorkloadError, WorkloadSpec};

/// A parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its default, as TOML.
    pub default: String,
    /// `bytes`, `files`; empty where none fits.
    pub unit: &'static str,
    /// What it means, in a line.
    pub about: &'static str,
    /// What it may be.
    pub kind: Kind,
}

/// What a parameter may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number in this range.
    Integer(i64, i64),
    /// A number in this range.
    Number(f64, f64),
    /// Bytes in this range: a number, or text like `4K`, `16M`, `2G` (powers of 1024).
    Bytes(u64, u64),
    /// `true` or `false`.
    Flag,
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of words among these, none of them twice.
    Choices(&'static [&'static str]),
    /// A list of positive numbers.
    Numbers,
    /// A list of sizes, each as of [`Kind::Bytes`].
    Sizes(u64, u64),
    /// Commands by phase; see the workload `command`.
    Steps,
}

impl Parameter {
    pub(crate) fn new(
        name: &'static str,
        default: impl Into<String>,
        unit: &'static str,
        kind: Kind,
        about: &'static str,
    ) -> Parameter {
        Parameter { name, default: default.into(), unit, about, kind }
    }
}

/// Every parameter with its value.
#[derive(Debug, Clone)]
pub(crate) struct Arguments {
    workload: &'static str,
    values: BTreeMap<&'static str, Value>,
    /// Processes at work side by side.
    pub processes: u32,
}

impl Arguments {
    pub fn new(
        workload: &'static str,
        known: &[Parameter],
        spec: &WorkloadSpec,
    ) -> Result<Arguments, WorkloadError> {
        let wrong = |name: &str, reason: String| WorkloadError::Parameter {
            workload: workload.to_owned(),
            name: name.to_owned(),
            reason,
        };
        let unknown =
            |name: &&String| !known.iter().any(|parameter| parameter.name == name.as_str());
        if let Some(name) = spec.parameters.keys().find(unknown) {
            let names: Vec<_> = known.iter().map(|parameter| parameter.name).collect();
            return Err(wrong(name, format!("no such parameter; there are {}", names.join(", "))));
        }
        if spec.processes == 0 {
            return Err(wrong("processes", "at least one process has to do it".to_owned()));
        }
        let mut values = BTreeMap::new();
        for parameter in known {
            let value = match spec.parameters.get(parameter.name) {
                Some(value) => value.clone(),
                None => {
                    parse(&parameter.default).map_err(|reason| wrong(parameter.name, reason))?
                }
            };
            check(parameter.kind, &value).map_err(|reason| wrong(parameter.name, reason))?;
            values.insert(parameter.name, value);
        }
        Ok(Arguments { workload, values, processes: spec.processes })
    }

    /// An error about a parameter's value.
    pub fn wrong(&self, name: &str, reason: impl Into<String>) -> WorkloadError {
        WorkloadError::Parameter {
            workload: self.workload.to_owned(),
            name: name.to_owned(),
            reason: reason.into(),
        }
    }

    pub fn value(&self, name: &str) -> Result<&Value, WorkloadError> {
        self.values.get(name).ok_or_else(|| self.wrong(name, "no such parameter"))
    }

    /// A number of things or bytes.
    pub fn count(&self, name: &str) -> Result<u64, WorkloadError> {
        bytes(self.value(name)?).map_err(|reason| self.wrong(name, reason))
    }

    pub fn integer(&self, name: &str) -> Result<i64, WorkloadError> {
        self.value(name)?.as_integer().ok_or_else(|| self.wrong(name, "not a whole number"))
    }

    pub fn number(&self, name: &str) -> Result<f64, WorkloadError> {
        number(self.value(name)?).ok_or_else(|| self.wrong(name, "not a number"))
    }

    pub fn flag(&self, name: &str) -> Result<bool, WorkloadError> {
        self.value(name)?.as_bool().ok_or_else(|| self.wrong(name, "neither true nor false"))
    }

    pub fn text(&self, name: &str) -> Result<&str, WorkloadError> {
        self.value(name)?.as_str().ok_or_else(|| self.wrong(name, "not a text"))
    }

    fn list(&self, name: &str) -> Result<&[Value], WorkloadError> {
        let list = self.value(name)?.as_array().ok_or_else(|| self.wrong(name, "not a list"))?;
        Ok(list)
    }

    pub fn texts(&self, name: &str) -> Result<Vec<&str>, WorkloadError> {
        Ok(self.list(name)?.iter().filter_map(Value::as_str).collect())
    }

    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, WorkloadError> {
        Ok(self.list(name)?.iter().filter_map(number).collect())
    }

    pub fn sizes(&self, name: &str) -> Result<Vec<u64>, WorkloadError> {
        Ok(self.list(name)?.iter().filter_map(|value| bytes(value).ok()).collect())
    }

    /// The values of these parameters as text, to tell products apart.
    pub fn key(&self, names: &[&str]) -> Result<String, WorkloadError> {
        let each = |name: &&str| Ok(format!("{name} = {}", self.value(name)?));
        Ok(names.iter().map(each).collect::<Result<Vec<_>, WorkloadError>>()?.join("\n"))
    }
}

fn parse(text: &str) -> Result<Value, String> {
    let table: toml::Table = format!("value = {text}").parse().map_err(|e| format!("{e}"))?;
    table.get("value").cloned().ok_or_else(|| "no default".to_owned())
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

fn bytes(value: &Value) -> Result<u64, String> {
    let text = match value {
        Value::Integer(whole) => {
            return u64::try_from(*whole).map_err(|_| "a negative number".to_owned());
        }
        Value::String(text) => text.trim(),
        _ => return Err("neither a number nor a size like \"4K\"".to_owned()),
    };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KIB" => 10,
        "M" | "MIB" => 20,
        "G" | "GIB" => 30,
        "T" | "TIB" => 40,
        unit => return Err(format!("no unit {unit:?}; there are K, M, G, T")),
    };
    let whole: u64 = digits.trim().parse().map_err(|_| format!("{text:?} is no size"))?;
    whole.checked_mul(1 << shift).ok_or_else(|| format!("{text} is too large"))
}

fn check(kind: Kind, value: &Value) -> Result<(), String> {
    let within = |fits: bool, range: String| {
        if fits { Ok(()) } else { Err(format!("{value} is out of range; {range}")) }
    };
    match kind {
        Kind::Integer(least, most) => {
            let whole = value.as_integer().ok_or("a whole number has to be given")?;
            within((least..=most).contains(&whole), format!("{least} to {most}"))
        }
        Kind::Number(least, most) => {
            let given = number(value).ok_or("a number has to be given")?;
            within((least..=most).contains(&given), format!("{least} to {most}"))
        }
        Kind::Bytes(least, most) => {
            within((least..=most).contains(&bytes(value)?), format!("{least} to {most} bytes"))
        }
        Kind::Flag => value.as_bool().map(drop).ok_or("true or false has to be given".into()),
        Kind::Text => value.as_str().map(drop).ok_or("a text has to be given".into()),
        Kind::Choice(words) => {
            let given = value.as_str().ok_or("a text has to be given")?;
            among(words, given)
        }
        Kind::Choices(words) => {
            let list = value.as_array().ok_or("a list of texts has to be given")?;
            for (at, item) in list.iter().enumerate() {
                among(words, item.as_str().ok_or("a list of texts has to be given")?)?;
                if list[..at].contains(item) {
                    return Err(format!("{item} is given twice"));
                }
            }
            within(!list.is_empty(), "at least one".to_owned())
        }
        Kind::Numbers => {
            let list = value.as_array().ok_or("a list of numbers has to be given")?;
            let fits = |item: &Value| number(item).is_some_and(|n| n > 0.0 && n.is_finite());
            within(!list.is_empty() && list.iter().all(fits), "positive numbers".to_owned())
        }
        Kind::Sizes(least, most) => {
            let list = value.as_array().ok_or("a list of sizes has to be given")?;
            let fits = |item: &Value| bytes(item).is_ok_and(|size| (least..=most).contains(&size));
            let each = format!("sizes from {least} to {most} bytes");
            within(!list.is_empty() && list.iter().all(fits), each)
        }
        Kind::Steps => value.as_array().map(drop).ok_or("a list of tables has to be given".into()),
    }
}

fn among(words: &[&str], given: &str) -> Result<(), String> {
    if words.contains(&given) {
        return Ok(());
    }
    Err(format!("{given:?} is not among {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let size = |text: &str| bytes(&Value::String(text.to_owned()));
        assert_eq!(size("512"), Ok(512));
        assert_eq!(size("4K"), Ok(4096));
        assert_eq!(size("2 GiB"), Ok(2 << 30));
        assert!(size("4x").is_err() && size("").is_err() && size("99999999T").is_err());
        assert!(bytes(&Value::Integer(-1)).is_err());
    }

    #[test]
    fn kinds() {
        let given = |kind, text: &str| check(kind, &parse(text).expect("TOML"));
        assert_eq!(given(Kind::Integer(1, 9), "9"), Ok(()));
        assert!(given(Kind::Integer(1, 9), "10").is_err_and(|e| e.contains("1 to 9")));
        assert!(given(Kind::Integer(1, 9), "1.5").is_err());
        assert_eq!(given(Kind::Number(0.0, 1.0), "1"), Ok(()));
        assert!(given(Kind::Choice(&["a", "b"]), "'c'").is_err_and(|e| e.contains("a, b")));
        assert!(given(Kind::Choices(&["a"]), "['a', 'a']").is_err());
        assert!(given(Kind::Numbers, "[1, 0]").is_err());
        assert_eq!(given(Kind::Sizes(1, 1 << 30), "['4K', 1, '1G']"), Ok(()));
        for wrong in ["[]", "[0]", "['8T']", "['4x']"] {
            assert!(given(Kind::Sizes(1, 1 << 30), wrong).is_err(), "{wrong}");
        }
    }
}
