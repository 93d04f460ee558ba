//! A locale file as its translator wrote it: every text with its place.

use super::slot::LocaleKeyPath;

/// One text of a locale file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocaleFileEntry {
    /// Its place: `tools.get_weather.title`. A message's is that of its `text`.
    pub path: LocaleKeyPath,
    /// The text.
    pub text: Box<str>,
    /// What it was translated from, where that is noted: `translated_from`, and for a message its `source`.
    pub from: Option<Box<str>>,
    /// Where it stands in the file, in bytes.
    pub at: usize,
}

/// The texts of a locale file, in the order of the file; for translators' tools. A [`Locale`](super::CompiledLocale) is
/// what a server uses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParsedLocaleFile {
    pub(super) lines: Vec<LocaleFileEntry>,
}

impl ParsedLocaleFile {
    /// The most bytes that a locale file may have.
    pub const MAX_BYTES: usize = 8 * 1024 * 1024;
    /// The most texts that a locale file may have.
    pub const MAX_TEXTS: usize = 50_000;
    /// The most bytes that a text may have.
    pub const MAX_TEXT_BYTES: usize = 16 * 1024;
    /// The most findings that are told of one file.
    pub const MAX_FINDINGS: usize = 200;

    /// These texts.
    #[must_use]
    pub fn from_entries(lines: Vec<LocaleFileEntry>) -> Self {
        Self { lines }
    }

    /// The texts.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = &LocaleFileEntry> + DoubleEndedIterator {
        self.lines.iter()
    }
}
