//! Icons: whether they are there, are what they say, and can be seen.

use core::fmt;
use std::collections::HashMap;

use mcp_attune_wire::json::Value;

use super::Look;
use super::collect::{Collect, here, path};
use super::server::{elements, text};
use crate::bundle::problem::What;
use crate::bundle::{Inside, NoPicture, Outside, Picture, Size};
use crate::catalog::Path;

/// What is wrong with an icon.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum IconProblem {
    /// Its path does not stay in the bundle.
    Outside(Outside),
    /// It is no picture.
    NoPicture(NoPicture),
    /// It is of another size than it says.
    OtherSize {
        /// What it says.
        declared: Size,
        /// What it is.
        real: Size,
    },
    /// It says a size that no picture has.
    NoSuchSize,
    /// It is not as wide as high.
    NotSquare(Size),
    /// It is the one icon, and smaller than hosts show it.
    Small(Size),
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
                write!(f, "the picture is {size}, and hosts show it with up to {FULL}x{FULL} pixels")
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
            Self::TooMany => write!(f, "more than {MOST} icons; the others were not looked at"),
        }
    }
}

impl IconProblem {
    /// A name for programs, which stays.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Outside(_) => "icon-outside",
            Self::NoPicture(NoPicture::Missing) => "icon-missing",
            Self::NoPicture(NoPicture::NotPng) => "icon-not-png",
            Self::NoPicture(NoPicture::Broken) => "icon-broken",
            Self::NoPicture(NoPicture::TooLarge) => "icon-too-large",
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

/// How wide and high the one icon should be.
const FULL: u32 = 512;

/// The most icons that are looked at.
const MOST: usize = 64;

/// Pictures by their names, each measured once.
type Pictures = HashMap<Inside, Result<Picture, NoPicture>>;

pub(super) fn look(look: &Look<'_>, found: &mut Collect) {
    let mut pictures = Pictures::new();
    let mut seen: Vec<Seen> = Vec::new();
    let icons = look.root.member("icons");
    for (at, entry) in elements(icons).enumerate() {
        if at == MOST {
            found.warn(here(&path(&["icons"]), entry), What::Icon(IconProblem::TooMany));
            break;
        }
        seen.extend(one(look, at, entry, &seen, &mut pictures, found));
    }
    let icon = look.root.member("icon").filter(|it| text(*it).is_some_and(|it| !it.is_empty()));
    match icon {
        Some(value) => single(look, value, !seen.is_empty(), &mut pictures, found),
        None => {
            if let Some(value) = icons.filter(|it| elements(Some(*it)).next().is_some()) {
                found.warn(here(&path(&["icons"]), value), What::Icon(IconProblem::NoIcon));
            }
        }
    }
}

/// An icon that was looked at.
struct Seen {
    at: usize,
    theme: Option<String>,
    size: Option<Size>,
    digest: Option<u64>,
}

fn measure(look: &Look<'_>, name: Inside, pictures: &mut Pictures) -> Result<Picture, NoPicture> {
    *pictures.entry(name).or_insert_with_key(|name| look.files.picture(name))
}

fn one(
    look: &Look<'_>,
    at: usize,
    entry: Value<'_>,
    seen: &[Seen],
    pictures: &mut Pictures,
    found: &mut Collect,
) -> Option<Seen> {
    let top = path(&["icons", &at.to_string()]);
    let src = entry.member("src")?;
    let theme = entry.member("theme").and_then(text).map(|theme| theme.to_ascii_lowercase());
    let value = entry.member("size");
    let said = value.and_then(text).unwrap_or_default();
    let size = Size::parse(&said);
    if let (Some(value), None, true) = (value, size, super::schema::Format::Size.fits(&said)) {
        found.error(here(&top.with("size"), value), What::Icon(IconProblem::NoSuchSize));
    }
    let same = |it: &&Seen| size.is_some() && it.size == size && it.theme == theme;
    if let Some(first) = seen.iter().find(same) {
        found.warn(here(&top, entry), What::Icon(IconProblem::Repeated { first: first.at }));
    }
    let at_src = top.with("src");
    let picture = match Inside::parse(&text(src)?) {
        Ok(name) => measure(look, name, pictures),
        Err(why) => {
            found.error(here(&at_src, src), What::Icon(IconProblem::Outside(why)));
            return Some(Seen { at, theme, size, digest: None });
        }
    };
    let picture = match picture {
        Ok(picture) => picture,
        Err(why) => {
            found.error(here(&at_src, src), What::Icon(IconProblem::NoPicture(why)));
            return Some(Seen { at, theme, size, digest: None });
        }
    };
    if let (Some(declared), Some(value)) = (size.filter(|it| *it != picture.size), value) {
        let what = IconProblem::OtherSize { declared, real: picture.size };
        found.error(here(&top.with("size"), value), What::Icon(what));
    }
    let other = |it: &&Seen| it.digest == Some(picture.digest) && it.theme != theme;
    if let Some(first) = seen.iter().find(other) {
        found.warn(here(&at_src, src), What::Icon(IconProblem::SamePicture { first: first.at }));
    }
    judge(look, &at_src, src, theme.as_deref(), &picture, found);
    Some(Seen { at, theme, size, digest: Some(picture.digest) })
}

/// The one icon of old. What the official tool says of it is not said twice.
fn single(look: &Look<'_>, value: Value<'_>, beside: bool, pictures: &mut Pictures, found: &mut Collect) {
    let path = path(&["icon"]);
    let Some(name) = text(value) else { return };
    let picture = match Inside::parse(&name) {
        Ok(name) => measure(look, name, pictures),
        Err(Outside::Url | Outside::Absolute | Outside::Variable) => return,
        Err(why) => return found.error(here(&path, value), What::Icon(IconProblem::Outside(why))),
    };
    if let Ok(Picture { size, .. }) = picture
        && size.width == size.height
        && size.width < FULL
    {
        found.warn(here(&path, value), What::Icon(IconProblem::Small(size)));
    }
    match picture {
        // Where there are icons for themes, it is for hosts that know no theme.
        Ok(picture) if beside => square(&path, value, &picture, found),
        Ok(picture) => judge(look, &path, value, None, &picture, found),
        Err(NoPicture::Missing | NoPicture::NotPng) => {}
        Err(why) => found.error(here(&path, value), What::Icon(IconProblem::NoPicture(why))),
    }
}

fn square(path: &Path, value: Value<'_>, picture: &Picture, found: &mut Collect) {
    if picture.size.width != picture.size.height {
        found.warn(here(path, value), What::Icon(IconProblem::NotSquare(picture.size)));
    }
}

/// Whether a picture can be seen where its theme is.
fn judge(
    look: &Look<'_>,
    path: &Path,
    value: Value<'_>,
    theme: Option<&str>,
    picture: &Picture,
    found: &mut Collect,
) {
    square(path, value, picture, found);
    let at = here(path, value);
    if matches!(theme, Some("light" | "dark")) && !picture.transparent {
        found.warn(at, What::Icon(IconProblem::Opaque));
    }
    let wanted = look.thresholds.contrast;
    for (on, ratio, themes) in
        [("light", picture.on_light, [None, Some("light")]), ("dark", picture.on_dark, [None, Some("dark")])]
    {
        if themes.contains(&theme) && ratio < wanted {
            found.warn(at, What::Icon(IconProblem::HardToSee { on, ratio, wanted }));
        }
    }
}
