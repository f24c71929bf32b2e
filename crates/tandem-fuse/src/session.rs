//! A served mount, from the handshake to its end.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::abi::InitFlags;
use crate::awake::Awake;
use crate::error::{DoorError, Result};
use crate::handshake::{self, Agreement, Offer};
use crate::mount::{self, Unmount};
use crate::options::{Checks, DoorOptions, Placement, TransportChoice};
use crate::stats::{Board, DoorStats, ThreadPlace};
use crate::transport::classic::{End, Server, clone_device};
use crate::transport::helpers::Helpers;
use crate::transport::uring::{self, Rings};
use crate::transport::{Handler, Link, cpu, prepare_thread};

/// How long the thread that only forgets come to waits for more of them.
const GATHER: Duration = Duration::from_millis(2);

/// Makes a handler once it is known what the kernel agreed to.
pub(crate) type MakeHandler<'a> = dyn FnOnce(&Agreement) -> Arc<dyn Handler> + 'a;

/// A mount being served. Dropping it without [`Session::run`] unmounts lazily.
pub struct Session {
    threads: Vec<JoinHandle<End>>,
    helpers: Helpers,
    door: Door,
    _awake: Awake,
}

/// A view of a [`Session`] that other threads may keep: its counters, and the means to end it.
#[derive(Clone)]
pub struct Door {
    dir: PathBuf,
    /// The mount's device number, as the mount table has it.
    number: String,
    board: Arc<Board>,
    transport: &'static str,
    minor: u32,
}

impl Door {
    /// Unmounts; the session ends when the kernel lets go of it.
    pub fn unmount(&self, how: Unmount) -> Result<()> {
        if !mount::is_mounted(&self.dir, &self.number) {
            return Ok(());
        }
        mount::detach(&self.dir, how)
    }

    /// Unmounts politely, or lazily when somebody uses the mount. For a signal to end by.
    pub fn stop(&self) -> Result<()> {
        match self.unmount(Unmount::Polite) {
            Err(DoorError::Busy(dir)) => {
                tracing::warn!("{} is in use; unmounting when it no longer is", dir.display());
                self.unmount(Unmount::Lazy)
            }
            other => other,
        }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the door has done so far.
    pub fn stats(&self) -> DoorStats {
        self.board.read(self.transport, self.minor)
    }
}

impl Session {
    /// Mounts on `dir`, shakes hands, and starts serving. When it returns, the mount works.
    pub(crate) fn start(
        dir: &Path,
        options: &DoorOptions,
        make: Box<MakeHandler<'_>>,
    ) -> Result<Session> {
        let checks = options.checks()?;
        let mounted = mount::attach(dir, options, checks)?;
        let dir = mounted.dir;
        Session::serve(mounted.device, &dir, options, checks, make).inspect_err(|_| {
            if let Err(e) = mount::detach(&dir, Unmount::Lazy) {
                tracing::warn!("{e}");
            }
        })
    }

    fn serve(
        device: OwnedFd,
        dir: &Path,
        options: &DoorOptions,
        checks: Checks,
        make: Box<MakeHandler<'_>>,
    ) -> Result<Session> {
        let device = Arc::new(device);
        let offer = handshake::listen(device.as_fd())?;
        let wanted = wants_uring(&offer, options)?;
        let mut agreement = offer.agree(options, checks, wanted);
        let link = Arc::new(Link {
            handler: make(&agreement),
            layout: agreement.layout(),
            payload: agreement.payload,
            board: Arc::new(Board::default()),
            helpers: Helpers::default(),
        });
        let mut crew = Crew { options, link: &link, device: &device, threads: Vec::new() };
        let rings = if wanted { crew.prepare_rings()? } else { None };
        if rings.is_none() {
            agreement.flags.remove(InitFlags::OVER_IO_URING);
        }
        offer.answer(device.as_fd(), &agreement, options)?;
        let uring = match rings {
            Some(rings) => crew.register(rings)?,
            None => false,
        };
        if !uring {
            crew.classic()?;
        }
        let number = mount::settle(dir, options);
        Ok(Session {
            threads: crew.threads,
            helpers: link.helpers.clone(),
            door: Door {
                dir: dir.to_path_buf(),
                number,
                board: Arc::clone(&link.board),
                transport: if uring { "uring" } else { "classic" },
                minor: agreement.minor,
            },
            _awake: Awake::new(options.lowlatency, &link.board),
        })
    }

    /// A view that outlives the call of [`Session::run`], for counters and for signals.
    pub fn unmounter(&self) -> Door {
        self.door.clone()
    }

    /// What the door has done so far.
    pub fn stats(&self) -> DoorStats {
        self.door.stats()
    }

    /// Serves until the mount is gone.
    pub fn run(mut self) -> Result<()> {
        let mut failed = false;
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(End::Unmounted | End::Aborted) => {}
                Ok(End::Failed) | Err(_) => failed = true,
            }
        }
        self.helpers.settle();
        if failed {
            let e = std::io::Error::other("a serving thread failed; the log has its reason");
            return Err(DoorError::system("the mount", e));
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.threads.is_empty() {
            return;
        }
        if let Err(e) = self.door.unmount(Unmount::Lazy) {
            tracing::warn!("{e}");
        }
    }
}

fn wants_uring(offer: &Offer, options: &DoorOptions) -> Result<bool> {
    match (options.transport, uring::unavailable(offer.uring())) {
        (TransportChoice::Classic, _) => Ok(false),
        (_, None) => Ok(true),
        (TransportChoice::Auto, Some(reason)) => {
            tracing::debug!("no io_uring: {reason}");
            Ok(false)
        }
        (TransportChoice::Uring, Some(reason)) => Err(DoorError::NoUring { reason }),
    }
}

/// The threads of a session that is being started.
struct Crew<'a> {
    options: &'a DoorOptions,
    link: &'a Arc<Link>,
    device: &'a Arc<OwnedFd>,
    threads: Vec<JoinHandle<End>>,
}

impl Crew<'_> {
    /// Rings, or none when this process may not have them and may do without.
    fn prepare_rings(&self) -> Result<Option<Rings>> {
        let cpus = cpu::possible().len().max(1);
        let depth = (128 / cpus).clamp(4, 16) as u16;
        let depth = self.options.queue_depth.unwrap_or(depth);
        match Rings::prepare(self.link, self.device, depth) {
            Ok(rings) => Ok(Some(rings)),
            Err(e) => self.without_rings(&e).map(|()| None),
        }
    }

    /// Hands the rings' queues to the kernel. False: it did not want them.
    fn register(&mut self, mut rings: Rings) -> Result<bool> {
        let registered = rings.register();
        self.threads.extend(rings.into_threads());
        match registered {
            Ok(()) => {
                let name = "tandem-forget".to_owned();
                let device = Arc::clone(self.device);
                let gather = Some(GATHER);
                self.spawn(Post { device, name, cpu: None, gather })?;
                Ok(true)
            }
            Err(e) => self.without_rings(&e).map(|()| false),
        }
    }

    fn without_rings(&self, e: &DoorError) -> Result<()> {
        if self.options.transport == TransportChoice::Uring {
            let reason = format!("{e}; sysctl kernel.io_uring_disabled must be 0");
            return Err(DoorError::NoUring { reason });
        }
        tracing::warn!("{e}; going on with the device file");
        Ok(())
    }

    /// Threads on the device file.
    fn classic(&mut self) -> Result<()> {
        let cpus = cpu::allowed();
        let count = self.options.threads.unwrap_or_else(|| cpus.len().clamp(1, 4));
        for i in 0..count {
            let device = match i {
                0 => Arc::clone(self.device),
                _ => self.another_device(),
            };
            let cpu = match self.options.placement {
                Placement::Free => None,
                Placement::Auto if count != cpus.len() => None,
                Placement::Auto | Placement::PerCpu => cpus.get(i % cpus.len().max(1)).copied(),
                Placement::Cpu(cpu) => Some(cpu),
            };
            let name = format!("tandem-door{i}");
            self.spawn(Post { device, name, cpu, gather: None })?;
        }
        Ok(())
    }

    /// A descriptor of one's own, or the common one for a user who may not open the device.
    fn another_device(&self) -> Arc<OwnedFd> {
        match clone_device(self.device.as_fd()) {
            Ok(device) => Arc::new(device),
            Err(e) => {
                tracing::debug!("{e}");
                Arc::clone(self.device)
            }
        }
    }

    fn spawn(&mut self, post: Post) -> Result<()> {
        let link = Arc::clone(self.link);
        let builder = std::thread::Builder::new().name(post.name.clone());
        let thread = builder.spawn(move || {
            prepare_thread();
            let Post { device, name, cpu, gather } = post;
            let cpu = cpu.filter(|&cpu| cpu::pin(cpu));
            let counters = link.board.enlist(ThreadPlace { name, cpu, queues: Vec::new() });
            Server { link, device, counters, gather }.serve()
        });
        self.threads.push(thread.map_err(|e| DoorError::system("starting a thread", e))?);
        Ok(())
    }
}

/// What a thread on the device file is to do.
struct Post {
    device: Arc<OwnedFd>,
    name: String,
    cpu: Option<u32>,
    gather: Option<Duration>,
}
