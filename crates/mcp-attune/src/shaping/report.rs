//! What shaping reports to whoever counts or logs. None of it quotes the caller or the server.

use core::fmt;
use core::ops::AddAssign;

/// What an answer had, and the caller did not get.
///
/// Rules: F5, F8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AnswerOmissions {
    /// Text blocks.
    pub blocks: usize,
    /// Fields of the data.
    pub fields: usize,
    /// How many bytes both had.
    pub bytes: usize,
}

impl AnswerOmissions {
    /// Whether nothing was.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl AddAssign for AnswerOmissions {
    fn add_assign(&mut self, more: Self) {
        self.blocks += more.blocks;
        self.fields += more.fields;
        self.bytes += more.bytes;
    }
}

/// A template that could not be used for an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnusableTemplate {
    /// What follows the dot in the name of its file, and what it is for.
    pub template: String,
    /// What went wrong, and where.
    pub what: String,
}

impl fmt::Display for UnusableTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.template, self.what)
    }
}

/// An `outputSchema` that nothing can be checked against.
///
/// Rules: F13.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnusableSchema {
    /// The tool that it is of.
    pub tool: String,
    /// Why.
    pub why: UnusableReason,
}

/// Why nothing can be checked against a schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UnusableReason {
    /// It is no schema: a keyword has a value that it cannot have.
    Invalid,
    /// A pattern is none, is too large, or needs look-around or backreferences, which take time without a bound.
    Pattern,
    /// A reference leads out of the document, or nowhere; or it could mean several parts: some have an `$id` of their own, or
    /// two have one anchor.
    Reference,
    /// It has too many parts, or parts that repeat others too often.
    TooLarge,
}

impl fmt::Display for UnusableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "it is no valid schema",
            Self::Pattern => {
                "a pattern is invalid, too large, or has look-around or backreferences, which take unbounded time"
            }
            Self::Reference => "a reference leads out of it or nowhere, or could mean several parts, because some have an $id of their own or two one $anchor",
            Self::TooLarge => "it has too many parts",
        })
    }
}
