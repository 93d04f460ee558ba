//! How much of a bundle is taken. Bundles come from strangers, and whoever opens one should not have to trust it first.
//!
//! Rules: B8.

/// The most bytes of an archive.
///
/// Desktop applications with everything in them have a few hundred megabytes. Below 4 GiB no archive needs zip64, which is
/// therefore refused.
pub const MOST_BYTES: u64 = 1 << 30;

/// The most entries of an archive, and the most files that a folder is packed from.
///
/// A server with all its dependencies has some thousands, large ones some ten thousands; an archive without zip64 cannot have
/// more than 65,535.
pub const MOST_ENTRIES: usize = 50_000;

/// The most bytes of an archive's directory: all entries with names of 500 bytes.
pub const MOST_DIRECTORY: u64 = 32 << 20;

/// The most bytes of all files together, once they are unpacked.
pub const MOST_UNPACKED: u64 = 2 << 30;

/// The most bytes of one file, once it is unpacked.
pub const MOST_OF_ONE: u64 = 512 << 20;

/// How many times its packed size a file may have, where it is larger than [`RATIO_FROM`].
///
/// Text comes to a tenth, tables of numbers to a fiftieth. Only what is nearly all the same comes near the thousandth that is
/// the limit of the method.
pub const MOST_RATIO: u64 = 200;

/// Files up to this size may be as repetitive as they like.
pub const RATIO_FROM: u64 = 16 << 20;

/// The most bytes of a signature: a chain of some hundred certificates.
pub const MOST_SIGNATURE: u64 = 256 << 10;

/// The most bytes of a picture's file.
pub const MOST_PICTURE: u64 = 16 << 20;

/// The most pixels of a picture's side; unpacked that comes to 64 MiB.
pub const MOST_SIDE: u32 = 4096;

/// The most bytes of locale files that are kept. Ready for use, they take some three times as much.
pub const MOST_KEPT: u64 = 64 << 20;
