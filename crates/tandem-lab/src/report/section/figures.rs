//! The study's figures: bars with intervals, the papers' values beneath them, and the raw values.

mod paper;
mod values;

use super::super::figure::{Bar, Bars, Figure, Key, Kind, Row, Strip};
use super::super::page::Block;
use super::super::published::Paper;
use super::super::{StudyResults, number, slug};
use crate::analysis::{self, FigureData, Group, Panel, StudyData};
use crate::record::{Levels, Metric};

/// All figures of a study; folded behind each what was found case by case, and its raw values.
pub fn blocks(of: &StudyResults, data: &StudyData, papers: &[Paper]) -> Vec<Block> {
    let fixed = of.fixed();
    data.figures
        .iter()
        .enumerate()
        .flat_map(|(at, figure)| {
            let id = slug(&[&of.study.name, &of.scale, &(at + 1).to_string(), &figure.title]);
            let drawing = Drawing::new(of, figure, papers, &fixed);
            let raw = vec![Block::Figure(drawing.raw(&format!("{id}-raw")))];
            let mut blocks = vec![Block::Figure(drawing.figure(&id))];
            blocks.extend(drawing.cases());
            blocks.push(Block::Folded(format!("{}: every run", figure.title), raw));
            blocks
        })
        .collect()
}

/// A figure on its way to paper.
struct Drawing<'a> {
    of: &'a StudyResults,
    data: &'a FigureData,
    paper: Option<paper::Beside<'a>>,
    /// Are bars divided by the baseline's? Not if the baseline was not measured anywhere.
    normalized: bool,
}

impl<'a> Drawing<'a> {
    fn new(
        of: &'a StudyResults,
        data: &'a FigureData,
        papers: &'a [Paper],
        fixed: &'a Levels,
    ) -> Drawing<'a> {
        let has_ratio =
            |panel: &Panel| panel.groups.iter().flat_map(|g| &g.bars).any(|b| b.ratio.is_some());
        let normalized = data.normalized && data.panels.iter().any(has_ratio);
        let paper = paper::Beside::new(data, papers, fixed, normalized);
        Drawing { of, data, paper, normalized }
    }

    fn figure(&self, id: &str) -> Figure {
        let mut panels: Vec<Bars> =
            self.groups().map(|(panel, group)| self.bars(panel, group)).collect();
        panels.retain(|bars| !bars.bars.is_empty());
        self.share_axis(&mut panels);
        Figure {
            id: id.to_owned(),
            title: self.data.title.clone(),
            note: self.note(panels.first().is_some_and(|bars| bars.limit.is_some())),
            legend: self.legend(),
            panels: panels.iter().map(Bars::panel).collect(),
            marks: self.marks(),
            table: Some(values::table(&format!("{id}-values"), self.data, self.paper.as_ref())),
        }
    }

    fn groups(&self) -> impl Iterator<Item = (&'a Panel, &'a Group)> {
        self.data
            .panels
            .iter()
            .flat_map(|panel| panel.groups.iter().map(move |group| (panel, group)))
    }

    fn bars(&self, panel: &Panel, group: &Group) -> Bars {
        let below = self.baseline(group);
        let mut bars: Vec<Bar> = group.bars.iter().map(|bar| self.bar(bar, group, below)).collect();
        if let Some(paper) = &self.paper {
            bars.extend(paper.others(panel, group));
        }
        let axis = match below {
            Some(_) => format!("{}, {} = 1", self.data.quantity.name, self.baseline_name()),
            None => self.quantity(),
        };
        Bars {
            title: title(&group.phase, &panel.levels),
            axis,
            bars,
            limit: None,
            one: below.is_some(),
        }
    }

    /// The baseline's mean, by which this group's bars are divided.
    fn baseline(&self, group: &Group) -> Option<f64> {
        let ratio = |bar: &analysis::Bar| {
            let mean = bar.summary.as_ref()?.mean;
            bar.ratio.map(|ratio| mean / ratio.value).filter(|below| below.is_normal())
        };
        let own = group.bars.iter().find(|bar| bar.baseline).and_then(|bar| bar.summary.as_ref());
        let found = own.map(|summary| summary.mean).filter(|mean| mean.is_normal());
        found.or_else(|| group.bars.iter().find_map(ratio)).filter(|_| self.normalized)
    }

    fn bar(&self, bar: &analysis::Bar, group: &Group, below: Option<f64>) -> Bar {
        let printed = self.paper.as_ref().and_then(|paper| paper.beside(&bar.levels, &group.phase));
        let mut drawn = Bar {
            label: bar.level.clone(),
            kind: self.kind(bar),
            marked: !bar.flags.is_empty(),
            printed,
            ..Bar::default()
        };
        let Some(summary) = &bar.summary else {
            drawn.text = bar.absent.clone().unwrap_or_else(|| "no run".to_owned());
            return drawn;
        };
        let by = below.unwrap_or(1.0);
        drawn.value = Some(summary.mean / by);
        let own = summary.interval.map(|i| (i.low / by, i.high / by));
        let ratio = bar.ratio.filter(|_| below.is_some() && !bar.baseline);
        drawn.interval = match ratio {
            Some(ratio) => ratio.interval.map(|i| (i.low, i.high)),
            None => own,
        };
        if self.data.metric == Metric::TotalSeconds {
            drawn.flush = bar.flush.as_ref().map_or(0.0, |flush| flush.mean / by);
        }
        drawn.text = match below {
            Some(_) if !bar.baseline => number::short(summary.mean / by),
            _ => self.amount(summary.mean),
        };
        drawn
    }

    fn kind(&self, bar: &analysis::Bar) -> Kind {
        let own = |level: &str| level == "tandem" || level.starts_with("tandem-");
        let all_own = self.data.by != "filesystem";
        match bar.levels.get("filesystem") {
            _ if bar.baseline => Kind::Baseline,
            Some(level) if own(level) && !all_own => Kind::Own,
            _ => Kind::Peer,
        }
    }

    /// One axis for all panels where that leaves the smallest one readable.
    fn share_axis(&self, panels: &mut [Bars]) {
        let reach: Vec<f64> = panels.iter().map(Bars::reach).filter(|&r| r > 0.0).collect();
        let longest = reach.iter().copied().fold(0.0, f64::max);
        let shortest = reach.iter().copied().fold(f64::INFINITY, f64::min);
        if self.normalized && longest <= 3.0 * shortest {
            panels.iter_mut().for_each(|bars| bars.limit = Some(longest));
        }
    }

    fn baseline_name(&self) -> String {
        let levels = self.data.baseline.iter().flatten();
        let names: Vec<_> = levels.map(|(_, level)| level.as_str()).collect();
        names.join(" ")
    }

    fn quantity(&self) -> String {
        let quantity = &self.data.quantity;
        match quantity.unit.as_str() {
            "" => quantity.name.clone(),
            unit if quantity.name.contains(unit) && unit.len() > 2 => quantity.name.clone(),
            unit => format!("{}, {unit}", quantity.name),
        }
    }

    fn amount(&self, mean: f64) -> String {
        let unit = match self.data.quantity.unit.as_str() {
            "" | "sectors" | "requests" | "flushes" | "seeks" => "",
            unit => unit,
        };
        format!("{} {unit}", number::short(mean)).trim_end().to_owned()
    }

    fn note(&self, shared: bool) -> String {
        let runs =
            || self.groups().flat_map(|(_, g)| &g.bars).filter_map(|b| Some(b.summary.as_ref()?.n));
        let n = match (runs().min(), runs().max()) {
            (Some(low), Some(high)) if low == high => format!("n = {low} runs"),
            (Some(low), Some(high)) => format!("n = {low} to {high} runs"),
            _ => "no run has this figure".to_owned(),
        };
        let level = number::tick((self.data.options.level.get() * 1e4).round() / 1e2);
        let mut text =
            format!("{}: means, {n}; strokes are {level} % intervals", capital(&self.quantity()));
        text.push_str(match self.normalized {
            true => " of the ratio (Fieller's, or a bootstrap's where values are not normal), of the baseline its own (Student)",
            false => " (Student)",
        });
        if self.normalized {
            text.push_str(&format!(
                "; divided by {}, whose own value stands in its bar",
                self.baseline_name()
            ));
        }
        text.push_str(if shared {
            "; one axis for all panels."
        } else {
            "; each panel has its own axis."
        });
        if self.data.normalized && !self.normalized {
            text.push_str(" Not divided by the baseline, which was not measured.");
        }
        if let Some(paper) = &self.paper {
            text.push_str(&paper.work(self.of));
        }
        text.push_str(" Standard deviations are with the values.");
        self.data.notes.iter().for_each(|note| text.push_str(&format!(" {note}")));
        if let Some(problem) = self.data.published.as_ref().filter(|_| self.paper.is_none()) {
            text.push_str(&format!(" No paper's values are called {problem}."));
        }
        text
    }

    fn legend(&self) -> Vec<Key> {
        let kinds: Vec<Kind> =
            self.groups().flat_map(|(_, g)| &g.bars).map(|bar| self.kind(bar)).collect();
        let mut legend = Vec::new();
        if kinds.contains(&Kind::Own) {
            legend.push(Key::new("own", "Tandem"));
        }
        if kinds.contains(&Kind::Baseline) {
            legend.push(Key::new("baseline", format!("baseline ({})", self.baseline_name())));
        }
        if kinds.contains(&Kind::Peer) {
            legend.push(Key::new("peer", "others"));
        }
        if self.data.metric == Metric::TotalSeconds {
            legend.push(Key::new("peer flush", "time to flush"));
        }
        legend.extend(self.paper.as_ref().map(|paper| Key::new("printed", paper.legend())));
        legend
    }

    /// A line for each rule of the checklist that runs behind this figure break.
    fn marks(&self) -> Vec<String> {
        let mut rules: Vec<(&str, &str, Vec<String>)> = Vec::new();
        let mut all = 0;
        for (panel, group) in self.groups() {
            for bar in &group.bars {
                all += usize::from(bar.summary.is_some());
                for flag in &bar.flags {
                    let place = title(&group.phase, &panel.levels);
                    let place =
                        format!("{} {place} ({} of {})", bar.level, flag.runs, bar.runs.done);
                    match rules.iter_mut().find(|(rule, ..)| *rule == flag.rule) {
                        Some((.., places)) => places.push(place),
                        None => rules.push((&flag.rule, &flag.text, vec![place])),
                    }
                }
            }
        }
        let line = |(rule, text, places): (&str, &str, Vec<String>)| match places.len() {
            n if n == all && n > 6 => format!("{rule}: at all {n} bars; as: {text}"),
            n if n > 6 => {
                format!("{rule}: at {n} of {all} bars: {}, …; as: {text}", places[..4].join(", "))
            }
            _ => format!("{rule}: {}; as: {text}", places.join(", ")),
        };
        let papers = self.paper.as_ref().map(paper::Beside::marks).unwrap_or_default();
        rules.into_iter().map(line).chain(papers).collect()
    }

    /// What was found, case by case.
    fn cases(&self) -> Option<Block> {
        let lines: Vec<&String> = self.groups().filter_map(|(_, g)| g.sentence.as_ref()).collect();
        let list = maud::html! { ul { @for line in &lines { li { (line) } } } };
        let title = format!("{}: in sentences", self.data.title);
        (!lines.is_empty()).then(|| Block::Folded(title, vec![Block::Text(list)]))
    }

    fn raw(&self, id: &str) -> Figure {
        let row = |bar: &analysis::Bar| Row {
            label: bar.level.clone(),
            values: bar.values.iter().map(|value| value.value).collect(),
            kind: self.kind(bar),
        };
        let strip = |(panel, group): (&Panel, &Group)| Strip {
            title: title(&group.phase, &panel.levels),
            axis: self.quantity(),
            rows: group.bars.iter().filter(|bar| !bar.values.is_empty()).map(row).collect(),
        };
        let strips = self.groups().map(strip).filter(|strip| !strip.rows.is_empty());
        Figure {
            id: id.to_owned(),
            title: format!("{}: every run", self.data.title),
            note: "A dot for each run, the mean as a stroke. No run is left out; axes do not begin at zero.".to_owned(),
            panels: strips.map(|strip| strip.panel()).collect(),
            table: Some(values::raw(&format!("{id}-values"), self.data)),
            ..Figure::default()
        }
    }
}

/// `read-meta, processes 4`.
fn title(phase: &str, levels: &Levels) -> String {
    let words = levels.iter().map(|(factor, level)| format!("{factor} {level}"));
    let parts: Vec<_> = std::iter::once(phase.to_owned()).chain(words).collect();
    parts.join(", ")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
