//! A bundle as users of one locale see it: its texts, and where each of them comes from.

use mcp_attune::language::{Tag, TextDirection, text_direction};
use mcp_attune_bundle::BundleFileName;

/// Reads a file of the bundle, of at most so many bytes; else says why it cannot.
pub(super) type BundleFileReader<'a> = &'a dyn Fn(&BundleFileName, usize) -> Result<Vec<u8>, String>;

/// What a page has at most of each kind; the rest is counted.
pub(super) const MAX_LISTED: usize = 100;
pub(super) const MAX_KEYWORDS: usize = 50;
/// Characters of a text, and of the one that is long.
pub(super) const MAX_TEXT_CHARS: usize = 1_000;
pub(super) const MAX_LONG_TEXT_CHARS: usize = 10_000;

/// A bundle as users of one locale see it.
#[derive(Debug)]
pub(super) struct PreviewLocaleView {
    /// None for the manifest alone, where it does not say what language it is in.
    pub(super) tag: Option<Tag>,
    pub(super) own_name: Option<String>,
    pub(super) file: LocaleTextLocation,
    /// The locales whose files are looked at, in this order.
    pub(super) row: Vec<Tag>,
    pub(super) display_name: PreviewText,
    pub(super) author: PreviewText,
    pub(super) description: PreviewText,
    pub(super) long_description: PreviewText,
    pub(super) keywords: PreviewText,
    pub(super) tools: Vec<(String, PreviewText)>,
    pub(super) prompts: Vec<(String, PreviewText)>,
    /// Tools and prompts that the page has no room for.
    pub(super) more: usize,
    pub(super) covered: PreviewCoverage,
}

/// Where the texts of a locale are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LocaleTextLocation {
    /// In a locale file, whatever else has some.
    File,
    /// In the manifest, which is in this language.
    Manifest,
    /// With others.
    Elsewhere,
}

/// A text and where it comes from; several for keywords.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PreviewText {
    pub(super) texts: Vec<String>,
    pub(super) origin: PreviewTextOrigin,
    /// The language that it is in, where that is known.
    pub(super) language: Option<Tag>,
}

/// Where a text comes from, as its reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PreviewTextOrigin {
    /// The locale's own file, or the manifest where that is in this language.
    Own,
    /// A relative: es-MX for es-UY.
    Relative(String),
    /// Another language.
    Foreign(String),
    /// There is none.
    Nowhere,
}

/// How many texts come from where, of those that the manifest has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PreviewCoverage {
    pub(super) own: usize,
    pub(super) relatives: usize,
    /// Those that are in another language.
    pub(super) missing: Vec<String>,
}

impl PreviewCoverage {
    pub(super) fn total(&self) -> usize {
        self.own + self.relatives + self.missing.len()
    }

    /// Rounded down, so that 100 means all.
    pub(super) fn percent(&self) -> usize {
        ((self.own + self.relatives) * 100).checked_div(self.total()).unwrap_or(100)
    }
}

impl PreviewLocaleView {
    /// What it goes by in the page; no tag is written so.
    pub(super) fn id(&self) -> &str {
        self.tag.as_ref().map_or("_manifest", Tag::as_str)
    }

    pub(super) fn direction(&self) -> &'static str {
        html_direction(self.tag.as_ref())
    }
}

/// As HTML writes a direction.
pub(super) fn html_direction(tag: Option<&Tag>) -> &'static str {
    match tag.map(text_direction) {
        Some(TextDirection::RightToLeft) => "rtl",
        Some(TextDirection::LeftToRight) => "ltr",
        None => "auto",
    }
}

/// A text, or its beginning.
pub(super) fn truncated(text: &str, most: usize) -> String {
    let mut cut: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        cut.push('…');
    }
    cut
}
