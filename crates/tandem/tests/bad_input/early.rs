//! Whoever does not wait until the mount is ready, but acts as soon as it can be seen.

use crate::common::sys;
use crate::common::volume::{Shape, Volume, cli, skip};

/// Ends the mount so, several times: which moment it meets is chance.
fn ended_by(end: impl Fn(&mut Volume)) {
    if skip() {
        return;
    }
    let mut v = Volume::make(Shape { meta: 16 << 20, data: 64 << 20, ..Shape::default() });
    for _ in 0..12 {
        v.mount_until_seen();
        end(&mut v);
        let info = v.cli("info", &["--json"]).must();
        assert!(info.out.contains("\"clean\": true"), "{info}");
    }
    v.finish();
}

#[test]
fn a_signal() {
    for signal in [sys::SIGTERM, sys::SIGINT] {
        ended_by(|v| {
            let status = v.signal(signal).expect("it ends");
            assert!(status.success(), "{status}: {}", v.log());
        });
    }
}

#[test]
fn tandem_umount() {
    ended_by(|v| v.umount());
}

#[test]
fn umount_of_the_system() {
    ended_by(|v| {
        sys::umount(&v.mnt(), 0).unwrap();
        // It fails, as nothing is mounted there any more, and waits for the daemon.
        let _ = v.try_umount();
        cli(&["umount", &v.mnt().to_string_lossy()]).must_fail().says(&["mounted"]);
    });
}
