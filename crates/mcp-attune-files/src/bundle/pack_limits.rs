//! Checks of the limits for files that are to be packed, before the slow part begins.
//!
//! Rules: B8.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use mcp_attune_bundle::BundleFileName;

use super::fault::{ArchiveEntryError, ArchiveError, BundleReadError};
use super::limits::{MAX_FILE_BYTES, MAX_RATIO, MAX_UNPACKED_BYTES, RATIO_MIN_BYTES};

/// How many bytes are compressed at a time, between two reports of progress.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// Why files cannot be packed.
#[derive(Debug)]
pub(super) enum PackLimitError {
    /// This file cannot, for this reason.
    File(Box<str>, BundleReadError),
    /// All files together exceed a bound.
    All(ArchiveError),
}

/// Checks sizes and compression ratios, and returns the size of all files together in bytes.
pub(super) fn check<'f>(
    files: impl Iterator<Item = (&'f BundleFileName, &'f Path)> + Clone,
) -> Result<u64, PackLimitError> {
    let unfit = |name: &BundleFileName, why| PackLimitError::File(name.as_str().into(), why);
    let unreadable =
        |name: &BundleFileName, error: &io::Error| unfit(name, BundleReadError::Unreadable(error.kind()));
    let mut total = 0_u64;
    for (name, path) in files.clone() {
        let bytes = fs::metadata(path).map_err(|error| unreadable(name, &error))?.len();
        if bytes > MAX_FILE_BYTES {
            return Err(unfit(name, BundleReadError::Entry(ArchiveEntryError::TooLarge)));
        }
        total = total.saturating_add(bytes);
        if total > MAX_UNPACKED_BYTES {
            return Err(PackLimitError::All(ArchiveError::Unpacked));
        }
    }
    for (name, path) in files {
        if packs_too_well(path).map_err(|error| unreadable(name, &error))? {
            return Err(unfit(name, BundleReadError::Entry(ArchiveEntryError::Ratio)));
        }
    }
    Ok(total)
}

/// Returns whether a large file exceeds the maximum compression ratio even with fast compression.
///
/// Of an ordinary file only the beginning is read: as soon as enough has come out, the rest does not matter.
/// Since the best compression may do better, the ratio is checked again when the file is packed.
fn packs_too_well(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    if size <= RATIO_MIN_BYTES {
        return Ok(false);
    }
    let mut encoder = DeflateEncoder::new(io::sink(), Compression::fast());
    let mut part = vec![0; CHUNK_BYTES];
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            break;
        }
        encoder.write_all(part.get(..read).unwrap_or_default())?;
        if encoder.total_out().saturating_mul(MAX_RATIO) >= size {
            return Ok(false);
        }
    }
    encoder.try_finish()?;
    Ok(encoder.total_out().saturating_mul(MAX_RATIO) < size)
}
