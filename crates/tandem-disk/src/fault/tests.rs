use std::sync::Arc;

use tandem_device::{Device, MemoryDevice};

use super::*;

fn device(text: &str) -> (FaultDevice, Arc<MemoryDevice>) {
    let inner = Arc::new(MemoryDevice::new("m", 1 << 20));
    let faults = Arc::new(Faults::new(Rule::parse_all(text).unwrap(), 1));
    (FaultDevice::new(Arc::clone(&inner) as _, faults), inner)
}

fn byte(device: &dyn Device, off: u64) -> u8 {
    let mut byte = [0];
    device.read_at(&mut byte, off).unwrap();
    byte[0]
}

fn errno(done: std::io::Result<()>) -> i32 {
    done.unwrap_err().raw_os_error().unwrap()
}

#[test]
fn errors_come_when_they_are_due() {
    let (d, _) = device("write:error,errno=ENOSPC,nth=2; read:error,at=4k+1k; flush:error,after=1");
    d.write_at(&[1], 0).unwrap();
    assert_eq!(errno(d.write_at(&[2], 0)), 28);
    d.write_at(&[3], 5000).unwrap();
    let mut two = [0; 2];
    d.read_at(&mut two, 4094).unwrap();
    assert_eq!(errno(d.read_at(&mut two, 4095)), 5);
    d.read_at(&mut two, 5120).unwrap();
    d.flush().unwrap();
    assert_eq!((errno(d.flush()), errno(d.flush())), (5, 5));
    assert_eq!(byte(&d, 0), 1);
}

#[test]
fn lies_are_told() {
    let (d, inner) = device("write:lost,nth=1; write:misdirect,by=64k,nth=2; write:short,nth=3");
    d.write_at(&[1; 512], 0).unwrap();
    assert_eq!(byte(&*inner, 0), 0);
    // The second write is the first that the second rule sees, and so on.
    d.write_at(&[2; 512], 0).unwrap();
    d.write_at(&[2; 512], 0).unwrap();
    assert_eq!((byte(&*inner, 0), byte(&*inner, 65536)), (2, 2));
    let (d, inner) = device("write:short,bytes=3");
    assert_eq!(errno(d.write_at(&[7; 512], 0)), 5);
    assert_eq!((byte(&*inner, 2), byte(&*inner, 3)), (7, 0));
    let (d, inner) = device("write:misdirect,by=4k");
    d.write_at(&[7; 512], (1 << 20) - 512).unwrap();
    assert_eq!(byte(&*inner, 4095), 7);
    assert_eq!(d.faults().happened(|rule| rule.fault == Fault::Misdirect(4096)), 1);
}

#[test]
fn bits_flip() {
    let (d, inner) = device("read:flip,bits=1,times=1");
    inner.write_at(&[0; 512], 0).unwrap();
    let mut bytes = [0; 512];
    d.read_at(&mut bytes, 0).unwrap();
    assert_eq!(bytes.iter().map(|b| b.count_ones()).sum::<u32>(), 1);
    d.read_at(&mut bytes, 0).unwrap();
    assert_eq!(bytes, [0; 512]);
}

#[test]
fn reads_are_stale() {
    let (d, _) = device("read:stale,at=0+4k");
    d.write_at(&[1; 600], 100).unwrap();
    d.write_at(&[2; 100], 600).unwrap();
    assert_eq!((byte(&d, 100), byte(&d, 600)), (0, 1));
    assert_eq!(byte(&d, 699), 1);
    let (d, _) = device("read:stale,nth=2");
    d.write_at(&[1; 10], 0).unwrap();
    assert_eq!((byte(&d, 0), byte(&d, 0), byte(&d, 0)), (1, 0, 1));
}

#[test]
fn gone_is_gone() {
    let (d, _) = device("discard:gone,nth=1");
    d.write_at(&[1], 0).unwrap();
    assert_eq!(errno(d.discard(0, 1)), 6);
    assert_eq!(errno(d.write_at(&[1], 0)), 6);
    assert_eq!(errno(d.flush()), 6);
    d.faults().set(Vec::new());
    d.flush().unwrap();
}

#[test]
fn chance_has_a_seed() {
    let run = || {
        let (d, _) = device("write:error,one-in=3; any:delay,us=0");
        (0..60).map(|_| d.write_at(&[1], 0).is_ok()).collect::<Vec<_>>()
    };
    let fails = run().iter().filter(|ok| !**ok).count();
    assert!((5..40).contains(&fails), "{fails}");
    assert_eq!(run(), run());
}

#[test]
fn what_is_wrong_is_said() {
    let wrong = |text: &str| Rule::parse_all(text).unwrap_err().to_string();
    assert!(wrong("read").contains("REQUEST:FAULT"));
    assert!(wrong("reed:error").starts_with("\"reed\" is no request"));
    assert!(wrong("read:err").starts_with("\"err\" is no fault"));
    assert!(wrong("read:lost").contains("read cannot be lost"));
    assert!(wrong("flush:short").contains("flush cannot be short"));
    assert!(wrong("read:error,bits=2").contains("\"bits\" says nothing"));
    assert!(wrong("read:error,at=1x").contains("\"1x\" is no number"));
    assert!(wrong("read:error,at=17179869184g").contains("is no number"));
    assert!(wrong("read:error,nth=0").contains("is no number"));
    assert!(wrong("read:error,errno=EVIL").contains("is no error"));
    assert_eq!(Rule::parse_all(" ; ").unwrap(), []);
    let rule = Rule::parse_all("any : delay , us = 5 , one-in=2k").unwrap();
    assert_eq!(rule[0].one_in, 2048);
}
