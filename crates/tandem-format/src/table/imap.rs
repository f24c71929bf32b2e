//! The i-node map: numbers that follow one another mostly lie in the same directory.

use crate::bits::{BitReader, BitWriter, unzigzag, zigzag};
use crate::error::FormatError;
use crate::units::IMAP_PER_BLOCK;

const STRUCTURE: &str = "i-node map";

const IN_ENTRY: u64 = 0;
const FREE: u64 = 1;
const IN_BLOCK: u64 = 2;

/// In an entry's second word: the first one is the id of an i-node block.
const BLOCK: u64 = 1 << 63;

/// 252 entries of the i-node map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImapBlock {
    /// Both words of each entry: directory and what its key begins with; or block id and bit 63.
    /// The first is 0 when the number is free.
    pub entries: Vec<[u64; 2]>,
}

impl ImapBlock {
    /// All free.
    pub fn new() -> ImapBlock {
        ImapBlock { entries: vec![[0; 2]; IMAP_PER_BLOCK] }
    }

    /// The payload of its block. Of a free entry and of one in a block the second word has no
    /// meaning but that; it does not come back.
    pub fn encode(&self) -> Vec<u8> {
        let entries = &self.entries[..self.count() as usize];
        let mut w = BitWriter::default();
        w.number(entries.len() as u128);
        let mut column: Vec<u64> = entries.iter().map(form).collect();
        w.column(&column);
        for wanted in [IN_ENTRY, IN_BLOCK] {
            let mut last = 0;
            column.clear();
            for [w0, _] in entries.iter().filter(|entry| form(entry) == wanted) {
                column.push(zigzag(w0.wrapping_sub(last) as i64));
                last = *w0;
            }
            w.column(&column);
        }
        column.clear();
        column.extend(entries.iter().filter(|entry| form(entry) == IN_ENTRY).map(|entry| entry[1]));
        w.column(&column);
        w.finish()
    }

    /// Checks a payload and takes it apart; always gives 252 entries.
    pub fn decode(payload: &[u8]) -> Result<ImapBlock, FormatError> {
        let mut r = BitReader::new(STRUCTURE, payload);
        let n = r.number("count", IMAP_PER_BLOCK as u64)? as usize;
        let mut forms = Vec::new();
        r.column("form", n, IN_BLOCK, &mut forms)?;
        let mut block = ImapBlock::new();
        let mut column = Vec::new();
        for wanted in [IN_ENTRY, IN_BLOCK] {
            let many = forms.iter().filter(|&&form| form == wanted).count();
            r.column("home", many, u64::MAX, &mut column)?;
            let mut last = 0u64;
            let such = block.entries.iter_mut().zip(&forms).filter(|(_, form)| **form == wanted);
            for ((entry, _), &by) in such.zip(&column) {
                last = last.wrapping_add(unzigzag(by) as u64);
                if last == 0 {
                    return Err(r.invalid("home", "zero"));
                }
                *entry = [last, if wanted == IN_BLOCK { BLOCK } else { 0 }];
            }
        }
        let many = forms.iter().filter(|&&form| form == IN_ENTRY).count();
        r.column("key", many, BLOCK - 1, &mut column)?;
        let such = block.entries.iter_mut().zip(&forms).filter(|(_, form)| **form == IN_ENTRY);
        for ((entry, _), &key) in such.zip(&column) {
            entry[1] = key;
        }
        if !r.rest()?.is_empty() {
            return Err(FormatError::invalid(STRUCTURE, "len", "bytes behind the last entry"));
        }
        Ok(block)
    }

    /// Number of entries up to the last that is not free.
    pub fn count(&self) -> u32 {
        let mut entries = self.entries.iter().take(IMAP_PER_BLOCK);
        entries.rposition(|e| e[0] != 0).map_or(0, |last| last as u32 + 1)
    }
}

impl Default for ImapBlock {
    fn default() -> ImapBlock {
        ImapBlock::new()
    }
}

fn form(entry: &[u64; 2]) -> u64 {
    match *entry {
        [0, _] => FREE,
        [_, w1] if w1 & BLOCK != 0 => IN_BLOCK,
        _ => IN_ENTRY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry() -> impl Strategy<Value = [u64; 2]> {
        let any_bits = || (any::<u64>(), 0u32..64).prop_map(|(word, shift)| word >> shift);
        prop_oneof![
            Just([0, 0]),
            (any_bits(), any::<u64>()).prop_map(|(dir, key)| [dir.max(1), key >> 1]),
            (5u64..8, any::<u32>()).prop_map(|(dir, key)| [dir, u64::from(key >> 8)]),
            any_bits().prop_map(|id| [id.max(1), BLOCK]),
        ]
    }

    #[test]
    fn runs_of_one_directory_take_little_more_than_keys() {
        let mut block = ImapBlock::new();
        for (n, entry) in block.entries.iter_mut().enumerate() {
            *entry = [1_000_000 + n as u64 / 20, (n as u64 * 0x9e_3779) & 0xff_ffff];
        }
        let len = block.encode().len();
        assert!(len < IMAP_PER_BLOCK * 14 / 4, "{len}");
        assert_eq!(ImapBlock::new().encode(), [0, 0]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(ImapBlock::decode(&[]).is_err());
        let mut w = BitWriter::default();
        w.number(253);
        assert!(ImapBlock::decode(&w.finish()).is_err());
        let mut w = BitWriter::default();
        w.number(1);
        [&[0][..], &[0], &[], &[3]].into_iter().for_each(|column| w.column(column));
        assert!(ImapBlock::decode(&w.finish()).is_err());
        let mut bytes = ImapBlock::new().encode();
        bytes.push(0);
        assert!(ImapBlock::decode(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn blocks_come_back(entries in prop::collection::vec(entry(), 0..=IMAP_PER_BLOCK)) {
            let mut block = ImapBlock::new();
            block.entries[..entries.len()].copy_from_slice(&entries);
            let bytes = block.encode();
            prop_assert!(bytes.len() <= crate::units::PAYLOAD * 5 / 4);
            prop_assert_eq!(ImapBlock::decode(&bytes), Ok(block));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(block) = ImapBlock::decode(&bytes) {
                prop_assert_eq!(ImapBlock::decode(&block.encode()), Ok(block));
            }
        }
    }
}
