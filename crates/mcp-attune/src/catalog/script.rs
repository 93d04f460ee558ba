//! The scripts of a text, and those that a language is written in.

use icu_locale::{LanguageIdentifier, LocaleExpander};
use icu_properties::props::Script;
use icu_properties::{CodePointMapData, PropertyNamesLong};

use crate::language::{Tag, canonical};

/// The scripts that a language is written in; none where nothing is known about the language.
pub(super) fn of(tag: &Tag) -> Option<&'static [Script]> {
    let name = canonical(tag.as_str());
    // Extensions say nothing about it.
    let name: Vec<_> = name.split('-').take_while(|subtag| subtag.len() > 1).collect();
    let mut id = LanguageIdentifier::try_from_str(&name.join("-")).ok()?;
    const { LocaleExpander::new_extended() }.maximize(&mut id);
    Some(match id.script?.as_str() {
        "Jpan" => &[Script::Han, Script::Hiragana, Script::Katakana],
        "Kore" => &[Script::Hangul, Script::Han],
        "Hans" | "Hant" | "Hani" => &[Script::Han, Script::Bopomofo],
        "Arab" => &[Script::Arabic],
        "Armn" => &[Script::Armenian],
        "Beng" => &[Script::Bengali],
        "Cyrl" => &[Script::Cyrillic],
        "Deva" => &[Script::Devanagari],
        "Geor" => &[Script::Georgian],
        "Grek" => &[Script::Greek],
        "Gujr" => &[Script::Gujarati],
        "Guru" => &[Script::Gurmukhi],
        "Hebr" => &[Script::Hebrew],
        "Knda" => &[Script::Kannada],
        "Khmr" => &[Script::Khmer],
        "Laoo" => &[Script::Lao],
        "Latn" => &[Script::Latin],
        "Mlym" => &[Script::Malayalam],
        "Mymr" => &[Script::Myanmar],
        "Orya" => &[Script::Oriya],
        "Sinh" => &[Script::Sinhala],
        "Taml" => &[Script::Tamil],
        "Telu" => &[Script::Telugu],
        "Thaa" => &[Script::Thaana],
        "Thai" => &[Script::Thai],
        "Tibt" => &[Script::Tibetan],
        // Of the others it is not said what is foreign to them.
        _ => &[],
    })
}

/// A word that looks as if it were of one alphabet and is of two: a Latin `a` among Cyrillic letters.
pub(super) fn mixed_word(text: &str) -> Option<&str> {
    words(text).find(|word| {
        let mut seen = word.chars().map(script).filter(|it| LOOKALIKE_SCRIPTS.contains(it));
        let first = seen.next();
        // `kΩ` and `Δt` are no mistake.
        word.chars().count() > 2 && seen.any(|other| Some(other) != first)
    })
}

/// A script that is neither Latin nor among these, where a word has at least two letters of it: `5 kΩ` is no Greek.
pub(super) fn foreign_script(text: &str, known: &[Script]) -> Option<Script> {
    words(text).find_map(|word| {
        let mut strange = word.chars().map(script).filter(|it| *it != Script::Latin && !known.contains(it));
        let first = strange.next()?;
        strange.next().map(|_| first)
    })
}

/// The scripts in a text.
pub(super) fn scripts_in(text: &str) -> Vec<Script> {
    words(text).flat_map(str::chars).map(script).collect()
}

/// What a script is called in English.
pub(super) fn name(script: Script) -> &'static str {
    PropertyNamesLong::<Script>::new().get(script).unwrap_or("another")
}

/// Alphabets with letters that look the same.
const LOOKALIKE_SCRIPTS: &[Script] = &[Script::Latin, Script::Cyrillic, Script::Greek];

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it| !is_letter(it)).filter(|word| !word.is_empty())
}

fn is_letter(it: char) -> bool {
    it.is_alphabetic() && !matches!(script(it), Script::Common | Script::Inherited)
}

fn script(it: char) -> Script {
    const { CodePointMapData::<Script>::new() }.get(it)
}
