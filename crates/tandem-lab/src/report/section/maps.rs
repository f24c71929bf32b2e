//! Access maps: where requests lie and when, from the runs' traces.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use maud::html;
use tandem_disk::map::{Axis, Class, Grid, Map, Resolution, Span, Tracks};
use tandem_disk::request::Operation;
use tandem_disk::trace::{self, TraceError};

use super::super::figure::{Cells, Figure, Key};
use super::super::page::Block;
use super::super::table::{Cell, Table};
use super::super::{StudyResults, number, slug};
use super::overview::describe;
use crate::record::{Record, Status};

/// Maps in the page, per study; each takes a few kilobytes.
const MOST: usize = 48;
/// Requests of a trace that are drawn.
const REQUESTS: usize = 20_000_000;
const COLUMNS: usize = 150;
const ROWS: usize = 80;

/// A trace and what it is of.
struct Traced<'a> {
    record: &'a Record,
    phase: &'a str,
    devices: Vec<&'a str>,
    path: PathBuf,
}

/// The maps of each configuration's first run, behind a line that opens them.
pub fn blocks(of: &StudyResults, dir: &Path) -> Vec<Block> {
    let all = traces(of, dir);
    if all.is_empty() {
        return Vec::new();
    }
    let id = slug(&[&of.study.name, &of.scale, "maps"]);
    let mut table = Table::new(
        &id,
        "Access patterns by trace",
        &[
            "configuration",
            "phase",
            "devices",
            "kind",
            "#requests",
            "#MiB",
            "#sequential (%)",
            "#strided (%)",
            "#random (%)",
        ],
    );
    let (mut panels, mut failures) = (Vec::new(), Vec::new());
    for traced in all.iter().take(MOST) {
        match traced.draw(&mut table) {
            Ok(Some(cells)) => panels.push(cells.panel()),
            Ok(None) => {}
            Err(error) => failures.push(error.to_string()),
        }
    }
    let left = all.len().saturating_sub(MOST);
    let mut note = "Requests as extents, from their first sector to their last, against the time at which they reached the disk; of each configuration's first run. Each panel has its own axes. Sequential: begins where one of the last 32 runs of requests ended; strided: as far from the one before as that was from its own; random: neither.".to_owned();
    if left > 0 {
        note.push_str(&format!(
            " {left} further traces are not drawn here; tandem disk map draws each."
        ));
    }
    let figure = Figure {
        id: format!("{id}-figure"),
        title: "Access maps".to_owned(),
        note,
        legend: vec![Key::new("read", "read"), Key::new("write", "written")],
        panels,
        table: Some(table),
        ..Figure::default()
    };
    let mut blocks = Vec::new();
    if !failures.is_empty() {
        let text = html! { p { "Traces that could not be read:" } ul { @for failure in &failures { li { (failure) } } } };
        blocks.push(Block::Text(text));
    }
    if !figure.panels.is_empty() {
        blocks.push(Block::Figure(figure));
    }
    vec![Block::Folded(format!("Access maps ({})", all.len().min(MOST)), blocks)]
}

/// Of each configuration the first run that was done, its measured phases, each trace once.
fn traces<'a>(of: &'a StudyResults, dir: &Path) -> Vec<Traced<'a>> {
    let mut done: Vec<&Record> =
        of.records.iter().filter(|record| record.status == Status::Done).collect();
    done.sort_by_key(|record| record.repetition);
    let mut seen = BTreeSet::new();
    done.retain(|record| seen.insert(&record.levels));
    let order = of.levels();
    let place = |record: &Record| -> Vec<usize> {
        let position = |(factor, levels): (&String, &Vec<String>)| {
            levels.iter().position(|level| record.levels.get(factor) == Some(level)).unwrap_or(0)
        };
        order.iter().map(position).collect()
    };
    done.sort_by_key(|record| place(record));
    let mut all: Vec<Traced<'a>> = Vec::new();
    for record in done {
        let begin = all.len();
        for phase in record.phases.iter().filter(|phase| phase.measured) {
            for device in &phase.devices {
                let Some(path) = device.trace.as_ref().and_then(|path| inside(dir, path)) else {
                    continue;
                };
                match all[begin..].iter_mut().find(|traced| traced.path == path) {
                    Some(traced) => traced.devices.push(&device.name),
                    None => all.push(Traced {
                        record,
                        phase: &phase.name,
                        devices: vec![&device.name],
                        path,
                    }),
                }
            }
        }
    }
    all
}

/// A trace's file, if it is one within the results folder: records may come from anywhere.
fn inside(dir: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let relative = path.strip_prefix(dir).unwrap_or(path);
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    let file = dir.join(relative);
    (plain && file.is_file()).then_some(file)
}

impl Traced<'_> {
    fn draw(&self, table: &mut Table) -> Result<Option<Cells>, TraceError> {
        let records = || {
            Ok::<_, TraceError>(
                trace::open(&self.path, trace::Options::default())?.1.take(REQUESTS),
            )
        };
        let Some(span) = Span::of(records()?)? else { return Ok(None) };
        let times = Axis::new(span.first, span.last.saturating_add(1), COLUMNS);
        let places = Axis::new(0, span.end().max(1), ROWS);
        let mut grids = [Grid::new(times, places), Grid::new(times, places)];
        let mut map = Map::new(span.clone(), Tracks::Equal(63), Resolution { columns: 1, rows: 1 });
        for record in records()? {
            let record = record?;
            map.add(&record);
            let end = record.offset.saturating_add(record.length);
            match record.operation {
                Operation::Read => grids[0].mark((record.time, record.time), (record.offset, end)),
                Operation::Write => grids[1].mark((record.time, record.time), (record.offset, end)),
                _ => {}
            }
        }
        self.classes(&map, table);
        let [reads, writes] = grids.map(|grid| marked(&grid));
        let unit = Unit::of(span.end());
        let second = |time: u64| (time - span.first) as f64 / 1e9;
        let sums = |at: usize| {
            format!(
                "{} requests, {} MiB",
                number::short(map.kinds[at].requests as f64),
                mib(map.kinds[at].bytes)
            )
        };
        Ok(Some(Cells {
            title: format!("{}, {}", self.phase, self.name()),
            alt: format!(
                "Access map of {} over {} s: read {}; written {}.",
                self.devices.join(" and "),
                number::short(second(span.last)),
                sums(0),
                sums(1)
            ),
            axes: ["time, s".to_owned(), format!("place, {}", unit.name)],
            ranges: [(0.0, second(span.last).max(1e-6)), (0.0, span.end() as f64 / unit.bytes)],
            layers: vec![("read", reads), ("write", writes)],
        }))
    }

    fn name(&self) -> String {
        let level = |(factor, level): (&String, &String)| match factor.as_str() {
            "filesystem" => level.clone(),
            _ => format!("{factor} {level}"),
        };
        let levels: Vec<_> = self.record.levels.iter().map(level).collect();
        levels.join(", ")
    }

    fn classes(&self, map: &Map, table: &mut Table) {
        for (kind, name) in map.kinds.iter().zip(["read", "write", "discard"]) {
            if kind.requests == 0 {
                continue;
            }
            let share = |class: Class| {
                let requests = kind.patterns.share(class).requests;
                Cell::Number(requests as f64 * 100.0 / kind.requests as f64)
            };
            table.rows.push(vec![
                Cell::Text(describe(&self.record.levels)),
                Cell::Text(self.phase.to_owned()),
                Cell::Text(self.devices.join(", ")),
                Cell::Text(name.to_owned()),
                Cell::Number(kind.requests as f64),
                Cell::Number(kind.bytes as f64 / 1_048_576.0),
                share(Class::Sequential),
                share(Class::Strided),
                share(Class::Random),
            ]);
        }
    }
}

fn marked(grid: &Grid) -> Vec<Vec<bool>> {
    grid.counts().into_iter().map(|row| row.into_iter().map(|count| count > 0).collect()).collect()
}

fn mib(bytes: u64) -> String {
    number::short(bytes as f64 / 1_048_576.0)
}

/// A unit in which a disk's size is a small number.
struct Unit {
    name: &'static str,
    bytes: f64,
}

impl Unit {
    fn of(size: u64) -> Unit {
        match size {
            s if s >= 4 << 30 => Unit { name: "GiB", bytes: (1u64 << 30) as f64 },
            _ => Unit { name: "MiB", bytes: (1u64 << 20) as f64 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_traces_of_the_folder() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("a.tdt"), "").expect("a file");
        let file = dir.path().join("a.tdt");
        assert_eq!(inside(dir.path(), "a.tdt"), Some(file.clone()));
        assert_eq!(inside(dir.path(), &file.to_string_lossy()), Some(file));
        for other in ["../a.tdt", "/etc/passwd", "missing", "", "."] {
            assert_eq!(inside(dir.path(), other), None, "{other}");
        }
    }
}
