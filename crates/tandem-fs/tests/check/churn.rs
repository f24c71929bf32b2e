//! Operations at random.

use tandem_fs::{
    Cred, FallocFlags, Ino, ROOT, RenameFlags, SetAttr, Volume, WriteFlags, XattrMode,
};

use crate::rig::Numbers;

/// Does `steps` operations; many of them fail, as they should.
pub fn churn(vol: &Volume, numbers: &mut Numbers, steps: u64) {
    let root = Cred::root();
    let mut dirs: Vec<Ino> = vec![ROOT];
    let mut held: Vec<Ino> = Vec::new();
    for _ in 0..steps {
        let dir = dirs[numbers.next(dirs.len() as u64) as usize];
        let to = dirs[numbers.next(dirs.len() as u64) as usize];
        let name = format!("name{}", numbers.next(30)).into_bytes();
        let other = format!("name{}", numbers.next(30)).into_bytes();
        let found = vol.lookup(&root, dir, &name).ok();
        let ino = found.map_or(0, |attr| attr.ino);
        let large = numbers.next(20_000);
        match numbers.next(18) {
            0..3 => drop(vol.mknod(&root, dir, &name, 0o644, 0, 0).map(|a| held.push(a.ino))),
            3 => {
                if let Ok(made) = vol.mkdir(&root, dir, &name, 0o755, 0) {
                    dirs.push(made.ino);
                }
            }
            4 => drop(vol.symlink(&root, dir, &name, &vec![b'x'; large as usize / 6 + 1])),
            5..8 => drop(vol.write(
                &root,
                ino,
                large * 7,
                &vec![1; large as usize],
                WriteFlags::default(),
            )),
            8 => drop(vol.unlink(&root, dir, &name)),
            9 => {
                if vol.rmdir(&root, dir, &name).is_ok() {
                    dirs.retain(|d| *d != ino);
                }
            }
            10 => drop(vol.rename(&root, dir, &name, to, &other, RenameFlags::empty())),
            11 => drop(vol.rename(&root, dir, &name, to, &other, RenameFlags::EXCHANGE)),
            12 => drop(vol.link(&root, ino, to, &other)),
            13 => {
                let value = vec![2; large as usize / 4];
                drop(vol.setxattr(&root, ino, b"user.x", &value, XattrMode::Any));
            }
            14 => {
                let size = SetAttr { size: Some(large), ..SetAttr::default() };
                drop(vol.setattr(&root, ino, &size));
            }
            15 => drop(vol.fallocate(&root, ino, FallocFlags::KEEP_SIZE, large, large * 3)),
            16 => {
                let punch = FallocFlags::KEEP_SIZE | FallocFlags::PUNCH_HOLE;
                drop(vol.fallocate(&root, ino, punch, large, large));
            }
            _ => drop(vol.fsync(ino, false)),
        }
        if found.is_some() && numbers.next(4) > 0 {
            vol.forget(ino, 1);
        }
        if numbers.next(40) == 0 {
            held.drain(..).for_each(|ino| vol.forget(ino, 1));
        }
        if numbers.next(60) == 0 {
            vol.sync().unwrap();
        }
        // A directory that a rename has replaced.
        dirs.retain(|d| *d == ROOT || vol.getattr(*d).is_ok_and(|a| a.nlink > 0));
    }
}
