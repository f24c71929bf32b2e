//! Running programs, this one among them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::say;

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on an interrupt ends the program that is being run, and this one after it has tidied
/// up; a second one ends everything at once.
pub fn catch_interrupts() -> Result<()> {
    let flag = INTERRUPTED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_default(signal, flag.clone())?;
        signal_hook::flag::register(signal, flag.clone())?;
    }
    Ok(())
}

/// Fails when there has been an interrupt.
pub fn go_on() -> Result<()> {
    if INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        bail!("interrupted");
    }
    Ok(())
}

/// Where a program is.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    dirs.map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Runs a program and returns what it prints.
pub fn output(program: &str, args: &[&str]) -> Result<String> {
    let path = find(program).with_context(|| format!("{program} is not installed"))?;
    finish(Command::new(path).args(args), program, args)
}

/// Runs a command of this program, after showing it, and returns what it prints.
pub fn tandem(args: &[&str]) -> Result<String> {
    say(&format!("$ tandem {}", args.join(" ")));
    finish(&mut Command::new("/proc/self/exe"), "tandem", args)
}

/// Runs a program, after showing it.
pub fn show(program: &str, args: &[&str]) -> Result<String> {
    say(&format!("$ {program} {}", args.join(" ")));
    output(program, args)
}

fn finish(command: &mut Command, program: &str, args: &[&str]) -> Result<String> {
    let is_self = program == "tandem";
    if is_self {
        command.args(args);
    }
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("run {program}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        eprint!("{said}");
        bail!("{program} {}: {}", args.join(" "), output.status);
    }
    Ok(said)
}
