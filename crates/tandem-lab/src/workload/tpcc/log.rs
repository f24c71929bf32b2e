//! pgbench's log: a line for each transaction.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::super::WorkloadError;
use super::super::error::io;

/// Response times by script, in microseconds, of the transactions that ended later than `skip`
/// seconds after the first that did. Logs are the files in `dir` whose name begins with `prefix`.
pub(super) fn read(
    dir: &Path,
    prefix: &str,
    scripts: usize,
    skip: f64,
) -> Result<Vec<Vec<u32>>, WorkloadError> {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(io("list", dir))? {
        let entry = entry.map_err(io("list", dir))?;
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        let path = entry.path();
        let file = File::open(&path).map_err(io("open", &path))?;
        for line in BufReader::new(file).lines() {
            let line = line.map_err(io("read", &path))?;
            let wrong = || WorkloadError::Product {
                path: path.clone(),
                reason: format!("{line:?} is no transaction"),
            };
            lines.push(transaction(&line, scripts).ok_or_else(wrong)?);
        }
    }
    let first = lines.iter().map(|(_, _, end)| *end).fold(f64::INFINITY, f64::min);
    let mut times = vec![Vec::new(); scripts];
    for (script, micros, end) in lines {
        if end >= first + skip {
            times[script].push(micros);
        }
    }
    Ok(times)
}

/// `client_id transaction_no time script_no time_epoch time_us`: script, time in microseconds, when
/// it ended in seconds since 1970.
fn transaction(line: &str, scripts: usize) -> Option<(usize, u32, f64)> {
    let mut fields = line.split(' ').skip(2);
    let micros = fields.next()?.parse().ok()?;
    let script = fields.next()?.parse().ok().filter(|&script| script < scripts)?;
    let (seconds, rest): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((script, micros, seconds + rest / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        assert_eq!(
            transaction("0 199 2241 1 1175850568 995598", 2),
            Some((1, 2241, 1175850568.995598))
        );
        assert_eq!(transaction("0 199 2241 2 1175850568 995598", 2), None);
        assert_eq!(transaction("0 199 failed 0 1175850568 1", 2), None);
    }

    #[test]
    fn the_warm_up_is_left_out() {
        let dir = tempfile::tempdir().expect("directory");
        let text = "0 1 10 0 100 0\n0 2 20 1 104 0\n0 3 30 1 105 0\n";
        std::fs::write(dir.path().join("log.77"), text).expect("written");
        std::fs::write(dir.path().join("log.77.1"), "1 1 40 0 106 0\n").expect("written");
        let times = read(dir.path(), "log.", 2, 5.0).expect("read");
        assert_eq!(times, [vec![40], vec![30]]);
    }
}
