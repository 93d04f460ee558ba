//! What it costs at most to check data against a schema that somebody else wrote.
//!
//! 1. A schema is read once, into the parts that the work of a check depends on ([`SchemaCostModel::read`]). What cannot be bounded by
//!    reading it makes the schema [unusable](mcp_attune::shaping::UnusableReason): a pattern that only a backtracking engine can match, a reference that leaves
//!    the document, too much to compile.
//! 2. The steps of a check are counted before it is begun, as if everything had to be looked at and nothing were ever settled
//!    early. A step is at most some sixty instructions: what the validator takes longer for is counted as more than one.
//! 3. All checks of one answer share one [`StepBudget`]. What would exceed it is not begun, and counts as a check that failed.
//! 4. What is short is done at once. What may be long is told apart by a smaller budget ([`StepBudget::short`]), so that a host can
//!    do it where nobody waits.
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

/// How many steps the checks of one answer may take.
const MAX_STEPS: u64 = 2 << 20;
/// How many of them are short work.
const SHORT_STEPS: u64 = 100_000;
/// How many steps may be taken inside each other. Data is at most 127 deep.
const MAX_DEPTH: usize = 1000;
/// Steps for a number that is divided exactly.
const DIVISION_STEPS: u64 = 160;
/// Steps for an object, which stands somewhere else in memory.
const OBJECT_STEPS: u64 = 3;
/// Steps for a reference: what came of it may be kept.
const REFERENCE_STEPS: u64 = 5;
/// How many integers beyond the precision of a float can be equal to each other as floats.
const EQUAL_AS_FLOATS: u64 = 2048;
/// Up to this many elements are compared in pairs, more are hashed.
const COMPARED_IN_PAIRS: usize = 15;

/// The steps that the checks of one answer may still take together.
#[derive(Debug)]
pub(crate) struct StepBudget {
    left: Cell<u64>,
    short: bool,
    exceeded: Cell<bool>,
}

impl StepBudget {
    /// For work that may take as long as anything may.
    pub(crate) fn full() -> Self {
        Self { left: Cell::new(MAX_STEPS), short: false, exceeded: Cell::new(false) }
    }

    /// For short work: what it does not suffice for is to be done again with [`full`](Self::full).
    pub(crate) fn short() -> Self {
        Self { left: Cell::new(SHORT_STEPS), short: true, exceeded: Cell::new(false) }
    }

    /// Whether it is for short work.
    pub(crate) fn is_short(&self) -> bool {
        self.short
    }

    /// Notes that it did not suffice.
    pub(crate) fn mark_exceeded(&self) {
        self.exceeded.set(true);
    }

    /// Whether something was not done that a larger budget might suffice for.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.short && self.exceeded.get()
    }

    /// Takes the steps of reading so many bytes of JSON; false where there are not as many.
    ///
    /// Reading is linear, so that a full budget suffices for the largest answer once.
    pub(crate) fn spend_reading(&self, bytes: usize) -> bool {
        let bytes = steps(bytes);
        self.spend(if self.short { bytes.saturating_mul(3) } else { bytes / 32 })
    }

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

/// A schema, as far as the cost of checks depends on it. Parts refer to each other by their place in the list; the whole is
/// the first.
#[derive(Debug)]
pub(super) struct SchemaCostModel {
    nodes: Vec<CostNode>,
}

/// The place of a part in the list.
type NodeId = usize;

/// One part of a schema.
#[derive(Debug, Default)]
struct CostNode {
    /// Steps for any data.
    base: u64,
    /// Sixteenths of a step for every byte of a string.
    string: u64,
    /// Steps for a number.
    number: u64,
    /// Steps for an object, whatever is in it.
    object: u64,
    /// Whether the elements of a list have to differ.
    unique: bool,
    /// What applies to the same data: `allOf`, `anyOf`, `oneOf` and `if`. What they evaluate counts as evaluated.
    branches: Vec<NodeId>,
    /// `then` and `else`.
    outcomes: Vec<NodeId>,
    not: Option<NodeId>,
    references: Vec<NodeId>,
    dependents: Vec<(Box<str>, NodeId)>,
    /// By name, in order.
    properties: Vec<(Box<str>, NodeId)>,
    patterns: Vec<(PatternCost, NodeId)>,
    /// `additionalProperties`.
    additional: Option<NodeId>,
    unevaluated_properties: Option<NodeId>,
    names: Option<NodeId>,
    prefix: Vec<NodeId>,
    items: Option<NodeId>,
    contains: Option<NodeId>,
    unevaluated_items: Option<NodeId>,
    /// Steps of compiling it, without its parts.
    building: u64,
    /// How long its JSON pointer is, which the validator keeps for each keyword.
    path: usize,
}

/// What a match costs.
#[derive(Clone, Copy, Debug)]
struct PatternCost {
    /// Steps for any text.
    base: u64,
    /// Sixteenths of a step for every byte.
    byte: u64,
}

impl PatternCost {
    fn steps(self, text: &str) -> u64 {
        self.base.saturating_add(sixteenths(text.len(), self.byte))
    }
}

impl SchemaCostModel {
    /// Takes the steps of a check from a budget; false where it does not suffice, and the check is not to be begun.
    pub(super) fn spend(&self, data: &Value, budget: &StepBudget) -> bool {
        match self.count(data, budget.left.get()) {
            Some(steps) => budget.spend(steps),
            None => {
                budget.mark_exceeded();
                false
            }
        }
    }

    /// How many steps a check takes at most; `None` where it is more than `limit`.
    fn count(&self, data: &Value, limit: u64) -> Option<u64> {
        let mut count = StepCounter { nodes: &self.nodes, left: limit };
        count.check(0, data, MAX_DEPTH)?;
        Some(limit - count.left)
    }
}

/// A number of things as a number of steps.
fn steps(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn sixteenths(bytes: usize, each: u64) -> u64 {
    steps(bytes).saturating_mul(each) / 16
}

struct StepCounter<'a> {
    nodes: &'a [CostNode],
    left: u64,
}

impl<'a> StepCounter<'a> {
    fn take(&mut self, steps: u64) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }

    /// Counts a check of data against a part of the schema. `None` where there are too many steps.
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

    /// Counts what is done to learn which members or elements a part has evaluated: what applies in place is checked once
    /// more, and so on inside of it.
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

    /// Counts the comparisons that find two equal elements.
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
    fn applies_nothing_in_place(&self) -> bool {
        self.branches.is_empty()
            && self.outcomes.is_empty()
            && self.references.is_empty()
            && self.not.is_none()
            && self.unevaluated_properties.is_none()
            && self.unevaluated_items.is_none()
    }

    fn looks_at_members(&self) -> bool {
        !self.properties.is_empty()
            || !self.patterns.is_empty()
            || self.additional.is_some()
            || self.unevaluated_properties.is_some()
            || self.names.is_some()
    }
}

/// The properties that a schema knows, found for names that come in order.
struct PropertyCursor<'a> {
    rest: &'a [(Box<str>, NodeId)],
    /// Whether there are so few names that each is better looked for from the start.
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

/// Whether a number is no other than the float that it is hashed as.
fn is_exact(number: &serde_json::Number) -> bool {
    const EXACT: u64 = 1 << 53;
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => number <= EXACT,
        (None, Some(number)) => number.unsigned_abs() <= EXACT,
        (None, None) => true,
    }
}

/// How much there is to compare in a value. As deep as the text was, which its reader has bounded.
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
