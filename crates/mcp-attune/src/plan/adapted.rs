//! A message after it was adapted.

use std::borrow::Cow;

use crate::shaping::{AnswerOmissions, UnusableSchema, UnusableTemplate};

/// A message as the caller gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdaptedMessage<'m> {
    /// The message: borrowed where nothing was changed.
    pub text: Cow<'m, [u8]>,
    /// The language that the message reports, for the header that mirrors it.
    pub content_language: Option<String>,
    /// What was left out, where it was shaped.
    pub left_out: AnswerOmissions,
    /// The templates that failed.
    pub faults: Vec<UnusableTemplate>,
    /// The schema of the tool's results, where it turned out not to be usable. It is said once for a schema.
    pub unusable: Option<UnusableSchema>,
}

impl<'m> AdaptedMessage<'m> {
    /// A message that stays as it came.
    #[must_use]
    pub fn untouched(message: &'m [u8]) -> Self {
        let (left_out, faults, unusable) = (AnswerOmissions::default(), Vec::new(), None);
        Self { text: Cow::Borrowed(message), content_language: None, left_out, faults, unusable }
    }
}
