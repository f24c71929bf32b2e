//! `tandem demo`: the main job, end to end, on image files.

mod ext4;
mod library;
mod mounted;
mod place;
mod program;
mod report;
mod tree;

use std::path::Path;

use anyhow::Result;

use crate::cli::{DemoArgs, exit};
use crate::output;
use place::Place;
use report::Report;
use tree::Tree;

/// Does the same work on a Tandem volume and on ext4, and shows what each device did.
pub fn run(args: &DemoArgs) -> Result<u8> {
    program::catch_interrupts()?;
    let place = Place::new(args.dir.as_deref(), args.keep)?;
    let tree = Tree::find(args.tree.as_deref(), &place)?;
    say(&format!("tree: {tree}"));
    let report = match why_not_mounted(args) {
        Some(why) => {
            say(&format!("{why}: using the volume through the library instead"));
            Report { phases: library::run(&place, &tree)?, ..Report::default() }
        }
        None => {
            let loops = place::Loop::possible();
            if !loops {
                say("no loop devices here: Tandem counts its own requests, and no ext4 beside it");
            }
            let mut report = Report {
                kernel_counts: loops,
                phases: mounted::run(&place, &tree, loops)?,
                peer: None,
            };
            if loops && !args.no_ext4 {
                report.peer = ext4::run(&place, &tree)?;
            }
            report
        }
    };
    if args.json {
        output::print_json(&report.json())?;
    } else {
        output::print(&report.table(&tree))?;
    }
    if args.keep {
        say(&format!("the image files are in {}", place.dir().display()));
    }
    Ok(exit::OK)
}

fn why_not_mounted(args: &DemoArgs) -> Option<String> {
    if args.library {
        return Some("as asked for".to_string());
    }
    if let Err(error) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/fuse") {
        return Some(format!("no volume can be mounted here (/dev/fuse: {error})"));
    }
    let helper = || program::find("fusermount3").is_some();
    if !rustix::process::geteuid().is_root() && !helper() {
        return Some("no volume can be mounted here (not root, and no fusermount3)".to_string());
    }
    None
}

/// What is going on, on standard error.
fn say(text: &str) {
    eprintln!("demo: {text}");
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
