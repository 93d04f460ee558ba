//! The directory of an archive, read strictly: what two tools could take differently is refused.
//!
//! 1. The end record ends the archive, and is the last thing that looks like one.
//! 2. The directory ends where the end record begins, and has as many entries as that says.
//! 3. The entries lie one after the other from the first byte up to the directory, with nothing in between, so that
//!    whoever reads an archive from its beginning finds the same files.
//! 4. What stands before each entry's data says the same as the directory.
//! 5. Names stay inside, and are different files on every system.
//!
//! Ready-made readers are made to get files out of archives that are not quite right. This one is made to refuse those.
//!
//! Rules: B2, B8.

use mcp_attune_bundle::Inside;

use super::fault::{Broken, NotOpened, Wrong};
use super::limits::{MOST_DIRECTORY, MOST_ENTRIES, MOST_OF_ONE, MOST_RATIO, MOST_UNPACKED, RATIO_FROM};
use super::names::{Clash, Taken};
use super::source::Source;

/// A file or a folder in an archive.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Inside,
    pub(super) folder: bool,
    /// Unix permissions; 0 where it has none.
    pub(super) mode: u32,
    pub(super) deflated: bool,
    pub(super) checksum: u32,
    /// How many bytes it has in the archive.
    pub(super) packed: u64,
    /// How many it has unpacked.
    pub(super) size: u64,
    /// Where its data begins.
    pub(super) data: u64,
}

/// Reads the directory of the archive that the first `length` bytes are. The entries come in the order of their names.
pub(super) fn read(source: &Source, length: u64) -> Result<Vec<Entry>, NotOpened> {
    let end = End::find(source, length)?;
    let bytes =
        source.exactly(end.directory, end.bytes).map_err(|error| NotOpened::Unreadable(error.kind()))?;
    let mut rest = Fields(&bytes);
    let mut listed = Vec::with_capacity(end.entries);
    for _ in 0..end.entries {
        listed.push(Listed::read(&mut rest).ok_or(NotOpened::Archive(Broken::Directory))?);
    }
    if !rest.0.is_empty() {
        return Err(NotOpened::Archive(Broken::Directory));
    }
    listed.sort_by_key(|it| it.at);
    if listed.first().is_some_and(|it| it.at != 0) || (listed.is_empty() && end.directory != 0) {
        return Err(NotOpened::Archive(Broken::Hidden));
    }
    if let Some(it) = listed.last().filter(|it| it.at >= end.directory) {
        return Err(it.refused(Wrong::Header));
    }
    let mut unpacked = 0_u64;
    let mut taken = Taken::default();
    let mut entries = Vec::with_capacity(listed.len());
    let mut following = listed.iter().skip(1).map(|it| it.at).chain([end.directory]);
    for it in &listed {
        let next = following.next().unwrap_or(end.directory);
        let entry = it.entry().and_then(|entry| {
            let clash = taken.add(entry.name.as_str(), entry.folder);
            clash.map_err(|clash| match clash {
                Clash::Twice => Wrong::Twice,
                Clash::FileAndFolder => Wrong::FileAndFolder,
                Clash::Twin(other) => Wrong::Twin(other),
            })?;
            Ok(entry)
        });
        let mut entry = entry.map_err(|why| it.refused(why))?;
        unpacked = unpacked.saturating_add(entry.size);
        if unpacked > MOST_UNPACKED {
            return Err(NotOpened::Archive(Broken::Unpacked));
        }
        entry.data = it.data(source, next).map_err(|why| it.refused(why))?;
        if !it.fills(next - entry.data - entry.packed) {
            return Err(NotOpened::Archive(Broken::Hidden));
        }
        entries.push(entry);
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

/// Numbers and bytes, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn two(&mut self) -> Option<u16> {
        self.bytes(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    fn four(&mut self) -> Option<u32> {
        self.bytes(4)?.try_into().ok().map(u32::from_le_bytes)
    }
}

/// What the end record says.
struct End {
    entries: usize,
    directory: u64,
    bytes: usize,
}

impl End {
    const MARK: &[u8] = b"PK\x05\x06";
    const LENGTH: usize = 22;

    fn find(source: &Source, length: u64) -> Result<Self, NotOpened> {
        // As far back as the longest comment.
        let start = length.saturating_sub((Self::LENGTH + usize::from(u16::MAX)) as u64);
        let tail = usize::try_from(length - start).unwrap_or(usize::MAX);
        let tail = source.exactly(start, tail).map_err(|error| NotOpened::Unreadable(error.kind()))?;
        let mut marks = tail.windows(Self::MARK.len()).enumerate().rev().filter(|(_, it)| *it == Self::MARK);
        let ends = |(at, _): (usize, _)| {
            let rest = tail.get(at..).unwrap_or_default();
            let comment = Fields(rest.get(20..).unwrap_or_default()).two();
            comment.is_some_and(|comment| rest.len() == Self::LENGTH + usize::from(comment)).then_some(at)
        };
        let Some(at) = marks.next().and_then(ends) else {
            let earlier = marks.find_map(ends).is_some();
            return Err(NotOpened::Archive(if earlier { Broken::TwoEnds } else { Broken::NoEnd }));
        };
        let record = Fields(tail.get(at + 4..).unwrap_or_default());
        let locator = at.checked_sub(20).and_then(|at| tail.get(at..)).unwrap_or_default();
        let read = Self::read(record, start + at as u64).map_err(|why| match why {
            Broken::Hidden if locator.starts_with(b"PK\x06\x07") => Broken::Zip64,
            why => why,
        });
        read.map_err(NotOpened::Archive)
    }

    /// Reads the record that stands at `at`, without its mark.
    fn read(mut record: Fields<'_>, at: u64) -> Result<Self, Broken> {
        let mut numbers = || {
            let (disk, of_directory, here) = (record.two()?, record.two()?, record.two()?);
            Some((disk, of_directory, here, record.two()?, record.four()?, record.four()?))
        };
        let (disk, of_directory, here, entries, bytes, directory) = numbers().ok_or(Broken::NoEnd)?;
        if entries == u16::MAX || bytes == u32::MAX || directory == u32::MAX {
            return Err(Broken::Zip64);
        }
        if (disk, of_directory) != (0, 0) || here != entries {
            return Err(Broken::Split);
        }
        if usize::from(entries) > MOST_ENTRIES {
            return Err(Broken::TooMany);
        }
        if u64::from(bytes) > MOST_DIRECTORY {
            return Err(Broken::LargeDirectory);
        }
        match (u64::from(directory) + u64::from(bytes)).cmp(&at) {
            std::cmp::Ordering::Less => Err(Broken::Hidden),
            std::cmp::Ordering::Greater => Err(Broken::Directory),
            std::cmp::Ordering::Equal => {
                Ok(Self { entries: entries.into(), directory: directory.into(), bytes: bytes as usize })
            }
        }
    }
}

/// An entry as the directory has it.
struct Listed<'a> {
    flags: u16,
    method: u16,
    checksum: u32,
    packed: u32,
    size: u32,
    disk: u16,
    /// What a Unix system knows of it, and others do not say.
    mode: u32,
    /// Where it begins in the archive.
    at: u64,
    name: &'a [u8],
    extra: &'a [u8],
}

/// Bits of an entry's flags.
mod flag {
    /// Encrypted, in one of three ways.
    pub(super) const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
    /// Its sizes stand after its data.
    pub(super) const AFTER: u16 = 1 << 3;
    /// Its name is UTF-8.
    pub(super) const UTF8: u16 = 1 << 11;
}

/// The kinds of files in a Unix mode.
mod kind {
    pub(super) const ALL: u32 = 0o170_000;
    pub(super) const FILE: u32 = 0o100_000;
    pub(super) const FOLDER: u32 = 0o040_000;
    pub(super) const LINK: u32 = 0o120_000;
}

impl<'a> Listed<'a> {
    fn read(rest: &mut Fields<'a>) -> Option<Self> {
        if rest.bytes(4)? != b"PK\x01\x02" {
            return None;
        }
        let _versions = rest.bytes(4)?;
        let (flags, method, _time) = (rest.two()?, rest.two()?, rest.four()?);
        let (checksum, packed, size) = (rest.four()?, rest.four()?, rest.four()?);
        let (name, extra, comment) = (rest.two()?, rest.two()?, rest.two()?);
        let (disk, _internal, external, at) = (rest.two()?, rest.two()?, rest.four()?, rest.four()?);
        let (name, extra) = (rest.bytes(name.into())?, rest.bytes(extra.into())?);
        let _comment = rest.bytes(comment.into())?;
        let (mode, at) = (external >> 16, at.into());
        Some(Self { flags, method, checksum, packed, size, disk, mode, at, name, extra })
    }

    fn refused(&self, why: Wrong) -> NotOpened {
        NotOpened::Entry { name: String::from_utf8_lossy(self.name).into(), why }
    }

    /// What it is, but for where its data begins.
    fn entry(&self) -> Result<Entry, Wrong> {
        let text = std::str::from_utf8(self.name).ok();
        let text =
            text.filter(|text| text.is_ascii() || self.flags & flag::UTF8 != 0).ok_or(Wrong::Encoding)?;
        let name = Inside::parse(text).map_err(Wrong::Name)?;
        if self.other_name() {
            return Err(Wrong::SecondName);
        }
        let folder = text.ends_with('/');
        match self.mode & kind::ALL {
            0 => {}
            kind::FILE if !folder => {}
            kind::FOLDER if folder => {}
            kind::FILE | kind::FOLDER => return Err(Wrong::Folder),
            kind::LINK => return Err(Wrong::Link),
            _ => return Err(Wrong::Special),
        }
        if self.flags & flag::ENCRYPTED != 0 {
            return Err(Wrong::Encrypted);
        }
        if !matches!(self.method, 0 | 8) {
            return Err(Wrong::Method(self.method));
        }
        let (packed, size) = (u64::from(self.packed), u64::from(self.size));
        if folder && size != 0 {
            return Err(Wrong::Folder);
        }
        if size > MOST_OF_ONE {
            return Err(Wrong::TooLarge);
        }
        if size > RATIO_FROM && size > packed * MOST_RATIO {
            return Err(Wrong::Ratio);
        }
        let (deflated, mode) = (self.method == 8, self.mode & 0o777);
        if !deflated && packed != size {
            return Err(Wrong::Size);
        }
        if self.disk != 0 {
            return Err(Wrong::Header);
        }
        Ok(Entry { name, folder, mode, deflated, checksum: self.checksum, packed, size, data: 0 })
    }

    /// Whether a field gives it another name, as some tools do that write no UTF-8.
    fn other_name(&self) -> bool {
        const UNICODE_PATH: u16 = 0x7075;
        let mut rest = Fields(self.extra);
        while let (Some(id), Some(length)) = (rest.two(), rest.two()) {
            let Some(field) = rest.bytes(length.into()) else { break };
            // A version and a checksum, then the name.
            if id == UNICODE_PATH && field.get(5..) != Some(self.name) {
                return true;
            }
        }
        false
    }

    /// Where its data begins; `next` is where something else does.
    fn data(&self, source: &Source, next: u64) -> Result<u64, Wrong> {
        const LENGTH: u64 = 30;
        let header = source.exactly(self.at, LENGTH as usize + self.name.len()).map_err(|_| Wrong::Header)?;
        let mut rest = Fields(&header);
        let mut numbers = || {
            let mark = rest.bytes(4)? == b"PK\x03\x04";
            let _version = rest.two()?;
            let (flags, method, _time) = (rest.two()?, rest.two()?, rest.four()?);
            let (checksum, packed, size) = (rest.four()?, rest.four()?, rest.four()?);
            let (name, extra) = (rest.two()?, rest.two()?);
            let same = mark && flags == self.flags && method == self.method;
            let after = (checksum, packed, size) == (0, 0, 0) && flags & flag::AFTER != 0;
            let sizes = after || (checksum, packed, size) == (self.checksum, self.packed, self.size);
            (same && sizes).then_some((name, extra))
        };
        let (name, extra) = numbers().ok_or(Wrong::Header)?;
        if usize::from(name) != self.name.len() || rest.0 != self.name {
            return Err(Wrong::SecondName);
        }
        let data = self.at + LENGTH + u64::from(name) + u64::from(extra);
        if data + u64::from(self.packed) > next {
            return Err(Wrong::Overlap);
        }
        Ok(data)
    }

    /// Whether so many bytes after its data belong to it.
    fn fills(&self, bytes: u64) -> bool {
        bytes == 0 || (self.flags & flag::AFTER != 0 && matches!(bytes, 12 | 16 | 20 | 24))
    }
}
