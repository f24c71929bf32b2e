//! The measures on a source tree, on a new volume and on an aged one.

use crate::common::fs::{Fs, Res, run};
use crate::{Args, affinity, age, contents, metadata};
use std::process::Command;

const META: u64 = 512 << 20;
const DATA: u64 = 6 << 30;
/// The aged volumes are small: ten times their files go over them.
const AGED_META: u64 = 256 << 20;
const AGED_DATA: u64 = 2 << 30;

/// All measures on new volumes.
pub fn all(args: &Args) -> Res<()> {
    let mut volumes = Vec::new();
    for name in &args.tree_fs {
        eprintln!("untar: {name}");
        let fs = Fs::make_sized(&args.setup, name, META, DATA)?;
        affinity::untar(&args.tree, &[], &fs.root())?;
        volumes.push(fs);
    }
    let tree = args.top();
    metadata::prefetch(&mut volumes, "find -size +2k, cold")?;
    for fs in volumes.iter_mut().filter(|fs| fs.name == "tandem") {
        metadata::relocation(fs)?;
    }
    let mut layouts = Vec::new();
    let mut reads = contents::grep_rows(&mut volumes, &tree, "", "")?;
    for fs in &mut volumes {
        contents::add_layout(&mut layouts, fs, "untar", &tree)?;
    }
    for fs in &mut volumes {
        eprintln!("cp -a: {}", fs.name);
        let from = fs.root().join(&tree);
        run(Command::new("cp").arg("-a").arg(from).arg(fs.root().join("copy")), false)?;
        contents::add_layout(&mut layouts, fs, "cp -a", "copy")?;
    }
    contents::diff(&mut volumes, &tree, "copy")?;
    metadata::removal(&mut volumes, &tree, "rm -rf of the tree, cold, after all of this")?;
    for mut fs in volumes {
        fs.end()?;
    }
    if args.tree_fs.iter().any(|name| name == "tandem") {
        let mut plain = [plain(args)?];
        reads.extend(contents::grep_rows(&mut plain, &tree, PLAIN, ", both off")?);
        contents::add_layout(&mut layouts, &mut plain[0], "untar, continuous=off", &tree)?;
    }
    contents::show_layouts("Continuity", &layouts);
    crate::table::show("grep -r, cold", &contents::READ_HEAD, &reads);
    Ok(())
}

/// Removal of a tree that nobody has read since it was unpacked.
pub fn fresh(args: &Args) -> Res<()> {
    let mut volumes = Vec::new();
    for name in &args.tree_fs {
        eprintln!("untar: {name}");
        let fs = Fs::make_sized(&args.setup, name, META, DATA)?;
        affinity::untar(&args.tree, &[], &fs.root())?;
        volumes.push(fs);
    }
    metadata::removal(&mut volumes, &args.top(), "rm -rf of a fresh tree, cold")?;
    volumes.iter_mut().try_for_each(Fs::end)
}

const PLAIN: &str = "continuous=off,cross-file=off";

/// A volume with neither continuous allocation nor cross-file readahead.
fn plain(args: &Args) -> Res<Fs> {
    let mut setup = args.setup.clone();
    setup.options = PLAIN.into();
    let fs = Fs::make_sized(&setup, "tandem", META, DATA)?;
    affinity::untar(&args.tree, &[], &fs.root())?;
    Ok(fs)
}

/// The measures after ageing: the tree's parts are unpacked into what is left free.
pub fn aged(args: &Args) -> Res<()> {
    let (mut layouts, mut reads) = (Vec::new(), Vec::new());
    for name in &args.tree_fs {
        eprintln!("ageing: {name}");
        let mut fs = [Fs::make_sized(&args.setup, name, AGED_META, AGED_DATA)?];
        let aged = fs[0].root().join("aged");
        std::fs::create_dir(&aged)?;
        // Room for the tree's parts below what shall be full in the end.
        let ageing = age::Ageing { fill: args.age.fill.saturating_sub(7), ..args.age };
        println!("{name}: {}\n", age::age(&aged, &ageing)?);
        contents::add_layout(&mut layouts, &mut fs[0], "the aged files", "aged")?;
        affinity::untar(&args.tree, &args.parts, &fs[0].root())?;
        println!("{name}: {} % full with the tree\n", age::full(&fs[0].root())?);
        metadata::rest(&mut fs[0])?;
        contents::add_layout(&mut layouts, &mut fs[0], "untar on it", &args.top())?;
        reads.extend(contents::grep_rows(&mut fs, &args.top(), "", ", tree")?);
        reads.extend(contents::grep_rows(&mut fs, "aged", "", ", aged files")?);
        // What was read has new access times, which are logged.
        metadata::rest(&mut fs[0])?;
        metadata::prefetch(&mut fs, &format!("find -size +2k, cold, aged: {name}"))?;
        fs[0].end()?;
    }
    contents::show_layouts("Continuity on aged volumes", &layouts);
    crate::table::show("grep -r, cold, on aged volumes", &contents::READ_HEAD, &reads);
    Ok(())
}
