//! What the operator wrote for the answers of a server.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_attune_wire::json::SpannedValue;
use mcp_attune_wire::message::Message;

use super::compiled_schema::CompiledSchema;
use super::template::{Template, TemplateCompileError, TemplateSet, ToolHints};
use mcp_attune::suggestion::nearest;

/// How the answers of a server are shaped. Where there is none, nothing is.
#[derive(Clone, Debug, Default)]
pub struct OperatorContent {
    /// Whether `instructions` say what the caller gets.
    pub announce: bool,
    /// By the name of the tool.
    pub tools: BTreeMap<String, ToolShaping>,
    /// By the URI of the resource.
    pub resources: BTreeMap<String, Arc<TemplateSet>>,
    /// By the name of the prompt.
    pub prompts: BTreeMap<String, Arc<TemplateSet>>,
}

/// What the operator wrote for one tool.
#[derive(Clone, Debug, Default)]
pub struct ToolShaping {
    /// What its results are written with.
    pub templates: Arc<TemplateSet>,
    /// What a caller that reasons is told beside the data.
    pub hints: Option<Arc<ToolHints>>,
    /// The fields that a compact answer can do without.
    pub low_priority: Vec<String>,
}

impl OperatorContent {
    /// Whether anything that the operator wrote asks for a vendor's tag: such tags are kept for a session first.
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

    /// What does not fit the tools that a server lists: names that its results do not have, and tools that it does not
    /// have. `whole`: these are all of its pages.
    #[must_use]
    pub fn check(&self, pages: &[Message<'_>], whole: bool) -> Vec<String> {
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
                let meant = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                findings.extend(whole.then(|| format!("tools.{tool}: the server has no such tool{meant}")));
                continue;
            };
            let output = found.member("outputSchema").and_then(|schema| CompiledSchema::read(schema.raw()));
            for template in wrote.templates.iter() {
                let told = template.check(output.as_ref()).into_iter();
                findings.extend(
                    told.map(|it| format!("{tool}.{}:{}:{}: {it}", template.name(), it.line, it.column)),
                );
            }
            let told = wrote.hints.iter().flat_map(|hints| hints.check(output.as_ref()));
            findings.extend(told.map(|it| format!("the hints of {tool}:{}: {it}", it.line)));
        }
        findings
    }

    /// What a program carries inside itself.
    ///
    /// # Errors
    ///
    /// The file that is no template, and why.
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

/// The name of a listed tool.
fn name(tool: SpannedValue<'_>) -> Option<Cow<'_, str>> {
    tool.member("name")?.text()?.decode()
}

/// A template that a program carries inside itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmbeddedTemplate {
    /// What it is for.
    pub of: TemplateSubject,
    /// What follows the thing's own name in the name of the file: `md`, `compact.md`, `hints`.
    pub file: &'static str,
    /// The text.
    pub text: &'static str,
}

/// What a template is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TemplateSubject {
    /// The results of a tool, by its name.
    Tool(&'static str),
    /// A resource, by its URI.
    Resource(&'static str),
    /// A prompt, by its name.
    Prompt(&'static str),
}
