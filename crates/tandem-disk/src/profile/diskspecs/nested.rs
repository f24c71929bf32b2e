//! The layout of runs within runs, `dm_layout_g4`.

use super::small;
use super::tree::{Block, SpecError, Value, number};
use crate::model::geometry::{NestedLayout, Repeated, Run, TrackPattern};

/// Reads the layout; and what it asks for that the model does not have.
pub(super) fn layout(block: &Block) -> Result<(NestedLayout, Vec<String>), SpecError> {
    let tracks = block.integers("TP")?;
    let slips = block.integers("Slips")?;
    let remaps = block.integers("Remaps")?.len();
    for (key, len, each) in [("TP", tracks.len(), 3), ("Slips", slips.len(), 2)] {
        if len % each != 0 {
            return Err(block.error(key, format!("is not a list of {each} numbers each")));
        }
    }
    let track =
        |of: &[u64]| TrackPattern { first: small(of[0]), last: small(of[1]), slots: small(of[2]) };
    let mut sequences = Vec::new();
    for value in block.list("IDX")? {
        let Value::List(words) = value else {
            return Err(block.error("IDX", "holds something that is no list of runs"));
        };
        sequences.push(runs(block, words)?);
    }
    let layout = NestedLayout {
        tracks: tracks.chunks_exact(3).map(track).collect(),
        sequences,
        slips: slips.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
    };
    let ignored = (remaps > 0).then(|| format!("Remaps = {} of them", remaps / 6));
    Ok((layout, ignored.into_iter().collect()))
}

fn runs(block: &Block, words: &[Value]) -> Result<Vec<Run>, SpecError> {
    let mut words = Words { block, rest: words.iter() };
    let mut out = Vec::new();
    while !words.rest.as_slice().is_empty() {
        let first = words.whole()?;
        let cylinder = words.signed()?;
        let angle = words.number()?;
        let slots = words.whole()?;
        let step = words.signed()?;
        let angle_step = words.number()?;
        let total = words.whole()?;
        let outwards = words.signed()? < 0;
        let of = match words.word()? {
            "TRACK" => {
                Repeated::Track { pattern: small(words.whole()?), head: small(words.whole()?) }
            }
            "IDX" => Repeated::Runs(small(words.whole()?)),
            other => {
                return Err(block.error("IDX", format!("`{other}` is neither TRACK nor IDX")));
            }
        };
        let cylinder_step = if outwards { -step } else { step };
        out.push(Run { first, total, cylinder, angle, slots, cylinder_step, angle_step, of });
    }
    Ok(out)
}

struct Words<'a> {
    block: &'a Block,
    rest: std::slice::Iter<'a, Value>,
}

impl<'a> Words<'a> {
    fn error(&self, why: impl Into<String>) -> SpecError {
        self.block.error("IDX", why)
    }

    fn word(&mut self) -> Result<&'a str, SpecError> {
        match self.rest.next() {
            Some(Value::Word(word)) => Ok(word),
            _ => Err(self.error("holds a run that is cut short")),
        }
    }

    fn number(&mut self) -> Result<f64, SpecError> {
        let word = self.word()?;
        number(word).ok_or_else(|| self.error(format!("`{word}` is not a number")))
    }

    fn signed(&mut self) -> Result<i64, SpecError> {
        let word = self.word()?;
        word.parse().map_err(|_| self.error(format!("`{word}` is not a whole number")))
    }

    fn whole(&mut self) -> Result<u64, SpecError> {
        let word = self.word()?;
        word.parse().map_err(|_| self.error(format!("`{word}` is not a number of sectors")))
    }
}
