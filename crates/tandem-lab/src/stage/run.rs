//! A run from its beginning to its end.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::group::{self, Group};
use super::layout::{Layout, Place};
use super::store::Open;
use super::{Executed, Setup, StageError, cut, is_cancelled, program, trail};
use crate::agent::{self, Report};
use crate::guest::{self, Guest};
use crate::job::{BlockDevice, Job};
use crate::peer::{self, Asked, Peer, World};
use crate::record::Flag;
use crate::workload;

/// How often it is looked whether the agent is done.
const LOOK: Duration = Duration::from_millis(20);

/// Does what `setup` says and measures it; `progress` is told what is being done.
///
/// The program that calls this must be `tandem` itself: the agent and emulated disks are processes
/// of the same program.
///
/// # Errors
/// [`StageError`]; everything is taken down by then.
pub fn execute(setup: &Setup, progress: &dyn Fn(&str)) -> Result<Executed, StageError> {
    let tandem = std::env::current_exe().map_err(|e| StageError::failed("own program", e))?;
    execute_as(&tandem, setup, progress)
}

/// As [`execute`], with the program `tandem` that is given.
///
/// # Errors
/// [`StageError`]; everything is taken down by then.
pub fn execute_as(
    tandem: &Path,
    setup: &Setup,
    progress: &dyn Fn(&str),
) -> Result<Executed, StageError> {
    let peer = peer::find(&setup.filesystem).ok_or_else(|| StageError::Missing {
        what: format!("a file system that is called {:?}", setup.filesystem),
        package: None,
    })?;
    let world = peer.world(&setup.levels)?;
    let layout = Layout::of(setup, peer)?;
    super::clean(&setup.work)?;
    let run = Run { tandem, setup, peer, world, layout, progress };
    let done = run.execute();
    // Nothing is left on a success; after a failure this is the second attempt at it.
    super::clean(&setup.work)?;
    done
}

struct Run<'a> {
    tandem: &'a Path,
    setup: &'a Setup,
    peer: &'static Peer,
    world: World,
    layout: Layout,
    progress: &'a dyn Fn(&str),
}

impl Run<'_> {
    fn execute(&self) -> Result<Executed, StageError> {
        let work = directory(&self.setup.work)?;
        let scratch = directory(&work.join("scratch"))?;
        (self.progress)("prepare");
        workload::prepare(&self.setup.workload, &scratch)
            .map_err(|e| StageError::failed("prepare", e))?;
        self.room(&work)?;
        let dir = directory(&trail::stage_dir(&work))?;
        (self.progress)("devices");
        let bound = self.setup.memory.filter(|_| self.world == World::Host);
        let group = bound.map(|bound| Group::new(&dir, bound)).transpose()?;
        let mut stores = Vec::new();
        for store in &self.layout.stores {
            stores.push(Open::new(self.tandem, store, &dir, self.world, bound.is_some())?);
        }
        let (file, out) = (dir.join("job.json"), dir.join("report.json"));
        let guest = match self.world {
            World::Host => None,
            World::Uml => Some(self.guest(&mut stores, &dir, &file, &out)?),
        };
        let job = self.job(&dir, &scratch, &stores, group.as_ref());
        let report = self.agent(&dir, &job, (&file, &out), guest.as_ref());
        let report = group::whole(report, group.as_ref())?;
        let mut done = self.executed(report, guest.as_ref(), group.as_ref());
        drop(group);
        (self.progress)("traces");
        for open in stores {
            let store = open.store.clone();
            if let Some((marks, trace)) = open.close()? {
                cut::cut(&store, &marks, &trace, &self.setup.traces, self.world, &mut done)?;
            }
        }
        Ok(done)
    }

    /// What the agent reports, and what it cannot know.
    fn executed(&self, report: Report, guest: Option<&Guest>, group: Option<&Group>) -> Executed {
        let Report { mut commands, phases, mut flags, .. } = report;
        let guest = guest.into_iter().map(|guest| program::shown(&guest.command));
        let bound = group.into_iter().flat_map(Group::commands);
        commands.splice(0..0, guest.chain(bound));
        flags.extend(group.and_then(|_| self.beyond()));
        Executed { commands, phases, flags, memory: self.memory() }
    }

    /// Bytes of memory that the run may fill, if not all of the machine's.
    fn memory(&self) -> Option<u64> {
        match self.world {
            World::Host => self.setup.memory,
            World::Uml => Some(self.setup.memory.unwrap_or(guest::MEMORY)),
        }
    }

    /// Says so when a control group bounds less than what is cached.
    fn beyond(&self) -> Option<Flag> {
        let text = format!(
            "{} keeps metadata in memory that the kernel may charge to nobody: the bound holds for \
             files' contents, not for those",
            self.peer.title
        );
        let rule = "beyond-bound".to_owned();
        self.peer.uncharged.then_some(Flag { rule, phase: None, text })
    }

    /// Is there room for what may be written?
    fn room(&self, work: &Path) -> Result<(), StageError> {
        let on = |memory: bool| -> u64 {
            let stores = self.layout.stores.iter();
            let stores = stores.filter(|store| (store.place == Place::Ram) == memory);
            stores.map(|store| store.size).sum()
        };
        let (disk, memory) = (on(false), on(true));
        let stat = rustix::fs::statvfs(work).map_err(|e| StageError::failed("statvfs", e))?;
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        if free < disk {
            let reason = format!("{free} bytes are free on {}, {disk} needed", work.display());
            return Err(StageError::failed("room for images", reason));
        }
        let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        let free = kib.unwrap_or(u64::MAX / 1024) * 1024;
        if free < memory {
            let reason = format!("{free} bytes of memory are free, {memory} needed");
            return Err(StageError::failed("room for images", reason));
        }
        Ok(())
    }

    /// A guest with the stores as its disks, which have their names there from now on.
    fn guest(
        &self,
        stores: &mut [Open],
        dir: &Path,
        job: &Path,
        out: &Path,
    ) -> Result<Guest, StageError> {
        let mut disks = 0..;
        for open in &mut *stores {
            let names = disks.by_ref().take(open.files.len());
            open.devices = names.map(|at| PathBuf::from(guest::device(at))).collect();
        }
        let files: Vec<&Path> =
            stores.iter().flat_map(|open| open.files.iter().map(PathBuf::as_path)).collect();
        let memory = self.memory().unwrap_or(guest::MEMORY);
        Guest::new(self.tandem, dir, memory, &files, job, out)
    }

    fn job(&self, dir: &Path, scratch: &Path, stores: &[Open], group: Option<&Group>) -> Job {
        let mut devices = BTreeMap::new();
        for open in stores {
            for (part, path) in open.store.parts.iter().zip(&open.devices) {
                let place = open.store.place.name().to_owned();
                devices.insert((*part).to_owned(), BlockDevice { path: path.clone(), place });
            }
        }
        let path = |name: &str| devices.get(name).map(|device| device.path.as_path());
        let mount_point = dir.join("mnt");
        let commands = peer::commands(&Asked {
            peer: self.peer,
            program: self.tandem,
            device: path("data").or(path("disk")).unwrap_or(Path::new("")),
            second: path("metadata").or(path("journal")),
            journal: self.layout.journal,
            memory: self.memory(),
            mkfs: &self.setup.mkfs,
            mount: &self.setup.mount,
            dir: &mount_point,
        });
        let emulators = || stores.iter().filter_map(|open| open.emulator.as_ref());
        let modules = match self.world {
            World::Host => &[],
            World::Uml => self.peer.modules,
        };
        Job {
            id: self.setup.id.clone(),
            mkfs: commands.mkfs,
            mount: commands.mount,
            unmount: commands.unmount,
            daemons: self.peer.daemons.iter().map(ToString::to_string).collect(),
            modules: modules.iter().map(ToString::to_string).collect(),
            mount_point,
            scratch: scratch.to_owned(),
            workload: self.setup.workload.clone(),
            marks: emulators().map(|disk| disk.marks()).collect(),
            lab: match self.world {
                World::Host => emulators().map(|disk| disk.pid()).collect(),
                World::Uml => Vec::new(),
            },
            group: group.map(Group::members),
            devices,
        }
    }

    /// Lets the agent execute the job, and waits for it.
    fn agent(
        &self,
        dir: &Path,
        job: &Job,
        (file, out): (&Path, &Path),
        guest: Option<&Guest>,
    ) -> Result<Report, StageError> {
        let step = if guest.is_some() { "guest" } else { "agent" };
        let fail = |e: std::io::Error| StageError::failed(step, e);
        std::fs::write(file, serde_json::to_vec(job).map_err(|e| StageError::failed(step, e))?)
            .map_err(fail)?;
        let log = out.with_extension("log");
        let mut command = match guest {
            Some(guest) => guest.boot(),
            None => {
                let mut command = Command::new(self.tandem);
                command.args(["lab", "agent"]).arg(file).arg(out);
                command
            }
        };
        let errors = File::create(&log).map_err(fail)?;
        command.stdin(Stdio::null()).stdout(errors.try_clone().map_err(fail)?).stderr(errors);
        trail::mark(&mut command, dir);
        // A guest's many processes are in one group.
        let mut child = Ended(command.process_group(0).spawn().map_err(fail)?);
        trail::note(dir, child.0.id())?;
        let mut told = 0;
        let status = loop {
            told += self.tell(&agent::progress_file(out), told);
            if let Some(status) = child.0.try_wait().map_err(fail)? {
                break status;
            }
            if is_cancelled() {
                return Err(StageError::failed(step, "interrupted"));
            }
            if let Some(guest) = guest {
                guest.alive(out)?;
            }
            std::thread::sleep(LOOK);
        };
        let said = || {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            let last = guest.map_or_else(|| program::tail(&said, 6), |_| Guest::last_words(&said));
            format!("{status}: {last}")
        };
        let report = std::fs::read(out).map_err(|_| StageError::failed(step, said()))?;
        serde_json::from_slice(&report).map_err(|e| StageError::failed(step, e))
    }

    /// Passes on what the agent has said since, and says how many bytes that were.
    fn tell(&self, file: &Path, from: usize) -> usize {
        let text = std::fs::read(file).unwrap_or_default();
        let new = text.get(from..).unwrap_or_default();
        let whole = new.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        for line in String::from_utf8_lossy(&new[..whole]).lines() {
            (self.progress)(line);
        }
        whole
    }
}

/// A process and its group, which do not outlive this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        trail::kill_group(self.0.id());
        let _ = self.0.wait();
    }
}

fn directory(path: &Path) -> Result<PathBuf, StageError> {
    let made = std::fs::create_dir_all(path).and_then(|()| path.canonicalize());
    made.map_err(|e| StageError::failed(format!("create {}", path.display()), e))
}
