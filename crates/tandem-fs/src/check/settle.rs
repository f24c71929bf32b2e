//! Accounts that do not balance, in detail: who says what, and what that means.

use tandem_format::Kind;

use super::books::{Fact, Row, Subject};
use super::names;
use super::open::Opened;
use super::place::{Place, describe_home};
use super::report::{Findings, ProblemKind};
use crate::types::FileKind;

/// A border of data blocks at which more begins than ends, or the reverse.
pub(super) struct Border {
    block: u64,
    row: Row,
}

/// Looks at accounts in detail. Borders that do not balance are added to `borders`.
pub(super) fn settle(
    opened: &Opened,
    findings: &Findings,
    accounts: Vec<(Subject, Vec<Row>)>,
    borders: &mut Vec<Border>,
) {
    for (subject, rows) in accounts {
        if rows.iter().any(|row| row.fact == Fact::Unknown)
            || rows.iter().all(|row| row.plus == row.minus)
        {
            continue;
        }
        let account = Account { opened, findings, rows: &rows };
        match subject {
            Subject::Block(id) => account.block(id),
            Subject::Inode(ino) => account.inode(ino),
            Subject::Border(block) => {
                borders.extend(rows.iter().map(|row| Border { block, row: *row }));
            }
        }
    }
}

struct Account<'a> {
    opened: &'a Opened,
    findings: &'a Findings,
    rows: &'a [Row],
}

impl Account<'_> {
    fn of(&self, fact: Fact) -> impl Iterator<Item = &Row> + Clone {
        self.rows.iter().filter(move |row| row.fact == fact)
    }

    /// How often a fact was entered by others, and by the subject itself.
    fn sums(&self, fact: Fact) -> (i64, i64) {
        self.of(fact).fold((0, 0), |(plus, minus), row| (plus + row.plus, minus + row.minus))
    }

    fn block(&self, id: u64) {
        if self.opened.tables.is_lost(Kind::Map, id) {
            return;
        }
        let device = self.opened.core.meta.name();
        let said: Vec<&Row> = self.of(Fact::Is).filter(|row| row.plus > 0).collect();
        let is = self.of(Fact::Is).find(|row| row.minus > 0);
        let name = |words| format!("{device}: block {id} ({})", Place::describe(words));
        match (said.as_slice(), is) {
            ([], None) => {}
            ([first, ..], None) => {
                let by = first.plus_by[0];
                let detail = format!("{by} refers to it, but the block map has no address for it");
                self.findings.conclude(ProblemKind::MissingBlock, name(first.words), detail);
            }
            ([], Some(is)) => self.findings.conclude(
                ProblemKind::UnreferencedBlock,
                name(is.words),
                "in use, but nothing refers to it",
            ),
            (said, Some(is)) => {
                let times: i64 = said.iter().map(|row| row.plus).sum();
                if times > 1 {
                    let by = said.iter().flat_map(|row| row.plus_by);
                    let mut by: Vec<String> = by.map(|by| by.to_string()).collect();
                    by.dedup();
                    let detail = format!("{times} references to it, from {}", by.join(", "));
                    self.findings.conclude(ProblemKind::SharedBlock, name(is.words), detail);
                } else if said[0].words != is.words {
                    let (by, said) = (said[0].plus_by[0], Place::describe(said[0].words));
                    let detail = format!("{by} refers to it as {said}");
                    self.findings.conclude(ProblemKind::WrongReference, name(is.words), detail);
                } else {
                    self.range(name(is.words));
                }
            }
        }
    }

    /// The hashes of a leaf, which is the one that its table means.
    fn range(&self, name: String) {
        let words = |row: &Row| format!("{:#x} at depth {}", row.words[0], row.words[1]);
        let said: Vec<String> =
            self.of(Fact::Range).filter(|row| row.plus > 0).map(words).collect();
        let is: Vec<String> = self.of(Fact::Range).filter(|row| row.minus > 0).map(words).collect();
        if said != is {
            let (is, said) = (is.join(", "), said.join(", "));
            let detail = format!("a leaf for hashes {is}, where one for {said} belongs");
            self.findings.conclude(ProblemKind::WrongReference, name, detail);
        }
    }

    fn inode(&self, ino: u64) {
        let what = names::inode(&self.opened.core, ino);
        let conclude = |kind, detail: String| self.findings.conclude(kind, what.clone(), detail);
        let homes = |plus: bool| {
            let rows = self
                .of(Fact::Home)
                .filter(move |row| plus && row.plus > 0 || !plus && row.minus > 0);
            rows.map(|row| describe_home(row.words)).collect::<Vec<_>>()
        };
        let (mapped, found) = (homes(true), homes(false));
        let (in_map, records) = self.sums(Fact::Home);
        if !self.opened.tables.is_lost(Kind::Imap, ino) && (mapped != found || in_map != records) {
            let detail = match (mapped.join(", "), found.join(", ")) {
                (m, f) if m.is_empty() => format!("its record is {f}, but the i-node map has none"),
                (m, f) if f.is_empty() => {
                    format!("the i-node map says that its record is {m}, but there is none")
                }
                (m, f) => {
                    format!("the i-node map says that its record is {m}; {records} found: {f}")
                }
            };
            conclude(ProblemKind::InodeMap, detail);
        }
        let (entries, links) = self.sums(Fact::Link);
        if records == 0 {
            if entries > 0 && in_map == 0 {
                let by =
                    self.of(Fact::Link).find(|row| row.plus > 0).map_or(0, |row| row.plus_by[0]);
                let detail =
                    format!("an entry of directory {by} leads to it, but it does not exist");
                conclude(ProblemKind::DanglingEntry, detail);
            }
            return;
        }
        let stray = self.of(Fact::Link).find(|row| row.plus > row.minus);
        let lacking = self.of(Fact::Link).find(|row| row.minus > row.plus);
        match (stray, lacking) {
            (Some(entry), Some(is)) => {
                let kind = |row: &Row| FileKind::of_tag(row.words[0] as u8);
                let detail = format!(
                    "a {:?} in the entry of directory {}, by its mode a {:?}",
                    kind(entry),
                    entry.plus_by[0],
                    kind(is)
                );
                conclude(ProblemKind::FileType, detail);
            }
            (None, None) => {}
            _ => {
                let detail = format!("{entries} entries lead to it, it should have {links}");
                conclude(ProblemKind::LinkCount, detail);
            }
        }
        self.counts(&conclude);
    }

    /// The rest of what is said of an i-node that exists.
    fn counts(&self, conclude: &dyn Fn(ProblemKind, String)) {
        match self.sums(Fact::Hidden) {
            (entries, links) if entries == links => {}
            (0, _) => conclude(
                ProblemKind::HiddenDirectory,
                "no link leads to it, and the hidden directory does not have it".into(),
            ),
            (n, _) => conclude(
                ProblemKind::HiddenDirectory,
                format!("{n} entries in the hidden directory, but it has links"),
            ),
        }
        let lies_in = self.of(Fact::Parent).find(|row| row.plus > row.minus);
        let parent = self.of(Fact::Parent).find(|row| row.minus > row.plus);
        if let (Some(lies_in), Some(parent)) = (lies_in, parent) {
            let (in_dir, says) = (lies_in.words[0], parent.words[0]);
            let detail = format!("lies in directory {in_dir}, but calls {says} its parent");
            conclude(ProblemKind::Parent, detail);
        }
        for (fact, name) in [(Fact::Entries, "entries"), (Fact::Subdirs, "directories in it")] {
            let (found, said) = self.sums(fact);
            if found != said {
                conclude(
                    ProblemKind::EntryCount,
                    format!("{found} {name}, its record counts {said}"),
                );
            }
        }
    }
}

/// Data blocks that are not covered exactly once, from all borders that do not balance.
pub(super) fn coverage(opened: &Opened, findings: &Findings, mut borders: Vec<Border>) {
    borders.sort_unstable_by_key(|border| border.block);
    let mut more = 0;
    for pair in borders.windows(2) {
        let (from, to) = (&pair[0], &pair[1]);
        more += from.row.minus - from.row.plus;
        if more == 0 {
            continue;
        }
        let (start, len) = (from.block, to.block - from.block);
        let what = format!("{}: data blocks {start}+{len}", opened.core.data.name());
        if more < 0 {
            let detail = "neither free nor in an extent";
            findings.conclude(ProblemKind::LostBlocks, what, detail);
            continue;
        }
        let begin = from.row.minus_by.into_iter().filter(|_| from.row.minus > 0);
        let end = to.row.plus_by.into_iter().filter(|_| to.row.plus > 0);
        let mut owners: Vec<u64> = begin.chain(end).collect();
        owners.sort_unstable();
        owners.dedup();
        let kind = match owners.first() {
            Some(0) => ProblemKind::FreeInUse,
            _ => ProblemKind::ExtentOverlap,
        };
        let owner = |&by: &u64| match by {
            0 => "free space".to_owned(),
            ino => names::inode(&opened.core, ino),
        };
        let owners: Vec<String> = owners.iter().map(owner).collect();
        findings.conclude(kind, what, format!("in more than one place: {}", owners.join(", ")));
    }
}
