//! What was measured of a picture.

use core::fmt;

use super::icon::PixelSize;

/// Facts about a picture of a bundle. Whoever reads files measures them; the check judges them.
///
/// Rules: B7.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct PictureFacts {
    /// How large it is.
    pub size: PixelSize,
    /// Whether anything of it lets the background through.
    pub transparent: bool,
    /// How well it is seen on a light background: a contrast ratio from 1, which is not at all, to 21.
    pub on_light: f32,
    /// How well it is seen on a dark background.
    pub on_dark: f32,
    /// The same for the same pixels.
    pub digest: u64,
}

impl PictureFacts {
    /// These facts.
    #[must_use]
    pub fn new(size: PixelSize, transparent: bool, on_light: f32, on_dark: f32, digest: u64) -> Self {
        Self { size, transparent, on_light, on_dark, digest }
    }
}

/// Why nothing was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PictureError {
    /// There is no such file, or it cannot be read.
    Missing,
    /// It does not begin as PNG files do.
    NotPng,
    /// It begins so, and then has what no PNG file has.
    Broken,
    /// It has more pixels than are looked at.
    TooLarge,
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "there is no such file in the bundle",
            Self::NotPng => "the file is no PNG picture",
            Self::Broken => "the PNG picture is broken",
            Self::TooLarge => "the picture has more pixels than are looked at",
        })
    }
}

impl PictureError {
    /// What to do about it.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Missing => "add the file, or correct the path",
            Self::NotPng => "save it as PNG; hosts show nothing else",
            Self::Broken => "save it anew",
            Self::TooLarge => "save it smaller; hosts show icons at 512x512 at most",
        }
    }
}

impl core::error::Error for PictureError {}
