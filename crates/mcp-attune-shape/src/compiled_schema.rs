//! JSON Schemas that somebody else wrote: a tool's `outputSchema`, and the inputs that commands check.
//!
//! 1. A schema is read once and kept with the listing that it came in. Of a schema that cannot be used (a
//!    reference out of the document, a pattern that is none or that takes unbounded time) nothing is known:
//!    nothing is checked against it, and nothing is left out. That is [reported
//!    once](CompiledSchema::take_unusable_reason).
//! 2. References inside the document are followed, a bounded number of times.
//! 3. A schema is somebody else's program: what it costs is [counted](super::cost) first, and what costs too
//!    much is not done.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use core::fmt;

use jsonschema::Validator;
use mcp_attune::shaping::UnusableReason;
use serde_json::{Map, Value};

use crate::cost::{SchemaCostModel, StepBudget, pattern_options};

/// How many references and single choices are followed, one after another, to get to one part of a schema. A
/// chain that is longer, or that leads back to itself, ends there.
const MAX_REFERENCES: usize = 16;
/// How many bytes a schema may have as it was written. A longer one is not read.
const MAX_SCHEMA_BYTES: usize = 256 << 10;
/// Up to how many bytes compiling a schema is short work, provided that it has no patterns and no
/// `unevaluated…` keywords.
const SHORT_SCHEMA_BYTES: usize = 4 << 10;
/// Up to how many names `required` is searched. It is searched for every member of the data, so a longer list
/// would make that quadratic.
const MAX_REQUIRED: usize = 256;
/// How many bytes the JSON pointer of a reference may have. It is followed for every value that is written.
const MAX_POINTER_BYTES: usize = 512;

/// A JSON Schema that can check data, and that can be asked what it promises about each part of the data.
///
/// Reading it is cheap. The validator behind [`is_valid`](Self::is_valid) is compiled at the first check and
/// then kept, so one `CompiledSchema` should be shared by all that need it; it can be used from several
/// threads. Two are equal if their JSON is.
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
    /// The schema as JSON. It is always an object.
    schema: Value,
    /// Whether compiling it may be more than short work, guessed from its text.
    large: bool,
    /// The compiled validator, or why there is none. It is made when it is first needed: most results are not
    /// checked against their schema.
    checker: OnceLock<Result<CostedValidator, UnusableReason>>,
    /// Whether it was reported that the schema cannot be used.
    told: AtomicBool,
}

/// A compiled validator, together with the model that counts what a check with it costs.
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
    /// Reads a schema from its text. Returns `None` if that is no JSON object, or longer than 256 KiB.
    ///
    /// Whether the schema is a valid one, and can be used, is found out at the first check: see
    /// [`unusable_reason`](Self::unusable_reason).
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

    /// Returns the schema of the whole data, to be asked about its parts.
    #[must_use]
    pub fn root(&self) -> Subschema<'_> {
        Subschema::at(&self.schema, &self.schema)
    }

    /// Returns whether data is valid against the schema.
    ///
    /// Returns false for all data if the schema cannot be used. Also returns false, without beginning the
    /// check, if the check could take more steps than a full budget has, which is about two million.
    #[must_use]
    pub fn is_valid(&self, data: &Value) -> bool {
        self.is_valid_within(data, &StepBudget::full())
    }

    /// Checks data like [`is_valid`](Self::is_valid), with the steps that are left of a shared budget.
    ///
    /// If the steps do not suffice, nothing is checked and the answer is false; a short budget then
    /// [knows](StepBudget::is_exceeded) that a full one may come to another result.
    pub(super) fn is_valid_within(&self, data: &Value, budget: &StepBudget) -> bool {
        let checker = self.checker(budget).filter(|checker| checker.cost.spend(data, budget));
        checker.is_some_and(|checker| checker.validator.is_valid(data))
    }

    /// Returns whether a text is JSON that is valid against the schema. Reading the text takes steps from the
    /// budget as well.
    pub(super) fn is_valid_text(&self, text: &str, budget: &StepBudget) -> bool {
        budget.spend_reading(text.len())
            && serde_json::from_str(text).is_ok_and(|data| self.is_valid_within(&data, budget))
    }

    /// Returns why nothing can be checked against the schema, or `None` if it can be used. Compiles the
    /// schema if that was not done before.
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

    /// Returns why the schema cannot be used, exactly once: the first call after that turned out gets the
    /// reason, and all later ones get `None`. Does not compile the schema, so the answer is `None` as well as
    /// long as nothing was checked.
    pub(super) fn take_unusable_reason(&self) -> Option<UnusableReason> {
        let unusable = self.checker.get()?.as_ref().err()?;
        (!self.told.swap(true, Ordering::Relaxed)).then_some(*unusable)
    }

    /// Returns what in the data is not valid against the schema, at most `most` places; an empty list if all
    /// of it is.
    ///
    /// Returns `None` if the schema cannot be used, or if the check could take more steps than a full budget
    /// has.
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

    /// Returns the validator, and compiles it first if need be. Returns `None` if the schema cannot be used,
    /// or if the budget is short and compiling may be more than short work; the budget is then marked as
    /// exceeded.
    fn checker(&self, budget: &StepBudget) -> Option<&CostedValidator> {
        if budget.is_short() && self.large && self.checker.get().is_none() {
            budget.mark_exceeded();
            return None;
        }
        self.checker.get_or_init(|| CostedValidator::new(&self.schema)).as_ref().ok()
    }
}

/// One place in data that is not valid against a schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataViolation {
    /// Where it stands in the data, as a JSON pointer such as `/days/1`; empty for the data as a whole.
    pub at: String,
    /// What is wrong with it, in English. The value itself is not in it, so it may be logged.
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

/// The schema of one part of the data, with its references followed.
///
/// It is a cheap view into a [`CompiledSchema`]. A `$ref` into the same document and a choice with a single
/// alternative beside `null` are followed; other combinations, such as an `allOf` of two schemas or an `if`,
/// are not looked into.
#[derive(Clone, Copy, Debug)]
pub struct Subschema<'a> {
    /// The whole document, which references are looked up in.
    root: &'a Value,
    /// The schema where the way here began, before references were followed. Keywords beside a `$ref`, such
    /// as a `title`, are about this use of the target and take precedence over those of the target.
    said: &'a Value,
    /// The schema that the references led to, or `said` itself.
    here: &'a Value,
    /// The name in `$defs` or `definitions` that the last reference named, if it named one of them directly.
    definition: Option<&'a str>,
}

impl<'a> Subschema<'a> {
    fn at(root: &'a Value, here: &'a Value) -> Self {
        Self { root, said: here, here, definition: None }.resolved()
    }

    /// Returns the schema of a member that `properties` names, or `None` if it does not name it.
    #[must_use]
    pub fn property(self, name: &str) -> Option<Self> {
        Some(Self::at(self.root, self.properties()?.get(name)?))
    }

    /// Returns `properties` as it is written, references and all, or `None` if the schema has none.
    #[must_use]
    pub fn properties(self) -> Option<&'a Map<String, Value>> {
        self.here.get("properties")?.as_object()
    }

    /// Returns the schema of the elements of a list, or `None` if `items` is absent or no object (a boolean,
    /// or a list of schemas).
    #[must_use]
    pub fn items(self) -> Option<Self> {
        let here = self.here.get("items").filter(|items| items.is_object())?;
        Some(Self::at(self.root, here))
    }

    /// Returns the schema of members that `properties` does not name, or `None` if `additionalProperties` is
    /// absent or a boolean.
    #[must_use]
    pub fn additional_properties(self) -> Option<Self> {
        let here = self.here.get("additionalProperties").filter(|others| others.is_object())?;
        Some(Self::at(self.root, here))
    }

    /// Returns the name of the definition that a reference led to: `Place` for `{"$ref": "#/$defs/Place"}`.
    /// Locale files use it in the paths of fields.
    #[must_use]
    pub fn definition(self) -> Option<&'a str> {
        self.definition
    }

    /// Returns whether `required` names a member. If the list has more than 256 names, all members count as
    /// required.
    #[must_use]
    pub fn requires(self, name: &str) -> bool {
        let required = self.here.get("required").and_then(Value::as_array);
        required
            .is_some_and(|required| required.len() > MAX_REQUIRED || required.iter().any(|held| held == name))
    }

    /// Returns whether members that the schema does not name are forbidden, by `additionalProperties` or
    /// `unevaluatedProperties` being false.
    #[must_use]
    pub fn is_closed(self) -> bool {
        let closed = |keyword| self.here.get(keyword) == Some(&Value::Bool(false));
        closed("additionalProperties") || closed("unevaluatedProperties")
    }

    /// Returns whether a member that the schema does not name would be a surprise, although it may be
    /// allowed: the schema is closed, or it has `properties` and no keyword that could describe further
    /// members. The check of templates reports such names.
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

    /// Returns the `title`, which is meant for people but often is the name of a type.
    #[must_use]
    pub fn title(self) -> Option<&'a str> {
        self.keyword_text("title")
    }

    /// Returns the `description`.
    #[must_use]
    pub fn description(self) -> Option<&'a str> {
        self.keyword_text("description")
    }

    /// Returns the value of a keyword if that is a string, as for `format` or a single `type`.
    #[must_use]
    pub fn keyword_text(self, keyword: &str) -> Option<&'a str> {
        self.keyword(keyword)?.as_str()
    }

    /// Returns the value of a keyword. What stands beside a reference is preferred to what stands in its
    /// target.
    #[must_use]
    pub fn keyword(self, keyword: &str) -> Option<&'a Value> {
        self.said.get(keyword).or_else(|| self.here.get(keyword))
    }

    /// Follows references, and steps into the one alternative that is not `null`, until neither is there.
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

    /// Returns the target of a `$ref` into this document by JSON pointer, and the name of the definition if
    /// it is one. Anchors and other documents are not followed.
    fn reference(self) -> Option<(&'a Value, Option<&'a str>)> {
        let pointer = self.here.get("$ref")?.as_str()?.strip_prefix('#')?;
        if pointer.len() > MAX_POINTER_BYTES {
            return None;
        }
        let inside = ["/$defs/", "/definitions/"].iter().find_map(|start| pointer.strip_prefix(start));
        let definition = inside.filter(|name| !name.contains(['/', '~']));
        self.root.pointer(pointer).map(|here| (here, definition))
    }

    /// Returns the only alternative of `anyOf`, `oneOf` or `allOf` that is not `null`:
    /// `anyOf: [X, {"type": "null"}]` is how many libraries write that X may be absent. A schema with
    /// `properties` of its own is taken as it is.
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
