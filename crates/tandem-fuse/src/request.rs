//! Requests: from bytes to a typed [`Operation`], every bound checked. Whatever the bytes are,
//! the result is an operation or [`Malformed`].

mod operation;

pub use operation::Operation;

use zerocopy::FromBytes;

use crate::abi::{InHeader, OP_IN_MAX, Opcode};

/// Bytes that are not the request that they claim to be. Only a broken kernel or transport
/// produces them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed FUSE request: {0}")]
pub struct Malformed(pub(crate) &'static str);

/// How this connection's requests are laid out, where INIT leaves a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// SETXATTR has its long form.
    pub setxattr_ext: bool,
}

impl Layout {
    fn fixed_len(self, opcode: Opcode) -> usize {
        match opcode {
            Opcode::Setxattr if !self.setxattr_ext => 8,
            other => other.fixed_len(),
        }
    }
}

/// One request, still in the transport's memory.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    header: InHeader,
    opcode: Opcode,
    fixed: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Request<'a> {
    /// A request as the device file gives it: header, fixed structure, names and data in one.
    pub fn from_message(message: &'a [u8], layout: Layout) -> Result<Request<'a>, Malformed> {
        let (header, rest) =
            InHeader::read_from_prefix(message).map_err(|_| Malformed("shorter than a header"))?;
        if header.len as usize != message.len() {
            return Err(Malformed("its length is not what its header says"));
        }
        let opcode = Opcode::from_code(header.opcode);
        let fixed = layout.fixed_len(opcode);
        let (fixed, payload) =
            rest.split_at_checked(fixed).ok_or(Malformed("its structure is cut short"))?;
        Request::assemble(header, opcode, fixed, payload)
    }

    /// A request as io_uring gives it: header and fixed structure apart from names and data.
    pub fn from_parts(
        header: InHeader,
        op_in: &'a [u8],
        payload: &'a [u8],
        layout: Layout,
    ) -> Result<Request<'a>, Malformed> {
        let opcode = Opcode::from_code(header.opcode);
        let fixed =
            op_in.get(..layout.fixed_len(opcode)).ok_or(Malformed("its structure is cut short"))?;
        Request::assemble(header, opcode, fixed, payload)
    }

    fn assemble(
        header: InHeader,
        opcode: Opcode,
        fixed: &'a [u8],
        payload: &'a [u8],
    ) -> Result<Request<'a>, Malformed> {
        debug_assert!(fixed.len() <= OP_IN_MAX);
        let extensions = usize::from(header.total_extlen) * 8;
        let end = payload
            .len()
            .checked_sub(extensions)
            .ok_or(Malformed("its extensions are longer than itself"))?;
        Ok(Request { header, opcode, fixed, payload: &payload[..end] })
    }

    /// The header.
    pub fn header(&self) -> &InHeader {
        &self.header
    }

    /// What is asked for.
    pub fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// The i-node that it is asked of.
    pub fn nodeid(&self) -> u64 {
        self.header.nodeid
    }

    /// The arguments.
    pub fn operation(&self) -> Result<Operation<'a>, Malformed> {
        Operation::parse(self.opcode, self.fixed, self.payload)
    }
}

#[cfg(test)]
mod tests;
