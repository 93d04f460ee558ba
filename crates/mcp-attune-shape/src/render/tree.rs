//! The data of a page, gone over once.
//!
//! A layout looks at data several times before it writes them: what a list holds, what stands beside a value, what tells a
//! record from another. So the text is gone over once, and what was found is kept: a few words for each value. Where
//! that would be much, the text is gone over again and again instead, so that memory is that of the page.

use mcp_attune_wire::json::{JsonKind, JsonString, JsonWalker, SpannedValue};

/// How many bytes of text are kept as values at most.
const MAX_INDEXED_BYTES: usize = 512 << 10;

pub(super) struct ValueTree<'a> {
    data: SpannedValue<'a>,
    /// Values in the order of the text, each before those inside of it; none if they would be too many.
    entries: Vec<ValueTreeEntry<'a>>,
}

#[derive(PartialEq, Debug)]
pub(super) struct ValueTreeEntry<'a> {
    /// What it is called as a member.
    name: Option<JsonString<'a>>,
    held: ValueTreeContent<'a>,
}

/// Lists and objects hold so many entries, those inside of others included.
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
    pub(super) fn of(data: SpannedValue<'a>) -> Self {
        Self::indexed_up_to(MAX_INDEXED_BYTES, data)
    }

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

    /// As deep as the text is, which the scanner has bounded.
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
                let value = walk.value();
                let held = match (kind, value.text()) {
                    (JsonKind::Number, _) => ValueTreeContent::Number(value.raw()),
                    (JsonKind::Boolean, _) => ValueTreeContent::Boolean(value.raw() == "true"),
                    (_, Some(text)) => ValueTreeContent::String(text),
                    _ => ValueTreeContent::Null,
                };
                self.entries.push(ValueTreeEntry { name, held });
                return;
            }
        };
        if let Some(entry) = self.entries.get_mut(at) {
            entry.held = held;
        }
    }

    /// How many entries stand behind this one.
    fn entries_after(&self, at: usize) -> u32 {
        u32::try_from(self.entries.len() - at - 1).unwrap_or(u32::MAX)
    }

    pub(super) fn root(&self) -> ValueNode<'_> {
        SiblingNodes(&self.entries).next().unwrap_or(ValueNode::Written(self.data))
    }
}

/// One value, and what is inside of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum ValueNode<'a> {
    Kept {
        own: &'a ValueTreeEntry<'a>,
        inside: &'a [ValueTreeEntry<'a>],
    },
    /// As it stands in the text.
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

    /// The string in it, if it is one.
    pub(super) fn text(self) -> Option<JsonString<'a>> {
        match self {
            Self::Written(value) => value.text(),
            Self::Kept { own: ValueTreeEntry { held: ValueTreeContent::String(text), .. }, .. } => {
                Some(*text)
            }
            Self::Kept { .. } => None,
        }
    }

    /// The number as it is written, if it is one.
    pub(super) fn number(self) -> Option<&'a str> {
        match self {
            Self::Written(value) => Some(value.raw()).filter(|_| value.kind() == JsonKind::Number),
            Self::Kept { own: ValueTreeEntry { held: ValueTreeContent::Number(raw), .. }, .. } => Some(raw),
            Self::Kept { .. } => None,
        }
    }

    pub(super) fn is_true(self) -> bool {
        match self {
            Self::Written(value) => value.raw() == "true",
            Self::Kept { own, .. } => own.held == ValueTreeContent::Boolean(true),
        }
    }

    /// Whether a list or an object holds nothing, without a look at what it holds.
    pub(super) fn is_empty(self) -> bool {
        match self {
            Self::Written(value) => {
                value.raw().get(1..).is_some_and(|rest| rest.trim_start().starts_with([']', '}']))
            }
            Self::Kept { inside, .. } => inside.is_empty(),
        }
    }

    /// What is inside, and where that is kept.
    fn inside(self) -> (SiblingNodes<'a>, Option<SpannedValue<'a>>) {
        match self {
            Self::Written(value) => (SiblingNodes(&[]), Some(value)),
            Self::Kept { inside, .. } => (SiblingNodes(inside), None),
        }
    }

    /// The values of a list; nothing for any other value.
    pub(super) fn elements(self) -> impl Iterator<Item = ValueNode<'a>> {
        let (kept, written) = self.inside();
        let kept = kept
            .filter(|node| matches!(node, ValueNode::Kept { own: ValueTreeEntry { name: None, .. }, .. }));
        kept.chain(written.into_iter().flat_map(SpannedValue::elements).map(ValueNode::Written))
    }

    /// The members of an object; nothing for any other value.
    pub(super) fn members(self) -> impl Iterator<Item = (JsonString<'a>, ValueNode<'a>)> {
        let (kept, written) = self.inside();
        let kept = kept.filter_map(|node| match node {
            ValueNode::Kept { own, .. } => Some((own.name?, node)),
            ValueNode::Written(_) => None,
        });
        let written = written.into_iter().flat_map(SpannedValue::members);
        kept.chain(written.map(|(name, value)| (name, ValueNode::Written(value))))
    }

    /// The member of an object with this name.
    pub(super) fn member(self, name: &str) -> Option<Self> {
        self.members().find(|(found, _)| found.is(name)).map(|(_, value)| value)
    }
}

/// Values that stand beside each other.
struct SiblingNodes<'a>(&'a [ValueTreeEntry<'a>]);

impl<'a> Iterator for SiblingNodes<'a> {
    type Item = ValueNode<'a>;

    fn next(&mut self) -> Option<ValueNode<'a>> {
        let (own, rest) = self.0.split_first()?;
        let inside = match own.held {
            ValueTreeContent::Object(inside) | ValueTreeContent::Array(inside) => {
                usize::try_from(inside).ok()?
            }
            _ => 0,
        };
        let (inside, rest) = rest.split_at_checked(inside)?;
        self.0 = rest;
        Some(ValueNode::Kept { own, inside })
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
