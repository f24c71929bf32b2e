//! The machine, the kernel and the programs that a figure holds for.

use std::collections::BTreeMap;
use std::fs;
use std::hash::Hasher;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

/// What was running when a run was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Name, release and build of the kernel.
    pub kernel: String,
    /// The processor's architecture.
    pub machine: String,
    /// The distribution.
    pub distribution: String,
    /// The processor.
    pub processor: String,
    /// Processors.
    pub processors: u32,
    /// What decides their frequency, where that can be seen.
    pub governor: Option<String>,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of swap space.
    pub swap: u64,
    /// Transparent huge pages.
    pub huge_pages: Option<String>,
    /// Under which virtual machine or container, if the system says so.
    pub virtualization: Option<String>,
    /// The file system on which images are kept.
    pub images_on: Option<String>,
    /// The I/O scheduler of loop devices.
    pub scheduler: Option<String>,
    /// The clock that the kernel reads.
    pub clock: Option<String>,
    /// Tandem's version.
    pub tandem: String,
    /// Versions of programs, as they tell them.
    pub programs: BTreeMap<String, String>,
    /// Loads over 1, 5 and 15 minutes when the lab began.
    pub load: Option<String>,
}

/// Programs, and what makes them tell their version.
const PROGRAMS: &[(&str, &str)] = &[
    ("mke2fs", "-V"),
    ("mkfs.xfs", "-V"),
    ("mkfs.btrfs", "--version"),
    ("mkreiserfs", "-V"),
    ("mkfs.jfs", "-V"),
    ("mkfs.fat", "--help"),
    ("mkfs.f2fs", "-V"),
    ("mkfs.nilfs2", "-V"),
    ("mkntfs", "--version"),
    ("ntfs-3g", "--version"),
    ("fuse2fs", "-V"),
    ("linux.uml", "--version"),
    ("bonnie++", "-version"),
    ("fio", "--version"),
    ("nginx", "-v"),
    ("wrk", "-v"),
    ("psql", "--version"),
    ("tar", "--version"),
    ("make", "--version"),
    ("gcc", "--version"),
];

impl Environment {
    /// This machine now; images are kept in `work`.
    pub fn now(work: &Path) -> Environment {
        let memory = lines("/proc/meminfo");
        let bytes = |name: &str| {
            let kib = after(&memory, name).and_then(|text| text.split(' ').next()?.parse().ok());
            kib.unwrap_or(0_u64).saturating_mul(1024)
        };
        let cpu = lines("/proc/cpuinfo");
        let count = cpu.lines().filter(|line| line.starts_with("processor")).count();
        let name = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        Environment {
            kernel: [name.sysname(), name.release(), name.version()].map(text).join(" "),
            machine: text(name.machine()),
            distribution: after(&lines("/etc/os-release"), "PRETTY_NAME=")
                .map_or_else(String::new, |name| name.trim_matches('"').to_owned()),
            processor: after(&cpu, "model name").unwrap_or_default(),
            processors: u32::try_from(count).unwrap_or(u32::MAX),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            memory: bytes("MemTotal"),
            swap: bytes("SwapTotal"),
            huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled").map(chosen),
            virtualization: virtualization(&cpu),
            images_on: mounted_on(work),
            scheduler: line("/sys/block/loop0/queue/scheduler").map(chosen),
            clock: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            tandem: env!("CARGO_PKG_VERSION").to_owned(),
            programs: PROGRAMS.iter().filter_map(|(name, arg)| version(name, arg)).collect(),
            load: line("/proc/loadavg")
                .map(|text| text.split(' ').take(3).collect::<Vec<_>>().join(" ")),
        }
    }

    /// A name that depends on all of it but the load.
    pub fn name(&self) -> String {
        let steady = Environment { load: None, ..self.clone() };
        let mut hasher = SipHasher13::new();
        hasher.write(serde_json::to_string(&steady).unwrap_or_default().as_bytes());
        format!("{:012x}", hasher.finish() >> 16)
    }
}

fn lines(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// What follows a name, and `:` or blanks, at the beginning of a line.
fn after(text: &str, name: &str) -> Option<String> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(rest.trim_start_matches([':', ' ', '\t']).trim_end().to_owned())
}

/// Of `always [madvise] never`, `madvise`.
fn chosen(text: String) -> String {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text.clone(), |(chosen, _)| chosen.to_owned())
}

fn virtualization(cpu: &str) -> Option<String> {
    let guest = after(cpu, "flags")?.split(' ').any(|flag| flag == "hypervisor");
    let product = line("/sys/class/dmi/id/product_name");
    guest.then(|| product.unwrap_or_else(|| "a virtual machine".to_owned()))
}

/// Type and source of the file system that a path is on.
fn mounted_on(path: &Path) -> Option<String> {
    let path = path.ancestors().find_map(|path| path.canonicalize().ok())?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let around = mounts.lines().filter_map(|line| {
        let (place, source) = line.split_once(" - ")?;
        let point = place.split(' ').nth(4)?;
        let mut source = source.split(' ');
        let kind = format!("{} on {}", source.next()?, source.next()?);
        path.starts_with(point).then_some((point.len(), kind))
    });
    // Of several mounts on one directory the last is on top.
    around.max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

fn version(name: &str, arg: &str) -> Option<(String, String)> {
    let program = crate::stage::program::find(name)?;
    let output = Command::new(program).arg(arg).stdin(Stdio::null()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let told = text.lines().find(|line| line.chars().any(|c| c.is_ascii_digit()))?;
    Some((name.to_owned(), told.trim().chars().take(100).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let now = Environment::now(Path::new("/"));
        assert!(now.kernel.starts_with("Linux "), "{}", now.kernel);
        assert!(now.memory > 0 && now.processors > 0);
        assert!(now.images_on.is_some());
        let busier = Environment { load: Some("9 9 9".into()), ..now.clone() };
        assert_eq!(busier.name(), now.name());
        let larger = Environment { memory: now.memory + 1, ..now.clone() };
        assert_ne!(larger.name(), now.name());
    }

    #[test]
    fn kernel_files_are_understood() {
        assert_eq!(chosen("always [madvise] never".into()), "madvise");
        assert_eq!(chosen("none".into()), "none");
        assert_eq!(after("a: 1\nMemTotal:   12 kB\n", "MemTotal").as_deref(), Some("12 kB"));
    }
}
