//! Errors of opening and reading bundles, with messages and hints for people.
//!
//! `Display` of each gives a predicate without a subject, to be put after the path or the name: "is encrypted".

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
    /// The system refuses to read it, or it does not exist.
    Unreadable(io::ErrorKind),
    /// It is neither a folder nor a regular file.
    Special,
    /// There is no `manifest.json` at its top.
    NoManifest {
        /// The folder at the top of an archive that has one, probably because the folder was packed and not
        /// what is in it.
        elsewhere: Option<Box<str>>,
    },
    /// There is a `manifest.json`, but it cannot be read.
    Unavailable(BundleReadError),
    /// The manifest cannot be parsed.
    Manifest {
        /// Why not.
        why: ManifestError,
        /// The bytes of the manifest, so that a check can show where it is wrong; empty if it is too large.
        file: Box<[u8]>,
    },
    /// The archive as a whole is refused.
    Archive(ArchiveError),
    /// The archive is refused because of one of its entries.
    Entry {
        /// The name in the archive, unescaped and not to be trusted. `Display` escapes and shortens it.
        name: Box<str>,
        /// What is wrong with it.
        why: ArchiveEntryError,
    },
}

/// Why an archive is refused as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ArchiveError {
    /// It is not a zip archive, or is cut off.
    NoEnd,
    /// It ends with the mark of signed bundles, but has no valid signature block before it.
    Signature,
    /// There are two candidates for its end record, so tools would differ about its entries.
    TwoEnds,
    /// It has more than [`MAX_ARCHIVE_BYTES`] bytes.
    TooLarge,
    /// It has more than [`MAX_ENTRIES`] entries.
    TooMany,
    /// Its directory has more than [`MAX_DIRECTORY_BYTES`] bytes.
    LargeDirectory,
    /// It is in the zip64 format, which no archive within the bounds needs.
    Zip64,
    /// It is one part of a multi-part archive.
    Split,
    /// Its directory is not where the end record says, is cut off, or has another number of entries.
    Directory,
    /// It has bytes that belong to no entry: before the first, between two, or before the end record.
    Hidden,
    /// Its files would have more than [`MAX_UNPACKED_BYTES`] bytes together.
    Unpacked,
}

/// What is wrong with one entry of an archive, or with a file that is to become one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ArchiveEntryError {
    /// Its name leads out of the bundle, or means something else on some systems.
    Name(BundleFileNameError),
    /// Its name is not UTF-8, or not marked as such.
    Encoding,
    /// It has a second, different name, in its local header or in an extra field.
    SecondName,
    /// Another entry has the same name.
    Twice,
    /// This other name differs only in case or in the composition of letters, and is the same file on many
    /// systems.
    Twin(Box<str>),
    /// The name is used both as a file and as a folder.
    FileAndFolder,
    /// It is a symbolic link.
    Link,
    /// It is a device, a pipe or the like.
    Special,
    /// Its name, its mode and its size do not agree whether it is a folder.
    Folder,
    /// It is encrypted.
    Encrypted,
    /// It is compressed with this method, and neither stored nor deflated.
    Method(u16),
    /// It has more than [`MAX_FILE_BYTES`] bytes unpacked.
    TooLarge,
    /// It is larger than [`RATIO_MIN_BYTES`], and more than [`MAX_RATIO`] times as large as packed.
    Ratio,
    /// Its data overlaps with the next entry or with the directory.
    Overlap,
    /// There is no local header where the directory says, or it says something else than the directory.
    Header,
    /// Its data has another size than the directory says.
    Size,
    /// Its data cannot be decompressed, or its checksum is wrong.
    Data,
}

/// Why a file of a bundle cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BundleReadError {
    /// There is no such file.
    Missing,
    /// It is a folder, a device or the like.
    NoFile,
    /// It is a link, or behind a link, that leads out of the bundle.
    Outside,
    /// It is larger than the caller accepts.
    TooLarge {
        /// The size in bytes that the caller accepts.
        most: u64,
    },
    /// The system refuses to read it.
    Unreadable(io::ErrorKind),
    /// Its entry in the archive is damaged; or, when packing, it cannot become an entry.
    Entry(ArchiveEntryError),
}

/// A name from a stranger, displayed safely: quoted, escaped and shortened to 80 characters.
pub(super) struct EscapedFileName<'a>(pub(super) &'a str);

impl fmt::Display for EscapedFileName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN_CHARS: usize = 80;
        let short: String = self.0.chars().take(MAX_SHOWN_CHARS).collect();
        let more = if short.len() < self.0.len() { "…" } else { "" };
        write!(f, "{short:?}{more}")
    }
}

/// Converts bytes to mebibytes, rounded down.
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
    /// Returns what the user can do about it.
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
    /// Returns what the user can do about it.
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
    /// Returns what the author of the bundle can do about it.
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
    /// Returns what the user can do about it.
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
