//! The page: sections of blocks, style and script within it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::figure::{Figure, STYLE};
use super::table::Table;
use super::{Results, StudyResults, published, section, slug};
use crate::analysis::{Options, analyse};

const PAGE_STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// A report, before it is written.
#[derive(Debug)]
pub struct Report {
    title: String,
    sections: Vec<Section>,
}

/// A part of the page with its heading.
#[derive(Debug)]
pub struct Section {
    /// Where links go.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// What it contains.
    pub blocks: Vec<Block>,
}

/// What sections are made of.
#[derive(Debug)]
pub enum Block {
    /// A smaller heading.
    Heading(String),
    /// Text and lists.
    Text(Markup),
    /// A figure.
    Figure(Figure),
    /// A table.
    Table(Table),
    /// Blocks behind a line that opens them.
    Folded(String, Vec<Block>),
}

/// The whole report.
pub fn build(results: &Results) -> Report {
    let papers = published::papers();
    let names: Vec<_> = results.studies.iter().map(|s| s.study.name.as_str()).collect();
    let analysed =
        |study: &StudyResults| analyse(&study.study, &study.records, &Options::default());
    let data: Vec<_> = results.studies.iter().map(analysed).collect();
    let mut sections = vec![section::found(results, &data)];
    let studies = results.studies.iter().zip(&data);
    sections
        .extend(studies.map(|(study, data)| section::study(study, data, &papers, &results.dir)));
    sections.push(section::machine(results));
    Report { title: format!("File systems, measured: {}", names.join(", ")), sections }
}

impl Report {
    /// Every figure, in the page's order.
    pub fn figures(&self) -> Vec<&Figure> {
        let mut figures = Vec::new();
        self.each(&mut |block| {
            if let Block::Figure(figure) = block {
                figures.push(figure);
            }
        });
        figures
    }

    /// Every table, those of figures too.
    pub fn tables(&self) -> Vec<&Table> {
        let mut tables = Vec::new();
        self.each(&mut |block| match block {
            Block::Figure(figure) => tables.extend(&figure.table),
            Block::Table(table) => tables.push(table),
            _ => {}
        });
        tables
    }

    fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Block)) {
        self.sections.iter().flat_map(|section| &section.blocks).for_each(|b| b.each(visit));
    }

    /// The page.
    pub fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta http-equiv="Content-Security-Policy"
                        content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) (PreEscaped(PAGE_STYLE)) }
                }
                body {
                    a class="skip" href="#main" { "To the contents" }
                    header { h1 { (self.title) } }
                    nav aria-label="Contents" {
                        ul { @for section in &self.sections {
                            li { a href={ "#" (section.id) } { (section.title) } }
                        } }
                    }
                    main id="main" { @for section in &self.sections { (section.html()) } }
                    footer {
                        p { "Every figure lies beside this page as SVG, every table as CSV and JSON, in " code { "report/" }
                            " of the results folder. Numbers are rounded to four digits; pointing at one shows it in full. On paper, what is folded is printed only if it was opened." }
                    }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string()
    }
}

impl Section {
    /// Empty.
    pub fn new(title: impl Into<String>) -> Section {
        let title = title.into();
        Section { id: slug(&[&title]), title, blocks: Vec::new() }
    }

    fn html(&self) -> Markup {
        html! {
            section id=(self.id) {
                h2 { (self.title) }
                @for block in &self.blocks { (block.html()) }
            }
        }
    }
}

impl Block {
    fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Block)) {
        visit(self);
        if let Block::Folded(_, blocks) = self {
            blocks.iter().for_each(|block| block.each(visit));
        }
    }

    fn html(&self) -> Markup {
        match self {
            Block::Heading(title) => html! { h3 { (title) } },
            Block::Text(markup) => markup.clone(),
            Block::Figure(figure) => figure.html(),
            Block::Table(table) => table.html(),
            Block::Folded(title, blocks) => html! {
                details class="fold" {
                    summary { (title) }
                    @for block in blocks { (block.html()) }
                }
            },
        }
    }
}
