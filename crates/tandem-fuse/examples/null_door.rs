//! Serves an empty file system that keeps nothing, to measure the door alone:
//! `null_door DIR [-o OPTION]…`. Ends when unmounted.

#[path = "../tests/null/mod.rs"]
mod null;

use std::path::Path;
use std::sync::Arc;

use tandem_fuse::{DoorOptions, mount_handler};

fn main() {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut options = DoorOptions::default();
    let mut handler = null::Null::new();
    handler.keep = false;
    for option in args[1..].iter().filter(|a| *a != "-o") {
        match option.as_str() {
            "create" => handler.create = true,
            "keep" => handler.keep = true,
            option => assert!(options.set(option).unwrap(), "unknown option {option}"),
        }
    }
    let session = match mount_handler(Arc::new(handler), Path::new(&args[0]), &options) {
        Ok(session) => session,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(1);
        }
    };
    let door = session.unmounter();
    println!("ready");
    session.run().unwrap();
    eprintln!("{}", serde_json::to_string(&door.stats()).unwrap());
}
