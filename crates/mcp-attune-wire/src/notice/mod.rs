//! What Attune itself says to callers: each sentence once, with an id, and arguments that are values instead of text.
//!
//! 1. [`Notice`] has one variant for each sentence, in the table of `sentences`. Whoever finds something wrong makes a
//!    notice; nobody who hands it on looks into its words.
//! 2. A sentence says [what](Notice::what) is wrong, and most have a [hint](Notice::hint) what to do. In English the two are
//!    joined by a semicolon; nothing takes them apart again.
//! 3. The table has the English words. All others are looked up by the [id](Notice::id), in the locale files of
//!    `mcp_attune::words`, which render the same [arguments](Notice::arguments).
//!
//! A sentence of a program around us ([`Notice::Verbatim`]) has no id, and is passed on in the language that it is in.
//!
//! ```
//! use mcp_attune_wire::notice::Notice;
//!
//! let notice = Notice::BodyTooLarge { limit: 4096 };
//! assert_eq!(notice.id(), Some("body-too-large"));
//! assert_eq!(notice.to_string(), "the body is over 4096 bytes, the limit `body`; send a smaller one");
//! assert_eq!(notice.hint().as_deref(), Some("send a smaller one"));
//! ```
//!
//! Rules: L7, L10.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

mod sentences;

pub use sentences::Notice;

/// Text in a notice: the name of a header, a path, a part of a message. It stays as it is in every language.
pub type NoticeText = Cow<'static, str>;

/// Several values of which any one will do: `a or b or c`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternatives(pub Vec<String>);

impl fmt::Display for Alternatives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { " or " })?;
            f.write_str(value)?;
        }
        Ok(())
    }
}

/// The value of an argument, for whoever renders a notice in another language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoticeArgument<'n> {
    /// Text that stays as it is.
    Text(&'n str),
    /// A number, which may decide about a plural form.
    Number(i64),
    /// Values of which any one will do.
    Alternatives(&'n [String]),
    /// Another notice, in the same language.
    Notice(&'n Notice),
}

impl<'n> From<&'n NoticeText> for NoticeArgument<'n> {
    fn from(text: &'n NoticeText) -> Self {
        Self::Text(text)
    }
}

impl From<&usize> for NoticeArgument<'_> {
    fn from(number: &usize) -> Self {
        Self::Number(i64::try_from(*number).unwrap_or(i64::MAX))
    }
}

impl From<&i32> for NoticeArgument<'_> {
    fn from(number: &i32) -> Self {
        Self::Number((*number).into())
    }
}

impl<'n> From<&'n Alternatives> for NoticeArgument<'n> {
    fn from(values: &'n Alternatives) -> Self {
        Self::Alternatives(&values.0)
    }
}

impl<'n> From<&'n Box<Notice>> for NoticeArgument<'n> {
    fn from(notice: &'n Box<Notice>) -> Self {
        Self::Notice(notice)
    }
}

/// Both parts in English, joined by a semicolon.
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        self.hint().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// A sentence of a program around us.
impl From<&str> for Notice {
    fn from(text: &str) -> Self {
        Self::Verbatim(text.into())
    }
}

/// A sentence of a program around us.
impl From<String> for Notice {
    fn from(text: String) -> Self {
        Self::Verbatim(text)
    }
}

/// A value that an argument of [`Notice::samples`] has. A number is such that no language has a word of its own for it.
trait SampleArgument {
    fn sample(name: &str) -> Self;
}

impl SampleArgument for NoticeText {
    fn sample(name: &str) -> Self {
        Self::Owned(alloc::format!("the-{name}"))
    }
}

impl SampleArgument for usize {
    fn sample(_: &str) -> Self {
        4321
    }
}

impl SampleArgument for i32 {
    fn sample(_: &str) -> Self {
        137
    }
}

impl SampleArgument for Alternatives {
    fn sample(name: &str) -> Self {
        Self((1..=3).map(|number| alloc::format!("{name}-{number}")).collect())
    }
}

impl SampleArgument for Box<Notice> {
    fn sample(_: &str) -> Self {
        Self::new(Notice::BodyEmpty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;

    #[test]
    fn every_sentence_has_an_id_of_its_own_and_shows_its_arguments() {
        let samples = Notice::samples();
        let ids: BTreeSet<_> = samples.iter().filter_map(Notice::id).collect();
        assert_eq!(ids.len(), samples.len());
        for notice in &samples {
            let said = notice.to_string();
            for (name, argument) in notice.arguments() {
                let shown = match argument {
                    NoticeArgument::Text(text) => text.to_string(),
                    NoticeArgument::Number(number) => number.to_string(),
                    NoticeArgument::Alternatives(values) => Alternatives(values.to_vec()).to_string(),
                    NoticeArgument::Notice(notice) => notice.to_string(),
                };
                assert!(said.contains(&shown), "{name}: {said}");
            }
        }
    }

    #[test]
    fn what_and_hint_are_apart_and_joined_by_a_semicolon() {
        let notice = Notice::HeaderMissing { header: "Mcp-Name".into(), argument: "params.name".into() };
        assert_eq!(notice.what(), "Mcp-Name is missing");
        assert_eq!(notice.hint().as_deref(), Some("send it with what params.name says"));
        assert_eq!(notice.to_string(), "Mcp-Name is missing; send it with what params.name says");
        assert_eq!(Notice::NothingServed.hint(), None);
    }

    #[test]
    fn words_of_others_have_no_id_and_stay_as_they_are() {
        let notice = Notice::from("no such row; ask for another");
        assert_eq!((notice.id(), notice.hint(), notice.arguments()), (None, None, Vec::new()));
        assert_eq!(notice.to_string(), "no such row; ask for another");
    }
}
