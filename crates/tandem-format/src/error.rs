//! What can be wrong with bytes that should be ours.

use std::borrow::Cow;

/// Bytes that do not say what they should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// A field has a value that it cannot have.
    #[error("{structure}: {field}: {detail}")]
    Invalid {
        /// The structure, as documented.
        structure: &'static str,
        /// The field in it.
        field: &'static str,
        /// What is wrong with its value.
        detail: Cow<'static, str>,
    },
    /// The bytes end before the field does.
    #[error("{structure}: {field}: the bytes end too early")]
    Truncated {
        /// The structure, as documented.
        structure: &'static str,
        /// The field that is not all there.
        field: &'static str,
    },
    /// The stored checksum is not that of the bytes.
    #[error("{structure}: checksum {stored:#010x} does not match contents ({computed:#010x})")]
    Checksum {
        /// The structure, as documented.
        structure: &'static str,
        /// Checksum in the structure.
        stored: u32,
        /// Checksum of its bytes.
        computed: u32,
    },
    /// Bytes of something else, or none at all: the magic is not there.
    #[error("not a Tandem {structure}")]
    NotTandem {
        /// The structure that should be there, as documented.
        structure: &'static str,
    },
    /// The volume was made by a later version of the format.
    #[error("format version {found} is newer than {supported}, the newest that is understood")]
    NewerVersion {
        /// Version on the volume.
        found: u32,
        /// Newest version that this code understands.
        supported: u32,
    },
    /// The volume was made by an earlier version of the format.
    #[error("format version {found} is older than {supported}, the only one that is understood")]
    OlderVersion {
        /// Version on the volume.
        found: u32,
        /// Version that this code understands.
        supported: u32,
    },
    /// The volume uses incompatible features that this code does not know.
    #[error("unknown incompatible features {bits:#x}")]
    UnknownIncompat {
        /// The feature bits that are unknown.
        bits: u64,
    },
}

impl FormatError {
    /// A field with an impossible value.
    #[cold]
    pub fn invalid(
        structure: &'static str,
        field: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> FormatError {
        FormatError::Invalid { structure, field, detail: detail.into() }
    }

    /// Bytes that end before a field does.
    #[cold]
    pub fn truncated(structure: &'static str, field: &'static str) -> FormatError {
        FormatError::Truncated { structure, field }
    }
}
