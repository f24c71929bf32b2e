//! Sizes and durations, as people write and read them.

use std::time::Duration;

/// Parses a size in bytes with an optional K, M, G, T or P (powers of 1024).
pub fn parse_size(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let shift = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        "p" => 50,
        _ => {
            return Err(format!(
                "`{text}` is not a size; write bytes, or a number with K, M, G, T"
            ));
        }
    };
    let wrong = || format!("`{text}` is not a size; write for example 4096, 512M or 1.5T");
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << shift).ok_or_else(|| format!("`{text}` is too large"));
    }
    let value = number.parse::<f64>().map_err(|_| wrong())? * (1u64 << shift) as f64;
    if shift == 0 || !value.is_finite() || value >= u64::MAX as f64 {
        return Err(wrong());
    }
    Ok(value as u64)
}

/// Parses a duration: a number with `ms`, `s`, `m` or `h`; seconds without.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; write for example 500ms, 5s or 2m");
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * factor;
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// A number of bytes in a unit that keeps it short: `1.3 GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A number with its digits in groups: `1,234,567`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `part` of `whole` in per cent; 0 of nothing.
pub fn per_cent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "0 %".to_string();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

/// A duration to three digits or so: `12.3 s`.
pub fn seconds(time: Duration) -> String {
    let value = time.as_secs_f64();
    if value >= 0.0995 { format!("{value:.1} s") } else { format!("{:.1} ms", value * 1000.0) }
}

/// A moment as `2024-02-29 23:59:59.000000000 UTC`; `secs` counts from 1970.
pub fn timestamp(secs: i64, nanos: u32) -> String {
    let (days, second) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    // Days to a date of the Gregorian calendar, years beginning in March (H. Hinnant's algorithm).
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{nanos:09} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("512K"), Ok(512 << 10));
        assert_eq!(parse_size("1.5G"), Ok(3 << 29));
        assert_eq!(parse_size("2TiB"), Ok(2 << 40));
        assert_eq!(parse_size("0"), Ok(0));
        for wrong in ["", "K", "1X", "-1", "1.5", "20000000000G", "1e9", "1 2"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("5"), Ok(Duration::from_secs(5)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        for wrong in ["", "s", "5d", "-1s", "99999999999999999999999s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn moments() {
        assert_eq!(timestamp(0, 0), "1970-01-01 00:00:00.000000000 UTC");
        assert_eq!(timestamp(951_868_799, 5), "2000-02-29 23:59:59.000000005 UTC");
        assert_eq!(timestamp(-1, 0), "1969-12-31 23:59:59.000000000 UTC");
        assert_eq!(timestamp(4_102_444_800, 0), "2100-01-01 00:00:00.000000000 UTC");
    }

    #[test]
    fn figures_read_well() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes((1 << 30) - 1), "1.0 GiB");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(999), "999");
        assert_eq!(per_cent(1, 3), "33.3 %");
        assert_eq!(per_cent(0, 0), "0 %");
        assert_eq!(seconds(Duration::from_millis(12_340)), "12.3 s");
        assert_eq!(seconds(Duration::from_millis(4)), "4.0 ms");
    }
}
