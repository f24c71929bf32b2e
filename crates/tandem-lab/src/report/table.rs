//! Tables: once as data, shown as HTML, kept as CSV and JSON.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::number;

/// A table.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Name of its files, and its place in the page.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// Headings.
    pub columns: Vec<Column>,
    /// As many cells a row as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its heading, with the unit in brackets.
    pub name: String,
    /// Does it hold numbers?
    pub numeric: bool,
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A command or an option, as it was given.
    Code(String),
    /// A number.
    Number(f64),
    /// A probability.
    Probability(f64),
    /// Nothing, and why.
    None(String),
}

impl Table {
    /// Without rows; headings that begin with `#` are of numbers.
    pub fn new(id: &str, caption: impl Into<String>, columns: &[&str]) -> Table {
        let column = |name: &&str| Column {
            name: name.trim_start_matches('#').to_owned(),
            numeric: name.starts_with('#'),
        };
        Table {
            id: id.to_owned(),
            caption: caption.into(),
            columns: columns.iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    /// As HTML: readable as it is, sortable where the page's script runs.
    pub fn html(&self) -> Markup {
        html! {
            div class="scroll" tabindex="0" role="region" aria-label=(self.caption) {
                table id=(self.id) class="sortable" {
                    caption { (self.caption) }
                    thead {
                        tr {
                            @for column in &self.columns {
                                th scope="col" class=[column.numeric.then_some("number")] { (column.name) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (at, cell) in row.iter().enumerate() {
                                    @if at == 0 { th scope="row" { (cell.html()) } }
                                    @else { td class=[self.columns.get(at).is_some_and(|column| column.numeric).then_some("number")] { (cell.html()) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// As CSV (RFC 4180), numbers in full.
    pub fn csv(&self) -> String {
        let mut out = String::new();
        let mut line = |cells: Vec<String>| {
            let quoted: Vec<_> = cells.iter().map(|cell| quote(cell)).collect();
            out.push_str(&quoted.join(","));
            out.push_str("\r\n");
        };
        line(self.columns.iter().map(|column| column.name.clone()).collect());
        self.rows.iter().for_each(|row| line(row.iter().map(Cell::csv).collect()));
        out
    }

    /// As JSON: every number in full and as the page has it.
    pub fn json(&self) -> Value {
        let columns: Vec<_> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let rows: Vec<Vec<_>> =
            self.rows.iter().map(|row| row.iter().map(Cell::json).collect()).collect();
        json!({ "id": self.id, "caption": self.caption, "columns": columns, "rows": rows })
    }
}

impl Cell {
    /// A number, or nothing with its reason.
    pub fn of(value: Option<f64>, otherwise: &str) -> Cell {
        value.map_or_else(|| Cell::None(otherwise.to_owned()), Cell::Number)
    }

    fn text(&self) -> String {
        match self {
            Cell::Text(text) | Cell::Code(text) => text.clone(),
            Cell::Number(value) => number::text(*value),
            Cell::Probability(value) => number::probability(*value),
            Cell::None(_) => "–".to_owned(),
        }
    }

    fn html(&self) -> Markup {
        match self {
            Cell::Text(text) => html! { (text) },
            Cell::Code(text) => html! { code { (text) } },
            Cell::Number(value) | Cell::Probability(value) => {
                html! { data value=(number::full(*value)) { (self.text()) } }
            }
            Cell::None(why) => html! { span class="none" title=(why) { "–" } },
        }
    }

    /// What would begin a formula in a spreadsheet gets an apostrophe before it.
    fn csv(&self) -> String {
        match self {
            Cell::Number(value) | Cell::Probability(value) => number::full(*value),
            Cell::None(_) => String::new(),
            words if words.text().starts_with(['=', '+', '-', '@', '\t', '\r']) => {
                format!("'{}", words.text())
            }
            words => words.text(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Cell::Number(value) | Cell::Probability(value) => {
                json!({ "value": value, "text": self.text() })
            }
            Cell::None(why) => json!({ "value": null, "why": why }),
            words => json!(words.text()),
        }
    }
}

fn quote(cell: &str) -> String {
    let quoted = cell.contains([',', '"', '\r', '\n']);
    if quoted { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new("t", "a < b", &["name", "#s"]);
        table.rows.push(vec![Cell::Text("<script>\"x\",".into()), Cell::Number(47.8612)]);
        table.rows.push(vec![Cell::Text("=1+1".into()), Cell::None("no model".into())]);
        table
    }

    #[test]
    fn in_three_forms() {
        let html = sample().html().into_string();
        assert!(html.contains("&lt;script&gt;") && !html.contains("<script>"));
        assert!(html.contains("<data value=\"47.8612\">47.86</data>"));
        assert_eq!(sample().csv(), "name,s\r\n\"<script>\"\"x\"\",\",47.8612\r\n'=1+1,\r\n");
        let json = sample().json();
        assert_eq!(json["rows"][0][1], json!({ "value": 47.8612, "text": "47.86" }));
        assert_eq!(json["rows"][1][1]["why"], "no model");
    }
}
