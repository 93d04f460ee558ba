//! Bounds what it costs to check data against a schema that somebody else wrote.
//!
//! A schema is a program: with references, patterns and combinations it can ask for exponential work of a
//! validator. This module counts the work before it is begun. The count is meant as an upper bound, and is
//! tested with data that counts how often the validator looks at it (`metered`).
//!
//! 1. A schema is read once, into the parts that the work of a check depends on ([`SchemaCostModel::read`]).
//!    What cannot be bounded by reading it makes the schema [unusable](mcp_attune::shaping::UnusableReason):
//!    a pattern that only a backtracking engine can match, a reference that leaves the document, too much to
//!    compile.
//! 2. The steps of a check are counted before it is begun, as if everything had to be looked at and nothing
//!    were ever settled early. A step is at most some sixty instructions: what the validator takes longer for
//!    is counted as more than one.
//! 3. All checks of one answer share one [`StepBudget`]. What would exceed it is not begun, and counts as a
//!    check that failed.
//! 4. What is short is done at once. What may be long is told apart by a smaller budget
//!    ([`StepBudget::short`]), so that a host can do it where nobody waits.
//!
//! How each keyword is counted, and why it is not less:
//!
//! | keyword | steps |
//! |---|---|
//! | `pattern`, `patternProperties` | bytes × compiled size / 40: the engine is linear in the text, but for each byte it may visit every state |
//! | `patternProperties`, `additionalProperties` | every name × every pattern, once for each of the two |
//! | `propertyNames` | a check of every name |
//! | `unevaluatedProperties`, `unevaluatedItems` | everything that applies in place is checked again to learn what it evaluated, at each level once more |
//! | `uniqueItems` | of lists and objects every pair: their hashes are known, so they can be made to collide |
//! | `enum`, `const` | the size of the values, but for lists of strings, which are hashed |
//! | `multipleOf` | 160 where a fraction is involved: that is exact arithmetic |
//! | `$ref` | its target, and how deep it stands: the validator looks for cycles in a list |
//!
//! Rules: F13, G4.

#[cfg(test)]
mod metered;
mod pattern;
mod read;

pub(super) use pattern::pattern_options;

use core::cell::Cell;
use core::cmp::Ordering;

use serde_json::{Map, Value};

/// How many steps the checks of one answer may take together.
const MAX_STEPS: u64 = 2 << 20;
/// How many steps they may take where the thread serves other callers too: about a millisecond.
const SHORT_STEPS: u64 = 100_000;
/// How many checks may be nested inside each other, by the nesting of the data and by references. Data is at
/// most 127 deep. A check that is nested more deeply, as of a schema that refers to itself without going into
/// the data, is not begun.
const MAX_DEPTH: usize = 1000;
/// Steps for `multipleOf` with a number that has to be divided exactly.
const DIVISION_STEPS: u64 = 160;
/// Steps for any object, whose members stand somewhere else in memory.
const OBJECT_STEPS: u64 = 3;
/// Steps for following a reference, apart from the check of its target: the validator may look up and keep
/// what came of it.
const REFERENCE_STEPS: u64 = 5;
/// How many different integers beyond the precision of a float can be equal to each other as floats, and so
/// have the same hash.
const EQUAL_AS_FLOATS: u64 = 2048;
/// Up to this many elements the validator compares in pairs for `uniqueItems`; longer lists are hashed.
const COMPARED_IN_PAIRS: usize = 15;

/// The steps that the checks of one answer may still take together.
///
/// It is spent through shared references, and belongs to one thread. A *short* budget is for the first
/// attempt at a message: if it does not suffice, all that was done is discarded, and the message is shaped
/// again with a *full* one elsewhere. With a full budget, a check that it does not suffice for counts as
/// failed, and the rest goes on.
#[derive(Debug)]
pub(crate) struct StepBudget {
    /// Steps that have not been spent.
    left: Cell<u64>,
    /// Whether a full budget might do what this one could not.
    short: bool,
    /// Whether something was not done for lack of steps.
    exceeded: Cell<bool>,
}

impl StepBudget {
    /// Makes a budget for work that may take as long as the bounds allow.
    pub(crate) fn full() -> Self {
        Self { left: Cell::new(MAX_STEPS), short: false, exceeded: Cell::new(false) }
    }

    /// Makes a budget for short work. If it is [exceeded](Self::is_exceeded), the work has to be repeated
    /// with [`full`](Self::full).
    pub(crate) fn short() -> Self {
        Self { left: Cell::new(SHORT_STEPS), short: true, exceeded: Cell::new(false) }
    }

    /// Returns whether this is a budget for short work, so that work without a step count, such as compiling
    /// a schema or rendering a template, has to be short too.
    pub(crate) fn is_short(&self) -> bool {
        self.short
    }

    /// Records that the budget did not suffice for something.
    pub(crate) fn mark_exceeded(&self) {
        self.exceeded.set(true);
    }

    /// Returns whether something was not done that a full budget might suffice for. Always false for a full
    /// budget.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.short && self.exceeded.get()
    }

    /// Spends the steps of reading so many bytes of JSON. Returns false if there are not as many left.
    ///
    /// Reading is linear in the bytes. A full budget is charged a step for 32 bytes, so that it suffices for
    /// the largest answer once; a short one is charged three steps for each byte, so that only small texts
    /// are read at once.
    pub(crate) fn spend_reading(&self, bytes: usize) -> bool {
        let bytes = steps(bytes);
        self.spend(if self.short { bytes.saturating_mul(3) } else { bytes / 32 })
    }

    /// Spends steps. Returns false, spends nothing and marks the budget as exceeded if there are not as many
    /// left.
    fn spend(&self, steps: u64) -> bool {
        match self.left.get().checked_sub(steps) {
            Some(left) => {
                self.left.set(left);
                true
            }
            None => {
                self.mark_exceeded();
                false
            }
        }
    }
}

/// A schema, reduced to what the cost of a check depends on.
///
/// It is a graph: parts refer to each other by their index, and a part that is referred to from several
/// places, or by itself, is in the list once. The first part is the schema as a whole.
#[derive(Debug)]
pub(super) struct SchemaCostModel {
    nodes: Vec<CostNode>,
}

/// The index of a part in [`SchemaCostModel::nodes`].
type NodeId = usize;

/// One part of a schema, which is a schema itself: what a check of any data against it costs, and which other
/// parts are applied to that data, its members or its elements.
#[derive(Debug, Default)]
struct CostNode {
    /// Steps for any data.
    base: u64,
    /// Sixteenths of a step for every byte of a string.
    string: u64,
    /// Steps for a number: 0 without `multipleOf`, else 4 or [`DIVISION_STEPS`].
    number: u64,
    /// Lookups of names in every object, whatever is in it. Each is a bisection among the members of the
    /// object.
    object: u64,
    /// Whether the elements of a list have to differ (`uniqueItems`).
    unique: bool,
    /// Parts that apply to the same data: `allOf`, `anyOf`, `oneOf` and `if`. Members and elements that they
    /// evaluate count as evaluated, so `unevaluated…` checks them once more.
    branches: Vec<NodeId>,
    /// `then` and `else`, which apply to the same data. Both are counted.
    outcomes: Vec<NodeId>,
    /// `not`, which applies to the same data and evaluates nothing.
    not: Option<NodeId>,
    /// Targets of `$ref`, `$dynamicRef` and `$recursiveRef`.
    references: Vec<NodeId>,
    /// `dependentSchemas` and the schemas in `dependencies`, by the member whose presence makes them apply.
    dependents: Vec<(Box<str>, NodeId)>,
    /// The parts of `properties`, sorted by name.
    properties: Vec<(Box<str>, NodeId)>,
    /// The parts of `patternProperties`. All of them are counted for every member, as if every pattern
    /// matched.
    patterns: Vec<(PatternCost, NodeId)>,
    /// `additionalProperties`.
    additional: Option<NodeId>,
    unevaluated_properties: Option<NodeId>,
    /// `propertyNames`, which is checked for the name of every member.
    names: Option<NodeId>,
    /// `prefixItems`, or `items` where it is a list: one part for each of the first elements.
    prefix: Vec<NodeId>,
    /// `items`, or `additionalItems` of older drafts.
    items: Option<NodeId>,
    contains: Option<NodeId>,
    unevaluated_items: Option<NodeId>,
    /// Steps of compiling this part, without the parts inside of it.
    building: u64,
    /// How many bytes its JSON pointer has. The validator keeps a copy for each keyword, so deep schemas with
    /// long names take more than their size to compile.
    path: usize,
}

/// What matching one regular expression costs.
#[derive(Clone, Copy, Debug)]
struct PatternCost {
    /// Steps for any text.
    base: u64,
    /// Sixteenths of a step for every byte of the text.
    byte: u64,
}

impl PatternCost {
    fn steps(self, text: &str) -> u64 {
        self.base.saturating_add(sixteenths(text.len(), self.byte))
    }
}

impl SchemaCostModel {
    /// Spends the steps of a check of `data`. Returns false if the budget does not suffice; the check must
    /// not be begun then.
    pub(super) fn spend(&self, data: &Value, budget: &StepBudget) -> bool {
        match self.count(data, budget.left.get()) {
            Some(steps) => budget.spend(steps),
            None => {
                budget.mark_exceeded();
                false
            }
        }
    }

    /// Returns how many steps a check takes at most, or `None` if that is more than `limit`. Counting stops
    /// at the limit, so that it never takes much longer than the work that it allows.
    fn count(&self, data: &Value, limit: u64) -> Option<u64> {
        let mut count = StepCounter { nodes: &self.nodes, left: limit };
        count.check(0, data, MAX_DEPTH)?;
        Some(limit - count.left)
    }
}

/// Converts a number of things to a number of steps.
fn steps(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn sixteenths(bytes: usize, each: u64) -> u64 {
    steps(bytes).saturating_mul(each) / 16
}

/// Counts the steps of one check by walking through data and schema together, as the validator would at
/// worst.
///
/// Its methods return `None` as soon as there are more steps than allowed, or more nesting than
/// [`MAX_DEPTH`].
struct StepCounter<'a> {
    nodes: &'a [CostNode],
    left: u64,
}

impl<'a> StepCounter<'a> {
    fn take(&mut self, steps: u64) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }

    /// Counts a check of data against a part of the schema: its own keywords, its members or elements, and
    /// then all that applies to the same data. `depth` is how many more checks may be nested inside.
    fn check(&mut self, id: NodeId, data: &Value, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let node = self.nodes.get(id)?;
        self.take(node.base)?;
        match data {
            Value::String(text) => self.take(sixteenths(text.len(), node.string))?,
            Value::Number(number) => {
                let exact =
                    node.number == DIVISION_STEPS || number.as_i64().is_some() || number.as_u64().is_some();
                self.take(if exact || node.number == 0 { node.number } else { DIVISION_STEPS })?;
            }
            Value::Array(elements) => {
                self.take(1)?;
                self.check_elements(node, elements, depth)?;
            }
            Value::Object(members) => self.check_members(node, members, data, depth)?,
            Value::Null | Value::Bool(_) => {}
        }
        if node.applies_nothing_in_place() {
            return Some(());
        }
        let here = node.branches.iter().chain(&node.outcomes).chain(&node.not);
        here.into_iter().try_for_each(|one| self.check(*one, data, depth))?;
        for target in &node.references {
            self.take(REFERENCE_STEPS + steps(MAX_DEPTH - depth) / 16)?;
            self.check(*target, data, depth)?;
        }
        let marks = match data {
            Value::Array(_) => node.unevaluated_items.is_some(),
            Value::Object(_) => node.unevaluated_properties.is_some(),
            _ => false,
        };
        if marks { self.mark(id, data, depth) } else { Some(()) }
    }

    /// Counts what a part does with the elements of a list. Every element is counted for `items`, even those
    /// that `prefixItems` is for.
    fn check_elements(&mut self, node: &'a CostNode, elements: &[Value], depth: usize) -> Option<()> {
        if node.unique {
            self.compare(elements)?;
        }
        for (element, one) in elements.iter().zip(&node.prefix) {
            self.check(*one, element, depth)?;
        }
        for one in [node.items, node.contains, node.unevaluated_items].into_iter().flatten() {
            elements.iter().try_for_each(|element| self.check(one, element, depth))?;
        }
        Some(())
    }

    /// Counts what a part does with an object: lookups of names, and checks of each member. A member is
    /// counted for its property, all patterns and `additionalProperties` at once, although the validator
    /// would leave some of them out.
    fn check_members(
        &mut self,
        node: &'a CostNode,
        members: &Map<String, Value>,
        data: &Value,
        depth: usize,
    ) -> Option<()> {
        // Members are found by bisection.
        let bisections = u64::from((members.len() + 1).ilog2().max(1)) * 3 / 2;
        self.take(OBJECT_STEPS + node.object.saturating_mul(bisections))?;
        if node.looks_at_members() {
            let mut known = PropertyCursor::new(&node.properties, members.len());
            for (name, member) in members {
                self.take(2 + steps(name.len()) / 32)?;
                if let Some(one) = known.find(name) {
                    self.check(one, member, depth)?;
                }
                for (pattern, one) in &node.patterns {
                    let matches = if node.additional.is_some() { 2 } else { 1 };
                    self.take(pattern.steps(name).saturating_mul(matches))?;
                    self.check(*one, member, depth)?;
                }
                for one in [node.additional, node.unevaluated_properties].into_iter().flatten() {
                    self.take(1)?;
                    self.check(one, member, depth)?;
                }
                if let Some(one) = node.names {
                    self.take(2)?;
                    self.check(one, &Value::String(name.clone()), depth)?;
                }
            }
        }
        let present = node.dependents.iter().filter(|(name, _)| members.contains_key(&**name));
        present.into_iter().try_for_each(|(_, one)| self.check(*one, data, depth))
    }

    /// Counts what is done to learn which members or elements a part has evaluated, for
    /// `unevaluatedProperties` and `unevaluatedItems`: what applies in place is checked once more, and so on
    /// inside of it. Nested `unevaluated…` keywords therefore cost exponentially more.
    fn mark(&mut self, id: NodeId, data: &Value, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let node = self.nodes.get(id)?;
        self.take(2 + steps(MAX_DEPTH - depth) / 16)?;
        match data {
            Value::Array(elements) => {
                self.take(steps(elements.len()) / 4)?;
                for one in [node.contains, node.unevaluated_items].into_iter().flatten() {
                    elements.iter().try_for_each(|element| self.check(one, element, depth))?;
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    self.take(6 + steps(name.len()) / 16)?;
                    node.patterns.iter().try_for_each(|(pattern, _)| self.take(pattern.steps(name)))?;
                    if let Some(one) = node.unevaluated_properties {
                        self.check(one, member, depth)?;
                    }
                }
                let present = node.dependents.iter().filter(|(name, _)| members.contains_key(&**name));
                present.into_iter().try_for_each(|(_, one)| self.mark(*one, data, depth))?;
            }
            _ => {}
        }
        for branch in &node.branches {
            self.check(*branch, data, depth)?;
            self.mark(*branch, data, depth)?;
        }
        let only_marked = node.outcomes.iter().chain(&node.references);
        only_marked.into_iter().try_for_each(|one| self.mark(*one, data, depth))
    }

    /// Counts the comparisons that find two equal elements for `uniqueItems`. Lists and objects, and large
    /// integers, can be made to have the same hash, so they are counted as if each were compared with each
    /// that may have its hash.
    fn compare(&mut self, elements: &[Value]) -> Option<()> {
        let (mut lists, mut size_of_lists, mut large) = (0_u64, 0_u64, 0_u64);
        for element in elements {
            let size = weight(element);
            self.take(size.saturating_mul(4))?;
            match element {
                Value::Array(_) | Value::Object(_) => {
                    lists += 1;
                    size_of_lists = size_of_lists.saturating_add(size);
                }
                Value::Number(number) if !is_exact(number) => large += 1,
                _ => {}
            }
        }
        if elements.len() <= COMPARED_IN_PAIRS {
            let all: u64 = elements.iter().map(weight).fold(0, u64::saturating_add);
            return self.take(all.saturating_mul(steps(elements.len())) / 2);
        }
        self.take(lists.saturating_mul(size_of_lists) / 2)?;
        self.take(large.saturating_mul(large.min(EQUAL_AS_FLOATS)) / 2)
    }
}

impl CostNode {
    /// Returns whether no other part applies to the same data, which is the common case and ends a check
    /// early.
    fn applies_nothing_in_place(&self) -> bool {
        self.branches.is_empty()
            && self.outcomes.is_empty()
            && self.references.is_empty()
            && self.not.is_none()
            && self.unevaluated_properties.is_none()
            && self.unevaluated_items.is_none()
    }

    /// Returns whether single members of an object are looked at at all.
    fn looks_at_members(&self) -> bool {
        !self.properties.is_empty()
            || !self.patterns.is_empty()
            || self.additional.is_some()
            || self.unevaluated_properties.is_some()
            || self.names.is_some()
    }
}

/// Finds the properties of a schema for the members of an object, whose names come in ascending order as
/// well: both lists are gone through once, side by side.
struct PropertyCursor<'a> {
    /// The properties that are left. Unless `bisect` is set, those before them have been passed, so names
    /// must come in ascending order.
    rest: &'a [(Box<str>, NodeId)],
    /// Whether the object has so few members that each is better searched for by bisection among all
    /// properties.
    bisect: bool,
}

impl<'a> PropertyCursor<'a> {
    fn new(properties: &'a [(Box<str>, NodeId)], names: usize) -> Self {
        Self { rest: properties, bisect: properties.len() / 8 > names }
    }

    fn find(&mut self, name: &str) -> Option<NodeId> {
        if self.bisect {
            let at = self.rest.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
            return self.rest.get(at).map(|(_, id)| *id);
        }
        while let Some(((known, id), rest)) = self.rest.split_first() {
            match (**known).cmp(name) {
                Ordering::Less => self.rest = rest,
                Ordering::Equal => return Some(*id),
                Ordering::Greater => return None,
            }
        }
        None
    }
}

/// Returns whether the float that the validator hashes a number as represents it exactly, so that no other
/// number has the same hash by being rounded to it: floats, and integers up to 2^53.
fn is_exact(number: &serde_json::Number) -> bool {
    const EXACT: u64 = 1 << 53;
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => number <= EXACT,
        (None, Some(number)) => number.unsigned_abs() <= EXACT,
        (None, None) => true,
    }
}

/// Returns how much there is to compare in a value: one for each value in it, and more for long strings. It
/// recurses as deep as the value is nested, which its reader has bounded.
fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + steps(text.len()) / 64,
        Value::Array(elements) => elements.iter().map(weight).fold(1, u64::saturating_add),
        Value::Object(members) => {
            let one = |(name, value): (&String, &Value)| 1 + steps(name.len()) / 64 + weight(value);
            members.iter().map(one).fold(1, u64::saturating_add)
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_affordable(schema: &Value, data: &Value) -> bool {
        SchemaCostModel::read(schema).unwrap().count(data, MAX_STEPS).is_some()
    }

    /// `a0` is either of two that are both `a1`, and so on.
    fn doubling(times: usize) -> Value {
        let mut definitions = Map::new();
        for at in 0..times {
            let next = json!({ "$ref": format!("#/$defs/a{}", at + 1) });
            definitions.insert(format!("a{at}"), json!({ "anyOf": [next, next] }));
        }
        definitions.insert(format!("a{times}"), json!({ "type": "string" }));
        json!({ "$ref": "#/$defs/a0", "$defs": definitions })
    }

    #[test]
    fn what_doubles_at_every_step_is_not_begun() {
        assert!(is_affordable(&doubling(10), &json!({})));
        assert!(!is_affordable(&doubling(40), &json!({})));
        let both = json!({ "properties": { "c": { "$ref": "#" } } });
        let twice = json!({ "allOf": [both, both] });
        let deep = |levels| (0..levels).fold(json!(1), |inner, _| json!({ "c": inner }));
        assert!(is_affordable(&twice, &deep(10)));
        assert!(!is_affordable(&twice, &deep(60)));
    }

    #[test]
    fn what_refers_to_itself_ends() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "allOf": [{ "$ref": "#" }] }),
            json!({ "not": { "$dynamicRef": "#a" }, "$dynamicAnchor": "a" }),
        ] {
            assert!(!is_affordable(&schema, &json!({})), "{schema}");
        }
        // A tree refers to itself too, but each time for another part of the data.
        let tree = json!({ "type": "object", "properties": { "children": { "items": { "$ref": "#" } } } });
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "children": [inner, {}] }));
        assert!(is_affordable(&tree, &deep));
    }

    #[test]
    fn much_data_is_affordable_and_long_lists_are_counted() {
        let schema = json!({ "items": { "required": ["a"], "properties": { "a": { "type": "integer" } } } });
        let rows = Value::from(vec![json!({ "a": 1, "b": null }); 150_000]);
        assert!(is_affordable(&schema, &rows));
        let rows = Value::from(vec![json!("x"); 10_000]);
        let numbers: Vec<_> = (0..10_000).map(|at| json!(f64::from(at) + 0.5)).collect();
        assert!(!is_affordable(&json!({ "items": { "enum": numbers } }), &rows));
        // Strings are hashed.
        let names: Vec<_> = (0..10_000).map(|at| json!(format!("n{at}"))).collect();
        assert!(is_affordable(&json!({ "items": { "enum": names } }), &rows));
    }
}
