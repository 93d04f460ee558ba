//! What the operator wrote for the answers of one server: templates, hints and fields of low priority.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_attune_wire::json::SpannedValue;
use mcp_attune_wire::message::Message;

use super::compiled_schema::CompiledSchema;
use super::template::{Template, TemplateCompileError, TemplateNameFinding, TemplateSet, ToolHints};
use mcp_attune::shaping::ShaperFinding;
use mcp_attune::suggestion::nearest;

/// Everything that an operator wrote to shape the answers of one server.
///
/// It is immutable and shared between requests. A host that reads it from files builds a new one when a file
/// changes; a program with built-in templates makes one with [`from_embedded`](Self::from_embedded). An empty
/// one (`default()`) still shapes answers by their data and schema. A server for which there is no
/// `OperatorContent` is not shaped at all.
#[derive(Clone, Debug, Default)]
pub struct OperatorContent {
    /// Whether a sentence is appended to the server's `instructions` that tells each caller in which form
    /// results come (`[content] announce` in the configuration).
    pub announce: bool,
    /// What is written for single tools, by the exact name of the tool.
    pub tools: BTreeMap<String, ToolShaping>,
    /// Templates for resources that are JSON, by the exact URI of the resource. There are no URI patterns.
    pub resources: BTreeMap<String, Arc<TemplateSet>>,
    /// Templates that replace the text of prompts, by the exact name of the prompt.
    pub prompts: BTreeMap<String, Arc<TemplateSet>>,
}

/// What the operator wrote for the results of one tool. The default has nothing: results are then written
/// from their data.
#[derive(Clone, Debug, Default)]
pub struct ToolShaping {
    /// The templates for its results, for all formats and kinds of callers.
    pub templates: Arc<TemplateSet>,
    /// Hints that are added to the result for callers that declared `sampling`; `None` if the operator wrote
    /// none.
    pub hints: Option<Arc<ToolHints>>,
    /// The fields that `verbosity=compact` leaves out, by name (`source`) or by path with dots
    /// (`forecast.source`). A field that the `outputSchema` requires stays nevertheless.
    pub low_priority: Vec<String>,
}

impl OperatorContent {
    /// Returns whether a template or a hint asks for a vendor's feature tag.
    ///
    /// `tag` is written as callers declare it (`x-acme`, `!x-acme`, `x-acme-tier=gold`); only its name is
    /// compared. The sealed id of a legacy session has room for 1 KB of tags, and those that something
    /// refers to are kept first.
    ///
    /// Rules: F3.
    #[must_use]
    pub fn refers_to(&self, tag: &str) -> bool {
        let name = tag.trim_start_matches('!').split(['=', '!']).next().unwrap_or_default();
        let texts = self.resources.values().chain(self.prompts.values());
        let texts = texts.chain(self.tools.values().map(|tool| &tool.templates));
        let hints = self.tools.values().filter_map(|tool| tool.hints.as_deref());
        let vendors = texts.flat_map(|templates| templates.vendors());
        vendors.chain(hints.flat_map(ToolHints::vendors)).any(|vendor| vendor == name)
    }

    /// Compares templates and hints with the tools that a server lists, and describes what does not fit.
    ///
    /// `pages` are the answers to `tools/list` that are known. `whole` says that these are all pages; only
    /// then is a tool that is on none of them reported as missing. Names in templates and hints are looked
    /// for in the `outputSchema` of their tool, see [`Template::check`].
    #[must_use]
    pub fn check(&self, pages: &[Message<'_>], whole: bool) -> Vec<ShaperFinding> {
        let listed = || {
            pages
                .iter()
                .filter_map(|page| page.member("result")?.member("tools"))
                .flat_map(SpannedValue::elements)
        };
        let mut findings = Vec::new();
        for (tool, wrote) in &self.tools {
            let Some(found) = listed().find(|listed| name(*listed).as_deref() == Some(tool)) else {
                let names: Vec<_> = listed().filter_map(name).collect();
                let near = nearest(tool, names.iter().map(AsRef::as_ref));
                findings.extend(whole.then(|| ShaperFinding {
                    tool: tool.clone(),
                    is_tool_missing: true,
                    place: format!("tools.{tool}"),
                    what: "the server has no such tool".to_owned(),
                    hint: near.map(|near| format!("did you mean `{near}`?")),
                }));
                continue;
            };
            let output = found.member("outputSchema").and_then(|schema| CompiledSchema::read(schema.raw()));
            for template in wrote.templates.iter() {
                let told = template.check(output.as_ref()).into_iter();
                findings.extend(told.map(|it| {
                    let place = format!("{tool}.{}:{}:{}", template.name(), it.line, it.column);
                    misfit(tool, place, &it)
                }));
            }
            let told = wrote.hints.iter().flat_map(|hints| hints.check(output.as_ref()));
            findings.extend(told.map(|it| misfit(tool, format!("the hints of {tool}:{}", it.line), &it)));
        }
        findings
    }

    /// Compiles templates that are part of a program, for example by `include_str!`.
    ///
    /// An entry for a tool whose `file` is `hints` becomes the [hints](ToolShaping::hints) of that tool; all
    /// others are templates.
    ///
    /// # Errors
    ///
    /// Returns the `file` of the first entry that does not compile, and why. As the texts are constants, that
    /// is a mistake in the program, which a test should find.
    pub fn from_embedded(
        announce: bool,
        pages: &[EmbeddedTemplate],
    ) -> Result<Self, (&'static str, TemplateCompileError)> {
        let mut content = Self { announce, ..Self::default() };
        let mut all: BTreeMap<TemplateSubject, Vec<Template>> = BTreeMap::new();
        for EmbeddedTemplate { of, file, text } in pages {
            if let (TemplateSubject::Tool(tool), "hints") = (of, *file) {
                let hints = Arc::new(ToolHints::compile(text).map_err(|wrong| (*file, wrong))?);
                content.tools.entry((*tool).to_owned()).or_default().hints = Some(hints);
                continue;
            }
            all.entry(*of).or_default().push(Template::compile(file, text).map_err(|wrong| (*file, wrong))?);
        }
        for (of, templates) in all {
            let templates = Arc::new(TemplateSet::new(templates));
            match of {
                TemplateSubject::Tool(name) => {
                    content.tools.entry(name.to_owned()).or_default().templates = templates;
                }
                TemplateSubject::Resource(uri) => drop(content.resources.insert(uri.to_owned(), templates)),
                TemplateSubject::Prompt(name) => drop(content.prompts.insert(name.to_owned(), templates)),
            }
        }
        Ok(content)
    }
}

/// A name in something written for a tool that its results do not have.
fn misfit(tool: &str, place: String, found: &TemplateNameFinding) -> ShaperFinding {
    let (tool, what, hint) = (tool.to_owned(), found.what(), Some(found.hint()));
    ShaperFinding { tool, is_tool_missing: false, place, what, hint }
}

/// The name of a listed tool.
fn name(tool: SpannedValue<'_>) -> Option<Cow<'_, str>> {
    tool.member("name")?.text()?.decode()
}

/// A template, or a tool's hints, that a program carries inside itself instead of reading it from a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmbeddedTemplate {
    /// The tool, resource or prompt that it is for.
    pub of: TemplateSubject,
    /// What would follow the subject's own name and a dot in the name of a file: `md`, `compact.md`, `hints`.
    /// It says for which format and which callers the template is.
    pub file: &'static str,
    /// The source of the template or of the hints.
    pub text: &'static str,
}

/// The thing whose answers a template writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TemplateSubject {
    /// The results of a tool, by its name.
    Tool(&'static str),
    /// A resource, by its URI.
    Resource(&'static str),
    /// A prompt, by its name.
    Prompt(&'static str),
}
