//! A device in memory, for tests and benchmarks.

use std::io::{self, IoSlice};
use std::sync::OnceLock;

use parking_lot::RwLock;

use crate::{Counters, Device, DeviceStats, check_range, total_len};

const CHUNK: usize = 64 << 10;
/// Chunks that one page of the directory covers: 64 MiB.
const PAGE_CHUNKS: usize = 1024;

type Chunk = RwLock<Option<Box<[u8]>>>;
type Page = OnceLock<Box<[Chunk]>>;

/// A device of fixed size in memory; what was never written takes no room and reads as zeros.
///
/// Writes of different 64 KiB chunks do not wait for each other. A write that spans chunks is not
/// atomic, as on a disk.
pub struct MemoryDevice {
    name: String,
    size: u64,
    pages: Box<[Page]>,
    counters: Counters,
}

impl MemoryDevice {
    /// An empty device of `size` bytes that messages call `name`.
    pub fn new(name: impl Into<String>, size: u64) -> MemoryDevice {
        let pages = size.div_ceil((CHUNK * PAGE_CHUNKS) as u64) as usize;
        MemoryDevice {
            name: name.into(),
            size,
            pages: (0..pages).map(|_| Page::new()).collect(),
            counters: Counters::default(),
        }
    }

    /// Bytes of memory that the contents take.
    pub fn resident(&self) -> u64 {
        let chunks = self.pages.iter().filter_map(OnceLock::get).flat_map(|page| page.iter());
        chunks.filter(|chunk| chunk.read().is_some()).count() as u64 * CHUNK as u64
    }

    fn chunk(&self, index: usize) -> Option<&Chunk> {
        self.pages.get(index / PAGE_CHUNKS)?.get()?.get(index % PAGE_CHUNKS)
    }

    fn chunk_or_new(&self, index: usize) -> &Chunk {
        let page = self.pages[index / PAGE_CHUNKS]
            .get_or_init(|| (0..PAGE_CHUNKS).map(|_| RwLock::new(None)).collect());
        &page[index % PAGE_CHUNKS]
    }

    fn store(&self, mut buf: &[u8], mut off: u64) {
        while !buf.is_empty() {
            let (index, at) = split(off);
            let (part, rest) = buf.split_at(buf.len().min(CHUNK - at));
            let mut chunk = self.chunk_or_new(index).write();
            match chunk.as_mut() {
                None if part.len() == CHUNK => *chunk = Some(part.into()),
                None => {
                    let mut fresh = vec![0; CHUNK].into_boxed_slice();
                    fresh[at..at + part.len()].copy_from_slice(part);
                    *chunk = Some(fresh);
                }
                Some(bytes) => bytes[at..at + part.len()].copy_from_slice(part),
            }
            drop(chunk);
            off += part.len() as u64;
            buf = rest;
        }
    }
}

fn split(off: u64) -> (usize, usize) {
    ((off / CHUNK as u64) as usize, (off % CHUNK as u64) as usize)
}

impl Device for MemoryDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> io::Result<()> {
        check_range(off, buf.len() as u64, self.size)?;
        self.counters.read(buf.len() as u64);
        let (mut rest, mut off) = (buf, off);
        while !rest.is_empty() {
            let (index, at) = split(off);
            let len = rest.len().min(CHUNK - at);
            let (part, tail) = rest.split_at_mut(len);
            match self.chunk(index).map(|chunk| chunk.read()).as_deref() {
                Some(Some(bytes)) => part.copy_from_slice(&bytes[at..at + len]),
                _ => part.fill(0),
            }
            off += len as u64;
            rest = tail;
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], off: u64) -> io::Result<()> {
        check_range(off, buf.len() as u64, self.size)?;
        self.counters.write(buf.len() as u64);
        self.store(buf, off);
        Ok(())
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], off: u64) -> io::Result<()> {
        let len = total_len(bufs);
        check_range(off, len, self.size)?;
        self.counters.write(len);
        let mut at = off;
        for buf in bufs {
            self.store(buf, at);
            at += buf.len() as u64;
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.counters.flush();
        Ok(())
    }

    fn discard(&self, off: u64, len: u64) -> io::Result<()> {
        check_range(off, len, self.size)?;
        self.counters.discard(len);
        let first = off.div_ceil(CHUNK as u64) as usize;
        let end = ((off + len) / CHUNK as u64) as usize;
        let mut index = first;
        while index < end {
            if self.pages[index / PAGE_CHUNKS].get().is_none() {
                index = (index / PAGE_CHUNKS + 1) * PAGE_CHUNKS;
                continue;
            }
            if let Some(chunk) = self.chunk(index) {
                *chunk.write() = None;
            }
            index += 1;
        }
        Ok(())
    }

    fn read_only(&self) -> bool {
        false
    }

    fn stats(&self) -> DeviceStats {
        self.counters.snapshot()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_was_written_across_chunks() {
        let device = MemoryDevice::new("m", (256 << 20) + 5);
        let bytes: Vec<u8> = (0..200_000u32).map(|n| (n * 7 % 251) as u8).collect();
        let off = (64 << 20) - 1000;
        device.write_at(&bytes, off).unwrap();
        let mut back = vec![1; bytes.len() + 20];
        device.read_at(&mut back, off - 10).unwrap();
        assert_eq!(&back[..10], &[0; 10]);
        assert_eq!(&back[10..bytes.len() + 10], &bytes[..]);
        assert_eq!(&back[bytes.len() + 10..], &[0; 10]);
    }

    #[test]
    fn vectored_write_is_one_request() {
        let device = MemoryDevice::new("m", 1 << 20);
        let bufs = [IoSlice::new(b"one"), IoSlice::new(b""), IoSlice::new(b"two")];
        device.write_vectored_at(&bufs, 65533).unwrap();
        let mut back = [0; 6];
        device.read_at(&mut back, 65533).unwrap();
        assert_eq!(&back, b"onetwo");
        assert_eq!(device.stats().writes, 1);
        assert_eq!(device.stats().write_bytes, 6);
    }

    #[test]
    fn the_end_is_a_wall() {
        let device = MemoryDevice::new("m", 1000);
        device.write_at(b"x", 999).unwrap();
        assert!(device.write_at(b"xy", 999).is_err());
        assert!(device.write_vectored_at(&[IoSlice::new(b"xy")], 999).is_err());
        assert!(device.read_at(&mut [0; 1], 1000).is_err());
        assert!(device.discard(1, u64::MAX).is_err());
    }

    #[test]
    fn discard_gives_memory_back() {
        let device = MemoryDevice::new("m", 1 << 40);
        device.write_at(&vec![7; 1 << 20], 0).unwrap();
        assert_eq!(device.resident(), 1 << 20);
        device.discard(1, (1 << 40) - 1).unwrap();
        assert_eq!(device.resident(), 64 << 10);
        let mut back = [1; 1];
        device.read_at(&mut back, 70_000).unwrap();
        assert_eq!(back, [0]);
    }

    #[test]
    fn threads_write_beside_each_other() {
        let device = MemoryDevice::new("m", 8 << 20);
        std::thread::scope(|scope| {
            for n in 0..8u8 {
                let device = &device;
                scope.spawn(move || {
                    for i in 0..(8u64 << 20) / 4096 {
                        if i % 8 == u64::from(n) {
                            device.write_at(&[n; 4096], i * 4096).unwrap();
                        }
                    }
                });
            }
        });
        let mut buf = [0; 4096];
        for i in 0..(8u64 << 20) / 4096 {
            device.read_at(&mut buf, i * 4096).unwrap();
            assert_eq!(buf, [(i % 8) as u8; 4096]);
        }
    }
}
