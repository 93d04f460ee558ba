//! What a page is made of, one block after another, and who writes them down.

use std::borrow::Cow;

/// Something inside of a line.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum InlineSpan<'a> {
    Text(Cow<'a, str>),
    /// An address that is its own label.
    Link(Cow<'a, str>),
    Code(Cow<'a, str>),
}

impl InlineSpan<'_> {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Text(text) | Self::Link(text) | Self::Code(text) => text,
        }
    }
}

/// A column of a table.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ColumnHeading<'a> {
    pub(super) label: &'a str,
    /// Numbers stand to the right.
    pub(super) numbers: bool,
}

/// Something that stands by itself. A table is a head, its rows, and an end.
#[derive(Debug)]
pub(super) enum PageBlock<'b> {
    Heading {
        level: usize,
        text: &'b str,
    },
    Entry {
        depth: usize,
        label: Option<&'b str>,
        value: Option<&'b InlineSpan<'b>>,
        note: Option<&'b str>,
    },
    /// Prose that keeps its lines.
    Lines(&'b str),
    /// Lines that keep every blank; as deep as the entries around them.
    Code {
        depth: usize,
        text: &'b str,
    },
    Head(&'b [ColumnHeading<'b>]),
    Row(&'b [InlineSpan<'b>]),
    End,
}

/// What blocks are written on.
pub(super) trait BlockWriter {
    fn put(&mut self, block: &PageBlock<'_>);

    /// How many bytes the page has so far.
    fn len(&self) -> usize;
}
