//! Chooses the CLDR locale that a value is formatted for.
//!
//! 1. Of the tags that are asked for in turn, the first whose language CLDR has data for; then the server's
//!    default; then English.
//! 2. A language is looked up by its canonical name: `iw` is `he`, `zh-yue` is `yue`.
//! 3. Subtags that CLDR does not know are left to its inheritance: `es-UY` is formatted as `es-419` where it
//!    has no data of its own, `de-ZZ` as `de`.
//! 4. Of the Unicode extensions, only the numbering system (`nu`) and the hour cycle (`hc`) are followed. The
//!    calendar is always the Gregorian one, so that a date says the same to everyone. Variants and all other
//!    extensions are dropped.
//!
//! Rules: C6.

use icu_locale::extensions::unicode::key;
use icu_locale::{Locale, locale};

use crate::experimental::is_known_language;
use mcp_attune::language::{self, Tag};

/// A locale whose language CLDR has data for, reduced to the subtags that formatting depends on.
#[derive(Clone, Debug)]
pub(crate) struct KnownLocale {
    /// The locale as ICU takes it: language, script, region, and at most the extensions `nu` and `hc`.
    pub(crate) locale: Locale,
    /// The same locale as a BCP 47 tag. It is the part of a formatter's cache key that names the locale, so two
    /// callers whose tags differ only in what was dropped share their formatters.
    pub(crate) name: Box<str>,
}

impl KnownLocale {
    /// Returns the first of these tags that CLDR knows the language of. `None` means that the caller of this
    /// function has to use its default.
    pub(crate) fn first_known<'a>(tags: impl IntoIterator<Item = &'a Tag>) -> Option<Self> {
        tags.into_iter().find_map(Self::from_tag)
    }

    pub(crate) fn english() -> Self {
        Self::new(locale!("en"))
    }

    fn new(locale: Locale) -> Self {
        let name = locale.to_string().into();
        Self { locale, name }
    }

    /// Canonicalizes a tag, drops what formatting does not follow (rule 4), and returns `None` if CLDR has no
    /// data for its language.
    fn from_tag(tag: &Tag) -> Option<Self> {
        let asked = parse_prefix(&language::canonical(tag.as_str()))?;
        let mut locale = Locale::from(asked.id);
        locale.id.variants.clear();
        locale.extensions.unicode.keywords = asked.extensions.unicode.keywords;
        locale.extensions.unicode.keywords.retain_by_key(|key| *key == key!("nu") || *key == key!("hc"));
        is_known_language(&locale).then(|| Self::new(locale))
    }
}

/// Parses the longest prefix of a tag, cut at hyphens, that ICU can parse as a locale. BCP 47 allows some tags
/// that ICU does not parse; no format depends on what follows the prefix. Returns `None` if not even the first
/// subtag can be parsed.
fn parse_prefix(mut text: &str) -> Option<Locale> {
    loop {
        if let Ok(locale) = Locale::try_from_str(text) {
            return Some(locale);
        }
        (text, _) = text.rsplit_once('-')?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let tag = Tag::parse(text).unwrap();
        assert_eq!(
            KnownLocale::first_known([&tag]).map(|known| known.name.into()),
            expected.map(str::to_owned),
            "{text}"
        );
    }

    #[test]
    fn knows_what_cldr_knows() {
        for text in [
            "en", "de-CH", "zh-Hant", "zh-TW", "es-419", "es-UY", "ar-EG", "fa-IR", "th", "hi", "pl", "sv",
            "nb", "yue", "sr-Latn", "fil", "pt-AO", "ca", "rm", "cy", "sw", "am", "he",
        ] {
            check(text, Some(text));
        }
    }

    #[test]
    fn goes_by_canonical_names() {
        check("iw", Some("he"));
        check("zh-yue-HK", Some("yue-HK"));
        check("no", Some("nb"));
        check("sh", Some("sr-Latn"));
    }

    #[test]
    fn knows_no_language_without_data() {
        for text in ["tlh", "i-klingon", "x-whatever", "und", "und-CH", "mul", "qaa", "zxx", "art-lojban"] {
            check(text, None);
        }
    }

    #[test]
    fn keeps_the_numbering_system_and_the_hour_cycle_only() {
        check("DE-ch-1996-u-ca-buddhist-co-phonebk-nu-thai-x-private", Some("de-CH-u-nu-thai"));
        check("en-u-hc-h23-rg-gbzzzz", Some("en-u-hc-h23"));
        check("fr-t-en-u-attr-nu-latn", Some("fr-u-nu-latn"));
        check("de-ZZ", Some("de-ZZ"));
    }
}
