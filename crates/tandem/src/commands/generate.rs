//! Man pages and completions, from the definition of the command line.

use std::path::Path;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Cli, exit};

/// Writes `tandem.8`, `tandem-mkfs.8`, … into `dir`.
pub fn man(dir: &Path) -> Result<u8> {
    make_dir(dir)?;
    let mut root = Cli::command();
    root.build();
    page(dir, "tandem", &root)?;
    for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
        if command.get_name() != "help" {
            page(dir, &format!("tandem-{}", command.get_name()), command)?;
        }
    }
    Ok(exit::OK)
}

fn page(dir: &Path, name: &str, command: &clap::Command) -> Result<()> {
    let path = dir.join(format!("{name}.8"));
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name).section("8").render(&mut text)?;
    std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))
}

/// Writes completions for bash, zsh and fish into `dir`.
pub fn completions(dir: &Path) -> Result<u8> {
    make_dir(dir)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Cli::command(), "tandem", dir)
            .with_context(|| format!("write completions into {}", dir.display()))?;
    }
    Ok(exit::OK)
}

fn make_dir(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))
}
