//! Random access to the bytes of an archive, in a file or in memory.

use std::fs::File;
use std::io::{self, Read};

/// The bytes of an archive.
pub(super) enum ArchiveSource {
    /// An open file, and its size when it was opened.
    File(File, u64),
    /// Bytes in memory.
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

    /// Reads as many bytes as are there and fit, from an offset on. Uses no shared file position, so that
    /// several threads can read at the same time.
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

    /// Returns a reader of the bytes from `at` up to `end`.
    pub(super) fn range(&self, at: u64, end: u64) -> ArchiveRange<'_> {
        ArchiveRange { source: self, start: at, at, end: end.max(at) }
    }

    /// Reads exactly `length` bytes at an offset. Fails if there are fewer. The caller bounds `length`.
    pub(super) fn read_exact_at(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.range(at, at.saturating_add(length as u64)).read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// A reader of a range of an archive's bytes.
pub(super) struct ArchiveRange<'a> {
    source: &'a ArchiveSource,
    start: u64,
    at: u64,
    end: u64,
}

impl ArchiveRange<'_> {
    /// Returns how many bytes were read so far.
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
