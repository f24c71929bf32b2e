//! What a metric is called, its unit, and which direction is the better one.

use serde::{Deserialize, Serialize};

use crate::record::Metric;

/// Which direction of a metric is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Times and costs.
    Lower,
    /// Rates.
    Higher,
    /// Amounts of work: a difference is neither.
    Neither,
}

/// A metric in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quantity {
    /// As in a sentence: `disk time`.
    pub name: String,
    /// Unit: `s`, `sectors`, empty for a plain number.
    pub unit: String,
    /// The better direction.
    pub better: Better,
}

/// A metric in words. A workload's own value has its unit at the end of its name:
/// `file_create_seconds`, `read_bytes_per_s`.
pub fn quantity(metric: &Metric) -> Quantity {
    let known = |name: &str, unit: &str| Quantity {
        name: name.to_owned(),
        unit: unit.to_owned(),
        better: Better::Lower,
    };
    match metric {
        Metric::Seconds => known("application time", "s"),
        Metric::FlushSeconds => known("flush time", "s"),
        Metric::TotalSeconds => known("time with the flush", "s"),
        Metric::IoSeconds => known("disk time", "s"),
        Metric::BusySeconds => known("busy disk time", "s"),
        Metric::Sectors => known("sectors", "sectors"),
        Metric::SectorsRead => known("sectors read", "sectors"),
        Metric::SectorsWritten => known("sectors written", "sectors"),
        Metric::Requests => known("requests", "requests"),
        Metric::Flushes => known("flushes", "flushes"),
        Metric::Seeks => known("seeks", "seeks"),
        Metric::CpuSeconds => known("processor time", "s"),
        Metric::Memory => known("peak memory", "bytes"),
        Metric::Value(name) => own(name),
    }
}

/// Endings of names: unit, direction.
const ENDINGS: [(&str, &str, Better); 16] = [
    ("_kb_per_s", "KB/s", Better::Higher),
    ("_mb_per_s", "MB/s", Better::Higher),
    ("_kib_per_s", "KiB/s", Better::Higher),
    ("_mib_per_s", "MiB/s", Better::Higher),
    ("_bytes_per_s", "bytes/s", Better::Higher),
    ("_files_per_s", "files/s", Better::Higher),
    ("_per_second", "1/s", Better::Higher),
    ("_per_minute", "1/min", Better::Higher),
    ("_per_s", "1/s", Better::Higher),
    ("_seconds", "s", Better::Lower),
    ("_ms", "ms", Better::Lower),
    ("_us", "µs", Better::Lower),
    ("_ns", "ns", Better::Lower),
    ("_percent", "%", Better::Neither),
    ("_bytes", "bytes", Better::Neither),
    ("_kib", "KiB", Better::Neither),
];

fn own(name: &str) -> Quantity {
    let padded = format!("_{name}");
    let ending = ENDINGS.iter().find(|(ending, ..)| padded.ends_with(ending));
    let (ending, unit, better) = ending.copied().unwrap_or(("", "", Better::Neither));
    let throughput = unit.ends_with("B/s") || unit == "bytes/s";
    let words = if throughput {
        let rest = padded.strip_suffix(ending).unwrap_or_default();
        format!("{rest}_throughput")
    } else {
        padded
    };
    Quantity {
        name: words.trim_start_matches('_').replace('_', " "),
        unit: unit.to_owned(),
        better,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_own_values() {
        let of = |name: &str| quantity(&Metric::Value(name.to_owned()));
        assert_eq!(
            (of("files_per_s").unit.as_str(), of("files_per_s").better),
            ("files/s", Better::Higher)
        );
        assert_eq!(of("file_create_seconds").better, Better::Lower);
        assert_eq!(of("seconds").unit, "s");
        assert_eq!((of("files").unit.as_str(), of("files").better), ("", Better::Neither));
        assert_eq!(of("read_bytes").name, "read bytes");
        assert_eq!(
            (of("kib_per_s").name.as_str(), of("kib_per_s").unit.as_str()),
            ("throughput", "KiB/s")
        );
        assert_eq!(of("read_bytes_per_s").name, "read throughput");
        assert_eq!(of("transactions_per_s").name, "transactions per s");
    }
}
