//! A record that contradicts itself, or refers to blocks that are damaged.

use tandem_format::{Content, Kind, Record, Xattrs};

use super::super::attributes;
use super::super::inode::TARGET_MAX;
use super::report::RepairKind;
use super::survey::Survey;
use crate::types::{FileKind, SIZE_MAX};

/// The target of a link whose own one is lost: leads nowhere.
const TARGET_LOST: &[u8] = b"target-lost";

/// Attribute bytes that a record can take as they are.
const INLINE_MAX: usize = 2000;

/// What has become of a record.
#[derive(Default)]
pub(super) struct Mended {
    /// What was wrong, in words.
    pub wrong: Vec<(RepairKind, &'static str)>,
    /// Attributes to be entered anew, in blocks of their own.
    pub attributes: Option<Vec<u8>>,
    /// Blocks of the target or of attributes that it refers to rightly.
    pub blocks: Vec<u64>,
}

/// The type of an i-node: what it holds counts before what its mode says.
pub(super) fn kind_of(rec: &Record) -> FileKind {
    let kind = FileKind::of_mode(rec.mode);
    let device = matches!(kind, FileKind::CharDevice | FileKind::BlockDevice);
    match rec.content {
        Content::Dir(_) => FileKind::Directory,
        Content::Extents(_) | Content::Tree { .. } => FileKind::Regular,
        Content::Symlink(_) | Content::SymlinkBlock(_) => FileKind::Symlink,
        Content::Device(_) if device => kind,
        Content::None if matches!(kind, FileKind::Fifo | FileKind::Socket) => kind,
        Content::None | Content::Device(_) => FileKind::Regular,
    }
}

/// Gives a record the type of what it holds; whether it had another.
pub(super) fn mend_type(rec: &mut Record) -> bool {
    let kind = kind_of(rec);
    let wrong = rec.mode & libc::S_IFMT != mode_bits(kind);
    rec.mode = rec.mode & 0o7777 | mode_bits(kind);
    if matches!(rec.content, Content::Device(_)) && kind == FileKind::Regular {
        rec.content = Content::None;
    }
    wrong
}

fn mode_bits(kind: FileKind) -> u32 {
    match kind {
        FileKind::Regular => libc::S_IFREG,
        FileKind::Directory => libc::S_IFDIR,
        FileKind::Symlink => libc::S_IFLNK,
        FileKind::CharDevice => libc::S_IFCHR,
        FileKind::BlockDevice => libc::S_IFBLK,
        FileKind::Fifo => libc::S_IFIFO,
        FileKind::Socket => libc::S_IFSOCK,
    }
}

impl Survey<'_> {
    /// Corrects everything in a record but links, counts, parent and extents.
    pub fn mend(&self, rec: &mut Record) -> Mended {
        let mut mended = Mended::default();
        if mend_type(rec) {
            mended.wrong.push((RepairKind::Record, "its type is what it holds"));
        }
        if rec.size > SIZE_MAX {
            rec.size = SIZE_MAX;
            mended.wrong.push((RepairKind::Record, "its length is cut to what a file can have"));
        }
        if let Content::Dir(dir) = &mut rec.content {
            if dir.group >= self.base.geo.groups {
                dir.group = 0;
                mended.wrong.push((RepairKind::Record, "its group does not exist: the first"));
            }
        }
        self.mend_target(rec, &mut mended);
        self.mend_attributes(rec, &mut mended);
        mended
    }

    fn mend_target(&self, rec: &mut Record, mended: &mut Mended) {
        let fits = |len: u64| (1..=TARGET_MAX).contains(&len);
        let whole = match &rec.content {
            Content::Symlink(target) => fits(target.len() as u64),
            Content::SymlinkBlock(id) => match self.block_of(*id, Kind::Symlink, rec.ino) {
                Some(block) if fits(block.index) => {
                    mended.blocks.push(*id);
                    if rec.size != block.index {
                        rec.size = block.index;
                        mended.wrong.push((RepairKind::Record, "its length is its target's"));
                    }
                    true
                }
                _ => false,
            },
            _ => true,
        };
        if !whole {
            rec.content = Content::Symlink(TARGET_LOST.into());
            rec.size = TARGET_LOST.len() as u64;
            mended.wrong.push((RepairKind::Attributes, "its target is lost: target-lost"));
        }
    }

    fn block_of(&self, id: u64, kind: Kind, ino: u64) -> Option<&super::index::Info> {
        self.index.get(id).filter(|i| (i.kind, i.owner, i.stale) == (kind, ino, false))
    }

    fn mend_attributes(&self, rec: &mut Record, mended: &mut Mended) {
        let directory = matches!(rec.content, Content::Dir(_));
        let (bytes, whole) = match &rec.xattrs {
            Xattrs::None => return,
            Xattrs::Inline(bytes) => (bytes.to_vec(), !bytes.is_empty()),
            Xattrs::Blocks { len, ids } => {
                let (bytes, good) = self.attribute_bytes(rec.ino, ids);
                let whole = bytes.len() == *len as usize && good == ids.len() && good > 0;
                (bytes, whole)
            }
        };
        let sound = attributes::sound(directory, &bytes);
        if whole && sound == bytes {
            if let Xattrs::Blocks { ids, .. } = &rec.xattrs {
                mended.blocks.extend(ids);
            }
            return;
        }
        let detail = "attributes that are damaged are lost, the others stay";
        mended.wrong.push((RepairKind::Attributes, detail));
        rec.xattrs = match sound.len() {
            1..=INLINE_MAX => Xattrs::Inline(sound.into_boxed_slice()),
            0 => Xattrs::None,
            _ => {
                mended.attributes = Some(sound);
                Xattrs::None
            }
        };
    }

    /// The bytes of attribute blocks, up to the first that is not as it should be, and how many there
    /// are before that one.
    fn attribute_bytes(&self, ino: u64, ids: &[u64]) -> (Vec<u8>, usize) {
        let (mut all, mut good) = (Vec::new(), 0);
        for &id in ids {
            let n = good as u64;
            let block = self.block_of(id, Kind::Xattr, ino).filter(|info| info.next == n);
            let Some((_, bytes)) = block.and_then(|info| self.base.fetch(info.loc)) else { break };
            all.extend_from_slice(&bytes);
            good += 1;
        }
        (all, good)
    }
}
