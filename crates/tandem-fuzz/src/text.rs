//! What `tandem-disk` reads: traces in all their formats, rules of faults, profiles of drives.

use std::io::Cursor;

use tandem_disk::fault::Rule;
use tandem_disk::profile::Profile;
use tandem_disk::trace::{Origin, Records, blkparse, blktrace, disksim, fio, msr, own};

/// Reads bytes as what the first of them names.
pub fn text(input: &[u8]) {
    let Some((&which, bytes)) = input.split_first() else { return };
    let origin = Origin::new("input");
    let input = Box::new(Cursor::new(bytes.to_vec()));
    let records: Records = match which % 8 {
        0 => Box::new(own::read(input, origin)),
        1 => Box::new(disksim::read(input, origin)),
        2 => Box::new(blkparse::read(input, origin)),
        3 => Box::new(fio::read(input, origin)),
        4 => Box::new(msr::read(input, origin)),
        5 => Box::new(blktrace::read(vec![(input, origin)])),
        6 => return rules(bytes),
        _ => return profile(bytes),
    };
    let (mut read, most) = (0, 8 * bytes.len() + 16);
    for record in records {
        read += 1;
        assert!(read <= most, "more than {most} records in {} bytes", bytes.len());
        match record {
            Ok(record) => _ = (record.request(), record.finish()),
            Err(_) => break,
        }
    }
}

fn rules(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = Rule::parse_all(text);
}

fn profile(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(profile) = toml::from_str::<Profile>(text) {
        let _ = profile.drive();
    }
}
