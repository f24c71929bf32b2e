//! The names under which mount(8), umount(8), fsck(8) and mkfs(8) call this program.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The name that the program was called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persona {
    /// `tandem`.
    Tandem,
    /// `mkfs.tandem`.
    Mkfs,
    /// `mount.tandem`.
    Mount,
    /// `umount.tandem`, `umount.fuse.tandem`, `umount.fuseblk.tandem`.
    Umount,
    /// `fsck.tandem`.
    Check,
}

impl Persona {
    /// Which one `argv0` is.
    pub fn of(argv0: &OsString) -> Persona {
        let name = Path::new(argv0).file_name().map(OsStrExt::as_bytes).unwrap_or_default();
        if !name.ends_with(b"tandem") {
            return Persona::Tandem;
        }
        match name.split(|&byte| byte == b'.').next() {
            Some(b"mkfs") => Persona::Mkfs,
            Some(b"mount") => Persona::Mount,
            Some(b"umount") => Persona::Umount,
            Some(b"fsck" | b"check") => Persona::Check,
            _ => Persona::Tandem,
        }
    }

    /// Turns a helper's arguments into those of `tandem`.
    pub fn translate(self, args: Vec<OsString>) -> Result<Vec<OsString>, String> {
        let mut args = args.into_iter();
        let name = args.next();
        let mut out = vec![OsString::from("tandem")];
        match self {
            Persona::Tandem => out = name.into_iter().chain(args).collect(),
            Persona::Mkfs => {
                out.push("mkfs".into());
                // mkfs(8) passes its own -v on.
                out.extend(args.filter(|arg| !matches!(arg.to_str(), Some("-v" | "-V"))));
            }
            Persona::Mount => {
                out.push("mount".into());
                mount(&mut args, &mut out)?;
            }
            Persona::Umount => {
                out.push("umount".into());
                umount(&mut args, &mut out)?;
            }
            Persona::Check => {
                out.push("check".into());
                check(&mut args, &mut out)?;
            }
        }
        Ok(out)
    }
}

fn is_help(arg: &str) -> bool {
    matches!(arg, "-h" | "--help" | "--version")
}

/// `mount.tandem META DIR [-sfnv] [-N namespace] [-o options] [-t type]`
fn mount(args: &mut impl Iterator<Item = OsString>, out: &mut Vec<OsString>) -> Result<(), String> {
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("-o" | "--options" | "--data") => {
                out.push(arg);
                out.push(args.next().ok_or("-o needs options after it")?);
            }
            Some("-t" | "-N") => drop(args.next()),
            Some("--foreground") => out.push(arg),
            Some(flags) if is_help(flags) => out.push(arg),
            Some(list) if list.starts_with("-o") || list.starts_with("--") => out.push(arg),
            Some(flags) if flags.len() > 1 && flags.starts_with('-') => {
                for flag in flags.chars().skip(1) {
                    match flag {
                        's' => out.push("--sloppy".into()),
                        'f' => out.push("--fake".into()),
                        'v' => out.push("--verbose".into()),
                        'r' => out.extend(["-o".into(), "ro".into()]),
                        'n' | 'w' => {}
                        _ => return Err(format!("unknown option -{flag}")),
                    }
                }
            }
            _ => out.push(arg),
        }
    }
    Ok(())
}

/// `umount.tandem DIR [-flnrv] [-N namespace] [-t type]`
fn umount(
    args: &mut impl Iterator<Item = OsString>,
    out: &mut Vec<OsString>,
) -> Result<(), String> {
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("-t" | "-N") => drop(args.next()),
            Some(flags) if is_help(flags) => out.push(arg),
            Some(flags) if flags.len() > 1 && flags.starts_with('-') => {
                for flag in flags.chars().skip(1) {
                    match flag {
                        'l' => out.push("--lazy".into()),
                        'f' | 'n' | 'r' | 'v' => {}
                        _ => return Err(format!("unknown option -{flag}")),
                    }
                }
            }
            _ => out.push(arg),
        }
    }
    Ok(())
}

/// `fsck.tandem [-apynfrvV] [-C fd] META`; the data device comes from --data or /etc/fstab. As with
/// others' fsck, -y repairs, -n does not, -r asks, and -a and -p are what happens at boot, for
/// which -f makes a whole check.
fn check(args: &mut impl Iterator<Item = OsString>, out: &mut Vec<OsString>) -> Result<(), String> {
    let (mut meta, mut data) = (None::<OsString>, false);
    let mut flags = String::new();
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--data") => {
                data = true;
                out.push(arg);
                out.push(args.next().ok_or("--data needs a device after it")?);
            }
            Some(list) if list.starts_with("--") || is_help(list) => {
                data |= list.starts_with("--data=");
                out.push(arg);
            }
            Some("-C" | "-t") => drop(args.next()),
            Some(list) if list.len() > 1 && list.starts_with('-') => {
                let known = |flag| "apynfrvVTMC0123456789".contains(flag);
                if let Some(flag) = list.chars().skip(1).find(|&flag| !known(flag)) {
                    return Err(format!("unknown option -{flag}"));
                }
                flags.push_str(&list[1..]);
            }
            _ => {
                meta.get_or_insert_with(|| arg.clone());
                out.push(arg);
            }
        }
    }
    let has = |wanted: &[char]| flags.contains(wanted);
    if has(&['n']) {
        if has(&['y', 'a', 'p']) {
            return Err("only one of -n, -y and -p can be meant".into());
        }
    } else if has(&['y']) {
        out.extend(["--repair".into(), "--yes".into()]);
    } else if has(&['a', 'p']) {
        out.extend((!has(&['f'])).then(|| "--preen".into()));
    } else if has(&['r']) {
        out.push("--repair".into());
    }
    if let (Some(meta), false) = (meta, data) {
        let table = std::fs::read_to_string("/etc/fstab").unwrap_or_default();
        if let Some(device) = data_in_fstab(&table, Path::new(&meta)) {
            out.extend(["--data".into(), device.into()]);
        }
    }
    Ok(())
}

/// The `data=` of the line of an fstab that mounts `meta`.
fn data_in_fstab(table: &str, meta: &Path) -> Option<String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    table.lines().filter(|line| !line.trim_start().starts_with('#')).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [device, _, "tandem" | "fuse.tandem", options, ..] = fields[..] else { return None };
        if real(Path::new(device)) != real(meta) {
            return None;
        }
        super::options::MountFlags::parse(&[options], true)
            .ok()?
            .data?
            .into_os_string()
            .into_string()
            .ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(line: &str) -> Result<String, String> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let persona = Persona::of(&args[0]);
        let out = persona.translate(args)?;
        Ok(out[1..].join(" ".as_ref()).into_string().unwrap())
    }

    #[test]
    fn names() {
        for (name, persona) in [
            ("/usr/bin/tandem", Persona::Tandem),
            ("/sbin/mount.tandem", Persona::Mount),
            ("umount.fuse.tandem", Persona::Umount),
            ("umount.fuseblk.tandem", Persona::Umount),
            ("fsck.tandem", Persona::Check),
            ("mkfs.tandem", Persona::Mkfs),
            ("mount.other", Persona::Tandem),
        ] {
            assert_eq!(Persona::of(&name.into()), persona, "{name}");
        }
    }

    #[test]
    fn as_mount_calls_it() {
        assert_eq!(
            translated("/sbin/mount.tandem m.img /mnt -sv -N 3 -o rw,data=d.img -t tandem"),
            Ok("mount m.img /mnt --sloppy --verbose -o rw,data=d.img".to_string())
        );
        assert!(translated("mount.tandem m.img /mnt -z").is_err());
        assert!(translated("mount.tandem m.img /mnt -o").is_err());
    }

    #[test]
    fn as_umount_and_fsck_call_it() {
        assert_eq!(
            translated("umount.fuse.tandem /mnt -l -t fuse.tandem"),
            Ok("umount /mnt --lazy".to_string())
        );
        assert_eq!(
            translated("fsck.tandem -a -C 0 m.img --data d.img"),
            Ok("check m.img --data d.img --preen".to_string())
        );
        for (flags, added) in
            [("-n", ""), ("-fy", " --repair --yes"), ("-r", " --repair"), ("-pf", ""), ("-T", "")]
        {
            assert_eq!(
                translated(&format!("fsck.tandem {flags} m.img --data d.img")),
                Ok(format!("check m.img --data d.img{added}"))
            );
        }
        assert!(translated("fsck.tandem -ny m.img").is_err());
        assert!(translated("fsck.tandem -q m.img").is_err());
        assert_eq!(translated("mkfs.tandem -v m.img"), Ok("mkfs m.img".to_string()));
    }

    #[test]
    fn the_data_device_is_found_in_fstab() {
        let table = "# /dev/m / tandem data=/x\n\
                     /dev/x  /y   ext4    defaults          0 1\n\
                     /dev/m  /srv tandem  nofail,data=/dev/d 0 2\n";
        assert_eq!(data_in_fstab(table, Path::new("/dev/m")), Some("/dev/d".to_string()));
        assert_eq!(data_in_fstab(table, Path::new("/dev/n")), None);
    }
}
