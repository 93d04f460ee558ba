//! Problems of icons: `icon` and `icons`.

use core::fmt;

use crate::{BundleFileNameError, PictureError, PixelSize};

/// Recommended width and height of the single `icon` in pixels: the largest size at which hosts show it.
pub(crate) const ICON_PIXELS: u32 = 512;

/// Maximum number of entries of `icons` that are checked, because each may be a large picture to decode.
pub(crate) const MAX_CHECKED_ICONS: usize = 64;

/// What is wrong with an icon.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum IconProblem {
    /// The path is not the name of a file inside the bundle.
    Outside(BundleFileNameError),
    /// The file is missing, or is not a PNG that can be decoded.
    NoPicture(PictureError),
    /// The picture does not have the declared size, so hosts would choose it wrongly.
    OtherSize {
        /// The size in the manifest.
        declared: PixelSize,
        /// The size of the picture.
        real: PixelSize,
    },
    /// The declared size has the right form, but its numbers are too large for any picture.
    NoSuchSize,
    /// The picture is not square; this is its size.
    NotSquare(PixelSize),
    /// The single `icon` is smaller than hosts show it; this is its size.
    Small(PixelSize),
    /// The icon is for the theme `light` or `dark`, but has no transparency and so brings its own background.
    Opaque,
    /// The icon has too little contrast with a background of its theme; one without a theme is held against
    /// both.
    HardToSee {
        /// The background: `light` or `dark`.
        on: &'static str,
        /// The measured contrast ratio, from 1 to 21.
        ratio: f32,
        /// The threshold from [`BundleThresholds::contrast`](crate::BundleThresholds::contrast).
        wanted: f32,
    },
    /// The picture is the same as that of an earlier entry for another theme, so one of the themes is
    /// pointless.
    SamePicture {
        /// Index of that entry in `icons`.
        first: usize,
    },
    /// An earlier entry has the same theme and size, so hosts would never choose this one.
    Repeated {
        /// Index of that entry in `icons`.
        first: usize,
    },
    /// There are `icons` but no `icon`, so hosts that do not know `icons` show nothing.
    NoIcon,
    /// There are more `icons` than are checked; the others were not looked at.
    TooMany,
}

impl fmt::Display for IconProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside(why) => write!(f, "the path {why}"),
            Self::NoPicture(why) => why.fmt(f),
            Self::OtherSize { declared, real } => {
                write!(f, "declared as {declared}, and the picture is {real}")
            }
            Self::NoSuchSize => f.write_str("no picture has that size"),
            Self::NotSquare(size) => write!(f, "the picture is {size}, and icons are square"),
            Self::Small(size) => {
                write!(
                    f,
                    "the picture is {size}, and hosts show it with up to {ICON_PIXELS}x{ICON_PIXELS} pixels"
                )
            }
            Self::Opaque => {
                f.write_str("the icon is for a theme and opaque, so that it brings its own background")
            }
            Self::HardToSee { on, ratio, wanted } => write!(
                f,
                "hard to see on a {on} background: its contrast is {ratio:.1} to 1, and {wanted:.1} to 1 is enough"
            ),
            Self::SamePicture { first } => write!(f, "the same picture as icons.{first}, for another theme"),
            Self::Repeated { first } => write!(f, "the same theme and size as icons.{first}"),
            Self::NoIcon => {
                f.write_str("there are icons and no icon; hosts that do not know icons show none")
            }
            Self::TooMany => write!(f, "more than {MAX_CHECKED_ICONS} icons; the others were not looked at"),
        }
    }
}

impl IconProblem {
    /// Returns a stable identifier for programs that read reports.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Outside(_) => "icon-outside",
            Self::NoPicture(PictureError::Missing) => "icon-missing",
            Self::NoPicture(PictureError::NotPng) => "icon-not-png",
            Self::NoPicture(PictureError::Broken) => "icon-broken",
            Self::NoPicture(PictureError::TooLarge) => "icon-too-large",
            Self::OtherSize { .. } => "icon-other-size",
            Self::NoSuchSize => "icon-no-such-size",
            Self::NotSquare(_) => "icon-not-square",
            Self::Small(_) => "icon-small",
            Self::Opaque => "icon-opaque",
            Self::HardToSee { .. } => "icon-hard-to-see",
            Self::SamePicture { .. } => "icon-same-picture",
            Self::Repeated { .. } => "icon-repeated",
            Self::NoIcon => "no-icon",
            Self::TooMany => "icon-too-many",
        }
    }

    /// Returns what the author of the bundle can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Outside(why) => why.hint(),
            Self::NoPicture(why) => why.hint(),
            Self::OtherSize { .. } => "declare the size that it has, or save it in the one that is declared",
            Self::NoSuchSize => "declare the size that it has",
            Self::NotSquare(_) => "save it as wide as high",
            Self::Small(_) => "save it as 512x512, which is what the official tool recommends",
            Self::Opaque => "make its background transparent, or leave out the theme",
            Self::HardToSee { on: "dark", .. } => "make it lighter, or add one with \"theme\": \"dark\"",
            Self::HardToSee { .. } => "make it darker, or add one with \"theme\": \"light\"",
            Self::SamePicture { .. } => "draw one for each theme, or leave the theme out",
            Self::Repeated { .. } => "keep one of the two",
            Self::NoIcon => "add \"icon\" with one that can be seen on light and dark, of 512x512 at best",
            Self::TooMany => "keep those that hosts ask for, from 16x16 to 512x512",
        }
    }
}
