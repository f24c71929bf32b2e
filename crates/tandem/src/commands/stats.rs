//! `tandem stats`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::cli::{StatsArgs, exit};
use crate::control;
use crate::mounts::{self, Mount};
use crate::output::{self, Listing};
use crate::units::grouped;

/// Shows the counters of a mounted volume.
pub fn run(args: &StatsArgs) -> Result<u8> {
    let mount = find(&args.dir)?;
    if args.watch {
        watch(args, &mount)?;
        return Ok(exit::OK);
    }
    let stats = control::ask(&mount, "stats")?;
    if args.json {
        output::print_json(&stats)?;
    } else {
        let mut listing = Listing::default();
        for (name, value) in stats.as_object().into_iter().flatten() {
            listing.value(name, value);
        }
        output::print(&listing.render())?;
    }
    Ok(exit::OK)
}

/// The Tandem volume mounted on `dir`.
pub fn find(dir: &std::path::Path) -> Result<Mount> {
    match mounts::at(dir) {
        Some(mount) if mount.fs_type.ends_with(".tandem") => Ok(mount),
        Some(mount) => bail!("{}: not a Tandem volume but {}", dir.display(), mount.fs_type),
        None => bail!(
            "{}: nothing is mounted there; give the directory that a volume is mounted on",
            dir.display()
        ),
    }
}

/// Goes on until interrupted, or until the volume is unmounted.
fn watch(args: &StatsArgs, mount: &Mount) -> Result<()> {
    let interval = Duration::from_secs_f64(args.interval);
    let mut last: Option<(Instant, BTreeMap<String, u64>)> = None;
    loop {
        let stats = control::ask(mount, "stats")?;
        let now = Instant::now();
        if args.json {
            output::print(&stats.to_string())?;
        } else {
            let mut counters = BTreeMap::new();
            flatten("", &stats, &mut counters);
            if let Some((then, before)) = &last {
                output::print(&changes(before, &counters, (now - *then).as_secs_f64()))?;
            }
            last = Some((now, counters));
        }
        std::thread::sleep(interval);
    }
}

/// All numbers in a value, by the path of names that leads to them.
fn flatten(prefix: &str, value: &Value, out: &mut BTreeMap<String, u64>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let gap = if prefix.is_empty() { "" } else { " " };
                flatten(&format!("{prefix}{gap}{}", name.replace('_', " ")), value, out);
            }
        }
        Value::Number(number) => {
            if let Some(count) = number.as_u64() {
                out.insert(prefix.to_string(), count);
            }
        }
        _ => {}
    }
}

/// What changed, each with its change per second and its value.
fn changes(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>, secs: f64) -> String {
    let mut listing = Listing::default();
    listing.heading(format!("in {secs:.1} s: change per second, value"));
    for (name, &value) in after {
        let old = before.get(name).copied().unwrap_or(0);
        if value != old {
            let sign = if value < old { "-" } else { "" };
            let rate = (value.abs_diff(old) as f64 / secs).round() as u64;
            listing.row(name, format!("{sign}{:<14} {}", grouped(rate), grouped(value)));
        }
    }
    listing.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_shown() {
        let read = |value: Value| {
            let mut out = BTreeMap::new();
            flatten("", &value, &mut out);
            out
        };
        let before = read(serde_json::json!({ "door": { "requests": { "lookup": 10 } }, "x": 1 }));
        let after = read(serde_json::json!({ "door": { "requests": { "lookup": 30 } }, "x": 1 }));
        let text = changes(&before, &after, 2.0);
        assert_eq!(text.lines().count(), 2);
        assert!(text.contains("door requests lookup  10") && text.contains(" 30"), "{text}");
    }
}
