//! What a volume may be after a crash: the model as it was after some operation since the last
//! one that was made durable; in every file, bytes that it had at some time since its contents
//! were.

use std::collections::BTreeMap;
use std::sync::Arc;

use tandem_fs::Ino;

use super::content::Content;
use super::tree::{Body, Inode, Tree};
use super::world::{Outcome, wrong};

/// An i-node for as long as it lives.
type Life = (Ino, u32);

#[derive(Clone, Default)]
pub struct History {
    /// The model after each operation since the last durable one, that one included.
    states: Vec<(usize, Tree)>,
    /// Each file's contents, with the operation that made them so, since they were durable.
    versions: BTreeMap<Life, Vec<(usize, Arc<Content>)>>,
    /// Files renamed over others: their contents go with the name.
    over: Vec<(usize, Life)>,
    /// Files with a change of their contents, and times, that has failed half way.
    torn: Vec<Ino>,
    /// Directories that others use too: attributes are anybody's.
    shared: Vec<Ino>,
}

impl History {
    /// Of somebody who shares directories with others.
    pub fn sharing(shared: &[Ino]) -> History {
        History { shared: shared.to_vec(), ..History::default() }
    }

    /// Everything is durable.
    pub fn durable(&mut self, op: usize, tree: &Tree) {
        *self = History::sharing(&self.shared);
        self.record(op, tree, None);
    }

    /// A change of a file's contents has failed; some of it may have been done.
    pub fn torn(&mut self, ino: Ino) {
        self.torn.push(ino);
    }

    /// An operation has changed the model.
    pub fn record(&mut self, op: usize, tree: &Tree, over: Option<Ino>) {
        for (&ino, node) in &tree.nodes {
            let Some(content) = node.file() else { continue };
            let versions = self.versions.entry((ino, node.generation)).or_default();
            if versions.last().is_none_or(|(_, last)| !Arc::ptr_eq(last, content)) {
                versions.push((op, Arc::clone(content)));
            }
        }
        self.over.extend(over.map(|ino| (op, (ino, tree.get(ino).generation))));
        self.states.push((op, tree.clone()));
    }

    /// All names and attributes up to now are durable, and the contents of one file.
    pub fn fsynced(&mut self, tree: &Tree, ino: Ino) {
        self.named(usize::MAX);
        let life = tree.nodes.get(&ino).map(|node| (ino, node.generation));
        if let Some(versions) = life.and_then(|life| self.versions.get_mut(&life)) {
            versions.drain(..versions.len() - 1);
        }
        let alive = |life: &Life| tree.nodes.get(&life.0).is_some_and(|n| n.generation == life.1);
        self.versions.retain(|life, _| alive(life));
    }

    /// All names and attributes up to operation `upto` are durable.
    pub fn named(&mut self, upto: usize) {
        self.states.drain(..self.states.iter().rposition(|s| s.0 <= upto).unwrap_or(0));
        // What a rename has promised is promised still: the name is durable now.
        let (durable, open) = self.over.drain(..).partition(|(op, _)| *op <= upto);
        self.over = open;
        for (op, life) in durable {
            self.contents_of(life, op);
        }
    }

    /// Everything up to operation `upto` is durable.
    pub fn synced(&mut self, upto: usize) {
        self.named(upto);
        let lives: Vec<Life> = self.versions.keys().copied().collect();
        lives.into_iter().for_each(|life| self.contents_of(life, upto));
    }

    /// A file's contents are durable as of operation `upto`.
    fn contents_of(&mut self, life: Life, upto: usize) {
        if let Some(versions) = self.versions.get_mut(&life) {
            versions.drain(..versions.iter().rposition(|(at, _)| *at <= upto).unwrap_or(0));
        }
    }

    /// Number of the last operation.
    pub fn last(&self) -> usize {
        self.states.last().map_or(0, |state| state.0)
    }

    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Takes what was found on a volume after a crash for the new state of the model, if it is one
    /// of those that it may be.
    pub fn accept(&self, found: &Tree) -> Outcome {
        let mut why: Vec<String> = Vec::new();
        for (op, state) in self.states.iter().rev() {
            let loose = |ino: &Ino| self.shared.contains(ino) || self.torn.contains(ino);
            let verdict = same_names(found, &state.linked(), &loose);
            let names = verdict.is_ok();
            match verdict.and_then(|()| self.contents(*op, found)) {
                Ok(()) => return Ok(()),
                Err(e) if names => why.insert(0, format!("  not that after operation {op}: {e}")),
                Err(e) => why.push(format!("  not that after operation {op}: {e}")),
            }
        }
        let many = self.states.len();
        why.truncate(6);
        wrong(format!("recovered is none of {many} states that may be:\n{}", why.join("\n")))
    }

    fn contents(&self, op: usize, found: &Tree) -> Outcome {
        for (&ino, node) in &found.nodes {
            let Some(content) = node.file() else { continue };
            let life = (ino, node.generation);
            let Some(versions) = self.versions.get(&life) else { continue };
            if self.torn.contains(&ino) {
                continue;
            }
            let over =
                self.over.iter().filter(|(at, l)| *l == life && *at <= op).map(|o| o.0).max();
            let floor = match over {
                Some(over) => versions.iter().rposition(|(at, _)| *at <= over).unwrap_or(0),
                None => 0,
            };
            plausible(&versions[floor..], op, content)
                .map_err(|e| format!("contents of {}: {e}", found.path(ino)))?;
        }
        Ok(())
    }
}

/// Whether contents consist of bytes that some version has at the place.
fn plausible(versions: &[(usize, Arc<Content>)], op: usize, got: &Content) -> Outcome {
    let sizes: Vec<u64> = versions.iter().filter(|v| v.0 <= op).map(|v| v.1.size).collect();
    if !sizes.contains(&got.size) {
        return wrong(format!("size {}, may be {sizes:?}", got.size));
    }
    for (off, len) in got.stretches() {
        for at in (off..off + len as u64).step_by(4096) {
            let part = got.read(at, (off + len as u64 - at).min(4096) as usize);
            let may: Vec<Vec<u8>> =
                versions.iter().rev().map(|v| v.1.read(at, part.len())).collect();
            if may.contains(&part) {
                continue;
            }
            for (i, byte) in part.iter().enumerate() {
                // What lay behind the end at some time may have been made zero.
                let may_be = |m: &Vec<u8>| m.get(i).map_or(*byte == 0, |b| b == byte);
                if !may.iter().any(may_be) {
                    let end = part.len().min(i + 8);
                    let may: Vec<_> = may.iter().map(|m| m.get(i..end.min(m.len()))).collect();
                    let (got, at) = (&part[i..end], at + i as u64);
                    return wrong(format!("byte {at}: {got:02x?}, may be {may:02x?}"));
                }
            }
        }
    }
    Ok(())
}

/// Whether two trees have the same names, attributes and i-nodes; sizes and contents of regular
/// files, access times, and attributes of i-nodes that are `loose`, aside.
fn same_names(found: &Tree, want: &Tree, loose: &dyn Fn(&Ino) -> bool) -> Outcome {
    if let Some(ino) = want.nodes.keys().find(|ino| !found.nodes.contains_key(ino)) {
        return wrong(format!("{} is missing", want.path(*ino)));
    }
    for (ino, node) in &found.nodes {
        let Some(other) = want.nodes.get(ino) else {
            return wrong(format!("{} is there", found.path(*ino)));
        };
        same_node(node, other, loose(ino)).map_err(|e| format!("{}: {e}", found.path(*ino)))?;
    }
    Ok(())
}

fn same_node(got: &Inode, want: &Inode, loose: bool) -> Outcome {
    let attributes = |n: &Inode| {
        ((n.generation, n.mode, n.nlink, n.uid, n.gid, n.rdev), (n.mtime, n.ctime, n.btime))
    };
    if !loose && attributes(got) != attributes(want) {
        return wrong(format!("attributes {:?}, not {:?}", attributes(got), attributes(want)));
    }
    if got.xattrs != want.xattrs {
        let keys = |n: &Inode| n.xattrs.iter().map(|(k, v)| (k.len(), v.len())).collect::<Vec<_>>();
        return wrong(format!("extended attributes {:?}, not {:?}", keys(got), keys(want)));
    }
    match (&got.body, &want.body) {
        (Body::File(_), Body::File(_)) | (Body::Special, Body::Special) => Ok(()),
        (Body::Dir { parent: a, entries: x }, Body::Dir { parent: b, entries: y }) => {
            if a != b || x != y {
                return wrong(format!(
                    "directory of {a} with {} entries, not {b} with {}",
                    x.len(),
                    y.len()
                ));
            }
            Ok(())
        }
        (Body::Link(a), Body::Link(b)) if a == b => Ok(()),
        _ => wrong("another type, or another target"),
    }
}
