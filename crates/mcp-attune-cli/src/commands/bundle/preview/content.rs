//! What a preview shows: the bundle as users of each locale see it, where each text comes from, and its icons.

use mcp_attune::language::Tag;
use mcp_attune_bundle::{BundleLocales, Manifest, ManifestIcon, PixelSize, choose_icon};

use super::locale_files::PreviewLocaleFiles;
use super::picture::{self, PictureBudget, PreviewPicture};
use super::setting::PreviewSetting;
use super::view::{BundleFileReader, MAX_LISTED, PreviewLocaleView, truncated};
use crate::text::quoted;

/// The sizes in which hosts show icons.
pub(super) const ICON_SIDES: [u32; 8] = [16, 24, 32, 48, 64, 128, 256, 512];
/// How large a store shows the icon beside the name.
pub(super) const STORE_ICON_SIDE: u32 = 128;

/// What a page has at most of each kind; the rest is counted.
pub(super) const MAX_LOCALES: usize = 100;
const MAX_ICONS: usize = 50;
const MAX_SCREENSHOTS: usize = 10;
const MAX_PROBLEMS: usize = 50;

/// A bundle as it is shown.
#[derive(Debug)]
pub(super) struct BundlePreview {
    pub(super) name: String,
    pub(super) facts: Vec<(&'static str, String)>,
    /// That of the default locale comes first.
    pub(super) views: Vec<PreviewLocaleView>,
    /// Locales that the page has no room for.
    pub(super) left_out: usize,
    pub(super) icons: Vec<PreviewManifestPicture>,
    pub(super) served: Vec<IconsForSize>,
    pub(super) screenshots: Vec<PreviewManifestPicture>,
    /// What users fill in.
    pub(super) settings: Vec<PreviewSetting>,
    /// How many texts settings have, those that are not shown included.
    pub(super) setting_texts: usize,
    /// Files that cannot be used, and why.
    pub(super) problems: Vec<String>,
}

/// A picture that the manifest names.
#[derive(Debug)]
pub(super) struct PreviewManifestPicture {
    pub(super) src: String,
    /// What the manifest says of it.
    pub(super) size: Option<PixelSize>,
    pub(super) theme: Option<String>,
    pub(super) picture: Result<PreviewPicture, String>,
}

/// Which of the icons serve a size.
#[derive(Debug)]
pub(super) struct IconsForSize {
    pub(super) side: u32,
    pub(super) light: Option<usize>,
    pub(super) dark: Option<usize>,
}

impl BundlePreview {
    pub(super) fn new(
        manifest: &Manifest,
        names: &[String],
        read: BundleFileReader<'_>,
        asked: &[Tag],
    ) -> Self {
        let locales = BundleLocales::find_among(manifest, names.iter().map(String::as_str));
        let shelf = PreviewLocaleFiles::new(manifest, &locales, read);
        let mut tags: Vec<Option<Tag>> = vec![locales.default_locale().cloned()];
        let files = locales.files.iter().map(|file| &file.tag);
        for tag in asked.iter().chain(files).cloned().map(Some) {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        let left_out = tags.len().saturating_sub(MAX_LOCALES);
        tags.truncate(MAX_LOCALES);
        // What was asked for is made room for, and then stands where it belongs.
        if let Some((_, others)) = tags.split_first_mut() {
            others.sort_by_key(|tag| tag.as_ref().map(|tag| tag.as_str().to_ascii_lowercase()));
        }
        let views: Vec<PreviewLocaleView> = tags.into_iter().map(|tag| shelf.view(tag)).collect();

        let icons = manifest.icons();
        let mut room = PictureBudget::default();
        let shots = load_pictures(&icons, picture::MAX_ICON_BYTES, MAX_ICONS, read, &mut room);
        let screenshots: Vec<ManifestIcon> =
            manifest.screenshots.iter().map(|src| ManifestIcon::new(src)).collect();
        let mut problems: Vec<String> = locales
            .strange
            .iter()
            .map(|name| format!("{}: its name has no language tag of its own", quoted(name)))
            .collect();
        problems.extend(shelf.problems());
        problems.truncate(MAX_PROBLEMS);
        Self {
            name: truncated(manifest.name.as_deref().unwrap_or("a bundle without a name"), 200),
            facts: facts(manifest),
            views,
            left_out,
            served: ICON_SIDES.into_iter().map(|side| IconsForSize::new(&icons, side)).collect(),
            icons: shots,
            settings: manifest.user_config.iter().take(MAX_LISTED).map(PreviewSetting::of).collect(),
            setting_texts: manifest.setting_text_count(),
            screenshots: load_pictures(
                &screenshots,
                picture::MAX_SCREENSHOT_BYTES,
                MAX_SCREENSHOTS,
                read,
                &mut room,
            ),
            problems,
        }
    }

    /// In a line.
    pub(super) fn summary(&self) -> String {
        let count =
            |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
        format!("{}, {}", count(self.views.len(), "locale"), count(self.icons.len(), "icon"))
    }

    /// The icon beside the name: in light, and in dark.
    pub(super) fn store_icons(&self) -> (Option<usize>, Option<usize>) {
        let served = self.served.iter().find(|served| served.side == STORE_ICON_SIDE);
        served.map_or((None, None), |served| (served.light, served.dark))
    }
}

impl IconsForSize {
    fn new(icons: &[ManifestIcon], side: u32) -> Self {
        let chosen = |theme| {
            let chosen = choose_icon(icons, Some(theme), Some(side))?;
            icons.iter().position(|icon| std::ptr::eq(icon, chosen)).filter(|index| *index < MAX_ICONS)
        };
        Self { side, light: chosen("light"), dark: chosen("dark") }
    }
}

fn facts(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let server = manifest.server.as_ref().and_then(|server| server.kind.as_deref());
    let facts = [
        ("Version", manifest.release.as_deref()),
        ("Manifest", manifest.version.map(mcp_attune_bundle::ManifestVersion::as_str)),
        ("Server", server),
        ("Texts in", manifest.localization.as_ref().map(|it| it.default_locale.as_str())),
    ];
    facts.into_iter().filter_map(|(name, text)| Some((name, truncated(text?, 100)))).collect()
}

fn load_pictures(
    icons: &[ManifestIcon],
    most: usize,
    number: usize,
    read: BundleFileReader<'_>,
    room: &mut PictureBudget,
) -> Vec<PreviewManifestPicture> {
    let mut shots: Vec<PreviewManifestPicture> = Vec::new();
    for icon in icons.iter().take(number) {
        let src = truncated(&icon.src, 200);
        let before = shots.iter().find(|shot| shot.src == src).map(|shot| shot.picture.clone());
        let picture = before.unwrap_or_else(|| room.load_picture(&icon.src, most, read));
        let theme = icon.theme.as_deref().map(|theme| truncated(theme, 40));
        shots.push(PreviewManifestPicture { src, size: icon.size, theme, picture });
    }
    shots
}

#[cfg(test)]
mod tests {
    use super::super::sample::{FILES, MANIFEST, shown};
    use super::super::view::{MAX_LONG_TEXT_CHARS, PreviewTextOrigin};
    use super::*;

    fn ids(shown: &BundlePreview) -> Vec<&str> {
        shown.views.iter().map(PreviewLocaleView::id).collect()
    }

    #[test]
    fn every_locale_is_shown_once_and_the_default_first() {
        let shown = shown(MANIFEST, FILES, &["es-UY", "AR", "en-us"]);
        assert_eq!(ids(&shown), ["en-US", "AR", "broken", "es", "es-MX", "es-UY"]);
        assert_eq!(shown.summary(), "6 locales, 3 icons");
    }

    #[test]
    fn what_cannot_be_used_is_told_once() {
        let problems = shown(MANIFEST, FILES, &["es-UY"]).problems;
        assert_eq!(
            problems,
            [
                "r/pt_BR.json: its name has no language tag of its own",
                "r/broken.json: ends inside a value, at byte 1; close what is open"
            ]
        );
    }

    #[test]
    fn icons_are_chosen_by_theme_and_size() {
        let shown = shown(MANIFEST, FILES, &[]);
        let src = |index: Option<usize>| index.map(|index| shown.icons[index].src.as_str());
        let served: Vec<_> = shown.served.iter().map(|it| (it.side, src(it.light), src(it.dark))).collect();
        let (light, dark) = (Some("i/light.png"), Some("i/dark.png"));
        assert_eq!(served[0], (16, light, Some("i/gone.png")));
        assert_eq!(served[1], (24, light, dark));
        assert_eq!(served[7], (512, light, dark));
        assert_eq!(shown.icons[2].picture.as_ref().unwrap_err(), "there is no such file");
    }

    #[test]
    fn a_manifest_without_languages_is_shown_as_it_is() {
        let shown = shown(r#"{"name": "a", "description": "b"}"#, FILES, &[]);
        assert_eq!(ids(&shown), ["_manifest"]);
        assert_eq!(
            (shown.views[0].direction(), shown.views[0].description.origin.clone()),
            ("auto", PreviewTextOrigin::Own)
        );
        assert_eq!(shown.store_icons(), (None, None));
    }

    #[test]
    fn what_a_page_has_no_room_for_is_counted() {
        let files: Vec<String> =
            (0..MAX_LOCALES + 20).map(|number| format!("r/en-x-n{number}.json")).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|name| (name.as_str(), "{}")).collect();
        let many = shown(MANIFEST, &files, &["zu"]);
        assert_eq!((many.views.len(), many.left_out), (MAX_LOCALES, 22));
        assert_eq!(many.views.last().map(PreviewLocaleView::id), Some("zu"));
        let tools: Vec<String> =
            (0..MAX_LISTED + 5).map(|number| format!(r#"{{"name": "t{number}"}}"#)).collect();
        let long = "x".repeat(MAX_LONG_TEXT_CHARS + 9);
        let text =
            format!(r#"{{"name": "a", "long_description": "{long}", "tools": [{}]}}"#, tools.join(","));
        let shown = shown(&text, &[], &[]);
        assert_eq!((shown.views[0].tools.len(), shown.views[0].more), (MAX_LISTED, 5));
        assert_eq!(shown.views[0].long_description.texts[0].chars().count(), MAX_LONG_TEXT_CHARS + 1);
    }
}
