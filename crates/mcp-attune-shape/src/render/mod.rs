//! Data as people read them: Markdown or plain text, made from the data and what the schema says of them.
//!
//! 1. The page is the data's: members in their order, nothing lost. Where the schema has a title, the heading is the tool's
//!    title in the caller's language, else that title made readable; the simple
//!    fields of an object are a list, objects inside are sections, lists of objects are tables, or one thing after
//!    another where a table would be too wide.
//! 2. Fields are called as the caller's language or the schema calls them, else by their names made readable.
//!    Values are written as the caller's locale files translate them, where they do.
//! 3. Numbers, dates, times, durations, percentages, measures and money are written as the caller writes them, wherever it is
//!    sure that they are such. What is not sure stays as it is: wrong is worse than plain.
//! 4. Values are text. Whatever they hold, it is seen as it is and does nothing: no markup, no HTML, and no link but an
//!    address of the web or of a mailbox that is a value by itself.
//! 5. Markdown and plain text are written from the same blocks, neither from the other.
//! 6. A page is bounded in depth and in bytes. What is deeper is JSON; what has no room is counted in the last line.
//! 7. `compact` leaves out what says nothing and what the operator called unimportant; `verbose` says what fields are.
//!
//! Rules: F6, F7, F8, L22.

// What values mean, and how they are written,
mod clean;
mod name;
mod meaning;
mod words;

mod block;
mod tree;
mod value;

// what is laid out and how,
mod compact;
mod field;
mod json;
mod layout;

mod candidates;
mod compose;
mod rows;

// and what it is written on.
mod escape;
mod markdown;
mod text;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::SpannedValue;

pub use candidates::visit_translatable;
pub(super) use clean::clean as cleaned;
pub(super) use compact::compact_within;
pub use compact::{CompactedJson, compact};
pub(super) use escape::{EscapeContext, escape, longest_backtick_run, write_code_span};
pub(super) use field::ResultLocation;
pub use words::{DefaultLabels, PageLabels, PageWord, page_word};

use super::Subschema;
use block::BlockWriter;
use mcp_attune::features::Verbosity;
use mcp_attune::format::ValueFormatter;

/// How data are written for one caller.
pub struct RenderOptions<'a> {
    /// What the schema says of the data.
    pub output: Option<Subschema<'a>>,
    /// Numbers and dates for the caller.
    pub values: &'a ValueFormatter,
    /// How much is said.
    pub verbosity: Verbosity,
    /// What `compact` leaves out, by name or by path with dots.
    pub low_priority: &'a [String],
    /// What fields are called in the caller's language, and our few own words.
    pub labels: &'a dyn PageLabels,
    /// How many bytes a page has, more or less. What is begun is not cut, but for long texts.
    pub room: usize,
}

impl RenderOptions<'_> {
    /// Room enough for anything that somebody reads.
    pub const MAX_PAGE_BYTES: usize = 4 << 20;
}

/// A page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenderedPage {
    /// The page.
    pub text: String,
    /// How many members `compact` left out.
    pub left_out: usize,
    /// How many values, rows and sections had no room. The page says so too.
    pub not_shown: usize,
}

/// Data as Markdown.
///
/// Rules: F6, F8.
///
/// ```
/// use jiff::tz::TimeZone;
/// use mcp_attune::features::Verbosity;
/// use mcp_attune::language::Tag;
/// use mcp_attune_shape::render::{DefaultLabels, RenderOptions, markdown};
/// use mcp_attune_wire::document::Document;
///
/// let data = Document::parse(br#"{"city":"Bern","population":134794,"trams":true,
///     "forecast":[{"day":"2026-11-15","max_temp_c":9.5},{"day":"2026-11-16","max_temp_c":7}]}"#)?;
/// let swiss = mcp_attune_format::formatters(&Tag::parse("de-CH")?).for_locales([], TimeZone::UTC);
/// let page = markdown(data.root(), &RenderOptions {
///     output: None,
///     values: &swiss,
///     verbosity: Verbosity::Standard,
///     low_priority: &[],
///     labels: &DefaultLabels("de-CH"),
///     room: RenderOptions::MAX_PAGE_BYTES,
/// });
/// let lines = [
///     "- **City:** Bern",
///     "- **Population:** 134'794",
///     "- **Trams:** ja",
///     "",
///     "## Forecast",
///     "",
///     "| Day | Max temp |",
///     "|---|---:|",
///     "| 15.11.2026 | 9.5\u{a0}°C |",
///     "| 16.11.2026 | 7\u{a0}°C |",
/// ];
/// assert_eq!(page.text, lines.join("\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn markdown(data: SpannedValue<'_>, how: &RenderOptions<'_>) -> RenderedPage {
    let mut page = markdown::MarkdownBlockWriter::new(page_capacity(data, how));
    let (left_out, not_shown) = render(data, how, &mut page);
    RenderedPage { text: page.finish(), left_out, not_shown }
}

/// Data as plain text.
///
/// Rules: F7, F8.
#[must_use]
pub fn text(data: SpannedValue<'_>, how: &RenderOptions<'_>) -> RenderedPage {
    let mut page = text::TextBlockWriter::new(page_capacity(data, how));
    let (left_out, not_shown) = render(data, how, &mut page);
    RenderedPage { text: page.finish(), left_out, not_shown }
}

/// A page is about as long as its data.
fn page_capacity(data: SpannedValue<'_>, how: &RenderOptions<'_>) -> usize {
    let length = data.raw().len();
    // Beyond its room a page has what was begun, and its last line.
    (length + length / 4 + 256).min(how.room.saturating_add(how.room / 8 + 1024))
}

/// How much was left out, and how much had no room.
fn render(data: SpannedValue<'_>, how: &RenderOptions<'_>, page: &mut dyn BlockWriter) -> (usize, usize) {
    if how.verbosity != Verbosity::Compact {
        return (0, compose::compose_page(data, how, page));
    }
    let CompactedJson { text, left_out } =
        compact::compact_unchecked(data, how.output, how.low_priority, None);
    match Document::parse(text.as_bytes()) {
        Ok(document) if left_out > 0 => (left_out, compose::compose_page(document.root(), how, page)),
        _ => (0, compose::compose_page(data, how, page)),
    }
}
