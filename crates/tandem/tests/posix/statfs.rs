//! statfs(2).

use super::kinds::{pattern, put};
use crate::common::suite::posix;
use crate::common::sys::*;

#[test]
fn plausible() {
    posix(|t| {
        let s = statvfs(".").unwrap();
        t.eq(s.f_namemax, 255);
        t.yes("a block size", s.f_frsize.is_power_of_two() && s.f_frsize >= 512);
        t.yes("blocks", s.f_blocks > 0 && s.f_bfree <= s.f_blocks && s.f_bavail <= s.f_bfree);
        t.yes("files", s.f_files > 0 && s.f_ffree <= s.f_files);
        if t.tandem() {
            let size = s.f_blocks * s.f_frsize;
            t.yes("nearly all of the data device", size > 3 << 30 && size <= 4 << 30);
            t.yes("a new volume is nearly empty", s.f_bfree * 100 > s.f_blocks * 99);
        }
    });
}

#[test]
fn follows_what_is_done() {
    posix(|t| {
        let now = || {
            let fd = open(".", O_RDONLY, 0).unwrap();
            syncfs(&fd).unwrap();
            statvfs(".").unwrap()
        };
        let before = now();
        put("f", &pattern(20 << 20, 1));
        fsync(&open("f", O_RDONLY, 0).unwrap()).unwrap();
        let after = now();
        let used = (before.f_bfree - after.f_bfree.min(before.f_bfree)) * before.f_frsize;
        // Other tests may work on the same file system when one is given.
        if t.tandem() {
            t.yes(&format!("twenty megabytes: {used}"), (19 << 20..22 << 20).contains(&used));
            for i in 0..1000 {
                create(format!("f{i}"), 0o644).unwrap();
            }
            let more = now();
            let (was, is) = (after.f_files - after.f_ffree, more.f_files - more.f_ffree);
            t.eq(is.saturating_sub(was), 1000);
        } else {
            t.yes("some are used", used > 10 << 20);
        }
    });
}
