//! Where locale files come from.

use core::fmt;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::locale::CompiledLocale;
use super::set::LocaleIndex;
use crate::language::{LanguagesError, Tag};

/// The locale files of a server, wherever they are kept. A host asks for what is at hand, and lets what is not be loaded
/// where waiting harms nobody. Whoever keeps the files follows their changes; nobody who asks here waits for that.
pub trait LocaleStore: Send + Sync + fmt::Debug {
    /// Which languages there are now.
    fn locale_index(&self) -> Arc<LocaleIndex>;

    /// The files that a chosen language needs, in their order; none where they have to be [loaded](Self::load) first. A
    /// file that cannot be used is left out.
    fn cached(&self, chosen: &Tag) -> Option<Vec<Arc<CompiledLocale>>>;

    /// The same, loaded where they are not at hand. This may take a while.
    fn load(&self, chosen: &Tag) -> Vec<Arc<CompiledLocale>>;
}

/// Locale files that a program carries inside itself, read when they are first needed.
///
/// ```
/// use mcp_attune::catalog::{EmbeddedLocales, LocaleField, LocaleStore, TextSlot};
/// use mcp_attune::language::Tag;
///
/// let file = r#"{"tools":{"get_weather":{"title":"Aktuelles Wetter"}}}"#;
/// let library = EmbeddedLocales::new(Tag::parse("en").unwrap(), &[("de", file)]).unwrap();
/// let locales = library.load(&Tag::parse("de").unwrap());
/// assert_eq!(locales[0].find(TextSlot::Tool("get_weather", LocaleField::Title)), Some("\"Aktuelles Wetter\""));
/// ```
pub struct EmbeddedLocales {
    catalogs: Arc<LocaleIndex>,
    files: HashMap<Tag, EmbeddedLocaleFile>,
}

struct EmbeddedLocaleFile {
    text: &'static str,
    /// None where it cannot be read.
    read: OnceLock<Option<Arc<CompiledLocale>>>,
}

impl EmbeddedLocales {
    /// Files by their tags; what is wrong with them is for a test to find. A tag that is none is left out.
    ///
    /// # Errors
    ///
    /// [`LanguagesError`] where there are more languages than a server can offer.
    pub fn new(default: Tag, files: &[(&str, &'static str)]) -> Result<Self, LanguagesError> {
        let files = files.iter().filter_map(|(tag, text)| Some((Tag::parse(tag).ok()?, *text)));
        let files: HashMap<_, _> =
            files.map(|(tag, text)| (tag, EmbeddedLocaleFile { text, read: OnceLock::new() })).collect();
        // In an order that is the same every time.
        let mut tags: Vec<Tag> = files.keys().cloned().collect();
        tags.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        Ok(Self { catalogs: Arc::new(LocaleIndex::new(default, tags)?), files })
    }

    fn load_one(&self, tag: &Tag) -> Option<Arc<CompiledLocale>> {
        let EmbeddedLocaleFile { text, read } = self.files.get(tag)?;
        let locale = read.get_or_init(|| {
            CompiledLocale::read(tag.clone(), text.as_bytes()).ok().map(|(locale, _)| Arc::new(locale))
        });
        locale.clone()
    }
}

impl LocaleStore for EmbeddedLocales {
    fn locale_index(&self) -> Arc<LocaleIndex> {
        self.catalogs.clone()
    }

    fn cached(&self, chosen: &Tag) -> Option<Vec<Arc<CompiledLocale>>> {
        // They are in memory already, and reading one takes less than asking somebody else to.
        Some(self.load(chosen))
    }

    fn load(&self, chosen: &Tag) -> Vec<Arc<CompiledLocale>> {
        self.catalogs.required_locales(chosen).into_iter().filter_map(|tag| self.load_one(tag)).collect()
    }
}

impl fmt::Debug for EmbeddedLocales {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedLocales").field("catalogs", &self.catalogs).finish_non_exhaustive()
    }
}
