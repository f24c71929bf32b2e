//! Random damage, with wrong and with right checksums: it is found, or it does no harm; and a check
//! always ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tandem_device::{Device, DeviceStats, MemoryDevice};
use tandem_format::Kind;
use tandem_fs::check::{CheckOptions, ProblemKind, check};
use tandem_fs::{MkfsOptions, SystemEnv};

use crate::fill::everything;
use crate::image::Image;
use crate::rig::{Numbers, Rig};

fn filled(options: &MkfsOptions, clean: bool) -> Rig {
    let rig = Rig::new(options);
    let vol = rig.open();
    everything(&vol);
    if clean {
        vol.shutdown().unwrap();
    }
    rig
}

/// How often damage is done; `ROUNDS` has another number.
fn rounds() -> u64 {
    std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

const OPTIONS: CheckOptions = CheckOptions { threads: 1, memory: 16 << 20 };

#[test]
fn a_flipped_bit_in_use_is_found() {
    let rig = filled(&MkfsOptions::default(), true);
    let image = Image::new(&rig);
    let places: Vec<_> = image.map.values().chain(image.tables.values()).copied().collect();
    let mut numbers = Numbers(1);
    for round in 0..rounds() {
        let loc = places[numbers.next(places.len() as u64) as usize];
        let at = loc.offset() + numbers.next(loc.bytes());
        let mut byte = [0];
        rig.meta.read_at(&mut byte, at).unwrap();
        rig.meta.write_at(&[byte[0] ^ 1 << numbers.next(8)], at).unwrap();
        let report = rig.try_check(&OPTIONS).unwrap();
        // Padding is under no block's checksum, and says nothing.
        let padding = at - loc.offset() >= padding_of(&image, loc);
        assert!(report.problems_total > 0 || padding, "round {round}: byte {at} of {loc:?}");
        rig.meta.write_at(&byte, at).unwrap();
    }
    rig.assert_sound();
}

/// Where the zeros behind a block begin.
fn padding_of(image: &Image<'_>, loc: tandem_format::Loc) -> u64 {
    let mut head = [0; 64];
    image.rig.meta.read_at(&mut head, loc.offset()).unwrap();
    u64::from(u16::from_le_bytes([head[50], head[51]]))
}

#[test]
fn any_bytes_under_right_checksums_are_survived() {
    for (seed, hash_bits) in [(2, None), (3, Some(2))] {
        let rig = filled(&MkfsOptions { hash_bits, ..MkfsOptions::default() }, true);
        let image = Image::new(&rig);
        let mut places: Vec<_> = image.map.values().chain(image.tables.values()).copied().collect();
        // As many of the rare kinds as of the others.
        let tables: Vec<_> = image.tables.values().copied().collect();
        let rare: Vec<_> = [Kind::Table, Kind::Extent, Kind::Inode, Kind::Xattr]
            .into_iter()
            .flat_map(|kind| image.blocks(kind))
            .map(|(id, ..)| image.map[&id])
            .collect();
        for _ in 0..10 {
            places.extend(tables.iter().chain(&rare));
        }
        let mut numbers = Numbers(seed);
        let mut found = 0;
        for _ in 0..rounds() {
            let loc = places[numbers.next(places.len() as u64) as usize];
            let (meta, payload) = image.read(loc);
            let (mut changed, mut bytes) = (meta, payload.clone());
            for _ in 0..=numbers.next(3) {
                match numbers.next(8) {
                    0 => changed.index ^= 1 << numbers.next(50),
                    1 => changed.level = numbers.next(50) as u8,
                    2 => changed.owner = numbers.next(20),
                    3 => {
                        changed.count =
                            changed.count.wrapping_add(numbers.next(3) as u32).wrapping_sub(1)
                    }
                    4 if bytes.len() >= 8 => {
                        // Some other number, as of a block.
                        let at = numbers.next(bytes.len() as u64 / 8) as usize * 8;
                        bytes[at..at + 8].copy_from_slice(&numbers.next(300).to_le_bytes());
                    }
                    _ if !bytes.is_empty() => {
                        let at = numbers.next(bytes.len() as u64) as usize;
                        bytes[at] = numbers.next(256) as u8;
                    }
                    _ => {}
                }
            }
            image.write(loc, &changed, &bytes);
            match rig.try_check(&OPTIONS) {
                Ok(report) => found += u64::from(report.problems_total > 0),
                Err(_) => found += 1,
            }
            image.write(loc, &meta, &payload);
        }
        assert!(found > rounds() * 2 / 3, "{found}");
        rig.assert_sound();
    }
}

#[test]
fn any_bytes_of_the_fixed_places_and_of_a_crashed_log() {
    let rig = filled(&MkfsOptions::default(), false);
    let mut numbers = Numbers(4);
    for _ in 0..rounds() {
        let at = match numbers.next(3) {
            0 => numbers.next(3 * 4096),
            _ => 65536 + numbers.next(4 << 20),
        };
        let mut old = [0; 8];
        rig.meta.read_at(&mut old, at).unwrap();
        let mut new = old;
        new[numbers.next(8) as usize] ^= 1 << numbers.next(8);
        rig.meta.write_at(&new, at).unwrap();
        let _ = rig.try_check(&OPTIONS);
        rig.meta.write_at(&old, at).unwrap();
    }
    rig.assert_sound();
}

/// A device that cannot read one range.
struct Failing {
    inner: Arc<MemoryDevice>,
    from: AtomicU64,
    to: AtomicU64,
    hit: AtomicBool,
}

impl Device for Failing {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read_at(&self, buf: &mut [u8], off: u64) -> std::io::Result<()> {
        let (from, to) = (self.from.load(Ordering::Relaxed), self.to.load(Ordering::Relaxed));
        if off < to && off + buf.len() as u64 > from {
            self.hit.store(true, Ordering::Relaxed);
            return Err(std::io::Error::from_raw_os_error(libc::EIO));
        }
        self.inner.read_at(buf, off)
    }

    fn write_at(&self, _: &[u8], _: u64) -> std::io::Result<()> {
        panic!("a check writes")
    }

    fn flush(&self) -> std::io::Result<()> {
        panic!("a check flushes")
    }

    fn discard(&self, _: u64, _: u64) -> std::io::Result<()> {
        panic!("a check discards")
    }

    fn read_only(&self) -> bool {
        true
    }

    fn stats(&self) -> DeviceStats {
        self.inner.stats()
    }
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_checked() {
    let rig = filled(&MkfsOptions::default(), true);
    let image = Image::new(&rig);
    let whole = rig.check();
    let data: Arc<dyn Device> = rig.data.clone().unwrap();
    let loc = image.map[&image.entry("small-attributes").0];
    let far = image.map.values().copied().find(|other| {
        let segment =
            |loc: &tandem_format::Loc| (loc.offset() - 65536) / u64::from(image.sb.segment_size);
        segment(other) != segment(&loc)
    });
    for loc in [Some(loc), far].into_iter().flatten() {
        let meta = Arc::new(Failing {
            inner: Arc::clone(&rig.meta),
            from: loc.offset().into(),
            to: (loc.offset() + 64).into(),
            hit: false.into(),
        });
        let device: Arc<dyn Device> = Arc::clone(&meta) as _;
        let report =
            check(device, Some(Arc::clone(&data)), &OPTIONS, Arc::new(SystemEnv), &|_| {}).unwrap();
        assert!(meta.hit.load(Ordering::Relaxed));
        let named = |p: &&tandem_fs::check::Problem| {
            p.kind == ProblemKind::Unreadable && p.what.contains(&format!("byte {}", loc.offset()))
        };
        assert!(report.problems.iter().any(|p| named(&p)), "{report:#?}");
        assert!(report.inodes > 0 && report.inodes < whole.inodes);
        assert_eq!(report.metadata_blocks, whole.metadata_blocks);
    }
}
