//! What a tool says about the shape of its results: its `outputSchema`.
//!
//! 1. A schema is read once and kept with the listing that it came in. Of a schema that cannot be used (a reference out
//!    of the document, a pattern that is none) nothing is known: nothing is held against it, and nothing is left out.
//! 2. References inside the document are followed, a bounded number of times.

use std::sync::OnceLock;

use core::fmt;

use jsonschema::Validator;
use serde_json::{Map, Value};

/// How many references are followed, one after another.
const MAX_STEPS: usize = 16;
/// How many bytes a schema may have.
const MAX_LEN: usize = 256 << 10;

/// The `outputSchema` of a tool.
///
/// ```
/// use mcp_attune::shape::Output;
///
/// let output = Output::read(r#"{"title":"Weather","type":"object","required":["city"],
///     "properties":{"city":{"$ref":"#/$defs/place"}},"$defs":{"place":{"type":"string","title":"Ort"}}}"#).unwrap();
/// assert_eq!(output.part().title(), Some("Weather"));
/// assert_eq!(output.part().property("city").unwrap().title(), Some("Ort"));
/// assert!(output.part().requires("city"));
/// assert!(output.is_valid(&serde_json::json!({"city": "Bern"})) && !output.is_valid(&serde_json::json!({})));
/// ```
pub struct Output {
    schema: Value,
    /// Made when it is first needed: most results are not held against their schema.
    validator: OnceLock<Option<Validator>>,
}

impl Output {
    /// Reads a schema as it is written; none where it is no object, or too long.
    #[must_use]
    pub fn read(schema: &str) -> Option<Self> {
        let schema = serde_json::from_str(schema).ok().filter(|_| schema.len() <= MAX_LEN)?;
        matches!(schema, Value::Object(_)).then(|| Self { schema, validator: OnceLock::new() })
    }

    /// The schema of the whole result.
    #[must_use]
    pub fn part(&self) -> Part<'_> {
        Part { root: &self.schema, here: &self.schema }.followed()
    }

    /// Whether data is what the schema asks for. Where the schema cannot be used, nothing is.
    #[must_use]
    pub fn is_valid(&self, data: &Value) -> bool {
        let made = || jsonschema::options().build(&self.schema).ok();
        self.validator.get_or_init(made).as_ref().is_some_and(|validator| validator.is_valid(data))
    }
}

impl PartialEq for Output {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

impl Eq for Output {}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.schema.fmt(f)
    }
}

/// The schema of one part of a result.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    root: &'a Value,
    here: &'a Value,
}

impl<'a> Part<'a> {
    /// The schema of a member.
    #[must_use]
    pub fn property(self, name: &str) -> Option<Self> {
        let here = self.properties()?.get(name)?;
        Some(Self { here, ..self }.followed())
    }

    /// The schemas of the members that have one, by name; none where it says nothing of members.
    #[must_use]
    pub fn properties(self) -> Option<&'a Map<String, Value>> {
        self.here.get("properties")?.as_object()
    }

    /// The schema of the elements.
    #[must_use]
    pub fn items(self) -> Option<Self> {
        let here = self.here.get("items").filter(|items| items.is_object())?;
        Some(Self { here, ..self }.followed())
    }

    /// Whether a member must be there.
    #[must_use]
    pub fn requires(self, name: &str) -> bool {
        let required = self.here.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|held| held == name))
    }

    /// Whether members that it does not name are forbidden.
    #[must_use]
    pub fn is_closed(self) -> bool {
        let closed = |keyword| self.here.get(keyword) == Some(&Value::Bool(false));
        closed("additionalProperties") || closed("unevaluatedProperties")
    }

    /// What people call it.
    #[must_use]
    pub fn title(self) -> Option<&'a str> {
        self.text("title")
    }

    /// What it is.
    #[must_use]
    pub fn description(self) -> Option<&'a str> {
        self.text("description")
    }

    /// A keyword whose value is text, such as `format` or `type`.
    #[must_use]
    pub fn text(self, keyword: &str) -> Option<&'a str> {
        self.here.get(keyword)?.as_str()
    }

    /// Follows references, and steps into the one choice that is not `null`.
    fn followed(mut self) -> Self {
        for _ in 0..MAX_STEPS {
            let Some(here) = self.reference().or_else(|| self.only_choice()) else { break };
            self.here = here;
        }
        self
    }

    fn reference(self) -> Option<&'a Value> {
        let pointer = self.here.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    /// `anyOf: [X, {"type": "null"}]` is how many libraries write that X may be absent.
    fn only_choice(self) -> Option<&'a Value> {
        let choices = self.here.get("anyOf").or_else(|| self.here.get("oneOf"))?.as_array()?;
        let mut real = choices.iter().filter(|choice| choice.get("type") != Some(&Value::from("null")));
        real.next().filter(|_| real.next().is_none())
    }
}
