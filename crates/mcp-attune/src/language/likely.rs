//! Likely subtags: the script and region that a language most probably has, from ICU4X's copy of CLDR.

use icu_locale::subtags::{Language, Region, Script};
use icu_locale::{LanguageIdentifier, LocaleExpander};

use super::subtag::{LocaleNode, Subtag};

/// Fills in the script and region that the data know for a language; what is unknown stays none.
pub(super) fn maximize(node: LocaleNode) -> LocaleNode {
    let Some(language) = read(node.language, |text| Language::try_from_utf8(text).ok()) else {
        return node;
    };
    if language.is_unknown() {
        return node;
    }
    let mut id = LanguageIdentifier {
        language,
        script: read(node.script, |text| Script::try_from_utf8(text).ok()),
        region: read(node.region, |text| Region::try_from_utf8(text).ok()),
        ..LanguageIdentifier::UNKNOWN
    };
    const { LocaleExpander::new_extended() }.maximize(&mut id);
    LocaleNode {
        language: node.language,
        script: node.script.or(id.script.map_or(Subtag::NONE, |script| Subtag::new(script.as_str()))),
        region: node.region.or(id.region.map_or(Subtag::NONE, |region| Subtag::new(region.as_str()))),
    }
}

fn read<T>(subtag: Subtag, parse: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    let (bytes, length) = (subtag.to_bytes(), subtag.len());
    parse(bytes.get(..length)?)
}

#[cfg(test)]
mod tests {
    use super::super::subtag::n;
    use super::*;

    #[test]
    fn fills_in_script_and_region() {
        for (given, full) in [
            (n("zh", "", "tw"), n("zh", "hant", "tw")),
            (n("zh", "", ""), n("zh", "hans", "cn")),
            (n("sr", "", "me"), n("sr", "latn", "me")),
            (n("zh", "hant", ""), n("zh", "hant", "tw")),
            (n("gsw", "", ""), n("gsw", "latn", "ch")),
            (n("es", "", "419"), n("es", "latn", "419")),
        ] {
            assert_eq!(maximize(given), full);
        }
    }

    #[test]
    fn leaves_alone_what_it_does_not_know() {
        for unknown in [n("und", "", "tw"), n("x", "", ""), n("qqq", "", ""), n("klingons", "", "us")] {
            assert_eq!(maximize(unknown), unknown);
        }
    }
}
