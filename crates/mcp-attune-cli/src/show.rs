//! What servers say, as a person or a program reads it.
//!
//! Nothing that a server wrote reaches a terminal as it is: what a terminal would obey, or what would make text look
//! like other text, is escaped. In a pipe it is left alone.

pub(crate) mod content;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod plain;
pub(crate) mod table;

use std::io::IsTerminal;

/// How wide a terminal is when it does not say.
const USUAL_WIDTH: usize = 80;

/// Where something is shown, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// JSON; on a terminal nothing in it is obeyed.
    Json {
        /// Whether a terminal shows it.
        terminal: bool,
    },
    /// For a person at a terminal.
    Terminal {
        /// How many columns it has.
        width: usize,
        /// Whether bold text may be bold.
        styled: bool,
    },
    /// Text as it came, for a file.
    Text,
}

impl Form {
    /// JSON where it is asked for or nobody looks, text for a person, and text as it came where that is asked for.
    pub(crate) fn choose(json: bool, text: bool) -> Self {
        let terminal = std::io::stdout().is_terminal();
        match (json, terminal, text) {
            (false, true, _) => Self::Terminal { width: width(), styled: is_styled() },
            (false, false, true) => Self::Text,
            _ => Self::Json { terminal },
        }
    }
}

/// How many columns the terminal has.
pub(crate) fn width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let told = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    asked.or_else(told).filter(|width| *width >= 20).unwrap_or(USUAL_WIDTH)
}

fn is_styled() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
}

/// How much something is, such as `12.3 kB`.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
