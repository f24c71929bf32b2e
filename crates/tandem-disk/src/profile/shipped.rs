//! The profiles that come with the program.

macro_rules! profiles {
    ($($name:literal),* $(,)?) => {
        pub(super) const NAMES: &[&str] = &[$($name),*];

        pub(super) fn text(name: &str) -> Option<&'static str> {
            match name {
                $($name => Some(include_str!(concat!("../../profiles/", $name, ".toml"))),)*
                _ => None,
            }
        }
    };
}

profiles!(
    "st34310a",
    "st3500641as",
    "wd1600jb",
    "ata80-5400",
    "st39102lw",
    "hdd20t",
    "ssd-sata",
    "ssd-nvme",
    "ram",
);
