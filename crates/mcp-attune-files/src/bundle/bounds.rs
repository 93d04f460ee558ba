//! Whether files can be packed at all, found out before any of them is.
//!
//! Rules: B8.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use mcp_attune_bundle::Inside;

use super::fault::{Broken, Unavailable, Wrong};
use super::limits::{MOST_OF_ONE, MOST_RATIO, MOST_UNPACKED, RATIO_FROM};

/// How much of a file is read at a time.
pub(super) const PART: usize = 1 << 20;

/// Why files cannot be packed.
#[derive(Debug)]
pub(super) enum OverBound {
    /// One of them, and why.
    File(Box<str>, Unavailable),
    /// All of them together.
    All(Broken),
}

/// Says what no archive may hold; else how many bytes all files have.
pub(super) fn check<'f>(
    files: impl Iterator<Item = (&'f Inside, &'f Path)> + Clone,
) -> Result<u64, OverBound> {
    let unfit = |name: &Inside, why| OverBound::File(name.as_str().into(), why);
    let unreadable = |name: &Inside, error: &io::Error| unfit(name, Unavailable::Unreadable(error.kind()));
    let mut total = 0_u64;
    for (name, path) in files.clone() {
        let bytes = fs::metadata(path).map_err(|error| unreadable(name, &error))?.len();
        if bytes > MOST_OF_ONE {
            return Err(unfit(name, Unavailable::Entry(Wrong::TooLarge)));
        }
        total = total.saturating_add(bytes);
        if total > MOST_UNPACKED {
            return Err(OverBound::All(Broken::Unpacked));
        }
    }
    for (name, path) in files {
        if packs_too_well(path).map_err(|error| unreadable(name, &error))? {
            return Err(unfit(name, Unavailable::Entry(Wrong::Ratio)));
        }
    }
    Ok(total)
}

/// Whether a large file comes to less than is allowed even when it is packed in haste. Of an ordinary file only the
/// beginning is read: as soon as enough has come out, the rest does not matter.
fn packs_too_well(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    if size <= RATIO_FROM {
        return Ok(false);
    }
    let mut encoder = DeflateEncoder::new(io::sink(), Compression::fast());
    let mut part = vec![0; PART];
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            break;
        }
        encoder.write_all(part.get(..read).unwrap_or_default())?;
        if encoder.total_out().saturating_mul(MOST_RATIO) >= size {
            return Ok(false);
        }
    }
    encoder.try_finish()?;
    Ok(encoder.total_out().saturating_mul(MOST_RATIO) < size)
}
