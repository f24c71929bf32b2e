//! The kernel's ring buffer, page by page (`include/linux/ring_buffer.h`).

/// Bytes of a page's header: time, and how much of the page is used.
const HEAD: usize = 16;
/// Bits of the second word that are the length of what is used; bits 30 and 31 tell of lost events.
const LENGTH: u64 = (1 << 20) - 1;

/// An event's header is a word of 5 bits of type or length and 27 bits of time.
const TYPE_BITS: u32 = 5;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// The records of one page, with their times.
pub(super) struct Page<'a> {
    rest: &'a [u8],
    time: u64,
}

impl<'a> Page<'a> {
    /// `None` when the header is cut off. What a page says of its length is not believed beyond
    /// its end.
    pub(super) fn new(page: &'a [u8]) -> Option<Page<'a>> {
        let time = word(page, 0)?;
        let commit = word(page, 8)?;
        let body = page.get(HEAD..)?;
        let used = body.len().min((commit & LENGTH) as usize);
        Some(Page { rest: &body[..used], time })
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(taken)
    }

    fn half(&mut self) -> Option<u32> {
        self.take(4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
    }
}

impl<'a> Iterator for Page<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<(u64, &'a [u8])> {
        loop {
            let head = self.half()?;
            let (kind, delta) = (head & ((1 << TYPE_BITS) - 1), u64::from(head >> TYPE_BITS));
            match kind {
                // Padding without time fills the page; with time it is an event taken back.
                PADDING if delta == 0 => return None,
                PADDING => {
                    let len = self.half()?;
                    self.time = self.time.wrapping_add(delta);
                    self.take((len as usize).saturating_sub(4))?;
                }
                TIME_EXTEND => {
                    let high = u64::from(self.half()?) << 27;
                    self.time = self.time.wrapping_add(high | delta);
                }
                TIME_STAMP => {
                    let low = u64::from(self.half()?) << 27 | delta;
                    self.time = self.time & !((1 << 59) - 1) | low;
                }
                _ => {
                    let len = match kind {
                        0 => (self.half()? as usize).checked_sub(4)?,
                        words => words as usize * 4,
                    };
                    self.time = self.time.wrapping_add(delta);
                    let record = self.take(len)?;
                    return Some((self.time, record));
                }
            }
        }
    }
}

fn word(page: &[u8], at: usize) -> Option<u64> {
    page.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(time: u64, commit: u64, words: &[u32]) -> Vec<u8> {
        let mut page = [time.to_ne_bytes(), commit.to_ne_bytes()].concat();
        page.extend(words.iter().flat_map(|w| w.to_ne_bytes()));
        page
    }

    fn times(page: &[u8]) -> Vec<(u64, usize)> {
        Page::new(page).unwrap().map(|(time, record)| (time, record.len())).collect()
    }

    #[test]
    fn records_and_times() {
        let words = [
            5 << 5 | 1, // 5 ns later, one word
            7,
            30 | 1 << 5, // 2^27 + 1 ns later
            1,
            10 << 5, // 10 ns later, with its length: 4 + 8
            12,
            1,
            2,
            29 | 3 << 5, // taken back: 3 ns later, 8 bytes
            8,
            0,
            1 << 5 | 2,
            1,
            2,
            29, // the rest of the page
            1 << 5 | 1,
        ];
        let page = page(100, words.len() as u64 * 4, &words);
        let second = 105 + (1 << 27) + 1 + 10;
        assert_eq!(times(&page), [(105, 4), (second, 8), (second + 4, 8)]);
    }

    #[test]
    fn absolute_time() {
        let page = page(5 << 59 | 77, 16, &[31 | 9 << 5, 1, 2 << 5 | 1, 0]);
        assert_eq!(times(&page), [(5 << 59 | ((1 << 27) + 9 + 2), 4)]);
    }

    #[test]
    fn cut_off() {
        let whole = page(100, 1 << 19, &[1 << 5 | 3, 1, 2, 3]);
        assert_eq!(times(&whole).len(), 1);
        for len in 0..whole.len() {
            assert!(Page::new(&whole[..len]).is_none_or(|mut page| page.next().is_none()));
        }
    }
}
