//! The files of a bundle, wherever they are.

use core::fmt;

use super::file_name::BundleFileName;
use super::picture::{PictureError, PictureFacts};

/// The files of a bundle: in a folder, in an archive, in memory. The check asks for what it needs, and no more.
pub trait BundleFiles {
    /// The names of all files, with `/` between their parts, in any order.
    fn names(&self) -> Vec<String>;

    /// The bytes of a file.
    ///
    /// # Errors
    ///
    /// [`BundleFileError`] where there is none, or it has more bytes than asked for.
    fn read(&self, name: &BundleFileName, most: usize) -> Result<Vec<u8>, BundleFileError>;

    /// What can be measured of a picture.
    ///
    /// # Errors
    ///
    /// [`PictureError`] where nothing can.
    fn picture(&self, name: &BundleFileName) -> Result<PictureFacts, PictureError>;

    /// Whether there is a file of this name.
    fn has(&self, name: &BundleFileName) -> bool {
        self.names().iter().any(|it| it == name.as_str())
    }
}

/// Why a file of a bundle cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BundleFileError {
    /// There is none.
    Missing,
    /// It has more bytes than were asked for.
    TooLarge,
    /// It is a link that leads out of the bundle.
    Outside,
    /// It is there and cannot be read.
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
    /// What to do about it.
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
