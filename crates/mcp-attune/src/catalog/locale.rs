//! The texts of one language, ready for use.

use core::fmt;
use std::collections::HashMap;

use mcp_attune_wire::json::JsonQuoted;

use super::finding::{LocaleFileError, LocaleFileFinding, LocaleFileProblem};
use super::locale_file::{LocaleFileEntry, ParsedLocaleFile};
use super::slot::{LocaleField, LocaleKeyPath, TextSlot};
use crate::language::Tag;
use crate::messages::{FluentMessages, MessageDefinition, MessageDefinitionPart};

/// One locale file, made ready: each text is found in constant time, and is kept as the JSON string that it
/// becomes.
///
/// Rules: L8, L9.
pub struct CompiledLocale {
    tag: Tag,
    server: FieldTexts,
    tools: HashMap<Box<str>, CompiledEntry>,
    prompts: HashMap<Box<str>, CompiledEntry>,
    resources: HashMap<Box<str>, FieldTexts>,
    templates: HashMap<Box<str>, FieldTexts>,
    messages: FluentMessages,
    bundle: BundleTexts,
    /// The bundle's name as a JSON string.
    display_name: Option<Box<str>>,
}

/// What a bundle shows of itself; no live server needs it.
///
/// Rules: B3.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct BundleTexts {
    /// Its name for people.
    pub display_name: Option<Box<str>>,
    /// What it is.
    pub description: Option<Box<str>>,
    /// What it is, at length.
    pub long_description: Option<Box<str>>,
    /// What it is found by.
    pub keywords: Vec<Box<str>>,
    /// Who made it.
    pub author: Option<Box<str>>,
}

/// Texts as JSON strings, by field; most have one or two of them.
#[derive(Default)]
struct FieldTexts(Vec<(LocaleField, Box<str>)>);

impl FieldTexts {
    fn get(&self, field: LocaleField) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == field).map(|(_, text)| &**text)
    }

    fn put(&mut self, field: LocaleField, text: &str) {
        self.0.reserve_exact(1);
        self.0.push((field, JsonQuoted(text).to_string().into()));
    }
}

#[derive(Default)]
struct CompiledEntry {
    texts: FieldTexts,
    arguments: HashMap<Box<str>, FieldTexts>,
    output: HashMap<Box<str>, FieldTexts>,
    /// The translated values of its output fields.
    values: HashMap<Box<str>, FluentMessages>,
}

impl CompiledLocale {
    /// Reads a locale file: what can be used of it, and what cannot.
    ///
    /// # Errors
    ///
    /// [`LocaleFileError`] where nothing in it can be trusted.
    pub fn read(tag: Tag, file: &[u8]) -> Result<(Self, Vec<LocaleFileFinding>), LocaleFileError> {
        let (sheet, mut findings) = ParsedLocaleFile::read(file)?;
        let (locale, more) = Self::new(tag, &sheet);
        findings.extend(more.into_iter().take(ParsedLocaleFile::MAX_FINDINGS));
        Ok((locale, findings))
    }

    /// Makes a file ready that was read; told is what is wrong with its messages.
    #[must_use]
    pub fn new(tag: Tag, sheet: &ParsedLocaleFile) -> (Self, Vec<LocaleFileFinding>) {
        let mut locale = Self {
            tag,
            server: FieldTexts::default(),
            tools: HashMap::new(),
            prompts: HashMap::new(),
            resources: HashMap::new(),
            templates: HashMap::new(),
            messages: FluentMessages::default(),
            bundle: BundleTexts::default(),
            display_name: None,
        };
        let mut entries = Vec::new();
        let mut places = HashMap::new();
        let mut findings = locale.put_values(sheet);
        for line in sheet.entries().filter(|line| line.path.as_value().is_none()) {
            let names: Vec<_> = line.path.names().collect();
            if let ["messages", key, _] = names.as_slice() {
                entries.push(MessageDefinition { key, source: line.from.as_deref(), text: &line.text });
                places.insert(*key, line.at);
            } else {
                locale.put(&names, &line.text);
            }
        }
        let (messages, wrong) = FluentMessages::new(entries);
        locale.messages = messages;
        let finding = |(key, wrong, part): (Box<str>, _, _)| {
            let path = LocaleKeyPath::default().with("messages").with(&key);
            let path = match part {
                MessageDefinitionPart::Key => path,
                MessageDefinitionPart::Source => path.with("source"),
                MessageDefinitionPart::Text => path.with("text"),
            };
            LocaleFileFinding {
                path,
                at: places.get(&*key).copied().unwrap_or_default(),
                what: LocaleFileProblem::Message(wrong),
            }
        };
        findings.extend(wrong.into_iter().map(finding));
        (locale, findings)
    }

    /// Makes the translated values ready, each field by itself: one word may mean two things in two fields.
    fn put_values(&mut self, sheet: &ParsedLocaleFile) -> Vec<LocaleFileFinding> {
        let mut fields: HashMap<(&str, &str), Vec<(&str, &LocaleFileEntry)>> = HashMap::new();
        for line in sheet.entries() {
            if let Some(value) = line.path.as_value() {
                fields.entry((value.tool, value.field)).or_default().push((value.source, line));
            }
        }
        let mut findings = Vec::new();
        for ((tool, field), lines) in fields {
            let keys: Vec<String> = (0..lines.len()).map(|at| format!("{VALUE_KEY}{at}")).collect();
            let entries = keys.iter().zip(&lines).map(|(key, (source, line))| MessageDefinition {
                key,
                source: Some(source),
                text: &line.text,
            });
            let (values, wrong) = FluentMessages::new(entries);
            for (key, wrong, _) in wrong {
                let at = key.strip_prefix(VALUE_KEY).and_then(|at| at.parse::<usize>().ok());
                if let Some((_, line)) = at.and_then(|at| lines.get(at)) {
                    let (path, at) = (line.path.clone(), line.at);
                    findings.push(LocaleFileFinding { path, at, what: LocaleFileProblem::Message(wrong) });
                }
            }
            self.tools.entry(tool.into()).or_default().values.insert(field.into(), values);
        }
        findings.sort_by_key(|finding| finding.at);
        findings
    }

    fn put(&mut self, names: &[&str], text: &str) {
        let (Some(field), [section, ..]) = (names.last(), names) else { return };
        let field = match *field {
            "title" => LocaleField::Title,
            "instructions" => LocaleField::Instructions,
            "invoking" => LocaleField::Invoking,
            "invoked" => LocaleField::Invoked,
            _ => LocaleField::Description,
        };
        let inner = |things: &mut HashMap<Box<str>, CompiledEntry>, name: &str, group: &str, path: &str| {
            let thing = things.entry(name.into()).or_default();
            let group = if group == "output" { &mut thing.output } else { &mut thing.arguments };
            group.entry(path.into()).or_default().put(field, text);
        };
        match (*section, names) {
            ("server", _) => self.server.put(field, text),
            ("tools", [_, name, _]) => self.tools.entry((*name).into()).or_default().texts.put(field, text),
            ("tools", [_, name, group, path, _]) => inner(&mut self.tools, name, group, path),
            ("prompts", [_, name, _]) => {
                self.prompts.entry((*name).into()).or_default().texts.put(field, text);
            }
            ("prompts", [_, name, group, path, _]) => inner(&mut self.prompts, name, group, path),
            ("resources", [_, uri, _]) => self.resources.entry((*uri).into()).or_default().put(field, text),
            ("resource_templates", [_, uri, _]) => {
                self.templates.entry((*uri).into()).or_default().put(field, text);
            }
            ("display_name", _) => {
                self.display_name = Some(JsonQuoted(text).to_string().into());
                self.bundle.display_name = Some(text.into());
            }
            ("description", _) => self.bundle.description = Some(text.into()),
            ("long_description", _) => self.bundle.long_description = Some(text.into()),
            ("keywords", _) => self.bundle.keywords.push(text.into()),
            ("author", _) => self.bundle.author = Some(text.into()),
            _ => {}
        }
    }

    /// The language.
    #[must_use]
    pub fn tag(&self) -> &Tag {
        &self.tag
    }

    /// The text of a slot as a JSON string, quotes included: what takes the place of the server's.
    #[must_use]
    pub fn find(&self, slot: TextSlot<'_>) -> Option<&str> {
        match slot {
            // People know the server by the name that its bundle is shown under.
            TextSlot::Server(LocaleField::Title) => {
                self.server.get(LocaleField::Title).or(self.display_name.as_deref())
            }
            TextSlot::Server(field) => self.server.get(field),
            TextSlot::Tool(tool, field) => self.tools.get(tool)?.texts.get(field),
            TextSlot::Argument { tool, path, field } => self.tools.get(tool)?.arguments.get(path)?.get(field),
            TextSlot::Output { tool, path, field } => self.tools.get(tool)?.output.get(path)?.get(field),
            TextSlot::Prompt(prompt, field) => self.prompts.get(prompt)?.texts.get(field),
            TextSlot::PromptArgument { prompt, argument, field } => {
                self.prompts.get(prompt)?.arguments.get(argument)?.get(field)
            }
            TextSlot::Resource(uri, field) => self.resources.get(uri)?.get(field),
            TextSlot::ResourceTemplate(template, field) => self.templates.get(template)?.get(field),
        }
    }

    /// The translated values of an output field.
    ///
    /// Rules: L22.
    #[must_use]
    pub fn values(&self, tool: &str, field: &str) -> Option<&FluentMessages> {
        self.tools.get(tool)?.values.get(field)
    }

    /// Whether any value of a tool's results is translated.
    #[must_use]
    pub fn has_values(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|tool| !tool.values.is_empty())
    }

    /// The messages.
    #[must_use]
    pub fn messages(&self) -> &FluentMessages {
        &self.messages
    }

    /// What belongs to a bundle.
    #[must_use]
    pub fn bundle(&self) -> &BundleTexts {
        &self.bundle
    }
}

/// What the key of a value begins with, before its number among those of its field: sources need not be names, and keys
/// must.
const VALUE_KEY: &str = "v";

impl fmt::Debug for CompiledLocale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledLocale")
            .field("tag", &self.tag)
            .field("tools", &self.tools.len())
            .field("prompts", &self.prompts.len())
            .field("messages", &self.messages.len())
            .finish_non_exhaustive()
    }
}
