//! Where the fields of an event lie; the kernel says so in the event's `format` file.

/// A field of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// Its value, as an unsigned number of up to 8 bytes.
    pub(super) fn get(self, record: &[u8]) -> Option<u64> {
        let bytes = self.bytes(record)?;
        let mut word = [0; 8];
        word.get_mut(..self.size)?.copy_from_slice(bytes);
        Some(u64::from_ne_bytes(word))
    }

    pub(super) fn bytes(self, record: &[u8]) -> Option<&[u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }
}

/// An event's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) id: u16,
    pub(super) dev: Field,
    pub(super) sector: Field,
    pub(super) sectors: Field,
    pub(super) rwbs: Field,
    /// Only a completion has it.
    pub(super) error: Option<Field>,
    /// The request went back to its queue.
    pub(super) requeue: bool,
}

impl Layout {
    /// Reads a `format` file; says what is missing from it.
    pub(super) fn parse(name: &str, text: &str) -> Result<Layout, String> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID: "));
        let id = id.and_then(|id| id.trim().parse().ok()).ok_or("no line with the event's ID")?;
        let field = |wanted: &str| {
            let found = text.lines().find_map(|line| field(line, wanted));
            found.ok_or_else(|| format!("{name} has no field {wanted}"))
        };
        Ok(Layout {
            id,
            dev: field("dev")?,
            sector: field("sector")?,
            sectors: field("nr_sector")?,
            rwbs: field("rwbs")?,
            error: if name == "block_rq_complete" { Some(field("error")?) } else { None },
            requeue: name == "block_rq_requeue",
        })
    }
}

/// As `field:char rwbs[10]; offset:34; size:10; signed:0;`, with tabs between the parts.
fn field(line: &str, wanted: &str) -> Option<Field> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';');
    let name = parts.next()?.rsplit(' ').next()?.split('[').next()?;
    if name != wanted {
        return None;
    }
    let mut number = |key: &str| parts.next()?.trim().strip_prefix(key)?.parse().ok();
    Some(Field { offset: number("offset:")?, size: number("size:")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: block_rq_complete\nID: 2107\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:int error;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";

    #[test]
    fn fields() {
        let layout = Layout::parse("block_rq_complete", FORMAT).unwrap();
        assert_eq!(layout.id, 2107);
        assert_eq!(layout.sector, Field { offset: 16, size: 8 });
        assert_eq!(layout.rwbs, Field { offset: 34, size: 10 });
        assert_eq!(layout.error, Some(Field { offset: 28, size: 4 }));
    }

    #[test]
    fn what_is_missing() {
        let text = FORMAT.replace(" dev;", " device;");
        let error = Layout::parse("block_rq_complete", &text).unwrap_err();
        assert_eq!(error, "block_rq_complete has no field dev");
        assert!(Layout::parse("block_rq_issue", "").is_err());
    }

    #[test]
    fn short_records() {
        assert_eq!(Field { offset: 4, size: 4 }.get(&[1, 0, 0, 0, 2, 0, 0, 0]), Some(2));
        assert_eq!(Field { offset: 4, size: 4 }.get(&[0; 7]), None);
        assert_eq!(Field { offset: 0, size: 9 }.get(&[0; 9]), None);
    }
}
