//! An opened archive: its checked directory, and the decompression of its entries.

use std::io::{self, Read};

use flate2::read::DeflateDecoder;
use mcp_attune_bundle::BundleFileName;

use super::directory::{self, ArchiveEntry};
use super::fault::{ArchiveEntryError, ArchiveError, BundleOpenError, BundleReadError};
use super::limits::MAX_ARCHIVE_BYTES;
use super::signature;
use super::source::{ArchiveRange, ArchiveSource};

/// A zip archive whose directory was read and checked.
pub(super) struct Archive {
    source: ArchiveSource,
    /// Files and folders, sorted by name, so that they can be searched.
    entries: Vec<ArchiveEntry>,
    /// The DER of the signature that follows the zip archive proper.
    signature: Option<Box<[u8]>>,
}

impl Archive {
    /// Finds the signature, and reads the directory of what is before it. No entry is decompressed yet.
    pub(super) fn open(source: ArchiveSource) -> Result<Self, BundleOpenError> {
        if source.len() > MAX_ARCHIVE_BYTES {
            return Err(BundleOpenError::Archive(ArchiveError::TooLarge));
        }
        let signed = signature::find(&source)?;
        let (length, signature) = signed.map_or((source.len(), None), |it| (it.at, Some(it.der)));
        let entries = directory::read(&source, length)?;
        Ok(Self { source, entries, signature })
    }

    /// Returns the DER of the signature.
    pub(super) fn signature(&self) -> Option<&[u8]> {
        self.signature.as_deref()
    }

    /// Returns all files and folders, sorted by name.
    pub(super) fn entries(&self) -> &[ArchiveEntry] {
        &self.entries
    }

    /// Iterates over the names of all files, sorted.
    pub(super) fn files(&self) -> impl Iterator<Item = &BundleFileName> {
        self.entries.iter().filter(|it| !it.folder).map(|it| &it.name)
    }

    /// Decompresses one file of at most `most` bytes into memory.
    pub(super) fn read(&self, name: &BundleFileName, most: u64) -> Result<Vec<u8>, BundleReadError> {
        let found = self.entries.binary_search_by(|it| it.name.cmp(name)).ok();
        let entry = found.and_then(|at| self.entries.get(at)).ok_or(BundleReadError::Missing)?;
        if entry.folder {
            return Err(BundleReadError::NoFile);
        }
        if entry.size > most {
            return Err(BundleReadError::TooLarge { most });
        }
        // What it says of its size is not trusted with more memory than a small file takes.
        let mut bytes = Vec::with_capacity(usize::try_from(entry.size.min(64 << 10)).unwrap_or_default());
        self.copy(entry, &mut bytes).map_err(|fault| match fault {
            EntryCopyError::Entry(why) => BundleReadError::Entry(why),
            EntryCopyError::Read(error) | EntryCopyError::Written(error) => {
                BundleReadError::Unreadable(error.kind())
            }
        })?;
        Ok(bytes)
    }

    /// Decompresses the data of an entry into a writer, and verifies its size and checksum.
    ///
    /// Never writes more than the size in the directory, whatever the data unpacks to, so that limits checked
    /// by the directory hold. The data has to use up exactly the packed bytes, too. After an error, the writer
    /// may have got a part of the data.
    pub(super) fn copy(&self, entry: &ArchiveEntry, into: &mut impl io::Write) -> Result<(), EntryCopyError> {
        let part = self.source.range(entry.data, entry.data + entry.packed);
        let mut from = if entry.deflated {
            ArchiveEntryReader::Deflated(DeflateDecoder::new(part))
        } else {
            ArchiveEntryReader::Stored(part)
        };
        let (mut written, mut checksum) = (0, crc32fast::Hasher::new());
        let mut buffer = [0; 16 << 10];
        loop {
            let read = match from.read(&mut buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_broken(&error) => {
                    return Err(EntryCopyError::Entry(ArchiveEntryError::Data));
                }
                Err(error) => return Err(EntryCopyError::Read(error)),
            };
            let bytes = buffer.get(..read).unwrap_or_default();
            if bytes.is_empty() {
                break;
            }
            written += bytes.len() as u64;
            if written > entry.size {
                return Err(EntryCopyError::Entry(ArchiveEntryError::Size));
            }
            checksum.update(bytes);
            into.write_all(bytes).map_err(EntryCopyError::Written)?;
        }
        if written != entry.size || from.archive_bytes_read() != entry.packed {
            return Err(EntryCopyError::Entry(ArchiveEntryError::Size));
        }
        if checksum.finalize() != entry.checksum {
            return Err(EntryCopyError::Entry(ArchiveEntryError::Data));
        }
        Ok(())
    }
}

/// Returns whether the data is to blame for an error, and not the disk.
fn is_broken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}

/// Why the data of an entry could not be copied.
pub(super) enum EntryCopyError {
    /// The data is damaged, or not of the size in the directory.
    Entry(ArchiveEntryError),
    /// Reading the archive failed.
    Read(io::Error),
    /// Writing failed.
    Written(io::Error),
}

/// A reader of an entry's unpacked data, by its compression method.
enum ArchiveEntryReader<'a> {
    Stored(ArchiveRange<'a>),
    Deflated(DeflateDecoder<ArchiveRange<'a>>),
}

impl ArchiveEntryReader<'_> {
    /// Returns how many packed bytes were used up.
    fn archive_bytes_read(&self) -> u64 {
        match self {
            Self::Stored(part) => part.bytes_read(),
            Self::Deflated(decoder) => decoder.total_in(),
        }
    }
}

impl Read for ArchiveEntryReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stored(part) => part.read(into),
            Self::Deflated(decoder) => decoder.read(into),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    #[test]
    fn no_more_is_written_than_the_directory_says() {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&[0; 1 << 20]).unwrap();
        let bytes = encoder.finish().unwrap();
        let (name, packed) = (BundleFileName::parse("a").unwrap(), bytes.len() as u64);
        let entry = ArchiveEntry {
            name,
            folder: false,
            mode: 0,
            deflated: true,
            checksum: 0,
            packed,
            size: 100_000,
            data: 0,
        };
        let archive =
            Archive { source: ArchiveSource::Memory(bytes.into()), entries: Vec::new(), signature: None };
        let mut written = Vec::new();
        assert!(matches!(
            archive.copy(&entry, &mut written),
            Err(EntryCopyError::Entry(ArchiveEntryError::Size))
        ));
        assert!(written.len() <= 100_000, "{}", written.len());
    }
}
