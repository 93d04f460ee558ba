//! Attune's own words: what it says to callers itself, when it refuses a request or when a server fails, and the words of
//! the pages that it writes.
//!
//! 1. What is said is a [`Notice`], which has an id and arguments. Each language has a locale file here: `body-empty` is what
//!    is wrong, `body-empty-hint` what to do about it, and `with-hint` how the two are joined. Nothing is recognized by its
//!    text.
//! 2. Every file has every message; the tests name what is missing. So what is said is in one language.
//! 3. English stands twice: in the table of the notices, because `mcp-attune-wire` reads no files, and in `en.json`, which is
//!    what translators see. A test holds the two equal, byte by byte.
//! 4. A page has few words of its own ([`PageWord`]). They are messages of the same files, `page-yes` and so on.
//!
//! ```
//! use mcp_attune::{language::AcceptLanguage, words};
//! use mcp_attune_wire::{notice::Notice, reply::Reply};
//!
//! let reply = Reply::failed(503, Some("1"), Notice::ConnectionsTooMany);
//! let said = words::localize_reply(&reply, &AcceptLanguage::parse("de-CH").unwrap());
//! assert_eq!(said.content_language.as_deref(), Some("de"));
//! assert!(String::from_utf8_lossy(&said.text).contains("Verbindungen"));
//! ```
//!
//! Rules: L7, L10.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use jiff::tz::TimeZone;
use mcp_attune_wire::notice::{Notice, NoticeArgument};
use mcp_attune_wire::reply::Reply;

use crate::catalog::{EmbeddedLocales, LocaleChain, LocaleStore};
use crate::format::Formatters;
use crate::language::{AcceptLanguage, Tag, lookup};
use crate::localize::{LocalizedMessage, reword_answer};
use crate::messages::MessageArguments;

/// The files, by their tags.
pub const FILES: [(&str, &str); 12] = [
    ("ar", include_str!("ar.json")),
    ("de", include_str!("de.json")),
    ("en", include_str!("en.json")),
    ("es", include_str!("es.json")),
    ("fr", include_str!("fr.json")),
    ("hi", include_str!("hi.json")),
    ("it", include_str!("it.json")),
    ("ja", include_str!("ja.json")),
    ("ko", include_str!("ko.json")),
    ("pt-BR", include_str!("pt-BR.json")),
    ("zh-Hans", include_str!("zh-Hans.json")),
    ("zh-Hant", include_str!("zh-Hant.json")),
];

/// Joins what is wrong (`what`) and what to do (`hint`).
const WITH_HINT: &str = "with-hint";
/// Joins a value (`first`) and several others (`rest`) of which any one will do.
const LIST_OR: &str = "list-or";
/// Joins the last two of them.
const LIST_OR_LAST: &str = "list-or-last";

struct BuiltinLocales {
    files: EmbeddedLocales,
    formatters: Formatters,
    /// The words of pages, made when first needed.
    pages: HashMap<Tag, OnceLock<PageWords>>,
}

static BUILTIN_LOCALES: LazyLock<Option<BuiltinLocales>> = LazyLock::new(|| {
    let files = EmbeddedLocales::new(Tag::parse("en").ok()?, &FILES).ok()?;
    let tags = FILES.iter().filter_map(|(tag, _)| Tag::parse(tag).ok());
    let pages = tags.map(|tag| (tag, OnceLock::new())).collect();
    Some(BuiltinLocales { files, formatters: Formatters::default(), pages })
});

impl BuiltinLocales {
    /// The one of our languages that is preferred; English where none is.
    fn choose(&self, preference: &AcceptLanguage) -> Tag {
        lookup(preference, self.files.locale_index().languages()).language.clone()
    }

    fn chain(&self, chosen: &Tag) -> LocaleChain {
        let values = self.formatters.for_locales([chosen], TimeZone::UTC);
        LocaleChain::new(chosen, self.files.load(chosen), &self.formatters, values)
    }

    /// The words of pages in one of our languages.
    fn page_words(&self, language: &Tag) -> Option<&PageWords> {
        Some(self.pages.get(language)?.get_or_init(|| PageWords::read(&self.chain(language))))
    }
}

/// An answer of our own, in the language that its caller prefers. It stays as it is where there is no preference, or where
/// its words are not ours.
///
/// Rules: L7, L10.
#[must_use]
pub fn localize_reply<'r>(reply: &'r Reply, preference: &AcceptLanguage) -> LocalizedMessage<'r> {
    let body = reply.body.as_bytes();
    let reworded = || {
        let builtin = BUILTIN_LOCALES.as_ref().filter(|_| !preference.is_empty())?;
        let chosen = builtin.choose(preference);
        let text = render(&reply.notice, &builtin.chain(&chosen))?;
        Some((reword_answer(body, &text, &chosen)?, chosen.to_string()))
    };
    match reworded() {
        Some((text, language)) => {
            LocalizedMessage { text: Cow::Owned(text), content_language: Some(language) }
        }
        None => LocalizedMessage { text: Cow::Borrowed(body), content_language: None },
    }
}

/// A notice in the words of a chain: what is wrong, and what to do about it.
fn render(notice: &Notice, chain: &LocaleChain) -> Option<String> {
    let id = notice.id()?;
    let mut arguments = MessageArguments::new();
    for (name, argument) in notice.arguments() {
        arguments = match argument {
            NoticeArgument::Text(text) => arguments.text(name, text.to_owned()),
            NoticeArgument::Number(number) => arguments.number(name, number),
            NoticeArgument::Alternatives(values) => arguments.text(name, render_alternatives(values, chain)?),
            NoticeArgument::Notice(notice) => arguments.text(name, render(notice, chain)?),
        };
    }
    let what = chain.render_message(id, &arguments)?.text;
    if notice.hint().is_none() {
        return Some(what);
    }
    let hint = chain.render_message(&format!("{id}-hint"), &arguments)?.text;
    let both = MessageArguments::new().text("what", what).text("hint", hint);
    Some(chain.render_message(WITH_HINT, &both)?.text)
}

fn render_alternatives(values: &[String], chain: &LocaleChain) -> Option<String> {
    let mut values = values.iter().rev();
    let (mut list, mut joiner) = (values.next().cloned().unwrap_or_default(), LIST_OR_LAST);
    for first in values {
        let both = MessageArguments::new().text("first", first).text("rest", list);
        list = chain.render_message(joiner, &both)?.text;
        joiner = LIST_OR;
    }
    Some(list)
}

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
    /// All words.
    pub const ALL: [Self; 5] = [Self::Yes, Self::No, Self::None, Self::Empty, Self::NotShown];

    /// What the word is called in the locale files.
    const fn id(self) -> &'static str {
        match self {
            Self::Yes => "page-yes",
            Self::No => "page-no",
            Self::None => "page-none",
            Self::Empty => "page-empty",
            Self::NotShown => "page-not-shown",
        }
    }
}

/// The words of a page in one language.
///
/// ```
/// use mcp_attune::words::{PageWord, PageWords};
///
/// assert_eq!(PageWords::in_language("de-CH").get(PageWord::Yes), "ja");
/// assert_eq!(PageWords::in_language("zh-TW").get(PageWord::None), "無");
/// assert_eq!(PageWords::in_language("tlh").get(PageWord::No), "no");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageWords {
    yes: String,
    no: String,
    none: String,
    empty: String,
    not_shown: String,
}

/// Where there are no files, which a test says is never so.
static NO_PAGE_WORDS: PageWords = PageWords {
    yes: String::new(),
    no: String::new(),
    none: String::new(),
    empty: String::new(),
    not_shown: String::new(),
};

impl PageWords {
    /// The words for readers of a language, which is given by its tag: those of the language that [`lookup`] chooses among ours.
    #[must_use]
    pub fn in_language(language: &str) -> &'static Self {
        let found = || {
            let builtin = BUILTIN_LOCALES.as_ref()?;
            let preference = AcceptLanguage::parse(language).unwrap_or_default();
            builtin.page_words(&builtin.choose(&preference))
        };
        found().unwrap_or(&NO_PAGE_WORDS)
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, word: PageWord) -> &str {
        match word {
            PageWord::Yes => &self.yes,
            PageWord::No => &self.no,
            PageWord::None => &self.none,
            PageWord::Empty => &self.empty,
            PageWord::NotShown => &self.not_shown,
        }
    }

    fn read(chain: &LocaleChain) -> Self {
        let word = |word: PageWord| {
            let message = chain.render_message(word.id(), &MessageArguments::new());
            message.map(|message| message.text).unwrap_or_default()
        };
        Self {
            yes: word(PageWord::Yes),
            no: word(PageWord::No),
            none: word(PageWord::None),
            empty: word(PageWord::Empty),
            not_shown: word(PageWord::NotShown),
        }
    }
}

#[cfg(test)]
mod tests;
