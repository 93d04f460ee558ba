//! What is known of a picture in a bundle once somebody has looked at it.

use super::icon::Size;

/// A picture, as far as it matters for an icon.
///
/// Rules: B7.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Picture {
    /// How large it is.
    pub size: Size,
    /// Whether anything behind it can be seen through it.
    pub transparent: bool,
    /// How far it stands out from a light background: from 1, not at all, to 21, as black from white.
    pub on_light: f32,
    /// How far it stands out from a dark background, in the same way.
    pub on_dark: f32,
    /// The same for pictures that look the same, whatever their files are.
    pub digest: u64,
}

impl Picture {
    /// A picture.
    #[must_use]
    pub fn new(size: Size, transparent: bool, on_light: f32, on_dark: f32, digest: u64) -> Self {
        Self { size, transparent, on_light, on_dark, digest }
    }
}
