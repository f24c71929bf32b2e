//! How the commands ask a mounted volume: a socket in a runtime directory, named by the mount's
//! device number, so that a mount that hangs can still be asked.
//!
//! The client writes one word and a newline; the server answers with one line of JSON. The answer
//! to `wait` comes when the volume has been shut down.

use std::fs::DirBuilder;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open};
use serde_json::Value;

use crate::mounts::Mount;

const PATIENCE: Duration = Duration::from_secs(10);
/// More than this a client never says.
const MAX_REQUEST: u64 = 64;

/// What a daemon answers to a word; `None` for a word that it does not know.
pub type Answer = dyn Fn(&str) -> Option<Value> + Send + Sync;

/// The daemon's end.
pub struct Server {
    path: PathBuf,
    waiting: Arc<Mutex<Vec<UnixStream>>>,
}

impl Server {
    /// Serves `answer` for the mount with this device number.
    pub fn start(dev: (u32, u32), answer: Arc<Answer>) -> Result<Server> {
        let dir = runtime_dir()?;
        let path = dir.join(file_name(dev));
        // The number is ours now; whoever had it before is gone.
        let _ = std::fs::remove_file(&path);
        let listener =
            UnixListener::bind(&path).with_context(|| format!("bind {}", path.display()))?;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666))
            .with_context(|| format!("chmod {}", path.display()))?;
        let waiting = Arc::new(Mutex::new(Vec::new()));
        let server = Server { path, waiting: waiting.clone() };
        std::thread::Builder::new().name("control".to_string()).spawn(move || {
            for stream in listener.incoming().flatten() {
                if let Err(error) = serve(stream, &*answer, &waiting) {
                    tracing::debug!(%error, "a control client went away");
                }
            }
        })?;
        Ok(server)
    }

    /// Tells those who wait how the volume's shutdown went.
    pub fn finish(self, outcome: &Value) {
        // The streams stay open, in the hands of the thread, until the process ends.
        for stream in lock(&self.waiting).iter_mut() {
            let _ = writeln!(stream, "{outcome}");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(
    mut stream: UnixStream,
    answer: &Answer,
    waiting: &Mutex<Vec<UnixStream>>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&stream).take(MAX_REQUEST)).read_line(&mut line)?;
    match line.trim() {
        "wait" => lock(waiting).push(stream),
        word => {
            let value = answer(word).unwrap_or_else(
                || serde_json::json!({ "error": format!("unknown request `{word}`") }),
            );
            writeln!(stream, "{value}")?;
        }
    }
    Ok(())
}

/// Asks the daemon of `mount` one word.
pub fn ask(mount: &Mount, word: &str) -> Result<Value> {
    let mut stream = connect(mount)?;
    writeln!(stream, "{word}")?;
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .with_context(|| format!("{}: the volume's daemon does not answer", mount.dir.display()))?;
    let value: Value = serde_json::from_str(&text)
        .with_context(|| format!("{}: the volume's daemon gave no answer", mount.dir.display()))?;
    if let Some(error) = value.get("error").and_then(Value::as_str) {
        bail!("{}: {error}", mount.dir.display());
    }
    Ok(value)
}

/// The end of a mount, to be waited for.
pub struct Ending {
    stream: UnixStream,
    /// The daemon's process, where it can be told.
    process: Option<OwnedFd>,
}

impl Ending {
    /// Asks to be told when the volume of `mount` has been shut down.
    pub fn of(mount: &Mount) -> Result<Ending> {
        let mut stream = connect(mount)?;
        writeln!(stream, "wait")?;
        stream.set_read_timeout(None)?;
        let process = rustix::net::sockopt::socket_peercred(&stream)
            .and_then(|peer| pidfd_open(peer.pid, PidfdFlags::empty()))
            .ok();
        Ok(Ending { stream, process })
    }

    /// Waits until the daemon's process has ended, and returns its last counters; an error when the shutdown failed or the
    /// daemon died.
    pub fn wait(self) -> Result<Value> {
        let mut text = String::new();
        BufReader::new(self.stream).read_to_string(&mut text)?;
        // Only when the process is gone are its devices free for certain.
        if let Some(process) = &self.process {
            while poll(&mut [PollFd::new(process, PollFlags::IN)], None) == Err(Errno::INTR) {}
        }
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            bail!("the volume's daemon ended without a word; the next mount recovers the volume");
        };
        match value.get("error").and_then(Value::as_str) {
            Some(error) => bail!("the volume could not be shut down cleanly: {error}"),
            None => Ok(value),
        }
    }
}

fn connect(mount: &Mount) -> Result<UnixStream> {
    let name = file_name(mount.dev);
    let mut last = None;
    for dir in places() {
        match UnixStream::connect(dir.join(&name)) {
            Ok(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => last = Some(e),
        }
    }
    match last {
        Some(e) => Err(e)
            .with_context(|| format!("{}: cannot reach the volume's daemon", mount.dir.display())),
        None => bail!(
            "{}: the volume's daemon has left no control socket ({name}); was it killed?",
            mount.dir.display()
        ),
    }
}

fn file_name((major, minor): (u32, u32)) -> String {
    format!("{major}-{minor}.sock")
}

/// Where sockets may be, the likeliest first.
fn places() -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from("/run/tandem")];
    places.extend(user_dir());
    if rustix::process::geteuid().is_root() {
        for (parent, prefix, rest) in [("/run/user", "", "tandem"), ("/tmp", "tandem-", "")] {
            let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
            let names = entries.filter(|e| e.file_name().to_string_lossy().starts_with(prefix));
            places.extend(names.map(|entry| entry.path().join(rest)));
        }
    }
    places
}

fn user_dir() -> Option<PathBuf> {
    let uid = rustix::process::geteuid();
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(dir) if Path::new(&dir).is_absolute() => Some(Path::new(&dir).join("tandem")),
        _ if uid.is_root() => None,
        _ => Some(PathBuf::from(format!("/tmp/tandem-{}", uid.as_raw()))),
    }
}

/// The directory for this user's sockets, made if need be and nobody else's.
fn runtime_dir() -> Result<PathBuf> {
    let uid = rustix::process::geteuid();
    let dir = match user_dir() {
        Some(dir) if !uid.is_root() => dir,
        _ => PathBuf::from("/run/tandem"),
    };
    let mode = if uid.is_root() { 0o755 } else { 0o700 };
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(&dir)
        .with_context(|| format!("create {}", dir.display()))?;
    let owner = dir.symlink_metadata().with_context(|| format!("stat {}", dir.display()))?;
    if !owner.is_dir() || owner.uid() != uid.as_raw() {
        bail!("{}: belongs to somebody else; remove it", dir.display());
    }
    Ok(dir)
}
