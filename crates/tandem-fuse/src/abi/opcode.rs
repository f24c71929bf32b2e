//! Operation codes.

macro_rules! opcodes {
    ($($name:ident = $value:literal, $fixed:literal;)*) => {
        /// What the kernel asks for. Codes that this crate does not know are [`Opcode::Unknown`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the names are the kernel's")]
        pub enum Opcode {
            $($name,)*
            Unknown(u32),
        }

        impl Opcode {
            /// All that this crate knows.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$name,)*];

            /// The operation with the kernel's number `code`.
            pub fn from_code(code: u32) -> Opcode {
                match code {
                    $($value => Opcode::$name,)*
                    other => Opcode::Unknown(other),
                }
            }

            /// The kernel's number.
            pub fn code(self) -> u32 {
                match self {
                    $(Opcode::$name => $value,)*
                    Opcode::Unknown(code) => code,
                }
            }

            /// A name for people and counters.
            pub fn name(self) -> &'static str {
                match self {
                    $(Opcode::$name => stringify!($name),)*
                    Opcode::Unknown(_) => "Unknown",
                }
            }

            /// Bytes of the fixed structure that follows the header; names and data come after.
            pub fn fixed_len(self) -> usize {
                match self {
                    $(Opcode::$name => $fixed,)*
                    Opcode::Unknown(_) => 0,
                }
            }
        }
    };
}

opcodes! {
    Lookup = 1, 0;
    Forget = 2, 8;
    Getattr = 3, 16;
    Setattr = 4, 88;
    Readlink = 5, 0;
    Symlink = 6, 0;
    Mknod = 8, 16;
    Mkdir = 9, 8;
    Unlink = 10, 0;
    Rmdir = 11, 0;
    Rename = 12, 8;
    Link = 13, 8;
    Open = 14, 8;
    Read = 15, 40;
    Write = 16, 40;
    Statfs = 17, 0;
    Release = 18, 24;
    Fsync = 20, 16;
    Setxattr = 21, 16;
    Getxattr = 22, 8;
    Listxattr = 23, 8;
    Removexattr = 24, 0;
    Flush = 25, 24;
    Init = 26, 16;
    Opendir = 27, 8;
    Readdir = 28, 40;
    Releasedir = 29, 24;
    Fsyncdir = 30, 16;
    Getlk = 31, 48;
    Setlk = 32, 48;
    Setlkw = 33, 48;
    Access = 34, 8;
    Create = 35, 16;
    Interrupt = 36, 8;
    Bmap = 37, 16;
    Destroy = 38, 0;
    Ioctl = 39, 32;
    Poll = 40, 24;
    NotifyReply = 41, 40;
    BatchForget = 42, 8;
    Fallocate = 43, 32;
    Readdirplus = 44, 40;
    Rename2 = 45, 16;
    Lseek = 46, 24;
    CopyFileRange = 47, 56;
    Syncfs = 50, 8;
    Tmpfile = 51, 16;
    Statx = 52, 24;
    CopyFileRange64 = 53, 56;
}

impl Opcode {
    /// A small number for tables of counters, below [`Opcode::SLOTS`].
    pub fn slot(self) -> usize {
        let code = self.code() as usize;
        if matches!(self, Opcode::Unknown(_)) || code >= Self::SLOTS { 0 } else { code }
    }

    /// The size of a table indexed by [`Opcode::slot`].
    pub const SLOTS: usize = 64;

    /// Whether the answer, not the request, is what may be long. Such an answer is built where
    /// the request's payload arrived.
    pub fn bulk_reply(self) -> bool {
        matches!(
            self,
            Opcode::Read
                | Opcode::Readdir
                | Opcode::Readdirplus
                | Opcode::Readlink
                | Opcode::Getxattr
                | Opcode::Listxattr
        )
    }

    /// Whether the kernel waits for an answer.
    pub fn wants_reply(self) -> bool {
        !matches!(
            self,
            Opcode::Forget | Opcode::BatchForget | Opcode::Interrupt | Opcode::NotifyReply
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip_and_have_slots_of_their_own() {
        let mut seen = [false; Opcode::SLOTS];
        for &op in Opcode::ALL {
            assert_eq!(Opcode::from_code(op.code()), op);
            assert!(!seen[op.slot()], "{op:?}");
            seen[op.slot()] = true;
            assert!(op.fixed_len() <= super::super::OP_IN_MAX);
        }
        assert_eq!(Opcode::from_code(4096), Opcode::Unknown(4096));
        assert_eq!(Opcode::Unknown(4096).slot(), 0);
    }
}
