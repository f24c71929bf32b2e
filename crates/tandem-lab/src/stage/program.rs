//! Running programs.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use super::StageError;

/// Where a program is; paths are themselves.
pub fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let sbin = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"];
    let dirs = std::env::split_paths(&path).chain(sbin.map(PathBuf::from));
    dirs.map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Runs a command to its end and returns what it printed.
///
/// # Errors
/// [`StageError::Missing`] without the program; [`StageError::Failed`] with its last words.
pub fn run(command: &[String]) -> Result<String, StageError> {
    let (name, args) = command.split_first().map_or(("", &[][..]), |(name, args)| (name, args));
    let missing = || StageError::Missing { what: name.to_owned(), package: None };
    let program = find(name).ok_or_else(missing)?;
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|e| StageError::failed(shown(command), e.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(StageError::failed(shown(command), last_words(&output)))
}

/// The command as one would type it.
pub fn shown(command: &[String]) -> String {
    let quoted = command.iter().map(|word| {
        let plain = |c: char| c.is_alphanumeric() || "-_./,=:+@%^".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// The status, and the last lines that were printed.
fn last_words(output: &Output) -> String {
    let said = [&output.stderr, &output.stdout].map(|said| String::from_utf8_lossy(said));
    let said = said.iter().map(|said| said.trim()).find(|said| !said.is_empty()).unwrap_or("");
    format!("{}: {}", output.status, tail(said, 4))
}

/// The last lines of a text.
pub fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    all[all.len().saturating_sub(lines)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_have_last_words() {
        let command = ["sh", "-c", "echo no such luck >&2; exit 3"].map(str::to_owned);
        let error = run(&command).unwrap_err().to_string();
        assert!(error.contains("no such luck") && error.contains('3'), "{error}");
        assert_eq!(shown(&command), "sh -c 'echo no such luck >&2; exit 3'");
        let error = run(&["no-such-program".to_owned()]).unwrap_err();
        assert!(matches!(error, StageError::Missing { .. }));
    }
}
