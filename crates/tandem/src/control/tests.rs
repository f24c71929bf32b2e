use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;

use super::*;

const DEV: (u32, u32) = (0, 57);

fn daemon(dir: &Path, name: &'static str) -> Server {
    let mut server = Server::listen_in(dir).unwrap();
    server.serve(DEV, Arc::new(move |_| Some(name.into()))).unwrap();
    server
}

fn who(dir: &Path) -> String {
    let mut stream = places::connect(&[dir.to_path_buf()], DEV).unwrap();
    writeln!(stream, "who").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line.trim().trim_matches('"').to_owned()
}

fn count(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

#[test]
fn a_daemon_that_ends_leaves_a_newer_one_alone() {
    let dir = tempfile::tempdir().unwrap();
    let old = daemon(dir.path(), "old");
    assert_eq!(who(dir.path()), "old");
    // The kernel has given the number away again before the first one was done.
    let new = daemon(dir.path(), "new");
    assert_eq!(who(dir.path()), "new");
    drop(old);
    assert_eq!((who(dir.path()).as_str(), count(dir.path())), ("new", 1));
    drop(new);
    assert_eq!(count(dir.path()), 0);
    assert!(places::connect(&[dir.path().into()], DEV).is_err());
}

#[test]
fn a_daemon_that_is_mounting_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::listen_in(dir.path()).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            tell.send(()).unwrap();
            who(dir.path())
        });
        told.recv().unwrap();
        server.serve(DEV, Arc::new(|_| Some("here".into()))).unwrap();
        assert_eq!(client.join().unwrap(), "here");
    });
}

#[test]
fn what_killed_daemons_left_is_passed_over_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let old = places::unique();
    for name in [places::name_mounting(&old), places::name_mounted(DEV, &old)] {
        drop(UnixListener::bind(dir.path().join(name)).unwrap());
    }
    let error = places::connect(&[dir.path().into()], DEV).unwrap_err().to_string();
    assert!(error.contains("killed"), "{error}");
    let _server = daemon(dir.path(), "new");
    assert_eq!((who(dir.path()).as_str(), count(dir.path())), ("new", 1));
}
