//! Issues and completions of all CPUs brought together as requests.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use super::event::{DeviceNumber, Event, Kind, Moment, Operation};
use super::layout::Layout;
use super::pages::Page;
use super::spool::page_size;

/// A request that a device was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured {
    /// The disk.
    pub device: DeviceNumber,
    /// When it was given to the driver, in nanoseconds of the monotonic clock.
    pub issued: u64,
    /// When it had finished; `None` when the capture ended first.
    pub completed: Option<u64>,
    /// What it asked for.
    pub operation: Operation,
    /// First sector, in units of 512 B.
    pub sector: u64,
    /// Sectors of 512 B.
    pub sectors: u32,
    /// Flush before it.
    pub preflush: bool,
    /// Durable when it has finished.
    pub fua: bool,
    /// Somebody waits for it.
    pub sync: bool,
    /// Read before it is asked for.
    pub ahead: bool,
    /// Metadata, as the file system says.
    pub meta: bool,
    /// What the driver answered, as a negative errno, or 0.
    pub error: i32,
}

/// The requests of a capture in the order of their issue.
///
/// Memory is bounded by a page for each CPU and the requests that are under way at one time.
#[derive(Debug)]
pub struct Requests {
    cpus: Vec<Stream>,
    layouts: Vec<Layout>,
    window: VecDeque<Slot>,
    /// Number of the request at the front of the window.
    first: u64,
    /// Requests under way, by where they are, as numbers.
    open: HashMap<(DeviceNumber, u64), VecDeque<u64>>,
}

#[derive(Debug)]
enum Slot {
    Open(Captured),
    Done(Captured),
    /// Put back into its queue; it will be issued once more.
    Withdrawn,
}

/// Finished requests that wait behind one that has not finished. Beyond it the one at the front is
/// taken for lost.
const WINDOW: usize = 1 << 16;

impl Requests {
    pub(super) fn new(files: Vec<File>, layouts: Vec<Layout>) -> Requests {
        let cpus = files.into_iter().map(Stream::new).collect();
        Requests { cpus, layouts, window: VecDeque::new(), first: 0, open: HashMap::new() }
    }

    /// The earliest event that is left.
    fn event(&mut self) -> io::Result<Option<Event>> {
        for cpu in &mut self.cpus {
            cpu.fill(&self.layouts)?;
        }
        let next = self.cpus.iter_mut().filter(|cpu| !cpu.events.is_empty());
        let next = next.min_by_key(|cpu| cpu.events.front().map_or(u64::MAX, |e| e.time));
        Ok(next.and_then(|cpu| cpu.events.pop_front()))
    }

    fn take(&mut self, event: Event) {
        match event.moment {
            Moment::Issue => {
                let number = self.first + self.window.len() as u64;
                self.open.entry(place(&event)).or_default().push_back(number);
                self.window.push_back(Slot::Open(Captured::new(&event)));
            }
            Moment::Complete { error } => {
                if let Some(slot) = self.close(&event)
                    && let Slot::Open(request) = *slot
                {
                    *slot = Slot::Done(Captured { completed: Some(event.time), error, ..request });
                }
            }
            Moment::Requeue => {
                if let Some(slot) = self.close(&event) {
                    *slot = Slot::Withdrawn;
                }
            }
        }
    }

    /// The oldest request under way where the event is.
    fn close(&mut self, event: &Event) -> Option<&mut Slot> {
        let place = place(event);
        let numbers = self.open.get_mut(&place)?;
        let number = numbers.pop_front();
        if numbers.is_empty() {
            self.open.remove(&place);
        }
        let at = number?.checked_sub(self.first)?;
        self.window.get_mut(usize::try_from(at).ok()?)
    }

    /// The request at the front, when there is nothing more to learn of it.
    fn ready(&mut self, all: bool) -> Option<Captured> {
        loop {
            let patient = !all && self.window.len() < WINDOW;
            match self.window.front()? {
                Slot::Open(_) if patient => return None,
                Slot::Open(request) | Slot::Done(request) => {
                    let request = *request;
                    self.pop();
                    return Some(request);
                }
                Slot::Withdrawn => self.pop(),
            }
        }
    }

    fn pop(&mut self) {
        self.first += 1;
        self.window.pop_front();
    }
}

impl Iterator for Requests {
    type Item = io::Result<Captured>;

    fn next(&mut self) -> Option<io::Result<Captured>> {
        loop {
            if let Some(request) = self.ready(false) {
                return Some(Ok(request));
            }
            match self.event() {
                Ok(Some(event)) => self.take(event),
                Ok(None) => return self.ready(true).map(Ok),
                Err(e) => return Some(Err(e)),
            }
        }
    }
}

/// Where a request is. Requests without sectors (flushes) have all the same place.
fn place(event: &Event) -> (DeviceNumber, u64) {
    (event.device, if event.sectors == 0 { u64::MAX } else { event.sector })
}

impl Captured {
    fn new(event: &Event) -> Captured {
        let Kind { operation, preflush, fua, sync, ahead, meta } = event.kind;
        let (device, issued) = (event.device, event.time);
        let sector = if event.sectors == 0 { 0 } else { event.sector };
        let (completed, error, sectors) = (None, 0, event.sectors);
        Captured {
            device,
            issued,
            completed,
            operation,
            sector,
            sectors,
            preflush,
            fua,
            sync,
            ahead,
            meta,
            error,
        }
    }
}

/// One CPU's events.
#[derive(Debug)]
struct Stream {
    file: BufReader<File>,
    page: Vec<u8>,
    events: VecDeque<Event>,
    started: bool,
}

impl Stream {
    fn new(file: File) -> Stream {
        let page = vec![0; page_size()];
        Stream { file: BufReader::new(file), page, events: VecDeque::new(), started: false }
    }

    /// Reads pages until there is an event, or no more.
    fn fill(&mut self, layouts: &[Layout]) -> io::Result<()> {
        if !self.started {
            self.file.seek(SeekFrom::Start(0))?;
            self.started = true;
        }
        while self.events.is_empty() {
            match self.file.read_exact(&mut self.page) {
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                other => other?,
            }
            let records = Page::new(&self.page).into_iter().flatten();
            self.events.extend(records.filter_map(|(time, r)| Event::parse(time, r, layouts)));
        }
        Ok(())
    }
}
