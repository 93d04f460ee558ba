//! One template: compiled once, and rendered for each caller within bounds.

use core::fmt;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::JsonKind;
use minijinja::Environment;
use minijinja::value::Value;

use super::context::{ContextObject, TemplateContext};
use super::environment::environment;
use super::error::{TemplateCompileError, TemplateCompileReason, TemplateRenderError, TemplateRenderReason};
use super::lex::{self, TemplateToken};
use super::name::TemplateVariant;
use super::{MAX_DATA, MAX_OUTPUT, MAX_SOURCE, vet};

/// How many bytes of data a template is given where rendering has to be short work. With more it is not
/// tried.
const MAX_SHORT_DATA: usize = 16 << 10;
/// The name under which minijinja knows the template. Each template has an environment of its own, so there
/// is only one.
const TEMPLATE_NAME: &str = "template";

/// A compiled template that an operator wrote for the results of a tool, for a resource or for a prompt.
///
/// It is immutable and can be rendered from several threads at once. What it is for, and for which callers,
/// is in its [`variant`](Self::variant); [`TemplateSet`](super::TemplateSet) chooses among several. Whether
/// it fits the results of a tool is told by [`check`](Self::check), and not when it is compiled.
///
/// Rules: F6, F7, F8, F10, F11.
///
/// ```
/// use jiff::{Timestamp, tz::TimeZone};
/// use mcp_attune::features::FeaturePreferences;
/// use mcp_attune::language::Tag;
/// use mcp_attune_shape::template::{TemplateContext, Template};
/// use mcp_attune_wire::document::Document;
///
/// let template = Template::compile("md", "**{{ city }}**: {{ temp | unit('celsius') }}").unwrap();
/// let values = mcp_attune_format::english().for_locales([&Tag::parse("de-CH").unwrap()], TimeZone::UTC);
/// let data = Document::parse(r#"{"city":"Bern *BE*","temp":8.5}"#.as_bytes()).unwrap();
/// let wanted = FeaturePreferences::default();
/// let scene = TemplateContext::new(data.root(), &wanted, &values, Timestamp::UNIX_EPOCH);
/// assert_eq!(template.render(&scene).unwrap(), "**Bern \\*BE\\***: 8.5\u{a0}°C");
/// ```
pub struct Template {
    /// What follows the subject's own name and a dot in the name of the file, such as `compact.md`.
    name: String,
    variant: TemplateVariant,
    source: String,
    /// The names of vendors' tags in the name of the file, and all string literals in the text that look like
    /// one.
    vendors: BTreeSet<String>,
    /// The environment that the template is compiled in, with the number of steps that a rendering may take.
    environment: Environment<'static>,
    /// The same environment with the number of steps that are short work.
    short: Environment<'static>,
}

impl Template {
    /// Compiles a template. `name` is what follows the subject's own name and a dot in the name of the file:
    /// `md`, `compact.md`.
    ///
    /// Names of filters, tests and functions are checked here, so that a misspelt one is found before a
    /// caller waits. Names of variables are not, as they depend on the data.
    ///
    /// # Errors
    ///
    /// [`TemplateCompileError`] says what is wrong first, and where: the name of the file, the length, the
    /// syntax, a statement that needs another file, an unknown name, or a slice with a step.
    pub fn compile(name: &str, source: &str) -> Result<Self, TemplateCompileError> {
        let variant = TemplateVariant::parse(name)
            .map_err(|why| TemplateCompileError::at(source, 0, TemplateCompileReason::Name(why)))?;
        if source.len() > MAX_SOURCE {
            return Err(TemplateCompileError::at("", 0, TemplateCompileReason::TooLong));
        }
        let tags = lex::split_tags(source);
        vet::reject_other_files(source, &tags)?;
        let mut environment = environment(variant.kind()).clone();
        environment.set_fuel(Some(vet::step_limit(&tags)));
        environment
            .add_template_owned(TEMPLATE_NAME, source.to_owned())
            .map_err(|error| TemplateCompileError::from_syntax_error(source, &error))?;
        vet::reject_unknown_names(source, &tags)?;
        vet::reject_stepped_slices(source, &tags)?;
        let mut vendors: BTreeSet<String> = variant.vendors().map(str::to_owned).collect();
        let words = tags.all.iter().flat_map(|tag| &tag.words);
        vendors.extend(words.filter_map(|word| match word.token {
            TemplateToken::Text(text) if text.starts_with("x-") => Some(text.to_owned()),
            _ => None,
        }));
        let (name, source) = (name.to_owned(), source.to_owned());
        let mut short = environment.clone();
        short.set_fuel(Some(vet::SHORT_STEPS));
        Ok(Self { name, variant, source, vendors, environment, short })
    }

    /// Returns what follows the subject's own name and a dot in the name of the file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns which format the template writes, and which callers it is for.
    #[must_use]
    pub fn variant(&self) -> &TemplateVariant {
        &self.variant
    }

    /// Returns the text that it was compiled from.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the names of the vendors' tags that its name and its text ask for. A legacy session has to
    /// remember these.
    ///
    /// Rules: F3.
    pub fn vendors(&self) -> impl Iterator<Item = &str> {
        self.vendors.iter().map(String::as_str)
    }

    /// Renders the template for one caller.
    ///
    /// # Errors
    ///
    /// [`TemplateRenderError`] says why there is no text. The steps that a rendering takes, the text that it
    /// gives and how deep it goes are bounded, so it ends. No part of the data is in the error.
    pub fn render(&self, scene: &TemplateContext<'_>) -> Result<String, TemplateRenderError> {
        self.render_with(&self.environment, scene)
    }

    /// Renders the template if that is short work. Returns `None` if there is too much data for that, or if
    /// the steps of short work did not suffice; [`render`](Self::render) may then succeed.
    pub(crate) fn render_if_short(
        &self,
        scene: &TemplateContext<'_>,
    ) -> Option<Result<String, TemplateRenderError>> {
        if scene.data.raw().len() > MAX_SHORT_DATA {
            return None;
        }
        let rendered = self.render_with(&self.short, scene);
        let longer = matches!(&rendered, Err(failed) if failed.what == TemplateRenderReason::TooManySteps);
        (!longer).then_some(rendered)
    }

    /// Renders the template with the bounds of an environment, and checks the output of a `.json` template.
    /// Whether a translation was used is noted in the context as soon as minijinja has given the whole text.
    fn render_with(
        &self,
        environment: &Environment<'_>,
        scene: &TemplateContext<'_>,
    ) -> Result<String, TemplateRenderError> {
        let failed = |error: minijinja::Error| TemplateRenderError::from_minijinja(&self.source, &error);
        let asked = scene.arguments.map_or(0, |arguments| arguments.raw().len());
        if scene.data.raw().len() + asked > MAX_DATA {
            return Err(TemplateRenderError { line: None, what: TemplateRenderReason::TooMuchData });
        }
        let root = Arc::new(ContextObject::new(scene, self.variant.kind()));
        let seen = Value::from_dyn_object(root.clone());
        let mut out = BoundedOutput(Vec::with_capacity(self.source.len()));
        environment
            .get_template(TEMPLATE_NAME)
            .map_err(failed)?
            .render_captured_to(seen, &mut out)
            .map_err(failed)?;
        let text = String::from_utf8(out.0)
            .map_err(|_| TemplateRenderError { line: None, what: TemplateRenderReason::TooLong })?;
        if let Some(translated) = scene.translated.filter(|_| root.translated.load(Ordering::Relaxed)) {
            translated.set(true);
        }
        if self.variant.kind().is_structured() && !is_json(&text) {
            return Err(TemplateRenderError { line: None, what: TemplateRenderReason::NoJson });
        }
        Ok(text)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Returns whether a text is a JSON object or array, read as strictly as messages are: no member name twice,
/// not nested too deeply.
fn is_json(text: &str) -> bool {
    let read = Document::parse(text.as_bytes());
    read.is_ok_and(|read| matches!(read.root().kind(), JsonKind::Object | JsonKind::Array))
}

/// A writer into memory that fails as soon as more than [`MAX_OUTPUT`] bytes are written.
struct BoundedOutput(Vec<u8>);

impl io::Write for BoundedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
