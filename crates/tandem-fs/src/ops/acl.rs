//! POSIX ACLs, as the kernel passes them in `system.posix_acl_*`: version 2, entries of tag,
//! permissions and id, little-endian.

use tandem_format::Record;

use super::access::class_bits;
use crate::error::{Res, fail};
use crate::state::State;
use crate::types::Cred;

/// The attribute that governs access.
pub(crate) const ACCESS: &[u8] = b"posix_acl_access";
/// The attribute that new entries of a directory inherit.
pub(crate) const DEFAULT: &[u8] = b"posix_acl_default";

const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ace {
    tag: u16,
    perm: u16,
    id: u32,
}

/// An access control list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acl {
    entries: Vec<Ace>,
}

impl Acl {
    /// Parses and checks an attribute's value; `None` when it is not a valid list.
    pub fn parse(value: &[u8]) -> Option<Acl> {
        let (head, rest) = value.split_first_chunk::<4>()?;
        if u32::from_le_bytes(*head) != 2 || rest.len() % 8 != 0 {
            return None;
        }
        let entries: Vec<Ace> = rest
            .chunks_exact(8)
            .map(|c| Ace {
                tag: u16::from_le_bytes([c[0], c[1]]),
                perm: u16::from_le_bytes([c[2], c[3]]),
                id: u32::from_le_bytes([c[4], c[5], c[6], c[7]]),
            })
            .collect();
        let count = |tag| entries.iter().filter(|e| e.tag == tag).count();
        let known = entries.iter().all(|e| {
            matches!(e.tag, USER_OBJ | USER | GROUP_OBJ | GROUP | MASK | OTHER) && e.perm <= 7
        });
        let named = count(USER) + count(GROUP) > 0;
        let sound = known
            && [USER_OBJ, GROUP_OBJ, OTHER].iter().all(|&t| count(t) == 1)
            && count(MASK) <= 1
            && (!named || count(MASK) == 1);
        (entries.is_empty() || sound).then_some(Acl { entries })
    }

    /// The attribute's value.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = 2u32.to_le_bytes().to_vec();
        for e in &self.entries {
            out.extend_from_slice(&e.tag.to_le_bytes());
            out.extend_from_slice(&e.perm.to_le_bytes());
            out.extend_from_slice(&e.id.to_le_bytes());
        }
        out
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn find(&self, tag: u16) -> Option<Ace> {
        self.entries.iter().copied().find(|e| e.tag == tag)
    }

    /// Whether the mode says all that the list says.
    pub fn is_mode(&self) -> bool {
        self.entries.iter().all(|e| matches!(e.tag, USER_OBJ | GROUP_OBJ | OTHER))
    }

    /// The permission bits that a mode shows for the list.
    pub fn mode_bits(&self) -> u32 {
        let perm = |tag| u32::from(self.find(tag).map_or(0, |e| e.perm));
        let group = if self.find(MASK).is_some() { perm(MASK) } else { perm(GROUP_OBJ) };
        perm(USER_OBJ) << 6 | group << 3 | perm(OTHER)
    }

    /// Follows a change of the mode.
    pub fn chmod(&mut self, mode: u32) {
        let masked = self.find(MASK).is_some();
        for e in &mut self.entries {
            match e.tag {
                USER_OBJ => e.perm = (mode >> 6 & 7) as u16,
                GROUP_OBJ if !masked => e.perm = (mode >> 3 & 7) as u16,
                MASK => e.perm = (mode >> 3 & 7) as u16,
                OTHER => e.perm = (mode & 7) as u16,
                _ => {}
            }
        }
    }

    /// Makes a default list the access list of a new i-node; returns the bits left of its mode.
    pub fn inherit(&mut self, mode: u32) -> u32 {
        let masked = self.find(MASK).is_some();
        for e in &mut self.entries {
            match e.tag {
                USER_OBJ => e.perm &= (mode >> 6 & 7) as u16,
                GROUP_OBJ if !masked => e.perm &= (mode >> 3 & 7) as u16,
                MASK => e.perm &= (mode >> 3 & 7) as u16,
                OTHER => e.perm &= (mode & 7) as u16,
                _ => {}
            }
        }
        self.mode_bits()
    }

    /// What the list grants, by the algorithm of POSIX 1003.1e.
    pub fn granted(&self, cred: &Cred, rec: &Record) -> u32 {
        if cred.uid == rec.uid {
            return class_bits(cred, rec);
        }
        let mask = self.find(MASK).map_or(7, |e| e.perm);
        if let Some(e) = self.entries.iter().find(|e| e.tag == USER && e.id == cred.uid) {
            return u32::from(e.perm & mask);
        }
        let mut member = false;
        let mut bits = 0;
        for e in &self.entries {
            let applies = match e.tag {
                GROUP_OBJ => cred.in_group(rec.gid),
                GROUP => cred.in_group(e.id),
                _ => false,
            };
            if applies {
                member = true;
                bits |= e.perm & mask;
            }
        }
        if member { u32::from(bits) } else { u32::from(self.find(OTHER).map_or(0, |e| e.perm)) }
    }
}

impl State {
    /// An i-node's access or default list, if it has one.
    pub(crate) fn acl_of(&mut self, rec: &Record, which: &[u8]) -> Res<Option<Acl>> {
        let Some(value) = self.xattr_value(rec, 4, which)? else { return Ok(None) };
        match Acl::parse(&value) {
            Some(acl) => Ok(Some(acl)),
            None => fail(libc::EUCLEAN),
        }
    }
}
