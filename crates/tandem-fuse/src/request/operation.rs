//! The arguments of each operation.

use zerocopy::FromBytes;

use super::Malformed;
use crate::abi::{
    BatchForgetIn, CopyFileRangeIn, CreateIn, FallocateIn, ForgetIn, ForgetOne, FsyncIn,
    GetxattrIn, InitIn, InterruptIn, IoctlIn, LinkIn, LseekIn, MkdirIn, MknodIn, Opcode, ReadIn,
    Rename2In, RenameIn, SetattrIn, SetxattrIn, StatxIn, WriteIn,
};

/// A request's arguments. Names are without their NUL, never empty, and contain none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the kernel's operations and arguments")]
pub enum Operation<'a> {
    Lookup {
        name: &'a [u8],
    },
    Forget {
        count: u64,
    },
    BatchForget {
        list: Forgets<'a>,
    },
    Getattr,
    Statx(StatxIn),
    Setattr(SetattrIn),
    Readlink,
    Symlink {
        name: &'a [u8],
        target: &'a [u8],
    },
    Mknod {
        args: MknodIn,
        name: &'a [u8],
    },
    Mkdir {
        args: MkdirIn,
        name: &'a [u8],
    },
    Create {
        args: CreateIn,
        name: &'a [u8],
    },
    Tmpfile {
        args: CreateIn,
    },
    Unlink {
        name: &'a [u8],
    },
    Rmdir {
        name: &'a [u8],
    },
    Rename {
        newdir: u64,
        flags: u32,
        name: &'a [u8],
        newname: &'a [u8],
    },
    Link {
        ino: u64,
        newname: &'a [u8],
    },
    Open,
    Opendir,
    Release,
    Releasedir,
    Flush,
    Read(ReadIn),
    Write {
        args: WriteIn,
        data: &'a [u8],
    },
    Readdir(ReadIn),
    Readdirplus(ReadIn),
    Fsync(FsyncIn),
    Fsyncdir(FsyncIn),
    Syncfs,
    Statfs,
    Setxattr {
        args: SetxattrIn,
        name: &'a [u8],
        value: &'a [u8],
    },
    Getxattr {
        size: u32,
        name: &'a [u8],
    },
    Listxattr {
        size: u32,
    },
    Removexattr {
        name: &'a [u8],
    },
    Fallocate(FallocateIn),
    Lseek(LseekIn),
    CopyFileRange {
        args: CopyFileRangeIn,
        wide: bool,
    },
    Ioctl(IoctlIn),
    Init(InitIn),
    Destroy,
    Interrupt {
        unique: u64,
    },
    Access,
    /// Known, and deliberately not done: locks, BMAP, POLL.
    Refused,
    Unknown,
}

/// The list of a BATCH_FORGET.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forgets<'a>(&'a [u8]);

impl Iterator for Forgets<'_> {
    type Item = ForgetOne;

    fn next(&mut self) -> Option<ForgetOne> {
        let (one, rest) = ForgetOne::read_from_prefix(self.0).ok()?;
        self.0 = rest;
        Some(one)
    }
}

fn read<T: FromBytes>(fixed: &[u8]) -> Result<T, Malformed> {
    Ok(T::read_from_prefix(fixed).map_err(|_| Malformed("its structure is cut short"))?.0)
}

/// A NUL-terminated name and what follows it.
fn name(payload: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let (name, rest) = string(payload)?;
    if name.is_empty() { Err(Malformed("an empty name")) } else { Ok((name, rest)) }
}

fn string(payload: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let end = payload.iter().position(|&b| b == 0).ok_or(Malformed("a name that does not end"))?;
    Ok((&payload[..end], &payload[end + 1..]))
}

impl<'a> Operation<'a> {
    pub(super) fn parse(
        opcode: Opcode,
        fixed: &'a [u8],
        payload: &'a [u8],
    ) -> Result<Operation<'a>, Malformed> {
        use Operation as Op;
        Ok(match opcode {
            Opcode::Lookup => Op::Lookup { name: name(payload)?.0 },
            Opcode::Forget => Op::Forget { count: read::<ForgetIn>(fixed)?.nlookup },
            Opcode::BatchForget => {
                let count = read::<BatchForgetIn>(fixed)?.count as usize;
                let bytes = count
                    .checked_mul(size_of::<ForgetOne>())
                    .and_then(|len| payload.get(..len))
                    .ok_or(Malformed("a list of forgets longer than itself"))?;
                Op::BatchForget { list: Forgets(bytes) }
            }
            Opcode::Getattr => Op::Getattr,
            Opcode::Statx => Op::Statx(read(fixed)?),
            Opcode::Setattr => Op::Setattr(read(fixed)?),
            Opcode::Readlink => Op::Readlink,
            Opcode::Symlink => {
                let (name, rest) = name(payload)?;
                Op::Symlink { name, target: string(rest)?.0 }
            }
            Opcode::Mknod => Op::Mknod { args: read(fixed)?, name: name(payload)?.0 },
            Opcode::Mkdir => Op::Mkdir { args: read(fixed)?, name: name(payload)?.0 },
            Opcode::Create => Op::Create { args: read(fixed)?, name: name(payload)?.0 },
            Opcode::Tmpfile => Op::Tmpfile { args: read(fixed)? },
            Opcode::Unlink => Op::Unlink { name: name(payload)?.0 },
            Opcode::Rmdir => Op::Rmdir { name: name(payload)?.0 },
            Opcode::Rename => {
                let args: RenameIn = read(fixed)?;
                Op::rename(args.newdir, 0, payload)?
            }
            Opcode::Rename2 => {
                let args: Rename2In = read(fixed)?;
                Op::rename(args.newdir, args.flags, payload)?
            }
            Opcode::Link => {
                Op::Link { ino: read::<LinkIn>(fixed)?.oldnodeid, newname: name(payload)?.0 }
            }
            Opcode::Open => Op::Open,
            Opcode::Opendir => Op::Opendir,
            Opcode::Release => Op::Release,
            Opcode::Releasedir => Op::Releasedir,
            Opcode::Flush => Op::Flush,
            Opcode::Read => Op::Read(read(fixed)?),
            Opcode::Readdir => Op::Readdir(read(fixed)?),
            Opcode::Readdirplus => Op::Readdirplus(read(fixed)?),
            Opcode::Write => {
                let args: WriteIn = read(fixed)?;
                let data =
                    payload.get(..args.size as usize).ok_or(Malformed("less data than it says"))?;
                Op::Write { args, data }
            }
            Opcode::Fsync => Op::Fsync(read(fixed)?),
            Opcode::Fsyncdir => Op::Fsyncdir(read(fixed)?),
            Opcode::Syncfs => Op::Syncfs,
            Opcode::Statfs => Op::Statfs,
            Opcode::Setxattr => Op::setxattr(fixed, payload)?,
            Opcode::Getxattr => {
                Op::Getxattr { size: read::<GetxattrIn>(fixed)?.size, name: name(payload)?.0 }
            }
            Opcode::Listxattr => Op::Listxattr { size: read::<GetxattrIn>(fixed)?.size },
            Opcode::Removexattr => Op::Removexattr { name: name(payload)?.0 },
            Opcode::Fallocate => Op::Fallocate(read(fixed)?),
            Opcode::Lseek => Op::Lseek(read(fixed)?),
            Opcode::CopyFileRange => Op::CopyFileRange { args: read(fixed)?, wide: false },
            Opcode::CopyFileRange64 => Op::CopyFileRange { args: read(fixed)?, wide: true },
            Opcode::Ioctl => Op::Ioctl(read(fixed)?),
            Opcode::Init => Op::Init(read(fixed)?),
            Opcode::Destroy => Op::Destroy,
            Opcode::Interrupt => Op::Interrupt { unique: read::<InterruptIn>(fixed)?.unique },
            Opcode::Access => Op::Access,
            Opcode::Getlk | Opcode::Setlk | Opcode::Setlkw | Opcode::Bmap | Opcode::Poll => {
                Op::Refused
            }
            Opcode::NotifyReply | Opcode::Unknown(_) => Op::Unknown,
        })
    }

    fn rename(newdir: u64, flags: u32, payload: &'a [u8]) -> Result<Operation<'a>, Malformed> {
        let (old, rest) = name(payload)?;
        let (newname, _) = name(rest)?;
        Ok(Operation::Rename { newdir, flags, name: old, newname })
    }

    fn setxattr(fixed: &'a [u8], payload: &'a [u8]) -> Result<Operation<'a>, Malformed> {
        let mut args = SetxattrIn::default();
        let known = fixed.len().min(size_of::<SetxattrIn>());
        zerocopy::IntoBytes::as_mut_bytes(&mut args)[..known].copy_from_slice(&fixed[..known]);
        let (name, rest) = name(payload)?;
        let value =
            rest.get(..args.size as usize).ok_or(Malformed("a shorter value than it says"))?;
        Ok(Operation::Setxattr { args, name, value })
    }
}
