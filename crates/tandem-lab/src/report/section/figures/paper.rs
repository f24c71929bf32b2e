//! A paper's values beside ours.

use super::super::super::StudyResults;
use super::super::super::figure::{Bar, Kind, Printed};
use super::super::super::number;
use super::super::super::published::{self, Group as Printings, Paper, Series};
use super::super::super::table::Cell;
use crate::analysis::{FigureData, Group, Panel};
use crate::record::{Levels, Metric};

/// The series that a figure asks for.
pub struct Beside<'a> {
    paper: &'a Paper,
    series: &'a Series,
    data: &'a FigureData,
    fixed: &'a Levels,
    normalized: bool,
}

impl<'a> Beside<'a> {
    /// If there is such a series.
    pub fn new(
        data: &'a FigureData,
        papers: &'a [Paper],
        fixed: &'a Levels,
        normalized: bool,
    ) -> Option<Beside<'a>> {
        let (paper, series) = published::series(papers, data.published.as_deref()?)?;
        Some(Beside { paper, series, data, fixed, normalized })
    }

    /// As the legend has it.
    pub fn legend(&self) -> String {
        let authors = self.paper.paper.split(':').next().unwrap_or_default();
        let divided = if self.normalized { ", divided by its own baseline" } else { "" };
        let Series { place, runs, .. } = self.series;
        let flush = match self.series.metric == self.data.metric {
            false if self.comparable() => ", without the flush",
            _ => "",
        };
        format!("the paper's value{divided}{flush} ({authors}, {place}; n = {runs})")
    }

    /// How much the paper did in a run, and how much is done here: values of unlike work compare
    /// file systems, not numbers.
    pub fn work(&self, of: &StudyResults) -> String {
        let mut parameters = of.study.parameters.clone();
        let scale = of.study.scale.get(&of.scale);
        parameters.extend(scale.map(|scale| scale.parameters.clone()).unwrap_or_default());
        let here: Vec<_> =
            parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let here = if here.is_empty() {
            "the workload's own parameters".to_owned()
        } else {
            here.join(", ")
        };
        format!(" In the paper: {}; here: {here}.", self.series.work)
    }

    /// The unit as printed.
    pub fn unit(&self) -> &str {
        &self.series.unit
    }

    /// What stands beneath a bar.
    pub fn beside(&self, levels: &Levels, phase: &str) -> Option<Printed> {
        let group = self.group(levels, phase)?;
        self.printed(group, levels.get(&self.series.by)?)
    }

    /// As a cell of the table of values.
    pub fn cell(&self, levels: &Levels, phase: &str) -> Cell {
        let value = || {
            let group = self.group(levels, phase)?;
            group.values.get(levels.get(&self.series.by)?)?.mean()
        };
        Cell::of(value(), "the paper has no value here")
    }

    /// Bars of what only the paper has: its own file system, a kernel that is gone.
    pub fn others(&self, panel: &Panel, group: &Group) -> Vec<Bar> {
        let ours: Vec<&String> = group.bars.iter().map(|bar| &bar.level).collect();
        let Some(found) = self.group(&panel.levels, &group.phase) else { return Vec::new() };
        if self.series.by != self.data.by {
            return Vec::new();
        }
        let bar = |name: &String| Bar {
            label: name.clone(),
            text: "only in the paper".to_owned(),
            kind: Kind::Peer,
            printed: self.printed(found, name),
            ..Bar::default()
        };
        found.values.keys().filter(|name| !ours.contains(name)).map(bar).collect()
    }

    /// The values of that phase and those levels; a factor that the study has not is not asked for.
    fn group(&self, levels: &Levels, phase: &str) -> Option<&'a Printings> {
        let agrees = |(factor, level): (&String, &String)| {
            let ours = levels.get(factor).or_else(|| self.fixed.get(factor));
            *factor == self.data.by || ours.is_none_or(|ours| ours == level)
        };
        self.series.group.iter().find(|group| {
            group.phase == phase
                && group.levels.iter().all(agrees)
                && group
                    .levels
                    .get(&self.data.by)
                    .is_none_or(|level| levels.get(&self.data.by).is_none_or(|ours| ours == level))
        })
    }

    fn printed(&self, group: &Printings, name: &str) -> Option<Printed> {
        let value = group.values.get(name)?;
        let mean = value.mean()?;
        let below = match self.normalized {
            true => {
                let baseline = self.data.baseline.as_ref()?.get(&self.series.by)?;
                group.values.get(baseline)?.mean().filter(|below| below.is_normal())?
            }
            false if self.comparable() => 1.0,
            false => return None,
        };
        let interval = value.interval(self.series, self.data.options.level);
        let mark = if value.why.is_some() { " ⚑" } else { "" };
        let own = format!("{} {}", number::short(mean), self.series.unit);
        let text = match self.normalized {
            true => format!("paper {} · {own}{mark}", number::short(mean / below)),
            false => format!("paper {own}{mark}"),
        };
        Some(Printed {
            value: mean / below,
            interval: interval.map(|(low, high)| (low / below, high / below)),
            text,
        })
    }

    /// Is the same measured? A paper's time without the flush stands beside the filled part of ours.
    fn comparable(&self) -> bool {
        let (paper, ours) = (&self.series.metric, &self.data.metric);
        paper == ours || (*paper == Metric::Seconds && *ours == Metric::TotalSeconds)
    }

    /// What is wrong with values drawn here.
    pub fn marks(&self) -> Vec<String> {
        let mut marks = Vec::new();
        for group in &self.series.group {
            let phases = &self.data.phases;
            for (name, value) in group.values.iter().filter(|_| phases.contains(&group.phase)) {
                if let Some(why) = &value.why {
                    let place = group.place.as_ref().unwrap_or(&self.series.place);
                    marks.push(format!("The paper, {place}, {name}, {}: {why}.", group.phase));
                }
            }
        }
        marks
    }
}
