//! What can be wrong with an icon.

use core::fmt;

use crate::{BundleFileNameError, PictureError, PixelSize};

/// How wide and high the one icon should be.
pub(crate) const ICON_PIXELS: u32 = 512;

/// The most icons that are looked at.
pub(crate) const MAX_CHECKED_ICONS: usize = 64;

/// What is wrong with an icon.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum IconProblem {
    /// Its path does not stay in the bundle.
    Outside(BundleFileNameError),
    /// It is no picture.
    NoPicture(PictureError),
    /// It is of another size than it says.
    OtherSize {
        /// What it says.
        declared: PixelSize,
        /// What it is.
        real: PixelSize,
    },
    /// It says a size that no picture has.
    NoSuchSize,
    /// It is not as wide as high.
    NotSquare(PixelSize),
    /// It is the one icon, and smaller than hosts show it.
    Small(PixelSize),
    /// It is for a theme, and brings a background of its own.
    Opaque,
    /// It is hard to see.
    HardToSee {
        /// On which background: `light` or `dark`.
        on: &'static str,
        /// Its contrast.
        ratio: f32,
        /// The least that is enough.
        wanted: f32,
    },
    /// It is the same picture as an earlier one for another theme.
    SamePicture {
        /// The place of that one.
        first: usize,
    },
    /// An earlier one is for the same theme and of the same size.
    Repeated {
        /// The place of that one.
        first: usize,
    },
    /// There are `icons` and no `icon`.
    NoIcon,
    /// There are more than are looked at.
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
    /// A name for programs, which stays.
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

    /// What to do about it.
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
