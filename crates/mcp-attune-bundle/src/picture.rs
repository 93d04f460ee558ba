//! What a host measures of a picture, for the check of icons.

use core::fmt;

use super::icon::PixelSize;

/// Measurements of a picture in a bundle.
///
/// A host decodes the picture and measures, because that takes a decoder and files; [`check`](fn@crate::check)
/// judges the numbers.
///
/// Rules: B7.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct PictureFacts {
    /// The real size, as opposed to the one that the manifest declares.
    pub size: PixelSize,
    /// Whether at least one pixel is not fully opaque.
    pub transparent: bool,
    /// Contrast of the picture with a light background, as a ratio of WCAG 2: from 1 (invisible) to 21.
    pub on_light: f32,
    /// Contrast of the picture with a dark background, in the same way.
    pub on_dark: f32,
    /// A hash of size and pixels: pictures that look the same have the same number. It is not
    /// collision-resistant, and is only compared within one run.
    pub digest: u64,
}

impl PictureFacts {
    /// Builds the measurements, for hosts, which cannot write a `#[non_exhaustive]` struct literally.
    #[must_use]
    pub fn new(size: PixelSize, transparent: bool, on_light: f32, on_dark: f32, digest: u64) -> Self {
        Self { size, transparent, on_light, on_dark, digest }
    }
}

/// Why a picture could not be measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PictureError {
    /// The file is not in the bundle, or cannot be read.
    Missing,
    /// The file does not begin with the PNG signature. No other format is supported.
    NotPng,
    /// The file begins as a PNG, but cannot be decoded.
    Broken,
    /// The picture has more pixels than the host decodes.
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
    /// Returns what the author of the bundle can do about it.
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
