//! Sentences with variable parts: what a server says, recognized, and what a reader gets instead, rendered.
//!
//! 1. `source` is what the server says, with its variable parts named: `Fetched {count} of {total} pages`. It fits a
//!    text as a whole; each variable stands for at least one character, and ends as early as it can: in
//!    `Moved {from} to {to}` a `from` with ` to ` in it is cut there. Braces themselves are written `{{` and `}}`.
//! 2. A `source` without variables fits the very same text and goes before any other. Of several that fit, the one with
//!    the most fixed text wins, then the one that stands first.
//! 3. A variable part that reads as a number as programs write it (`42`, `-3.5`, `1,234.5`) is one, and is written for
//!    the reader with as many digits, in groups where the server grouped. Everything else is carried over as it is, and
//!    so is what only looks like a number, a version or a name, with `TEXT`.
//! 4. `text` is a [Fluent](https://projectfluent.org) pattern: variables, selection by plural form, number or word,
//!    references to other messages, and the functions [`NUMBER`, `DATETIME` and `TEXT`](PatternFunction). No isolation marks are
//!    put around values, because machines read the text too. Fluent takes off the space that all lines but the first begin
//!    with; where a line is to begin with some, it is written `{"  "}`.
//! 5. Plural forms follow the language of the text; numbers and dates follow the reader.
//! 6. What is wrong with a message is told when it is read ([`MessageDefinitionError`]), and only that message is left out. Rendering
//!    is bounded; what cannot be rendered gives nothing, and the server's own text stands.
//!
//! Recognizing a text takes one pass over it, whatever the number of messages: all are looked for at once by
//! what tells them apart, and few are left to compare. The work that one text can cause is bounded.
//!
//! Rules: L8, L10.
//!
//! ```
//! use jiff::tz::TimeZone;
//! use mcp_attune::language::Tag;
//! use mcp_attune::messages::{MessageDefinition, FluentMessages, MessageFormats};
//!
//! let text = "{ $count ->\n    [one] Eine von { $total } Seiten geladen\n   *[other] { $count } von { $total } Seiten geladen\n}";
//! let source = Some("Fetched {count} of {total} pages");
//! let (messages, wrong) = FluentMessages::new([MessageDefinition { key: "pages-fetched", source, text }]);
//! assert!(wrong.is_empty());
//! let german = Tag::parse("de").unwrap();
//! let format = mcp_attune_format::formatters(&german).for_locales([], TimeZone::UTC);
//! let voice = MessageFormats { words: &format, values: &format };
//! assert_eq!(messages.translate_source("Fetched 1 of 1,200 pages", voice).unwrap(), "Eine von 1.200 Seiten geladen");
//! assert_eq!(messages.translate_source("Fetched nothing", voice), None);
//! ```

// What is read,
mod number;
mod error;

mod pattern;
mod source;

// all of it together,
mod matcher;
mod set;

// what becomes of it,
mod argument;
mod render;

// and for translators' tools what is in it, and other words for it.
mod analysis;
mod rewrite;

pub use analysis::{MessageAnalysis, PluralChoice, VALUE_PLACEHOLDER};
pub use argument::{MessageArgument, MessageArguments};
pub use error::{MessageDefinitionError, MessageDefinitionPart};
pub use pattern::{PatternFunction, literal_pattern};
pub use render::MessageFormats;
pub use rewrite::map_fixed_text;
pub use set::{FluentMessages, MessageDefinition};
pub use source::literal_source;
