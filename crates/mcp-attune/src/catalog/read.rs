//! Locale files, read strictly and forgivingly at once: what cannot be used is told, and nothing else is lost for it.

use std::collections::HashSet;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{Text, Type, Value};

use super::finding::{Finding, Refused, Wrong};
use super::sheet::{Line, Sheet};
use super::slot::{Path, VALUES};

/// What a text was translated from, beside it.
pub(super) const MARK: &str = "translated_from";

const BUNDLE: &[&str] = &["display_name", "description", "long_description"];
const SERVER: &[&str] = &["title", "description", "instructions"];
const THING: &[&str] = &["title", "description"];
const TOOL: &[&str] = &["title", "description", "invoking", "invoked"];

impl Sheet {
    /// Reads a locale file.
    ///
    /// # Errors
    ///
    /// [`Refused`] where nothing in it can be trusted.
    pub fn read(file: &[u8]) -> Result<(Self, Vec<Finding>), Refused> {
        if file.len() > Self::MAX_BYTES {
            return Err(Refused::TooLarge);
        }
        let read = Document::parse(file).map_err(Refused::Unreadable)?;
        let root = read.root();
        if root.kind() != Type::Object {
            return Err(Refused::NoObject);
        }
        let mut reader = Reader::default();
        reader.file(root);
        Ok((Self { lines: reader.lines }, reader.findings))
    }
}

/// What of an entry is text, and which groups of entries are in it.
#[derive(Clone, Copy)]
struct Shape {
    fields: &'static [&'static str],
    groups: &'static [&'static str],
    /// Whether several may stand in a list, each with its name.
    listed: bool,
    /// Whether values of the thing can be translated.
    values: bool,
}

const INNER: Shape = Shape { fields: THING, groups: &[], listed: false, values: false };
const OUTPUT: Shape = Shape { values: true, ..INNER };

#[derive(Default)]
struct Reader {
    lines: Vec<Line>,
    findings: Vec<Finding>,
    full: bool,
}

impl Reader {
    fn file(&mut self, root: Value<'_>) {
        let top = Path::default();
        let marks = self.marks(&top, root);
        for (name, value) in root.members() {
            let Some(key) = self.name(&top, name, value) else { continue };
            let path = top.with(&key);
            match &*key {
                "$schema" | MARK => {}
                key if BUNDLE.contains(&key) => self.text(path, value, marks.get(key)),
                "keywords" => self.keywords(&path, value),
                "author" => self.thing(&path, value, Shape { fields: &["name"], ..INNER }),
                "server" => self.thing(&path, value, Shape { fields: SERVER, ..INNER }),
                "tools" => self.things(
                    &path,
                    value,
                    Shape { fields: TOOL, groups: &["arguments", "output"], listed: true, ..INNER },
                ),
                "prompts" => {
                    self.things(&path, value, Shape { groups: &["arguments"], listed: true, ..INNER });
                }
                "resources" | "resource_templates" => self.things(&path, value, INNER),
                "messages" => self.messages(&path, value),
                _ => self.find(path, value, Wrong::UnknownKey),
            }
        }
    }

    fn things(&mut self, path: &Path, value: Value<'_>, shape: Shape) {
        if shape.listed && value.kind() == Type::Array {
            let mut known = HashSet::new();
            for (at, entry) in value.elements().enumerate() {
                let Some(name) = entry.member("name").and_then(Value::text).and_then(Text::decode) else {
                    self.find(path.with(&at.to_string()), entry, Wrong::Nameless);
                    continue;
                };
                if known.insert(name.clone()) {
                    self.thing(&path.with(&name), entry, shape);
                } else {
                    self.find(path.with(&name), entry, Wrong::RepeatedName);
                }
            }
            return;
        }
        if !self.is(value, Type::Object, path) {
            return;
        }
        for (name, entry) in value.members() {
            if let Some(name) = self.name(path, name, entry) {
                self.thing(&path.with(&name), entry, Shape { listed: false, ..shape });
            }
        }
    }

    fn thing(&mut self, path: &Path, value: Value<'_>, shape: Shape) {
        if !self.is(value, Type::Object, path) {
            return;
        }
        let marks = self.marks(path, value);
        for (name, value) in value.members() {
            let Some(key) = self.name(path, name, value) else { continue };
            let path = path.with(&key);
            match &*key {
                MARK => {}
                "name" if shape.listed => {}
                key if shape.fields.contains(&key) => self.text(path, value, marks.get(key)),
                VALUES if shape.values => self.values(&path, value),
                "output" if shape.groups.contains(&"output") => self.things(&path, value, OUTPUT),
                key if shape.groups.contains(&key) => self.things(&path, value, INNER),
                _ => self.find(path, value, Wrong::UnknownKey),
            }
        }
    }

    /// The translated values of an output field: what the server writes, and what people read instead.
    fn values(&mut self, path: &Path, value: Value<'_>) {
        if !self.is(value, Type::Object, path) {
            return;
        }
        for (name, text) in value.members() {
            if let Some(source) = self.name(path, name, text) {
                self.text(path.with(&source), text, None);
            }
        }
    }

    fn messages(&mut self, path: &Path, value: Value<'_>) {
        if !self.is(value, Type::Object, path) {
            return;
        }
        for (name, value) in value.members() {
            let Some(key) = self.name(path, name, value) else { continue };
            let path = path.with(&key);
            if !self.is(value, Type::Object, &path) {
                continue;
            }
            let (mut source, mut text) = (Some(None), None);
            for (name, value) in value.members() {
                let Some(key) = self.name(&path, name, value) else { continue };
                let path = path.with(&key);
                match &*key {
                    "source" => source = self.checked(&path, value).map(Some),
                    "text" => text = self.checked(&path, value).map(|text| (text, value.span().start())),
                    "note" => {}
                    _ => self.find(path, value, Wrong::UnknownKey),
                }
            }
            if value.member("text").is_none() {
                self.find(path.with("text"), value, Wrong::Empty);
            }
            // One that is wrong in one half is of no use in the other.
            if let (Some(from), Some((text, at))) = (source, text) {
                self.line(Line { path: path.with("text"), text, from, at });
            }
        }
    }

    fn keywords(&mut self, path: &Path, value: Value<'_>) {
        if !self.is(value, Type::Array, path) {
            return;
        }
        for (at, word) in value.elements().enumerate() {
            self.text(path.with(&at.to_string()), word, None);
        }
    }

    fn text(&mut self, path: Path, value: Value<'_>, from: Option<Box<str>>) {
        if let Some(text) = self.checked(&path, value) {
            self.line(Line { path, text, from, at: value.span().start() });
        }
    }

    fn checked(&mut self, path: &Path, value: Value<'_>) -> Option<Box<str>> {
        let wrong = match value.text().map(Text::decode) {
            None => Wrong::NotText,
            Some(None) => Wrong::NoCharacter,
            Some(Some(text)) if text.trim().is_empty() => Wrong::Empty,
            Some(Some(text)) if text.len() > Sheet::MAX_TEXT => Wrong::TooLong,
            Some(Some(text)) => return Some(text.into()),
        };
        self.find(path.clone(), value, wrong);
        None
    }

    fn line(&mut self, line: Line) {
        if self.lines.len() < Sheet::MAX_TEXTS {
            self.lines.push(line);
        } else if !self.full {
            self.full = true;
            self.found(Finding { path: line.path, at: line.at, what: Wrong::TooMany });
        }
    }

    /// What the texts of an entry were translated from.
    fn marks(&mut self, path: &Path, entry: Value<'_>) -> Marks {
        let path = path.with(MARK);
        let Some(value) = entry.member(MARK) else { return Marks::default() };
        if !self.is(value, Type::Object, &path) {
            return Marks::default();
        }
        let mut marks = Vec::new();
        for (name, value) in value.members() {
            let Some(name) = self.name(&path, name, value) else { continue };
            if let Some(text) = self.checked(&path.with(&name), value) {
                marks.push((name, text));
            }
        }
        Marks(marks)
    }

    fn name(&mut self, path: &Path, name: Text<'_>, value: Value<'_>) -> Option<Box<str>> {
        /// No name on the wire is longer in earnest.
        const LONGEST: usize = 4096;
        let wrong = match name.decode() {
            None => Wrong::NoCharacter,
            Some(name) if name.len() > LONGEST => Wrong::TooLong,
            Some(name) => return Some(name.into()),
        };
        self.find(path.clone(), value, wrong);
        None
    }

    fn is(&mut self, value: Value<'_>, kind: Type, path: &Path) -> bool {
        if value.kind() != kind {
            let wrong = if kind == Type::Array { Wrong::NotList } else { Wrong::NotObject };
            self.find(path.clone(), value, wrong);
        }
        value.kind() == kind
    }

    fn find(&mut self, path: Path, value: Value<'_>, what: Wrong) {
        self.found(Finding { path, at: value.span().start(), what });
    }

    fn found(&mut self, finding: Finding) {
        match self.findings.len() {
            ..Sheet::MAX_FINDINGS => self.findings.push(finding),
            Sheet::MAX_FINDINGS => self.findings.push(Finding { what: Wrong::MoreFindings, ..finding }),
            _ => {}
        }
    }
}

#[derive(Default)]
struct Marks(Vec<(Box<str>, Box<str>)>);

impl Marks {
    fn get(&self, field: &str) -> Option<Box<str>> {
        self.0.iter().find(|(name, _)| **name == *field).map(|(_, text)| text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str) -> Vec<(String, String, Option<String>)> {
        let (sheet, findings) = Sheet::read(file.as_bytes()).unwrap();
        assert_eq!(findings, [], "{file}");
        let shown = |line: &Line| {
            (line.path.to_string(), line.text.to_string(), line.from.as_deref().map(Into::into))
        };
        sheet.lines().map(shown).collect()
    }

    #[track_caller]
    fn check(file: &str, expected: &[(&str, &str, Option<&str>)]) {
        let found = lines(file);
        let found: Vec<_> =
            found.iter().map(|(path, text, from)| (&**path, &**text, from.as_deref())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn reads_every_section() {
        check(
            r#"{"$schema":"x","display_name":"A","description":"B","long_description":"C","keywords":["d","e"],
                "author":{"name":"F"},"server":{"title":"G","description":"H","instructions":"I"},
                "tools":{"t":{"title":"J","description":"K","arguments":{"a.b[]":{"title":"L","description":"M"}},
                    "output":{"o":{"description":"N"}}}},
                "prompts":{"p":{"title":"O","arguments":{"q":{"title":"P","description":"Q"}}}},
                "resources":{"map://x":{"title":"R"}},"resource_templates":{"map://{id}":{"description":"S"}},
                "messages":{"m":{"source":"T {u}","text":"V { $u }","note":"W"},"by-key":{"text":"X"}}}"#,
            &[
                ("display_name", "A", None),
                ("description", "B", None),
                ("long_description", "C", None),
                ("keywords.0", "d", None),
                ("keywords.1", "e", None),
                ("author.name", "F", None),
                ("server.title", "G", None),
                ("server.description", "H", None),
                ("server.instructions", "I", None),
                ("tools.t.title", "J", None),
                ("tools.t.description", "K", None),
                ("tools.t.arguments[\"a.b[]\"].title", "L", None),
                ("tools.t.arguments[\"a.b[]\"].description", "M", None),
                ("tools.t.output.o.description", "N", None),
                ("prompts.p.title", "O", None),
                ("prompts.p.arguments.q.title", "P", None),
                ("prompts.p.arguments.q.description", "Q", None),
                ("resources[\"map://x\"].title", "R", None),
                ("resource_templates[\"map://{id}\"].description", "S", None),
                ("messages.m.text", "V { $u }", Some("T {u}")),
                ("messages.by-key.text", "X", None),
            ],
        );
    }

    #[test]
    fn reads_lists_as_bundles_have_them() {
        check(
            r#"{"tools":[{"name":"a","description":"A"},{"description":"B","name":"b"}],"prompts":[{"name":"p","title":"P"}]}"#,
            &[
                ("tools.a.description", "A", None),
                ("tools.b.description", "B", None),
                ("prompts.p.title", "P", None),
            ],
        );
    }

    #[test]
    fn reads_what_a_text_was_translated_from() {
        check(
            r#"{"description":"A","translated_from":{"description":"old"},
                "tools":{"t":{"translated_from":{"title":"older"},"title":"B","description":"C"}}}"#,
            &[
                ("description", "A", Some("old")),
                ("tools.t.title", "B", Some("older")),
                ("tools.t.description", "C", None),
            ],
        );
    }

    #[test]
    fn ignores_only_what_is_wrong_and_says_where() {
        let file = r#"{"colour":"red","display_name":"","keywords":"x","tools":{"a":{"title":7,"name":"a","description":"A"},
            "b":"B","c":{"title":"\ud83d","arguments":[],"translated_from":{"title":1}}},"prompts":[{"title":"x"},
            {"name":"p","title":"P"},{"name":"p","title":"Q"}],"resources":[],"messages":{"m":{"source":"x"},
            "n":{"source":"","text":"N"},"o":{"text":"O","extra":1},"q":7}}"#;
        let (sheet, findings) = Sheet::read(file.as_bytes()).unwrap();
        let texts: Vec<_> = sheet.lines().map(|line| &*line.text).collect();
        assert_eq!(texts, ["A", "P", "O"]);
        let shown: Vec<_> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "colour: there is no such key here",
                "display_name: no text",
                "keywords: not a list",
                "tools.a.title: not text",
                "tools.a.name: there is no such key here",
                "tools.b: not an object",
                "tools.c.translated_from.title: not text",
                "tools.c.title: half a character",
                "tools.c.arguments: not an object",
                "prompts.0: an entry without a name",
                "prompts.p: the same name as an earlier entry",
                "resources: not an object",
                "messages.m.text: no text",
                "messages.n.source: no text",
                "messages.o.extra: there is no such key here",
                "messages.q: not an object",
            ]
        );
        assert_eq!(findings[3].place(file.as_bytes()), (1, 72));
        assert_eq!(&file[findings[3].at..][..1], "7");
        assert!(findings.iter().all(|finding| !finding.hint().is_empty()));
    }

    #[test]
    fn refuses_what_cannot_be_trusted_as_a_whole() {
        for (file, part) in [
            (&b"{\"tools\":{\"a\":{\"title\":\"A\",\"t\\u0069tle\":\"B\"}}}"[..], "twice"),
            (b"{\"tools\":", "ends inside"),
            (b"\xff", "UTF-8"),
            (b"", ""),
            (b"[]", "no JSON object"),
        ] {
            let refused = Sheet::read(file).unwrap_err();
            assert!(refused.to_string().contains(part), "{refused}");
        }
        let mut huge = br#"{"display_name":"x"}"#.to_vec();
        huge.resize(Sheet::MAX_BYTES, b' ');
        assert!(Sheet::read(&huge).is_ok());
        huge.push(b' ');
        assert_eq!(Sheet::read(&huge), Err(Refused::TooLarge));
        let deep = format!("{}{}", "{\"a\":".repeat(200), "}".repeat(200));
        assert!(Sheet::read(deep.as_bytes()).is_err());
    }

    #[test]
    fn keeps_within_its_bounds() {
        let long = format!(r#"{{"description":"{}","display_name":"x"}}"#, "x".repeat(Sheet::MAX_TEXT + 1));
        let (sheet, findings) = Sheet::read(long.as_bytes()).unwrap();
        assert_eq!((sheet.lines().len(), &findings[0].what), (1, &Wrong::TooLong));
        let words = format!(r#"{{"keywords":[{}"x"]}}"#, "\"x\",".repeat(Sheet::MAX_TEXTS));
        let (sheet, findings) = Sheet::read(words.as_bytes()).unwrap();
        assert_eq!(
            (sheet.lines().len(), findings.len(), &findings[0].what),
            (Sheet::MAX_TEXTS, 1, &Wrong::TooMany)
        );
        let wrong = format!(r#"{{"keywords":[{}7]}}"#, "7,".repeat(1000));
        let (_, findings) = Sheet::read(wrong.as_bytes()).unwrap();
        assert_eq!(findings.len(), Sheet::MAX_FINDINGS + 1);
        assert_eq!(findings.last().unwrap().what, Wrong::MoreFindings);
    }
}
