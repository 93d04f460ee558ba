//! What listings and greetings say that shaping depends on.
//!
//! Rules: F6, F7, F13, F14.

use core::any::Any;
use core::fmt;
use std::sync::{Arc, OnceLock};

use mcp_attune_wire::json::{JsonKind, SpannedValue};
use mcp_attune_wire::message::Message;

use crate::session::CONTENT_NEGOTIATION;

/// Whether a server says that it negotiates content itself, and is therefore not shaped; `None` where a message is not the
/// one that would say so.
///
/// Rules: F14.
#[must_use]
pub fn declares_content_negotiation(answer: &Message<'_>) -> Option<bool> {
    let capabilities = answer.member("result")?.member("capabilities")?;
    let extensions = capabilities.member("extensions");
    Some(extensions.is_some_and(|extensions| extensions.member(CONTENT_NEGOTIATION).is_some()))
}

/// Whether a tool, as it is listed, names a view that a host draws from its structured content.
///
/// ```
/// use mcp_attune::shaping::has_view;
/// use mcp_attune_wire::message::Message;
///
/// let tool = br#"{"name":"map","_meta":{"ui":{"resourceUri":"ui://map"}}}"#;
/// assert!(has_view(Message::parse(tool)?.body()));
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
#[must_use]
pub fn has_view(tool: SpannedValue<'_>) -> bool {
    let Some(meta) = tool.member("_meta") else { return false };
    let nested = meta.member("ui").and_then(|ui| ui.member("resourceUri"));
    [nested, meta.member("ui/resourceUri"), meta.member("openai/outputTemplate")]
        .into_iter()
        .flatten()
        .any(|uri| uri.kind() == JsonKind::String)
}

/// What a listing says of a called tool, as far as the shape of its results depends on it.
#[derive(Clone, Debug, Default)]
pub struct ListedTool {
    /// The schema of its results.
    pub output: ListedSchema,
    /// Whether it has a view; `None` where the tool is not known.
    pub view: Option<bool>,
}

/// What is known about the schema of a tool's results.
#[derive(Clone, Debug, Default)]
pub enum ListedSchema {
    /// It could not be found out.
    #[default]
    Unknown,
    /// The caller was shown none.
    None,
    /// It is this one.
    Known(Arc<OutputSchema>),
}

/// An `outputSchema` as it was listed, with room for what a shaper compiles it to.
pub struct OutputSchema {
    written: Box<str>,
    compiled: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl OutputSchema {
    /// Keeps a schema as it was written.
    #[must_use]
    pub fn new(written: &str) -> Self {
        Self { written: written.into(), compiled: OnceLock::new() }
    }

    /// The schema as it was written.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The compiled form, made when it is first asked for. `None` where something of another type was kept before, which
    /// two different shapers for one server would come to.
    pub fn compiled<T: Any + Send + Sync>(&self, compile: impl FnOnce(&str) -> T) -> Option<&T> {
        self.compiled.get_or_init(|| Box::new(compile(&self.written))).downcast_ref()
    }
}

impl PartialEq for OutputSchema {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for OutputSchema {}

/// Shows the schema as it was written.
impl fmt::Debug for OutputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OutputSchema").field(&self.written).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_compiled_once_and_to_one_type() {
        let schema = OutputSchema::new("{}");
        assert_eq!(schema.compiled(str::len), Some(&2));
        assert_eq!(schema.compiled(|_| 7_usize), Some(&2));
        assert_eq!(schema.compiled(|_| "other"), None);
    }
}
