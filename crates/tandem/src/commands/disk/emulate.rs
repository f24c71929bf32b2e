//! `tandem disk emulate`.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tandem_device::{Access, Device, FileDevice};
use tandem_disk::emulate::{Emulated, Options};
use tandem_disk::fault::{FaultDevice, Faults, Rule};
use tandem_disk::profile::Profile;
use tandem_disk::request::SECTOR;
use tandem_disk::trace::{self, Format};
use tandem_fuse::{Door, DoorOptions, TransportChoice};

use crate::cli::disk::{EmulateArgs, Pace};
use crate::cli::exit;
use crate::emulate::{Admission, Area, Files};
use crate::{logging, output};

/// Requests that the disk may have under way at a time.
const THREADS: usize = 40;
/// Round trips by which the way to the disk is measured.
const TRIPS: usize = 201;

/// Serves the image until the directory is unmounted.
pub fn run(args: &EmulateArgs) -> Result<u8> {
    logging::to_stderr(args.verbose);
    if args.pace() == Pace::Real && !tandem_device::real_time() {
        tracing::warn!(
            "without the right to real-time scheduling a busy machine makes the disk slower"
        );
    }
    let profile = args.profile.as_deref().map(Profile::find).transpose()?;
    let rules = args.faults.as_deref().map(Rule::parse_all).transpose();
    let rules = rules.map_err(|e| anyhow!("--faults: {e}"))?;
    let dir = args.mount.canonicalize().map_err(|e| anyhow!("{}: {e}", args.mount.display()))?;
    let image = Arc::new(open(args, profile.as_ref())?);
    let size = image.size();
    let areas = areas(size, args.split);
    let disk = Arc::new(disk(args, profile.as_ref(), rules, image.clone())?);
    let (stats, name) = (disk.clone(), profile.as_ref().map(|profile| profile.name.clone()));
    let report = Box::new(move || report(&stats, name.as_deref()));
    let admission = if queues(args) { Admission::Read } else { Admission::Served };
    let files = Files::new(disk.clone(), areas.clone(), report, admission);
    let session = tandem_fuse::mount_handler(Arc::new(files), &dir, &door(args))?;
    let door = session.unmounter();
    let signals = watch(door.clone())?;
    let server = std::thread::Builder::new().name("serve".into()).spawn(move || session.run())?;
    if args.pace() == Pace::Real {
        disk.set_lead(measure(&dir.join(Files::STATS)).unwrap_or_default());
    }
    announce(&dir, &areas, profile.as_ref(), args.pace())?;
    let served = server.join().map_err(|_| anyhow!("the server died"))?;
    signals.close();
    image.flush().with_context(|| format!("flush {}", args.image.display()))?;
    disk.finish()?;
    served?;
    Ok(exit::OK)
}

/// The image, made if there is none.
fn open(args: &EmulateArgs, profile: Option<&Profile>) -> Result<FileDevice> {
    let drive = profile.map(Profile::drive).transpose()?;
    let capacity = drive.map(|drive| drive.sectors() * SECTOR);
    let name = args.image.display();
    let fits = |size: u64| {
        if size == 0 || !size.is_multiple_of(SECTOR) {
            bail!("{name}: {size} bytes are not whole sectors of {SECTOR}");
        }
        match (profile, capacity) {
            (Some(Profile { name: drive, .. }), Some(capacity)) if capacity < size => {
                bail!("{name}: {size} bytes do not fit on {drive}, which has {capacity}")
            }
            _ => Ok(()),
        }
    };
    if !args.image.exists() {
        let Some(size) = args.size.or(capacity) else {
            bail!("{name}: does not exist; give --size to have it made");
        };
        fits(size)?;
        return Ok(FileDevice::create(&args.image, size)?);
    }
    let image = FileDevice::open(&args.image, Access::ReadWrite)?;
    let size = image.size();
    fits(size)?;
    if let Some(asked) = args.size.filter(|&asked| asked != size) {
        bail!("{name}: has {size} bytes, not {asked}; it is not resized");
    }
    Ok(image)
}

fn disk(
    args: &EmulateArgs,
    profile: Option<&Profile>,
    rules: Option<Vec<Rule>>,
    image: Arc<FileDevice>,
) -> Result<Emulated> {
    let name = image.name().to_string();
    let mut bytes: Arc<dyn Device> = image;
    if let Some(rules) = rules {
        bytes = Arc::new(FaultDevice::new(bytes, Arc::new(Faults::new(rules, args.seed))));
    }
    let drive = match args.pace() {
        Pace::Real => profile.map(Profile::drive).transpose()?,
        Pace::None => None,
    };
    let format = |path: &Path| Format::of_name(&path.to_string_lossy()).unwrap_or(Format::Tandem);
    let trace = args.trace.as_deref().map(|path| trace::create(path, format(path))).transpose()?;
    Ok(Emulated::new(name, bytes, Options { drive, trace })?)
}

/// The whole disk, or its outer part and the rest, at a boundary of 4 KiB.
fn areas(size: u64, split: Option<u8>) -> Vec<Area> {
    let area =
        |name: &str, start: u64, end: u64| Area { name: name.into(), start, len: end - start };
    match split {
        None => vec![area("disk", 0, size)],
        Some(percent) => {
            let at = (size / 100 * u64::from(percent)) & !4095;
            vec![area("disk.outer", 0, at), area("disk.inner", at, size)]
        }
    }
}

/// Whether a queue must be seen as one although nothing takes time: a trace says which requests
/// waited for which.
fn queues(args: &EmulateArgs) -> bool {
    args.pace() == Pace::None && args.trace.is_some()
}

fn door(args: &EmulateArgs) -> DoorOptions {
    DoorOptions {
        fsname: args.image.display().to_string(),
        subtype: "tandem-disk".into(),
        // A request waits in a thread of its own for the disk.
        transport: match args.pace() {
            Pace::None if !queues(args) => TransportChoice::Auto,
            _ => TransportChoice::Classic,
        },
        threads: match args.pace() {
            Pace::Real => Some(THREADS),
            Pace::None => queues(args).then_some(1),
        },
        max_background: 256,
        ..DoorOptions::default()
    }
}

/// SIGTERM, SIGINT and SIGHUP unmount; while the disk is in use it is detached, and the process
/// ends with its last user.
fn watch(door: Door) -> Result<signal_hook::iterator::Handle> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).context("take signals")?;
    let handle = signals.handle();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            if let Err(error) = door.stop() {
                tracing::error!("{}: {error}", door.dir().display());
            }
        }
    })?;
    Ok(handle)
}

/// The median time of a request that the disk has nothing to do with.
fn measure(path: &Path) -> Result<Duration> {
    let file: File = OpenOptions::new().read(true).open(path)?;
    let mut buf = [0; 512];
    let mut trips = Vec::with_capacity(TRIPS);
    for _ in 0..TRIPS {
        let start = Instant::now();
        file.read_at(&mut buf, 0)?;
        trips.push(start.elapsed());
    }
    trips.sort_unstable();
    Ok(trips[TRIPS / 2])
}

/// What those who wait for the disk are told on standard output.
fn announce(dir: &Path, areas: &[Area], profile: Option<&Profile>, time: Pace) -> Result<()> {
    let drive = match (profile, time) {
        (Some(profile), Pace::Real) => profile.name.as_str(),
        _ => "no disk's time",
    };
    for area in areas {
        let path = dir.join(&area.name);
        output::print(&format!("{}: {} bytes, {drive}\n", path.display(), area.len))?;
    }
    output::print(&format!("ready; to end: umount {}\n", dir.display()))
}

fn report(disk: &Emulated, profile: Option<&str>) -> String {
    let report = json!({ "profile": profile, "requests": disk.stats(), "drive": disk.timing() });
    format!("{report:#}\n")
}
