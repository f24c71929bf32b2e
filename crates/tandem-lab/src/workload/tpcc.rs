//! TPC-C's transactions on a real PostgreSQL, a macrobenchmark of seed 000.
//!
//! The tables, their contents, the transactions, their choices and their mix are those of the
//! specification (revision 5.11). It is no TPC-C result: terminals do not wait between
//! transactions, a delivery is not deferred, and nobody has audited it.

use std::path::Path;

use super::error::{expect, io};
use super::parameter::{Arguments, Kind, Parameter};
use super::{Context, Missing, Outcome, PhaseSpec, Workload, WorkloadError, aside, cold, program};

mod log;
mod server;

use server::Server;

/// The workload.
pub(super) struct Tpcc;

/// The transactions: name, weight in the mix, the longest response time at the 90th percentile in
/// seconds (clauses 5.2.3 and 5.2.5.3), and the call that makes it.
const MIX: [(&str, u32, f64, &str); 5] = [
    ("new_order", 45, 5.0, "new_order(:w, :warehouses, :customers, :items, :seed)"),
    ("payment", 43, 5.0, "payment(:w, :warehouses, :customers, :seed)"),
    ("order_status", 4, 5.0, "order_status(:w, :customers, :seed)"),
    ("delivery", 4, 5.0, "delivery(:w, :seed)"),
    ("stock_level", 4, 20.0, "stock_level(:w, :seed)"),
];

/// Customers of a district and items, for a `share` of 1 (clause 4.3.3.1).
const CUSTOMERS: f64 = 3000.0;
const ITEMS: f64 = 100_000.0;

impl Workload for Tpcc {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn about(&self) -> &'static str {
        "the transactions of TPC-C on PostgreSQL (seed 000)"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new(
                "warehouses",
                "3",
                "warehouses",
                Kind::Integer(1, 10_000),
                "warehouses, about 120 MB each",
            ),
            Parameter::new(
                "clients",
                "10",
                "clients",
                Kind::Integer(1, 1000),
                "clients, each at a warehouse of its own as far as there are so many",
            ),
            Parameter::new(
                "warmup_seconds",
                "1800",
                "seconds",
                Kind::Integer(0, 1_000_000),
                "not counted in results, but in what reaches the disk",
            ),
            Parameter::new("seconds", "7200", "seconds", Kind::Integer(1, 1_000_000), "counted"),
            Parameter::new(
                "share",
                "1.0",
                "",
                Kind::Number(0.001, 1.0),
                "share of TPC-C's customers and items; below 1 it is not its size any more",
            ),
            Parameter::new(
                "shared_buffers",
                "\"128M\"",
                "bytes",
                Kind::Bytes(128 << 10, 1 << 40),
                "PostgreSQL's own cache",
            ),
        ]
    }

    fn phases(&self, _: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError> {
        Ok(vec![aside("load"), cold("transactions"), aside("check")])
    }

    fn missing(&self, _: &Arguments) -> Result<Vec<Missing>, WorkloadError> {
        Ok(server::missing())
    }

    /// One server and its clients; the first process runs them.
    fn run(&self, args: &Arguments, phase: &str, at: &Context) -> Result<Outcome, WorkloadError> {
        if at.process > 0 {
            return Ok(Outcome::default());
        }
        let data = at.dir.join("postgresql");
        let notes = tempfile::Builder::new().prefix("tpcc-").tempdir_in(&at.scratch);
        let notes = notes.map_err(io("create a directory in", &at.scratch))?;
        if phase == "load" {
            server::initialize(&data)?;
        }
        let (buffers, clients) = (args.count("shared_buffers")?, args.count("clients")?);
        let server = Server::start(&data, &notes.path().join("server.log"), buffers, clients)?;
        let scale = Scale {
            warehouses: args.count("warehouses")?,
            customers: ((CUSTOMERS * args.number("share")?) as u64).max(10),
            items: ((ITEMS * args.number("share")?) as u64).max(100),
        };
        let outcome = match phase {
            "load" => load(&server, &scale, at.seed)?,
            "check" => {
                let broken = server.sql(include_str!("tpcc/consistency.sql"), &[])?;
                expect("rows that break TPC-C's consistency", 0, number(&broken))?;
                Outcome::default()
            }
            _ => transactions(&server, &scale, args, at, notes.path())?,
        };
        server.end()?;
        Ok(outcome)
    }
}

struct Scale {
    warehouses: u64,
    customers: u64,
    items: u64,
}

impl Scale {
    fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("warehouses", self.warehouses.to_string()),
            ("customers", self.customers.to_string()),
            ("items", self.items.to_string()),
        ]
    }
}

/// A number that the server has said; none, and it is not what anyone expects.
fn number(said: &str) -> u64 {
    said.lines().rev().find_map(|line| line.trim().parse().ok()).unwrap_or(u64::MAX)
}

fn load(server: &Server, scale: &Scale, seed: u64) -> Result<Outcome, WorkloadError> {
    server.sql(include_str!("tpcc/schema.sql"), &[])?;
    server.sql(include_str!("tpcc/transactions.sql"), &[])?;
    let mut variables = scale.variables().to_vec();
    variables.push(("seed", format!("{:.9}", (seed % 1_000_000_007) as f64 / 1_000_000_007.0)));
    server.sql(include_str!("tpcc/load.sql"), &variables)?;
    let districts = scale.warehouses * 10;
    for (table, rows) in [
        ("item", scale.items),
        ("stock", scale.items * scale.warehouses),
        ("customer", scale.customers * districts),
        ("orders", scale.customers * districts),
        ("new_order", (scale.customers - scale.customers * 7 / 10) * districts),
    ] {
        let counted = server.sql(&format!("SELECT count(*) FROM {table}"), &[])?;
        expect(&format!("rows of {table}"), rows, number(&counted))?;
    }
    let bytes = server.sql("SELECT pg_database_size(current_database())", &[])?;
    Ok(Outcome::of([("database_bytes", number(&bytes) as f64)]))
}

fn transactions(
    server: &Server,
    scale: &Scale,
    args: &Arguments,
    at: &Context,
    notes: &Path,
) -> Result<Outcome, WorkloadError> {
    let (warmup, seconds) = (args.count("warmup_seconds")?, args.count("seconds")?);
    let mut pgbench = server.client("pgbench")?;
    // -M prepared: statements are planned once, as stored ones are.
    pgbench.args(["-n", "-M", "prepared", "-l"]);
    pgbench.arg(format!("--log-prefix={}", notes.join("log").display()));
    pgbench.arg(format!("--random-seed={}", at.seed % (1 << 31)));
    pgbench.arg("-c").arg(args.count("clients")?.to_string());
    pgbench.arg("-T").arg((warmup + seconds).to_string());
    for (name, value) in scale.variables() {
        pgbench.arg("-D").arg(format!("{name}={value}"));
    }
    for (name, weight, _, call) in MIX {
        let script = notes.join(format!("{name}.sql"));
        let text = format!(
            "\\set w 1 + mod(:client_id, :warehouses)\n\
             \\set seed random(-1000000000, 1000000000) / 1000000000.0\n\
             SELECT {call};\n"
        );
        std::fs::write(&script, text).map_err(io("write", &script))?;
        pgbench.arg("-f").arg(format!("{}@{weight}", script.display()));
    }
    program::run(&mut pgbench)?;
    outcome(&mut log::read(notes, "log.", MIX.len(), warmup as f64)?, seconds as f64)
}

/// Throughput and response times; the times are put in order.
fn outcome(times: &mut [Vec<u32>], seconds: f64) -> Result<Outcome, WorkloadError> {
    let all: usize = times.iter().map(Vec::len).sum();
    let orders = times.first().map_or(0, Vec::len);
    expect("new orders, at least", 1, orders.min(1) as u64)?;
    let mut outcome = Outcome::of([
        ("transactions", all as f64),
        ("transactions_per_s", all as f64 / seconds),
        ("new_orders_per_minute", orders as f64 * 60.0 / seconds),
    ]);
    let mut within = true;
    for ((name, _, limit, _), times) in MIX.iter().zip(times.iter_mut()) {
        outcome.values.insert(format!("{name}_transactions"), times.len() as f64);
        times.sort_unstable();
        for (percent, rank) in [(50, 0.5), (90, 0.9), (99, 0.99)] {
            // The smallest time that so many are not above.
            let place = ((times.len() as f64 * rank).ceil() as usize).saturating_sub(1);
            let Some(&micros) = times.get(place) else { continue };
            let value = f64::from(micros) / 1e6;
            within &= percent != 90 || value <= *limit;
            outcome.values.insert(format!("{name}_p{percent}_seconds"), value);
        }
    }
    outcome.values.insert("response_times_kept".to_owned(), f64::from(u8::from(within)));
    Ok(outcome)
}
