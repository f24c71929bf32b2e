use super::*;
use crate::model::disk::HardDisk;
use crate::model::seek::SeekCurve;

const SPECS: &str = include_str!("../../../data/disks/barracuda.diskspecs");
const MODEL: &str = include_str!("../../../data/disks/barracuda.model");
const SEEK: &str = include_str!("../../../data/disks/barracuda.seek");

/// Reads the Barracuda with each of (from, to) replaced in its files.
fn with(changes: &[(&str, &str)]) -> Result<Drive, SpecError> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in
        [("d.diskspecs", SPECS), ("barracuda.model", MODEL), ("barracuda.seek", SEEK)]
    {
        let changed = changes.iter().fold(text.to_string(), |t, (from, to)| t.replace(from, to));
        std::fs::write(dir.path().join(name), changed).unwrap();
    }
    read(&dir.path().join("d.diskspecs"))
}

#[test]
fn the_whole_drive() {
    let drive = with(&[]).unwrap();
    assert_eq!(drive.name, "SEAGATE_ST32171W");
    let disk = &drive.parameters;
    assert_eq!((disk.layout.surfaces, disk.layout.cylinders, disk.layout.range), (5, 5172, 6));
    assert_eq!(disk.layout.sparing, Sparing::Range);
    assert_eq!(disk.mechanics.rpm, 7200.0);
    assert_eq!((disk.cache.segments, disk.cache.segment_sectors), (3, 281));
    assert_eq!(disk.overheads.read_miss.after_read, 0.61307);
    let SeekCurve::Measured { points } = &disk.mechanics.seek else { panic!() };
    assert_eq!((points.len(), points[0]), (87, (1, 1.943)));
    assert!(drive.ignored.is_empty());
}

#[test]
fn other_seek_curves() {
    let curve =
        |text: &str| with(&[("Seek type = extracted", text)]).unwrap().parameters.mechanics.seek;
    let three = curve("Seek type = curve,\n Average seek time = 8.5");
    let expected = SeekCurve::ThreePoint { single_ms: 1.943, average_ms: 8.5, full_ms: 16.679 };
    assert_eq!(three, expected);
    let hpl = "Seek type = hplplus10,\n HPL seek equation values = [ 300, 3.8, 0.3, 7.7, 0.005, -1 ],\n \
               First ten seek times = [ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 ]";
    let SeekCurve::Hpl { cutoff, first_ms, .. } = curve(hpl) else { panic!() };
    assert_eq!((cutoff, first_ms.len()), (300, 10));
    assert!(matches!(curve("Seek type = linear"), SeekCurve::Linear { .. }));
}

#[test]
fn errors_name_file_line_and_key() {
    let error = |from: &str, to: &str| with(&[(from, to)]).unwrap_err().to_string();
    let text = error("Segment size (in blks) = 281", "Segment size (in blks) = many");
    assert!(text.contains("d.diskspecs, line 36, `Segment size (in blks)`: `many`"), "{text}");
    let text = error("Number of data surfaces = 5,", "");
    assert!(
        text.contains("barracuda.model") && text.contains("`Number of data surfaces`"),
        "{text}"
    );
    let text = error("source barracuda.model", "source gone.model");
    assert!(text.contains("gone.model"), "{text}");
    let text = error("Seek type = extracted", "Seek type = guessed");
    assert!(text.contains("`guessed` is not known"), "{text}");
    let text = error("3,	1.93300", "3,	fast");
    assert!(text.contains("barracuda.seek, line 4"), "{text}");
    assert!(
        error("} # end of SEAGATE_ST32171W spec", "").contains("end of the file")
            || error("} # end of SEAGATE_ST32171W spec", "").contains("expected")
    );
    let text = error("source barracuda.model", "source d.diskspecs");
    assert!(text.contains("without an end") || text.contains("Layout Model"), "{text}");
}

#[test]
fn what_has_no_part_is_named() {
    let drive = with(&[("Preseeking level = 0", "Preseeking level = 1")]).unwrap();
    assert_eq!(drive.ignored, ["Preseeking level = 1"]);
}

#[test]
fn a_bus_that_only_the_whole_system_has() {
    let dir = tempfile::tempdir().unwrap();
    let none =
        SPECS.replace("Bulk sector transfer time = 0.134000", "Bulk sector transfer time = 0");
    for (name, text) in
        [("d.diskspecs", &*none), ("barracuda.model", MODEL), ("barracuda.seek", SEEK)]
    {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let bus = || read(&dir.path().join("d.diskspecs")).unwrap().parameters.bus_sector_ms;
    let write_bus =
        || read(&dir.path().join("d.diskspecs")).unwrap().parameters.bus_write_sector_ms;
    // As fast as the outermost track, of 186 sectors at 7,200 rpm, and that is said.
    assert_eq!(bus(), 60_000.0 / 7200.0 / 186.0);
    let assumed = read(&dir.path().join("d.diskspecs")).unwrap().assumed;
    assert!(assumed[0].starts_with("no bus is described"), "{assumed:?}");
    let system = "disksim_bus B { Read block transfer time = 0.1455 }\nsource d.diskspecs\n\
                  instantiate [ d ] as X\ntopology disksim_iodriver a [ disksim_bus b [] ]\n";
    std::fs::write(dir.path().join("d.parv"), system).unwrap();
    assert_eq!(bus(), 0.1455);
    let whole = read(&dir.path().join("d.parv")).unwrap();
    assert_eq!((whole.name.as_str(), whole.parameters.bus_sector_ms), ("SEAGATE_ST32171W", 0.1455));
    assert_eq!(whole.parameters.bus_write_sector_ms, 0.0);
    let slower = system.replace("0.1455", "0.1455, Write block transfer time = 0.2");
    std::fs::write(dir.path().join("d.parv"), slower).unwrap();
    assert_eq!((bus(), write_bus()), (0.1455, 0.2));
}

#[test]
fn zones_beyond_the_number_of_cylinders_are_believed() {
    let drive = with(&[("Number of cylinders = 5172", "Number of cylinders = 5171")]).unwrap();
    assert_eq!(drive.parameters.layout.cylinders, 5172);
    HardDisk::new(&drive.parameters).unwrap();
}

#[test]
fn writes_that_settle_in_less_than_a_read() {
    let settle = "Add. write settling delay = ";
    let drive = with(&[(&format!("{settle}0.000000"), &format!("{settle}-0.642"))]).unwrap();
    assert_eq!(drive.parameters.mechanics.write_settle_ms, -0.642);
    HardDisk::new(&drive.parameters).unwrap();
}

#[test]
fn an_extra_disconnect_of_writes() {
    let slow = &[
        ("Fast write level = 1", "Fast write level = 0"),
        ("Extra write disconnect = 0", "Extra write disconnect = 1"),
        ("Extradisc command overhead = 0.000000", "Extradisc command overhead = 0.5"),
        ("Extradisc inter-disconnect delay = 0.000000", "Extradisc inter-disconnect delay = 0.25"),
        ("Other reselect overhead = 0.000000", "Other reselect overhead = 0.125"),
        ("Minimum seek delay = 0.000000", "Minimum seek delay = 0.6"),
    ];
    let drive = with(slow).unwrap();
    let overheads = drive.parameters.overheads;
    let extra = overheads.extra_disconnect.unwrap();
    assert_eq!((extra.command, extra.pause, extra.reselection), (0.5, 0.25, 0.125));
    assert_eq!(overheads.least_write_seek, 0.6);
    assert!(drive.ignored.is_empty());
    let fast = with(&slow[1..]).unwrap();
    assert_eq!(fast.ignored, ["Extra write disconnect = 1", "Minimum seek delay = 0.6"]);
}
