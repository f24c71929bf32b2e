//! Numbers and levels in sentences.

use crate::record::Levels;
use crate::stats::Interval;

/// Three significant digits; whole numbers with commas from 1,000.
pub(crate) fn number(value: f64) -> String {
    fixed(value, decimals(value))
}

/// Like [`number`], but whole numbers as such: 48 sectors, not 48.0.
pub(crate) fn amount(value: f64) -> String {
    if value.fract() == 0.0 { fixed(value, 0) } else { number(value) }
}

/// Decimals that show three significant digits.
fn decimals(value: f64) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let digits = value.abs().log10().floor();
    (2.0 - digits).clamp(0.0, 12.0) as usize
}

fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), ""), |(w, r)| (w, r));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if rest.is_empty() { grouped } else { format!("{grouped}.{rest}") }
}

/// `95 % 0.08 to 0.10`, with the decimals of `value`.
pub(crate) fn interval(value: f64, interval: &Interval) -> String {
    let decimals = decimals(value);
    let (low, high) = (fixed(interval.low, decimals), fixed(interval.high, decimals));
    format!("{} {low} to {high}", percent(interval.level.get()))
}

/// `95 %`.
pub(crate) fn percent(share: f64) -> String {
    let rounded = (share * 1e4).round() / 1e2;
    format!("{rounded} %")
}

/// `59 %`, `0.68 %`.
pub(crate) fn share(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// `p = 0.012`, `p < 0.0001`.
pub(crate) fn p_value(p: f64) -> String {
    if p < 1e-4 { "p < 0.0001".to_owned() } else { format!("p = {}", fixed(p, decimals(p).min(4))) }
}

/// `processes 4, world uml`; empty for no levels.
pub(crate) fn levels(levels: &Levels) -> String {
    let parts: Vec<String> =
        levels.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
    parts.join(", ")
}

/// `n thing` or `n things`.
pub(crate) fn count(n: usize, thing: &str) -> String {
    if n == 1 { format!("{n} {thing}") } else { format!("{n} {thing}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Level;

    #[test]
    fn numbers_have_three_digits() {
        let shown: Vec<String> = [0.0, 0.09123, 5.456, 47.86, 123456.7, -1234.0].map(number).into();
        assert_eq!(shown, ["0", "0.0912", "5.46", "47.9", "123,457", "-1,234"]);
    }

    #[test]
    fn ends_have_the_decimals_of_the_middle() {
        let around = Interval { low: 0.08, high: 0.1, level: Level::P95 };
        assert_eq!(interval(0.0912, &around), "95 % 0.0800 to 0.1000");
    }
}
