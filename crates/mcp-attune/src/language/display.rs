//! A language as people see it: what its speakers call it, and where its lines begin.

use icu_locale::names::{LanguageIdentifierDisplayName, LanguageIdentifierDisplayNameOptions};
use icu_locale::{LanguageIdentifier, Locale, LocaleDirectionality};

use super::alias::canonical_tag as canonical;
use super::tag::Tag;

/// Where the lines of a language begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextDirection {
    /// At the left, as in most scripts.
    LeftToRight,
    /// At the right, as in Arabic and Hebrew.
    RightToLeft,
}

/// Where the lines of a language begin, by its script or, where it names none, the script it is most likely written in.
///
/// Rules: L4.
///
/// ```
/// use mcp_attune::language::{TextDirection, Tag, text_direction};
///
/// let of = |tag| text_direction(&Tag::parse(tag).unwrap());
/// assert_eq!(of("ur"), TextDirection::RightToLeft);
/// assert_eq!(of("az"), TextDirection::LeftToRight);
/// assert_eq!(of("az-IR"), TextDirection::RightToLeft);
/// ```
#[must_use]
pub fn text_direction(tag: &Tag) -> TextDirection {
    let found = identifier(tag).and_then(|id| const { LocaleDirectionality::new_extended() }.get(&id));
    match found {
        Some(icu_locale::Direction::RightToLeft) => TextDirection::RightToLeft,
        _ => TextDirection::LeftToRight,
    }
}

/// What the speakers of a language call it, its country included; none where CLDR does not know.
///
/// ```
/// use mcp_attune::language::{Tag, native_name};
///
/// let of = |tag| native_name(&Tag::parse(tag).unwrap());
/// assert_eq!(of("es-UY").as_deref(), Some("español (Uruguay)"));
/// assert_eq!(of("ar").as_deref(), Some("العربية"));
/// assert_eq!(of("tlh"), None);
/// ```
#[must_use]
pub fn native_name(tag: &Tag) -> Option<String> {
    let id = identifier(tag)?;
    let code = id.language;
    let options = LanguageIdentifierDisplayNameOptions::default();
    // The smallest of its tables is the one in which each language knows its own name.
    let name =
        LanguageIdentifierDisplayName::try_new_tiny(Locale::from(id.clone()).into(), id, options).ok()?;
    let text = name.as_borrowed().to_string();
    // A name that is not known is the code.
    let first = text.split([' ', '-']).next();
    (first != Some(code.as_str())).then_some(text)
}

/// The language without its extensions, which say neither.
fn identifier(tag: &Tag) -> Option<LanguageIdentifier> {
    let name = canonical(tag.as_str());
    let name: Vec<_> = name.split('-').take_while(|subtag| subtag.len() > 1).collect();
    LanguageIdentifier::try_from_str(&name.join("-")).ok().filter(|id| !id.language.is_unknown())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(text: &str) -> Tag {
        Tag::parse(text).unwrap()
    }

    #[test]
    fn lines_begin_where_the_script_says() {
        for rtl in
            ["ar", "he", "iw", "fa-AF", "dv", "syr", "nqo", "ff-Adlm", "rhg", "en-Arab", "ar-XB", "pa-PK"]
        {
            assert_eq!(text_direction(&tag(rtl)), TextDirection::RightToLeft, "{rtl}");
        }
        for ltr in ["en", "zh-Hant", "ff", "ar-Latn", "pa", "tlh", "x-private", "i-default", "qqq", "und"] {
            assert_eq!(text_direction(&tag(ltr)), TextDirection::LeftToRight, "{ltr}");
        }
    }

    #[test]
    fn a_language_is_called_what_its_speakers_call_it() {
        for (asked, name) in [
            ("de", Some("Deutsch")),
            ("de-u-co-phonebk", Some("Deutsch")),
            ("ja", Some("日本語")),
            ("he", Some("עברית")),
            ("iw", Some("עברית")),
            ("qqq", None),
            ("x-private", None),
        ] {
            assert_eq!(native_name(&tag(asked)).as_deref(), name, "{asked}");
        }
    }
}
