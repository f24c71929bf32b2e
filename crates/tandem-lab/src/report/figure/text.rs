//! Text in figures: how wide it is, about, and what is left of it where room is short.

use maud::{Markup, html};

/// Width of small text, a little generously: there is no font to ask.
pub fn width(text: &str) -> f64 {
    text.chars().map(|c| if c.is_ascii() { 6.3 } else { 7.5 }).sum()
}

/// Text within a width, its whole as a tool tip where it was cut.
pub fn fitted(class: &str, x: f64, y: f64, room: f64, text: &str) -> Markup {
    let fits = width(text) <= room;
    let kept = ((room / 6.3) as usize).saturating_sub(1).max(1);
    let shown: String =
        if fits { text.to_owned() } else { text.chars().take(kept).chain(['…']).collect() };
    html! {
        text class=(class) x=(round(x)) y=(round(y)) {
            (shown)
            @if !fits { title { (text) } }
        }
    }
}

/// A ground of paper behind text, so that no line runs through it.
pub fn ground(x: f64, baseline: f64, text: &str) -> Markup {
    html! {
        rect class="paper" x=(round(x - 1.5)) y=(round(baseline - 9.0)) width=(round(width(text) + 2.0))
            height="11" {}
    }
}

/// A place, to a tenth of a unit: more would only make the page larger.
pub fn round(place: f64) -> f64 {
    (place * 10.0).round() / 10.0
}
