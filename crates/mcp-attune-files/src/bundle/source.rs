//! The bytes of an archive, read wherever they are needed.

use std::fs::File;
use std::io::{self, Read};

/// A file, or bytes in memory.
pub(super) enum ArchiveSource {
    File(File, u64),
    Memory(Box<[u8]>),
}

impl ArchiveSource {
    pub(super) fn from_file(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self::File(file, bytes))
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Self::File(_, bytes) => *bytes,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Reads what fits, from a place on; several readers do not disturb each other.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            Self::File(file, _) => std::os::unix::fs::FileExt::read_at(file, into, at),
            #[cfg(windows)]
            Self::File(file, _) => std::os::windows::fs::FileExt::seek_read(file, into, at),
            Self::Memory(bytes) => {
                let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
                rest.unwrap_or_default().read(into)
            }
        }
    }

    /// The bytes from `at` to `end`, one after the other.
    pub(super) fn range(&self, at: u64, end: u64) -> ArchiveRange<'_> {
        ArchiveRange { source: self, start: at, at, end: end.max(at) }
    }

    /// So many bytes at a place; an error where they are not there.
    pub(super) fn read_exact_at(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.range(at, at.saturating_add(length as u64)).read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Some of the bytes of an archive.
pub(super) struct ArchiveRange<'a> {
    source: &'a ArchiveSource,
    start: u64,
    at: u64,
    end: u64,
}

impl ArchiveRange<'_> {
    /// How many of them were read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.at - self.start
    }
}

impl Read for ArchiveRange<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(into.len());
        let read = self.source.read_at(self.at, into.get_mut(..most).unwrap_or_default())?;
        self.at += read as u64;
        Ok(read)
    }
}
