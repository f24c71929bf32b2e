//! The report, made of invented records and read as a reader would: as files, and in a browser.

#[path = "report/browser.rs"]
mod browser;
#[path = "report/sample.rs"]
mod sample;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tandem_lab::record::Status;
use tandem_lab::report::{self, Results};

fn written(results: &mut Results) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a directory");
    results.dir = dir.path().to_owned();
    sample::traces(results);
    report::write(results, &dir.path().join("report.html")).expect("a report");
    let page = fs::read_to_string(dir.path().join("report.html")).expect("the page");
    (dir, page)
}

/// Cells of the tables' files by table, as the page has to have them.
fn numbers(dir: &Path) -> BTreeMap<String, Vec<(String, String)>> {
    let mut tables = BTreeMap::new();
    for entry in fs::read_dir(dir.join("report")).expect("files") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let table: Value = serde_json::from_slice(&fs::read(&path).expect("json")).expect("json");
        let rows = table["rows"].as_array().expect("rows").iter();
        let cells = rows.flat_map(|row| row.as_array().expect("cells"));
        let numbers = cells.filter(|cell| cell["value"].is_number());
        let pair = |cell: &Value| {
            (cell["value"].to_string(), cell["text"].as_str().unwrap_or_default().to_owned())
        };
        let id = table["id"].as_str().expect("id").to_owned();
        tables.insert(id, numbers.map(pair).collect());
    }
    tables
}

/// The numbers of a table in the page: the full value and what is shown.
fn shown(page: &str, id: &str) -> Vec<(String, String)> {
    let start = page.find(&format!("<table id=\"{id}\"")).expect("the table is in the page");
    let table = &page[start..start + page[start..].find("</table>").expect("its end")];
    let data = table.split("<data value=\"").skip(1);
    let pair = |part: &str| {
        let (value, rest) = part.split_once("\">").expect("a value");
        (value.to_owned(), rest.split_once("</data>").expect("a text").0.replace("&lt;", "<"))
    };
    data.map(pair).collect()
}

#[test]
fn page_and_files_agree() {
    let (dir, page) = written(&mut sample::results());
    let tables = numbers(dir.path());
    assert!(tables.len() >= 6, "{:?}", tables.keys());
    for (id, expected) in &tables {
        let shown = shown(&page, id);
        assert_eq!(shown.len(), expected.len(), "{id}");
        for ((value, text), (full, same)) in shown.iter().zip(expected) {
            assert_eq!(text, same, "{id}");
            let (value, full): (f64, f64) =
                (value.parse().expect("f64"), full.parse().expect("f64"));
            assert!((value - full).abs() <= 1e-15 * full.abs(), "{id}: {value} {full}");
        }
        let csv = fs::read_to_string(dir.path().join(format!("report/{id}.csv"))).expect("csv");
        for (value, _) in shown {
            assert!(csv.contains(&value), "{id}: {value}");
        }
    }
    let svgs: Vec<_> = fs::read_dir(dir.path().join("report"))
        .expect("files")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "svg"))
        .collect();
    assert_eq!(svgs.len(), page.matches("<figure id=").count());
    for svg in svgs {
        let text = fs::read_to_string(&svg).expect("svg");
        assert!(!text.contains("NaN") && text.ends_with("</svg>\n"), "{}", svg.display());
    }
}

#[test]
fn nothing_but_itself() {
    let (_dir, page) = written(&mut sample::results());
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("paper 5.46") || page.contains("5.46 s"), "the paper's value");
    assert!(page.contains("Access map of"), "a map");
    assert!(page.contains("short-phase"), "a mark of the checklist");
    assert!(page.contains("mkfs.jfs is missing"), "what was left out");
}

/// The list of what was left out.
fn left_out(page: &str) -> &str {
    let (_, rest) = page.split_once("<ul class=\"left-out\">").expect("a list");
    rest.split_once("<h3>").expect("what follows").0
}

#[test]
fn what_was_left_out_is_grouped_by_reason() {
    let (_dir, page) = written(&mut sample::results());
    let list = left_out(&page);
    assert!(list.contains(
        "mkfs.jfs is missing; package jfsutils has it: filesystem jfs, processes 1 (5 runs)"
    ));
    let study = "gone from current kernels: filesystem nilfs2, processes 1; filesystem nilfs2, \
                 processes 4 (by the study's file)";
    assert!(list.contains(study) && !list.contains("<details"), "{list}");
    let mut results = sample::results();
    let guest = ["jfs", "reiserfs", "xfs"];
    for record in &mut results.studies[0].records {
        if guest.contains(&record.levels["filesystem"].as_str()) {
            record.status = Status::Skipped("linux.uml is missing".into());
        }
    }
    let (dir, page) = written(&mut results);
    let list = left_out(&page);
    let line = "linux.uml is missing: 6 configurations, filesystem xfs (2), jfs (2), reiserfs (2) \
                (30 runs)<details><summary>The 6 configurations</summary>";
    assert!(list.contains(line), "{list}");
    assert_eq!(list.matches("linux.uml is missing").count(), 1, "{list}");
    assert_eq!(list.matches("<li>").count(), 2 + 6, "{list}");
    // Each run's own is in the table of all runs.
    let runs = dir.path().join("report/dualfs-micro-quick-runs.csv");
    let runs = fs::read_to_string(runs).expect("a table");
    assert_eq!(runs.matches("skipped,linux.uml is missing,").count(), 30, "{runs}");
    let failed = dir.path().join("report/dualfs-micro-quick-failed.csv");
    assert_eq!(fs::read_to_string(failed).expect("a table").lines().count(), 1 + 1);
}

#[test]
fn words_stay_words() {
    let (dir, page) = written(&mut sample::hostile());
    assert_eq!(page.matches("<script").count(), 1, "only the page's own");
    assert!(!page.contains("<img"));
    assert!(page.contains("&lt;script&gt;"));
    for entry in fs::read_dir(dir.path().join("report")).expect("files") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("a text");
        let svg = path.extension().is_some_and(|extension| extension == "svg");
        assert!(!svg || !text.contains("<script"), "{}", path.display());
    }
    let outside = dir.path().parent().expect("a parent").join("escaped.csv");
    assert!(!outside.exists());
}

#[test]
fn odd_results() {
    let (_dir, page) = written(&mut Results::default());
    assert!(page.contains("What was found"));
    let mut none = sample::results();
    none.studies.iter_mut().for_each(|study| study.records.clear());
    let (_dir, page) = written(&mut none);
    assert!(page.contains("no run of it was measured"));
    let (_dir, page) = written(&mut sample::not_numbers());
    assert!(!page.contains("NaN") && !page.contains(">inf"));
}

#[test]
fn browser_reads_it() {
    let Some(browser) = browser::find() else {
        eprintln!("SKIPPED: no browser (package chromium-headless-shell or chromium)");
        return;
    };
    for (mut results, name) in [(sample::results(), "sample"), (sample::hostile(), "hostile")] {
        let (dir, page) = written(&mut results);
        for width in [390, 1440] {
            let seen = browser::examine(&browser, dir.path(), &page, width);
            assert_eq!(seen["errors"], serde_json::json!([]), "{name}, {width}");
            assert_eq!(seen["hacked"], false, "{name}");
            let (wide, window) = (seen["wide"].as_u64(), seen["window"].as_u64());
            assert!(wide <= window && window == Some(width), "{name}: {wide:?} {window:?}");
            assert_eq!(seen["outside"], serde_json::json!([]), "{name}, {width}");
            let figures = page.matches("<figure id=").count() as u64;
            assert_eq!(seen["figures"].as_u64(), Some(figures), "{name}");
            assert_eq!(seen["empty"], 0, "figures without a picture or without words: {name}");
            assert!(seen["sorted"].as_u64() > Some(0), "{name}");
            assert_eq!(seen["unsorted"], serde_json::json!([]), "{name}");
        }
    }
}

#[test]
fn browser_prints_it() {
    let Some(browser) = browser::find() else {
        eprintln!("SKIPPED: no browser (package chromium-headless-shell or chromium)");
        return;
    };
    let (dir, _) = written(&mut sample::results());
    let pdf = browser::print(&browser, dir.path());
    assert!(pdf.starts_with(b"%PDF") && pdf.len() > 20_000, "{} bytes", pdf.len());
}
