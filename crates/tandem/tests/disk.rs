//! `tandem disk` as it is called.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tandem-disk/data/disks").join(name)
}

fn tandem(args: &[&dyn AsRef<std::ffi::OsStr>]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tandem"));
    command.arg("disk");
    for arg in args {
        command.arg(arg);
    }
    command.output().unwrap()
}

fn json(args: &[&dyn AsRef<std::ffi::OsStr>]) -> serde_json::Value {
    let output = tandem(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn validate_prints_the_demerit() {
    let (trace, specs) = (data("cheetah9LP.trace"), data("cheetah9LP.diskspecs"));
    let found = json(&[&"validate", &trace, &"--profile", &specs, &"--json"]);
    let demerit = found["demerit"].as_f64().unwrap();
    assert!((0.0..0.03).contains(&demerit), "{demerit}");
    let text = tandem(&[&"validate", &trace, &"--profile", &"st39102lw"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("demerit 2.5"));
}

#[test]
fn converted_traces_replay_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("t.tdt.zst");
    let binary = dir.path().join("t.blktrace.0");
    let trace = data("barracuda.trace");
    assert!(tandem(&[&"convert", &trace, &own]).status.success());
    assert!(tandem(&[&"convert", &own, &binary]).status.success());
    let replay = |trace: &Path| json(&[&"replay", &trace, &"--profile", &"hdd20t", &"--json"]);
    let expected = replay(&trace);
    assert_eq!(expected["requests"], 10_000);
    assert_eq!(replay(&own), expected);
    assert_eq!(replay(&binary), expected);
}

#[test]
fn what_a_format_has_not_is_refused_or_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let (log, csv) = (dir.path().join("t.iolog"), dir.path().join("t.csv"));
    let text = "fio version 2 iolog\nf add\nf open\nf write 0 4096\nf sync 0 0\nf read 4096 4096\nf close\n";
    std::fs::write(&log, text).unwrap();
    std::fs::write(&csv, "of before").unwrap();
    let refused = tandem(&[&"convert", &log, &csv]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("--leave-out"), "{said}");
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), "of before");
    let done = tandem(&[&"convert", &log, &csv, &"--leave-out"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.contains("2 records as msr, 1 flushes"), "{said}");
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 2);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn every_request_in_a_csv() {
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("times.csv");
    let trace = data("barracuda.trace");
    assert!(tandem(&[&"replay", &trace, &"-p", &"ram", &"--csv", &csv]).status.success());
    let text = std::fs::read_to_string(&csv).unwrap();
    assert_eq!(text.lines().count(), 10_001);
    assert!(text.starts_with("request,operation,sector"));
}

#[test]
fn what_cannot_be_is_said() {
    let trace = data("cheetah9LP.trace");
    let said = |args: &[&dyn AsRef<std::ffi::OsStr>]| {
        let output = tandem(args);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = said(&[&"replay", &trace, &"--profile", &"nothing"]);
    assert!(text.contains("hdd20t"), "{text}");
    let text = said(&[&"replay", &trace, &"--profile", &"st34310a"]);
    assert!(text.contains("--scale"), "{text}");
    let text = said(&[&"convert", &trace, &"/tmp/x.unknown"]);
    assert!(text.contains("--to"), "{text}");
    let text = said(&[&"replay", &data("barracuda.seek"), &"--profile", &"ram"]);
    assert!(text.contains("no known format"), "{text}");
    let scaled = tandem(&[&"replay", &trace, &"--profile", &"st34310a", &"--scale"]);
    assert!(scaled.status.success());
}

/// A picture's width, height, and pixels as red, green, blue.
fn pixels(path: &Path) -> (u32, u32, Vec<u8>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width, info.height, pixels)
}

#[test]
fn a_map_as_pictures_text_and_figures() {
    let dir = tempfile::tempdir().unwrap();
    let trace = data("cheetah9LP.trace");
    let svg = dir.path().join("map.svg");
    assert!(tandem(&[&"map", &trace, &"--out", &svg, &"-p", &"st39102lw"]).status.success());
    let text = std::fs::read_to_string(&svg).unwrap();
    assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"), "{}", text.len());
    for label in ["6,594 reads", "3,406 writes", "random", "cylinders", "service times", "track"] {
        assert!(text.contains(label), "{label}");
    }
    let image = dir.path().join("map.png");
    let only = "addresses,throughput";
    assert!(tandem(&[&"map", &trace, &"--out", &image, &"--only", &only]).status.success());
    let (width, height, pixels) = pixels(&image);
    assert_eq!((width, height), (1000, 60 + 3 * 420));
    // Reads are drawn in the first chart, writes in the second, and neither in the other's.
    let colored = |rows: std::ops::Range<usize>, color: fn(&[u8]) -> bool| {
        let row = width as usize * 3;
        pixels[rows.start * row..rows.end * row].chunks(3).filter(|p| color(p)).count()
    };
    let blue: fn(&[u8]) -> bool = |p| p[2] > p[0].saturating_add(60);
    let red: fn(&[u8]) -> bool = |p| p[0] > p[2].saturating_add(60);
    assert!(colored(60..480, blue) > 6594 && colored(480..900, red) > 3406);
    assert_eq!((colored(60..480, red), colored(480..900, blue)), (0, 0));
    let text = tandem(&[&"map", &trace]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("writes: address, GiB against seconds") && text.contains("99.9 %"),
        "{text}"
    );
    let figures = json(&[&"map", &trace, &"--json"]);
    let classes = figures["kinds"]["reads"]["classes"].as_array().unwrap();
    let sum: u64 = classes.iter().map(|class| class["requests"].as_u64().unwrap()).sum();
    assert_eq!((classes.len(), sum), (3, 6594));
    let figures = json(&[&"map", &trace, &"--json", &"--range", &"1G-2G"]);
    let reads = &figures["span"]["ranges"][0];
    assert!(reads[0].as_u64().unwrap() >= 1 << 30 && reads[1].as_u64().unwrap() <= 2 << 30);
}

#[test]
fn a_map_that_cannot_be_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let trace = data("cheetah9LP.trace");
    let said = |args: &[&dyn AsRef<std::ffi::OsStr>]| {
        let output = tandem(args);
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said(&[&"map", &trace, &"--out", &"map.jpg"]).contains(".png"));
    assert!(said(&[&"map", &trace, &"-p", &"ssd-nvme"]).contains("--track"));
    assert!(said(&[&"map", &trace, &"-p", &"st34310a"]).contains("st34310a"));
    assert!(said(&[&"map", &trace, &"--device", &"8:0"]).contains("no requests"));
    let untimed = dir.path().join("t.iolog");
    assert!(tandem(&[&"convert", &trace, &untimed]).status.success());
    let svg = dir.path().join("map.svg");
    let only = "services";
    assert!(said(&[&"map", &untimed, &"--out", &svg, &"--only", &only]).contains("nothing"));
    assert!(!svg.exists());
}
