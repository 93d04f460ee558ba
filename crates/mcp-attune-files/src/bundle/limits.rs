//! Bounds for bundles. They come from strangers, and opening one must be safe before it is trusted.
//!
//! Rules: B8.

/// Maximum size of an archive in bytes, its signature included: 1 GiB.
///
/// Desktop applications with everything in them have a few hundred megabytes. Below 4 GiB no archive needs
/// zip64, which is therefore refused.
pub const MAX_ARCHIVE_BYTES: u64 = 1 << 30;

/// Maximum number of entries of an archive, and of entries that are seen when a folder is walked or packed.
///
/// A server with all its dependencies has some thousands, large ones some ten thousands; an archive without
/// zip64 cannot have more than 65,535.
pub const MAX_ENTRIES: usize = 50_000;

/// Maximum size of an archive's central directory in bytes: 32 MiB, enough for the maximum number of entries
/// with names of 500 bytes.
pub const MAX_DIRECTORY_BYTES: u64 = 32 << 20;

/// Maximum size of all files together in bytes, unpacked: 2 GiB.
pub const MAX_UNPACKED_BYTES: u64 = 2 << 30;

/// Maximum size of one file in bytes, unpacked: 512 MiB.
pub const MAX_FILE_BYTES: u64 = 512 << 20;

/// Maximum compression ratio of a file that is larger than [`RATIO_MIN_BYTES`] unpacked.
///
/// Text shrinks to a tenth, tables of numbers to a fiftieth. Only data that is nearly all the same comes near a
/// thousandth, the limit of deflate. A higher ratio is therefore taken for a zip bomb.
pub const MAX_RATIO: u64 = 200;

/// Unpacked size in bytes up to which the compression ratio is not limited: 16 MiB.
pub const RATIO_MIN_BYTES: u64 = 16 << 20;

/// Maximum size of a signature in bytes: 256 KiB, enough for a chain of some hundred certificates.
pub const MAX_SIGNATURE_BYTES: u64 = 256 << 10;

/// Maximum size of a picture's file in bytes: 16 MiB.
pub const MAX_PICTURE_BYTES: u64 = 16 << 20;

/// Maximum width and height of a picture in pixels. A picture of this size has 64 MiB of pixels, and takes
/// about twice as much memory while it is measured.
pub const MAX_PICTURE_SIDE: u32 = 4096;

/// Maximum size of the locale files that a bundle caches, in bytes as on disk. Compiled, they take about three
/// times as much memory.
pub const MAX_CACHED_LOCALE_BYTES: u64 = 64 << 20;
