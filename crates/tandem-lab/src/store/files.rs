//! The folder's other files: `lab.json` and the environments.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::{KIND, MANIFEST, Manifest, StoreError, io_error, lock};
use crate::record::SCHEMA;

pub(super) fn new_manifest() -> Manifest {
    Manifest {
        kind: KIND.to_owned(),
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        // Within JavaScript's integers, for whoever reads the file with it.
        seed: fastrand::u64(..1 << 53),
        studies: Vec::new(),
        commands: Vec::new(),
    }
}

pub(super) fn empty(dir: &Path) -> Result<(), StoreError> {
    let mut entries = fs::read_dir(dir).map_err(io_error("read", dir))?;
    // A lab that was killed before it wrote the rest leaves these.
    let first = entries.find_map(|entry| {
        let name = entry.ok()?.file_name();
        let own = [lock::FILE, "lab.json.new"].iter().any(|own| name == *own);
        (!own).then(|| name.to_string_lossy().into_owned())
    });
    first.map_or(Ok(()), |name| {
        let why = format!("it has no {MANIFEST}, and is not empty ({name})");
        Err(StoreError::Foreign(dir.to_owned(), why))
    })
}

pub(super) fn manifest(dir: &Path) -> Result<Manifest, StoreError> {
    let path = dir.join(MANIFEST);
    let foreign = |why: String| StoreError::Foreign(dir.to_owned(), why);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(foreign(format!("there is no {MANIFEST} in it")));
        }
        text => text.map_err(io_error("read", &path))?,
    };
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| foreign(format!("{MANIFEST}: {e}")))?;
    if value["kind"] != KIND {
        return Err(foreign(format!("{MANIFEST} is not of kind {KIND:?}")));
    }
    if value["schema"] != SCHEMA {
        let why = format!("it is of shape {}, this lab reads {SCHEMA}", value["schema"]);
        return Err(foreign(why));
    }
    serde_json::from_value(value).map_err(|e| foreign(format!("{MANIFEST}: {e}")))
}

pub(super) fn environments(dir: &Path) -> Result<BTreeMap<String, serde_json::Value>, StoreError> {
    let mut found = BTreeMap::new();
    if !dir.exists() {
        return Ok(found);
    }
    for entry in fs::read_dir(dir).map_err(io_error("read", dir))? {
        let path = entry.map_err(io_error("read", dir))?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(io_error("read", &path))?;
        let value = serde_json::from_str(&text).map_err(|error| StoreError::Corrupt {
            file: path.clone(),
            line: error.line(),
            why: error.to_string(),
        })?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        found.insert(name, value);
    }
    Ok(found)
}

/// Writes a file whole or not at all.
pub(super) fn replace(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let new = path.with_extension("json.new");
    let write = || {
        let mut file = File::create(&new)?;
        let text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        path.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all())
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&new);
        io_error("write", path)(error)
    })
}
