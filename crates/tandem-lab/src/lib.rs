//! The laboratory: studies of file systems, run against real ones, measured from the
//! application's, the system's and the disk's side, judged with statistics, and reported.
//!
//! A *study* is a file ([`study`]). It is planned into runs; each is a [`job`] that an agent
//! executes, in a process of its own or as the init of a User-Mode Linux guest: it makes the file
//! system, mounts it, takes the [`workload`] through its phases and measures. What was measured is a
//! [`record`]. Records are all that the statistics and the report see.

#![forbid(unsafe_code)]
#![deny(missing_docs)]
// What users, studies, programs, disks and kernels can do is an error with its reason.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::panic, clippy::unwrap_used))]

pub mod agent;
pub mod analysis;
pub mod checklist;
pub mod compare;
pub mod doctor;
pub mod environment;
pub mod guest;
pub mod job;
pub mod known;
pub mod measure;
pub mod peer;
pub mod plan;
pub mod record;
pub mod report;
pub mod run;
pub mod stage;
pub mod stats;
pub mod store;
pub mod study;
pub mod tree;
pub mod workload;
