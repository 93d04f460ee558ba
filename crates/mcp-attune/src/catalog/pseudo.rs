//! Texts that look translated and can still be read, to see what cannot be translated yet.
//!
//! 1. Letters get accents and vowels are doubled, so that text is as much longer as in other languages and missing
//!    characters are seen; or words are turned round, as in languages that are written from right to left.
//! 2. Every text stands in brackets: where one is missing, text was cut; where two meet, it was put together.
//! 3. Variables, functions, plural forms, names, addresses and code stay as they are.
//!
//! Rules: L8, L11.

use super::draft::LocaleFileDraft;
use super::locale_file::ParsedLocaleFile;
use super::verbatim::VerbatimNames;
use crate::language::Tag;
use crate::messages::map_fixed_text;

/// How a text is changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PseudoLocale {
    /// With accents and longer: `en-XA`.
    Accented,
    /// Turned round: `ar-XB`.
    Mirrored,
}

impl PseudoLocale {
    /// What a tag stands for: the region `XA` for accents, `XB` for words that are turned round; none otherwise.
    ///
    /// ```
    /// use mcp_attune::catalog::PseudoLocale;
    /// use mcp_attune::language::Tag;
    ///
    /// assert_eq!(PseudoLocale::of(&Tag::parse("en-XA").unwrap()), Some(PseudoLocale::Accented));
    /// assert_eq!(PseudoLocale::of(&Tag::parse("ar-XB").unwrap()), Some(PseudoLocale::Mirrored));
    /// assert_eq!(PseudoLocale::of(&Tag::parse("de-CH").unwrap()), None);
    /// ```
    #[must_use]
    pub fn of(tag: &Tag) -> Option<Self> {
        let is = |region: &str| tag.as_str().split('-').skip(1).any(|it| it.eq_ignore_ascii_case(region));
        if is("XA") {
            Some(Self::Accented)
        } else if is("XB") {
            Some(Self::Mirrored)
        } else {
            None
        }
    }

    fn change_words(self, text: &str) -> String {
        match self {
            Self::Accented => text.chars().flat_map(accented).collect(),
            Self::Mirrored => {
                let mut out = String::new();
                for word in text.split_inclusive(char::is_whitespace) {
                    let bare = word.trim_end();
                    if bare.chars().any(char::is_alphanumeric) {
                        // Marks around it keep the direction from spreading to its neighbours.
                        out.extend(["\u{200f}\u{202e}", bare, "\u{202c}\u{200f}"]);
                    } else {
                        out.push_str(bare);
                    }
                    out.push_str(word.get(bare.len()..).unwrap_or_default());
                }
                out
            }
        }
    }

    /// A text, but for what machines read in it.
    fn change_text(self, text: &str, names: &VerbatimNames<'_>) -> String {
        let (mut out, mut at) = (String::new(), 0);
        for range in names.find(text) {
            out += &self.change_words(text.get(at..range.start).unwrap_or_default());
            out += text.get(range.clone()).unwrap_or_default();
            at = range.end;
        }
        out + &self.change_words(text.get(at..).unwrap_or_default())
    }
}

/// The file of a pseudo-locale, made of the file of the default language.
///
/// ```
/// use mcp_attune::catalog::{PseudoLocale, ParsedLocaleFile, pseudo_localize};
///
/// let file = r#"{"messages":{"m":{"source":"Ask {name}","text":"Ask { $name }"}}}"#;
/// let (sheet, _) = ParsedLocaleFile::read(file.as_bytes()).unwrap();
/// let (made, _) = ParsedLocaleFile::read(pseudo_localize(&sheet, PseudoLocale::Accented).as_bytes()).unwrap();
/// assert_eq!(&*made.entries().next().unwrap().text, "⟦Ååšķ { $name }⟧");
/// ```
#[must_use]
pub fn pseudo_localize(default: &ParsedLocaleFile, how: PseudoLocale) -> String {
    let names = VerbatimNames::of(default);
    let mut draft = LocaleFileDraft::default();
    for line in default.entries() {
        let mut path = line.path.names();
        let text = match (path.next(), path.next()) {
            (Some("messages"), Some(key)) => {
                match map_fixed_text(&line.text, |text| how.change_text(text, &names)) {
                    // A term is a part of other messages.
                    Some(told) if key.starts_with('-') => told,
                    Some(told) => format!("⟦{told}⟧"),
                    // It cannot be used as it is either.
                    None => line.text.to_string(),
                }
            }
            _ if line.path.as_value().is_some() => map_fixed_text(&line.text, |text| how.change_words(text))
                .map_or_else(|| line.text.to_string(), |told| format!("⟦{told}⟧")),
            _ => format!("⟦{}⟧", how.change_text(&line.text, &names)),
        };
        draft.copy(line, &text);
    }
    draft.write()
}

/// A letter with an accent, vowels twice.
fn accented(it: char) -> impl Iterator<Item = char> {
    const PLAIN: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const ACCENTED: &str = "åƀçðéƒĝĥîĵķļɱñöþǫŕšţûṽŵẋýžÅƁÇÐÉƑĜĤÎĴĶĻṀÑÖÞǪŔŠŢÛṼŴẊÝŽ";
    let letter =
        PLAIN.chars().zip(ACCENTED.chars()).find(|(plain, _)| *plain == it).map(|(_, letter)| letter);
    let letter = letter.unwrap_or(it);
    // In small letters, so that a capital stays one.
    let more = "aeiouAEIOU".contains(it).then(|| letter.to_lowercase().next().unwrap_or(letter));
    [Some(letter), more].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::super::lint::lint;
    use super::super::locale::CompiledLocale;
    use super::*;

    const FILE: &str = r#"{"server":{"title":"Travel"},"tools":{"book_seat":{"title":"Book","description":"See find_connections at https://example.com/a: `U to date`, {id}"}},
        "messages":{"seats":{"source":"{n} seats in {city}","text":"{ $n ->\n    [one] One seat, NUMBER 1\n   *[other] { NUMBER($n) } seats\n} in { -city }"},
        "-city":{"text":"{ $city ->\n    [Bern] Berne\n   *[other] { $city }\n}"},"broken":{"text":"{"}}}"#;

    fn made(how: PseudoLocale) -> Vec<String> {
        let (sheet, _) = ParsedLocaleFile::read(FILE.as_bytes()).unwrap();
        let (made, findings) = ParsedLocaleFile::read(pseudo_localize(&sheet, how).as_bytes()).unwrap();
        assert_eq!(findings, []);
        made.entries().map(|line| line.text.to_string()).collect()
    }

    #[test]
    fn what_machines_read_stays() {
        assert_eq!(
            made(PseudoLocale::Accented),
            [
                "⟦Ţŕååṽééļ⟧",
                "⟦Ɓööööķ⟧",
                "⟦Šéééé find_connections ååţ https://example.com/a: `U to date`, {id}⟧",
                "⟦{ $n ->\n    [one] Ööñéé šééååţ, ÑÛûṀƁÉéŔ 1\n   *[other] { NUMBER($n) } šééååţš\n} îîñ { -city }⟧",
                "{ $city ->\n    [Bern] Ɓééŕñéé\n   *[other] { $city }\n}",
                "{",
            ]
        );
        let mirrored = made(PseudoLocale::Mirrored);
        assert_eq!(mirrored[0], "⟦\u{200f}\u{202e}Travel\u{202c}\u{200f}⟧");
        assert!(
            mirrored[3].contains("[one] \u{200f}\u{202e}One\u{202c}\u{200f} \u{200f}"),
            "{}",
            mirrored[3]
        );
    }

    #[test]
    fn what_is_made_is_a_translation_that_nothing_is_wrong_with() {
        let file = FILE.replace(r#","broken":{"text":"{"}"#, "");
        let (sheet, _) = ParsedLocaleFile::read(file.as_bytes()).unwrap();
        for tag in ["en-XA", "ar-XB"] {
            let tag = Tag::parse(tag).unwrap();
            let written = pseudo_localize(&sheet, PseudoLocale::of(&tag).unwrap());
            let (made, _) = ParsedLocaleFile::read(written.as_bytes()).unwrap();
            assert_eq!(CompiledLocale::new(tag.clone(), &made).1, []);
            assert_eq!(lint(&tag, &made, Some(&sheet)), []);
        }
    }
}
