//! Icons: whether they exist, are what the manifest declares, and can be seen.

use std::collections::HashMap;

use mcp_attune_wire::json::SpannedValue;

use super::BundleCheckInput;
use super::collect::{BundleProblemCollector, manifest_location, path};
use super::server::{elements, text};
use crate::problem::{BundleProblemKind, ICON_PIXELS, IconProblem, MAX_CHECKED_ICONS, ManifestTextFormat};
use crate::{BundleFileName, BundleFileNameError, PictureError, PictureFacts, PixelSize};
use mcp_attune::catalog::LocaleKeyPath;

/// Pictures that were measured, by name. Several icons may share one file, which is decoded once.
type MeasuredPictures = HashMap<BundleFileName, Result<PictureFacts, PictureError>>;

/// Checks the entries of `icons`, each against those before it, and then the single `icon`.
pub(super) fn check_icons(look: &BundleCheckInput<'_>, found: &mut BundleProblemCollector) {
    let mut pictures = MeasuredPictures::new();
    let mut seen: Vec<CheckedIcon> = Vec::new();
    let icons = look.root.member("icons");
    for (at, entry) in elements(icons).enumerate() {
        if at == MAX_CHECKED_ICONS {
            found.warn(
                manifest_location(&path(&["icons"]), entry),
                BundleProblemKind::Icon(IconProblem::TooMany),
            );
            break;
        }
        seen.extend(check_icon(look, at, entry, &seen, &mut pictures, found));
    }
    let icon = look.root.member("icon").filter(|it| text(*it).is_some_and(|it| !it.is_empty()));
    match icon {
        Some(value) => check_single_icon(look, value, !seen.is_empty(), &mut pictures, found),
        None => {
            if let Some(value) = icons.filter(|it| elements(Some(*it)).next().is_some()) {
                found.warn(
                    manifest_location(&path(&["icons"]), value),
                    BundleProblemKind::Icon(IconProblem::NoIcon),
                );
            }
        }
    }
}

/// What later icons are compared with.
struct CheckedIcon {
    /// Index in `icons`.
    at: usize,
    /// The theme in lower case.
    theme: Option<String>,
    size: Option<PixelSize>,
    /// Hash of the pixels; `None` if the picture could not be measured.
    digest: Option<u64>,
}

fn measure(
    look: &BundleCheckInput<'_>,
    name: BundleFileName,
    pictures: &mut MeasuredPictures,
) -> Result<PictureFacts, PictureError> {
    *pictures.entry(name).or_insert_with_key(|name| look.files.picture(name))
}

/// Checks one entry of `icons`. Returns `None` if it has no `src`, which the official schema reports.
fn check_icon(
    look: &BundleCheckInput<'_>,
    at: usize,
    entry: SpannedValue<'_>,
    seen: &[CheckedIcon],
    pictures: &mut MeasuredPictures,
    found: &mut BundleProblemCollector,
) -> Option<CheckedIcon> {
    let top = path(&["icons", &at.to_string()]);
    let src = entry.member("src")?;
    let theme = entry.member("theme").and_then(text).map(|theme| theme.to_ascii_lowercase());
    let value = entry.member("size");
    let said = value.and_then(text).unwrap_or_default();
    let size = PixelSize::parse(&said);
    if let (Some(value), None, true) = (value, size, ManifestTextFormat::Size.fits(&said)) {
        found.error(
            manifest_location(&top.with("size"), value),
            BundleProblemKind::Icon(IconProblem::NoSuchSize),
        );
    }
    let same = |it: &&CheckedIcon| size.is_some() && it.size == size && it.theme == theme;
    if let Some(first) = seen.iter().find(same) {
        found.warn(
            manifest_location(&top, entry),
            BundleProblemKind::Icon(IconProblem::Repeated { first: first.at }),
        );
    }
    let at_src = top.with("src");
    let picture = match BundleFileName::parse(&text(src)?) {
        Ok(name) => measure(look, name, pictures),
        Err(why) => {
            found.error(manifest_location(&at_src, src), BundleProblemKind::Icon(IconProblem::Outside(why)));
            return Some(CheckedIcon { at, theme, size, digest: None });
        }
    };
    let picture = match picture {
        Ok(picture) => picture,
        Err(why) => {
            found
                .error(manifest_location(&at_src, src), BundleProblemKind::Icon(IconProblem::NoPicture(why)));
            return Some(CheckedIcon { at, theme, size, digest: None });
        }
    };
    if let (Some(declared), Some(value)) = (size.filter(|it| *it != picture.size), value) {
        let what = IconProblem::OtherSize { declared, real: picture.size };
        found.error(manifest_location(&top.with("size"), value), BundleProblemKind::Icon(what));
    }
    let other = |it: &&CheckedIcon| it.digest == Some(picture.digest) && it.theme != theme;
    if let Some(first) = seen.iter().find(other) {
        found.warn(
            manifest_location(&at_src, src),
            BundleProblemKind::Icon(IconProblem::SamePicture { first: first.at }),
        );
    }
    check_visibility(look, &at_src, src, theme.as_deref(), &picture, found);
    Some(CheckedIcon { at, theme, size, digest: Some(picture.digest) })
}

/// Checks the single `icon`, without what the official checks report already.
///
/// If there are `icons` too (`beside`), only its size and shape are checked: it is a fallback for hosts that
/// know no themes, and need not be visible on every background.
fn check_single_icon(
    look: &BundleCheckInput<'_>,
    value: SpannedValue<'_>,
    beside: bool,
    pictures: &mut MeasuredPictures,
    found: &mut BundleProblemCollector,
) {
    let path = path(&["icon"]);
    let Some(name) = text(value) else { return };
    let picture = match BundleFileName::parse(&name) {
        Ok(name) => measure(look, name, pictures),
        Err(BundleFileNameError::Url | BundleFileNameError::Absolute | BundleFileNameError::Variable) => {
            return;
        }
        Err(why) => {
            return found
                .error(manifest_location(&path, value), BundleProblemKind::Icon(IconProblem::Outside(why)));
        }
    };
    if let Ok(PictureFacts { size, .. }) = picture
        && size.width == size.height
        && size.width < ICON_PIXELS
    {
        found.warn(manifest_location(&path, value), BundleProblemKind::Icon(IconProblem::Small(size)));
    }
    match picture {
        // Where there are icons for themes, it is for hosts that know no theme.
        Ok(picture) if beside => check_square(&path, value, &picture, found),
        Ok(picture) => check_visibility(look, &path, value, None, &picture, found),
        Err(PictureError::Missing | PictureError::NotPng) => {}
        Err(why) => {
            found
                .error(manifest_location(&path, value), BundleProblemKind::Icon(IconProblem::NoPicture(why)));
        }
    }
}

fn check_square(
    path: &LocaleKeyPath,
    value: SpannedValue<'_>,
    picture: &PictureFacts,
    found: &mut BundleProblemCollector,
) {
    if picture.size.width != picture.size.height {
        found.warn(
            manifest_location(path, value),
            BundleProblemKind::Icon(IconProblem::NotSquare(picture.size)),
        );
    }
}

/// Checks shape, transparency and contrast of a picture for its theme.
///
/// Contrast is checked with the background of the theme, or with both if the icon has none. The backgrounds of
/// themes other than `light` and `dark` are not known, so for them only the shape is checked.
fn check_visibility(
    look: &BundleCheckInput<'_>,
    path: &LocaleKeyPath,
    value: SpannedValue<'_>,
    theme: Option<&str>,
    picture: &PictureFacts,
    found: &mut BundleProblemCollector,
) {
    check_square(path, value, picture, found);
    let at = manifest_location(path, value);
    if matches!(theme, Some("light" | "dark")) && !picture.transparent {
        found.warn(at, BundleProblemKind::Icon(IconProblem::Opaque));
    }
    let wanted = look.thresholds.contrast;
    for (on, ratio, themes) in
        [("light", picture.on_light, [None, Some("light")]), ("dark", picture.on_dark, [None, Some("dark")])]
    {
        if themes.contains(&theme) && ratio < wanted {
            found.warn(at, BundleProblemKind::Icon(IconProblem::HardToSee { on, ratio, wanted }));
        }
    }
}
