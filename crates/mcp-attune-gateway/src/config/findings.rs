//! What is wrong with a file: where, what, and what to do about it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::excerpt::{Excerpt, SecretMasks, floor_char_boundary};

/// One thing that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigFinding {
    /// The file, as it was named.
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub what: String,
    /// What to do about it.
    pub hint: String,
    excerpt: Option<Excerpt>,
}

impl fmt::Display for ConfigFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.what)?;
        if let Some(excerpt) = &self.excerpt {
            excerpt.write(f, self.line)?;
        }
        writeln!(f, "hint: {}", self.hint)
    }
}

/// Everything that is wrong with the configuration, in the order of the file; never empty.
///
/// Secrets are not in it: lines are shown without the values of `[session]` and `env`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFindings(Vec<ConfigFinding>);

impl ConfigFindings {
    /// The findings, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigFinding> {
        self.0.iter()
    }

    /// The only finding about a file that cannot be looked into.
    pub(super) fn single(file: &str, (line, column): (usize, usize), problem: ConfigProblem) -> Self {
        let ConfigProblem { what, hint } = problem;
        Self(vec![ConfigFinding { file: file.into(), line, column, what, hint, excerpt: None }])
    }
}

impl fmt::Display for ConfigFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.0.iter().enumerate() {
            let apart = if index == 0 { "" } else { "\n" };
            write!(f, "{apart}{finding}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigFindings {}

/// What is wrong with a value, said so that the name of its key can stand before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfigProblem {
    pub(super) what: String,
    pub(super) hint: String,
}

impl ConfigProblem {
    pub(super) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

/// Collects what is wrong while a file is read.
#[derive(Debug, Default)]
pub(super) struct FindingCollector {
    found: Vec<(Range<usize>, ConfigProblem)>,
    masks: SecretMasks,
    hides_lines: bool,
    /// Names the tables in which a key is at home.
    homes: Option<KeyTablesFn>,
}

/// Says in which tables a key is at home, as a hint can name them.
type KeyTablesFn = fn(&str) -> Option<String>;

impl FindingCollector {
    /// Where `homes` knows the tables in which a key is at home.
    pub(super) fn new(homes: KeyTablesFn) -> Self {
        Self { homes: Some(homes), ..Self::default() }
    }

    /// The tables in which a key is at home; None where there are none.
    pub(super) fn tables_of_key(&self, key: &str) -> Option<String> {
        self.homes.and_then(|homes| homes(key))
    }

    pub(super) fn add(&mut self, at: Range<usize>, problem: ConfigProblem) {
        self.found.push((at, problem));
    }

    /// Keeps a part of the file out of what is shown.
    pub(super) fn mask(&mut self, at: Range<usize>) {
        self.masks.add(at);
    }

    /// Shows no line of the file at all: nobody knows yet which of it is secret.
    pub(super) fn hide_lines(&mut self) {
        self.hides_lines = true;
    }

    /// Looks up where each note stands, in one pass over the text. `None` where there is none.
    pub(super) fn finish(mut self, text: &str, file: &str) -> Option<ConfigFindings> {
        let file: Arc<str> = file.into();
        self.found.sort_by_key(|(at, _)| at.start);
        self.masks.sort();
        let mut place = LineColumnCursor::default();
        let findings: Vec<ConfigFinding> = self
            .found
            .into_iter()
            .map(|(at, ConfigProblem { what, hint })| {
                place.advance(text, at.start);
                let excerpt =
                    (!self.hides_lines).then(|| Excerpt::new(text, place.line_start, at, &self.masks));
                ConfigFinding {
                    file: file.clone(),
                    line: place.line,
                    column: place.column,
                    what,
                    hint,
                    excerpt,
                }
            })
            .collect();
        (!findings.is_empty()).then_some(ConfigFindings(findings))
    }
}

/// A place in a text, which only moves forward.
#[derive(Debug)]
struct LineColumnCursor {
    offset: usize,
    line_start: usize,
    line: usize,
    column: usize,
}

impl Default for LineColumnCursor {
    fn default() -> Self {
        Self { offset: 0, line_start: 0, line: 1, column: 1 }
    }
}

impl LineColumnCursor {
    fn advance(&mut self, text: &str, to: usize) {
        let to = floor_char_boundary(text, to);
        let Some(passed) = text.get(self.offset..to) else {
            return;
        };
        if let Some(last) = passed.rfind('\n') {
            self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
            self.line_start = self.offset + last + 1;
            self.column = 1;
        }
        let since = text.get(self.offset.max(self.line_start)..to).unwrap_or_default();
        self.column += since.chars().count();
        self.offset = to;
    }
}

/// The line and column of an offset.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut place = LineColumnCursor::default();
    place.advance(text, offset);
    (place.line, place.column)
}

/// A name as a message may quote it: escaped, and no longer than a line can bear.
pub(super) fn quoted(name: &str) -> String {
    const MAX_CHARS: usize = 40;
    mcp_attune::quoted::escape_and_truncate(name, MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_stand_in_the_order_of_the_file_with_line_and_column() {
        let text = "a = 1\nß = 2\nc = 3";
        let mut notes = FindingCollector::default();
        notes.add(17..18, ConfigProblem::new("third", "c"));
        notes.add(11..12, ConfigProblem::new("second", "b"));
        notes.add(0..1, ConfigProblem::new("first", "a"));
        let findings = notes.finish(text, "x.toml").unwrap();
        let places: Vec<_> = findings.iter().map(|found| (found.line, found.column, &*found.what)).collect();
        assert_eq!(places, [(1, 1, "first"), (2, 5, "second"), (3, 5, "third")]);
        assert_eq!(
            findings.to_string(),
            "x.toml:1:1: first\n  1 | a = 1\n    | ^\nhint: a\n\n\
             x.toml:2:5: second\n  2 | ß = 2\n    |     ^\nhint: b\n\n\
             x.toml:3:5: third\n  3 | c = 3\n    |     ^\nhint: c\n"
        );
    }

    #[test]
    fn nothing_noted_is_nothing_found() {
        assert_eq!(FindingCollector::default().finish("a = 1", "x.toml"), None);
    }

    #[test]
    fn a_place_outside_the_text_is_its_end() {
        assert_eq!(line_and_column("a\nbc", 99), (2, 3));
        assert_eq!(line_and_column("", 99), (1, 1));
        assert_eq!(line_and_column("aß", 2), (1, 2));
    }

    #[test]
    fn names_are_escaped_and_shortened() {
        assert_eq!(quoted("a\n\u{1b}"), "a\\n\\u{1b}");
        assert_eq!(quoted(&"é".repeat(41)), format!("{}…", "é".repeat(40)));
    }
}
