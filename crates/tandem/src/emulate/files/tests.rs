use tandem_device::MemoryDevice;
use tandem_disk::emulate::Options;
use tandem_disk::trace::{Record, Sink, TraceError};
use tandem_fuse::Layout;

use super::*;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Record>>>);

impl Sink for Kept {
    fn write(&mut self, record: &Record) -> Result<(), TraceError> {
        self.0.lock().push(*record);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        Ok(())
    }
}

const READ: u32 = 15;
const WRITE: u32 = 16;
const FSYNC: u32 = 20;

/// A request as the kernel sends it to the disk's file.
fn message(unique: u64, opcode: u32, offset: u64, data: &[u8], size: u32) -> Vec<u8> {
    let mut rest = vec![0; if opcode == FSYNC { 16 } else { 40 }];
    if opcode != FSYNC {
        rest[8..16].copy_from_slice(&offset.to_le_bytes());
        rest[16..20].copy_from_slice(&size.to_le_bytes());
        rest.extend_from_slice(data);
    }
    let mut out = (40 + rest.len() as u32).to_le_bytes().to_vec();
    out.extend_from_slice(&opcode.to_le_bytes());
    out.extend_from_slice(&unique.to_le_bytes());
    out.extend_from_slice(&FIRST.to_le_bytes());
    out.extend_from_slice(&[0; 16]);
    out.extend_from_slice(&rest);
    out
}

fn files(admission: Admission) -> (Files, Kept) {
    let kept = Kept::default();
    let bytes = Arc::new(MemoryDevice::new("bytes", 1 << 20));
    let options = Options { drive: None, trace: Some(Box::new(kept.clone())) };
    let disk = Arc::new(Emulated::new("disk", bytes, options).unwrap());
    let area = Area { name: "disk".into(), start: 0, len: 1 << 20 };
    (Files::new(disk, vec![area], Box::new(String::new), admission), kept)
}

/// Reads all requests from the kernel, then answers them.
fn go(files: &Files, messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let layout = Layout { setxattr_ext: false };
    let all: Vec<Request<'_>> =
        messages.iter().map(|message| Request::from_message(message, layout).unwrap()).collect();
    all.iter().for_each(|req| {
        files.blocking(req);
    });
    let answer = |req: &Request<'_>| {
        let mut space = vec![0; 8192];
        let mut out = ReplyBuf::new(&mut space);
        assert_eq!(files.handle(*req, &mut out), Outcome::Reply);
        let len = out.len();
        space.truncate(len);
        space
    };
    all.iter().map(answer).collect()
}

#[test]
fn a_queue_is_traced_as_one() {
    for admission in [Admission::Read, Admission::Served] {
        let (files, kept) = files(admission);
        let mut asked: Vec<Vec<u8>> =
            (0..8).map(|at| message(at, WRITE, at * 4096, &[at as u8; 4096], 4096)).collect();
        asked.push(message(8, FSYNC, 0, &[], 0));
        asked.push(message(9, READ, 4096, &[], 4096));
        let answers = go(&files, &asked);
        assert_eq!(answers[9], [1; 4096]);
        files.disk.finish().unwrap();
        let kept = kept.0.lock();
        assert_eq!(kept.len(), 10);
        let end = kept.iter().filter_map(Record::finish).min().unwrap();
        let queued = kept.iter().filter(|record| record.time <= end).count();
        assert_eq!(queued == 10, admission == Admission::Read, "{queued}");
        assert!(files.arrived.lock().is_empty());
    }
}

#[test]
fn what_reaches_no_sector_waits_for_nothing() {
    let (files, kept) = files(Admission::Read);
    let answers = go(&files, &[message(1, READ, 1 << 20, &[], 4096)]);
    assert_eq!(answers, [Vec::<u8>::new()]);
    assert!(files.arrived.lock().is_empty());
    files.disk.finish().unwrap();
    assert!(kept.0.lock().is_empty());
}
