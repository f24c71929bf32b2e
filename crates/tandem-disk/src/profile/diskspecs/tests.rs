use super::*;
use crate::model::disk::HardDisk;
use crate::model::seek::SeekCurve;
use crate::request::{Cached, Operation, Request};

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
    let SeekCurve::Measured { points, .. } = &disk.mechanics.seek else { panic!() };
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
fn writes_with_a_seek_curve_of_their_own() {
    let through = ("Fast write level = 1", "Fast write level = 0");
    let lines: Vec<String> =
        SEEK.lines().skip(1).map(|line| format!("{line}, 0.02, 9.5")).collect();
    let four = format!("Seek distances\n{}", lines.join("\n"));
    let seek = |operation, changes: &[(&str, &str)]| {
        let mut disk = HardDisk::new(&with(changes).unwrap().parameters).unwrap();
        disk.serve(0, &Request { operation, sector: 2_000_000, sectors: 8 }).seek
    };
    let [one, apart] = [vec![through], vec![through, (SEEK, &*four)]];
    assert_eq!(seek(Operation::Write, &apart), 9_500_000);
    assert_eq!(seek(Operation::Read, &apart), seek(Operation::Read, &one));
    assert_eq!(seek(Operation::Write, &one), seek(Operation::Read, &one));
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

/// Serves requests a second apart; what the cache said and the milliseconds of each.
fn served(drive: &Drive, requests: &[(Operation, u64)]) -> Vec<(Cached, f64)> {
    let mut disk = HardDisk::new(&drive.parameters).unwrap();
    let serve = |(at, &(operation, sector)): (usize, &(Operation, u64))| {
        let at = at as u64 * 1_000_000_000;
        let done = disk.serve(at, &Request { operation, sector, sectors: 8 });
        (done.cached, (done.finish - at) as f64 / 1e6)
    };
    requests.iter().enumerate().map(serve).collect()
}

#[test]
fn data_that_leave_the_memory_with_the_request() {
    const KEY: &str = "Read-ahead over requested = ";
    let requests = [1000, 1000, 1008].map(|sector| (Operation::Read, sector));
    let cached = |value: &str| {
        let ahead = ("Maximum read-ahead (blks) = 281", "Maximum read-ahead (blks) = 100");
        let drive = with(&[ahead, (&format!("{KEY}1"), &format!("{KEY}{value}"))]).unwrap();
        let segments = drive.parameters.cache.drop_requested;
        (segments, served(&drive, &requests).into_iter().map(|one| one.0).collect::<Vec<_>>())
    };
    assert_eq!(cached("0"), (false, vec![Cached::Miss, Cached::Hit, Cached::Hit]));
    // What was read ahead is there, what was asked for is not.
    assert_eq!(cached("-1"), (true, vec![Cached::Miss, Cached::Miss, Cached::Hit]));
    assert!(with(&[(&format!("{KEY}1"), &format!("{KEY}-2"))]).is_err());
}

#[test]
fn writes_that_settle_sooner_than_reads() {
    let through = ("Fast write level = 1", "Fast write level = 0");
    let time = |ms: &str| {
        let settle = format!("write settling delay = {ms}");
        let drive = with(&[through, ("write settling delay = 0.000000", &settle)]).unwrap();
        let mechanics = drive.parameters.mechanics.write_settle_ms;
        assert_eq!(mechanics, ms.parse::<f64>().unwrap());
        let mut disk = HardDisk::new(&drive.parameters).unwrap();
        let write = Request { operation: Operation::Write, sector: 2_000_000, sectors: 8 };
        disk.serve(0, &write).seek
    };
    assert_eq!(time("0.0") - time("-0.4"), 400_000);
    // A move cannot take less than no time.
    assert_eq!(time("-90"), 0);
}

#[test]
fn reads_and_writes_begin_in_their_middle_each_by_its_own_key() {
    for (read, write) in [(0, 1), (1, 0), (2, 2)] {
        let drive = with(&[
            ("Immediate buffer read = 0", &format!("Immediate buffer read = {read}")),
            ("Immediate buffer write = 0", &format!("Immediate buffer write = {write}")),
        ]);
        let cache = drive.unwrap().parameters.cache;
        assert_eq!((cache.zero_latency, cache.zero_latency_writes), (read > 0, write > 0));
    }
}

#[test]
fn a_drive_that_keeps_the_bus() {
    let costs = [
        ("First reselect overhead = 0", "First reselect overhead = 1"),
        ("Read disconnect afterread = 0", "Read disconnect afterread = 2"),
    ];
    let read = [(Operation::Read, 1000)];
    let free = with(&costs).unwrap();
    let kept =
        with(&[costs[0], costs[1], ("Never disconnect = 0", "Never disconnect = 1")]).unwrap();
    assert!(kept.ignored.is_empty(), "{:?}", kept.ignored);
    let overheads = |drive: &Drive| {
        let o = drive.parameters.overheads;
        (o.reselection, o.read_disconnect.after_read)
    };
    assert_eq!((overheads(&free), overheads(&kept)), ((1.0, 2.0), (0.0, 0.0)));
    assert!(served(&kept, &read)[0].1 <= served(&free, &read)[0].1);
}

/// A layout of runs within runs in a file of its own, as such drives have it.
#[test]
fn runs_within_runs() {
    let dir = tempfile::tempdir().unwrap();
    let text = "dm_layout_g4 {\n TP = [ 0, 99, 100, # outer\n 0, 79, 80 ],\n IDX = [\n  [ # lbn\n \
                0, 0, 0.0, 100, 1, 0.1, 300, 3, TRACK, 0, 0,\n \
                300, 2, 0.5, 100, 1, 0.1, 300, -3, TRACK, 0, 1\n ],\n \
                [ 0, 0, 0.0, 600, 3, 0.0, 1200, 6, IDX, 0, 1200, 6, 0.0, 80, 1, 0.1, 160, 2, TRACK, 1, 0 ]\n \
                ],\n Slips = [ 7, 2, \n 301, 1 ],\n Remaps = REMAPS\n}\n";
    let model = "dm_disk d { Number of data surfaces = 2, Number of cylinders = 8,\n\
                 Layout Model = source d.layout,\n Mechanical Model = dm_mech_g1 {\n\
                 Seek type = constant, Constant seek time = 5, Rotation speed (in rpms) = 7200 } }\n";
    let read_with = |text: &str| {
        std::fs::write(dir.path().join("d.layout"), text).unwrap();
        std::fs::write(dir.path().join("barracuda.model"), model).unwrap();
        std::fs::write(dir.path().join("d.diskspecs"), SPECS).unwrap();
        read(&dir.path().join("d.diskspecs"))
    };
    let drive = read_with(&text.replace("REMAPS", "[]")).unwrap();
    assert!(drive.ignored.is_empty());
    let disk = HardDisk::new(&drive.parameters).unwrap();
    assert_eq!(disk.geometry().sectors(), 1357);
    let place = disk.geometry().locate(298);
    assert_eq!((place.cylinder, place.head, place.slot, place.slots), (2, 1, 0, 100));
    assert_eq!(disk.geometry().locate(1356).cylinder, 7);
    let drive = read_with(&text.replace("REMAPS", "[ 5, 1, 0, 0, 3, 100 ]")).unwrap();
    assert_eq!(drive.ignored, ["Remaps = 1 of them"]);
    for (from, to, why) in [
        ("TRACK, 1, 0 ]", "TRACK, 1 ]", "cut short"),
        ("IDX, 0,", "ROW, 0,", "`ROW` is neither"),
        ("0, 79, 80 ]", "0, 79 ]", "3 numbers each"),
        ("dm_layout_g4", "dm_layout_g2", "dm_layout_g1 and dm_layout_g4"),
    ] {
        let error = read_with(&text.replace("REMAPS", "[]").replace(from, to)).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
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
