//! What can be wrong with a preference.

use core::fmt;

/// Why a text is no language preference, or no language range, and at which byte.
///
/// Rules: L1, L2.
///
/// ```
/// use mcp_attune::language::{AcceptLanguage, AcceptLanguageError};
///
/// let wrong = AcceptLanguage::parse("en, de;q=1.5").unwrap_err();
/// assert_eq!(wrong, AcceptLanguageError::Weight { at: 9 });
/// assert_eq!(wrong.to_string(), "at byte 9: not a weight; write 0 to 1 with at most three decimals, such as q=0.8");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AcceptLanguageError {
    /// More bytes than a preference can have: a megabyte of `en,`.
    TooLong {
        /// The first byte too many.
        at: usize,
    },
    /// A space or tab at either end of the whole value: `" en"`.
    Edge {
        /// The first such byte at the start, or the last at the end.
        at: usize,
    },
    /// Something that cannot be in a range, or not there: `en_GB`, `en fr`, `de-*`, `日本語`.
    Character {
        /// The byte that cannot stand here.
        at: usize,
    },
    /// A range whose first subtag is not one to eight letters: `1en`, `abcdefghi`, `-en`.
    Primary {
        /// Where that subtag starts.
        at: usize,
    },
    /// A later subtag that is not one to eight letters or digits: `en--GB`, `en-`, `en-abcdefghi`.
    Subtag {
        /// Where that subtag starts.
        at: usize,
    },
    /// Something other than one `q=` after a semicolon: `en;level=1`, `en;q =1`, `en;`.
    Parameter {
        /// Where the parameter starts.
        at: usize,
    },
    /// A weight that is not 0 to 1 with at most three decimals: `en;q=.5`, `en;q=1.5`, `en;q=0.1234`.
    Weight {
        /// Where the weight starts.
        at: usize,
    },
}

impl AcceptLanguageError {
    /// The byte at which the text stops being well formed.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::LanguageRange;
    ///
    /// assert_eq!(LanguageRange::parse("en_GB").unwrap_err().at(), 2);
    /// ```
    #[must_use]
    pub const fn at(self) -> usize {
        match self {
            Self::TooLong { at }
            | Self::Edge { at }
            | Self::Character { at }
            | Self::Primary { at }
            | Self::Subtag { at }
            | Self::Parameter { at }
            | Self::Weight { at } => at,
        }
    }

    /// The same fault in a text that starts `by` bytes earlier.
    pub(super) const fn shifted(self, by: usize) -> Self {
        match self {
            Self::TooLong { at } => Self::TooLong { at: at + by },
            Self::Edge { at } => Self::Edge { at: at + by },
            Self::Character { at } => Self::Character { at: at + by },
            Self::Primary { at } => Self::Primary { at: at + by },
            Self::Subtag { at } => Self::Subtag { at: at + by },
            Self::Parameter { at } => Self::Parameter { at: at + by },
            Self::Weight { at } => Self::Weight { at: at + by },
        }
    }
}

/// Says where, what, and what to write instead.
impl AcceptLanguageError {
    /// What is wrong, and where.
    #[must_use]
    pub fn what(&self) -> String {
        let what = match self {
            Self::TooLong { .. } => "too long",
            Self::Edge { .. } => "a space or tab at an end of the value",
            Self::Character { .. } => "not a character of a language range",
            Self::Primary { .. } => "not a language",
            Self::Subtag { .. } => "not a subtag",
            Self::Parameter { .. } => "not a weight parameter",
            Self::Weight { .. } => "not a weight",
        };
        format!("at byte {}: {what}", self.at())
    }

    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "write at most 4096 bytes, and only the languages that matter",
            Self::Edge { .. } => "leave it out",
            Self::Character { .. } => {
                "write letters, digits and '-', with ',' between ranges, such as en-GB, fr"
            }
            Self::Primary { .. } => "write one to eight letters, such as en, or * alone",
            Self::Subtag { .. } => "write one to eight letters or digits after each '-', such as en-GB",
            Self::Parameter { .. } => "write q= without spaces around '=', such as en;q=0.8",
            Self::Weight { .. } => "write 0 to 1 with at most three decimals, such as q=0.8",
        }
    }
}

impl fmt::Display for AcceptLanguageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.hint())
    }
}

impl core::error::Error for AcceptLanguageError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_where_it_is_and_what_to_write() {
        for fault in [
            AcceptLanguageError::TooLong { at: 3 },
            AcceptLanguageError::Edge { at: 3 },
            AcceptLanguageError::Character { at: 3 },
            AcceptLanguageError::Primary { at: 3 },
            AcceptLanguageError::Subtag { at: 3 },
            AcceptLanguageError::Parameter { at: 3 },
            AcceptLanguageError::Weight { at: 3 },
        ] {
            assert_eq!((fault.at(), fault.shifted(4).at()), (3, 7));
            let text = fault.to_string();
            assert!(text.starts_with("at byte 3: ") && text.contains("; "), "{text}");
        }
    }
}
