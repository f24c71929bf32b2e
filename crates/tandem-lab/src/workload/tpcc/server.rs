//! A PostgreSQL server whose data lie on the file system under test.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::super::error::io;
use super::super::program;
use super::super::service::{self, Service, Stop};
use super::super::{Missing, WorkloadError};

/// The server's user within the database.
const USER: &str = "lab";

/// What makes it end at once, in good order.
const STOP: Stop = service::INTERRUPT;

/// A server under way.
pub(super) struct Server {
    service: Service,
    socket: TempDir,
}

/// PostgreSQL's own directory of programs, of the newest version that there is, or `PATH`.
fn find(name: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let numbered = versions.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        Some((number, entry.path().join("bin").join(name))).filter(|(_, file)| file.is_file())
    });
    numbered.max().map(|(_, file)| file).or_else(|| program::find(name))
}

/// What of PostgreSQL is not there.
pub(super) fn missing() -> Vec<Missing> {
    let server = ["initdb", "postgres"].into_iter().map(|name| (name, "postgresql"));
    let client = ["pgbench", "psql"].into_iter().map(|name| (name, "postgresql-client-common"));
    let mut all: Vec<_> = server
        .chain(client)
        .filter(|(name, _)| find(name).is_none())
        .map(|(name, package)| Missing {
            what: format!("program {name}"),
            package: Some(package.to_owned()),
        })
        .collect();
    all.extend(program::missing(&[("setpriv", "util-linux")]));
    if rustix::process::geteuid().is_root() {
        all.extend(program::missing(&[("unshare", "util-linux")]));
        let account = Missing { what: "a user postgres or nobody".to_owned(), package: None };
        all.extend(account_number().is_none().then_some(account));
    }
    all
}

fn absent(name: &str) -> WorkloadError {
    let package = Some("postgresql".to_owned());
    Missing { what: format!("program {name}"), package }.into()
}

/// The number of the user `postgres`, or of `nobody`.
fn account_number() -> Option<u32> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let number = |name: &str| {
        let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        fields.filter(|fields| fields.first() == Some(&name)).find_map(|f| f.get(2)?.parse().ok())
    };
    number("postgres").or_else(|| number("nobody"))
}

/// A program of PostgreSQL's that refuses to be run by root. For root it is run in a user namespace
/// where root has another number: files stay root's, and every directory above them can be entered.
fn unprivileged(name: &str, before: &[String]) -> Result<Command, WorkloadError> {
    let file = find(name).ok_or_else(|| absent(name))?;
    let mut words: Vec<OsString> = Vec::new();
    if rustix::process::geteuid().is_root() {
        let number = account_number().ok_or_else(|| absent("for a user postgres or nobody"))?;
        let unshare = program::find("unshare").ok_or_else(|| absent("unshare"))?;
        words.push(unshare.into());
        words.push(format!("--map-user={number}").into());
        words.push(format!("--map-group={number}").into());
    }
    words.extend(before.iter().map(OsString::from));
    words.push(file.into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env("LC_ALL", "C").stdin(Stdio::null());
    Ok(command)
}

/// Makes a database cluster in `dir`, which is made.
pub(super) fn initialize(dir: &Path) -> Result<(), WorkloadError> {
    std::fs::create_dir(dir).map_err(io("create", dir))?;
    let only_mine = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(dir, only_mine).map_err(io("protect", dir))?;
    let mut initdb = unprivileged("initdb", &[])?;
    initdb.arg("-D").arg(dir).args(["-A", "trust", "-U", USER, "--locale=C", "-E", "SQL_ASCII"]);
    program::run(&mut initdb)
}

impl Server {
    /// Starts the server of the cluster in `dir`.
    pub fn start(
        dir: &Path,
        log: &Path,
        buffers: u64,
        clients: u64,
    ) -> Result<Server, WorkloadError> {
        // Short, for the kernel allows 108 bytes; and not on the file system under test.
        let root = rustix::process::geteuid().is_root();
        let place = if root { PathBuf::from("/run") } else { std::env::temp_dir() };
        let socket = tempfile::Builder::new().prefix("lab-pg-").tempdir_in(&place);
        let socket = socket.map_err(io("create a directory in", &place))?;
        let mut postgres = unprivileged("postgres", &service::mortal(STOP)?)?;
        postgres.arg("-D").arg(dir).args(["-c", "listen_addresses="]);
        postgres.arg("-c").arg(format!("unix_socket_directories={}", socket.path().display()));
        postgres.arg("-c").arg(format!("shared_buffers={}kB", (buffers / 1024).max(128)));
        postgres.arg("-c").arg(format!("max_connections={}", clients + 10));
        let service = Service::start(postgres, log, STOP)?;
        let mut server = Server { service, socket };
        let place = server.socket.path().to_owned();
        server.service.wait_for(|| answers(&place))?;
        Ok(server)
    }

    /// A client program, told where the server is.
    pub fn client(&self, name: &str) -> Result<Command, WorkloadError> {
        client(name, self.socket.path())
    }

    /// Executes statements; what they return.
    pub fn sql(
        &self,
        statements: &str,
        variables: &[(&str, String)],
    ) -> Result<String, WorkloadError> {
        let mut psql = self.client("psql")?;
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
        for (name, value) in variables {
            psql.arg("-v").arg(format!("{name}={value}"));
        }
        let script = self.socket.path().join("script.sql");
        std::fs::write(&script, statements).map_err(io("write", &script))?;
        let said = program::output(psql.arg("-f").arg(&script), &[])?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// Ends it when everything is in its files.
    pub fn end(self) -> Result<(), WorkloadError> {
        self.service.end()
    }
}

fn answers(socket: &Path) -> bool {
    client("psql", socket)
        .is_ok_and(|mut psql| program::run(psql.args(["-X", "-c", "SELECT 1"])).is_ok())
}

fn client(name: &str, socket: &Path) -> Result<Command, WorkloadError> {
    let mut command = Command::new(find(name).ok_or_else(|| absent(name))?);
    command.env("PGHOST", socket).env("PGUSER", USER).env("PGDATABASE", "postgres");
    command.env("LC_ALL", "C").stdin(Stdio::null());
    Ok(command)
}
