//! Locale files written: the one of the default language anew, and marks put into the others.
//!
//! The file of the default language is made of what the server says now; its messages and what belongs to a bundle are
//! kept, because no server lists them. In the other files nothing changes but the marks, byte for byte.

use core::fmt::Write as _;

use mcp_attune_wire::json::{Quoted, Span, Type, Value};
use mcp_attune_wire::message::Message;

use super::read::MARK;
use super::sheet::{Line, Sheet};
use super::slot::{Path, Slot};

/// Sections that a server can be asked for.
const LISTED: &[&str] = &["server", "tools", "prompts", "resources", "resource_templates"];

/// The file of the default language, as it grows.
///
/// ```
/// use mcp_attune::catalog::{Draft, Field, Sheet, Slot};
///
/// let mut draft = Draft::default();
/// draft.add(Slot::Tool("get_weather", Field::Title), "Current weather");
/// let file = draft.write();
/// assert_eq!(file, "{\n  \"tools\": {\n    \"get_weather\": {\n      \"title\": \"Current weather\"\n    }\n  }\n}\n");
/// assert_eq!(Sheet::read(file.as_bytes()).unwrap().0.lines().len(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Draft {
    root: Node,
}

/// A text, a list of words, or names in the order they came.
#[derive(Clone, Debug, Default)]
struct Node {
    text: Option<String>,
    words: Vec<String>,
    names: Vec<(Box<str>, Node)>,
}

impl Draft {
    /// Keeps what no server lists: the messages, and what belongs to a bundle.
    #[must_use]
    pub fn keeping(before: &Sheet) -> Self {
        let mut draft = Self::default();
        for line in before.lines() {
            let names: Vec<_> = line.path.names().collect();
            match names.as_slice() {
                ["keywords", _] => {
                    draft.root.at(&["keywords"], |node| node.words.push(line.text.to_string()));
                }
                ["messages", key, "text"] => {
                    if let Some(source) = &line.from {
                        draft.root.put(&["messages", key, "source"], source);
                    }
                    draft.root.put(&names, &line.text);
                }
                [section, ..] if LISTED.contains(section) => {}
                names => draft.root.put(names, &line.text),
            }
        }
        draft
    }

    /// Adds a text; the last for a slot stands.
    pub fn add(&mut self, slot: Slot<'_>, text: &str) {
        let path = slot.path();
        self.root.put(&path.names().collect::<Vec<_>>(), text);
    }

    /// The file.
    #[must_use]
    pub fn write(&self) -> String {
        let mut out = String::new();
        self.root.write(&mut out, 0);
        out.push('\n');
        out
    }
}

impl Node {
    fn put(&mut self, names: &[&str], text: &str) {
        self.at(names, |node| node.text = Some(text.to_owned()));
    }

    fn at(&mut self, names: &[&str], then: impl FnOnce(&mut Self)) {
        let Some((first, rest)) = names.split_first() else { return then(self) };
        match self.names.iter_mut().find(|(known, _)| **known == **first) {
            Some((_, node)) => node.at(rest, then),
            None => {
                let mut node = Self::default();
                node.at(rest, then);
                self.names.push(((*first).into(), node));
            }
        }
    }

    fn write(&self, out: &mut String, depth: usize) {
        if let Some(text) = &self.text {
            let _ = write!(out, "{}", Quoted(text));
            return;
        }
        if !self.words.is_empty() {
            let words: Vec<_> = self.words.iter().map(|word| Quoted(word).to_string()).collect();
            let _ = write!(out, "[{}]", words.join(", "));
            return;
        }
        let indent = "  ".repeat(depth);
        out.push('{');
        for (at, (name, node)) in self.names.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(out, "{comma}\n{indent}  {}: ", Quoted(name));
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
/// use mcp_attune::catalog::{Sheet, mark};
///
/// let [before, now] = ["Current weather", "Weather now"]
///     .map(|title| Sheet::read(format!(r#"{{"tools":{{"w":{{"title":"{title}"}}}}}}"#).as_bytes()).unwrap().0);
/// let german = r#"{"tools": {"w": {"title": "Aktuelles Wetter"}}}"#;
/// assert_eq!(
///     mark(german, &before, &now),
///     r#"{"tools": {"w": {"translated_from": {"title": "Current weather"}, "title": "Aktuelles Wetter"}}}"#
/// );
/// ```
#[must_use]
pub fn mark(file: &str, before: &Sheet, now: &Sheet) -> String {
    let (Ok(read), Ok((sheet, _))) = (Message::parse(file.as_bytes()), Sheet::read(file.as_bytes())) else {
        return file.to_owned();
    };
    let find = |sheet: &Sheet| {
        let lines = sheet.lines().map(|line| (line.path.clone(), line.text.clone()));
        lines.collect::<std::collections::HashMap<Path, Box<str>>>()
    };
    let (before, now) = (find(before), find(now));
    let mut marks = Vec::<(Path, Vec<(String, Box<str>)>)>::new();
    for Line { path, from, .. } in sheet.lines() {
        let (Some(old), Some(new)) = (before.get(path), now.get(path)) else { continue };
        let section = path.names().next().unwrap_or_default();
        let Some((entry, field)) = path.split().filter(|_| LISTED.contains(&section)) else { continue };
        if old == new || from.is_some() {
            continue;
        }
        match marks.last_mut().filter(|(last, _)| *last == entry) {
            Some((_, fields)) => fields.push((field.to_owned(), old.clone())),
            None => marks.push((entry, vec![(field.to_owned(), old.clone())])),
        }
    }
    let edits: Vec<(Span, String)> =
        marks.iter().filter_map(|(entry, fields)| edit(read.body(), entry, fields)).collect();
    let edits: Vec<_> = edits.iter().map(|(span, text)| (*span, text.as_str())).collect();
    read.splice(&edits).unwrap_or_else(|_| file.to_owned())
}

fn edit(root: Value<'_>, entry: &Path, fields: &[(String, Box<str>)]) -> Option<(Span, String)> {
    let entry = entry.names().try_fold(root, |value, name| match value.kind() {
        Type::Array => value
            .elements()
            .find(|entry| entry.member("name").and_then(Value::text).is_some_and(|found| found.is(name))),
        _ => value.member(name),
    })?;
    let mut pairs = String::new();
    for (at, (field, text)) in fields.iter().enumerate() {
        let _ = write!(pairs, "{}{}: {}", if at == 0 { "" } else { ", " }, Quoted(field), Quoted(text));
    }
    match entry.member(MARK) {
        Some(held) => {
            let comma = if held.members().next().is_some() { ", " } else { "" };
            (held.kind() == Type::Object).then(|| (held.opening(), format!("{pairs}{comma}")))
        }
        // The text itself is in the entry, so something follows.
        None => Some((entry.opening(), format!("\"{MARK}\": {{{pairs}}}, "))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::slot::Field;
    use super::*;

    fn read(text: &str) -> Sheet {
        Sheet::read(text.as_bytes()).unwrap().0
    }

    #[test]
    fn keeps_what_no_server_lists_and_forgets_what_it_no_longer_says() {
        let before = read(
            r#"{"display_name":"A","keywords":["x","y"],"author":{"name":"B"},"tools":{"gone":{"title":"G"}},
                "messages":{"m":{"source":"S {n}","text":"T { $n }"},"k":{"text":"K"}}}"#,
        );
        let mut draft = Draft::keeping(&before);
        draft.add(Slot::Server(Field::Title), "Weather");
        let now = read(&draft.write());
        let texts: Vec<_> = now.lines().map(|line| (line.path.to_string(), &*line.text)).collect();
        let expected = [
            ("display_name", "A"),
            ("keywords.0", "x"),
            ("keywords.1", "y"),
            ("author.name", "B"),
            ("messages.m.text", "T { $n }"),
            ("messages.k.text", "K"),
            ("server.title", "Weather"),
        ];
        assert_eq!(texts, expected.map(|(path, text)| (path.to_owned(), text)));
        assert_eq!(Draft::default().write(), "{}\n");
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
            let marked = mark(file, &before, &now);
            assert_eq!(marked, if expected.is_empty() { file } else { expected });
            // Once marked, it stays.
            assert_eq!(mark(&marked, &before, &now), marked);
        }
    }
}
