//! Strict reading of a zip archive's central directory: what two tools could understand differently is refused.
//!
//! 1. The end record ends the archive, and is the last thing that looks like one.
//! 2. The directory ends where the end record begins, and has as many entries as that says.
//! 3. The entries lie one after the other from the first byte up to the directory, with nothing in between, so
//!    that whoever reads an archive from its beginning finds the same files.
//! 4. The local header before each entry's data says the same as the directory.
//! 5. Names stay in the bundle, and are different files on every system.
//!
//! Zip libraries are made to get files out of archives that are not quite right. This reader is made to refuse
//! those, because the tool that checks a bundle and the host that installs it have to see the same files.
//!
//! Rules: B2, B8.

use mcp_attune_bundle::BundleFileName;

use super::fault::{ArchiveEntryError, ArchiveError, BundleOpenError};
use super::limits::{
    MAX_DIRECTORY_BYTES, MAX_ENTRIES, MAX_FILE_BYTES, MAX_RATIO, MAX_UNPACKED_BYTES, RATIO_MIN_BYTES,
};
use super::name_clashes::{FileNameClash, TakenFileNames};
use super::source::ArchiveSource;

/// A file or a folder in an archive, as the directory describes it.
#[derive(Debug)]
pub(super) struct ArchiveEntry {
    pub(super) name: BundleFileName,
    pub(super) folder: bool,
    /// Unix permission bits (`0o777` at most); 0 if the archive has none.
    pub(super) mode: u32,
    /// Whether the data is compressed with deflate, and not stored as it is.
    pub(super) deflated: bool,
    /// CRC-32 of the unpacked data.
    pub(super) checksum: u32,
    /// Size in the archive in bytes.
    pub(super) packed: u64,
    /// Unpacked size in bytes.
    pub(super) size: u64,
    /// Offset of the data in the archive.
    pub(super) data: u64,
}

/// Reads and checks the directory of the archive that the first `length` bytes are. Returns the entries sorted
/// by name.
///
/// Sizes are checked as the directory and the headers state them; the data itself is verified when it is
/// decompressed.
pub(super) fn read(source: &ArchiveSource, length: u64) -> Result<Vec<ArchiveEntry>, BundleOpenError> {
    let end = ZipEndRecord::find(source, length)?;
    let bytes = source
        .read_exact_at(end.directory, end.bytes)
        .map_err(|error| BundleOpenError::Unreadable(error.kind()))?;
    let mut rest = ZipRecordReader(&bytes);
    let mut listed = Vec::with_capacity(end.entries);
    for _ in 0..end.entries {
        listed.push(
            ZipDirectoryEntry::read(&mut rest).ok_or(BundleOpenError::Archive(ArchiveError::Directory))?,
        );
    }
    if !rest.0.is_empty() {
        return Err(BundleOpenError::Archive(ArchiveError::Directory));
    }
    listed.sort_by_key(|it| it.at);
    if listed.first().is_some_and(|it| it.at != 0) || (listed.is_empty() && end.directory != 0) {
        return Err(BundleOpenError::Archive(ArchiveError::Hidden));
    }
    if let Some(it) = listed.last().filter(|it| it.at >= end.directory) {
        return Err(it.entry_error(ArchiveEntryError::Header));
    }
    let mut unpacked = 0_u64;
    let mut taken = TakenFileNames::default();
    let mut entries = Vec::with_capacity(listed.len());
    let mut following = listed.iter().skip(1).map(|it| it.at).chain([end.directory]);
    for it in &listed {
        let next = following.next().unwrap_or(end.directory);
        let entry = it.to_entry().and_then(|entry| {
            let clash = taken.add(entry.name.as_str(), entry.folder);
            clash.map_err(|clash| match clash {
                FileNameClash::Twice => ArchiveEntryError::Twice,
                FileNameClash::FileAndFolder => ArchiveEntryError::FileAndFolder,
                FileNameClash::Twin(other) => ArchiveEntryError::Twin(other),
            })?;
            Ok(entry)
        });
        let mut entry = entry.map_err(|why| it.entry_error(why))?;
        unpacked = unpacked.saturating_add(entry.size);
        if unpacked > MAX_UNPACKED_BYTES {
            return Err(BundleOpenError::Archive(ArchiveError::Unpacked));
        }
        entry.data = it.payload_offset(source, next).map_err(|why| it.entry_error(why))?;
        if !it.owns_trailing_bytes(next - entry.data - entry.packed) {
            return Err(BundleOpenError::Archive(ArchiveError::Hidden));
        }
        entries.push(entry);
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

/// A cursor over little-endian numbers and bytes. Every read returns `None` at the end.
struct ZipRecordReader<'a>(&'a [u8]);

impl<'a> ZipRecordReader<'a> {
    fn read_bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn read_u16(&mut self) -> Option<u16> {
        self.read_bytes(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    fn read_u32(&mut self) -> Option<u32> {
        self.read_bytes(4)?.try_into().ok().map(u32::from_le_bytes)
    }
}

/// What the end record says of the directory.
struct ZipEndRecord {
    entries: usize,
    /// Offset of the directory in the archive.
    directory: u64,
    /// Size of the directory.
    bytes: usize,
}

impl ZipEndRecord {
    /// The signature of an end record.
    const MARK: &[u8] = b"PK\x05\x06";
    /// The size of an end record without its comment.
    const LENGTH: usize = 22;

    /// Finds the end record: the last signature in the reach of the longest comment, if its comment ends where
    /// the archive does.
    ///
    /// If only an earlier one does, the archive has two ends and tools would choose differently, so it is
    /// refused.
    fn find(source: &ArchiveSource, length: u64) -> Result<Self, BundleOpenError> {
        // As far back as the longest comment.
        let start = length.saturating_sub((Self::LENGTH + usize::from(u16::MAX)) as u64);
        let tail = usize::try_from(length - start).unwrap_or(usize::MAX);
        let tail =
            source.read_exact_at(start, tail).map_err(|error| BundleOpenError::Unreadable(error.kind()))?;
        let mut marks = tail.windows(Self::MARK.len()).enumerate().rev().filter(|(_, it)| *it == Self::MARK);
        let ends = |(at, _): (usize, _)| {
            let rest = tail.get(at..).unwrap_or_default();
            let comment = ZipRecordReader(rest.get(20..).unwrap_or_default()).read_u16();
            comment.is_some_and(|comment| rest.len() == Self::LENGTH + usize::from(comment)).then_some(at)
        };
        let Some(at) = marks.next().and_then(ends) else {
            let earlier = marks.find_map(ends).is_some();
            return Err(BundleOpenError::Archive(if earlier {
                ArchiveError::TwoEnds
            } else {
                ArchiveError::NoEnd
            }));
        };
        let record = ZipRecordReader(tail.get(at + 4..).unwrap_or_default());
        let locator = at.checked_sub(20).and_then(|at| tail.get(at..)).unwrap_or_default();
        let read = Self::read(record, start + at as u64).map_err(|why| match why {
            ArchiveError::Hidden if locator.starts_with(b"PK\x06\x07") => ArchiveError::Zip64,
            why => why,
        });
        read.map_err(BundleOpenError::Archive)
    }

    /// Parses the record at offset `at`, after its signature, and checks that the directory ends right there.
    fn read(mut record: ZipRecordReader<'_>, at: u64) -> Result<Self, ArchiveError> {
        let mut numbers = || {
            let (disk, of_directory, here) = (record.read_u16()?, record.read_u16()?, record.read_u16()?);
            Some((disk, of_directory, here, record.read_u16()?, record.read_u32()?, record.read_u32()?))
        };
        let (disk, of_directory, here, entries, bytes, directory) = numbers().ok_or(ArchiveError::NoEnd)?;
        if entries == u16::MAX || bytes == u32::MAX || directory == u32::MAX {
            return Err(ArchiveError::Zip64);
        }
        if (disk, of_directory) != (0, 0) || here != entries {
            return Err(ArchiveError::Split);
        }
        if usize::from(entries) > MAX_ENTRIES {
            return Err(ArchiveError::TooMany);
        }
        if u64::from(bytes) > MAX_DIRECTORY_BYTES {
            return Err(ArchiveError::LargeDirectory);
        }
        match (u64::from(directory) + u64::from(bytes)).cmp(&at) {
            std::cmp::Ordering::Less => Err(ArchiveError::Hidden),
            std::cmp::Ordering::Greater => Err(ArchiveError::Directory),
            std::cmp::Ordering::Equal => {
                Ok(Self { entries: entries.into(), directory: directory.into(), bytes: bytes as usize })
            }
        }
    }
}

/// A record of the directory.
struct ZipDirectoryEntry<'a> {
    flags: u16,
    method: u16,
    checksum: u32,
    packed: u32,
    size: u32,
    disk: u16,
    /// The Unix mode, with the kind of file in its upper bits; usually 0 if the archive was not made on Unix.
    mode: u32,
    /// Offset of the local header.
    at: u64,
    name: &'a [u8],
    /// Extra fields, which may contain a second name.
    extra: &'a [u8],
}

/// Bits of the general purpose flags of an entry.
mod flag {
    /// The entry is encrypted, in one of three ways.
    pub(super) const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
    /// Sizes and checksum follow the data, in a data descriptor.
    pub(super) const AFTER: u16 = 1 << 3;
    /// The name is UTF-8.
    pub(super) const UTF8: u16 = 1 << 11;
}

/// Kinds of files in the upper bits of a Unix mode.
mod kind {
    pub(super) const ALL: u32 = 0o170_000;
    pub(super) const FILE: u32 = 0o100_000;
    pub(super) const FOLDER: u32 = 0o040_000;
    pub(super) const LINK: u32 = 0o120_000;
}

impl<'a> ZipDirectoryEntry<'a> {
    /// Parses the next record. Returns `None` if its signature is wrong or it is cut off.
    fn read(rest: &mut ZipRecordReader<'a>) -> Option<Self> {
        if rest.read_bytes(4)? != b"PK\x01\x02" {
            return None;
        }
        let _versions = rest.read_bytes(4)?;
        let (flags, method, _time) = (rest.read_u16()?, rest.read_u16()?, rest.read_u32()?);
        let (checksum, packed, size) = (rest.read_u32()?, rest.read_u32()?, rest.read_u32()?);
        let (name, extra, comment) = (rest.read_u16()?, rest.read_u16()?, rest.read_u16()?);
        let (disk, _internal, external, at) =
            (rest.read_u16()?, rest.read_u16()?, rest.read_u32()?, rest.read_u32()?);
        let (name, extra) = (rest.read_bytes(name.into())?, rest.read_bytes(extra.into())?);
        let _comment = rest.read_bytes(comment.into())?;
        let (mode, at) = (external >> 16, at.into());
        Some(Self { flags, method, checksum, packed, size, disk, mode, at, name, extra })
    }

    /// Returns an error that names this entry.
    fn entry_error(&self, why: ArchiveEntryError) -> BundleOpenError {
        BundleOpenError::Entry { name: String::from_utf8_lossy(self.name).into(), why }
    }

    /// Checks everything that the directory says of the entry. The offset of its data is still missing then.
    fn to_entry(&self) -> Result<ArchiveEntry, ArchiveEntryError> {
        let text = std::str::from_utf8(self.name).ok();
        let text = text
            .filter(|text| text.is_ascii() || self.flags & flag::UTF8 != 0)
            .ok_or(ArchiveEntryError::Encoding)?;
        let name = BundleFileName::parse(text).map_err(ArchiveEntryError::Name)?;
        if self.has_other_name() {
            return Err(ArchiveEntryError::SecondName);
        }
        let folder = text.ends_with('/');
        match self.mode & kind::ALL {
            0 => {}
            kind::FILE if !folder => {}
            kind::FOLDER if folder => {}
            kind::FILE | kind::FOLDER => return Err(ArchiveEntryError::Folder),
            kind::LINK => return Err(ArchiveEntryError::Link),
            _ => return Err(ArchiveEntryError::Special),
        }
        if self.flags & flag::ENCRYPTED != 0 {
            return Err(ArchiveEntryError::Encrypted);
        }
        if !matches!(self.method, 0 | 8) {
            return Err(ArchiveEntryError::Method(self.method));
        }
        let (packed, size) = (u64::from(self.packed), u64::from(self.size));
        if folder && size != 0 {
            return Err(ArchiveEntryError::Folder);
        }
        if size > MAX_FILE_BYTES {
            return Err(ArchiveEntryError::TooLarge);
        }
        if size > RATIO_MIN_BYTES && size > packed * MAX_RATIO {
            return Err(ArchiveEntryError::Ratio);
        }
        let (deflated, mode) = (self.method == 8, self.mode & 0o777);
        if !deflated && packed != size {
            return Err(ArchiveEntryError::Size);
        }
        if self.disk != 0 {
            return Err(ArchiveEntryError::Header);
        }
        Ok(ArchiveEntry { name, folder, mode, deflated, checksum: self.checksum, packed, size, data: 0 })
    }

    /// Returns whether a Unicode Path field gives the entry another name, which some tools would use.
    fn has_other_name(&self) -> bool {
        const UNICODE_PATH: u16 = 0x7075;
        let mut rest = ZipRecordReader(self.extra);
        while let (Some(id), Some(length)) = (rest.read_u16(), rest.read_u16()) {
            let Some(field) = rest.read_bytes(length.into()) else { break };
            // A version and a checksum, then the name.
            if id == UNICODE_PATH && field.get(5..) != Some(self.name) {
                return true;
            }
        }
        false
    }

    /// Compares the local header with the directory, and returns the offset of the data. The data has to end
    /// before `next`, where the next entry or the directory begins.
    fn payload_offset(&self, source: &ArchiveSource, next: u64) -> Result<u64, ArchiveEntryError> {
        const LENGTH: u64 = 30;
        let header = source
            .read_exact_at(self.at, LENGTH as usize + self.name.len())
            .map_err(|_| ArchiveEntryError::Header)?;
        let mut rest = ZipRecordReader(&header);
        let mut numbers = || {
            let mark = rest.read_bytes(4)? == b"PK\x03\x04";
            let _version = rest.read_u16()?;
            let (flags, method, _time) = (rest.read_u16()?, rest.read_u16()?, rest.read_u32()?);
            let (checksum, packed, size) = (rest.read_u32()?, rest.read_u32()?, rest.read_u32()?);
            let (name, extra) = (rest.read_u16()?, rest.read_u16()?);
            let same = mark && flags == self.flags && method == self.method;
            let after = (checksum, packed, size) == (0, 0, 0) && flags & flag::AFTER != 0;
            let sizes = after || (checksum, packed, size) == (self.checksum, self.packed, self.size);
            (same && sizes).then_some((name, extra))
        };
        let (name, extra) = numbers().ok_or(ArchiveEntryError::Header)?;
        if usize::from(name) != self.name.len() || rest.0 != self.name {
            return Err(ArchiveEntryError::SecondName);
        }
        let data = self.at + LENGTH + u64::from(name) + u64::from(extra);
        if data + u64::from(self.packed) > next {
            return Err(ArchiveEntryError::Overlap);
        }
        Ok(data)
    }

    /// Returns whether so many bytes between the data and whatever comes next can be the entry's data
    /// descriptor. Its contents are not looked at.
    fn owns_trailing_bytes(&self, bytes: u64) -> bool {
        bytes == 0 || (self.flags & flag::AFTER != 0 && matches!(bytes, 12 | 16 | 20 | 24))
    }
}
