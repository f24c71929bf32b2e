//! SPECweb99's file set served by a real nginx, a macrobenchmark of seed 000.
//!
//! Sizes, classes and popularity are SPECweb99's; its dynamic content and POSTs (30 % of its
//! requests), its slow connections and its metric are not. The server's log is written to the file
//! system under test.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::error::{expect, io};
use super::parameter::{Arguments, Kind, Parameter};
use super::service::{self, Service};
use super::{Context, Missing, Outcome, PhaseSpec, Workload, WorkloadError, aside, cold, program};

/// The workload.
pub(super) struct Web;

/// Classes of files: bytes of the first of nine sizes, of which the others are multiples.
const CLASSES: [u64; 4] = [102, 1024, 10_240, 102_400];

/// Files of a class in a directory.
const SIZES: u64 = 9;

/// What the clients ask for, in Lua.
const SCRIPT: &str = include_str!("web/requests.lua");

/// What the script says at the end.
#[derive(Deserialize)]
struct Said {
    requests: u64,
    bytes: u64,
    micros: f64,
    errors: u64,
    p50: f64,
    p90: f64,
    p99: f64,
}

impl Workload for Web {
    fn name(&self) -> &'static str {
        "web"
    }

    fn about(&self) -> &'static str {
        "a file set like SPECweb99's served by nginx, driven by wrk (seed 000)"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new(
                "directories",
                "200",
                "directories",
                Kind::Integer(1, 1_000_000),
                "directories of 36 files, about 5 MB each; more than memory, or the cache is measured",
            ),
            Parameter::new(
                "connections",
                "40",
                "connections",
                Kind::Integer(1, 10_000),
                "requests under way at once",
            ),
            Parameter::new("seconds", "300", "seconds", Kind::Integer(1, 1_000_000), "how long"),
        ]
    }

    fn phases(&self, _: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError> {
        Ok(vec![aside("make-files"), cold("serve"), aside("check")])
    }

    fn missing(&self, _: &Arguments) -> Result<Vec<Missing>, WorkloadError> {
        Ok(program::missing(&[
            ("nginx", "nginx"),
            ("wrk", "wrk"),
            ("setpriv", "util-linux"),
            ("ip", "iproute2"),
        ]))
    }

    /// One server and its clients; the first process runs them.
    fn run(&self, args: &Arguments, phase: &str, at: &Context) -> Result<Outcome, WorkloadError> {
        if at.process > 0 {
            return Ok(Outcome::default());
        }
        match phase {
            "make-files" => make(&at.dir, args.count("directories")?),
            "serve" => serve(args, at),
            _ => check(at),
        }
    }
}

fn make(dir: &Path, directories: u64) -> Result<Outcome, WorkloadError> {
    let top = dir.join("www");
    let largest = CLASSES[3] * SIZES;
    let text: Vec<u8> = (0..largest).map(|at| b'a' + (at % 25) as u8).collect();
    let mut bytes = 0;
    std::fs::create_dir(&top).map_err(io("create", &top))?;
    for number in 0..directories {
        let dir = top.join(format!("dir{number:05}"));
        std::fs::create_dir(&dir).map_err(io("create", &dir))?;
        for (class, size) in CLASSES.iter().enumerate() {
            for file in 0..SIZES {
                let path = dir.join(format!("class{class}_{file}"));
                let size = size * (file + 1);
                std::fs::write(&path, &text[..size as usize]).map_err(io("write", &path))?;
                bytes += size;
            }
        }
    }
    let files = directories * SIZES * CLASSES.len() as u64;
    Ok(Outcome::of([("files", files as f64), ("written_bytes", bytes as f64)]))
}

/// A port that nobody listens to. In a guest that has just begun, the loopback interface is down: it
/// can be listened to, but not be reached. Then it is brought up.
fn free_port() -> Result<u16, WorkloadError> {
    let free = || {
        let address = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| {
            let address = listener.local_addr()?;
            TcpStream::connect(address).map(|_| address)
        });
        address.map(|address| address.port())
    };
    if let Ok(port) = free() {
        return Ok(port);
    }
    program::run(program::command("ip")?.args(["link", "set", "lo", "up"]))?;
    free().map_err(io("reach", Path::new("127.0.0.1")))
}

/// nginx's configuration: defaults, as far as they can be kept by a server that shares nothing with
/// one of the machine's.
fn configuration(dir: &Path, notes: &Path, port: u16, connections: u64) -> String {
    // Workers that are not root cannot be sure to enter the directories above the files.
    let user = if rustix::process::geteuid().is_root() { "user root root;\n" } else { "" };
    let (notes, dir) = (notes.display(), dir.display());
    let most = connections + 64;
    format!(
        "{user}daemon off;\nworker_processes auto;\npid {notes}/nginx.pid;\nerror_log stderr;\n\
         events {{ worker_connections {most}; }}\n\
         http {{\n  sendfile on;\n  default_type text/html;\n  keepalive_requests 1000000000;\n  \
         access_log {dir}/access.log;\n  client_body_temp_path {notes}/body;\n  \
         proxy_temp_path {notes}/proxy;\n  fastcgi_temp_path {notes}/fastcgi;\n  \
         uwsgi_temp_path {notes}/uwsgi;\n  scgi_temp_path {notes}/scgi;\n  \
         server {{ listen 127.0.0.1:{port}; root {dir}/www; }}\n}}\n"
    )
}

fn serve(args: &Arguments, at: &Context) -> Result<Outcome, WorkloadError> {
    let notes = tempfile::Builder::new().prefix("web-").tempdir_in(&at.scratch);
    let notes = notes.map_err(io("create a directory in", &at.scratch))?;
    let notes = notes.path();
    let (connections, seconds) = (args.count("connections")?, args.count("seconds")?);
    let port = free_port()?;
    let (conf, script) = (notes.join("nginx.conf"), notes.join("requests.lua"));
    std::fs::write(&conf, configuration(&at.dir, notes, port, connections))
        .map_err(io("write", &conf))?;
    std::fs::write(&script, SCRIPT).map_err(io("write", &script))?;
    let [setpriv, more @ ..] = service::mortal(service::QUIT)?;
    let mut nginx = Command::new(setpriv);
    nginx.args(more).arg(program::find("nginx").unwrap_or_else(|| "nginx".into()));
    nginx.arg("-p").arg(notes).arg("-c").arg(&conf).arg("-e").arg("stderr");
    let mut server = Service::start(nginx, &notes.join("nginx.log"), service::QUIT)?;
    server.wait_for(|| TcpStream::connect(("127.0.0.1", port)).is_ok())?;
    let mut wrk = program::command("wrk")?;
    // wrk wants a connection for each thread.
    wrk.arg(format!("-t{}", connections.min(2))).arg(format!("-c{connections}"));
    wrk.arg(format!("-d{seconds}s")).arg("-s").arg(&script);
    wrk.arg(format!("http://127.0.0.1:{port}")).arg("--");
    wrk.arg(args.count("directories")?.to_string()).arg((at.seed % (1 << 31)).to_string());
    let said = String::from_utf8_lossy(&program::output(&mut wrk, &[])?).into_owned();
    server.end()?;
    let last = said.lines().rev().find(|line| line.starts_with('{')).unwrap_or_default();
    let said: Said = serde_json::from_str(last).map_err(|error| WorkloadError::Program {
        command: "wrk".to_owned(),
        reason: format!("its script said {last:?}: {error}"),
    })?;
    expect("requests that failed", 0, said.errors)?;
    expect("requests, at least", 1, said.requests.min(1))?;
    let took = (said.micros / 1e6).max(1e-9);
    Ok(Outcome::of([
        ("requests", said.requests as f64),
        ("requests_per_s", said.requests as f64 / took),
        ("bytes", said.bytes as f64),
        ("bytes_per_s", said.bytes as f64 / took),
        ("p50_us", said.p50),
        ("p90_us", said.p90),
        ("p99_us", said.p99),
    ]))
}

/// Every request in the server's log was answered with a file.
fn check(at: &Context) -> Result<Outcome, WorkloadError> {
    let path = at.dir.join("access.log");
    let file = File::open(&path).map_err(io("open", &path))?;
    let (mut lines, mut good) = (0, 0);
    for line in BufReader::new(file).lines() {
        let line = line.map_err(io("read", &path))?;
        lines += 1;
        good += u64::from(line.contains(" HTTP/1.1\" 200 "));
    }
    expect("requests logged, at least", 1, lines.min(1))?;
    expect("requests answered with a file", lines, good)?;
    Ok(Outcome::of([("logged_requests", lines as f64)]))
}
