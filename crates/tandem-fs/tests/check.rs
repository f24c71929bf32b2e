//! `check`: sound volumes are sound, whatever is on them; and every kind of damage is found.

#[path = "check/churn.rs"]
mod churn;
#[path = "check/crash.rs"]
mod crash;
#[path = "check/damage.rs"]
mod damage;
#[path = "check/fill.rs"]
mod fill;
#[path = "check/image.rs"]
mod image;
#[path = "check/large.rs"]
mod large;
#[path = "check/repair.rs"]
mod repair;
#[path = "check/rig.rs"]
mod rig;
#[path = "check/sound.rs"]
mod sound;
#[path = "check/sweep.rs"]
mod sweep;
