//! Who asks.

use tandem_fs::Cred;

use super::Dispatch;
use crate::request::Request;

impl Dispatch {
    /// The one behind a request. Groups only where somebody looks at them: finding out takes
    /// longer than most operations.
    pub(super) fn caller(&self, req: &Request<'_>) -> Cred {
        let header = req.header();
        let groups = if self.enforce && header.uid != 0 { groups(header.pid) } else { Vec::new() };
        Cred { uid: header.uid, gid: header.gid, groups, enforce: self.enforce }
    }
}

/// The supplementary groups of a thread; none when it is gone or hidden.
fn groups(pid: u32) -> Vec<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Groups:"));
    line.unwrap_or_default().split_whitespace().filter_map(|gid| gid.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn groups_come_from_proc() {
        let expected = rustix::process::getgroups().unwrap();
        let found = super::groups(std::process::id());
        assert_eq!(found.len(), expected.len());
        assert!(expected.iter().all(|gid| found.contains(&gid.as_raw())));
        assert!(super::groups(u32::MAX).is_empty());
    }
}
