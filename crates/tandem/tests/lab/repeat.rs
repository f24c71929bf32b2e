//! Repetitions until intervals are narrow enough, by runs that were made.

use std::collections::BTreeMap;
use std::fs;

use super::{able, lab, records};

/// One variant gives the same value in every run, the other the run's seed.
const STUDY: &str = r#"
name = "exact"
title = "As often as it takes"
workload = "command"
parameters = { steps = [{ name = "only", command = "echo > file; echo value x 5" }] }
[factors]
filesystem = ["ext2"]
disk = ["ram"]
variant = ["steady", "varying"]
[change.variant.steady]
[change.variant.varying]
parameters = { steps = [{ name = "only", command = "echo > file; echo value x $LAB_SEED" }] }
[scale.quick]
repetitions = 3
width = 0.0001
most = 5
size = "16M"
[[figure]]
title = "The value"
metric = "value:x"
by = "variant"
"#;

#[test]
fn repeated_until_it_is_exact() {
    if !able() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let study = dir.path().join("exact.toml");
    fs::write(&study, STUDY).unwrap();
    let out = dir.path().join("out");
    let run =
        ["run", study.to_str().unwrap(), "--beside", "--json", "--out", out.to_str().unwrap()];
    let done = |said: super::Output| {
        let said: serde_json::Value = serde_json::from_str(&said.must().out).unwrap();
        said["done"].as_u64().unwrap()
    };
    assert_eq!(done(lab(&run)), 3 + 5);
    let mut runs: BTreeMap<String, u32> = BTreeMap::new();
    for record in records(&out) {
        assert_eq!(record["status"]["status"], "done", "{record:#}");
        let variant = record["levels"]["variant"].as_str().unwrap();
        *runs.entry(variant.to_owned()).or_default() += 1;
    }
    assert_eq!(runs, BTreeMap::from([("steady".into(), 3), ("varying".into(), 5)]));
    assert_eq!(done(lab(&run)), 0, "nothing is made twice");
}
