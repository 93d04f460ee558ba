//! Locale files, read strictly and forgivingly at once: what cannot be used is told, and nothing else is lost for it.

use std::collections::HashSet;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};

use super::finding::{LocaleFileError, LocaleFileFinding, LocaleFileProblem};
use super::locale_file::{LocaleFileEntry, ParsedLocaleFile};
use super::slot::{LocaleKeyPath, VALUES};

/// What a text was translated from, beside it.
pub(super) const TRANSLATED_FROM: &str = "translated_from";

const BUNDLE: &[&str] = &["display_name", "description", "long_description"];
const SERVER: &[&str] = &["title", "description", "instructions"];
const THING: &[&str] = &["title", "description"];
const TOOL: &[&str] = &["title", "description", "invoking", "invoked"];

impl ParsedLocaleFile {
    /// Reads a locale file.
    ///
    /// # Errors
    ///
    /// [`LocaleFileError`] where nothing in it can be trusted.
    pub fn read(file: &[u8]) -> Result<(Self, Vec<LocaleFileFinding>), LocaleFileError> {
        if file.len() > Self::MAX_BYTES {
            return Err(LocaleFileError::TooLarge);
        }
        let read = Document::parse(file).map_err(LocaleFileError::Unreadable)?;
        let root = read.root();
        if root.kind() != JsonKind::Object {
            return Err(LocaleFileError::NoObject);
        }
        let mut reader = LocaleFileReader::default();
        reader.read_root(root);
        Ok((Self { lines: reader.lines }, reader.findings))
    }
}

/// What of an entry is text, and which groups of entries are in it.
#[derive(Clone, Copy)]
struct LocaleEntryLayout {
    fields: &'static [&'static str],
    groups: &'static [&'static str],
    /// Whether several may stand in a list, each with its name.
    listed: bool,
    /// Whether values of the thing can be translated.
    values: bool,
}

const INNER: LocaleEntryLayout =
    LocaleEntryLayout { fields: THING, groups: &[], listed: false, values: false };
const OUTPUT: LocaleEntryLayout = LocaleEntryLayout { values: true, ..INNER };

#[derive(Default)]
struct LocaleFileReader {
    lines: Vec<LocaleFileEntry>,
    findings: Vec<LocaleFileFinding>,
    full: bool,
}

impl LocaleFileReader {
    fn read_root(&mut self, root: SpannedValue<'_>) {
        let top = LocaleKeyPath::default();
        let marks = self.read_origins(&top, root);
        for (name, value) in root.members() {
            let Some(key) = self.name(&top, name, value) else { continue };
            let path = top.with(&key);
            match &*key {
                "$schema" | TRANSLATED_FROM => {}
                key if BUNDLE.contains(&key) => self.text(path, value, marks.get(key)),
                "keywords" => self.keywords(&path, value),
                "author" => self.read_entry(&path, value, LocaleEntryLayout { fields: &["name"], ..INNER }),
                "server" => self.read_entry(&path, value, LocaleEntryLayout { fields: SERVER, ..INNER }),
                "tools" => self.read_entries(
                    &path,
                    value,
                    LocaleEntryLayout {
                        fields: TOOL,
                        groups: &["arguments", "output"],
                        listed: true,
                        ..INNER
                    },
                ),
                "prompts" => {
                    self.read_entries(
                        &path,
                        value,
                        LocaleEntryLayout { groups: &["arguments"], listed: true, ..INNER },
                    );
                }
                "resources" | "resource_templates" => self.read_entries(&path, value, INNER),
                "messages" => self.read_messages(&path, value),
                _ => self.report(path, value, LocaleFileProblem::UnknownKey),
            }
        }
    }

    fn read_entries(&mut self, path: &LocaleKeyPath, value: SpannedValue<'_>, shape: LocaleEntryLayout) {
        if shape.listed && value.kind() == JsonKind::Array {
            let mut known = HashSet::new();
            for (at, entry) in value.elements().enumerate() {
                let Some(name) =
                    entry.member("name").and_then(SpannedValue::text).and_then(JsonString::decode)
                else {
                    self.report(path.with(&at.to_string()), entry, LocaleFileProblem::Nameless);
                    continue;
                };
                if known.insert(name.clone()) {
                    self.read_entry(&path.with(&name), entry, shape);
                } else {
                    self.report(path.with(&name), entry, LocaleFileProblem::RepeatedName);
                }
            }
            return;
        }
        if !self.expect_type(value, JsonKind::Object, path) {
            return;
        }
        for (name, entry) in value.members() {
            if let Some(name) = self.name(path, name, entry) {
                self.read_entry(&path.with(&name), entry, LocaleEntryLayout { listed: false, ..shape });
            }
        }
    }

    fn read_entry(&mut self, path: &LocaleKeyPath, value: SpannedValue<'_>, shape: LocaleEntryLayout) {
        if !self.expect_type(value, JsonKind::Object, path) {
            return;
        }
        let marks = self.read_origins(path, value);
        for (name, value) in value.members() {
            let Some(key) = self.name(path, name, value) else { continue };
            let path = path.with(&key);
            match &*key {
                TRANSLATED_FROM => {}
                "name" if shape.listed => {}
                key if shape.fields.contains(&key) => self.text(path, value, marks.get(key)),
                VALUES if shape.values => self.read_values(&path, value),
                "output" if shape.groups.contains(&"output") => self.read_entries(&path, value, OUTPUT),
                key if shape.groups.contains(&key) => self.read_entries(&path, value, INNER),
                _ => self.report(path, value, LocaleFileProblem::UnknownKey),
            }
        }
    }

    /// The translated values of an output field: what the server writes, and what people read instead.
    fn read_values(&mut self, path: &LocaleKeyPath, value: SpannedValue<'_>) {
        if !self.expect_type(value, JsonKind::Object, path) {
            return;
        }
        for (name, text) in value.members() {
            if let Some(source) = self.name(path, name, text) {
                self.text(path.with(&source), text, None);
            }
        }
    }

    fn read_messages(&mut self, path: &LocaleKeyPath, value: SpannedValue<'_>) {
        if !self.expect_type(value, JsonKind::Object, path) {
            return;
        }
        for (name, value) in value.members() {
            let Some(key) = self.name(path, name, value) else { continue };
            let path = path.with(&key);
            if !self.expect_type(value, JsonKind::Object, &path) {
                continue;
            }
            let (mut source, mut text) = (Some(None), None);
            for (name, value) in value.members() {
                let Some(key) = self.name(&path, name, value) else { continue };
                let path = path.with(&key);
                match &*key {
                    "source" => source = self.usable_text(&path, value).map(Some),
                    "text" => text = self.usable_text(&path, value).map(|text| (text, value.span().start())),
                    "note" => {}
                    _ => self.report(path, value, LocaleFileProblem::UnknownKey),
                }
            }
            if value.member("text").is_none() {
                self.report(path.with("text"), value, LocaleFileProblem::Empty);
            }
            // One that is wrong in one half is of no use in the other.
            if let (Some(from), Some((text, at))) = (source, text) {
                self.push_entry(LocaleFileEntry { path: path.with("text"), text, from, at });
            }
        }
    }

    fn keywords(&mut self, path: &LocaleKeyPath, value: SpannedValue<'_>) {
        if !self.expect_type(value, JsonKind::Array, path) {
            return;
        }
        for (at, word) in value.elements().enumerate() {
            self.text(path.with(&at.to_string()), word, None);
        }
    }

    fn text(&mut self, path: LocaleKeyPath, value: SpannedValue<'_>, from: Option<Box<str>>) {
        if let Some(text) = self.usable_text(&path, value) {
            self.push_entry(LocaleFileEntry { path, text, from, at: value.span().start() });
        }
    }

    fn usable_text(&mut self, path: &LocaleKeyPath, value: SpannedValue<'_>) -> Option<Box<str>> {
        let wrong = match value.text().map(JsonString::decode) {
            None => LocaleFileProblem::NotText,
            Some(None) => LocaleFileProblem::NoCharacter,
            Some(Some(text)) if text.trim().is_empty() => LocaleFileProblem::Empty,
            Some(Some(text)) if text.len() > ParsedLocaleFile::MAX_TEXT_BYTES => LocaleFileProblem::TooLong,
            Some(Some(text)) => return Some(text.into()),
        };
        self.report(path.clone(), value, wrong);
        None
    }

    fn push_entry(&mut self, line: LocaleFileEntry) {
        if self.lines.len() < ParsedLocaleFile::MAX_TEXTS {
            self.lines.push(line);
        } else if !self.full {
            self.full = true;
            self.push_finding(LocaleFileFinding {
                path: line.path,
                at: line.at,
                what: LocaleFileProblem::TooMany,
            });
        }
    }

    /// What the texts of an entry were translated from.
    fn read_origins(&mut self, path: &LocaleKeyPath, entry: SpannedValue<'_>) -> TranslationOrigins {
        let path = path.with(TRANSLATED_FROM);
        let Some(value) = entry.member(TRANSLATED_FROM) else { return TranslationOrigins::default() };
        if !self.expect_type(value, JsonKind::Object, &path) {
            return TranslationOrigins::default();
        }
        let mut marks = Vec::new();
        for (name, value) in value.members() {
            let Some(name) = self.name(&path, name, value) else { continue };
            if let Some(text) = self.usable_text(&path.with(&name), value) {
                marks.push((name, text));
            }
        }
        TranslationOrigins(marks)
    }

    fn name(
        &mut self,
        path: &LocaleKeyPath,
        name: JsonString<'_>,
        value: SpannedValue<'_>,
    ) -> Option<Box<str>> {
        /// No name on the wire is longer in earnest.
        const MAX_NAME_BYTES: usize = 4096;
        let wrong = match name.decode() {
            None => LocaleFileProblem::NoCharacter,
            Some(name) if name.len() > MAX_NAME_BYTES => LocaleFileProblem::TooLong,
            Some(name) => return Some(name.into()),
        };
        self.report(path.clone(), value, wrong);
        None
    }

    fn expect_type(&mut self, value: SpannedValue<'_>, kind: JsonKind, path: &LocaleKeyPath) -> bool {
        if value.kind() != kind {
            let wrong = if kind == JsonKind::Array {
                LocaleFileProblem::NotList
            } else {
                LocaleFileProblem::NotObject
            };
            self.report(path.clone(), value, wrong);
        }
        value.kind() == kind
    }

    fn report(&mut self, path: LocaleKeyPath, value: SpannedValue<'_>, what: LocaleFileProblem) {
        self.push_finding(LocaleFileFinding { path, at: value.span().start(), what });
    }

    fn push_finding(&mut self, finding: LocaleFileFinding) {
        match self.findings.len() {
            ..ParsedLocaleFile::MAX_FINDINGS => self.findings.push(finding),
            ParsedLocaleFile::MAX_FINDINGS => {
                self.findings.push(LocaleFileFinding { what: LocaleFileProblem::MoreFindings, ..finding });
            }
            _ => {}
        }
    }
}

#[derive(Default)]
struct TranslationOrigins(Vec<(Box<str>, Box<str>)>);

impl TranslationOrigins {
    fn get(&self, field: &str) -> Option<Box<str>> {
        self.0.iter().find(|(name, _)| **name == *field).map(|(_, text)| text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str) -> Vec<(String, String, Option<String>)> {
        let (sheet, findings) = ParsedLocaleFile::read(file.as_bytes()).unwrap();
        assert_eq!(findings, [], "{file}");
        let shown = |line: &LocaleFileEntry| {
            (line.path.to_string(), line.text.to_string(), line.from.as_deref().map(Into::into))
        };
        sheet.entries().map(shown).collect()
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
        let (sheet, findings) = ParsedLocaleFile::read(file.as_bytes()).unwrap();
        let texts: Vec<_> = sheet.entries().map(|line| &*line.text).collect();
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
        assert_eq!(findings[3].position(file.as_bytes()), (1, 72));
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
            let refused = ParsedLocaleFile::read(file).unwrap_err();
            assert!(refused.to_string().contains(part), "{refused}");
        }
        let mut huge = br#"{"display_name":"x"}"#.to_vec();
        huge.resize(ParsedLocaleFile::MAX_BYTES, b' ');
        assert!(ParsedLocaleFile::read(&huge).is_ok());
        huge.push(b' ');
        assert_eq!(ParsedLocaleFile::read(&huge), Err(LocaleFileError::TooLarge));
        let deep = format!("{}{}", "{\"a\":".repeat(200), "}".repeat(200));
        assert!(ParsedLocaleFile::read(deep.as_bytes()).is_err());
    }

    #[test]
    fn keeps_within_its_bounds() {
        let long = format!(
            r#"{{"description":"{}","display_name":"x"}}"#,
            "x".repeat(ParsedLocaleFile::MAX_TEXT_BYTES + 1)
        );
        let (sheet, findings) = ParsedLocaleFile::read(long.as_bytes()).unwrap();
        assert_eq!((sheet.entries().len(), &findings[0].what), (1, &LocaleFileProblem::TooLong));
        let words = format!(r#"{{"keywords":[{}"x"]}}"#, "\"x\",".repeat(ParsedLocaleFile::MAX_TEXTS));
        let (sheet, findings) = ParsedLocaleFile::read(words.as_bytes()).unwrap();
        assert_eq!(
            (sheet.entries().len(), findings.len(), &findings[0].what),
            (ParsedLocaleFile::MAX_TEXTS, 1, &LocaleFileProblem::TooMany)
        );
        let wrong = format!(r#"{{"keywords":[{}7]}}"#, "7,".repeat(1000));
        let (_, findings) = ParsedLocaleFile::read(wrong.as_bytes()).unwrap();
        assert_eq!(findings.len(), ParsedLocaleFile::MAX_FINDINGS + 1);
        assert_eq!(findings.last().unwrap().what, LocaleFileProblem::MoreFindings);
    }
}
