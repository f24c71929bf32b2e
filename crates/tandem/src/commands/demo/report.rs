//! The table at the end.

use std::time::Duration;

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};
use serde_json::{Value, json};
use tandem_device::DeviceStats;

use super::tree::Tree;
use crate::units::{bytes, grouped, seconds};

/// What the two devices did; on one device alone, all is `data`.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    /// The metadata device.
    pub meta: DeviceStats,
    /// The data device.
    pub data: DeviceStats,
}

/// One step of the work.
pub struct Phase {
    /// Its name.
    pub name: &'static str,
    /// How long it took, the unmount included.
    pub time: Duration,
    /// What it did.
    pub counts: Counts,
}

/// All that was measured.
#[derive(Default)]
pub struct Report {
    /// Whether the kernel counted, on loop devices; else Tandem itself.
    pub kernel_counts: bool,
    /// Tandem's steps.
    pub phases: Vec<Phase>,
    /// The same steps on ext4.
    pub peer: Option<Vec<Phase>>,
}

impl Report {
    /// For programs.
    pub fn json(&self) -> Value {
        let phase = |phase: &Phase| {
            json!({
                "name": phase.name,
                "seconds": phase.time.as_secs_f64(),
                "metadata": phase.counts.meta,
                "data": phase.counts.data,
            })
        };
        let ext4 = |phase: &Phase| {
            json!({
                "name": phase.name,
                "seconds": phase.time.as_secs_f64(),
                "device": phase.counts.data,
            })
        };
        json!({
            "counted_by": if self.kernel_counts { "kernel" } else { "tandem" },
            "tandem": self.phases.iter().map(phase).collect::<Vec<_>>(),
            "ext4": self.peer.as_ref().map(|phases| phases.iter().map(ext4).collect::<Vec<_>>()),
        })
    }

    /// For people.
    pub fn table(&self, tree: &Tree) -> String {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_FULL_CONDENSED);
        table.set_content_arrangement(ContentArrangement::Disabled);
        let head = ["", "device", "time", "written", "writes", "read", "reads", "flushes"];
        table.set_header(head.map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
        for (at, phase) in self.phases.iter().enumerate() {
            let time = seconds(phase.time);
            table.add_row(row(phase.name, "Tandem M", &time, &phase.counts.meta));
            table.add_row(row("", "Tandem D", "", &phase.counts.data));
            if let Some(peer) = self.peer.as_ref().and_then(|peer| peer.get(at)) {
                table.add_row(row("", "ext4", &seconds(peer.time), &peer.counts.data));
            }
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let counted = if self.kernel_counts {
            "Requests as the kernel counts them on loop devices (/sys/block/loopN/stat)."
        } else {
            "Requests as Tandem makes them (not as a disk would see them)."
        };
        format!(
            "\n{} entries, {}; every step begins unmounted and ends unmounted, time without the \
             mount.\n{table}\n{counted}\nM holds metadata, D file contents.\n",
            grouped(tree.entries),
            bytes(tree.bytes),
        )
    }
}

fn row(name: &str, device: &str, time: &str, stats: &DeviceStats) -> Vec<String> {
    vec![
        name.to_string(),
        device.to_string(),
        time.to_string(),
        bytes(stats.write_bytes),
        grouped(stats.writes),
        bytes(stats.read_bytes),
        grouped(stats.reads),
        grouped(stats.flushes),
    ]
}
