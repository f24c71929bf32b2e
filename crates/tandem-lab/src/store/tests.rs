use std::io::Read;

use super::*;
use crate::record::{Levels, SCHEMA, Status};

fn record(id: &str, order: u32) -> Record {
    Record {
        schema: SCHEMA,
        id: id.to_owned(),
        study: "s".to_owned(),
        scale: "quick".to_owned(),
        levels: Levels::new(),
        memory: None,
        repetition: 1,
        order,
        seed: 7,
        started: 1.5,
        elapsed: 0.25,
        status: Status::Done,
        environment: "e".to_owned(),
        commands: vec!["mkfs ä".to_owned()],
        phases: Vec::new(),
        flags: Vec::new(),
    }
}

fn asked(text: &str) -> Asked {
    Asked {
        study: "s".to_owned(),
        scale: "quick".to_owned(),
        only: Vec::new(),
        repetitions: None,
        text: text.to_owned(),
    }
}

fn filled() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), false).unwrap();
    store.ask(vec![asked("text")], "tandem lab run s").unwrap();
    for at in 1..=3 {
        store.append(record(&format!("a-{at}"), at)).unwrap();
    }
    store.environment("e", &"a machine").unwrap();
    let records = dir.path().join(RECORDS);
    (dir, records)
}

#[test]
fn what_was_written_is_read() {
    let (dir, _) = filled();
    let read = Contents::read(dir.path()).unwrap();
    assert_eq!(read.records.len(), 3);
    assert_eq!(read.records[2], record("a-3", 3));
    assert_eq!(read.manifest.studies, [asked("text")]);
    assert_eq!(read.environments["e"], "a machine");
    let again = Store::open(dir.path(), false).unwrap();
    assert_eq!((again.records(), again.manifest()), (&read.records[..], &read.manifest));
}

#[test]
fn the_last_word_counts() {
    let (dir, _) = filled();
    let failed = Record { status: Status::Failed("x".into()), ..record("a-1", 4) };
    Store::open(dir.path(), false).unwrap().append(failed.clone()).unwrap();
    let read = Contents::read(dir.path()).unwrap();
    assert_eq!(read.records.len(), 3);
    assert_eq!(read.records[0], failed);
}

/// Wherever the last line is torn, the records before it are kept and the next one is whole.
#[test]
fn a_torn_line_is_cut() {
    let (dir, path) = filled();
    let whole = fs::read(&path).unwrap();
    let second = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for end in second..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        assert_eq!(Contents::read(dir.path()).unwrap().records.len(), 2, "{end}");
        let mut store = Store::open(dir.path(), false).unwrap();
        store.append(record("a-9", 9)).unwrap();
        drop(store);
        let read = Contents::read(dir.path()).unwrap();
        let ids: Vec<_> = read.records.iter().map(|record| record.id.as_str()).collect();
        assert_eq!(ids, ["a-1", "a-2", "a-9"], "{end}");
    }
}

/// Space that was allotted and never written reads as zeros after a power loss.
#[test]
fn a_zeroed_tail_is_cut() {
    let (dir, path) = filled();
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend([0; 4096]);
    fs::write(&path, &bytes).unwrap();
    let mut store = Store::open(dir.path(), false).unwrap();
    assert_eq!(store.records().len(), 3);
    store.begin().unwrap();
    assert_eq!(fs::read(&path).unwrap().len(), bytes.len() - 4096);
}

#[test]
fn damage_in_the_middle_is_told() {
    let (dir, path) = filled();
    let mut bytes = fs::read(&path).unwrap();
    bytes[10] = b'#';
    fs::write(&path, &bytes).unwrap();
    let said = Store::open(dir.path(), false).unwrap_err().to_string();
    assert!(said.contains("records.jsonl:1: ") && said.contains("nothing was changed"), "{said}");
    let mut after = Vec::new();
    File::open(&path).unwrap().read_to_end(&mut after).unwrap();
    assert_eq!(after, bytes);
}

#[test]
fn other_shapes_are_refused() {
    let (dir, path) = filled();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"schema\":1", "\"schema\":2")).unwrap();
    let said = Contents::read(dir.path()).unwrap_err().to_string();
    assert!(said.contains("shape 2"), "{said}");
}

#[test]
fn foreign_folders_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let said = Contents::read(dir.path()).unwrap_err().to_string();
    assert!(said.contains("no lab.json"), "{said}");
    fs::write(dir.path().join("letter.txt"), "dear").unwrap();
    let said = Store::open(dir.path(), false).unwrap_err().to_string();
    assert!(said.contains("not empty (letter.txt)"), "{said}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    for (text, says) in
        [("{", "lab.json: EOF"), ("{\"kind\":\"x\"}", "not of kind"), ("[1]", "not of kind")]
    {
        fs::write(dir.path().join(MANIFEST), text).unwrap();
        let said = Contents::read(dir.path()).unwrap_err().to_string();
        assert!(said.contains(says), "{said}");
        assert!(Store::open(dir.path(), false).is_err());
    }
}

#[test]
fn one_lab_at_a_time() {
    let (dir, _) = filled();
    let first = Store::open(dir.path(), false).unwrap();
    let said = Store::open(dir.path(), false).unwrap_err().to_string();
    assert!(said.contains("another lab is at work in"), "{said}");
    assert!(said.contains(&format!("process {}", std::process::id())), "{said}");
    drop(first);
    assert!(Store::open(dir.path(), false).is_ok());
}

/// Every file below a directory, with what is in it.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => all.extend(files(&entry)),
            false => _ = all.insert(entry.clone(), fs::read(&entry).unwrap()),
        }
    }
    all
}

#[test]
fn what_does_not_begin_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("a/b");
    let mut store = Store::open(&out, false).unwrap();
    store.ask(vec![asked("text")], "tandem lab run s").unwrap();
    assert!(out.join("lock").exists());
    drop(store);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    Store::open(&out, false).unwrap().begin().unwrap();
    let begun = files(&out);
    assert!(begun.contains_key(&out.join("lab.json")) && begun.contains_key(&out.join("lock")));
}

#[test]
fn what_does_not_begin_changes_nothing() {
    let (dir, path) = filled();
    let mut torn = fs::read(&path).unwrap();
    torn.extend(b"{\"schema\"");
    fs::write(&path, &torn).unwrap();
    let before = files(dir.path());
    let mut store = Store::open(dir.path(), false).unwrap();
    store.ask(vec![Asked { study: "t".to_owned(), ..asked("more") }], "again").unwrap();
    drop(store);
    assert_eq!(files(dir.path()), before);
}

#[test]
fn another_study_of_the_same_name_is_refused() {
    let (dir, _) = filled();
    let mut store = Store::open(dir.path(), false).unwrap();
    let more = Asked { repetitions: Some(9), ..asked("text") };
    store.ask(vec![more.clone()], "again").unwrap();
    assert_eq!(store.manifest().studies, [more]);
    let said = store.ask(vec![asked("other")], "x").unwrap_err().to_string();
    assert!(said.contains("another text"), "{said}");
    let part = Asked { only: vec![("a".into(), "b".into())], ..asked("text") };
    let said = store.ask(vec![part], "x").unwrap_err().to_string();
    assert!(said.contains("another choice"), "{said}");
}

/// As for a moment whenever a program is started: the child has all open files until it executes.
#[test]
fn the_lock_goes_although_a_child_has_the_file() {
    let (dir, _) = filled();
    let store = Store::open(dir.path(), false).unwrap();
    let held: Vec<_> = store.locks.iter().map(|lock| lock.file.try_clone().unwrap()).collect();
    drop(store);
    assert!(Store::open(dir.path(), false).is_ok());
    drop(held);
}

/// Rules that runs break together are in what a report is made of.
#[test]
fn results_are_marked() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path(), false).unwrap();
    let text = include_str!("../../studies/io-bound.toml");
    let study = || "io-bound".to_owned();
    store.ask(vec![Asked { study: study(), ..asked(text) }], "tandem lab run io-bound").unwrap();
    store.append(Record { study: study(), ..record("a-1", 1) }).unwrap();
    let results = Contents::read(dir.path()).unwrap().results(dir.path()).unwrap();
    let flags = &results.studies[0].records[0].flags;
    assert!(flags.iter().any(|flag| flag.rule == "few-runs"), "{flags:?}");
}
