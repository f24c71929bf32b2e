//! The daemon's end.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{PATIENCE, places};

/// More than this a client never says.
const MAX_REQUEST: u64 = 64;

/// What a daemon answers to a word; `None` for a word that it does not know.
pub type Answer = dyn Fn(&str) -> Option<Value> + Send + Sync;

/// A socket of this daemon's own, gone with this value.
pub struct Server {
    dir: PathBuf,
    unique: String,
    path: PathBuf,
    listener: Option<UnixListener>,
    waiting: Arc<Mutex<Vec<UnixStream>>>,
}

impl Server {
    /// Listens, before there is a mount: whoever sees it appear finds somebody to wait for.
    pub fn listen() -> Result<Server> {
        Server::listen_in(&places::own()?)
    }

    pub(super) fn listen_in(dir: &Path) -> Result<Server> {
        places::clear(dir, None);
        let unique = places::unique();
        let path = dir.join(places::name_unready(&unique));
        let listener =
            UnixListener::bind(&path).with_context(|| format!("bind {}", path.display()))?;
        let (dir, waiting) = (dir.to_path_buf(), Arc::default());
        let mut server = Server { dir, unique, path, listener: Some(listener), waiting };
        std::fs::set_permissions(&server.path, PermissionsExt::from_mode(0o666))
            .with_context(|| format!("chmod {}", server.path.display()))?;
        server.rename(places::name_mounting(&server.unique))?;
        Ok(server)
    }

    fn rename(&mut self, name: String) -> Result<()> {
        let path = self.dir.join(name);
        std::fs::rename(&self.path, &path)
            .with_context(|| format!("rename {}", self.path.display()))?;
        self.path = path;
        Ok(())
    }

    /// Serves `answer` for the mount with this device number.
    pub fn serve(&mut self, dev: (u32, u32), answer: Arc<Answer>) -> Result<()> {
        places::clear(&self.dir, Some(dev));
        self.rename(places::name_mounted(dev, &self.unique))?;
        let Some(listener) = self.listener.take() else { return Ok(()) };
        let waiting = self.waiting.clone();
        std::thread::Builder::new().name("control".to_string()).spawn(move || {
            for stream in listener.incoming().flatten() {
                if let Err(error) = serve(stream, &*answer, &waiting) {
                    tracing::debug!(%error, "a control client went away");
                }
            }
        })?;
        Ok(())
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

/// Whether whoever is behind the stream may say this: anybody may look, root and the daemon's
/// owner may have something done.
fn may_ask(stream: &UnixStream, word: &str) -> bool {
    let looks = !matches!(word, "scrub-start" | "scrub-stop");
    looks
        || rustix::net::sockopt::socket_peercred(stream)
            .is_ok_and(|peer| peer.uid.is_root() || peer.uid == rustix::process::geteuid())
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
        word if !word.is_empty() && !may_ask(&stream, word) => {
            writeln!(stream, "{}", serde_json::json!({ "error": "permission denied" }))?;
        }
        "wait" => lock(waiting).push(stream),
        // Somebody who only wanted to know whether anybody listens.
        "" => {}
        word => {
            let value = answer(word).unwrap_or_else(
                || serde_json::json!({ "error": format!("unknown request `{word}`") }),
            );
            writeln!(stream, "{value}")?;
        }
    }
    Ok(())
}
