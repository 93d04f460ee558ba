//! Where a text is looked for: the chosen language, then its relatives.

use core::fmt;
use core::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use jiff::tz::TimeZone;

use super::locale::CompiledLocale;
use super::slot::TextSlot;
use crate::format::{Formatters, ValueFormatter};
use crate::language::Tag;
use crate::messages::{MessageArguments, MessageFormats};

/// The files that serve one caller, the chosen language first.
///
/// Rules: L7, L8.
#[derive(Clone)]
pub struct LocaleChain {
    chosen: Tag,
    links: Vec<LocaleChainLink>,
    formatters: Formatters,
    values: ValueFormatter,
}

#[derive(Clone)]
struct LocaleChainLink {
    locale: Arc<CompiledLocale>,
    /// What the plural forms of its language are, made when first needed.
    words: OnceLock<ValueFormatter>,
}

/// All that the texts of a chain depend on.
#[derive(Clone, Debug)]
pub struct LocaleChainKey {
    chosen: Tag,
    /// The very files that it was made of, in their order.
    files: Vec<Arc<CompiledLocale>>,
    formatters: Formatters,
    locale: Box<str>,
    zone: TimeZone,
}

impl PartialEq for LocaleChainKey {
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

impl Eq for LocaleChainKey {}

impl Hash for LocaleChainKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.chosen, &self.locale, self.zone.iana_name()).hash(state);
        self.files.iter().for_each(|file| Arc::as_ptr(file).hash(state));
    }
}

/// A message in the language that has it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CatalogMessage {
    /// The text.
    pub text: String,
    /// The language of the file that it came from.
    pub language: Tag,
}

impl LocaleChain {
    /// The files in the order of [`Catalogs::wanted`](super::LocaleIndex::required_locales), and how the caller writes numbers and dates.
    /// A file that could not be loaded is left out.
    #[must_use]
    pub fn new(
        chosen: &Tag,
        locales: impl IntoIterator<Item = Arc<CompiledLocale>>,
        formatters: &Formatters,
        values: ValueFormatter,
    ) -> Self {
        let links =
            locales.into_iter().map(|locale| LocaleChainLink { locale, words: OnceLock::new() }).collect();
        Self { chosen: chosen.clone(), links, formatters: formatters.clone(), values }
    }

    /// What the texts of this chain depend on: two chains with the same key have the same texts.
    #[must_use]
    pub fn key(&self) -> LocaleChainKey {
        let Self { chosen, links, formatters, values } = self;
        LocaleChainKey {
            chosen: chosen.clone(),
            // What the plural forms of a link are follows from its file and the formatters.
            files: links.iter().map(|LocaleChainLink { locale, words: _ }| Arc::clone(locale)).collect(),
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
    pub fn find(&self, slot: TextSlot<'_>) -> Option<&str> {
        self.links.iter().find_map(|link| link.locale.find(slot))
    }

    /// What the caller gets for what a server says.
    #[must_use]
    pub fn translate_text(&self, text: &str) -> Option<String> {
        self.links
            .iter()
            .find_map(|link| link.locale.messages().translate_source(text, self.formats_for(link)))
    }

    /// What people read in the place of a value of a result field. Returns `None` where no file translates it.
    ///
    /// Rules: L22.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use jiff::tz::TimeZone;
    /// # use mcp_attune::catalog::{LocaleChain, CompiledLocale};
    /// # use mcp_attune::language::Tag;
    /// # let german = Tag::parse("de").unwrap();
    /// # let file = br#"{"tools":{"get_weather":{"output":{"wind":{"values":{"northwest":"Nordwest","{n} days late":"{ $n } Tage zu sp\u00e4t"}}}}}}"#;
    /// # let (locale, _) = CompiledLocale::read(german.clone(), file).unwrap();
    /// # let formatters = mcp_attune_format::formatters(&german);
    /// # let chain = LocaleChain::new(&german, [Arc::new(locale)], &formatters, formatters.for_locales([], TimeZone::UTC));
    /// assert_eq!(chain.translate_value("get_weather", "wind", "northwest").as_deref(), Some("Nordwest"));
    /// assert_eq!(chain.translate_value("get_weather", "wind", "3 days late").as_deref(), Some("3 Tage zu spät"));
    /// assert_eq!(chain.translate_value("get_weather", "sky", "northwest"), None);
    /// ```
    #[must_use]
    pub fn translate_value(&self, tool: &str, field: &str, text: &str) -> Option<String> {
        self.links
            .iter()
            .find_map(|link| link.locale.values(tool, field)?.translate_source(text, self.formats_for(link)))
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
    /// # use mcp_attune::catalog::{LocaleChain, CompiledLocale};
    /// # use mcp_attune::language::Tag;
    /// use mcp_attune::messages::MessageArguments;
    ///
    /// # let german = Tag::parse("de").unwrap();
    /// # let file = br#"{"messages":{"seats":{"text":"{ $n ->\n [one] Ein Platz\n *[other] { $n } Pl\u00e4tze\n} nach { $city }"}}}"#;
    /// # let (locale, _) = CompiledLocale::read(german.clone(), file).unwrap();
    /// # let formatters = mcp_attune_format::formatters(&german);
    /// # let chain = LocaleChain::new(&german, [Arc::new(locale)], &formatters, formatters.for_locales([], TimeZone::UTC));
    /// let said = chain.render_message("seats", &MessageArguments::new().number("n", 2).text("city", "Bern")).unwrap();
    /// assert_eq!(said.text, "2 Plätze nach Bern");
    /// assert_eq!(chain.render_message("no-such-key", &MessageArguments::new()), None);
    /// ```
    #[must_use]
    pub fn render_message(&self, key: &str, arguments: &MessageArguments<'_>) -> Option<CatalogMessage> {
        self.links.iter().find_map(|link| {
            let text = link.locale.messages().render_key(key, arguments, self.formats_for(link))?;
            Some(CatalogMessage { text, language: link.locale.tag().clone() })
        })
    }

    fn formats_for<'a>(&'a self, link: &'a LocaleChainLink) -> MessageFormats<'a> {
        let words =
            link.words.get_or_init(|| self.formatters.for_locales([link.locale.tag()], TimeZone::UTC));
        MessageFormats { words, values: &self.values }
    }
}

impl fmt::Debug for LocaleChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let locales: Vec<_> = self.links.iter().map(|link| link.locale.tag()).collect();
        f.debug_struct("LocaleChain")
            .field("chosen", &self.chosen)
            .field("locales", &locales)
            .finish_non_exhaustive()
    }
}
