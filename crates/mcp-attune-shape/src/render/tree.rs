//! An index of the values of a page, made in one pass over the JSON text.
//!
//! A layout looks at data several times before it writes them: what a list holds, what stands beside a
//! value, which field tells one record from another. So the text is read once, and a few words are kept
//! for each value. Data beyond [`MAX_INDEXED_BYTES`] are read from their text again each time instead,
//! which takes longer but keeps memory in proportion to the page.

use mcp_attune_wire::json::{
    JsonKind, JsonString, JsonWalker, SpannedElements, SpannedMembers, SpannedValue,
};

/// The longest JSON text that is indexed, in bytes: 512 KiB. Longer data are read from the text itself.
const MAX_INDEXED_BYTES: usize = 512 << 10;

/// JSON data that can be walked often. [`ValueNode`] gives access to it, and hides whether the data are
/// indexed.
pub(super) struct ValueTree<'a> {
    /// The data as they stand in the message.
    data: SpannedValue<'a>,
    /// All values in the order of the text, each before those inside of it. Empty if the data are too
    /// long to be indexed.
    entries: Vec<ValueTreeEntry<'a>>,
}

/// One indexed value.
#[derive(PartialEq, Debug)]
pub(super) struct ValueTreeEntry<'a> {
    /// The name of a member; `None` for an element of a list and for the root.
    name: Option<JsonString<'a>>,
    /// What the value is.
    held: ValueTreeContent<'a>,
}

/// The content of an indexed value. Objects and lists have the number of entries that follow and lie
/// inside of them at any depth, so that they can be skipped in one step.
#[derive(Clone, Copy, PartialEq, Debug)]
enum ValueTreeContent<'a> {
    Object(u32),
    Array(u32),
    String(JsonString<'a>),
    Number(&'a str),
    Boolean(bool),
    Null,
}

impl<'a> ValueTree<'a> {
    /// Indexes the data, unless they are too long.
    pub(super) fn of(data: SpannedValue<'a>) -> Self {
        Self::indexed_up_to(MAX_INDEXED_BYTES, data)
    }

    /// Indexes data of up to so many bytes. Tests pass 0, to compare the two ways of reading.
    fn indexed_up_to(most: usize, data: SpannedValue<'a>) -> Self {
        let mut tree = Self { data, entries: Vec::new() };
        let length = data.raw().len();
        if length <= most {
            // Most values take more bytes than that.
            tree.entries.reserve(length / 16 + 1);
            tree.add(None, &mut data.walk());
        }
        tree
    }

    /// Appends a value and everything inside of it. An object or a list is entered as a placeholder
    /// first, whose count is set once its content is known.
    ///
    /// Recurses as deep as the data are nested, which the JSON scanner limited before.
    fn add(&mut self, name: Option<JsonString<'a>>, walk: &mut JsonWalker<'a>) {
        let at = self.entries.len();
        let held = match walk.kind() {
            JsonKind::Object => {
                self.entries.push(ValueTreeEntry { name, held: ValueTreeContent::Null });
                walk.members(|name, walk| self.add(Some(name), walk));
                ValueTreeContent::Object(self.entries_after(at))
            }
            JsonKind::Array => {
                self.entries.push(ValueTreeEntry { name, held: ValueTreeContent::Null });
                walk.elements(|walk| self.add(None, walk));
                ValueTreeContent::Array(self.entries_after(at))
            }
            kind => {
                let held = match kind {
                    JsonKind::Number => ValueTreeContent::Number(walk.value().raw()),
                    JsonKind::Boolean => ValueTreeContent::Boolean(walk.value().raw() == "true"),
                    _ => walk.string().map_or(ValueTreeContent::Null, ValueTreeContent::String),
                };
                self.entries.push(ValueTreeEntry { name, held });
                return;
            }
        };
        if let Some(entry) = self.entries.get_mut(at) {
            entry.held = held;
        }
    }

    /// Returns how many entries follow the one at this position.
    fn entries_after(&self, at: usize) -> u32 {
        u32::try_from(self.entries.len() - at - 1).unwrap_or(u32::MAX)
    }

    /// Returns the outermost value.
    pub(super) fn root(&self) -> ValueNode<'_> {
        SiblingNodes(&self.entries).next().map_or(ValueNode::Written(self.data), |(_, root)| root)
    }
}

/// A cursor on one value of a [`ValueTree`], cheap to copy.
///
/// Its methods answer the same for both variants.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum ValueNode<'a> {
    /// A value of the index.
    Kept {
        /// The entry of the value itself.
        own: &'a ValueTreeEntry<'a>,
        /// The entries of everything inside of it, at any depth.
        inside: &'a [ValueTreeEntry<'a>],
    },
    /// A value of data that were too long for the index, read from the text each time.
    Written(SpannedValue<'a>),
}

impl<'a> ValueNode<'a> {
    pub(super) fn kind(self) -> JsonKind {
        match self {
            Self::Written(value) => value.kind(),
            Self::Kept { own, .. } => match own.held {
                ValueTreeContent::Object(_) => JsonKind::Object,
                ValueTreeContent::Array(_) => JsonKind::Array,
                ValueTreeContent::String(_) => JsonKind::String,
                ValueTreeContent::Number(_) => JsonKind::Number,
                ValueTreeContent::Boolean(_) => JsonKind::Boolean,
                ValueTreeContent::Null => JsonKind::Null,
            },
        }
    }

    /// Returns the string, still with its escapes, or `None` if the value is no string.
    pub(super) fn text(self) -> Option<JsonString<'a>> {
        match self {
            Self::Written(value) => value.text(),
            Self::Kept { own: ValueTreeEntry { held: ValueTreeContent::String(text), .. }, .. } => {
                Some(*text)
            }
            Self::Kept { .. } => None,
        }
    }

    /// Returns the number as it is written, or `None` if the value is no number.
    pub(super) fn number(self) -> Option<&'a str> {
        match self {
            Self::Written(value) => Some(value.raw()).filter(|_| value.kind() == JsonKind::Number),
            Self::Kept { own: ValueTreeEntry { held: ValueTreeContent::Number(raw), .. }, .. } => Some(raw),
            Self::Kept { .. } => None,
        }
    }

    /// Returns whether the value is `true`; `false` for every other value.
    pub(super) fn is_true(self) -> bool {
        match self {
            Self::Written(value) => value.raw() == "true",
            Self::Kept { own, .. } => own.held == ValueTreeContent::Boolean(true),
        }
    }

    /// Returns whether a list or an object holds nothing, without reading what it holds. Must not be
    /// asked of other values, for which the two variants differ.
    pub(super) fn is_empty(self) -> bool {
        match self {
            Self::Written(value) => {
                value.raw().get(1..).is_some_and(|rest| rest.trim_start().starts_with([']', '}']))
            }
            Self::Kept { inside, .. } => inside.is_empty(),
        }
    }

    /// Iterates over the elements of a list; empty for any other value.
    pub(super) fn elements(self) -> NodeElements<'a> {
        match self {
            Self::Written(value) => NodeElements::Written(value.elements()),
            Self::Kept { own: ValueTreeEntry { held: ValueTreeContent::Array(_), .. }, inside } => {
                NodeElements::Kept(SiblingNodes(inside))
            }
            Self::Kept { .. } => NodeElements::Kept(SiblingNodes(&[])),
        }
    }

    /// Iterates over the members of an object in the order of the text; empty for any other value.
    pub(super) fn members(self) -> NodeMembers<'a> {
        match self {
            Self::Written(value) => NodeMembers::Written(value.members()),
            Self::Kept { own: ValueTreeEntry { held: ValueTreeContent::Object(_), .. }, inside } => {
                NodeMembers::Kept(SiblingNodes(inside))
            }
            Self::Kept { .. } => NodeMembers::Kept(SiblingNodes(&[])),
        }
    }

    /// Returns the first member of an object with this decoded name, or `None`. Takes a pass over the
    /// members.
    pub(super) fn member(self, name: &str) -> Option<Self> {
        self.members().find(|(found, _)| found.is(name)).map(|(_, value)| value)
    }
}

/// The elements of a list: see [`ValueNode::elements`].
pub(super) enum NodeElements<'a> {
    Kept(SiblingNodes<'a>),
    Written(SpannedElements<'a>),
}

impl<'a> Iterator for NodeElements<'a> {
    type Item = ValueNode<'a>;

    #[inline]
    fn next(&mut self) -> Option<ValueNode<'a>> {
        match self {
            Self::Kept(nodes) => nodes.next().map(|(_, node)| node),
            Self::Written(elements) => elements.next().map(ValueNode::Written),
        }
    }
}

/// The members of an object: see [`ValueNode::members`].
pub(super) enum NodeMembers<'a> {
    Kept(SiblingNodes<'a>),
    Written(SpannedMembers<'a>),
}

impl<'a> Iterator for NodeMembers<'a> {
    type Item = (JsonString<'a>, ValueNode<'a>);

    #[inline]
    fn next(&mut self) -> Option<(JsonString<'a>, ValueNode<'a>)> {
        match self {
            Self::Kept(nodes) => nodes.next().and_then(|(name, node)| Some((name?, node))),
            Self::Written(members) => members.next().map(|(name, value)| (name, ValueNode::Written(value))),
        }
    }
}

/// Iterates over values that stand beside each other in the index, with their names, and skips what is
/// inside of each.
pub(super) struct SiblingNodes<'a>(&'a [ValueTreeEntry<'a>]);

impl<'a> Iterator for SiblingNodes<'a> {
    type Item = (Option<JsonString<'a>>, ValueNode<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (own, rest) = self.0.split_first()?;
        let inside = match own.held {
            ValueTreeContent::Object(inside) | ValueTreeContent::Array(inside) => {
                usize::try_from(inside).ok()?
            }
            _ => 0,
        };
        let (inside, rest) = rest.split_at_checked(inside)?;
        self.0 = rest;
        Some((own.name, ValueNode::Kept { own, inside }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune_wire::message::Message;

    /// Everything that a node holds, in one line.
    fn all(node: ValueNode<'_>, out: &mut String) {
        match node.kind() {
            JsonKind::Object => {
                out.push('{');
                for (name, value) in node.members() {
                    *out += name.as_written();
                    out.push(':');
                    all(value, out);
                }
                out.push('}');
            }
            JsonKind::Array => {
                out.push('[');
                node.elements().for_each(|element| all(element, out));
                out.push(']');
            }
            JsonKind::String => *out += node.text().unwrap().as_written(),
            JsonKind::Number => *out += node.number().unwrap(),
            JsonKind::Boolean => *out += if node.is_true() { "yes" } else { "no" },
            JsonKind::Null => *out += "none",
        }
        out.push(' ');
    }

    #[test]
    fn everything_is_found_where_it_stood() {
        for (data, expected) in [
            (
                r#"{"a":1,"b":{"c":[true,{"d":null},[]],"e":{}},"f":"x"}"#,
                "{a:1 b:{c:[yes {d:none } [] ] e:{} } f:x } ",
            ),
            (r#" [ "a" , [ -1.5e3 , false ] , { } ] "#, "[a [-1.5e3 no ] {} ] "),
            ("7", "7 "),
        ] {
            let message = Message::parse(data.as_bytes()).unwrap();
            for most in [0, MAX_INDEXED_BYTES] {
                let tree = ValueTree::indexed_up_to(most, message.body());
                assert_eq!(tree.entries.is_empty(), most == 0);
                let mut out = String::new();
                all(tree.root(), &mut out);
                assert_eq!(out, expected);
            }
        }
    }

    #[test]
    fn the_first_of_two_members_is_found_and_lists_have_none() {
        let message = Message::parse(br#"[{"a":{"b":1},"b":2,"c":[]},{ }]"#).unwrap();
        for most in [0, MAX_INDEXED_BYTES] {
            let tree = ValueTree::indexed_up_to(most, message.body());
            let list = tree.root();
            assert_eq!((list.members().count(), list.is_empty()), (0, false));
            let empty: Vec<_> = list.elements().map(ValueNode::is_empty).collect();
            assert_eq!(empty, [false, true]);
            let object = list.elements().next().unwrap();
            assert_eq!(object.elements().count(), 0);
            assert_eq!(object.member("b").and_then(ValueNode::number), Some("2"));
            assert!(object.member("c").is_some_and(ValueNode::is_empty));
            assert_eq!(object.member("d"), None);
        }
    }
}
