//! The locale files of a server: which there are, and which of them a choice needs.

use std::collections::HashSet;

use crate::language::{Languages, LanguagesError, Tag};

/// Which languages a server has files for.
///
/// Rules: L5, L7, B4.
#[derive(Clone, Debug)]
pub struct LocaleIndex {
    languages: Languages,
    files: HashSet<Tag>,
}

impl LocaleIndex {
    /// The server's own language, and the languages that there are files for; the server's own may be among them.
    ///
    /// # Errors
    ///
    /// [`LanguagesError`] where there are more languages than a server can offer.
    pub fn new(default: Tag, files: impl IntoIterator<Item = Tag>) -> Result<Self, LanguagesError> {
        let files: Vec<Tag> = files.into_iter().collect();
        let languages = Languages::new(default, files.iter().cloned())?;
        Ok(Self { languages, files: files.into_iter().collect() })
    }

    /// No files: the server's own language alone.
    #[must_use]
    pub fn without_files(default: Tag) -> Self {
        Self { languages: Languages::from(default), files: HashSet::new() }
    }

    /// Whether there are no files.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// What can be offered to callers.
    #[must_use]
    pub fn languages(&self) -> &Languages {
        &self.languages
    }

    /// The files to load for a language that was chosen: its own and those of its relatives, the nearest first. The
    /// server's own language ends the row, because its own text is nearer than what would follow.
    ///
    /// ```
    /// use mcp_attune::catalog::LocaleIndex;
    /// use mcp_attune::language::Tag;
    ///
    /// let tags = ["fr", "es", "es-MX", "es-419", "pt"].map(|tag| Tag::parse(tag).unwrap());
    /// let catalogs = LocaleIndex::new(Tag::parse("en").unwrap(), tags).unwrap();
    /// let wanted = catalogs.required_locales(&Tag::parse("es-MX").unwrap());
    /// assert_eq!(wanted.iter().map(|tag| tag.as_str()).collect::<Vec<_>>(), ["es-MX", "es-419", "es"]);
    /// ```
    #[must_use]
    pub fn required_locales(&self, chosen: &Tag) -> Vec<&Tag> {
        let mut wanted = self.languages.relatives(chosen);
        let default = wanted.iter().position(|tag| *tag == self.languages.default_language());
        wanted.truncate(default.map_or(wanted.len(), |at| at + 1));
        wanted.retain(|tag| self.files.contains(tag));
        wanted
    }
}
