//! Where a file's contents lie.

use crate::error::Result;
use crate::types::{FileExtent, Ino};
use crate::volume::Volume;

impl Volume {
    /// The first `most` extents of a file at or behind its block `from`, in order; what no commit
    /// has placed yet is not among them. Empty for what is not a regular file.
    ///
    /// # Errors
    /// ENOENT for an i-node that does not exist, and those of reading metadata.
    pub fn extents(&self, ino: Ino, from: u64, most: usize) -> Result<Vec<FileExtent>> {
        self.core.run(|st| {
            let mut out = Vec::new();
            if most > 0 && super::io::check_regular(&st.record(ino)?).is_ok() {
                st.node(ino)?;
                st.map_visit(ino, from, u64::MAX, &mut |e| {
                    out.push(FileExtent {
                        logical: e.logical,
                        start: e.start,
                        len: e.len,
                        unwritten: e.unwritten,
                    });
                    out.len() < most
                })?;
            }
            Ok(out)
        })
    }
}
