//! Reads a schema into the parts that costs depend on, and bounds what it takes to compile it.
//!
//! Reading is iterative: parts wait in a list until they are read, and each part of the document is read
//! once, however many references lead to it. Compiling is counted afterwards, because the validator compiles
//! a part again for each place where it stands.

use std::collections::{HashMap, HashSet};
use std::ptr;

use serde_json::{Map, Value};

use mcp_attune::shaping::UnusableReason;

use super::{
    CostNode, DIVISION_STEPS, MAX_DEPTH, NodeId, PatternCost, SchemaCostModel, pattern, steps, weight,
};

/// How many steps compiling may take; one is about a keyword. A schema that needs more is too large.
const MAX_COMPILE_STEPS: u64 = 40_000;
/// How many different patterns a schema may have. Each is compiled several times to learn its size.
const MAX_PATTERNS: usize = 100;
/// Up to this many strings of an `enum` the validator compares one by one; more are hashed.
const COMPARED_STRINGS: u64 = 10;

impl SchemaCostModel {
    /// Reads a schema.
    ///
    /// # Errors
    ///
    /// Returns why nothing can be checked against the schema: a keyword with a value that it cannot have, a
    /// pattern that cannot be matched in linear time, a reference out of the document, or too much to
    /// compile. Keywords that the model does not know cost nothing beyond their number, and are left to the
    /// validator.
    pub(crate) fn read(schema: &Value) -> Result<Self, UnusableReason> {
        let mut reader = CostModelReader::new(schema);
        reader.collect_anchors(schema, true);
        reader.enqueue_node(schema, 0);
        while let Some((id, schema)) = reader.waiting.pop() {
            let node = reader.node(schema, reader.path(id))?;
            if let Some(place) = reader.nodes.get_mut(id) {
                *place = node;
            }
        }
        if reader.refers && reader.ambiguous {
            return Err(UnusableReason::Reference);
        }
        let targets = reader.targets;
        let cost = Self { nodes: reader.nodes };
        let mut building = CompileCounter {
            nodes: &cost.nodes,
            left: MAX_COMPILE_STEPS,
            marking: vec![false; cost.nodes.len()],
        };
        let mut parts = core::iter::once(0).chain(targets);
        parts.try_for_each(|id| building.compile(id, MAX_DEPTH)).ok_or(UnusableReason::TooLarge)?;
        Ok(cost)
    }
}

/// The state of reading one schema.
struct CostModelReader<'a> {
    /// The whole document, which references are resolved in.
    root: &'a Value,
    /// The `$id` of the whole. References that begin with it stay inside the document.
    own_id: Option<&'a str>,
    /// Whether `id` has the meaning of `$id`, as in draft 4.
    old: bool,
    /// The parts that have an `$anchor` or `$dynamicAnchor`, by its name.
    anchors: HashMap<&'a str, &'a Value>,
    /// Whether a reference could mean another part than the one that is counted here: an inner part has an
    /// `$id`, to which references inside of it are relative, or two parts have one anchor. A schema that is
    /// ambiguous and has references cannot be used.
    ambiguous: bool,
    /// Whether there is any reference.
    refers: bool,
    /// The parts so far, in the order in which they were met; those that wait are empty.
    nodes: Vec<CostNode>,
    /// The parts that have been met, by the address of their JSON value. The document does not move while it
    /// is read.
    met: HashMap<usize, NodeId>,
    /// The parts that have been met and not read yet.
    waiting: Vec<(NodeId, &'a Value)>,
    /// The parts that references lead to. The validator compiles each of them once, apart from the place
    /// where it stands.
    targets: HashSet<NodeId>,
    /// The cost of each distinct pattern.
    patterns: HashMap<&'a str, PatternCost>,
    /// The compiled sizes of all distinct patterns together, in bytes.
    size_of_patterns: usize,
}

impl<'a> CostModelReader<'a> {
    fn new(root: &'a Value) -> Self {
        let text = |keyword: &str| root.get(keyword).and_then(Value::as_str);
        Self {
            root,
            own_id: text("$id"),
            old: text("$schema").is_some_and(|schema| schema.contains("draft-04")),
            anchors: HashMap::new(),
            ambiguous: false,
            refers: false,
            nodes: Vec::new(),
            met: HashMap::new(),
            waiting: Vec::new(),
            targets: HashSet::new(),
            patterns: HashMap::new(),
            size_of_patterns: 0,
        }
    }

    /// Finds the names of parts, and whether inner parts have ids, anywhere in the document. `whole` is true
    /// for the root. It recurses as deep as the document is nested, which its reader has bounded.
    fn collect_anchors(&mut self, value: &'a Value, whole: bool) {
        match value {
            Value::Array(elements) => {
                elements.iter().for_each(|element| self.collect_anchors(element, false));
            }
            Value::Object(members) => {
                let named = |keyword: &str| members.get(keyword).and_then(Value::as_str);
                self.ambiguous |= !whole && (named("$id").is_some() || (self.old && named("id").is_some()));
                for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(named) {
                    let other = self.anchors.insert(anchor, value);
                    // Which one a reference means depends on where the validator looks for anchors.
                    self.ambiguous |= other.is_some_and(|other| !ptr::eq(other, value));
                }
                members.values().for_each(|member| self.collect_anchors(member, false));
            }
            _ => {}
        }
    }

    /// Returns the length of the JSON pointer of a part that has been met.
    fn path(&self, id: NodeId) -> usize {
        self.nodes.get(id).map_or(0, |node| node.path)
    }

    /// Returns the index of a part, and makes it wait to be read if it has not been met before. `path` is the
    /// length of its JSON pointer; of several the longest is kept.
    fn enqueue_node(&mut self, schema: &'a Value, path: usize) -> NodeId {
        let id = *self.met.entry(ptr::from_ref(schema) as usize).or_insert_with(|| {
            self.nodes.push(CostNode::default());
            self.waiting.push((self.nodes.len() - 1, schema));
            self.nodes.len() - 1
        });
        if let Some(node) = self.nodes.get_mut(id) {
            node.path = node.path.max(path);
        }
        id
    }

    /// Enqueues the elements of a list of schemas. The pointer of each is counted as six bytes longer, for
    /// its index.
    fn enqueue_nodes(&mut self, schemas: &'a [Value], path: usize) -> Vec<NodeId> {
        schemas.iter().map(|schema| self.enqueue_node(schema, path + 6)).collect()
    }

    /// Reads one part. Its inner parts are enqueued, and known by their index from then on.
    fn node(&mut self, schema: &'a Value, path: usize) -> Result<CostNode, UnusableReason> {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(_) => return Ok(CostNode { base: 1, building: 1, path, ..CostNode::default() }),
            _ => return Err(UnusableReason::Invalid),
        };
        let mut node = CostNode { path, base: 1 + steps(keywords.len()) / 4, ..CostNode::default() };
        node.building = 1 + steps(keywords.len());
        for (keyword, value) in keywords {
            let inner = path + keyword.len() + 1;
            self.keyword(&mut node, keyword, value, inner)?;
            // The validator keeps where each keyword stands.
            node.building += steps(inner) / 256;
        }
        Ok(node)
    }

    /// Adds what one keyword costs to a part. `path` is the length of the JSON pointer of the keyword.
    fn keyword(
        &mut self,
        node: &mut CostNode,
        keyword: &'a str,
        value: &'a Value,
        path: usize,
    ) -> Result<(), UnusableReason> {
        match (keyword, value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", value) => {
                node.references.extend(self.reference(value.as_str().ok_or(UnusableReason::Invalid)?)?);
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                node.branches.extend(self.enqueue_nodes(all, path));
            }
            ("if", one) => node.branches.push(self.enqueue_node(one, path)),
            ("then" | "else", one) => node.outcomes.push(self.enqueue_node(one, path)),
            ("not", one) => node.not = Some(self.enqueue_node(one, path)),
            ("dependentSchemas" | "dependencies", Value::Object(all)) => {
                node.object += 2 * steps(all.len());
                for (name, one) in all {
                    match one {
                        Value::Array(names) => node.object += names_steps(names)?,
                        one => node
                            .dependents
                            .push((name.as_str().into(), self.enqueue_node(one, path + name.len() + 1))),
                    }
                }
            }
            ("properties", Value::Object(all)) => {
                node.object += steps(all.len().min(2 * super::COMPARED_IN_PAIRS)) / 2;
                node.properties = self.enqueue_named(all, path);
                node.properties.sort_unstable();
            }
            ("patternProperties", Value::Object(all)) => {
                for (name, one) in all {
                    let matched = self.pattern(name)?;
                    node.patterns.push((matched, self.enqueue_node(one, path + name.len() + 1)));
                }
            }
            ("additionalProperties", one) => node.additional = Some(self.enqueue_node(one, path)),
            ("unevaluatedProperties", one) => {
                node.unevaluated_properties = Some(self.enqueue_node(one, path));
            }
            ("propertyNames", one) => node.names = Some(self.enqueue_node(one, path)),
            ("prefixItems" | "items", Value::Array(all)) => node.prefix = self.enqueue_nodes(all, path),
            ("items" | "additionalItems", one) => node.items = Some(self.enqueue_node(one, path)),
            ("contains", one) => node.contains = Some(self.enqueue_node(one, path)),
            ("unevaluatedItems", one) => node.unevaluated_items = Some(self.enqueue_node(one, path)),
            ("required", Value::Array(names)) => {
                node.object += names_steps(names)?;
                node.building += steps(names.len()) / 4;
            }
            ("dependentRequired", Value::Object(all)) => {
                for names in all.values() {
                    let names = names.as_array().ok_or(UnusableReason::Invalid)?;
                    node.object += 1 + names_steps(names)?;
                }
            }
            ("enum", Value::Array(values)) => count_enum(node, values),
            ("const", value) => {
                node.base += weight(value);
                node.string += 1;
            }
            ("uniqueItems", Value::Bool(unique)) => node.unique = *unique,
            ("multipleOf", Value::Number(number)) => {
                let whole = number.as_u64().is_some() || number.as_i64().is_some();
                node.number = if whole { 4 } else { DIVISION_STEPS };
            }
            ("pattern", Value::String(text)) => {
                let matched = self.pattern(text)?;
                node.base += matched.base;
                node.string += matched.byte;
            }
            ("minLength" | "maxLength", _) => node.string += 1,
            // Older drafts check these, each within a bound for every byte.
            ("format", Value::String(format)) => {
                node.base += 6;
                node.string += match format.as_str() {
                    "regex" => REGEX_BYTE,
                    "hostname" | "idn-hostname" => HOSTNAME_BYTE,
                    _ => FORMAT_BYTE,
                };
            }
            ("contentMediaType" | "contentEncoding", _) => {
                node.base += 10;
                node.string += FORMAT_BYTE;
            }
            _ => {}
        }
        Ok(())
    }

    fn enqueue_named(&mut self, all: &'a Map<String, Value>, path: usize) -> Vec<(Box<str>, NodeId)> {
        all.iter()
            .map(|(name, one)| (name.as_str().into(), self.enqueue_node(one, path + name.len() + 1)))
            .collect()
    }

    /// Returns the part that a reference leads to; `None` for the empty reference, which says nothing.
    ///
    /// Supported are `#`, JSON pointers with percent-encoding, anchors, and all of these behind the
    /// document's own `$id`. Everything else makes the schema unusable, because the target would not be
    /// counted.
    fn reference(&mut self, reference: &'a str) -> Result<Option<NodeId>, UnusableReason> {
        if reference.is_empty() {
            return Ok(None);
        }
        self.refers = true;
        let own = self.own_id.and_then(|id| reference.strip_prefix(id.trim_end_matches('#')));
        let inside = match own {
            Some("") => "",
            own => own.unwrap_or(reference).strip_prefix('#').ok_or(UnusableReason::Reference)?,
        };
        let target = if inside.is_empty() {
            Some(self.root)
        } else if inside.starts_with('/') {
            self.root.pointer(&decoded(inside).ok_or(UnusableReason::Reference)?)
        } else {
            self.anchors.get(inside).copied()
        };
        let id = self.enqueue_node(target.ok_or(UnusableReason::Reference)?, inside.len());
        self.targets.insert(id);
        Ok(Some(id))
    }

    /// Returns what a pattern costs. Fails if the engine cannot match it, or if the schema has too many
    /// patterns or too large ones.
    fn pattern(&mut self, text: &'a str) -> Result<PatternCost, UnusableReason> {
        if let Some(known) = self.patterns.get(text) {
            return Ok(*known);
        }
        if self.patterns.len() == MAX_PATTERNS {
            return Err(UnusableReason::Pattern);
        }
        let size = pattern::compiled_size(text).ok_or(UnusableReason::Pattern)?;
        self.size_of_patterns += size;
        if self.size_of_patterns > pattern::MAX_PATTERN_BYTES {
            return Err(UnusableReason::Pattern);
        }
        let cost = pattern::cost(text, size);
        self.patterns.insert(text, cost);
        Ok(cost)
    }
}

/// Sixteenths of a step that checking a `format` takes for a byte of a string.
const FORMAT_BYTE: u64 = 24;
/// The same for host names, which may be Punycode.
const HOSTNAME_BYTE: u64 = 100;
/// The same for `regex`: the text is parsed as a whole regular expression.
const REGEX_BYTE: u64 = 1600;

/// Counts what it takes to look for names in an object. Fails if one of them is no string.
fn names_steps(names: &[Value]) -> Result<u64, UnusableReason> {
    let one = |name: &Value| Some(1 + steps(name.as_str()?.len()) / 32);
    names.iter().map(one).sum::<Option<u64>>().ok_or(UnusableReason::Invalid)
}

/// Adds what an `enum` costs. The validator hashes the values if all of them are strings or null; otherwise
/// it compares them one by one.
fn count_enum(node: &mut CostNode, values: &[Value]) {
    let all: u64 = values.iter().map(weight).fold(0, u64::saturating_add);
    let strings = values.iter().all(|value| value.is_string() || value.is_null());
    node.base += if strings { all.min(COMPARED_STRINGS) } else { all };
    node.string += 1;
    // Some drafts ask that the values differ.
    let lists = steps(values.iter().filter(|value| value.is_array() || value.is_object()).count());
    node.building += all / 8 + lists.saturating_mul(all) / 64;
}

/// Decodes the percent-encoding of a JSON pointer in a URI fragment. Returns `None` if it is malformed or no
/// UTF-8.
fn decoded(pointer: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        bytes.push(if byte == b'%' { digit()? << 4 | digit()? } else { byte });
    }
    String::from_utf8(bytes).ok()
}

/// Counts the steps of compiling: every part once for each place that it stands at, and what applies in place
/// beside an `unevaluatedProperties` or `unevaluatedItems` once more at every level.
///
/// Its methods return `None` as soon as there are more steps than [`MAX_COMPILE_STEPS`], or more nesting than
/// `MAX_DEPTH`.
struct CompileCounter<'a> {
    nodes: &'a [CostNode],
    left: u64,
    /// The parts whose evaluated members are being looked for, by index. The validator does not go into one
    /// of them again, so references that lead back end there.
    marking: Vec<bool>,
}

impl<'a> CompileCounter<'a> {
    fn take(&mut self, steps: u64) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }

    /// Counts compiling a part with all parts inside of it. References are not followed: their targets are
    /// compiled on their own.
    fn compile(&mut self, id: NodeId, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let node: &'a CostNode = self.nodes.get(id)?;
        self.take(node.building)?;
        let inner = node.properties.iter().chain(&node.dependents).map(|(_, one)| one);
        let inner = inner.chain(node.patterns.iter().map(|(_, one)| one));
        let inner = inner.chain(&node.branches).chain(&node.outcomes).chain(&node.prefix).copied();
        let single = [node.not, node.additional, node.names, node.items, node.contains];
        let unevaluated = [node.unevaluated_properties, node.unevaluated_items];
        let single = single.into_iter().chain(unevaluated).flatten();
        inner.chain(single).try_for_each(|one| self.compile(one, depth))?;
        if unevaluated.iter().any(Option::is_some) { self.mark(id, depth) } else { Some(()) }
    }

    /// Counts compiling what looks for evaluated members or elements of a part: everything that applies in
    /// place is compiled once more, references included.
    fn mark(&mut self, id: NodeId, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let node: &'a CostNode = self.nodes.get(id)?;
        self.take(1 + node.building + steps(node.properties.len()) / 2)?;
        let before = core::mem::replace(self.marking.get_mut(id)?, true);
        let inner = node.patterns.iter().map(|(_, one)| *one);
        let single = [node.additional, node.unevaluated_properties, node.contains, node.unevaluated_items];
        inner.chain(single.into_iter().flatten()).try_for_each(|one| self.compile(one, depth))?;
        for branch in &node.branches {
            self.compile(*branch, depth)?;
            self.mark(*branch, depth)?;
        }
        let dependents = node.dependents.iter().map(|(_, one)| one);
        node.outcomes.iter().chain(dependents).try_for_each(|one| self.mark(*one, depth))?;
        for target in &node.references {
            if !*self.marking.get(*target)? {
                self.mark(*target, depth)?;
            }
        }
        *self.marking.get_mut(id)? = before;
        Some(())
    }
}
