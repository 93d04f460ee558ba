//! What can be wrong with a bundle on disk, where, and what to do.

use std::fmt;
use std::io;

use mcp_attune_bundle::{BundleFileNameError, ManifestError};

use super::limits::{
    MAX_ARCHIVE_BYTES, MAX_DIRECTORY_BYTES, MAX_ENTRIES, MAX_FILE_BYTES, MAX_RATIO, MAX_UNPACKED_BYTES,
    RATIO_MIN_BYTES,
};

/// Why a bundle cannot be opened.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BundleOpenError {
    /// The system does not give it.
    Unreadable(io::ErrorKind),
    /// It is neither a folder nor a file.
    Special,
    /// There is no `manifest.json` at its top.
    NoManifest {
        /// The folder in it that has one.
        elsewhere: Option<Box<str>>,
    },
    /// There is a `manifest.json`, and it cannot be had.
    Unavailable(BundleReadError),
    /// The manifest is none.
    Manifest {
        /// Why not.
        why: ManifestError,
        /// The file, for whoever shows where; empty where it is too large.
        file: Box<[u8]>,
    },
    /// The archive as a whole is not as it should be.
    Archive(ArchiveError),
    /// One of its entries is not.
    Entry {
        /// Its name, as the archive has it.
        name: Box<str>,
        /// What is wrong with it.
        why: ArchiveEntryError,
    },
}

/// Why an archive cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ArchiveError {
    /// No zip archive, or one that is cut off.
    NoEnd,
    /// It ends as signed bundles do, and no signature fits.
    Signature,
    /// Two places that could be its end.
    TwoEnds,
    /// More than [`MAX_ARCHIVE_BYTES`].
    TooLarge,
    /// More than [`MAX_ENTRIES`].
    TooMany,
    /// A directory of more than [`MAX_DIRECTORY_BYTES`] bytes.
    LargeDirectory,
    /// In the form for archives that are larger than any that is read here.
    Zip64,
    /// One of several parts.
    Split,
    /// Its directory is not where it says, or is cut off, or has more or fewer entries than it says.
    Directory,
    /// Bytes that belong to no entry: before the first, or between two.
    Hidden,
    /// More than [`MAX_UNPACKED_BYTES`] bytes, all files together.
    Unpacked,
}

/// What is wrong with one entry of an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ArchiveEntryError {
    /// Its name leads elsewhere, or cannot be used everywhere.
    Name(BundleFileNameError),
    /// Its name is no UTF-8, or does not say that it is.
    Encoding,
    /// It has a second name that differs, before its data or in a field of its own.
    SecondName,
    /// The same name twice.
    Twice,
    /// The name differs from this one only in case or in how letters are put together.
    Twin(Box<str>),
    /// Another entry has this name as its folder.
    FileAndFolder,
    /// A link.
    Link,
    /// A device, a pipe or the like.
    Special,
    /// A folder with data, or a folder by its mode and not by its name.
    Folder,
    /// Encrypted.
    Encrypted,
    /// Packed with another method than those that bundles are packed with.
    Method(u16),
    /// More than [`MAX_FILE_BYTES`] bytes.
    TooLarge,
    /// More than [`MAX_RATIO`] times as large as packed.
    Ratio,
    /// It is where another entry is, or where the directory is.
    Overlap,
    /// What stands before its data is not what the directory says.
    Header,
    /// It has more or fewer bytes than the directory says, or is cut off.
    Size,
    /// Its data is not what was packed.
    Data,
}

/// Why a file of a bundle cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BundleReadError {
    /// It is not there.
    Missing,
    /// It is a folder, a device or the like.
    NoFile,
    /// It is a link that leads out of the bundle.
    Outside,
    /// It has more bytes than were asked for.
    TooLarge {
        /// So many were.
        most: u64,
    },
    /// The system does not give it.
    Unreadable(io::ErrorKind),
    /// It is an entry that is not as it should be.
    Entry(ArchiveEntryError),
}

/// A name that a stranger gave, safe to show: escaped and shortened.
pub(super) struct EscapedFileName<'a>(pub(super) &'a str);

impl fmt::Display for EscapedFileName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN_CHARS: usize = 80;
        let short: String = self.0.chars().take(MAX_SHOWN_CHARS).collect();
        let more = if short.len() < self.0.len() { "…" } else { "" };
        write!(f, "{short:?}{more}")
    }
}

fn mib(bytes: u64) -> u64 {
    bytes >> 20
}

impl fmt::Display for BundleOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(io::ErrorKind::NotFound) => f.write_str("is not there"),
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Self::Special => f.write_str("is neither a folder nor a file"),
            Self::NoManifest { .. } => f.write_str("has no manifest.json at its top"),
            Self::Unavailable(why) => write!(f, "its manifest.json {why}"),
            Self::Manifest { why, .. } => write!(f, "its manifest.json is no manifest: {why}"),
            Self::Archive(why) => why.fmt(f),
            Self::Entry { name, why } => write!(f, "its entry {} {why}", EscapedFileName(name)),
        }
    }
}

impl BundleOpenError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable(io::ErrorKind::NotFound) => {
                "name the folder of a bundle, or a .mcpb file".into()
            }
            Self::Unreadable(_) => "see who may read it".into(),
            Self::Special => "name a bundle's folder, or a .mcpb file".into(),
            Self::NoManifest { elsewhere: Some(folder) } => {
                format!(
                    "there is one in {}: pack what is in that folder, not the folder",
                    EscapedFileName(folder)
                )
            }
            Self::NoManifest { elsewhere: None } => {
                "name the folder that manifest.json is in, or an archive of what is in that folder".into()
            }
            Self::Unavailable(why) => why.hint(),
            Self::Manifest { .. } => "make it one JSON object".into(),
            Self::Archive(why) => why.hint().into(),
            Self::Entry { why, .. } => why.hint(),
        }
    }
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEnd => f.write_str("is no zip archive, or is cut off"),
            Self::Signature => f.write_str("ends as signed bundles do, but not with a signature that fits"),
            Self::TwoEnds => f.write_str("has two ends, and readers would differ about its entries"),
            Self::TooLarge => write!(f, "is larger than {} MiB", mib(MAX_ARCHIVE_BYTES)),
            Self::TooMany => write!(f, "has more than {MAX_ENTRIES} entries"),
            Self::LargeDirectory => {
                write!(f, "has a directory of more than {} MiB", mib(MAX_DIRECTORY_BYTES))
            }
            Self::Zip64 => f.write_str("is a zip64 archive, which no bundle needs to be"),
            Self::Split => f.write_str("is one part of several"),
            Self::Directory => f.write_str("has a directory that is broken"),
            Self::Hidden => f.write_str("has bytes that belong to none of its entries"),
            Self::Unpacked => write!(f, "would unpack to more than {} MiB", mib(MAX_UNPACKED_BYTES)),
        }
    }
}

impl ArchiveError {
    /// What to do about it.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::NoEnd | Self::Signature | Self::Directory => "get it again, or pack it again",
            Self::TwoEnds | Self::Hidden => {
                "pack it again from its folder; nothing may stand before the archive or between its entries"
            }
            Self::TooLarge | Self::Unpacked | Self::TooMany | Self::LargeDirectory => {
                "leave out what the server does not need to run; .mcpbignore names it"
            }
            Self::Zip64 => "pack it again, with fewer than 65,535 files and 4 GiB",
            Self::Split => "put the parts together, or pack it again as one",
        }
    }
}

impl fmt::Display for ArchiveEntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(why) => why.fmt(f),
            Self::Encoding => f.write_str("has a name that is not marked as UTF-8, or is none"),
            Self::SecondName => f.write_str("has another name where it is packed than in the directory"),
            Self::Twice => f.write_str("is there twice"),
            Self::Twin(other) => {
                write!(f, "is {} in other letters, the same file on many systems", EscapedFileName(other))
            }
            Self::FileAndFolder => f.write_str("is a file and a folder"),
            Self::Link => f.write_str("is a link"),
            Self::Special => f.write_str("is no file, but a device or the like"),
            Self::Folder => f.write_str("is a folder by half: by its name, its mode or its size only"),
            Self::Encrypted => f.write_str("is encrypted"),
            Self::Method(number) => write!(f, "is packed by method {number}"),
            Self::TooLarge => write!(f, "is larger than {} MiB", mib(MAX_FILE_BYTES)),
            Self::Ratio => {
                write!(
                    f,
                    "is more than {MAX_RATIO} times as large as packed, and over {} MiB",
                    mib(RATIO_MIN_BYTES)
                )
            }
            Self::Overlap => f.write_str("is packed where something else is"),
            Self::Header => f.write_str("is not where the directory says, or not as it says"),
            Self::Size => f.write_str("has another size than the directory says"),
            Self::Data => f.write_str("is damaged"),
        }
    }
}

impl ArchiveEntryError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Name(why) => why.hint(),
            Self::Encoding => "pack it again with a tool that writes names in UTF-8",
            Self::SecondName | Self::Overlap | Self::Header | Self::Size => {
                "do not use it: tools would differ about what is in it; pack it again from its folder"
            }
            Self::Twice | Self::Twin(_) | Self::FileAndFolder => "rename one of them",
            Self::Link => "put the file there in place of the link",
            Self::Special | Self::Folder => "pack files only",
            Self::Encrypted => "pack it without a password",
            Self::Method(_) => "pack it with deflate, or without packing it",
            Self::TooLarge | Self::Ratio => "leave it out, or let the server make it when it is needed",
            Self::Data => "get it again, or pack it again",
        }
        .into()
    }
}

impl fmt::Display for BundleReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is not there"),
            Self::NoFile => f.write_str("is no file"),
            Self::Outside => f.write_str("is a link that leads out of the bundle"),
            Self::TooLarge { most } => write!(f, "has more than {most} bytes"),
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Self::Entry(why) => why.fmt(f),
        }
    }
}

impl BundleReadError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Missing => "see how its name is written, upper and lower case too".into(),
            Self::NoFile => "put a file there".into(),
            Self::Outside => "put the file there in place of the link".into(),
            Self::TooLarge { .. } => "make it smaller".into(),
            Self::Unreadable(_) => "see who may read it".into(),
            Self::Entry(why) => why.hint(),
        }
    }
}

impl std::error::Error for BundleOpenError {}
impl std::error::Error for ArchiveError {}
impl std::error::Error for ArchiveEntryError {}
impl std::error::Error for BundleReadError {}
