//! A phase: workers begin together, everything is counted, what is left is flushed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::volume::{Volume, drop_caches};
use super::worker::{Finished, Order, Worker};
use super::{Report, orphans, progress_file};
use crate::job::Job;
use crate::measure::process::Usage;
use crate::measure::{Counts, Process};
use crate::record::{Cpu, Flag, Phase};
use crate::stage::StageError;
use crate::workload::PhaseSpec;

/// The agent at work.
pub(super) struct Agent<'a> {
    job: &'a Job,
    out: PathBuf,
    report: &'a mut Report,
    progress: File,
    marks: Vec<Marks>,
    volume: Volume<'a>,
    /// The most processors that others took in a phase, and which.
    busiest: Option<(f64, String)>,
}

/// A file that takes marks; each is written behind the one before.
struct Marks {
    path: PathBuf,
    file: File,
    at: u64,
}

/// What was counted when a phase began.
struct Before {
    devices: BTreeMap<String, Counts>,
    processes: BTreeMap<u32, Process>,
    since: Instant,
}

impl<'a> Agent<'a> {
    pub fn new(job: &'a Job, out: &Path, report: &'a mut Report) -> Result<Agent<'a>, StageError> {
        let path = progress_file(out);
        let progress = File::create(&path).map_err(|e| io("create", &path, e))?;
        let marks = job.marks.iter().map(|path| {
            let file = File::options().write(true).open(path).map_err(|e| io("open", path, e))?;
            Ok(Marks { path: path.clone(), file, at: 0 })
        });
        let marks = marks.collect::<Result<_, StageError>>()?;
        let volume = Volume::new(job);
        Ok(Agent { job, out: out.to_owned(), report, progress, marks, volume, busiest: None })
    }

    /// Makes the file system.
    pub fn make(&mut self) -> Result<(), StageError> {
        self.tell("mkfs");
        self.report.commands = self.volume.make()?;
        Ok(())
    }

    /// Takes the workload through a phase. What is cached afterwards stays there unless the next
    /// phase is to be cold.
    pub fn phase(
        &mut self,
        at: usize,
        of: usize,
        spec: &PhaseSpec,
        next_is_cold: bool,
    ) -> Result<(), StageError> {
        self.tell(&format!("{} ({} of {of})", spec.name, at + 1));
        let mut phase = Phase {
            name: spec.name.clone(),
            cold: spec.cold,
            measured: spec.measured,
            ..Phase::default()
        };
        self.mount(at, &mut phase)?;
        let family = orphans::family();
        let mut workers = self.workers(spec)?;
        let before = self.begin(at)?;
        for worker in &mut workers {
            worker.go()?;
        }
        let done = workers.into_iter().map(Worker::finish).collect::<Result<Vec<_>, _>>()?;
        add(&done, &mut phase);
        self.end_orphans(&family, &phase)?;
        self.flush(next_is_cold, &mut phase)?;
        self.end(at, &before, &mut phase)?;
        self.judge(&phase);
        self.report.phases.push(phase);
        Ok(())
    }

    /// Mounts it if it is not; anew, after everything was forgotten, for a cold phase.
    fn mount(&mut self, at: usize, phase: &mut Phase) -> Result<(), StageError> {
        if phase.cold {
            if let Some(daemons) = self.volume.unmount()? {
                daemons.reap();
            }
            drop_caches()?;
        }
        if self.volume.mounted.is_none() {
            let before = self.counts()?;
            self.mark(&format!("mount {at}"))?;
            let took = self.volume.mount()?;
            let after = self.counts()?;
            let read: u64 =
                after.iter().map(|(name, now)| now.since(&before[name]).read_sectors).sum();
            phase.values.insert("mount_seconds".into(), took.as_secs_f64());
            phase.values.insert("mount_read_sectors".into(), read as f64);
        }
        Ok(())
    }

    /// What the workers have left in the background does not go on into the flush or the next phase.
    fn end_orphans(&mut self, family: &BTreeSet<u32>, phase: &Phase) -> Result<(), StageError> {
        let ended = orphans::end(family)?;
        if !ended.is_empty() {
            let text = format!(
                "ended with the phase, though still at work: {}; their processor time is not counted",
                ended.join(", ")
            );
            self.flag("left-behind", phase, text);
        }
        Ok(())
    }

    fn workers(&self, spec: &PhaseSpec) -> Result<Vec<Worker>, StageError> {
        let workers = (0..self.job.workload.processes.max(1)).map(|process| {
            let order = Order {
                workload: self.job.workload.clone(),
                phase: spec.name.clone(),
                dir: self.volume.dir().to_owned(),
                scratch: self.job.scratch.clone(),
                process,
            };
            Worker::start(&order, &self.out.with_extension(format!("worker{process}")))
        });
        workers.collect()
    }

    fn begin(&mut self, at: usize) -> Result<Before, StageError> {
        if let Some(daemons) = &mut self.volume.mounted {
            daemons.begin();
        }
        let processes = Process::all();
        self.mark(&format!("begin {at}"))?;
        Ok(Before { devices: self.counts()?, processes, since: Instant::now() })
    }

    /// Brings what is left to the devices.
    fn flush(&mut self, unmount: bool, phase: &mut Phase) -> Result<(), StageError> {
        if let Some(daemons) = &self.volume.mounted {
            phase.peak_memory += daemons.peak_memory();
        }
        let start = Instant::now();
        self.volume.sync()?;
        let mut daemons = None;
        if unmount {
            daemons = self.volume.unmount()?;
        }
        phase.flush_seconds = start.elapsed().as_secs_f64();
        let used = daemons.as_ref().or(self.volume.mounted.as_ref()).map(|daemons| daemons.used());
        for (name, used) in used.unwrap_or_default() {
            phase.cpu.push(cpu(name, "daemon", used));
        }
        if let Some(daemons) = daemons {
            daemons.reap();
        }
        Ok(())
    }

    fn end(&mut self, at: usize, before: &Before, phase: &mut Phase) -> Result<(), StageError> {
        for (name, now) in self.counts()? {
            let (counts, place) =
                (now.since(&before.devices[&name]), &self.job.devices[&name].place);
            phase.devices.push(counts.record(&name, place));
        }
        self.mark(&format!("end {at}"))?;
        let others = self.others(before, phase);
        let share = others / before.since.elapsed().as_secs_f64().max(1e-3);
        if self.busiest.as_ref().is_none_or(|(most, _)| share > *most) {
            self.busiest = Some((share, phase.name.clone()));
        }
        Ok(())
    }

    /// What can be said at the end only.
    pub fn finish(mut self) {
        let Some((share, phase)) = self.busiest.take().filter(|(share, _)| *share > BUSY) else {
            return;
        };
        let text = format!("programs that have no part in it took {share:.2} processors");
        self.report.flags.push(Flag { rule: "busy-machine".into(), phase: Some(phase), text });
    }

    /// Adds the kernel's threads and the lab's own processes, and gives the processor time of those
    /// that have no part in it, in seconds.
    fn others(&self, before: &Before, phase: &mut Phase) -> f64 {
        let own = std::process::id();
        let mut kernel: BTreeMap<String, Usage> = BTreeMap::new();
        let (mut lab, mut others) = (Usage::default(), 0.0);
        for process in Process::all().into_values() {
            let old = before.processes.get(&process.pid);
            let old = old.filter(|old| old.started == process.started);
            let used = process.used.since(&old.map(|old| old.used).unwrap_or_default());
            if process.is_kernel() {
                *kernel.entry(process.family().to_owned()).or_default() += used;
            } else if process.pid == own || self.job.lab.contains(&process.pid) {
                lab += used;
            } else if process.parent != own {
                others += used.total();
            }
        }
        kernel.retain(|_, used| used.total() > 0.0);
        phase.cpu.extend(kernel.into_iter().map(|(name, used)| cpu(name, "kernel", used)));
        phase.cpu.push(cpu("lab".into(), "lab", lab));
        others
    }

    /// Caches were empty if the mount or the phase had to read.
    fn judge(&mut self, phase: &Phase) {
        let read: u64 = phase.devices.iter().map(|device| device.read_sectors).sum();
        let mount = phase.values.get("mount_read_sectors").copied().unwrap_or(0.0);
        if phase.cold && read == 0 && mount == 0.0 {
            let text = "caches were emptied, and yet nothing was read from the devices";
            self.flag("warm", phase, text.to_owned());
        }
    }

    fn flag(&mut self, rule: &str, phase: &Phase, text: String) {
        let phase = Some(phase.name.clone());
        self.report.flags.push(Flag { rule: rule.to_owned(), phase, text });
    }

    fn counts(&self) -> Result<BTreeMap<String, Counts>, StageError> {
        let counts = self.job.devices.iter().map(|(name, device)| {
            let counts = Counts::of(&device.path);
            Ok((name.clone(), counts.map_err(|e| io("counters of", &device.path, e))?))
        });
        counts.collect()
    }

    fn mark(&mut self, text: &str) -> Result<(), StageError> {
        let line = format!("{text}\n");
        for marks in &mut self.marks {
            let written = marks.file.write_all_at(line.as_bytes(), marks.at);
            written.map_err(|e| io("write to", &marks.path, e))?;
            marks.at += line.len() as u64;
        }
        Ok(())
    }

    /// For those who wait; that nobody can be told changes nothing.
    fn tell(&mut self, text: &str) {
        let _ = writeln!(self.progress, "{text}");
    }
}

/// After a failure: what holds the file system would be in the way of its unmount.
impl Drop for Agent<'_> {
    fn drop(&mut self) {
        let daemons = self.volume.mounted.iter().flat_map(|daemons| daemons.pids()).collect();
        let _ = orphans::end(&daemons);
    }
}

/// Processors that others may use before a run is marked.
const BUSY: f64 = 0.1;

/// What the workers have done and used.
fn add(done: &[Finished], phase: &mut Phase) {
    let start = done.iter().map(|worker| worker.answer.start).min().unwrap_or(0);
    let end = done.iter().map(|worker| worker.answer.end).max().unwrap_or(0);
    phase.seconds = Duration::from_nanos(end.saturating_sub(start)).as_secs_f64();
    let mut used = Usage::default();
    for worker in done {
        for (name, value) in &worker.outcome.values {
            *phase.values.entry(name.clone()).or_default() += value;
        }
        used += worker.used;
        phase.peak_memory += worker.memory;
    }
    phase.cpu.push(cpu("workload".into(), "workload", used));
}

fn cpu(name: String, role: &str, used: Usage) -> Cpu {
    Cpu { name, role: role.to_owned(), user: used.user, system: used.system }
}

fn io(what: &str, path: &Path, error: std::io::Error) -> StageError {
    StageError::failed(format!("{what} {}", path.display()), error)
}
