//! copy_file_range(2).

use super::kinds::{get, pattern, put};
use crate::common::suite::posix;
use crate::common::sys::*;

#[test]
fn between_files() {
    posix(|t| {
        let data = pattern(3_000_000, 1);
        put("a", &data);
        let (a, b) = (open("a", O_RDONLY, 0).unwrap(), open("b", O_CREAT | O_RDWR, 0o644).unwrap());
        t.about("all, by the descriptors' positions");
        let mut done = 0;
        while done < data.len() {
            match copy_file_range(&a, None, &b, None, data.len() - done) {
                Ok(n) if n > 0 => done += n,
                other => {
                    t.yes(&format!("copies: {other:?}"), false);
                    return;
                }
            }
        }
        t.yes("equal", get("b") == data);
        t.eq(copy_file_range(&a, None, &b, None, 100), Ok(0));
        t.about("pieces, by offsets");
        let mut model = data.clone();
        for (from, to, len) in [(0usize, 10usize, 5usize), (1000, 999, 4097), (65_536, 0, 4096)] {
            let got = copy_file_range(&a, Some(from as i64), &b, Some(to as i64), len);
            t.eq(got, Ok(len));
            model[to..to + len].copy_from_slice(&data[from..from + len]);
        }
        t.yes("equal to the model", get("b") == model);
        t.about("to behind the end");
        t.eq(copy_file_range(&a, Some(7), &b, Some(4_000_000), 10), Ok(10));
        t.eq(fstat(&b).map(|s| s.size), Ok(4_000_010));
        t.eq(pread(&b, 12, 3_999_998).map(|v| v[2..].to_vec()), Ok(data[7..17].to_vec()));
        t.about("from the end");
        t.eq(copy_file_range(&a, Some(2_999_990), &b, Some(0), 100), Ok(10));
        t.eq(copy_file_range(&a, Some(3_000_000), &b, Some(0), 100), Ok(0));
        t.about("nothing");
        t.eq(copy_file_range(&a, Some(0), &b, Some(0), 0), Ok(0));
    });
}

#[test]
fn within_a_file() {
    posix(|t| {
        let data = pattern(100_000, 2);
        put("a", &data);
        let a = open("a", O_RDWR, 0).unwrap();
        t.eq(copy_file_range(&a, Some(0), &a, Some(50_000), 50_000), Ok(50_000));
        let all = get("a");
        t.yes("copied", all[..50_000] == data[..50_000] && all[50_000..] == data[..50_000]);
        t.err(copy_file_range(&a, Some(0), &a, Some(10), 100), EINVAL);
        t.err(copy_file_range(&a, Some(10), &a, Some(0), 100), EINVAL);
    });
}

#[test]
fn what_has_not_been_written_yet() {
    posix(|t| {
        // Source and target both have pages that no device has seen.
        let a = open("a", O_CREAT | O_RDWR, 0o644).unwrap();
        let b = open("b", O_CREAT | O_RDWR, 0o644).unwrap();
        for round in 0..20u64 {
            let data = pattern(20_000, round);
            pwrite(&a, &data, 0).unwrap();
            pwrite(&b, &pattern(30_000, round + 1000), 0).unwrap();
            t.eq(copy_file_range(&a, Some(0), &b, Some(5_000), 20_000), Ok(20_000));
            let mut want = pattern(30_000, round + 1000);
            want[5_000..25_000].copy_from_slice(&data);
            t.yes("as written", pread(&b, 40_000, 0).unwrap() == want);
        }
    });
}

#[test]
fn refused() {
    posix(|t| {
        put("a", b"some contents");
        put("b", b"");
        mkdir("d", 0o755).unwrap();
        let (r, w) = (open("a", O_RDONLY, 0).unwrap(), open("b", O_WRONLY, 0).unwrap());
        t.err(copy_file_range(&w, Some(0), &w, Some(100), 5), EBADF);
        t.err(copy_file_range(&r, Some(0), &r, Some(100), 5), EBADF);
        let append = open("b", O_WRONLY | O_APPEND, 0).unwrap();
        t.err(copy_file_range(&r, Some(0), &append, Some(0), 5), EBADF);
        let dir = open("d", O_RDONLY, 0).unwrap();
        t.err(copy_file_range(&dir, Some(0), &w, Some(0), 5), EISDIR);
        mkfifo("p", 0o644).unwrap();
        let p = open("p", O_RDWR, 0).unwrap();
        t.err(copy_file_range(&p, None, &w, Some(0), 5), EINVAL);
        t.about("past the largest offset");
        t.one_of(copy_file_range(&r, Some(0), &w, Some(i64::MAX), 5), &[EFBIG, EOVERFLOW, EINVAL]);
        t.eq(get("b"), vec![]);
    });
}
