//! Icons of a manifest, and the choice of one for a theme and a size.

use core::cmp::Reverse;
use core::fmt;

/// Width and height of a picture in pixels, written `64x64`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PixelSize {
    /// Number of pixels from left to right.
    pub width: u32,
    /// Number of pixels from top to bottom.
    pub height: u32,
}

impl PixelSize {
    /// Parses `WIDTHxHEIGHT`: two decimal numbers with a lower-case `x` between them, without blanks or signs.
    ///
    /// Returns `None` for anything else, and for numbers that do not fit into 32 bits.
    ///
    /// ```
    /// use mcp_attune_bundle::PixelSize;
    ///
    /// assert_eq!(PixelSize::parse("16x32"), Some(PixelSize { width: 16, height: 32 }));
    /// assert_eq!(PixelSize::parse("16 x 32"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if digits { text.parse().ok() } else { None }
        };
        let (width, height) = text.split_once('x')?;
        Some(Self { width: number(width)?, height: number(height)? })
    }

    /// Returns whether both sides have at least `side` pixels, so that the picture need not be scaled up.
    #[must_use]
    pub fn covers(self, side: u32) -> bool {
        self.width.min(self.height) >= side
    }

    fn area(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

impl fmt::Display for PixelSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// One icon of a manifest, for one size.
///
/// An entry of `icons` that lists several `sizes` becomes several values of this type with the same `src`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct ManifestIcon {
    /// Path of the picture as the manifest writes it. It is not checked: [`crate::BundleFileName::parse`] does
    /// that.
    pub src: Box<str>,
    /// The declared size; `None` if the manifest declares none, or none that can be parsed.
    pub size: Option<PixelSize>,
    /// The theme that the icon is drawn for, such as `light` or `dark`; `None` if it is for any.
    pub theme: Option<Box<str>>,
}

impl ManifestIcon {
    /// Returns an icon without a size and a theme, as the single `icon` of older manifests is.
    #[must_use]
    pub fn new(src: &str) -> Self {
        Self { src: src.into(), size: None, theme: None }
    }
}

/// Picks the icon for a theme and a size, `side` being the length of the shown square's sides in pixels.
///
/// 1. By theme: icons of that theme, compared without case; if there are none, icons without a theme; if there
///    are none either, any icon. If no theme is asked for, icons without a theme come first.
/// 2. By size, among those: the smallest icon with both sides at least `side` long; if there is none, or if no
///    size is asked for, the largest by area. An icon without a declared size counts as the smallest.
/// 3. Among equals, the first in the manifest.
///
/// Returns `None` only if there are no icons.
///
/// Rules: B6.
///
/// ```
/// use mcp_attune_bundle::{Manifest, choose_icon};
///
/// let manifest = Manifest::read(br#"{"icons": [{"src": "s.png", "size": "16x16", "theme": "light"},
///     {"src": "l.png", "size": "64x64", "theme": "light"}, {"src": "n.png", "size": "32x32"}]}"#).unwrap();
/// let src = |theme, size| choose_icon(&manifest.icons, theme, size).map(|icon| &*icon.src);
/// assert_eq!(src(Some("dark"), Some(24)), Some("n.png"));
/// assert_eq!(src(Some("light"), Some(24)), Some("l.png"));
/// assert_eq!(src(Some("light"), Some(128)), Some("l.png"));
/// ```
#[must_use]
pub fn choose_icon<'a>(
    icons: &'a [ManifestIcon],
    theme: Option<&str>,
    side: Option<u32>,
) -> Option<&'a ManifestIcon> {
    let asked = |icon: &ManifestIcon| match (theme, &icon.theme) {
        (Some(theme), Some(own)) => own.eq_ignore_ascii_case(theme),
        (None, own) => own.is_none(),
        (Some(_), None) => false,
    };
    let tiers: [&dyn Fn(&ManifestIcon) -> bool; 3] = [&asked, &|icon| icon.theme.is_none(), &|_| true];
    let tier = tiers.into_iter().find(|fits| icons.iter().any(fits))?;
    // The first of several that are as good.
    icons.iter().filter(|icon| tier(icon)).min_by_key(|icon| {
        let area = icon.size.map_or(0, PixelSize::area);
        let large = side.is_some_and(|side| icon.size.is_some_and(|size| size.covers(side)));
        (!large, if large { area } else { 0 }, Reverse(area))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn icon(src: &str) -> ManifestIcon {
        let (size, theme) = src.split_once(' ').unwrap_or((src, ""));
        let theme = (!theme.is_empty()).then(|| theme.into());
        ManifestIcon { src: src.into(), size: PixelSize::parse(size), theme }
    }

    fn check(icons: &[&str], theme: Option<&str>, side: Option<u32>, expected: &str) {
        let icons: Vec<ManifestIcon> = icons.iter().map(|src| icon(src)).collect();
        assert_eq!(
            choose_icon(&icons, theme, side).map(|icon| &*icon.src),
            Some(expected),
            "{theme:?} {side:?}"
        );
    }

    #[test]
    fn an_icon_is_chosen_by_theme_and_then_by_size() {
        let icons = ["16x16 light", "64x64 light", "32x32", "16x16 dark", "512x512"];
        check(&icons, Some("dark"), Some(24), "16x16 dark");
        check(&icons, Some("Light"), Some(16), "16x16 light");
        check(&icons, Some("light"), Some(17), "64x64 light");
        check(&icons, Some("contrast"), Some(33), "512x512");
        check(&icons, None, Some(10), "32x32");
        check(&icons, None, Some(1000), "512x512");
        check(&icons, Some("light"), None, "64x64 light");
        check(&["16x16 light", "32x32 dark"], None, Some(20), "32x32 dark");
        check(&["16x16 light", "32x32 dark"], Some("sepia"), None, "32x32 dark");
    }

    #[test]
    fn both_sides_must_be_large_enough_and_the_unknown_comes_last() {
        check(&["100x10", "40x40", "20x20"], None, Some(30), "40x40");
        check(&["100x10", "20x20"], None, Some(30), "100x10");
        check(&["unknown", "20x20"], None, Some(30), "20x20");
        check(&["unknown"], None, Some(30), "unknown");
        assert_eq!(choose_icon(&[], None, None), None);
        assert_eq!(PixelSize::parse("99999999999x1"), None);
    }
}
