//! Where and how it was measured.

use maud::{Markup, html};
use serde_json::Value;

use super::super::Results;
use super::super::page::{Block, Section};

/// The lab's commands and the machines.
pub fn machine(results: &Results) -> Section {
    let mut section = Section::new("Machine and commands");
    if !results.commands.is_empty() {
        section.blocks.push(Block::Text(html! {
            p { "These results were made with" }
            pre { code { @for command in &results.commands { (command) "\n" } } }
        }));
    }
    for (name, environment) in &results.environments {
        section.blocks.push(Block::Heading(format!("Environment {name}")));
        section.blocks.push(Block::Text(value(environment)));
    }
    if results.environments.is_empty() {
        let text = html! { p { "The results folder describes no machine." } };
        section.blocks.push(Block::Text(text));
    }
    section
}

/// Any JSON as nested lists.
fn value(of: &Value) -> Markup {
    match of {
        Value::Object(map) => html! {
            dl class="facts" { @for (key, inner) in map { dt { (key.replace('_', " ")) } dd { (value(inner)) } } }
        },
        Value::Array(list) if list.iter().all(|inner| !inner.is_object() && !inner.is_array()) => {
            let words: Vec<_> = list.iter().map(plain).collect();
            html! { (words.join(", ")) }
        }
        Value::Array(list) => html! { ul { @for inner in list { li { (value(inner)) } } } },
        other => html! { (plain(other)) },
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "not known".to_owned(),
        other => other.to_string(),
    }
}
