//! How much of a bundle is taken. Bundles come from strangers, and whoever opens one should not have to trust it first.
//!
//! Rules: B8.

/// The most bytes of an archive.
///
/// Desktop applications with everything in them have a few hundred megabytes. Below 4 GiB no archive needs zip64, which is
/// therefore refused.
pub const MAX_ARCHIVE_BYTES: u64 = 1 << 30;

/// The most entries of an archive, and the most files that a folder is packed from.
///
/// A server with all its dependencies has some thousands, large ones some ten thousands; an archive without zip64 cannot have
/// more than 65,535.
pub const MAX_ENTRIES: usize = 50_000;

/// The most bytes of an archive's directory: all entries with names of 500 bytes.
pub const MAX_DIRECTORY_BYTES: u64 = 32 << 20;

/// The most bytes of all files together, once they are unpacked.
pub const MAX_UNPACKED_BYTES: u64 = 2 << 30;

/// The most bytes of one file, once it is unpacked.
pub const MAX_FILE_BYTES: u64 = 512 << 20;

/// How many times its packed size a file may have, where it is larger than [`RATIO_MIN_BYTES`].
///
/// Text comes to a tenth, tables of numbers to a fiftieth. Only what is nearly all the same comes near the thousandth that is
/// the limit of the method.
pub const MAX_RATIO: u64 = 200;

/// Files up to this size may be as repetitive as they like.
pub const RATIO_MIN_BYTES: u64 = 16 << 20;

/// The most bytes of a signature: a chain of some hundred certificates.
pub const MAX_SIGNATURE_BYTES: u64 = 256 << 10;

/// The most bytes of a picture's file.
pub const MAX_PICTURE_BYTES: u64 = 16 << 20;

/// The most pixels of a picture's side; unpacked that comes to 64 MiB.
pub const MAX_PICTURE_SIDE: u32 = 4096;

/// The most bytes of locale files that are kept. Ready for use, they take some three times as much.
pub const MAX_CACHED_LOCALE_BYTES: u64 = 64 << 20;
