//! Locale files written: the one of the default language anew, and marks put into the others.
//!
//! The file of the default language is made of what the server says now; its messages and what belongs to a bundle are
//! kept as they stand, because no server lists them. In the other files nothing changes but the marks, byte for byte.

use core::fmt::Write as _;
use std::collections::HashMap;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonQuoted, SpannedValue};

use super::finding::LocaleFileError;
use super::locale_file::{LocaleFileEntry, ParsedLocaleFile};
use super::read::TRANSLATED_FROM;
use super::slot::{LocaleKeyPath, TextSlot};
use crate::messages::{literal_pattern, literal_source};

/// The most bytes that a value may have which is offered for translation: longer text is prose of one result.
const MAX_VALUE_BYTES: usize = 200;

/// Sections that a server can be asked for.
const LISTED: &[&str] = &["server", "tools", "prompts", "resources", "resource_templates"];

/// The file of the default language, as it grows.
///
/// ```
/// use mcp_attune::catalog::{LocaleFileDraft, LocaleField, ParsedLocaleFile, TextSlot};
///
/// let mut draft = LocaleFileDraft::default();
/// draft.add(TextSlot::Tool("get_weather", LocaleField::Title), "Current weather");
/// let file = draft.write();
/// assert_eq!(file, "{\n  \"tools\": {\n    \"get_weather\": {\n      \"title\": \"Current weather\"\n    }\n  }\n}\n");
/// assert_eq!(ParsedLocaleFile::read(file.as_bytes()).unwrap().0.entries().len(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct LocaleFileDraft {
    root: DraftNode,
    /// What was there, for its order.
    before: DraftNode,
    /// The values that were there: a schema need not list all that a server writes.
    values: Vec<(LocaleKeyPath, Box<str>)>,
}

/// A text, what was kept as it stands, or names in the order they came.
#[derive(Clone, Debug, Default)]
struct DraftNode {
    text: Option<String>,
    raw: Option<String>,
    names: Vec<(Box<str>, DraftNode)>,
    /// Where a name stands among them, while they grow.
    index: HashMap<Box<str>, usize>,
}

impl LocaleFileDraft {
    /// Keeps of the file that there was what no server lists: messages, what belongs to a bundle, and what is not known here, byte
    /// for byte. What comes again keeps its place, and so does a title that somebody wrote for a thing to which the
    /// server gives none. The values of a tool that is still there are kept.
    ///
    /// # Errors
    ///
    /// [`LocaleFileError`] where it is no locale file.
    pub fn with_existing(mut self, file: &[u8]) -> Result<Self, LocaleFileError> {
        let (sheet, _) = ParsedLocaleFile::read(file)?;
        let read = Document::parse(file).map_err(LocaleFileError::Unreadable)?;
        for (name, value) in read.root().members() {
            let Some(name) = name.decode().filter(|name| !LISTED.contains(&&**name)) else { continue };
            self.root.update_at(&[&name], |node| node.raw = Some(value.raw().to_owned()));
        }
        for line in sheet.entries() {
            self.before.put(&line.path.names().collect::<Vec<_>>(), &line.text);
            if line.path.as_value().is_some() {
                self.values.push((line.path.clone(), line.text.clone()));
            }
        }
        Ok(self)
    }

    /// Adds a text, and says whether it could be; the first for a slot stands: a tool's own title comes
    /// before the one in its annotations. A text with nothing in it is none, and one that
    /// is longer than a locale file may have it is left to the server.
    pub fn add(&mut self, slot: TextSlot<'_>, text: &str) -> bool {
        let path = slot.path();
        let fits = !text.trim().is_empty() && text.len() <= ParsedLocaleFile::MAX_TEXT_BYTES;
        if fits {
            self.root.update_at(&path.names().collect::<Vec<_>>(), |node| {
                node.text.get_or_insert_with(|| text.to_owned());
            });
        }
        fits
    }

    /// Adds a value of a result field, to be translated, and says whether it could be: a code without letters, text of
    /// several lines and text with blanks around it are no words for people.
    ///
    /// Rules: L22.
    ///
    /// ```
    /// use mcp_attune::catalog::LocaleFileDraft;
    ///
    /// let mut draft = LocaleFileDraft::default();
    /// assert!(draft.add_value("get_weather", "wind_direction", "northwest"));
    /// assert!(!draft.add_value("get_weather", "wind_direction", "315"));
    /// assert!(draft.write().contains(r#""northwest": "northwest""#));
    /// ```
    pub fn add_value(&mut self, tool: &str, field: &str, value: &str) -> bool {
        let words = value.chars().any(char::is_alphabetic) && !value.contains(char::is_control);
        let fits = words && value.trim() == value && value.len() <= MAX_VALUE_BYTES;
        if fits {
            let path = LocaleKeyPath::of_value(tool, field, &literal_source(value));
            let names: Vec<_> = path.names().collect();
            self.root.update_at(&names, |node| node.text = Some(literal_pattern(value)));
        }
        fits
    }

    /// Adds a text of another file, in other words.
    pub(super) fn copy(&mut self, line: &LocaleFileEntry, text: &str) {
        let names: Vec<_> = line.path.names().collect();
        match names.as_slice() {
            ["keywords", _] => {}
            ["messages", key, _] => {
                if let Some(source) = &line.from {
                    self.root.put(&["messages", key, "source"], source);
                }
                self.root.put(&names, text);
            }
            names => self.root.put(names, text),
        }
    }

    /// The file.
    #[must_use]
    pub fn write(&self) -> String {
        let mut root = self.root.clone();
        for (path, text) in &self.values {
            let tool = path.as_value().map(|value| value.tool).unwrap_or_default();
            // What somebody wrote for readers of the server's own language stays.
            if root.get("tools").is_some_and(|tools| tools.get(tool).is_some()) {
                root.put(&path.names().collect::<Vec<_>>(), text);
            }
        }
        for (section, things) in &mut root.names {
            if let Some(before) = self.before.get(section).filter(|_| LISTED.contains(&&**section)) {
                things.restore_order(before, &**section != "tools", 0);
            }
        }
        root.names.sort_by_key(|(section, _)| match LISTED.iter().position(|listed| **listed == **section) {
            Some(at) => at + 1,
            None if &**section == "messages" => LISTED.len() + 1,
            None => 0,
        });
        let mut out = String::new();
        root.write(&mut out, 0);
        out.push('\n');
        out
    }
}

impl DraftNode {
    fn put(&mut self, names: &[&str], text: &str) {
        self.update_at(names, |node| node.text = Some(text.to_owned()));
    }

    /// As deep as the longest path of a slot.
    fn update_at(&mut self, names: &[&str], then: impl FnOnce(&mut Self)) {
        let Some((first, rest)) = names.split_first() else { return then(self) };
        let at = *self.index.entry((*first).into()).or_insert(self.names.len());
        if at == self.names.len() {
            self.names.push(((*first).into(), Self::default()));
        }
        if let Some((_, node)) = self.names.get_mut(at) {
            node.update_at(rest, then);
        }
    }

    fn get(&self, name: &str) -> Option<&Self> {
        self.index.get(name).and_then(|at| self.names.get(*at)).map(|(_, node)| node)
    }

    /// Puts names where they stood before, new ones behind them, and keeps titles that the server does not give.
    fn restore_order(&mut self, before: &Self, titled: bool, depth: usize) {
        // A thing has a description or arguments; a group has things.
        let is_thing = self.names.iter().any(|(_, node)| node.text.is_some());
        if let Some(title) = before.get("title").filter(|it| it.text.is_some() && is_thing) {
            // What stands in schemas has no title but the server's.
            if self.get("title").is_none() && (titled || depth < 2) {
                self.names.insert(0, ("title".into(), title.clone()));
            }
        }
        for (name, node) in &mut self.names {
            if let Some(before) = before.get(name) {
                node.restore_order(before, titled, depth + 1);
            }
        }
        self.names.sort_by_key(|(name, _)| before.index.get(name).copied().unwrap_or(usize::MAX));
    }

    fn write(&self, out: &mut String, depth: usize) {
        if let Some(raw) = &self.raw {
            out.push_str(raw);
            return;
        }
        if let Some(text) = &self.text {
            let _ = write!(out, "{}", JsonQuoted(text));
            return;
        }
        let indent = "  ".repeat(depth);
        out.push('{');
        for (at, (name, node)) in self.names.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(out, "{comma}\n{indent}  {}: ", JsonQuoted(name));
            node.write(out, depth + 1);
        }
        out.push_str(&if self.names.is_empty() { "}".to_owned() } else { format!("\n{indent}}}") });
    }
}

/// A translated file in which texts that were translated from what the server no longer says are marked; the same bytes
/// where there is nothing to mark.
///
/// `before` and `now` are the file of the default language as it was and as it is. A text that has a mark already keeps
/// it: it is what the translator had seen.
///
/// ```
/// use mcp_attune::catalog::{ParsedLocaleFile, mark_stale};
///
/// let [before, now] = ["Current weather", "Weather now"]
///     .map(|title| ParsedLocaleFile::read(format!(r#"{{"tools":{{"w":{{"title":"{title}"}}}}}}"#).as_bytes()).unwrap().0);
/// let german = r#"{"tools": {"w": {"title": "Aktuelles Wetter"}}}"#;
/// assert_eq!(
///     mark_stale(german, &before, &now),
///     r#"{"tools": {"w": {"translated_from": {"title": "Current weather"}, "title": "Aktuelles Wetter"}}}"#
/// );
/// ```
#[must_use]
pub fn mark_stale(file: &str, before: &ParsedLocaleFile, now: &ParsedLocaleFile) -> String {
    let (Ok(read), Ok((sheet, _))) =
        (Document::parse(file.as_bytes()), ParsedLocaleFile::read(file.as_bytes()))
    else {
        return file.to_owned();
    };
    let find = |sheet: &ParsedLocaleFile| {
        let lines = sheet.entries().map(|line| (line.path.clone(), line.text.clone()));
        lines.collect::<HashMap<LocaleKeyPath, Box<str>>>()
    };
    let (before, now) = (find(before), find(now));
    let mut marks = Vec::<(LocaleKeyPath, Vec<(String, Box<str>)>)>::new();
    for LocaleFileEntry { path, from, .. } in sheet.entries() {
        let (Some(old), Some(new)) = (before.get(path), now.get(path)) else { continue };
        // A value is named by what the server writes: another one is another entry.
        let section = path.names().next().filter(|_| path.as_value().is_none()).unwrap_or_default();
        let Some((entry, field)) = path.split_last().filter(|_| LISTED.contains(&section)) else { continue };
        if old == new || from.is_some() {
            continue;
        }
        match marks.last_mut().filter(|(last, _)| *last == entry) {
            Some((_, fields)) => fields.push((field.to_owned(), old.clone())),
            None => marks.push((entry, vec![(field.to_owned(), old.clone())])),
        }
    }
    let edits: Vec<(ByteSpan, String)> =
        marks.iter().filter_map(|(entry, fields)| mark_edit(read.root(), entry, fields)).collect();
    let edits: Vec<_> = edits.iter().map(|(span, text)| (*span, text.as_str())).collect();
    read.splice(&edits).unwrap_or_else(|_| file.to_owned())
}

fn mark_edit(
    root: SpannedValue<'_>,
    entry: &LocaleKeyPath,
    fields: &[(String, Box<str>)],
) -> Option<(ByteSpan, String)> {
    let entry = entry.names().try_fold(root, |value, name| match value.kind() {
        JsonKind::Array => value.elements().find(|entry| {
            entry.member("name").and_then(SpannedValue::text).is_some_and(|found| found.is(name))
        }),
        _ => value.member(name),
    })?;
    let mut pairs = String::new();
    for (at, (field, text)) in fields.iter().enumerate() {
        let _ =
            write!(pairs, "{}{}: {}", if at == 0 { "" } else { ", " }, JsonQuoted(field), JsonQuoted(text));
    }
    match entry.member(TRANSLATED_FROM) {
        Some(held) => {
            let comma = if held.members().next().is_some() { ", " } else { "" };
            (held.kind() == JsonKind::Object).then(|| (held.opening(), format!("{pairs}{comma}")))
        }
        // The text itself is in the entry, so something follows.
        None => Some((entry.opening(), format!("\"{TRANSLATED_FROM}\": {{{pairs}}}, "))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::slot::LocaleField;
    use super::*;

    fn read(text: &str) -> ParsedLocaleFile {
        ParsedLocaleFile::read(text.as_bytes()).unwrap().0
    }

    #[test]
    fn keeps_what_no_server_lists_and_forgets_what_it_no_longer_says() {
        let before = r#"{"$schema":"x","messages":{"m":{"source":"S {n}",  "text":"T { $n }", "note":"N"}},"tools":{"gone":{"title":"G"}},
            "keywords":["x","y"],"colour": 7}"#;
        let mut draft = LocaleFileDraft::default().with_existing(before.as_bytes()).unwrap();
        assert!(draft.add(TextSlot::Server(LocaleField::Title), "Weather"));
        assert!(draft.add(TextSlot::Server(LocaleField::Title), "Once more"));
        assert!(!draft.add(TextSlot::Server(LocaleField::Description), " \n"));
        assert!(!draft.add(
            TextSlot::Server(LocaleField::Description),
            &"x".repeat(ParsedLocaleFile::MAX_TEXT_BYTES + 1)
        ));
        let expected = r#"{
  "$schema": "x",
  "keywords": ["x","y"],
  "colour": 7,
  "server": {
    "title": "Weather"
  },
  "messages": {"m":{"source":"S {n}",  "text":"T { $n }", "note":"N"}}
}
"#;
        assert_eq!(draft.write(), expected);
        assert_eq!(LocaleFileDraft::default().write(), "{}\n");
        assert_eq!(LocaleFileDraft::default().with_existing(b"[]").unwrap_err(), LocaleFileError::NoObject);
    }

    #[test]
    fn what_comes_again_keeps_its_place_and_a_title_that_only_people_gave() {
        let before = r#"{"prompts":{"p":{"arguments":{"q":{"title":"Ours"}}}},
            "tools":{"b":{"title":"Ours","description":"B","arguments":{"y":{"title":"gone"},"x":{"title":"X"}}},"a":{"title":"old"}}}"#;
        let mut draft = LocaleFileDraft::default().with_existing(before.as_bytes()).unwrap();
        let argument = |path, field| TextSlot::Argument { tool: "b", path, field };
        for (slot, text) in [
            (TextSlot::Tool("new", LocaleField::Title), "N"),
            (TextSlot::Tool("a", LocaleField::Title), "A"),
            (TextSlot::Tool("b", LocaleField::Description), "B!"),
            (argument("x", LocaleField::Title), "X"),
            (argument("y", LocaleField::Description), "Y"),
            (TextSlot::PromptArgument { prompt: "p", argument: "q", field: LocaleField::Description }, "Q"),
        ] {
            draft.add(slot, text);
        }
        let now = read(&draft.write());
        let texts: Vec<_> = now.entries().map(|line| format!("{} {}", line.path, line.text)).collect();
        assert_eq!(
            texts,
            [
                "tools.b.title Ours",
                "tools.b.description B!",
                "tools.b.arguments.y.description Y",
                "tools.b.arguments.x.title X",
                "tools.a.title A",
                "tools.new.title N",
                "prompts.p.arguments.q.title Ours",
                "prompts.p.arguments.q.description Q",
            ]
        );
        // Nothing changes when nothing changed.
        let again = draft.write();
        let mut draft = LocaleFileDraft::default().with_existing(again.as_bytes()).unwrap();
        for line in now.entries().rev() {
            draft.copy(line, &line.text);
        }
        assert_eq!(draft.write(), again);
    }

    #[test]
    fn marks_only_what_changed_and_was_translated() {
        let before = read(r#"{"tools":{"a":{"title":"1","description":"2"},"b":{"title":"3"}}}"#);
        let now = read(r#"{"tools":{"a":{"title":"1!","description":"2!"},"b":{"title":"3"}}}"#);
        for (file, expected) in [
            (
                r#"{"tools":[{"name":"a","title":"eins","description":"zwei"},{"name":"b","title":"drei"}]}"#,
                r#"{"tools":[{"translated_from": {"title": "1", "description": "2"}, "name":"a","title":"eins","description":"zwei"},{"name":"b","title":"drei"}]}"#,
            ),
            (
                r#"{"tools":{"a":{"title":"eins","description":"zwei","translated_from":{"title":"0"}}}}"#,
                r#"{"tools":{"a":{"title":"eins","description":"zwei","translated_from":{"description": "2", "title":"0"}}}}"#,
            ),
            (r#"{"tools":{"b":{"title":"drei"},"c":{"title":"vier"}}}"#, ""),
            ("{\"tools\":", ""),
        ] {
            let marked = mark_stale(file, &before, &now);
            assert_eq!(marked, if expected.is_empty() { file } else { expected });
            // Once marked, it stays.
            assert_eq!(mark_stale(&marked, &before, &now), marked);
        }
    }
}
