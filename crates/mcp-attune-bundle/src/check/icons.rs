//! Icons: whether they are there, are what they say, and can be seen.

use std::collections::HashMap;

use mcp_attune_wire::json::Value;

use super::Look;
use super::collect::{Collect, here, path};
use super::server::{elements, text};
use crate::problem::{Format, ICON_PIXELS, IconProblem, MAX_ICONS, What};
use crate::{Inside, NoPicture, Outside, Picture, Size};
use mcp_attune::catalog::Path;

/// Pictures by their names, each measured once.
type Pictures = HashMap<Inside, Result<Picture, NoPicture>>;

pub(super) fn look(look: &Look<'_>, found: &mut Collect) {
    let mut pictures = Pictures::new();
    let mut seen: Vec<Seen> = Vec::new();
    let icons = look.root.member("icons");
    for (at, entry) in elements(icons).enumerate() {
        if at == MAX_ICONS {
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
    if let (Some(value), None, true) = (value, size, Format::Size.fits(&said)) {
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
        && size.width < ICON_PIXELS
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
