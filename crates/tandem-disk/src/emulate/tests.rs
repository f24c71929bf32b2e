use tandem_device::MemoryDevice;

use super::*;
use crate::drive::{Medium, Queue};
use crate::model::ssd::RamParameters;

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

fn bytes() -> Arc<dyn Device> {
    Arc::new(MemoryDevice::new("bytes", 1 << 20))
}

#[test]
fn what_is_asked_is_done_and_written_down() {
    let kept = Kept::default();
    let options = Options { drive: None, trace: Some(Box::new(kept.clone())) };
    let disk = Emulated::new("disk", bytes(), options).unwrap();
    disk.write_at(b"hello", 1000).unwrap();
    disk.flush().unwrap();
    let mut buf = [0; 5];
    disk.read_at(&mut buf, 1000).unwrap();
    assert_eq!(&buf, b"hello");
    disk.discard(4096, 8192).unwrap();
    assert!(disk.read_at(&mut buf, 1 << 20).is_err());
    disk.finish().unwrap();
    let seen: Vec<_> = kept.0.lock().iter().map(|r| (r.operation, r.offset, r.length)).collect();
    assert_eq!(
        seen,
        [
            (Operation::Write, 512, 512),
            (Operation::Flush, 0, 0),
            (Operation::Read, 512, 512),
            (Operation::Discard, 4096, 8192),
            (Operation::Read, 1 << 20, 512),
        ]
    );
    assert!(kept.0.lock().iter().all(|record| record.service.is_some()));
}

#[test]
fn threads_wait_for_the_drive() {
    let ram = RamParameters { capacity: 1 << 20, mb_s: 1000.0, overhead_us: 50.0 };
    let drive = Drive::new(&Medium::Ram(ram), Queue { depth: 4, ..Queue::default() }).unwrap();
    let kept = Kept::default();
    let options = Options { drive: Some(drive), trace: Some(Box::new(kept.clone())) };
    let disk = Emulated::new("disk", bytes(), options).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let disk = &disk;
            scope.spawn(move || {
                for i in 0..50 {
                    disk.write_at(&[1; 512], (thread * 50 + i) * 512).unwrap();
                }
            });
        }
    });
    let stats = disk.timing().unwrap();
    disk.finish().unwrap();
    let kept = kept.0.lock();
    assert_eq!((stats.requests, kept.len()), (200, 200));
    assert!(kept.is_sorted_by_key(|record| record.time));
    let service: u64 = kept.iter().filter_map(|record| record.service).sum();
    assert!(service >= stats.service_ns);
}
