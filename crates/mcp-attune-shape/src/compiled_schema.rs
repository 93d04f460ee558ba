//! What a tool says about the shape of its results: its `outputSchema`.
//!
//! 1. A schema is read once and kept with the listing that it came in. Of a schema that cannot be used (a reference out
//!    of the document, a pattern that is none or that takes unbounded time) nothing is known: nothing is checked against it,
//!    and nothing is left out. That is [said once](CompiledSchema::take_unusable_reason).
//! 2. References inside the document are followed, a bounded number of times.
//! 3. A schema is somebody else's program: what it costs is [counted](super::cost) first, and what costs too much is not done.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use core::fmt;

use jsonschema::Validator;
use mcp_attune::shaping::UnusableReason;
use serde_json::{Map, Value};

use crate::cost::{SchemaCostModel, StepBudget, pattern_options};

/// How many references are followed, one after another.
const MAX_REFERENCES: usize = 16;
/// How many bytes a schema may have.
const MAX_SCHEMA_BYTES: usize = 256 << 10;
/// How many bytes a schema may have that is short work to compile.
const SHORT_SCHEMA_BYTES: usize = 4 << 10;
/// How many required members are looked through for each member.
const MAX_REQUIRED: usize = 256;
/// How many bytes the JSON pointer of a reference may have. It is followed for every value that is written.
const MAX_POINTER_BYTES: usize = 512;

/// A JSON Schema, ready to check data and to say what it promises: the `outputSchema` of a tool, or what a command checks.
///
/// ```
/// use mcp_attune_shape::CompiledSchema;
///
/// let output = CompiledSchema::read(r##"{"title":"Weather","type":"object","required":["city"],
///     "properties":{"city":{"$ref":"#/$defs/place"}},"$defs":{"place":{"type":"string","title":"Ort"}}}"##).unwrap();
/// assert_eq!(output.root().title(), Some("Weather"));
/// assert_eq!(output.root().property("city").unwrap().title(), Some("Ort"));
/// assert!(output.root().requires("city"));
/// assert!(output.is_valid(&serde_json::json!({"city": "Bern"})) && !output.is_valid(&serde_json::json!({})));
/// ```
pub struct CompiledSchema {
    schema: Value,
    /// Whether compiling it may be more than short work.
    large: bool,
    /// Made when it is first needed: most results are not checked against their schema.
    checker: OnceLock<Result<CostedValidator, UnusableReason>>,
    /// Whether it was said that it cannot be used.
    told: AtomicBool,
}

/// What checks data, and what that costs.
struct CostedValidator {
    validator: Validator,
    cost: SchemaCostModel,
}

impl CostedValidator {
    fn new(schema: &Value) -> Result<Self, UnusableReason> {
        let cost = SchemaCostModel::read(schema)?;
        let options = jsonschema::options().with_pattern_options(pattern_options());
        let validator = options.build(schema).map_err(|_| UnusableReason::Invalid)?;
        Ok(Self { validator, cost })
    }
}

impl CompiledSchema {
    /// Reads a schema as it is written; none where it is no object, or too long.
    #[must_use]
    pub fn read(schema: &str) -> Option<Self> {
        // Patterns take longer to compile than anything else, and what was evaluated is compiled again and again.
        let slow = ["pattern", "unevaluated"].iter().any(|keyword| schema.contains(keyword));
        let large = slow || schema.len() > SHORT_SCHEMA_BYTES;
        let schema =
            (schema.len() <= MAX_SCHEMA_BYTES).then(|| serde_json::from_str(schema).ok()).flatten()?;
        let (checker, told) = (OnceLock::new(), AtomicBool::new(false));
        matches!(schema, Value::Object(_)).then_some(Self { schema, large, checker, told })
    }

    /// The schema of the whole result.
    #[must_use]
    pub fn root(&self) -> Subschema<'_> {
        Subschema::at(&self.schema, &self.schema)
    }

    /// Whether data is what the schema asks for. Where the schema cannot be used, or the check would cost too much, nothing
    /// is.
    #[must_use]
    pub fn is_valid(&self, data: &Value) -> bool {
        self.is_valid_within(data, &StepBudget::full())
    }

    /// The same for one of several checks that share a budget.
    pub(super) fn is_valid_within(&self, data: &Value, budget: &StepBudget) -> bool {
        let checker = self.checker(budget).filter(|checker| checker.cost.spend(data, budget));
        checker.is_some_and(|checker| checker.validator.is_valid(data))
    }

    /// Whether a text is JSON, and what the schema asks for.
    pub(super) fn is_valid_text(&self, text: &str, budget: &StepBudget) -> bool {
        budget.spend_reading(text.len())
            && serde_json::from_str(text).is_ok_and(|data| self.is_valid_within(&data, budget))
    }

    /// Why nothing can be checked against the schema, if that is so.
    ///
    /// ```
    /// use mcp_attune::shaping::UnusableReason;
    /// use mcp_attune_shape::CompiledSchema;
    ///
    /// let output = CompiledSchema::read(r#"{"properties":{"mail":{"pattern":"^(?!a).*@"}}}"#).unwrap();
    /// assert_eq!(output.unusable_reason(), Some(UnusableReason::Pattern));
    /// assert!(!output.is_valid(&serde_json::json!({})));
    /// ```
    #[must_use]
    pub fn unusable_reason(&self) -> Option<UnusableReason> {
        self.checker.get_or_init(|| CostedValidator::new(&self.schema)).as_ref().err().copied()
    }

    /// Why the schema turned out not to be usable, the first time that this is asked since.
    pub(super) fn take_unusable_reason(&self) -> Option<UnusableReason> {
        let unusable = self.checker.get()?.as_ref().err()?;
        (!self.told.swap(true, Ordering::Relaxed)).then_some(*unusable)
    }

    /// What of data is not as the schema asks, at most so much of it; none where the schema cannot be used.
    ///
    /// ```
    /// use mcp_attune_shape::CompiledSchema;
    ///
    /// let output = CompiledSchema::read(r#"{"properties":{"days":{"items":{"type":"integer"}}}}"#).unwrap();
    /// let breaches = output.violations(&serde_json::json!({"days": [1, "two"]}), 8).unwrap();
    /// assert_eq!(breaches[0].to_string(), "/days/1: value is not of type \"integer\"");
    /// ```
    #[must_use]
    pub fn violations(&self, data: &Value, most: usize) -> Option<Vec<DataViolation>> {
        let budget = StepBudget::full();
        let checker = self.checker(&budget).filter(|checker| checker.cost.spend(data, &budget))?;
        let errors = checker.validator.iter_errors(data).take(most);
        let breach = |error: jsonschema::ValidationError<'_>| DataViolation {
            at: error.instance_path().to_string(),
            why: error.masked().to_string(),
        };
        Some(errors.map(breach).collect())
    }

    /// What checks data; `None` where the schema cannot be used, or compiling it is more than the budget is for.
    fn checker(&self, budget: &StepBudget) -> Option<&CostedValidator> {
        if budget.is_short() && self.large && self.checker.get().is_none() {
            budget.mark_exceeded();
            return None;
        }
        self.checker.get_or_init(|| CostedValidator::new(&self.schema)).as_ref().ok()
    }
}

/// Something that a schema does not allow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataViolation {
    /// Where it stands in the data, as a JSON pointer; empty for the whole.
    pub at: String,
    /// What is wrong with it. The value itself is not in it.
    pub why: String,
}

impl fmt::Display for DataViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", if self.at.is_empty() { "the whole" } else { &self.at }, self.why)
    }
}

impl PartialEq for CompiledSchema {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema
    }
}

impl Eq for CompiledSchema {}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.schema.fmt(f)
    }
}

/// The schema of one part of a result.
#[derive(Clone, Copy, Debug)]
pub struct Subschema<'a> {
    root: &'a Value,
    /// Where it was begun from: what is said there of the part is said of this use of it.
    said: &'a Value,
    here: &'a Value,
    definition: Option<&'a str>,
}

impl<'a> Subschema<'a> {
    fn at(root: &'a Value, here: &'a Value) -> Self {
        Self { root, said: here, here, definition: None }.resolved()
    }

    /// The schema of a member.
    #[must_use]
    pub fn property(self, name: &str) -> Option<Self> {
        Some(Self::at(self.root, self.properties()?.get(name)?))
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
        Some(Self::at(self.root, here))
    }

    /// The schema of the members that have none of their own.
    #[must_use]
    pub fn additional_properties(self) -> Option<Self> {
        let here = self.here.get("additionalProperties").filter(|others| others.is_object())?;
        Some(Self::at(self.root, here))
    }

    /// The name of the definition that it is, where a reference to one led here.
    #[must_use]
    pub fn definition(self) -> Option<&'a str> {
        self.definition
    }

    /// Whether a member must be there. A list that is too long to be looked through for every member counts as one of all.
    #[must_use]
    pub fn requires(self, name: &str) -> bool {
        let required = self.here.get("required").and_then(Value::as_array);
        required
            .is_some_and(|required| required.len() > MAX_REQUIRED || required.iter().any(|held| held == name))
    }

    /// Whether members that it does not name are forbidden.
    #[must_use]
    pub fn is_closed(self) -> bool {
        let closed = |keyword| self.here.get(keyword) == Some(&Value::Bool(false));
        closed("additionalProperties") || closed("unevaluatedProperties")
    }

    /// Whether a member that it does not name would be a surprise: it names some, and does not say that there are others.
    #[must_use]
    pub fn names_all(self) -> bool {
        let others = ["patternProperties", "allOf", "anyOf", "oneOf", "if", "$ref"];
        let more = |keyword| matches!(self.here.get(keyword), Some(Value::Bool(true) | Value::Object(_)));
        self.is_closed()
            || (self.properties().is_some()
                && !others.iter().any(|keyword| self.here.get(keyword).is_some())
                && !more("additionalProperties")
                && !more("unevaluatedProperties"))
    }

    /// What people call it.
    #[must_use]
    pub fn title(self) -> Option<&'a str> {
        self.keyword_text("title")
    }

    /// What it is.
    #[must_use]
    pub fn description(self) -> Option<&'a str> {
        self.keyword_text("description")
    }

    /// A keyword whose value is text, such as `format` or `type`.
    #[must_use]
    pub fn keyword_text(self, keyword: &str) -> Option<&'a str> {
        self.keyword(keyword)?.as_str()
    }

    /// A keyword, whatever its value is.
    #[must_use]
    pub fn keyword(self, keyword: &str) -> Option<&'a Value> {
        self.said.get(keyword).or_else(|| self.here.get(keyword))
    }

    /// Follows references, and steps into the one choice that is not `null`.
    fn resolved(mut self) -> Self {
        for _ in 0..MAX_REFERENCES {
            if let Some((here, definition)) = self.reference() {
                (self.here, self.definition) = (here, definition);
            } else if let Some(here) = self.only_choice() {
                self.here = here;
            } else {
                break;
            }
        }
        self
    }

    fn reference(self) -> Option<(&'a Value, Option<&'a str>)> {
        let pointer = self.here.get("$ref")?.as_str()?.strip_prefix('#')?;
        if pointer.len() > MAX_POINTER_BYTES {
            return None;
        }
        let inside = ["/$defs/", "/definitions/"].iter().find_map(|start| pointer.strip_prefix(start));
        let definition = inside.filter(|name| !name.contains(['/', '~']));
        self.root.pointer(pointer).map(|here| (here, definition))
    }

    /// `anyOf: [X, {"type": "null"}]` is how many libraries write that X may be absent.
    fn only_choice(self) -> Option<&'a Value> {
        if self.here.get("properties").is_some() {
            return None;
        }
        let choices =
            ["anyOf", "oneOf", "allOf"].iter().find_map(|keyword| self.here.get(keyword))?.as_array()?;
        let mut real = choices.iter().filter(|choice| choice.get("type") != Some(&Value::from("null")));
        real.next().filter(|_| real.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_beside_a_reference_or_a_choice_is_said_of_the_part() {
        let output = CompiledSchema::read(
            r##"{"properties":{
            "from":{"$ref":"#/$defs/Place","title":"From"},
            "to":{"$ref":"#/$defs/Place"},
            "via":{"anyOf":[{"$ref":"#/$defs/Place"},{"type":"null"}],"description":"On the way"},
            "all":{"allOf":[{"$ref":"#/definitions/Old"}]},
            "any":{"additionalProperties":{"title":"Each"}}},
            "$defs":{"Place":{"title":"Place","properties":{"lat":{"type":"number"}}}},
            "definitions":{"Old":{"title":"Old"}}}"##,
        )
        .unwrap();
        let part = |name| output.root().property(name).unwrap();
        assert_eq!((part("from").title(), part("from").definition()), (Some("From"), Some("Place")));
        assert_eq!((part("to").title(), part("to").definition()), (Some("Place"), Some("Place")));
        assert_eq!((part("via").title(), part("via").description()), (Some("Place"), Some("On the way")));
        assert_eq!(part("via").property("lat").unwrap().keyword_text("type"), Some("number"));
        assert_eq!((part("all").title(), part("all").definition()), (Some("Old"), Some("Old")));
        assert_eq!(part("any").additional_properties().unwrap().title(), Some("Each"));
        assert_eq!(part("any").definition(), None);
    }
}
