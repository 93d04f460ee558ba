//! Where locale files come from.

use core::fmt;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::locale::Locale;
use super::set::Catalogs;
use crate::language::{Tag, Unusable};

/// The locale files of a server, wherever they are kept. A host asks for what is at hand, and lets what is not be loaded
/// where waiting harms nobody. Whoever keeps the files follows their changes; nobody who asks here waits for that.
pub trait Library: Send + Sync + fmt::Debug {
    /// Which languages there are now.
    fn catalogs(&self) -> Arc<Catalogs>;

    /// The files that a chosen language needs, in their order; none where they have to be [loaded](Self::load) first. A
    /// file that cannot be used is left out.
    fn at_hand(&self, chosen: &Tag) -> Option<Vec<Arc<Locale>>>;

    /// The same, loaded where they are not at hand. This may take a while.
    fn load(&self, chosen: &Tag) -> Vec<Arc<Locale>>;
}

/// Locale files that a program carries inside itself, read when they are first needed.
///
/// ```
/// use mcp_attune::catalog::{Carried, Field, Library, Slot};
/// use mcp_attune::language::Tag;
///
/// let file = r#"{"tools":{"get_weather":{"title":"Aktuelles Wetter"}}}"#;
/// let library = Carried::new(Tag::parse("en").unwrap(), &[("de", file)]).unwrap();
/// let locales = library.load(&Tag::parse("de").unwrap());
/// assert_eq!(locales[0].find(Slot::Tool("get_weather", Field::Title)), Some("\"Aktuelles Wetter\""));
/// ```
pub struct Carried {
    catalogs: Arc<Catalogs>,
    files: HashMap<Tag, File>,
}

struct File {
    text: &'static str,
    /// None where it cannot be read.
    read: OnceLock<Option<Arc<Locale>>>,
}

impl Carried {
    /// Files by their tags; what is wrong with them is for a test to find. A tag that is none is left out.
    ///
    /// # Errors
    ///
    /// [`Unusable`] where there are more languages than a server can offer.
    pub fn new(default: Tag, files: &[(&str, &'static str)]) -> Result<Self, Unusable> {
        let files = files.iter().filter_map(|(tag, text)| Some((Tag::parse(tag).ok()?, *text)));
        let files: HashMap<_, _> =
            files.map(|(tag, text)| (tag, File { text, read: OnceLock::new() })).collect();
        // In an order that is the same every time.
        let mut tags: Vec<Tag> = files.keys().cloned().collect();
        tags.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        Ok(Self { catalogs: Arc::new(Catalogs::new(default, tags)?), files })
    }

    fn one(&self, tag: &Tag) -> Option<Arc<Locale>> {
        let File { text, read } = self.files.get(tag)?;
        let locale = read.get_or_init(|| {
            Locale::read(tag.clone(), text.as_bytes()).ok().map(|(locale, _)| Arc::new(locale))
        });
        locale.clone()
    }
}

impl Library for Carried {
    fn catalogs(&self) -> Arc<Catalogs> {
        self.catalogs.clone()
    }

    fn at_hand(&self, chosen: &Tag) -> Option<Vec<Arc<Locale>>> {
        // They are in memory already, and reading one takes less than asking somebody else to.
        Some(self.load(chosen))
    }

    fn load(&self, chosen: &Tag) -> Vec<Arc<Locale>> {
        self.catalogs.wanted(chosen).into_iter().filter_map(|tag| self.one(tag)).collect()
    }
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carried").field("catalogs", &self.catalogs).finish_non_exhaustive()
    }
}
