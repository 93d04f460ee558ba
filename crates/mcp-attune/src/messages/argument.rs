//! What the variables of a message stand for.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};

use super::number::{self, WrittenNumber};
use crate::format::{DecimalNumber, FractionDigits};

/// One variable's value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MessageArgument<'a> {
    /// Text, which stands as it is.
    Text(Cow<'a, str>),
    /// A number, written for the reader.
    Number(DecimalNumber),
    /// A day.
    Date(Date),
    /// A day and a time, in no zone.
    DateTime(DateTime),
    /// An instant, shown in the reader's zone.
    Instant(Timestamp),
    /// What a server wrote; a number where it reads as one.
    Live(&'a str),
}

impl<'a> MessageArgument<'a> {
    /// The number in it, and how it was written where a server wrote it.
    pub(super) fn as_number(&self) -> Option<WrittenNumber> {
        match self {
            Self::Number(number) => {
                let text = number.to_string();
                // More than three are what a calculation left behind.
                let digits = match text.split_once('.').map_or(0, |(_, behind)| behind.len()) {
                    short @ 0..=3 => FractionDigits::exactly(short.try_into().unwrap_or(3)),
                    _ => FractionDigits::up_to(3),
                };
                Some(WrittenNumber { number: number.clone(), digits, grouped: true })
            }
            Self::Live(text) => number::read(text),
            _ => None,
        }
    }
}

/// The variables of one message, by name.
///
/// ```
/// use mcp_attune::messages::MessageArguments;
///
/// let arguments = MessageArguments::new().text("city", "Bern").number("count", 3);
/// assert_eq!(arguments.iter().count(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MessageArguments<'a>(Vec<(&'a str, MessageArgument<'a>)>);

impl<'a> MessageArguments<'a> {
    /// No variable.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more; of two with one name the first stands.
    #[must_use]
    pub fn with(mut self, name: &'a str, argument: MessageArgument<'a>) -> Self {
        self.0.push((name, argument));
        self
    }

    /// With text.
    #[must_use]
    pub fn text(self, name: &'a str, text: impl Into<Cow<'a, str>>) -> Self {
        self.with(name, MessageArgument::Text(text.into()))
    }

    /// With a number.
    #[must_use]
    pub fn number(self, name: &'a str, number: impl Into<DecimalNumber>) -> Self {
        self.with(name, MessageArgument::Number(number.into()))
    }

    /// With a day.
    #[must_use]
    pub fn date(self, name: &'a str, date: Date) -> Self {
        self.with(name, MessageArgument::Date(date))
    }

    /// With an instant.
    #[must_use]
    pub fn instant(self, name: &'a str, instant: Timestamp) -> Self {
        self.with(name, MessageArgument::Instant(instant))
    }

    /// The names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &MessageArgument<'a>)> {
        self.0.iter().map(|(name, argument)| (*name, argument))
    }

    pub(super) fn get(&self, name: &str) -> Option<&MessageArgument<'a>> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, argument)| argument)
    }
}
