//! The blocks that a page consists of, and the trait that writes them.
//!
//! The composer (`compose` and `rows`) makes blocks in the order of the page, and the writers in
//! `markdown` and `text` put them down. Blocks hold text that was cleaned of control characters but not
//! escaped: only a writer knows what is markup in its format.

use std::borrow::Cow;

/// The value of an entry or a table cell, together with how it is marked.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum InlineSpan<'a> {
    /// Text of one line, or of several in the value of an entry. The Markdown writer escapes it.
    Text(Cow<'a, str>),
    /// A web or mail address that becomes a link whose label is the address itself.
    Link(Cow<'a, str>),
    /// Text in a code span, for JSON that is nested too deeply to be laid out.
    Code(Cow<'a, str>),
}

impl InlineSpan<'_> {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Text(text) | Self::Link(text) | Self::Code(text) => text,
        }
    }
}

/// The heading of one column of a table.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ColumnHeading<'a> {
    /// Text above the column. It is empty for all columns of a matrix whose columns have no names.
    pub(super) label: &'a str,
    /// Whether the column holds nothing but numbers and nulls, and is aligned to the right.
    pub(super) numbers: bool,
}

/// One block of a page, borrowed while it is written.
///
/// A table is a `Head`, any number of `Row`s and an `End`; no other block stands between them.
#[derive(Debug)]
pub(super) enum PageBlock<'b> {
    /// A heading. Level 1 is the title of the page; sections have levels 2 to 4.
    Heading { level: usize, text: &'b str },
    /// An item of a list: `- **Label:** value — note` in Markdown. An entry without a value is followed
    /// by entries of the next depth, or by code.
    Entry {
        /// Nesting of the list, 0 for the outermost.
        depth: usize,
        /// Name of the field; `None` for an element of a list.
        label: Option<&'b str>,
        /// The value in the same line, or in lines below the label where it has several.
        value: Option<&'b InlineSpan<'b>>,
        /// Description of the field, which only pages with `verbosity=verbose` have.
        note: Option<&'b str>,
    },
    /// A paragraph of prose that keeps its line breaks.
    Lines(&'b str),
    /// Preformatted text such as source code or a log, in which every blank counts. `depth` is the
    /// indentation of the entries that it stands among, 0 outside of lists.
    Code { depth: usize, text: &'b str },
    /// Begins a table with these columns.
    Head(&'b [ColumnHeading<'b>]),
    /// A row of the table that was begun, with one cell for each column.
    Row(&'b [InlineSpan<'b>]),
    /// Ends the table. The writer for plain text buffers rows until here, to know how wide columns are.
    End,
}

/// A page in one output format that blocks are appended to.
pub(super) trait BlockWriter {
    /// Appends a block. It is written whole, whatever the size of the page: the composer checks that
    /// before.
    fn put(&mut self, block: &PageBlock<'_>);

    /// Returns the size of the page so far in bytes, including rows that are still buffered. The
    /// composer compares it with [`RenderOptions::room`](super::RenderOptions::room).
    fn len(&self) -> usize;
}
