use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::study::{Given, shipped};

const STUDY: &str = r#"
name = "small"
title = "A small study"
workload = "io-bound"
parameters = { count = 20 }
[factors]
filesystem = ["ext2", "ext4", "ext4-nj"]
processes = [1, 4]
load = ["none", "some"]
[change.filesystem.ext4-nj]
base = "ext4"
mkfs = ["-O", "^has_journal"]
[change.load.none]
[change.load.some]
mount = "noatime"
[[exclude]]
levels = { filesystem = "ext2", processes = 4 }
reason = "not wanted"
[scale.quick]
repetitions = 3
size = "64M"
factors = { processes = [1] }
[scale.full]
repetitions = 5
size = "1G"
"#;

fn study() -> Study {
    Given::parse("small.toml", STUDY).unwrap().study
}

fn planned(study: &Study, scale: &str) -> (Vec<Configuration>, Vec<LeftOut>) {
    configurations(study, scale, &study.scale[scale]).unwrap()
}

#[test]
fn every_combination_is_kept_or_left_out() {
    let study = study();
    let (kept, out) = planned(&study, "full");
    assert_eq!((kept.len(), out.len()), (10, 2));
    assert!(out.iter().all(|out| out.reason == "not wanted"));
    let (kept, out) = planned(&study, "quick");
    assert_eq!((kept.len(), out.len()), (6, 0));
    assert!(kept.iter().all(|one| one.processes == 1 && one.size == 64 << 20));
}

#[test]
fn levels_change_what_they_say() {
    let (kept, _) = planned(&study(), "full");
    let one = kept.iter().find(|one| {
        one.levels["filesystem"] == "ext4-nj" && one.levels["load"] == "some" && one.processes == 4
    });
    let one = one.unwrap();
    assert_eq!(one.filesystem, "ext4");
    assert_eq!(one.mkfs, ["-O", "^has_journal"]);
    assert_eq!(one.mount, "noatime");
}

#[test]
fn identities_are_distinct_and_stay() {
    let study = study();
    let (kept, _) = planned(&study, "full");
    let ids: BTreeSet<_> = kept.iter().map(|one| one.id.clone()).collect();
    assert_eq!(ids.len(), kept.len());
    assert_eq!(planned(&study, "full").0, kept);
    let mut other = study;
    other.change.get_mut("load").unwrap().get_mut("some").unwrap().mount = "relatime".into();
    let (changed, _) = planned(&other, "full");
    for (one, other) in kept.iter().zip(&changed) {
        assert_eq!(one.id != other.id, one.levels["load"] == "some");
    }
}

#[test]
fn the_last_bound_on_memory_counts() {
    let given = |text: &str| planned(&Given::parse("small.toml", text).unwrap().study, "quick").0;
    let bounds = |text: &str| -> Vec<(String, Option<u64>)> {
        let of = |one: &Configuration| (one.levels["load"].clone(), one.memory.map(|b| b >> 20));
        given(text).iter().filter(|one| one.filesystem == "ext2").map(of).collect()
    };
    let each = |none, some| vec![("none".to_owned(), none), ("some".to_owned(), some)];
    assert_eq!(bounds(STUDY), each(None, None));
    let text = STUDY.replace("parameters = { count = 20 }", "memory = \"1G\"");
    assert_eq!(bounds(&text), each(Some(1024), Some(1024)));
    let text = text.replace("[scale.quick]", "[scale.quick]\nmemory = \"512M\"");
    assert_eq!(bounds(&text), each(Some(512), Some(512)));
    let text = text.replace("[change.load.some]", "[change.load.some]\nmemory = \"256M\"");
    assert_eq!(bounds(&text), each(Some(512), Some(256)));
    let text = text.replace("[scale.full]", "change.load.some.memory = \"64M\"\n[scale.full]");
    assert_eq!(bounds(&text), each(Some(512), Some(64)));
    assert_eq!(super::bounds(&given(&text)), [64, 512].map(|mib| Some(mib << 20)).into());
}

#[test]
fn memory_is_a_part_of_the_identity() {
    let mut study = study();
    let ids = |study: &Study| -> Vec<String> {
        planned(study, "full").0.into_iter().map(|one| one.id).collect()
    };
    let before = ids(&study);
    // As it was before there were bounds: those runs count on.
    assert_eq!(before[0], "4d889e96985e");
    study.memory = Some("256M".to_owned());
    let bounded = ids(&study);
    study.memory = Some("257M".to_owned());
    for ((before, bounded), other) in before.iter().zip(&bounded).zip(ids(&study)) {
        assert!(before != bounded && *bounded != other);
    }
}

#[test]
fn memory_that_may_be_filled_is_needed() {
    let mut study = study();
    let need = |study: &Study| Selected::new(study, "quick", &[]).unwrap().need().memory >> 20;
    assert_eq!(need(&study), 256);
    study.memory = Some("64M".to_owned());
    assert_eq!(need(&study), 256 + 64);
    // More than any machine has bounds nothing.
    study.memory = Some("999T".to_owned());
    assert_eq!(need(&study), 256);
    study.memory = Some("64M".to_owned());
    let uml = toml::Value::String("uml".to_owned());
    study.factors.insert("world".to_owned(), vec![uml]);
    assert_eq!(need(&study), 256 + 64);
    study.memory = None;
    assert_eq!(need(&study), 256 + 1024);
}

#[test]
fn shipped_studies_can_be_planned() {
    for (name, text) in shipped() {
        let study = Given::parse(name, text).unwrap_or_else(|error| panic!("{error}")).study;
        assert_eq!(study.name, *name);
        assert!(study.scale.contains_key("quick") && study.scale.contains_key("full"), "{name}");
        for (scale, of) in &study.scale {
            let (kept, _) = configurations(&study, scale, of).unwrap();
            let ids: BTreeSet<_> = kept.iter().map(|one| &one.id).collect();
            assert_eq!(ids.len(), kept.len(), "{name} {scale}");
        }
    }
}

proptest! {
    /// A block has every configuration once, in an order that only its seed decides.
    #[test]
    fn blocks_are_permutations(seed: u64, repetition in 1u32..50) {
        let (kept, _) = planned(&study(), "full");
        let all: Vec<&Configuration> = kept.iter().collect();
        let made = block(&all, seed, repetition);
        prop_assert_eq!(&made, &block(&all, seed, repetition));
        let ids: BTreeSet<_> = made.iter().map(Run::id).collect();
        prop_assert_eq!(ids.len(), kept.len());
        let seeds: BTreeSet<_> = made.iter().map(|run| run.seed).collect();
        prop_assert_eq!(seeds.len(), 1);
        prop_assert!(made[0].seed <= i64::MAX as u64);
    }
}

#[test]
fn blocks_differ() {
    let (kept, _) = planned(&study(), "full");
    let all: Vec<&Configuration> = kept.iter().collect();
    let order = |repetition| {
        let made = block(&all, 7, repetition);
        made.iter().map(|run| run.configuration.id.clone()).collect::<Vec<_>>()
    };
    let orders: BTreeSet<_> = (1..=8).map(order).collect();
    assert!(orders.len() > 1);
}

#[test]
fn only_some_levels() {
    let study = study();
    let only = |pairs: &[(&str, &str)]| {
        let pairs: Vec<_> = pairs.iter().map(|(f, l)| (f.to_string(), l.to_string())).collect();
        Selected::new(&study, "full", &pairs).map(|selected| selected.configurations.len())
    };
    assert_eq!(only(&[]), Ok(10));
    assert_eq!(only(&[("filesystem", "ext4")]), Ok(4));
    assert_eq!(only(&[("filesystem", "ext4"), ("filesystem", "ext2")]), Ok(6));
    assert_eq!(only(&[("filesystem", "ext4"), ("processes", "1"), ("load", "none")]), Ok(1));
    let said = only(&[("filesystem", "xfs")]).unwrap_err().to_string();
    assert!(said.contains("it has ext2, ext4, ext4-nj"), "{said}");
    let said = only(&[("kernel", "6")]).unwrap_err().to_string();
    assert!(said.contains("filesystem=…"), "{said}");
    let nothing = only(&[("filesystem", "ext2"), ("processes", "4")]);
    assert_eq!(nothing, Err(SelectError::Nothing("small".into())));
    assert!(Selected::new(&study, "huge", &[]).is_err());
}
