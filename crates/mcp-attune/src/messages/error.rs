//! What can be wrong with a message.

use core::fmt;

/// The part of a message that something is wrong with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MessageDefinitionPart {
    /// The key.
    Key,
    /// What the server says.
    Source,
    /// What the reader gets.
    Text,
}

/// Why a message is left out.
///
/// ```
/// use mcp_attune::messages::{MessageDefinition, FluentMessages, MessageDefinitionError};
///
/// let entry = MessageDefinition { key: "done", source: Some("Done after {seconds} s"), text: "Fertig nach { $minutes } min" };
/// let (_, wrong) = FluentMessages::new([entry]);
/// assert_eq!(wrong[0].1, MessageDefinitionError::UnknownVariable("minutes".into()));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MessageDefinitionError {
    /// A key that is none: `pages fetched`.
    Key,
    /// A brace in `source` that neither opens nor closes a variable: `{count`, `50 {}`.
    Brace,
    /// The same variable twice in `source`.
    RepeatedVariable(Box<str>),
    /// Two variables with nothing between them: `{a}{b}`.
    NothingBetween,
    /// No fixed text: `{anything}`.
    NothingFixed,
    /// The same `source` as an earlier message.
    RepeatedSource(Box<str>),
    /// Every fixed part is one that too many other messages have as well; the message is not recognized in text.
    TooAlike,
    /// No Fluent pattern.
    Syntax(Box<str>),
    /// Braces or brackets inside each other, deeper than anyone can read.
    TooDeep,
    /// An attribute, or a part of one: `{ message.title }`.
    Attribute,
    /// A variable that `source` does not have.
    UnknownVariable(Box<str>),
    /// A reference to a message that is not there, or was left out.
    UnknownMessage(Box<str>),
    /// A reference that leads back to the message itself.
    Endless,
    /// References that lead to references, too many times.
    TooManyReferences,
    /// A function that there is not: `{ UPPER($name) }`.
    UnknownFunction(Box<str>),
    /// An argument that the function does not have, or a value that the argument cannot have.
    BadArgument(Box<str>),
}

impl fmt::Display for MessageDefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => f.write_str("not a key"),
            Self::Brace => f.write_str("a brace that belongs to no variable"),
            Self::RepeatedVariable(name) => write!(f, "the variable {name} comes twice"),
            Self::NothingBetween => f.write_str("two variables with nothing between them"),
            Self::NothingFixed => f.write_str("no fixed text beside the variables"),
            Self::RepeatedSource(key) => write!(f, "the same source as the message {key}"),
            Self::TooAlike => f.write_str("too many messages with the same fixed text"),
            Self::Syntax(what) => write!(f, "no Fluent pattern: {what}"),
            Self::TooDeep => f.write_str("braces or brackets too deep inside each other"),
            Self::Attribute => f.write_str("messages have no attributes here"),
            Self::UnknownVariable(name) => write!(f, "the variable ${name} is not in the source"),
            Self::UnknownMessage(key) => {
                write!(f, "refers to the message {key}, which cannot be used or is not there")
            }
            Self::Endless => f.write_str("refers to itself in the end"),
            Self::TooManyReferences => {
                f.write_str("refers to messages that refer to messages, more than 8 times")
            }
            Self::UnknownFunction(name) => write!(f, "there is no function {name}"),
            Self::BadArgument(name) => write!(f, "the argument {name} does not fit the function"),
        }
    }
}

impl MessageDefinitionError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Key => "begin with a letter, then letters, digits, - and _; a term begins with -",
            Self::Brace => "write {name} for a variable, and {{ or }} for a brace itself",
            Self::RepeatedVariable(_) => "give each variable part a name of its own",
            Self::NothingBetween => "make one variable of the two",
            Self::NothingFixed => "write what the server says around the variable parts",
            Self::RepeatedSource(_) => "keep one of the two",
            Self::TooAlike => "write what tells them apart into the sources",
            Self::Syntax(_) => {
                "write a Fluent pattern; a brace itself is {\"{\"}, and so is [, * or . at the start of a line"
            }
            Self::TooDeep => "split the message into several",
            Self::Attribute => "make a message of its own and refer to that",
            Self::UnknownVariable(_) => "name it in the source, or take it out",
            Self::UnknownMessage(_) => "add that message, or correct the name",
            Self::Endless => "write the text out in one of the messages",
            Self::TooManyReferences => "write some of the text out",
            Self::UnknownFunction(_) => "use NUMBER, DATETIME or TEXT",
            Self::BadArgument(_) => {
                "NUMBER takes minimumFractionDigits, maximumFractionDigits, useGrouping, style and currency; \
                 DATETIME takes dateStyle and timeStyle"
            }
        }
    }
}

impl core::error::Error for MessageDefinitionError {}
