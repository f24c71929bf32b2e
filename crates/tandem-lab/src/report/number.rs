//! Numbers as text: one way for the page and the files beside it.

/// A figure with four significant digits; whole numbers in full, thousands apart.
pub fn text(value: f64) -> String {
    digits(value, 4)
}

/// With three: inside figures, where room is short.
pub fn short(value: f64) -> String {
    digits(value, 3)
}

/// A round value on an axis: no more digits than it needs.
pub fn tick(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 || (size > 0.0 && size < 1e-4) {
        let (scaled, sign) = match size {
            s if s >= 1e9 => (value / 1e9, " G"),
            s if s >= 1e6 => (value / 1e6, " M"),
            _ => return format!("{value:e}").replace('-', "−"),
        };
        return format!("{scaled}{sign}");
    }
    thousands(&format!("{value}"))
}

/// A probability: below a ten-thousandth it says so.
pub fn probability(value: f64) -> String {
    match value {
        p if !p.is_finite() => "–".to_owned(),
        p if p < 0.0001 => "< 0.0001".to_owned(),
        p => format!("{p:.4}"),
    }
}

/// The value in full, as JSON has it; nothing for what is no number.
pub fn full(value: f64) -> String {
    serde_json::Number::from_f64(value).map(|n| n.to_string()).unwrap_or_default()
}

fn digits(value: f64, significant: i32) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-4) {
        return format!("{value:.*e}", significant as usize - 1).replace('-', "−");
    }
    let whole = value.fract() == 0.0;
    let before =
        if size < 1.0 { size.max(1e-9).log10().floor() as i32 } else { size.log10() as i32 };
    let places = if whole { 0 } else { (significant - 1 - before).clamp(0, 7) };
    thousands(&format!("{value:.*}", places as usize))
}

/// Sets commas between thousands, and a minus instead of a hyphen.
fn thousands(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
    let mut out = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_text() {
        let cases = [
            (0.0, "0"),
            (0.1141, "0.1141"),
            (0.99999, "1.0000"),
            (47.86, "47.86"),
            (5.46, "5.460"),
            (1234.5, "1,234"),
            (98765.4, "98,765"),
            (1234567.0, "1,234,567"),
            (-0.5, "−0.5000"),
            (0.00001234, "1.234e−5"),
            (f64::NAN, "–"),
        ];
        for (value, expected) in cases {
            assert_eq!(text(value), expected);
        }
        assert_eq!(short(47.86), "47.9");
        assert_eq!([tick(0.2), tick(20000.0), tick(2e6)], ["0.2", "20,000", "2 M"]);
        assert_eq!(probability(0.00001), "< 0.0001");
        assert_eq!(full(0.1), "0.1");
        assert_eq!(full(f64::INFINITY), "");
    }
}
