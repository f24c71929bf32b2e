//! What cannot begin leaves everything as it was.

use std::fs;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::lab;

/// A study that asks for more than any machine has.
fn study(dir: &Path, disk: &str) -> String {
    let text = format!(
        r#"
name = "huge"
title = "More than there is"
workload = "io-bound"
[factors]
filesystem = ["ext2"]
disk = ["{disk}"]
[scale.quick]
repetitions = 3
size = "9000T"
"#
    );
    let path = dir.join(format!("{disk}.toml"));
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn too_little_space_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for (disk, says) in [("host", "images may take"), ("ram", "of memory")] {
        let study = study(dir.path(), disk);
        let before = names(dir.path());
        let (out, work) = (dir.path().join("a/out"), dir.path().join("b/work"));
        let run = ["run", &study, "--beside", "--out", out.to_str().unwrap()];
        lab(&run).must_fail().says(&[says, "nothing was begun"]);
        assert_eq!(names(dir.path()), before);
        let run = [&run[..], &["--work", work.to_str().unwrap()]].concat();
        lab(&run).must_fail().says(&[says, "nothing was begun"]);
        assert_eq!(names(dir.path()), before);
    }
}

#[test]
fn nothing_to_run_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("study.toml"), "name = 5\n").unwrap();
    let bad = dir.path().join("study.toml");
    let out = dir.path().join("out");
    let out = out.to_str().unwrap();
    lab(&["run", "--beside", "--out", out]).must_fail().says(&["no study"]);
    lab(&["run", bad.to_str().unwrap(), "--beside", "--out", out]).must_fail();
    assert_eq!(names(dir.path()), ["study.toml"]);
    // A directory that was there stays, empty.
    fs::create_dir(out).unwrap();
    lab(&["run", "--beside", "--out", out]).must_fail().says(&["no study"]);
    assert_eq!(names(Path::new(out)), [""; 0]);
}

#[test]
fn another_lab_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let study = study(dir.path(), "host");
    let before = names(dir.path());
    // Another test's may hold it: that is another lab, too.
    let lock = ["/run/lock", "/tmp"].into_iter().find(|dir| Path::new(dir).is_dir()).unwrap();
    let lock = fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(Path::new(lock).join("tandem-lab"))
        .unwrap();
    let held = flock(&lock, FlockOperation::NonBlockingLockExclusive);
    let out = dir.path().join("out");
    let said = lab(&["run", &study, "--out", out.to_str().unwrap()]).must_fail();
    if held.is_ok() {
        said.says(&["another lab is at work on this machine"]);
    }
    drop(lock);
    assert_eq!(names(dir.path()), before);
}

#[test]
fn a_study_that_is_refused_changes_no_results() {
    if !super::able() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let study = study(dir.path(), "host");
    let out = dir.path().join("out");
    let out = out.to_str().unwrap();
    let small = ["run", "io-bound", "--trial", "--only", "filesystem=ext2", "--beside"];
    lab(&[&small[..], &["--out", out]].concat()).must();
    let text = |name: &str| fs::read_to_string(Path::new(out).join(name)).unwrap();
    let (before, files) = (text("lab.json"), names(Path::new(out)));
    let run = ["run", &study, "--beside", "--out", out];
    lab(&run).must_fail().says(&["nothing was begun"]);
    assert_eq!((text("lab.json"), names(Path::new(out))), (before, files));
}
