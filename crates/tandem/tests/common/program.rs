//! Programs, with a limit on their time and their output kept for the message.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long any one program may take.
pub const LIMIT: Duration = Duration::from_secs(300);

/// What a program did.
#[derive(Debug)]
pub struct Output {
    /// What was run.
    pub line: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Output {
    /// Whether it ended with 0.
    pub fn ok(&self) -> bool {
        self.status.success()
    }

    /// Both outputs.
    pub fn text(&self) -> String {
        format!("{}{}", self.out, self.err)
    }

    /// Panics, with all that is known, unless it ended with 0.
    #[track_caller]
    pub fn must(self) -> Output {
        assert!(self.ok(), "{self}");
        self
    }

    /// Panics, with all that is known, unless it ended with another status, by itself.
    #[track_caller]
    pub fn must_fail(self) -> Output {
        assert!(self.status.code().is_some_and(|c| c != 0), "should have failed: {self}");
        self
    }

    /// Panics unless each of these words is in what it said, whatever their case.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Output {
        let text = self.text().to_lowercase();
        for word in words {
            assert!(text.contains(&word.to_lowercase()), "does not say “{word}”: {self}");
        }
        self
    }

    /// Panics unless one of these words is in what it said, whatever their case.
    #[track_caller]
    pub fn says_one_of(self, words: &[&str]) -> Output {
        let text = self.text().to_lowercase();
        let said = words.iter().any(|w| text.contains(&w.to_lowercase()));
        assert!(said, "says none of {words:?}: {self}");
        self
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Output { line, status, out, err } = self;
        let tail = |s: &str| {
            let from = s.len().saturating_sub(4000);
            s.get(from..).unwrap_or(s).trim_end().to_owned()
        };
        write!(f, "{line}\n  {status}\n  out: {}\n  err: {}", tail(out), tail(err))
    }
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Output {
    let line = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ");
    let (mut out, mut err) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    let child = command
        .stdin(Stdio::null())
        .stdout(out.try_clone().unwrap())
        .stderr(err.try_clone().unwrap())
        .spawn()
        .unwrap_or_else(|e| panic!("{line}: {e}"));
    let status = wait(child, LIMIT).unwrap_or_else(|| panic!("{line}: took over {LIMIT:?}"));
    let text = |f: &mut File| {
        let mut bytes = Vec::new();
        f.rewind().and_then(|()| f.read_to_end(&mut bytes)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Output { line, status, out: text(&mut out), err: text(&mut err) }
}

/// Runs a shell script, which ends at its first error.
pub fn sh(script: &str) -> Output {
    run(Command::new("bash").arg("-euo").arg("pipefail").arg("-c").arg(script))
}

/// Waits for a child; past the limit it is killed and there is no status.
pub fn wait(mut child: Child, limit: Duration) -> Option<ExitStatus> {
    let (start, mut nap) = (Instant::now(), Duration::from_micros(200));
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(nap);
        nap = (nap * 2).min(Duration::from_millis(10));
    }
}

/// Whether a program can be found.
pub fn have(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/sbin", "/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).any(|d| d.join(program).is_file())
}

/// Whether all of these can be found; says which are missing.
pub fn have_all(programs: &[&str]) -> bool {
    let missing: Vec<_> = programs.iter().filter(|p| !have(p)).collect();
    if !missing.is_empty() {
        println!("not run: {missing:?} missing");
        // A machine that builds the project has been given its packages.
        assert!(std::env::var_os("CI").is_none(), "CI lacks {missing:?}");
    }
    missing.is_empty()
}
