//! What is told of shaping, to whoever counts or logs. None of it is the caller's or the server's words.

use core::fmt;
use core::ops::AddAssign;

use super::cost::Unusable;

/// What an answer had, and the caller did not get.
///
/// Rules: F5, F8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeftOut {
    /// Text blocks.
    pub blocks: usize,
    /// Fields of the data.
    pub fields: usize,
    /// How many bytes both had.
    pub bytes: usize,
}

impl LeftOut {
    /// Whether nothing was.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl AddAssign for LeftOut {
    fn add_assign(&mut self, more: Self) {
        self.blocks += more.blocks;
        self.fields += more.fields;
        self.bytes += more.bytes;
    }
}

/// A template that could not be used for an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What follows the dot in the name of its file, and what it is for.
    pub template: String,
    /// What went wrong, and where.
    pub what: String,
}

impl fmt::Display for Fault {
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
    pub why: Unusable,
}
