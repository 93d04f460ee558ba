//! The few words that a page says by itself, in the languages that Attune speaks, and the trait that
//! provides them together with the labels of fields.

use std::borrow::Cow;

/// A word or phrase that a page says by itself, in the place of a value or beside it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageWord {
    /// Stands for `true`.
    Yes,
    /// Stands for `false`.
    No,
    /// Stands for `null`.
    None,
    /// Stands for `""`, `[]` and `{}`, and for strings of blanks.
    Empty,
    /// Begins the last line of a page that is full, before the number of values that had no room.
    NotShown,
}

impl PageWord {
    /// All words, in the order of the columns of the table of languages.
    pub const ALL: [Self; 5] = [Self::Yes, Self::No, Self::None, Self::Empty, Self::NotShown];
}

/// The tag of a language and its words, in the order of [`PageWord::ALL`].
type WordRow = (&'static str, [&'static str; 5]);

/// The words of every language that has no row.
const ENGLISH: WordRow = ("en", ["yes", "no", "none", "none", "Not shown"]);

/// One row for each language that Attune speaks. Regions share the row of their language; only Chinese
/// has a second one, for traditional characters.
const ROWS: [WordRow; 12] = [
    ENGLISH,
    ("ar", ["نعم", "لا", "غير محدد", "فارغ", "غير معروض"]),
    ("de", ["ja", "nein", "keine Angabe", "leer", "Nicht gezeigt"]),
    ("es", ["sí", "no", "sin datos", "vacío", "No se muestra"]),
    ("fr", ["oui", "non", "non renseigné", "vide", "Non affiché"]),
    ("hi", ["हाँ", "नहीं", "उपलब्ध नहीं", "खाली", "नहीं दिखाया गया"]),
    ("it", ["sì", "no", "non indicato", "vuoto", "Non mostrato"]),
    ("ja", ["はい", "いいえ", "なし", "空", "非表示"]),
    ("ko", ["예", "아니요", "없음", "비어 있음", "표시되지 않음"]),
    ("pt", ["sim", "não", "não informado", "vazio", "Não exibido"]),
    ("zh", ["是", "否", "无", "空", "未显示"]),
    ("zh-Hant", ["是", "否", "無", "空", "未顯示"]),
];

/// Returns a word in a language, which is given by its tag. Case counts, so the tag must be in its
/// canonical form (`zh-TW`), as [`ValueFormatter::locale`](mcp_attune::format::ValueFormatter::locale)
/// returns it.
///
/// Only the language counts, and for Chinese the script or region. Languages that Attune does not speak
/// get the English word.
///
/// ```
/// use mcp_attune_shape::render::{PageWord, page_word};
///
/// assert_eq!(page_word("de-CH", PageWord::Yes), "ja");
/// assert_eq!(page_word("zh-TW", PageWord::None), "無");
/// assert_eq!(page_word("tlh", PageWord::No), "no");
/// ```
#[must_use]
pub fn page_word(language: &str, word: PageWord) -> &'static str {
    let mut subtags = language.split('-');
    let first = subtags.next().unwrap_or_default();
    let traditional = first == "zh" && subtags.any(|subtag| matches!(subtag, "Hant" | "TW" | "HK" | "MO"));
    let wanted = if traditional { "zh-Hant" } else { first };
    let (_, words) = ROWS.iter().find(|(language, _)| *language == wanted).unwrap_or(&ENGLISH);
    let place = PageWord::ALL.iter().position(|one| *one == word).unwrap_or_default();
    words.get(place).copied().unwrap_or_default()
}

/// Labels of fields, translations of values, and the words of a page, in the language of one caller.
///
/// The locale files of a server are behind it where there are some; [`DefaultLabels`] is the
/// implementation without any.
///
/// A path is written as in locale files: `filter.city`, `stops[].name`, `*` for a member that the
/// schema describes only by `additionalProperties`, and `$defs.Place.lat` for what is inside of a
/// definition. The empty path is the whole result.
pub trait PageLabels {
    /// Returns what people call the field. With `None` the label is the title of the schema, or the
    /// name of the member made readable.
    fn title(&self, path: &str) -> Option<Cow<'_, str>>;

    /// Returns what the field is, for pages with `verbosity=verbose`. With `None` the description of
    /// the schema is used.
    fn description(&self, path: &str) -> Option<Cow<'_, str>>;

    /// Returns a word of the page in the caller's language.
    fn word(&self, word: PageWord) -> Cow<'_, str>;

    /// Returns the title of the tool in the caller's language, which is the heading of a result whose
    /// schema has a `title`. That `title` is mostly the name of a type, and in no language. With `None`
    /// it is made readable and used instead.
    fn heading(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns whether any value of the tool has a translation. If not, [`value`](Self::value) is never
    /// called, which saves a lookup for each string.
    fn has_values(&self) -> bool {
        false
    }

    /// Returns what people read in the place of a value of the field. `None` leaves the value as the
    /// server wrote it, and lets the path of the definition that the field is be tried.
    ///
    /// Rules: L22.
    fn value(&self, _path: &str, _value: &str) -> Option<String> {
        None
    }
}

/// Labels without locale files: fields are called as the schema says, and the words are those of a
/// language, which is given by its tag.
///
/// ```
/// use mcp_attune_shape::render::{PageLabels, DefaultLabels, PageWord};
///
/// assert_eq!(DefaultLabels("fr-CH").word(PageWord::Yes), "oui");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DefaultLabels<'a>(pub &'a str);

impl PageLabels for DefaultLabels<'_> {
    fn title(&self, _path: &str) -> Option<Cow<'_, str>> {
        None
    }

    fn description(&self, _path: &str) -> Option<Cow<'_, str>> {
        None
    }

    fn word(&self, one: PageWord) -> Cow<'_, str> {
        Cow::Borrowed(page_word(self.0, one))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_that_we_speak_has_every_word() {
        for (tag, _) in mcp_attune::words::FILES {
            for one in PageWord::ALL {
                let said = page_word(tag, one);
                assert!(!said.is_empty());
                let shared = matches!((tag, one), ("en", _) | ("es" | "it", PageWord::No));
                assert_eq!(said == page_word("en", one), shared, "{tag} {said}");
            }
        }
    }

    #[test]
    fn chinese_is_written_as_its_readers_write_it() {
        for (tag, expected) in [("zh", "无"), ("zh-CN", "无"), ("zh-Hant", "無")] {
            assert_eq!(page_word(tag, PageWord::None), expected, "{tag}");
        }
    }
}
