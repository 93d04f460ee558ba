//! What a page calls its fields and says by itself: the trait that provides both, and the implementation without locale
//! files of a server.

use std::borrow::Cow;

pub use mcp_attune::words::PageWord;
use mcp_attune::words::PageWords;

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

/// Labels without locale files: fields are called as the schema says, and the words are Attune's own in a language.
///
/// ```
/// use mcp_attune_shape::render::{PageLabels, DefaultLabels, PageWord};
///
/// assert_eq!(DefaultLabels::new("fr-CH").word(PageWord::Yes), "oui");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DefaultLabels {
    words: &'static PageWords,
}

impl DefaultLabels {
    /// Makes labels for readers of a language, which is given by its tag. Readers of one that Attune does not speak
    /// get English words.
    #[must_use]
    pub fn new(language: &str) -> Self {
        Self { words: PageWords::in_language(language) }
    }
}

impl PageLabels for DefaultLabels {
    fn title(&self, _path: &str) -> Option<Cow<'_, str>> {
        None
    }

    fn description(&self, _path: &str) -> Option<Cow<'_, str>> {
        None
    }

    fn word(&self, word: PageWord) -> Cow<'_, str> {
        Cow::Borrowed(self.words.get(word))
    }
}
