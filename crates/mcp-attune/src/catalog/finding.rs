//! What is wrong with a locale file.

use core::fmt;

use mcp_attune_wire::message::{JsonFault, JsonParseError};

use super::slot::LocaleKeyPath;
use crate::messages;

/// Why a file is refused as a whole.
///
/// ```
/// use mcp_attune::catalog::{LocaleFileError, ParsedLocaleFile};
///
/// let wrong = ParsedLocaleFile::read(br#"{"tools":{},"tools":{}}"#).unwrap_err();
/// assert!(matches!(wrong, LocaleFileError::Unreadable(_)));
/// assert_eq!(ParsedLocaleFile::read(b"[]").unwrap_err(), LocaleFileError::NoObject);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LocaleFileError {
    /// More bytes than a locale file may have.
    TooLarge,
    /// No JSON that can be read in one way.
    Unreadable(JsonParseError),
    /// JSON, but no object.
    NoObject,
}

impl LocaleFileError {
    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> String {
        let JsonParseError { fault, at } = match self {
            Self::TooLarge => return "too large for a locale file".to_owned(),
            Self::NoObject => return "no JSON object".to_owned(),
            Self::Unreadable(why) => why,
        };
        match fault {
            JsonFault::Empty => "empty".to_owned(),
            JsonFault::Cut => format!("ends inside a value, at byte {at}"),
            JsonFault::Utf8 => format!("not UTF-8 at byte {at}"),
            JsonFault::TooDeep => format!("too many brackets inside each other at byte {at}"),
            JsonFault::RepeatedName => {
                format!("a name stands twice in one object, the second time at byte {at}")
            }
            JsonFault::Trailing => format!("something follows the object at byte {at}"),
            _ => format!("not JSON at byte {at}"),
        }
    }

    /// What to do about it, where there is more to say than that.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::TooLarge => "split it, or leave out what is not text (at most 8 MiB)",
            Self::NoObject => "write sections such as {\"tools\": {…}}",
            Self::Unreadable(why) => match why.fault {
                JsonFault::Empty => "write at least {}",
                JsonFault::Cut => "close what is open",
                JsonFault::Utf8 => "save it in that encoding",
                JsonFault::RepeatedName => "keep one of the two",
                JsonFault::Trailing => "take it out",
                _ => return None,
            },
        })
    }
}

impl fmt::Display for LocaleFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        self.hint().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl core::error::Error for LocaleFileError {}

/// One thing that is wrong with a file; what stands there is ignored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocaleFileFinding {
    /// Where, by names.
    pub path: LocaleKeyPath,
    /// Where, as an offset into the file.
    pub at: usize,
    /// What is wrong.
    pub what: LocaleFileProblem,
}

impl LocaleFileFinding {
    /// The line and column in the file that it was found in, counted from 1.
    #[must_use]
    pub fn position(&self, file: &[u8]) -> (usize, usize) {
        line_and_column(file, self.at)
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        self.what.hint()
    }
}

impl fmt::Display for LocaleFileFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// The line and column of an offset into a file, counted from 1.
///
/// ```
/// use mcp_attune::catalog::line_and_column;
///
/// assert_eq!(line_and_column("{\n \"é\": 7}".as_bytes(), 8), (2, 6));
/// ```
#[must_use]
pub fn line_and_column(file: &[u8], at: usize) -> (usize, usize) {
    let before = file.get(..at).unwrap_or(file);
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(before.get(start..).unwrap_or_default()).chars().count() + 1;
    (line, column)
}

/// What is wrong with an entry of a locale file.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LocaleFileProblem {
    /// A key that means nothing here: `colour`.
    UnknownKey,
    /// Not text where text should stand: `"title": 7`.
    NotText,
    /// Not an object where one should stand: `"tools": "none"`.
    NotObject,
    /// Not a list where one should stand: `"keywords": "weather"`.
    NotList,
    /// Text with nothing in it.
    Empty,
    /// Half a surrogate pair, which is no character.
    NoCharacter,
    /// More bytes than a text may have.
    TooLong,
    /// More texts than a file may have; this one and all that follow are ignored.
    TooMany,
    /// An entry of a list without a name.
    Nameless,
    /// An entry of a list with the name of an earlier one.
    RepeatedName,
    /// A message that cannot be used.
    Message(messages::MessageDefinitionError),
    /// More findings than anyone reads; this is the last.
    MoreFindings,
}

impl fmt::Display for LocaleFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownKey => "there is no such key here",
            Self::NotText => "not text",
            Self::NotObject => "not an object",
            Self::NotList => "not a list",
            Self::Empty => "no text",
            Self::NoCharacter => "half a character",
            Self::TooLong => "too long",
            Self::TooMany => "too many texts",
            Self::Nameless => "an entry without a name",
            Self::RepeatedName => "the same name as an earlier entry",
            Self::Message(wrong) => return wrong.fmt(f),
            Self::MoreFindings => "more is wrong than is listed",
        })
    }
}

impl LocaleFileProblem {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownKey => "take it out, or correct its name",
            Self::NotText => "write a string",
            Self::NotObject => "write an object, such as {\"title\": \"…\"}",
            Self::NotList => "write a list of strings",
            Self::Empty => "translate it, or take it out so that the server's own text stands",
            Self::NoCharacter => "write the character itself, or both halves of its escape",
            Self::TooLong => "write at most 16 KiB",
            Self::TooMany => "write at most 50,000 texts in one file",
            Self::Nameless => "add \"name\" with the name on the wire",
            Self::RepeatedName => "keep one of the two",
            Self::Message(wrong) => wrong.hint(),
            Self::MoreFindings => "correct those above first",
        }
    }
}
