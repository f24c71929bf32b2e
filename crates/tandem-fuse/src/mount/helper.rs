//! `fusermount3`, the set-uid helper that mounts for ordinary users. It opens the device, mounts
//! it, and sends the descriptor through a socket whose number it finds in `_FUSE_COMMFD`.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
    recvmsg, socketpair,
};

use super::Unmount;
use crate::error::{DoorError, Result};
use crate::options::{Checks, DoorOptions};

const HELPER: &str = "fusermount3";

pub(super) fn mount(dir: &Path, options: &DoorOptions, checks: Checks) -> Result<OwnedFd> {
    let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let (ours, theirs) = pair.map_err(|e| DoorError::system("socketpair", e))?;
    fcntl_setfd(&theirs, FdFlags::empty()).map_err(|e| DoorError::system("fcntl", e))?;
    let child = Command::new(HELPER)
        .arg("-o")
        .arg(mount_options(options, checks))
        .arg("--")
        .arg(dir)
        .env("_FUSE_COMMFD", theirs.as_raw_fd().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| DoorError::mount(dir, missing(&e)))?;
    drop(theirs);
    let device = receive(&ours);
    let output = child.wait_with_output().map_err(|e| DoorError::system(HELPER, e))?;
    match device {
        Ok(Some(device)) if output.status.success() => Ok(device),
        Err(e) if output.status.success() => Err(DoorError::system("recvmsg", e)),
        _ => Err(DoorError::mount(dir, said(&output.stderr))),
    }
}

fn receive(socket: &OwnedFd) -> rustix::io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut iov = [IoSliceMut::new(&mut byte)];
    rustix::io::retry_on_intr(|| recvmsg(socket, &mut iov, &mut control, RecvFlags::CMSG_CLOEXEC))?;
    Ok(control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    }))
}

fn mount_options(options: &DoorOptions, checks: Checks) -> String {
    let f = &options.flags;
    let mut list =
        format!("fsname={},subtype={}", escaped(&options.fsname), escaped(&options.subtype));
    for (wanted, name) in [
        (checks == Checks::Kernel, "default_permissions"),
        (options.allow_other, "allow_other"),
        (options.read_only, "ro"),
        (f.nosuid, "nosuid"),
        (f.nodev, "nodev"),
        (f.noexec, "noexec"),
        (f.noatime, "noatime"),
        (f.nodiratime, "nodiratime"),
        (f.sync, "sync"),
        (f.dirsync, "dirsync"),
    ] {
        if wanted {
            list.push(',');
            list += name;
        }
    }
    list
}

/// A value in which commas and backslashes stand for themselves.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace(',', "\\,")
}

pub(super) fn unmount(dir: &Path, how: Unmount) -> Result<()> {
    let mut command = Command::new(HELPER);
    command.arg("-u");
    match how {
        Unmount::Polite => {}
        Unmount::Lazy => {
            command.arg("-z");
        }
        Unmount::Force => {
            let reason = "by force only as root; lazily (-l) as anybody".into();
            return Err(DoorError::Unmount { dir: dir.to_path_buf(), reason });
        }
    }
    let output = command.arg("--").arg(dir).stdin(Stdio::null()).output();
    let output =
        output.map_err(|e| DoorError::Unmount { dir: dir.to_path_buf(), reason: missing(&e) })?;
    if output.status.success() {
        return Ok(());
    }
    let reason = said(&output.stderr);
    if reason.contains("busy") {
        return Err(DoorError::Busy(dir.to_path_buf()));
    }
    Err(DoorError::Unmount { dir: dir.to_path_buf(), reason })
}

fn missing(e: &std::io::Error) -> String {
    format!("{HELPER}: {e}; an ordinary user needs it (apt-get install fuse3), root does not")
}

fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let text = text.trim();
    if text.is_empty() {
        return format!("{HELPER} failed and did not say why");
    }
    let remedy = if text.contains("user_allow_other") {
        " (root may put user_allow_other there; or do without allow_other)"
    } else if text.contains("/dev/fuse: Permission denied") {
        " (as root: chmod 666 /dev/fuse, as distributions have it; or mount as root)"
    } else {
        ""
    };
    format!("{text}{remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped() {
        let options = DoorOptions { fsname: "/a,b\\c".into(), ..DoorOptions::default() };
        assert!(
            mount_options(&options, Checks::Kernel)
                .starts_with("fsname=/a\\,b\\\\c,subtype=tandem,default")
        );
    }
}
