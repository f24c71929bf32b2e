//! The studies that come with the lab.

macro_rules! studies {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../studies/", $name, ".toml")))),*]
    };
}

/// Names and texts of the studies that come with the lab, in the order of their papers.
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    studies![
        "dualfs-micro",
        "dualfs-macro",
        "journal-placement",
        "spad",
        "io-bound",
        "bonnie",
        "ablation",
    ]
}
