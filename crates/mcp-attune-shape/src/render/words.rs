//! The few words that stand in the place of a value, in the languages that Attune speaks.

use std::borrow::Cow;

/// What a page says by itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageWord {
    /// `true`
    Yes,
    /// `false`
    No,
    /// `null`
    None,
    /// `""`, `[]` and `{}`
    Empty,
    /// What stands before the number of values that had no room.
    NotShown,
}

impl PageWord {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] = [Self::Yes, Self::No, Self::None, Self::Empty, Self::NotShown];
}

/// In the order of [`PageWord::ALL`].
type WordRow = (&'static str, [&'static str; 5]);

const ENGLISH: WordRow = ("en", ["yes", "no", "none", "none", "Not shown"]);

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

/// The word in a language, by its tag; in English where the language is none of ours.
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

/// What fields are called, and our own words, as the caller reads them.
///
/// A path is written as in locale files: `filter.city`, `stops[].name`, `*` for a member that the schema does not name,
/// `$defs.Place.lat` for what is inside a definition. The empty path is the whole result.
pub trait PageLabels {
    /// What people call the field; none where the schema's own title or the name has to do.
    fn title(&self, path: &str) -> Option<Cow<'_, str>>;

    /// What the field is; none where the schema's own description has to do.
    fn description(&self, path: &str) -> Option<Cow<'_, str>>;

    /// A word in the caller's language.
    fn word(&self, word: PageWord) -> Cow<'_, str>;

    /// What stands above a result whose schema has a title, which is the name of a type and in no language: what the
    /// caller's language calls the tool.
    fn heading(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Whether any value has a translation: without one, values are not looked up.
    fn has_values(&self) -> bool {
        false
    }

    /// What people read in the place of a value of the field. Returns `None` where it stays as the server wrote it.
    ///
    /// Rules: L22.
    fn value(&self, _path: &str, _value: &str) -> Option<String> {
        None
    }
}

/// No labels but what the schema says, and the words of a language, by its tag.
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
