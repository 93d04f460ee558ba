//! What is wrong with a configuration file: where it stands, what it is, and what to do about it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::excerpt::{Excerpt, SecretMasks, floor_char_boundary};

/// One thing that is wrong with the configuration. `Display` writes it like a compiler: place, sentence,
/// excerpt of the line, hint.
///
/// ```text
/// attune.toml:2:1: there is no key `lisen` in [server]
///   2 | lisen = …
///     | ^^^^^
/// hint: did you mean `listen`?
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigFinding {
    /// The file, as it was named to the parser.
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// What is wrong there, with the name of the setting.
    pub what: String,
    /// What to do about it.
    pub hint: String,
    /// The line; `None` if it might show a secret.
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

/// Everything that is wrong with a configuration, in the order of the file; never empty.
///
/// Secrets are not in it: excerpts do not show the values of `[session]`, `env` and unknown keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFindings(Vec<ConfigFinding>);

impl ConfigFindings {
    /// Returns the findings in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigFinding> {
        self.0.iter()
    }

    /// Makes the only finding about a file that cannot be parsed at all.
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

/// What is wrong with a value, phrased so that the name of its key can stand before it: `` `limits.calls` is
/// out of bounds ``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfigProblem {
    /// The predicate of the sentence, such as `is out of bounds`.
    pub(super) what: String,
    /// What to do about it, as an imperative.
    pub(super) hint: String,
}

impl ConfigProblem {
    pub(super) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

/// Collects problems while a file is read, with the byte ranges that they are about.
#[derive(Debug, Default)]
pub(super) struct FindingCollector {
    /// The problems in the order in which they were found.
    found: Vec<(Range<usize>, ConfigProblem)>,
    /// What no excerpt may show.
    masks: SecretMasks,
    /// Whether no excerpt is shown at all.
    hides_lines: bool,
    /// Names the tables that a key belongs in.
    homes: Option<KeyTablesFn>,
}

/// Returns the tables that a key belongs in, as a hint can name them, or `None` if no table has such a key.
type KeyTablesFn = fn(&str) -> Option<String>;

impl FindingCollector {
    /// Makes a collector whose hints about misplaced keys come from `homes`.
    pub(super) fn new(homes: KeyTablesFn) -> Self {
        Self { homes: Some(homes), ..Self::default() }
    }

    /// Returns the tables that a key belongs in, or `None` if there are none.
    pub(super) fn tables_of_key(&self, key: &str) -> Option<String> {
        self.homes.and_then(|homes| homes(key))
    }

    /// Adds a problem with the value or key at this byte range.
    pub(super) fn add(&mut self, at: Range<usize>, problem: ConfigProblem) {
        self.found.push((at, problem));
    }

    /// Keeps a byte range out of all excerpts.
    pub(super) fn mask(&mut self, at: Range<usize>) {
        self.masks.add(at);
    }

    /// Shows no excerpt at all. Used for a file that is not TOML, because nobody knows then which part of it
    /// is secret.
    pub(super) fn hide_lines(&mut self) {
        self.hides_lines = true;
    }

    /// Finds the line and column of every problem, in one pass over the text. Returns `None` if there is no
    /// problem.
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

/// A position in a text, which only moves forward, so that many positions cost one pass.
#[derive(Debug)]
struct LineColumnCursor {
    /// The position in bytes.
    offset: usize,
    /// Where its line begins, in bytes.
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
    /// Moves to an offset. One before the current position leaves it unchanged; one behind the end is the
    /// end.
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

/// Returns the line and column of an offset, both counted from 1.
pub(super) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut place = LineColumnCursor::default();
    place.advance(text, offset);
    (place.line, place.column)
}

/// Returns a name as a message may quote it: escaped, and at most 40 characters long.
pub(super) fn quoted(name: &str) -> String {
    const MAX_CHARS: usize = 40;
    mcp_attune_wire::text::escape_and_truncate(name, MAX_CHARS)
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
