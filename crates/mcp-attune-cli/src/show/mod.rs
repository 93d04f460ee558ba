//! What servers say, as a person or a program reads it.
//!
//! Nothing that a server wrote reaches a terminal as it is: what a terminal would obey, or what would make text look
//! like other text, is escaped. In a pipe it is left alone.

pub(crate) mod plain;
pub(crate) mod wrap;

pub(crate) mod json;
pub(crate) mod table;

pub(crate) mod markdown;

mod repeated;

pub(crate) mod content;
pub(crate) mod tool;

use std::borrow::Cow;
use std::io::IsTerminal;

use mcp_attune_wire::json::{JsonString, SpannedValue};

use crate::paint::{self, Paint};

/// How wide a terminal is when it does not say.
const DEFAULT_WIDTH: usize = 80;

/// Where something is shown, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CliOutputForm {
    /// JSON; on a terminal nothing in it is obeyed.
    Json {
        /// Whether a terminal shows it.
        terminal: bool,
    },
    /// For a person at a terminal.
    Terminal {
        /// How many columns it has.
        width: usize,
        /// What may be coloured and bold.
        paint: Paint,
        /// What is read as Markdown.
        markdown: MarkdownDisplay,
    },
    /// Text as it came, for a file.
    Text,
}

/// What is read as Markdown, and not shown as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MarkdownDisplay {
    /// Nothing.
    Never,
    /// Resources that say so.
    #[default]
    Declared,
    /// The text of results too: it was asked for as Markdown, or the user says so.
    Results,
}

impl CliOutputForm {
    /// JSON where it is asked for or nobody looks, text for a person, and text as it came where that is asked for.
    pub(crate) fn choose(json: bool, text: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        match (json, terminal, text) {
            (false, true, _) => Self::Terminal {
                width: terminal_columns(),
                paint: paint::stdout(),
                markdown: MarkdownDisplay::default(),
            },
            (false, false, true) => Self::Text,
            _ => Self::Json { terminal },
        }
    }

    /// The same with another reading of Markdown.
    pub(crate) fn with_markdown(self, markdown: MarkdownDisplay) -> Self {
        match self {
            Self::Terminal { width, paint, .. } => Self::Terminal { width, paint, markdown },
            other => other,
        }
    }
}

/// A member that is text.
pub(crate) fn text_member(value: SpannedValue<'_>, member: &str) -> Option<String> {
    value.member(member).and_then(SpannedValue::text).and_then(JsonString::decode).map(Cow::into_owned)
}

/// How many columns the terminal has.
pub(crate) fn terminal_columns() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let told = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    asked.or_else(told).filter(|width| *width >= 20).unwrap_or(DEFAULT_WIDTH)
}

/// How much something is, such as `12.3 kB`.
pub(crate) fn content_size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
