//! Renders JSON data as Markdown or plain text for people, from the data and the tool's output schema.
//!
//! This is what a caller with `format=markdown` or `format=text` gets where the operator wrote no
//! template. It has three steps: [`compact()`] removes members if the caller asked for less, the composer
//! walks the data and decides how each value is laid out, and a writer for Markdown or for plain text
//! puts every block down as soon as it is decided.
//!
//! 1. The page is the data's: members in their order, nothing lost. Where the schema has a title, the
//!    heading is the tool's title in the caller's language, else that title made readable; the simple
//!    fields of an object are a list, objects inside are sections, lists of objects are tables, or one
//!    thing after another where a table would be too wide.
//! 2. Fields are called as the caller's language or the schema calls them, else by their names made
//!    readable. Values are written as the caller's locale files translate them, where they do.
//! 3. Numbers, dates, times, durations, percentages, measures and money are written as the caller
//!    writes them, wherever it is sure that they are such. What is not sure stays as it is: wrong is
//!    worse than plain.
//! 4. Values are text. Whatever they hold, it is seen as it is and does nothing: no markup, no HTML,
//!    and no link but an address of the web or of a mailbox that is a value by itself.
//! 5. Markdown and plain text are written from the same blocks, neither from the other.
//! 6. A page is bounded in depth and in bytes. What is deeper is JSON; what has no room is counted in
//!    the last line.
//! 7. `compact` leaves out what says nothing and what the operator called unimportant; `verbose` says
//!    what fields are.
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
pub(super) use clean::one_line;
pub(super) use compact::compact_within;
pub use compact::{CompactedJson, compact};
pub(super) use escape::{EscapeContext, escape, longest_backtick_run, write_code_span};
pub(super) use field::ResultLocation;
pub use words::{DefaultLabels, PageLabels, PageWord};

use super::Subschema;
use block::BlockWriter;
use mcp_attune::features::Verbosity;
use mcp_attune::format::ValueFormatter;

/// Options for rendering one result for one caller.
pub struct RenderOptions<'a> {
    /// The schema of the result, from the tool's `outputSchema`: titles, descriptions, formats and
    /// required members. `None` if there is none; labels and meanings then come from the names of the
    /// members alone.
    pub output: Option<Subschema<'a>>,
    /// Formatter for numbers, dates, times and units in the locale and the time zone of the caller.
    pub values: &'a ValueFormatter,
    /// How much the page says. `Compact` leaves members out, `Verbose` adds the descriptions of fields,
    /// and `Standard` does neither.
    pub verbosity: Verbosity,
    /// Members that `Compact` leaves out, from the operator's setting `low_priority`. An entry is the
    /// name of a member (`wind`), which matches at every depth, or a path of names joined by dots
    /// (`forecast.wind`), in which lists are no step. The other levels ignore it.
    pub low_priority: &'a [String],
    /// Titles, descriptions and translated values from the locale files of the caller's language, and
    /// the few words that a page says by itself, such as `yes` for `true`.
    pub labels: &'a dyn PageLabels,
    /// Size in bytes at which the page counts as full.
    ///
    /// It is a soft limit: a block that was begun is finished, so a page exceeds it by about that block
    /// and the closing line. Only long texts are cut to fit. Everything after it is counted in
    /// [`RenderedPage::not_shown`] instead of being written.
    pub room: usize,
}

impl RenderOptions<'_> {
    /// The [`room`](Self::room) of every page that answers a caller: 4 MiB, which is more than anybody
    /// reads. Documents that are converted from HTML or Markdown have the same bound.
    pub const MAX_PAGE_BYTES: usize = 4 << 20;
}

/// A rendered page, with the counts of what it does not contain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RenderedPage {
    /// The Markdown or the plain text, without a line break at its end.
    pub text: String,
    /// Number of members that `Compact` removed; 0 at other levels. Members inside a removed one are
    /// not counted by themselves.
    pub left_out: usize,
    /// Number of values, rows and sections that were cut or omitted because the page was full. If it is
    /// not 0, the last line of the page says so in the caller's language, for example
    /// `… Not shown: 12`.
    pub not_shown: usize,
}

/// Renders data as Markdown: CommonMark, with the tables of GitHub.
///
/// Never fails. Every value is escaped, so that nothing in the data acts as markup or HTML, and values
/// that are nested too deeply to be laid out are written as JSON.
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
///     labels: &DefaultLabels::new("de-CH"),
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

/// Renders data as plain text without markup: underlined headings, and tables in aligned columns.
///
/// Lays out the same blocks as [`markdown()`]; only their writing differs. Never fails.
///
/// Rules: F7, F8.
#[must_use]
pub fn text(data: SpannedValue<'_>, how: &RenderOptions<'_>) -> RenderedPage {
    let mut page = text::TextBlockWriter::new(page_capacity(data, how));
    let (left_out, not_shown) = render(data, how, &mut page);
    RenderedPage { text: page.finish(), left_out, not_shown }
}

/// Estimates the size of the page in bytes, which is about that of its data, to allocate it once.
fn page_capacity(data: SpannedValue<'_>, how: &RenderOptions<'_>) -> usize {
    let length = data.raw().len();
    // Beyond its room a page has what was begun, and its last line.
    (length + length / 4 + 256).min(how.room.saturating_add(how.room / 8 + 1024))
}

/// Lays the data out on `page`, compacted first if the verbosity asks for it. Returns how many members
/// were left out and how many values had no room.
///
/// The compacted data keep the members that the schema requires, but are not validated against it:
/// nobody validates a page.
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
