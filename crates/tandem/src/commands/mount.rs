//! `tandem mount`.

mod background;
mod scrubber;
mod serve;
mod signals;

use anyhow::{Result, anyhow, bail};

use crate::cli::options::MountFlags;
use crate::cli::{MountArgs, exit};
use crate::logging;

/// Mounts a volume: in the background unless told otherwise.
pub fn run(args: &MountArgs) -> Result<u8> {
    let mut flags = MountFlags::parse(&args.options, args.sloppy).map_err(|e| anyhow!(e))?;
    match (&args.data, &flags.data) {
        (Some(a), Some(b)) if a != b => {
            bail!("--data {} and -o data={} contradict each other", a.display(), b.display())
        }
        (Some(data), _) => flags.data = Some(data.clone()),
        (None, _) => {}
    }
    let dir = args.dir.canonicalize().map_err(|e| anyhow!("{}: {e}", args.dir.display()))?;
    if !dir.is_dir() {
        bail!("{}: not a directory; a volume is mounted on one", dir.display());
    }
    if args.fake {
        return Ok(exit::OK);
    }
    if args.background_child {
        background::child(args, flags, &dir)
    } else if args.foreground {
        logging::to_stderr(args.verbose);
        serve::serve(args, flags, &dir, || Ok(()))
    } else {
        background::parent(args)
    }
}
