//! A locale file as its translator wrote it: every text with its place.

use super::slot::Path;

/// One text of a locale file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Its place: `tools.get_weather.title`. A message's is that of its `text`.
    pub path: Path,
    /// The text.
    pub text: Box<str>,
    /// What it was translated from, where that is noted: `translated_from`, and for a message its `source`.
    pub from: Option<Box<str>>,
    /// Where it stands in the file, in bytes.
    pub at: usize,
}

/// The texts of a locale file, in the order of the file; for translators' tools. A [`Locale`](super::Locale) is
/// what a server uses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sheet {
    pub(super) lines: Vec<Line>,
}

impl Sheet {
    /// The most bytes that a locale file may have.
    pub const MAX_BYTES: usize = 8 * 1024 * 1024;
    /// The most texts that a locale file may have.
    pub const MAX_TEXTS: usize = 50_000;
    /// The most bytes that a text may have.
    pub const MAX_TEXT: usize = 16 * 1024;
    /// The most findings that are told of one file.
    pub const MAX_FINDINGS: usize = 200;

    /// These texts.
    #[must_use]
    pub fn of(lines: Vec<Line>) -> Self {
        Self { lines }
    }

    /// The texts.
    pub fn lines(&self) -> impl ExactSizeIterator<Item = &Line> + DoubleEndedIterator {
        self.lines.iter()
    }
}
