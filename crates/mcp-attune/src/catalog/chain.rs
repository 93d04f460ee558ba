//! Where a text is looked for: the chosen language, then its relatives.

use core::fmt;
use core::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use jiff::tz::TimeZone;

use super::locale::Locale;
use super::slot::Slot;
use crate::format::{Format, Formatters};
use crate::language::Tag;
use crate::messages::{Arguments, Voice};

/// The files that serve one caller, the chosen language first.
///
/// Rules: L7, L8.
#[derive(Clone)]
pub struct Chain {
    chosen: Tag,
    links: Vec<Link>,
    formatters: Formatters,
    values: Format,
}

#[derive(Clone)]
struct Link {
    locale: Arc<Locale>,
    /// What the plural forms of its language are, made when first needed.
    words: OnceLock<Format>,
}

/// All that the texts of a chain depend on.
#[derive(Clone, Debug)]
pub struct ChainKey {
    chosen: Tag,
    /// The very files that it was made of, in their order.
    files: Vec<Arc<Locale>>,
    formatters: Formatters,
    locale: Box<str>,
    zone: TimeZone,
}

impl PartialEq for ChainKey {
    fn eq(&self, other: &Self) -> bool {
        let Self { chosen, files, formatters, locale, zone } = self;
        *chosen == other.chosen
            && files.len() == other.files.len()
            && files.iter().zip(&other.files).all(|(one, other)| Arc::ptr_eq(one, other))
            && formatters.is_same(&other.formatters)
            && *locale == other.locale
            && *zone == other.zone
    }
}

impl Eq for ChainKey {}

impl Hash for ChainKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.chosen, &self.locale, self.zone.iana_name()).hash(state);
        self.files.iter().for_each(|file| Arc::as_ptr(file).hash(state));
    }
}

/// A message in the language that has it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Said {
    /// The text.
    pub text: String,
    /// The language of the file that it came from.
    pub language: Tag,
}

impl Chain {
    /// The files in the order of [`Catalogs::wanted`](super::Catalogs::wanted), and how the caller writes numbers and dates.
    /// A file that could not be loaded is left out.
    #[must_use]
    pub fn new(
        chosen: &Tag,
        locales: impl IntoIterator<Item = Arc<Locale>>,
        formatters: &Formatters,
        values: Format,
    ) -> Self {
        let links = locales.into_iter().map(|locale| Link { locale, words: OnceLock::new() }).collect();
        Self { chosen: chosen.clone(), links, formatters: formatters.clone(), values }
    }

    /// What the texts of this chain depend on: two chains with the same key have the same texts.
    #[must_use]
    pub fn key(&self) -> ChainKey {
        let Self { chosen, links, formatters, values } = self;
        ChainKey {
            chosen: chosen.clone(),
            // What the plural forms of a link are follows from its file and the formatters.
            files: links.iter().map(|Link { locale, words: _ }| Arc::clone(locale)).collect(),
            formatters: formatters.clone(),
            locale: values.locale().into(),
            zone: values.zone().clone(),
        }
    }

    /// The language that was chosen: what is reported of text from any of the files.
    #[must_use]
    pub fn chosen(&self) -> &Tag {
        &self.chosen
    }

    /// Whether there is no file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// The text of a slot as a JSON string, quotes included.
    #[must_use]
    pub fn find(&self, slot: Slot<'_>) -> Option<&str> {
        self.links.iter().find_map(|link| link.locale.find(slot))
    }

    /// What the caller gets for what a server says.
    #[must_use]
    pub fn live(&self, text: &str) -> Option<String> {
        self.links.iter().find_map(|link| link.locale.messages().live(text, self.voice(link)))
    }

    /// What people read in the place of a value of a result field. Returns `None` where no file translates it.
    ///
    /// Rules: L22.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jiff::tz::TimeZone;
    /// # use mcp_attune::catalog::{Chain, Locale};
    /// # use mcp_attune::language::Tag;
    /// # let german = Tag::parse("de").unwrap();
    /// # let file = br#"{"tools":{"get_weather":{"output":{"wind":{"values":{"northwest":"Nordwest","{n} days late":"{ $n } Tage zu sp\u00e4t"}}}}}}"#;
    /// # let (locale, _) = Locale::read(german.clone(), file).unwrap();
    /// # let formatters = mcp_attune_format::formatters(&german);
    /// # let chain = Chain::new(&german, [Arc::new(locale)], &formatters, formatters.format([], TimeZone::UTC));
    /// assert_eq!(chain.value("get_weather", "wind", "northwest").as_deref(), Some("Nordwest"));
    /// assert_eq!(chain.value("get_weather", "wind", "3 days late").as_deref(), Some("3 Tage zu spät"));
    /// assert_eq!(chain.value("get_weather", "sky", "northwest"), None);
    /// ```
    #[must_use]
    pub fn value(&self, tool: &str, field: &str, text: &str) -> Option<String> {
        self.links.iter().find_map(|link| link.locale.values(tool, field)?.live(text, self.voice(link)))
    }

    /// Whether any value of a tool's results is translated: where none is, results need not be gone through.
    #[must_use]
    pub fn has_values(&self, tool: &str) -> bool {
        self.links.iter().any(|link| link.locale.has_values(tool))
    }

    /// The message of a key, for servers that write their own text.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jiff::tz::TimeZone;
    /// # use mcp_attune::catalog::{Chain, Locale};
    /// # use mcp_attune::language::Tag;
    /// use mcp_attune::messages::Arguments;
    ///
    /// # let german = Tag::parse("de").unwrap();
    /// # let file = br#"{"messages":{"seats":{"text":"{ $n ->\n [one] Ein Platz\n *[other] { $n } Pl\u00e4tze\n} nach { $city }"}}}"#;
    /// # let (locale, _) = Locale::read(german.clone(), file).unwrap();
    /// # let formatters = mcp_attune_format::formatters(&german);
    /// # let chain = Chain::new(&german, [Arc::new(locale)], &formatters, formatters.format([], TimeZone::UTC));
    /// let said = chain.text("seats", &Arguments::new().number("n", 2).text("city", "Bern")).unwrap();
    /// assert_eq!(said.text, "2 Plätze nach Bern");
    /// assert_eq!(chain.text("no-such-key", &Arguments::new()), None);
    /// ```
    #[must_use]
    pub fn text(&self, key: &str, arguments: &Arguments<'_>) -> Option<Said> {
        self.links.iter().find_map(|link| {
            let text = link.locale.messages().text(key, arguments, self.voice(link))?;
            Some(Said { text, language: link.locale.tag().clone() })
        })
    }

    fn voice<'a>(&'a self, link: &'a Link) -> Voice<'a> {
        let words = link.words.get_or_init(|| self.formatters.format([link.locale.tag()], TimeZone::UTC));
        Voice { words, values: &self.values }
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let locales: Vec<_> = self.links.iter().map(|link| link.locale.tag()).collect();
        f.debug_struct("Chain")
            .field("chosen", &self.chosen)
            .field("locales", &locales)
            .finish_non_exhaustive()
    }
}
