//! Mount options (`-o`).

use std::path::PathBuf;
use std::time::Duration;

use tandem_fs::{Atime, MountOptions};
use tandem_fuse::DoorOptions;

use crate::units::{parse_duration, parse_size};

/// What `-o` says, for the layers that it is for.
#[derive(Debug, Clone, Default)]
pub struct MountFlags {
    /// The data device.
    pub data: Option<PathBuf>,
    /// The file system's options.
    pub volume: MountOptions,
    /// The door's options.
    pub door: DoorOptions,
}

impl MountFlags {
    /// Parses lists of options with commas between them; later ones win. `sloppy` passes over
    /// unknown ones.
    pub fn parse<S: AsRef<str>>(lists: &[S], sloppy: bool) -> Result<MountFlags, String> {
        let mut flags = MountFlags::default();
        for option in lists.iter().flat_map(|list| split(list.as_ref())) {
            if !flags.set(&option)? && !sloppy {
                let near = nearest(&option);
                let hint = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
                return Err(format!("unknown mount option `{option}`{hint}"));
            }
        }
        Ok(flags)
    }

    /// Applies one option; false when it is not known.
    fn set(&mut self, option: &str) -> Result<bool, String> {
        let door = self.door.set(option).map_err(|e| e.to_string())?;
        let here = match option.split_once('=') {
            Some((name, value)) => {
                self.set_value(name, value).map_err(|e| format!("mount option {name}: {e}"))?
            }
            None => self.set_flag(option)?,
        };
        Ok(door || here)
    }

    fn set_value(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let volume = &mut self.volume;
        match name.replace('_', "-").as_str() {
            "data" if value.is_empty() => return Err("names no device".to_string()),
            "data" => self.data = Some(PathBuf::from(value)),
            "flush" | "commit" => volume.flush = interval(value)?,
            "checkpoint" => volume.checkpoint = interval(value)?,
            "cache" => volume.cache = cache(value)?,
            "prefetch" => volume.prefetch = number(value, 0, 4096)?,
            "affinity" => volume.affinity = number(value, 0, 100)?,
            "relocate" => volume.relocate = on_off(value)?,
            "cross-file" => volume.cross_file = on_off(value)?,
            "continuous" => volume.continuous = on_off(value)?,
            "discard" => volume.discard = on_off(value)?,
            "writeback" => self.door.writeback = on_off(value)?,
            "lowlatency" => self.door.lowlatency = Some(on_off(value)?),
            "comment" | "uhelper" | "helper" => {}
            _ => return Ok(name.starts_with("x-") || name.starts_with("X-")),
        }
        Ok(true)
    }

    fn set_flag(&mut self, option: &str) -> Result<bool, String> {
        let (volume, flags) = (&mut self.volume, &mut self.door.flags);
        match option {
            "ro" => volume.read_only = true,
            "rw" => volume.read_only = false,
            "relatime" | "norelatime" | "atime" | "nostrictatime" => {
                volume.atime = Atime::Relative;
                (flags.noatime, flags.strictatime) = (false, false);
            }
            "strictatime" => {
                volume.atime = Atime::Strict;
                (flags.noatime, flags.strictatime) = (false, true);
            }
            "noatime" => {
                volume.atime = Atime::Never;
                (flags.noatime, flags.strictatime) = (true, false);
            }
            "diratime" => flags.nodiratime = false,
            "discard" => volume.discard = true,
            "nodiscard" => volume.discard = false,
            "nowriteback" => self.door.writeback = false,
            "nolowlatency" => self.door.lowlatency = Some(false),
            // mount(8) has acted on these; they imply others, which later options may undo.
            "user" | "users" | "owner" | "group" => {
                flags.nosuid = true;
                flags.nodev = true;
                flags.noexec |= matches!(option, "user" | "users");
            }
            // These say nothing to a file system.
            "" | "defaults" | "auto" | "noauto" | "nouser" | "noowner" | "nogroup" | "_netdev"
            | "nofail" | "silent" | "loud" | "lazytime" | "nolazytime" | "nomand"
            | "noiversion" | "symfollow" => {}
            "remount" => {
                return Err("remounting is not supported; unmount, and mount with the new options"
                    .to_string());
            }
            "bind" | "rbind" | "move" => {
                return Err(format!("`{option}` is for mount(8) itself, without -t tandem"));
            }
            _ => return Ok(option.starts_with("x-") || option.starts_with("X-")),
        }
        Ok(true)
    }
}

/// Splits a list at its commas, except those within double quotes, as mount(8) does.
fn split(list: &str) -> Vec<String> {
    let mut options = vec![String::new()];
    let mut quoted = false;
    for c in list.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => options.push(String::new()),
            c => options.last_mut().into_iter().for_each(|option| option.push(c)),
        }
    }
    options
}

fn on_off(value: &str) -> Result<bool, String> {
    match value {
        "on" | "yes" | "true" | "1" => Ok(true),
        "off" | "no" | "false" | "0" => Ok(false),
        _ => Err(format!("`{value}` is not on or off")),
    }
}

fn number(value: &str, min: u32, max: u32) -> Result<u32, String> {
    match value.parse::<u32>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(format!("`{value}` is not a number from {min} to {max}")),
    }
}

fn cache(value: &str) -> Result<u64, String> {
    const LEAST: u64 = 8 << 20;
    match parse_size(value)? {
        size if size < LEAST => Err(format!("`{value}` is too little; give 8M or more")),
        size => Ok(size),
    }
}

fn interval(value: &str) -> Result<Duration, String> {
    let time = parse_duration(value)?;
    if time < Duration::from_millis(10) || time > Duration::from_secs(86_400) {
        return Err(format!("`{value}` is not between 10ms and 24h"));
    }
    Ok(time)
}

/// The known option that differs from `option` by one letter or so.
fn nearest(option: &str) -> Option<&'static str> {
    const NAMES: &[&str] = &[
        "data",
        "flush",
        "checkpoint",
        "cache",
        "prefetch",
        "relocate",
        "affinity",
        "cross-file",
        "continuous",
        "discard",
        "nodiscard",
        "relatime",
        "strictatime",
        "noatime",
        "transport",
        "threads",
        "lowlatency",
        "writeback",
        "allow_other",
        "default_permissions",
        "nosuid",
        "nodev",
        "noexec",
        "sync",
        "dirsync",
        "defaults",
        "atime",
        "noauto",
        "nofail",
    ];
    let name = option.split('=').next().unwrap_or_default();
    NAMES
        .iter()
        .copied()
        .filter(|known| distance(name, known) <= 2)
        .min_by_key(|known| distance(name, known))
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(list: &str) -> Result<MountFlags, String> {
        MountFlags::parse(&[list], false)
    }

    #[test]
    fn every_option_of_the_design() {
        let flags = parse(
            "ro,data=/dev/sda,flush=2s,checkpoint=30s,prefetch=0,relocate=off,affinity=5,\
             cross-file=on,continuous=off,strictatime,cache=1G,threads=3,allow_other,\
             default_permissions,transport=classic",
        )
        .unwrap();
        assert_eq!(flags.data, Some("/dev/sda".into()));
        let volume = flags.volume;
        assert!(volume.read_only && !volume.continuous && !volume.relocate && volume.cross_file);
        assert_eq!(volume.prefetch, 0);
        assert_eq!((volume.flush.as_secs(), volume.checkpoint.as_secs()), (2, 30));
        assert_eq!((volume.affinity, volume.cache), (5, 1 << 30));
        assert_eq!(volume.atime, Atime::Strict);
        let door = flags.door;
        assert!(door.read_only && door.allow_other && door.default_permissions);
        assert!(door.flags.strictatime && !door.flags.noatime);
        assert_eq!(door.threads, Some(3));
        assert_eq!(door.transport, tandem_fuse::TransportChoice::Classic);
    }

    #[test]
    fn what_mount_passes_is_taken() {
        let flags = parse(
            "defaults,rw,noauto,user,exec,_netdev,nofail,x-systemd.automount,comment=a,X-b=c,,",
        )
        .unwrap();
        let door = flags.door;
        assert!(door.flags.nosuid && door.flags.nodev && !door.flags.noexec && !door.read_only);
    }

    #[test]
    fn unknown_and_malformed_options_are_named() {
        let error = parse("ro,noatme").unwrap_err();
        assert!(error.contains("noatme") && error.contains("noatime"), "{error}");
        for wrong in ["cache=lots", "flush=0s", "affinity=101", "threads=0", "relocate=maybe"] {
            let error = parse(wrong).unwrap_err();
            let name = wrong.split('=').next().unwrap();
            assert!(error.contains(name), "{error}");
        }
        assert!(parse("remount,ro").is_err());
        assert!(parse("data=").is_err());
        assert!(MountFlags::parse(&["zzz"], true).is_ok());
    }

    #[test]
    fn later_options_win_and_quotes_hold_commas() {
        let flags = MountFlags::parse(&["ro,noatime", "rw", "data=\"a,b\""], false).unwrap();
        assert!(!flags.volume.read_only && !flags.door.read_only);
        assert_eq!(flags.data, Some("a,b".into()));
        assert_eq!(flags.volume.atime, Atime::Never);
    }
}
