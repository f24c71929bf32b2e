//! The runner: makes every run that is asked for and not made yet.
//!
//! Study after study, block after block, in an order that only the folder's seed decides; so what a
//! kill has interrupted goes on where it was. A run counts when its record is on the disk. What a
//! killed one has left of mounts, loop devices and processes is taken down first.

mod outlook;
mod repeat;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::checklist::{self, Machine};
use crate::environment::Environment;
use crate::plan::{Configuration, Run, Selected, block};
use crate::record::{Flag, Phase, Record, SCHEMA, Status};
use crate::stage::{self, Executed, Setup, StageError};
use crate::store::{Asked, Fresh, Store, StoreError};
use crate::study::{Given, Study, StudyError};
use crate::workload;

pub use outlook::Outlook;

/// How runs are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where images and mount points are [default: `work` in the results folder].
    pub work: Option<PathBuf>,
    /// Try runs again that have failed or were skipped.
    pub retry: bool,
    /// Runs are made although other labs may be at work on this machine, and marked.
    pub beside: bool,
    /// Keep what workloads have prepared (archives, trees) when all is done.
    pub keep: bool,
}

/// What happens, told while it does.
#[derive(Debug)]
pub enum Event<'a> {
    /// Before the first run.
    Planned(&'a Outlook),
    /// A run begins: the configuration, the repetition, its place in all runs, and how many there
    /// are.
    Begins(&'a Configuration, u32, u64, u64),
    /// What the run is doing.
    Doing(&'a str),
    /// It has ended; seconds left for the others if that can be told.
    Ended(&'a Record, Option<f64>),
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Summary {
    /// Runs measured now.
    pub done: u64,
    /// Runs that failed now.
    pub failed: u64,
    /// Runs that could not be tried now.
    pub skipped: u64,
    /// Runs that had been made before.
    pub before: u64,
    /// Why runs failed or were skipped, with the number of runs.
    pub reasons: BTreeMap<String, u64>,
    /// It was interrupted: there is more to run.
    pub interrupted: bool,
}

/// Runs that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The results folder.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A study in it.
    #[error("in the results folder: {0}")]
    Study(#[from] StudyError),
    /// A part of one.
    #[error("in the results folder: {0}")]
    Select(#[from] crate::plan::SelectError),
    /// What an earlier run has left cannot be taken down.
    #[error("what an earlier run has left: {0}")]
    Left(StageError),
    /// There is not enough of something; nothing was begun.
    #[error("{0}")]
    Short(String),
    /// The system refused.
    #[error("{}: {error}", .path.display())]
    Io {
        /// On what.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// Makes the runs that a results folder asks for and does not have.
///
/// # Errors
/// [`RunError`]: nothing was begun, or what was done is kept and the rest cannot be.
pub fn run(
    store: &mut Store,
    options: &Options,
    tell: &dyn Fn(Event<'_>),
) -> Result<Summary, RunError> {
    let asked = store.manifest().studies.clone();
    let given = asked.iter().map(Asked::given).collect::<Result<Vec<Given>, _>>()?;
    let mut parts = Vec::new();
    for (asked, given) in asked.iter().zip(&given) {
        parts.push((asked, Selected::new(&given.study, &asked.scale, &asked.only)?));
    }
    let work = options.work.clone().unwrap_or_else(|| store.dir().join("work"));
    let refused = |error| RunError::Io { path: work.clone(), error };
    let fresh = Fresh::directory(&work).map_err(refused)?;
    let work = work.canonicalize().map_err(refused)?;
    Runner::new(store, options, tell, work)?.all(&parts, fresh)
}

struct Runner<'r> {
    store: &'r mut Store,
    options: &'r Options,
    tell: &'r dyn Fn(Event<'_>),
    work: PathBuf,
    environment: String,
    /// Runs that need not be made.
    made: HashSet<String>,
    /// Why a configuration cannot be run on this machine.
    missing: HashMap<String, String>,
    order: u32,
    summary: Summary,
}

impl<'r> Runner<'r> {
    fn new(
        store: &'r mut Store,
        options: &'r Options,
        tell: &'r dyn Fn(Event<'_>),
        work: PathBuf,
    ) -> Result<Runner<'r>, RunError> {
        stage::clean(&work).map_err(RunError::Left)?;
        let counts = |record: &&Record| !options.retry || record.status == Status::Done;
        let made = store.records().iter().filter(counts).map(|record| record.id.clone()).collect();
        let order = store.records().iter().map(|record| record.order).max().unwrap_or(0);
        let summary = Summary::default();
        let (environment, missing) = (String::new(), HashMap::new());
        Ok(Runner { store, options, tell, work, environment, made, missing, order, summary })
    }

    fn all(
        mut self,
        parts: &[(&Asked, Selected<'_>)],
        mut fresh: Fresh,
    ) -> Result<Summary, RunError> {
        let outlook = Outlook::new(parts, self.store.records(), &self.made);
        outlook.check(&self.work)?;
        self.begin()?;
        fresh.keep();
        self.summary.before = outlook.made;
        (self.tell)(Event::Planned(&outlook));
        for (asked, selected) in parts {
            self.study(asked, selected, &outlook)?;
            if self.summary.interrupted {
                return Ok(self.summary);
            }
        }
        if !self.options.keep {
            let scratch = self.work.join("scratch");
            if scratch.exists() {
                std::fs::remove_dir_all(&scratch)
                    .map_err(|error| RunError::Io { path: scratch, error })?;
            }
            // It is the user's own, with other things in it, or gone.
            let _ = std::fs::remove_dir(&self.work);
        }
        Ok(self.summary)
    }

    /// Before this nothing is written into the results folder.
    fn begin(&mut self) -> Result<(), StoreError> {
        self.store.begin()?;
        let environment = Environment::now(&self.work);
        self.environment = environment.name();
        self.store.environment(&self.environment, &environment)
    }

    fn study(
        &mut self,
        asked: &Asked,
        selected: &Selected<'_>,
        outlook: &Outlook,
    ) -> Result<(), RunError> {
        let all: Vec<&Configuration> = selected.configurations.iter().collect();
        let fixed = asked.repetitions(selected);
        let most = asked.width(selected).map_or(fixed, |(_, most)| most);
        for repetition in 1..=most {
            let wanting = if repetition <= fixed {
                all.clone()
            } else {
                let width = asked.width(selected).map_or(1.0, |(width, _)| width);
                repeat::wanting(selected.study, &all, self.store.records(), repetition, width)
            };
            if wanting.is_empty() {
                break;
            }
            for run in block(&wanting, self.store.manifest().seed, repetition) {
                if self.made.contains(&run.id()) {
                    continue;
                }
                self.one(selected.study, &asked.scale, &run, outlook)?;
                if self.summary.interrupted {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn one(
        &mut self,
        study: &Study,
        scale: &str,
        run: &Run<'_>,
        outlook: &Outlook,
    ) -> Result<(), RunError> {
        let (configuration, repetition) = (run.configuration, run.repetition);
        let now = self.made.len() as u64;
        let place = (now - outlook.foreign(&self.made) + 1).min(outlook.runs());
        (self.tell)(Event::Begins(configuration, repetition, place, outlook.runs()));
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let clock = Instant::now();
        let before = Machine::now();
        let ended = self.execute(run);
        if stage::cancelled().load(Ordering::Relaxed) && ended.is_err() {
            self.summary.interrupted = true;
            return stage::clean(&self.work).map_err(RunError::Left);
        }
        let (status, mut executed) = self.judge(configuration, ended);
        let machine = Machine::since(before).with(executed.memory);
        executed.flags.extend(checklist::judge(&executed.phases, machine));
        executed.flags.extend(self.options.beside.then(beside));
        self.relative(&mut executed.phases);
        self.order = self.order.saturating_add(1);
        let record = Record {
            schema: SCHEMA,
            id: run.id(),
            study: study.name.clone(),
            scale: scale.to_owned(),
            levels: configuration.levels.clone(),
            memory: configuration.memory,
            repetition,
            order: self.order,
            seed: run.seed,
            started: started.as_secs_f64(),
            elapsed: clock.elapsed().as_secs_f64(),
            status,
            environment: self.environment.clone(),
            commands: executed.commands,
            phases: executed.phases,
            flags: executed.flags,
        };
        self.store.append(record.clone())?;
        self.made.insert(record.id.clone());
        let left = outlook.left(self.store.records(), &self.made);
        (self.tell)(Event::Ended(&record, left));
        self.summary.interrupted = stage::cancelled().load(Ordering::Relaxed);
        Ok(())
    }

    fn execute(&mut self, run: &Run<'_>) -> Result<Executed, StageError> {
        let configuration = run.configuration;
        let spec = configuration.workload(run.seed);
        let lacks = workload::missing(&spec).map_err(|e| StageError::failed("workload", e))?;
        if let Some(lack) = lacks.into_iter().next() {
            return Err(StageError::Missing { what: lack.what, package: lack.package });
        }
        if let Some(reason) = self.missing.get(&configuration.id) {
            return Err(StageError::Missing { what: reason.clone(), package: None });
        }
        let traces = self.store.dir().join("traces").join(run.id());
        if traces.exists() {
            let removed = std::fs::remove_dir_all(&traces);
            removed.map_err(|e| StageError::failed("remove a killed run's traces", e))?;
        }
        let made = std::fs::create_dir_all(&traces);
        made.map_err(|e| StageError::failed("make a directory for traces", e))?;
        let setup = Setup {
            id: run.id(),
            levels: configuration.levels.clone(),
            filesystem: configuration.filesystem.clone(),
            mkfs: configuration.mkfs.clone(),
            mount: configuration.mount.clone(),
            workload: spec,
            size: configuration.size,
            memory: configuration.memory,
            work: self.work.clone(),
            traces: traces.clone(),
        };
        let done = stage::execute(&setup, &|doing| (self.tell)(Event::Doing(doing)));
        // It is empty when nothing was traced.
        let _ = std::fs::remove_dir(&traces);
        done
    }

    /// How a run ended; a failure has measured nothing that counts.
    fn judge(
        &mut self,
        configuration: &Configuration,
        ended: Result<Executed, StageError>,
    ) -> (Status, Executed) {
        match ended {
            Ok(executed) => {
                self.summary.done += 1;
                (Status::Done, executed)
            }
            Err(error @ StageError::Missing { .. }) => {
                self.summary.skipped += 1;
                let known = self.missing.get(&configuration.id).cloned();
                let reason = known.unwrap_or_else(|| error.to_string());
                self.missing.insert(configuration.id.clone(), reason.clone());
                *self.summary.reasons.entry(reason.clone()).or_default() += 1;
                (Status::Skipped(reason), Executed::default())
            }
            Err(error) => {
                self.summary.failed += 1;
                let reason = error.to_string();
                *self.summary.reasons.entry(reason.clone()).or_default() += 1;
                (Status::Failed(reason), Executed::default())
            }
        }
    }

    /// Traces are named relative to the results folder, which may be moved.
    fn relative(&self, phases: &mut [Phase]) {
        for trace in phases.iter_mut().flat_map(|phase| &mut phase.devices).map(|d| &mut d.trace) {
            let inside = trace.as_ref().and_then(|path| {
                Path::new(path).strip_prefix(self.store.dir()).ok()?.to_str().map(str::to_owned)
            });
            if inside.is_some() {
                *trace = inside;
            }
        }
    }
}

fn beside() -> Flag {
    let text = "other labs were allowed to run on this machine meanwhile";
    Flag { rule: "busy-machine".to_owned(), phase: None, text: text.to_owned() }
}
