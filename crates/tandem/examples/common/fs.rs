//! The file systems: made, mounted, made cold, and asked what they wrote.

#![allow(dead_code, reason = "every program that includes this uses a part of it")]

use super::traffic::{Traffic, of_device};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Everything that goes wrong ends the run with a message.
pub type Res<T> = Result<T, Box<dyn std::error::Error>>;

/// What all file systems of a run are made with.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Where the images go.
    pub dir: PathBuf,
    /// The program.
    pub tandem: PathBuf,
    /// Mount options for Tandem.
    pub options: String,
    /// Tandem on loop devices too.
    pub loops: bool,
}

/// Bytes of the metadata device.
pub const META: u64 = 2 << 30;
/// Bytes of the data device, or of the only one.
pub const DATA: u64 = 12 << 30;

/// A file system, mounted, on images of its own.
pub struct Fs {
    /// `tandem`, `ext4`, …
    pub name: String,
    dir: PathBuf,
    loops: Vec<String>,
    daemon: Option<Child>,
    tandem: PathBuf,
    options: String,
    written: Written,
    peak: f64,
    last: serde_json::Value,
}

/// Bytes written to the devices.
#[derive(Clone, Copy, Default, Debug)]
pub struct Written {
    /// To M; all of it on file systems with one device.
    pub meta: f64,
    /// To D.
    pub data: f64,
}

/// Runs a program; an error unless it ends with 0 (or with 1, where that is no failure).
pub fn run(command: &mut Command, one_is_fine: bool) -> Res<String> {
    let out = command.stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
    let fine = out.status.success() || one_is_fine && out.status.code() == Some(1);
    if fine {
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
    } else {
        let text = String::from_utf8_lossy(&out.stderr);
        Err(format!("{command:?}: {}: {text}", out.status).into())
    }
}

/// Touches a third of the free memory, 6 GiB at most. In a virtual machine the host provides memory
/// when it is first used, or used again after a while, which takes longer than reading into it: that
/// must not be charged to whichever file system comes first.
fn touch_memory() {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = info.lines().find_map(|line| line.strip_prefix("MemFree:"));
    let free = free.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<usize>().ok());
    let mut memory = vec![0u8; (free.unwrap_or(0) << 10).div_euclid(3).min(6 << 30)];
    memory.chunks_mut(4096).for_each(|page| page[0] = 1);
    std::hint::black_box(&memory);
}

impl Fs {
    /// Makes and mounts one of the usual size.
    pub fn make(setup: &Setup, name: &str) -> Res<Fs> {
        Fs::make_sized(setup, name, META, DATA)
    }

    /// Makes and mounts one with devices of so many bytes.
    pub fn make_sized(setup: &Setup, name: &str, meta: u64, data: u64) -> Res<Fs> {
        let dir = setup.dir.join(name);
        std::fs::create_dir_all(dir.join("mnt"))?;
        let mut fs = Fs {
            name: name.to_owned(),
            dir,
            loops: vec![],
            daemon: None,
            tandem: setup.tandem.clone(),
            options: setup.options.clone(),
            written: Written::default(),
            peak: 0.0,
            last: serde_json::Value::Null,
        };
        let sizes: &[(&str, u64)] = match name {
            "tandem" => &[("meta", meta), ("data", data)],
            _ => &[("disk", data)],
        };
        for (image, size) in sizes {
            let path = fs.dir.join(image);
            File::create(&path)?.set_len(*size)?;
            if name != "tandem" || setup.loops {
                let device = run(Command::new("losetup").args(["-f", "--show"]).arg(&path), false)?;
                let device = device.trim().to_owned();
                run(Command::new("blockdev").args(["--setrw", &device]), false)?;
                fs.loops.push(device);
            }
        }
        let device = fs.loops.first().cloned().unwrap_or_default();
        let mkfs: (&str, &[&str]) = match name {
            "tandem" => ("", &[]),
            "ext4" => ("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]),
            "ext3" => ("mkfs.ext3", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]),
            "ext2" => ("mkfs.ext2", &["-q", "-F", "-E", "lazy_itable_init=0"]),
            "xfs" => ("mkfs.xfs", &["-q", "-f"]),
            "btrfs" => ("mkfs.btrfs", &["-q", "-f"]),
            _ => return Err(format!("{name}: not a file system that is known here").into()),
        };
        if name == "tandem" {
            let [meta, data] = fs.devices();
            run(Command::new(&fs.tandem).arg("mkfs").arg(meta).arg("--data").arg(data), false)?;
        } else {
            run(Command::new(mkfs.0).args(mkfs.1).arg(&device), false)?;
        }
        fs.mount()?;
        Ok(fs)
    }

    /// Paths of M and D of a Tandem volume.
    pub fn devices(&self) -> [PathBuf; 2] {
        match self.loops.as_slice() {
            [meta, data] => [meta.into(), data.into()],
            _ => [self.dir.join("meta"), self.dir.join("data")],
        }
    }

    /// Where it is mounted.
    pub fn root(&self) -> PathBuf {
        self.dir.join("mnt")
    }

    /// Mount options for Tandem from the next mount on.
    pub fn set_options(&mut self, options: &str) {
        self.options = options.to_owned();
    }

    /// Mounts it after [`Fs::umount`].
    pub fn mount(&mut self) -> Res<()> {
        let root = self.root();
        if self.name != "tandem" {
            let device = &self.loops[0];
            run(Command::new("mount").args(["-t", &self.name, device]).arg(&root), false)?;
            return Ok(());
        }
        let before = std::fs::metadata(&root)?.dev();
        let [meta, data] = self.devices();
        let mut command = Command::new(&self.tandem);
        command.arg("mount").arg(meta).arg(&root).arg("--data").arg(data).arg("--foreground");
        if !self.options.is_empty() {
            command.args(["-o", &self.options]);
        }
        let log = File::create(self.dir.join("log"))?;
        let mut child = command.stdin(Stdio::null()).stderr(log).spawn()?;
        while std::fs::metadata(&root)?.dev() == before {
            if let Some(status) = child.try_wait()? {
                let log = std::fs::read_to_string(self.dir.join("log"))?;
                return Err(format!("tandem mount: {status}\n{log}").into());
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        self.daemon = Some(child);
        Ok(())
    }

    /// Unmounts it: everything is on the devices afterwards.
    pub fn umount(&mut self) -> Res<()> {
        let root = self.root();
        if self.name != "tandem" {
            run(Command::new("umount").arg(&root), false)?;
            return Ok(());
        }
        self.peak = self.daemon().map_or(self.peak, |d| d.1);
        let out = run(Command::new(&self.tandem).arg("umount").arg(&root).arg("--json"), false)?;
        let last: serde_json::Value = serde_json::from_str(&out)?;
        let bytes = |device: &str| last["devices"][device]["write_bytes"].as_f64().unwrap_or(0.0);
        self.written.meta += bytes("metadata");
        self.written.data += bytes("data");
        self.last = last;
        if let Some(mut child) = self.daemon.take() {
            child.wait()?;
        }
        Ok(())
    }

    /// Tandem's counters at its last unmount; null on other file systems.
    pub fn last(&self) -> &serde_json::Value {
        &self.last
    }

    /// Tandem's counters now.
    pub fn stats(&self) -> Res<serde_json::Value> {
        let mut command = Command::new(&self.tandem);
        let out = run(command.arg("stats").arg(self.root()).arg("--json"), false)?;
        Ok(serde_json::from_str(&out)?)
    }

    /// What the kernel has counted for its loop devices since they were attached: M and D; for a
    /// file system with one device that is D.
    pub fn traffic(&self) -> Res<Traffic> {
        match self.loops.as_slice() {
            [one] => Ok(Traffic { d: of_device(one)?, ..Traffic::default() }),
            [meta, data] => Ok(Traffic { m: of_device(meta)?, d: of_device(data)? }),
            _ => Err("only loop devices are counted".into()),
        }
    }

    /// Unmounts, mounts again and empties the kernel's caches: nothing is in memory. Returns how
    /// long unmounting and mounting took, in seconds.
    pub fn cold(&mut self) -> Res<f64> {
        let start = Instant::now();
        self.umount()?;
        self.mount()?;
        let took = start.elapsed().as_secs_f64();
        std::fs::write("/proc/sys/vm/drop_caches", "3")?;
        touch_memory();
        Ok(took)
    }

    /// Unmounts and mounts again, and says how long the mounting took, in seconds.
    pub fn remount(&mut self) -> Res<f64> {
        self.umount()?;
        std::fs::write("/proc/sys/vm/drop_caches", "3")?;
        let start = Instant::now();
        self.mount()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// Bytes written since it was made, mkfs left out; counted up to the last unmount on Tandem.
    pub fn written(&self) -> Res<Written> {
        if self.name == "tandem" {
            return Ok(self.written);
        }
        let name = self.loops[0].rsplit('/').next().unwrap_or_default();
        let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat"))?;
        let sectors: f64 = stat.split_whitespace().nth(6).ok_or("block statistics")?.parse()?;
        Ok(Written { meta: sectors * 512.0, data: 0.0 })
    }

    /// The daemon's memory, now and at most since it was made, in bytes; and its processor time since
    /// the last mount, in seconds.
    pub fn daemon(&self) -> Option<(f64, f64, f64)> {
        let pid = self.daemon.as_ref()?.id();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find(|l| l.starts_with(name))?;
            Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1024.0)
        };
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let after = stat.rsplit(')').next()?;
        let ticks = |n: usize| after.split_whitespace().nth(n)?.parse::<f64>().ok();
        Some((field("VmRSS")?, field("VmHWM")?.max(self.peak), (ticks(11)? + ticks(12)?) / 100.0))
    }

    /// Transport and threads, and where they ran.
    pub fn threads(&self) -> Option<String> {
        let mut command = Command::new(&self.tandem);
        let out = run(command.arg("stats").arg(self.root()).arg("--json"), false).ok()?;
        let stats: serde_json::Value = serde_json::from_str(&out).ok()?;
        let door = &stats["door"];
        let threads = door["threads"].as_array()?.iter().map(|t| {
            let place = t["cpu"].as_u64().map_or("any CPU".into(), |c| format!("CPU {c}"));
            format!("{} on {place}", t["name"].as_str().unwrap_or("?"))
        });
        let threads = threads.collect::<Vec<_>>().join(", ");
        Some(format!("transport {}: {threads}", door["transport"].as_str().unwrap_or("?")))
    }

    /// Unmounts it for good and checks it.
    pub fn end(&mut self) -> Res<()> {
        self.umount()?;
        if self.name == "tandem" {
            let [meta, data] = self.devices();
            run(Command::new(&self.tandem).arg("check").arg(meta).arg("--data").arg(data), false)?;
        }
        Ok(())
    }
}

impl Drop for Fs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-q").arg(self.root()).stderr(Stdio::null()).status();
        if let Some(mut child) = self.daemon.take() {
            let start = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && start.elapsed() < Duration::from_secs(60)
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        for device in &self.loops {
            let _ = Command::new("losetup").args(["-d", device]).status();
        }
        let _ = std::fs::remove_dir_all(Path::new(&self.dir));
    }
}
