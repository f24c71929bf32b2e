//! Jobs of fio (Axboe).

use std::path::Path;

use serde_json::Value;

use super::error::{expect, io};
use super::parameter::{Arguments, Kind, Parameter};
use super::{Context, Missing, Outcome, PhaseSpec, Workload, WorkloadError, cold, program};

/// The workload.
pub(super) struct Fio;

impl Workload for Fio {
    fn name(&self) -> &'static str {
        "fio"
    }

    fn about(&self) -> &'static str {
        "the jobs of a file for fio"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new(
                "job_file",
                "\"\"",
                "",
                Kind::Text,
                "the absolute path of fio's job file",
            ),
            Parameter::new(
                "job",
                "\"\"",
                "",
                Kind::Text,
                "or its text; directory and output are given by the lab",
            ),
        ]
    }

    fn phases(&self, args: &Arguments) -> Result<Vec<PhaseSpec>, WorkloadError> {
        let (file, text) = (args.text("job_file")?, args.text("job")?);
        match (file.is_empty(), text.is_empty()) {
            (true, true) => Err(args.wrong("job", "neither job nor job_file is given")),
            (false, false) => Err(args.wrong("job", "both job and job_file are given")),
            (false, true) if !Path::new(file).is_absolute() => {
                Err(args.wrong("job_file", "not an absolute path"))
            }
            _ => Ok(vec![cold("fio")]),
        }
    }

    fn missing(&self, args: &Arguments) -> Result<Vec<Missing>, WorkloadError> {
        let mut all = program::missing(&[("fio", "fio")]);
        let file = args.text("job_file")?;
        if !file.is_empty() && !Path::new(file).is_file() {
            all.push(Missing { what: file.to_owned(), package: None });
        }
        Ok(all)
    }

    fn run(&self, args: &Arguments, _: &str, at: &Context) -> Result<Outcome, WorkloadError> {
        let dir = at.dir.join(format!("fio-{}", at.process));
        std::fs::create_dir(&dir).map_err(io("create", &dir))?;
        let draft = tempfile::Builder::new().prefix("fio-").tempdir_in(&at.scratch);
        let draft = draft.map_err(io("create a directory in", &at.scratch))?;
        let (job, out) = (draft.path().join("lab.fio"), draft.path().join("out.json"));
        let text = match args.text("job_file")? {
            "" => args.text("job")?.to_owned(),
            file => std::fs::read_to_string(file).map_err(io("read", Path::new(file)))?,
        };
        std::fs::write(&job, text).map_err(io("write", &job))?;
        let mut fio = program::command("fio")?;
        fio.arg("--output-format=json")
            .arg(format!("--output={}", out.display()))
            .arg(format!("--directory={}", dir.display()))
            .arg(format!("--randseed={}", at.seed.wrapping_add(u64::from(at.process))))
            .arg(&job)
            .current_dir(&dir);
        program::run(&mut fio)?;
        let text = std::fs::read_to_string(&out).map_err(io("read", &out))?;
        let wrong = |reason: String| WorkloadError::Program { command: "fio".into(), reason };
        // Warnings may stand before it.
        let json = text.find('{').map_or("", |at| &text[at..]);
        let report: Value = serde_json::from_str(json).map_err(|error| wrong(error.to_string()))?;
        outcome(&report).ok_or_else(|| wrong("a report of an unknown form".to_owned()))?
    }
}

/// What fio has measured, all jobs together. Percentiles are the largest of any job.
fn outcome(report: &Value) -> Option<Result<Outcome, WorkloadError>> {
    let (mut outcome, mut bytes) = (Outcome::default(), 0);
    for direction in ["read", "write", "trim"] {
        let jobs = report.get("jobs")?.as_array()?;
        let parts: Vec<&Value> = jobs.iter().filter_map(|job| job.get(direction)).collect();
        let sum =
            |key: &str| -> f64 { parts.iter().filter_map(|part| part.get(key)?.as_f64()).sum() };
        if sum("io_bytes") == 0.0 {
            continue;
        }
        bytes += sum("io_bytes") as u64;
        let mut put = |name: &str, value: f64| {
            outcome.values.insert(format!("{direction}_{name}"), value);
        };
        put("bytes", sum("io_bytes"));
        put("bytes_per_s", sum("bw_bytes"));
        put("requests", sum("total_ios"));
        put("requests_per_s", sum("iops"));
        for (name, key) in
            [("p50_us", "50.000000"), ("p90_us", "90.000000"), ("p99_us", "99.000000")]
        {
            let of = |part: &&Value| part.get("clat_ns")?.get("percentile")?.get(key)?.as_f64();
            let largest = parts
                .iter()
                .filter_map(of)
                .fold(None, |most: Option<f64>, ns| Some(most.map_or(ns, |most| most.max(ns))));
            if let Some(ns) = largest {
                put(name, ns / 1000.0);
            }
        }
    }
    Some(expect("bytes moved, at least", 1, bytes.min(1)).map(|()| outcome))
}
