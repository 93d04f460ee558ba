//! Access to the files of a bundle, which the host of a check implements.

use core::fmt;

use super::file_name::BundleFileName;
use super::picture::{PictureError, PictureFacts};

/// The files of a bundle, in a folder, in an archive or in memory.
///
/// [`check`](fn@crate::check) gets everything but the manifest through it, and asks only for what it needs. It
/// bounds the size of each file that it reads and the number of pictures and locale files; an implementation
/// has to bound the number of names.
pub trait BundleFiles {
    /// Returns the names of all files, normalized as by [`BundleFileName`], in any order.
    fn names(&self) -> Vec<String>;

    /// Returns the bytes of a file of at most `most` bytes. An implementation must not read more than that into
    /// memory.
    ///
    /// # Errors
    ///
    /// [`BundleFileError`] if the file is missing, larger than `most`, outside of the bundle or unreadable.
    fn read(&self, name: &BundleFileName, most: usize) -> Result<Vec<u8>, BundleFileError>;

    /// Decodes a picture and returns its measurements.
    ///
    /// # Errors
    ///
    /// [`PictureError`] if there is no such file, or it is not a PNG that can be decoded within bounds.
    fn picture(&self, name: &BundleFileName) -> Result<PictureFacts, PictureError>;

    /// Returns whether there is a file of exactly this name. By default, all names are listed and compared.
    fn has(&self, name: &BundleFileName) -> bool {
        self.names().iter().any(|it| it == name.as_str())
    }
}

/// Why a file of a bundle could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BundleFileError {
    /// There is no file of this name.
    Missing,
    /// The file has more bytes than the caller accepts.
    TooLarge,
    /// The file is a symbolic link that leads out of the bundle.
    Outside,
    /// The file is there, but reading it failed.
    Unreadable,
}

impl fmt::Display for BundleFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "there is no such file in the bundle",
            Self::TooLarge => "the file is too large",
            Self::Outside => "the file is a link that leads out of the bundle",
            Self::Unreadable => "the file cannot be read",
        })
    }
}

impl BundleFileError {
    /// Returns what the author of the bundle can do about it.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Missing => "add the file, or correct its name",
            Self::TooLarge => "make it smaller",
            Self::Outside => "put the file itself into the bundle",
            Self::Unreadable => "look at its permissions",
        }
    }
}

impl core::error::Error for BundleFileError {}
