use std::collections::BTreeSet;
use std::io;

use super::*;

fn recorder(sizes: &[u64]) -> Recorder {
    Recorder::new(sizes.iter().map(|&size| Store::new(size)).collect())
}

/// First bytes of the given sectors of the images' devices.
fn seen(walk: &Walk<'_>, most: u64, spots: &[(usize, u64)]) -> BTreeSet<Vec<u8>> {
    let byte = |image: &Image, &(device, sector): &(usize, u64)| {
        let mut byte = [0];
        image.stores[device].read(&mut byte, sector * SECTOR);
        byte[0]
    };
    walk.images(most, 7).map(|image| spots.iter().map(|s| byte(&image, s)).collect()).collect()
}

#[test]
fn a_flush_of_one_device_says_nothing_of_the_other() {
    let r = recorder(&[4096, 4096]);
    r.device(0).write_at(&[1; 512], 0).unwrap();
    r.device(1).write_at(&[2; 512], 0).unwrap();
    r.device(0).flush().unwrap();
    let history = r.history();
    let mut walk = history.walk();
    walk.go_to(2);
    let all = seen(&walk, 16, &[(0, 0), (1, 0)]);
    assert_eq!(all.len(), 4);
    assert!(walk.step());
    assert!(!walk.step());
    let one = seen(&walk, 16, &[(0, 0), (1, 0)]);
    assert_eq!(one, BTreeSet::from([vec![1, GARBAGE], vec![1, 2]]));
}

#[test]
fn all_sectors_of_few() {
    let r = recorder(&[8192]);
    r.device(0).write_at(&[3; 1536], 512).unwrap();
    let history = r.history();
    let mut walk = history.walk();
    walk.go_to(1);
    assert_eq!(walk.images(8, 0).count(), 8);
    assert_eq!(seen(&walk, 8, &[(0, 1), (0, 2), (0, 3)]).len(), 8);
}

#[test]
fn later_writes_may_come_first() {
    let r = recorder(&[4096]);
    for n in 1..4 {
        r.device(0).write_at(&[n; 1024], 0).unwrap();
    }
    r.device(0).discard(0, 512).unwrap();
    let history = r.history();
    let mut walk = history.walk();
    walk.go_to(9);
    let all = seen(&walk, 4000, &[(0, 0), (0, 1)]);
    // Each sector has any version, whatever the other has.
    for a in [GARBAGE, 1, 2, 3] {
        for b in [GARBAGE, 1, 2, 3] {
            assert!(all.contains(&vec![a, b]), "{a} {b} not in {all:?}");
        }
    }
    assert_eq!(all.len(), 16);
}

#[test]
fn images_have_numbers() {
    let r = recorder(&[1 << 20, 1 << 20]);
    for n in 0..6u8 {
        r.device(usize::from(n % 2)).write_at(&[n; 6000], u64::from(n) * 3000).unwrap();
    }
    let history = r.history();
    let mut walk = history.walk();
    walk.go_to(6);
    let first: Vec<u64> = walk.images(200, 5).map(|i| i.fingerprint()).collect();
    let again: Vec<u64> = walk.images(200, 5).map(|i| i.fingerprint()).collect();
    assert_eq!(first, again);
    let distinct: BTreeSet<u64> = first.iter().copied().collect();
    assert!(distinct.len() > 150, "{}", distinct.len());
}

#[test]
fn equal_contents_have_equal_fingerprints() {
    let image = |f: &dyn Fn(&mut Store)| {
        let mut store = Store::new(1 << 20);
        f(&mut store);
        Image { number: 0, stores: vec![store] }.fingerprint()
    };
    let plain = image(&|s| s.write(b"one", 5000));
    assert_eq!(plain, image(&|s| (s.write(b"onetwo", 5000), s.discard(5003, 3)).1));
    assert_eq!(
        plain,
        image(&|s| (s.write(&[1; 9000], 20000), s.discard(20000, 9000), s.write(b"one", 5000)).2)
    );
    assert_ne!(plain, image(&|s| s.write(b"one", 5001)));
}

#[test]
fn forgetting_changes_no_image() {
    let r = recorder(&[4096, 4096]);
    r.device(0).write_at(&[1; 512], 0).unwrap();
    r.device(1).write_at(&[2; 512], 512).unwrap();
    r.device(0).flush().unwrap();
    r.device(0).write_at(&[3; 512], 0).unwrap();
    let images = |r: &Recorder| {
        let history = r.history();
        let mut walk = history.walk();
        walk.go_to(usize::MAX);
        walk.images(64, 1).map(|i| i.fingerprint()).collect::<BTreeSet<_>>()
    };
    let before = images(&r);
    r.forget();
    assert_eq!((before.len(), r.len()), (4, 2));
    assert_eq!(before, images(&r));
}

#[test]
fn reads_see_what_was_written_last() {
    let r = recorder(&[1 << 16]);
    let device = r.device(0);
    device.write_vectored_at(&[io::IoSlice::new(b"ab"), io::IoSlice::new(b"cd")], 4094).unwrap();
    assert_eq!(r.len(), 1);
    let mut back = [0; 6];
    device.read_at(&mut back, 4093).unwrap();
    assert_eq!(&back, &[GARBAGE, b'a', b'b', b'c', b'd', GARBAGE]);
    assert!(device.write_at(&[0; 2], (1 << 16) - 1).is_err());
    assert!(device.read_at(&mut back, u64::MAX).is_err());
}
