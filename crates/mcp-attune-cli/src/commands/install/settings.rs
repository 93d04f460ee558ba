//! The text of a client's settings, with servers read, wrapped, added and unwrapped.
//!
//! 1. A byte order mark stays, and is no part of what is parsed.
//! 2. What comes of a change is parsed again, and has to start the server with exactly the words that were meant. Else nothing is changed.

use mcp_attune_wire::text::escape_and_truncate;

use super::clients::{DesktopClient, SettingsFormat};
use super::entry::{ConfiguredServer, LaunchWords, SettingsProblem, Wrapping, wrapping};
use super::splice::{TextSplice, apply, line_and_column};
use super::{jsonc, table};

const BYTE_ORDER_MARK: &str = "\u{feff}";
/// How many characters of a line are shown.
const MAX_EXCERPT_CHARS: usize = 60;
/// How many characters of a parser's message are shown.
const MAX_MESSAGE_CHARS: usize = 200;

/// What a file says of servers.
#[derive(Debug)]
pub(super) struct ServerListing {
    pub(super) names: Vec<String>,
    /// The server that was asked for.
    pub(super) found: Option<ConfiguredServer>,
}

/// A client's settings as text.
#[derive(Debug, Clone, Copy)]
pub(super) struct SettingsText<'t> {
    mark: &'t str,
    text: &'t str,
    format: SettingsFormat,
}

impl<'t> SettingsText<'t> {
    pub(super) fn new(client: DesktopClient, text: &'t str) -> Self {
        let unmarked = text.strip_prefix(BYTE_ORDER_MARK);
        let mark = if unmarked.is_some() { BYTE_ORDER_MARK } else { "" };
        Self { mark, text: unmarked.unwrap_or(text), format: client.format() }
    }

    /// Reads the names of all servers, and one of them.
    pub(super) fn read(self, name: &str) -> Result<ServerListing, SettingsProblem> {
        // An empty file is what clients leave where nothing was set yet.
        if self.text.trim().is_empty() {
            return Ok(ServerListing { names: Vec::new(), found: None });
        }
        let (names, found) = match self.format {
            SettingsFormat::Json(layout) => jsonc::read(self.text, layout, name)?,
            SettingsFormat::Toml => table::read(self.text, name)?,
        };
        Ok(ServerListing { names, found })
    }

    /// Puts words before the command of a server.
    pub(super) fn wrap(
        self,
        name: &str,
        launch: &LaunchWords,
        attune: &[String],
    ) -> Result<String, SettingsProblem> {
        let literal = match self.format {
            SettingsFormat::Json(_) => jsonc::literal,
            SettingsFormat::Toml => table::literal,
        };
        let words = [attune, &launch.words()].concat();
        self.changed(name, launch.wrap(self.text, attune, literal)?, &words)
    }

    /// Takes Attune out of the command of a server.
    pub(super) fn unwrap(self, name: &str, launch: &LaunchWords) -> Result<String, SettingsProblem> {
        let words = launch.words();
        let server = match wrapping(&words) {
            Wrapping::Around(server) => server,
            Wrapping::Absent | Wrapping::Elsewhere => &words,
        };
        self.changed(name, launch.unwrap(self.text)?, server)
    }

    /// Adds a server that is not there.
    pub(super) fn add(self, name: &str, words: &[String]) -> Result<String, SettingsProblem> {
        let splices = match self.format {
            SettingsFormat::Json(layout) if self.text.trim().is_empty() => {
                let text = jsonc::new_file(layout, name, words);
                vec![TextSplice::replace(0..self.text.len(), text)]
            }
            SettingsFormat::Json(layout) => jsonc::add(self.text, layout, name, words)?,
            SettingsFormat::Toml => table::add(self.text, name, words),
        };
        self.changed(name, splices, words)
    }

    /// The text with changes, after which a server is started so.
    fn changed(
        self,
        name: &str,
        splices: Vec<TextSplice>,
        words: &[String],
    ) -> Result<String, SettingsProblem> {
        let at = splices.first().map_or(0, |splice| splice.at.start);
        let refused =
            || SettingsProblem::new(at, "the server is written in a way that cannot be changed safely");
        let text = apply(self.text, splices).ok_or_else(refused)?;
        let changed = SettingsText { text: &text, ..self };
        match changed.read(name).map_err(|_| refused())?.found {
            Some(ConfiguredServer::Local(launch)) if launch.words() == words => {
                Ok(format!("{}{text}", self.mark))
            }
            _ => Err(refused()),
        }
    }

    /// Says where a problem is, with the line that it is on.
    pub(super) fn describe(self, problem: &SettingsProblem) -> String {
        let (line, column) = line_and_column(self.text, problem.at);
        let excerpt = self.text.lines().nth(line - 1).unwrap_or_default();
        // A long line is shown from a little before the place.
        let skipped = if excerpt.chars().count() > MAX_EXCERPT_CHARS { column.saturating_sub(20) } else { 0 };
        let shown: String = excerpt.chars().skip(skipped).take(MAX_EXCERPT_CHARS).collect();
        let blank = shown.chars().count() - shown.trim_start().chars().count();
        let shown = escape_and_truncate(shown.trim(), MAX_EXCERPT_CHARS);
        let caret = " ".repeat((column - 1).saturating_sub(skipped + blank));
        // A parser may quote the file, and use several lines.
        let what = problem.what.lines().collect::<Vec<_>>().join("; ");
        let what = escape_and_truncate(&what, MAX_MESSAGE_CHARS);
        format!("line {line}, column {column}: {what}\n  {shown}\n  {caret}^")
    }
}
