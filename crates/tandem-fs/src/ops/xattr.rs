//! Extended attributes: in the record while they are few, in blocks of their own past that.

use tandem_format::{Kind, Record, Xattrs};

use super::acl::{self, Acl};
use crate::cache::{Block, Body, Key};
use crate::error::{Error, Res, Result, corrupt, fail};
use crate::state::State;
use crate::types::{Cred, Ino, NAME_MAX, XattrMode};
use crate::volume::Volume;

/// Attribute bytes that stay in the record.
const INLINE_MAX: usize = 2000;

/// Attribute bytes in one block.
const CHUNK: usize = 8000;

/// The longest value, in bytes (the kernel's limit).
pub const XATTR_VALUE_MAX: usize = 65536;

/// All of an i-node's attributes together, in bytes.
const TOTAL_MAX: usize = 1 << 20;

const USER: u8 = 1;
const TRUSTED: u8 = 2;
const SECURITY: u8 = 3;
const SYSTEM: u8 = 4;

/// The class of a full name, and the name in it.
fn split_name(full: &[u8]) -> Res<(u8, &[u8])> {
    let classes: [(&[u8], u8); 4] =
        [(b"user.", USER), (b"trusted.", TRUSTED), (b"security.", SECURITY), (b"system.", SYSTEM)];
    for (prefix, class) in classes {
        if let Some(name) = full.strip_prefix(prefix) {
            if name.is_empty() {
                return fail(libc::EINVAL);
            }
            if name.len() > NAME_MAX {
                return fail(libc::ERANGE);
            }
            if class == SYSTEM && name != acl::ACCESS && name != acl::DEFAULT {
                return fail(libc::EOPNOTSUPP);
            }
            return Ok((class, name));
        }
    }
    fail(libc::EOPNOTSUPP)
}

fn prefix(class: u8) -> &'static [u8] {
    match class {
        USER => b"user.",
        TRUSTED => b"trusted.",
        SECURITY => b"security.",
        _ => b"system.",
    }
}

/// Bytes of an i-node's attributes, all of which a change of one writes anew.
fn stored_len(rec: &Record) -> u64 {
    match &rec.xattrs {
        Xattrs::None => 0,
        Xattrs::Inline(bytes) => bytes.len() as u64,
        Xattrs::Blocks { len, .. } => u64::from(*len),
    }
}

#[derive(Debug, Clone)]
struct Attribute {
    class: u8,
    name: Vec<u8>,
    value: Vec<u8>,
}

fn parse(ino: Ino, mut bytes: &[u8]) -> Res<Vec<Attribute>> {
    let bad = || corrupt(format!("attributes of i-node {ino}"), "cut short");
    let mut list = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<6>() {
        let name_len = usize::from(head[1]);
        let value_len = u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize;
        let name = rest.get(..name_len).ok_or_else(bad)?;
        let value = rest[name_len..].get(..value_len).ok_or_else(bad)?;
        list.push(Attribute { class: head[0], name: name.to_vec(), value: value.to_vec() });
        bytes = &rest[name_len + value_len..];
    }
    if bytes.is_empty() { Ok(list) } else { Err(bad()) }
}

fn encode(list: &[Attribute]) -> Vec<u8> {
    let mut out = Vec::new();
    for a in list {
        out.push(a.class);
        out.push(a.name.len() as u8);
        out.extend_from_slice(&(a.value.len() as u32).to_le_bytes());
        out.extend_from_slice(&a.name);
        out.extend_from_slice(&a.value);
    }
    out
}

/// One attribute as the bytes of a record that has no other.
pub(crate) fn single(class: u8, name: &[u8], value: Vec<u8>) -> Vec<u8> {
    encode(&[Attribute { class, name: name.to_vec(), value }])
}

/// Adds an attribute to encoded ones.
pub(crate) fn append(bytes: &mut Vec<u8>, class: u8, name: &[u8], value: Vec<u8>) {
    bytes.extend(single(class, name, value));
}

impl State {
    fn xattr_list(&mut self, rec: &Record) -> Res<Vec<Attribute>> {
        match &rec.xattrs {
            Xattrs::None => Ok(Vec::new()),
            Xattrs::Inline(bytes) => parse(rec.ino, bytes),
            Xattrs::Blocks { len, ids } => {
                let mut bytes = Vec::with_capacity((*len as usize).min(TOTAL_MAX));
                for &id in ids {
                    match &self.cache.get(Key::block(id))?.body {
                        Body::Raw(part) => bytes.extend_from_slice(part),
                        _ => return Err(corrupt(format!("block {id}"), "not an attribute block")),
                    }
                }
                bytes.truncate(*len as usize);
                parse(rec.ino, &bytes)
            }
        }
    }

    /// One attribute's value.
    pub(crate) fn xattr_value(
        &mut self,
        rec: &Record,
        class: u8,
        name: &[u8],
    ) -> Res<Option<Vec<u8>>> {
        if matches!(rec.xattrs, Xattrs::None) {
            return Ok(None);
        }
        let list = self.xattr_list(rec)?;
        Ok(list.into_iter().find(|a| a.class == class && a.name == name).map(|a| a.value))
    }

    /// Replaces all attributes of a node that is in memory.
    fn set_xattrs(&mut self, ino: Ino, list: &[Attribute]) -> Res<()> {
        let bytes = encode(list);
        let old = std::mem::replace(&mut self.change(ino)?.rec.xattrs, Xattrs::None);
        if let Xattrs::Blocks { ids, .. } = old {
            for id in ids {
                self.free_id(id);
            }
        }
        let xattrs = match bytes.len() {
            0 => Xattrs::None,
            1..=INLINE_MAX => Xattrs::Inline(bytes.into_boxed_slice()),
            len => {
                let mut ids = Vec::new();
                for (n, chunk) in bytes.chunks(CHUNK).enumerate() {
                    let id = self.new_id();
                    let body = Body::Raw(chunk.to_vec());
                    let block =
                        Block { kind: Kind::Xattr, owner: ino, index: n as u64, level: 0, body };
                    self.cache.insert_new(Key::block(id), block);
                    ids.push(id);
                }
                Xattrs::Blocks { len: len as u32, ids }
            }
        };
        self.change(ino)?.rec.xattrs = xattrs;
        Ok(())
    }

    /// Replaces all attributes of a node that is in memory by encoded ones.
    pub(crate) fn restore_xattrs(&mut self, ino: Ino, bytes: &[u8]) -> Res<()> {
        let list = parse(ino, bytes)?;
        self.set_xattrs(ino, &list)
    }

    /// Changes or removes one attribute of a node that is in memory.
    pub(crate) fn put_xattr(
        &mut self,
        ino: Ino,
        class: u8,
        name: &[u8],
        value: Option<Vec<u8>>,
    ) -> Res<()> {
        let rec = self.node(ino)?.rec.clone();
        let mut list = self.xattr_list(&rec)?;
        list.retain(|a| !(a.class == class && a.name == name));
        if let Some(value) = value {
            list.push(Attribute { class, name: name.to_vec(), value });
        }
        if encode(&list).len() > TOTAL_MAX {
            return fail(libc::ENOSPC);
        }
        self.set_xattrs(ino, &list)
    }

    /// Takes `security.capability` from a file in memory whose contents change.
    pub(crate) fn drop_capabilities(&mut self, ino: Ino) -> Res<()> {
        if matches!(self.node(ino)?.rec.xattrs, Xattrs::None) {
            return Ok(());
        }
        let rec = self.node(ino)?.rec.clone();
        if self.xattr_value(&rec, SECURITY, b"capability")?.is_none() {
            return Ok(());
        }
        self.claim_rewrite(512, stored_len(&rec), true)?;
        self.put_xattr(ino, SECURITY, b"capability", None)
    }

    /// Brings the mode in line with a new access list; true when the list says more than a mode.
    fn apply_acl(&mut self, cred: &Cred, ino: Ino, acl: &Acl) -> Res<bool> {
        if acl.is_empty() {
            return Ok(false);
        }
        let node = self.change(ino)?;
        node.rec.mode = node.rec.mode & !0o777 | acl.mode_bits();
        if cred.enforce && cred.uid != 0 && !cred.in_group(node.rec.gid) {
            node.rec.mode &= !libc::S_ISGID;
        }
        Ok(!acl.is_mode())
    }
}

impl Volume {
    /// An extended attribute's value.
    ///
    /// # Errors
    /// ENODATA when there is none of that name, EOPNOTSUPP for a class that is not kept.
    pub fn getxattr(&self, _cred: &Cred, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        self.core.run(|st| {
            let (class, name) = split_name(name)?;
            // The usual answer, without a copy of the record.
            if st.nodes.get(ino).is_some_and(|n| matches!(n.rec.xattrs, Xattrs::None)) {
                return fail(libc::ENODATA);
            }
            let rec = st.record(ino)?;
            match st.xattr_value(&rec, class, name)? {
                Some(value) => Ok(value),
                None => fail(libc::ENODATA),
            }
        })
    }

    /// The names of all extended attributes, each ended by a NUL; those of the trusted class for
    /// the superuser only.
    ///
    /// # Errors
    /// Those of reading the i-node.
    pub fn listxattr(&self, cred: &Cred, ino: Ino) -> Result<Vec<u8>> {
        self.core.run(|st| {
            let rec = st.record(ino)?;
            let mut out = Vec::new();
            for a in st.xattr_list(&rec)? {
                if a.class == TRUSTED && cred.uid != 0 {
                    continue;
                }
                out.extend_from_slice(prefix(a.class));
                out.extend_from_slice(&a.name);
                out.push(0);
            }
            Ok(out)
        })
    }

    /// Sets an extended attribute. An access ACL changes the mode with it; one that says no more
    /// than a mode is kept as the mode alone.
    ///
    /// # Errors
    /// EEXIST or ENODATA as `mode` has it, E2BIG for values of more than 64 KiB, EINVAL for an
    /// ACL that is none.
    pub fn setxattr(
        &self,
        cred: &Cred,
        ino: Ino,
        name: &[u8],
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        if value.len() > XATTR_VALUE_MAX {
            return Err(Error::Posix(libc::E2BIG));
        }
        self.core.run(|st| {
            let (class, name) = split_name(name)?;
            st.must_own_or_write(cred, ino, class)?;
            let rec = st.record(ino)?;
            let exists = st.xattr_value(&rec, class, name)?.is_some();
            match mode {
                XattrMode::Create if exists => return fail(libc::EEXIST),
                XattrMode::Replace if !exists => return fail(libc::ENODATA),
                _ => {}
            }
            st.claim_rewrite(value.len() as u64 + 512, stored_len(&rec), false)?;
            st.node(ino)?;
            let mut keep = true;
            if class == SYSTEM {
                let Some(acl) = Acl::parse(value) else { return fail(libc::EINVAL) };
                match name {
                    acl::DEFAULT if rec.mode & libc::S_IFMT != libc::S_IFDIR => {
                        return if acl.is_empty() { Ok(()) } else { fail(libc::EACCES) };
                    }
                    acl::DEFAULT => keep = !acl.is_empty(),
                    _ => keep = st.apply_acl(cred, ino, &acl)?,
                }
            }
            st.put_xattr(ino, class, name, keep.then(|| value.to_vec()))?;
            let now = st.now;
            st.change(ino)?.rec.ctime = now;
            Ok(())
        })
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// ENODATA when there is none of that name.
    pub fn removexattr(&self, cred: &Cred, ino: Ino, name: &[u8]) -> Result<()> {
        self.core.run(|st| {
            let (class, name) = split_name(name)?;
            st.must_own_or_write(cred, ino, class)?;
            let rec = st.record(ino)?;
            if st.xattr_value(&rec, class, name)?.is_none() {
                // An access control list that is not there is as good as removed.
                return if class == SYSTEM { Ok(()) } else { fail(libc::ENODATA) };
            }
            st.claim_rewrite(512, stored_len(&rec), true)?;
            st.node(ino)?;
            st.put_xattr(ino, class, name, None)?;
            let now = st.now;
            st.change(ino)?.rec.ctime = now;
            Ok(())
        })
    }
}

impl State {
    fn must_own_or_write(&mut self, cred: &Cred, ino: Ino, class: u8) -> Res<()> {
        match class {
            USER => self.may(cred, ino, super::access::MAY_WRITE),
            SYSTEM => self.must_own(cred, ino),
            _ if cred.enforce && cred.uid != 0 => fail(libc::EPERM),
            _ => Ok(()),
        }
    }
}
