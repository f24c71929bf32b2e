//! Chains of leaves with one and the same hash.

use rustc_hash::FxHashSet;
use tandem_format::{Kind, Leaf};

use super::books::{Fact, Subject};
use super::directory::{SEQ_MAX, text};
use super::pass::Pass;
use super::place::range;
use super::report::ProblemKind;
use crate::dir::rev_of;

impl Pass<'_> {
    /// Walks all chains from their heads, once all leaves have been read.
    pub fn chains(&self) {
        let mut links = std::mem::take(&mut *self.lists.chains.lock());
        links.sort_unstable();
        links.dedup();
        if self.lists.chains_cut.load(std::sync::atomic::Ordering::Relaxed) {
            let detail =
                format!("chains of leaves: more than {} do not fit the memory", links.len());
            self.findings.unverified(detail);
            return;
        }
        let behind: FxHashSet<u64> = links.iter().map(|link| link.1).collect();
        let mut walked = FxHashSet::default();
        for &(head, _) in links.iter().filter(|(leaf, _)| !behind.contains(leaf)) {
            self.chain(head, &mut walked);
        }
        for (leaf, _) in links.iter().filter(|(leaf, _)| !walked.contains(leaf)) {
            // One behind a leaf that cannot be read, or that goes on from another one's chain.
            let what = format!("{}: block {leaf} (Leaf)", self.opened.core.meta.name());
            let detail =
                "a chained leaf that no table leads to: in a circle, or behind one that is damaged";
            self.findings.add(ProblemKind::Directory, what, detail);
        }
    }

    fn chain(&self, head: u64, walked: &mut FxHashSet<u64>) {
        let mut at = head;
        let mut first: Option<(u64, Leaf)> = None;
        let mut seqs = FxHashSet::default();
        let mut names: FxHashSet<Box<[u8]>> = FxHashSet::default();
        while at != 0 && walked.insert(at) {
            let what = || format!("{}: block {at} (Leaf)", self.opened.core.meta.name());
            let wrong = |detail: String| self.findings.add(ProblemKind::Directory, what(), detail);
            let leaf = self.fetch(at).filter(|(meta, _)| meta.kind == Kind::Leaf);
            let leaf = leaf.and_then(|(meta, bytes)| {
                Leaf::decode(&bytes, &meta, &self.opened.sb.implied()).ok()
            });
            // What cannot be read is reported elsewhere.
            let Some(leaf) = leaf else { return };
            if leaf.count() == 0 {
                return wrong("an empty leaf in a chain".into());
            }
            let rev = first.as_ref().map_or(rev_of(leaf.entry(0).key), |(rev, _)| *rev);
            for slot in 0..leaf.count() as usize {
                let entry = leaf.entry(slot);
                if rev_of(entry.key) != rev {
                    return wrong("different hashes in a chain".into());
                }
                let seq = entry.key & 0x7fff;
                if seq > SEQ_MAX || !seqs.insert(seq) {
                    wrong(format!("sequence number {seq} twice in a chain"));
                }
                if !names.insert(entry.name.into()) {
                    let detail = format!("the name {} twice in a chain", text(entry.name));
                    self.findings.add(ProblemKind::Name, what(), detail);
                }
            }
            let next = leaf.next();
            match &first {
                None => first = Some((rev, leaf)),
                Some((_, head)) => {
                    let words = range(leaf.prefix(), leaf.depth());
                    if leaf.depth() > head.depth() {
                        wrong("deeper than the head of its chain".into());
                    }
                    self.books.enter(Subject::Block(at), Fact::Range, words, 1, at);
                }
            }
            at = next;
        }
    }
}
