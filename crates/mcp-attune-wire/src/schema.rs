//! Which arguments of a tool travel in headers: `x-mcp-header` in its `inputSchema`.
//!
//! 1. Annotations are looked for in every schema position of JSON Schema 2020-12; `default`, `examples`,
//!    `const` and `enum` hold data, and `$ref` is not followed.
//! 2. A valid one is a non-empty token, unique without case, on a property whose `type` is the single string
//!    `string`, `integer` or `boolean`, and reached from the root through `properties` alone.
//! 3. One invalid annotation makes the whole schema declare nothing: [`Invalid`] says which and why.
//!
//! A schema is read once into [`Declared`], which is cheap to check a call against.
//!
//! ```
//! use mcp_attune_wire::schema::{Declared, Primitive};
//!
//! let schema = r#"{"type":"object","properties":{
//!     "region":{"type":"string","x-mcp-header":"Region"},
//!     "query":{"type":"string"}}}"#;
//! let declared = Declared::read(schema.as_bytes())?;
//! let region = declared.iter().next().unwrap();
//! assert_eq!((region.header(), region.kind()), ("Mcp-Param-Region", Primitive::String));
//! assert_eq!(region.path().collect::<Vec<_>>(), ["region"]);
//! # Ok::<(), mcp_attune_wire::schema::Invalid>(())
//! ```
//!
//! Rules: H5, H18.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::header::{PARAM_PREFIX, is_token, order_of_names};
use crate::json::{Span, Text, Type, Value};
use crate::message::{Message, Unreadable};
use crate::scan::fold::{self, Found, KnownName};
use crate::scan::{Name, Scanner};

/// The annotation.
pub const ANNOTATION: &str = "x-mcp-header";

/// How many headers one tool may declare: more than any HTTP server would accept on a request.
pub const MAX_DECLARED: usize = 1024;

/// Up to this many declarations are looked at one by one.
const FEW: usize = 8;

/// The types that may be mirrored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Primitive {
    /// `"type": "string"`
    String,
    /// `"type": "integer"`
    Integer,
    /// `"type": "boolean"`
    Boolean,
}

/// One argument that travels in a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    header: String,
    path: Vec<String>,
    kind: Primitive,
}

impl Declaration {
    /// The whole header name: `Mcp-Param-Region`.
    #[must_use]
    pub fn header(&self) -> &str {
        &self.header
    }

    /// The header name without its prefix: `Region`.
    #[must_use]
    pub fn token(&self) -> &str {
        self.header.get(PARAM_PREFIX.len()..).unwrap_or_default()
    }

    /// The property names that lead from `arguments` to the argument.
    pub fn path(&self) -> impl Iterator<Item = &str> {
        self.path.iter().map(String::as_str)
    }

    /// The type that the schema gives it.
    #[must_use]
    pub fn kind(&self) -> Primitive {
        self.kind
    }
}

/// What a tool's schema declares, ready to check calls against.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Declared {
    /// In the order of their header names, case ignored.
    declarations: Vec<Declaration>,
    root: Node,
}

/// One level of property names that lead to a declaration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Node {
    declaration: Option<usize>,
    /// In the order of the lengths of their names, then of the names: most names differ in length already.
    children: Vec<(KnownName, Node)>,
    /// Whether a declaration stands deeper than among the children.
    nested: bool,
    /// Whether the names of the children are all ASCII, and no two of them equal but for their case.
    names_are_simple: bool,
}

impl Declared {
    /// Reads a tool's `inputSchema`.
    ///
    /// # Errors
    ///
    /// [`Invalid`] for the first annotation that breaks a rule, or where the text is no readable JSON.
    pub fn read(schema: &[u8]) -> Result<Self, Invalid> {
        let mut walk = Walk { declarations: Vec::new(), place: Vec::new() };
        let mut scanner = Scanner::new(schema)?;
        scanner.peek()?;
        let mut wrong = None;
        walk.schema(&mut scanner, Some(0), &mut wrong)?;
        scanner.finish()?;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        Self::compile(walk.declarations)
    }

    fn compile(mut declarations: Vec<Declaration>) -> Result<Self, Invalid> {
        declarations.sort_by(|one, other| order_of_names(&one.header, &other.header));
        for pair in declarations.windows(2) {
            if let [one, other] = pair
                && one.header.eq_ignore_ascii_case(&other.header)
            {
                return Err(Invalid { at: shown(other.path()), why: Why::Repeated });
            }
        }
        let mut root = Node { names_are_simple: true, ..Node::default() };
        for (index, declaration) in declarations.iter().enumerate() {
            let mut node = &mut root;
            for (depth, name) in declaration.path.iter().enumerate() {
                node.nested |= depth + 1 < declaration.path.len();
                let place = match node.find(name) {
                    Ok(place) => place,
                    Err(place) => {
                        let is_like = |(child, _): &(KnownName, _)| child.as_str().eq_ignore_ascii_case(name);
                        node.names_are_simple &= name.is_ascii() && !node.children.iter().any(is_like);
                        node.children.insert(
                            place,
                            (KnownName::new(name), Node { names_are_simple: true, ..Node::default() }),
                        );
                        place
                    }
                };
                let Some((_, child)) = node.children.get_mut(place) else {
                    break;
                };
                node = child;
            }
            node.declaration = Some(index);
        }
        Ok(Self { declarations, root })
    }

    /// The declarations, in the order of their header names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Declaration> {
        self.declarations.iter()
    }

    /// Whether no argument travels in a header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.declarations.is_empty()
    }

    /// The place in [`iter`](Self::iter) of the declaration for what follows `Mcp-Param-`, case ignored.
    pub(crate) fn find(&self, token: &str) -> Option<usize> {
        // Among a few the lengths tell most apart, which is quicker than going by their order.
        if self.declarations.len() <= FEW {
            let same = |declaration: &Declaration| declaration.token().eq_ignore_ascii_case(token);
            return self.declarations.iter().position(same);
        }
        self.declarations.binary_search_by(|declaration| order_of_names(declaration.token(), token)).ok()
    }

    /// The value of each declaration in a call, in the order of [`iter`](Self::iter). One walk over the
    /// arguments, whatever the number of declarations.
    pub(crate) fn values<'a>(&self, message: &Message<'a>) -> Vec<Option<Value<'a>>> {
        let mut values = alloc::vec![None; self.declarations.len()];
        self.root.collect(message.arguments(), &mut values);
        values
    }

    /// Refuses names that a parser which ignores case would take for others, in `arguments` and in each object that leads
    /// to a declaration. Other objects are the tool's own.
    ///
    /// Rules: H18.
    pub(crate) fn check_case(&self, message: &Message<'_>) -> Result<(), Unreadable> {
        self.root.check_names(message.argument_names())?;
        if self.root.nested { self.root.check_inside(message.arguments()) } else { Ok(()) }
    }
}

impl Node {
    fn find(&self, name: &str) -> Result<usize, usize> {
        let order = |child: &str| child.len().cmp(&name.len()).then_with(|| child.cmp(name));
        self.children.binary_search_by(|(child, _)| order(child.as_str()))
    }

    fn child(&self, name: Text<'_>) -> Option<&Self> {
        // Half a surrogate pair is no character, so no schema has named it.
        let place = self.find(&name.decode()?).ok()?;
        self.children.get(place).map(|(_, node)| node)
    }

    fn check_names<'a>(&self, names: impl Iterator<Item = Found<'a>> + Clone) -> Result<(), Unreadable> {
        let known = self.children.iter().map(|(name, _)| name);
        if !self.names_are_simple {
            return fold::check_folded(names, &known);
        }
        // Among a few the marks tell most apart, which is quicker than going by their order.
        if self.children.len() <= FEW {
            return fold::check(names, &known, |found| known.clone().any(|known| known.is(found)));
        }
        fold::check(names, &known, |found| self.child(found.text()).is_some())
    }

    /// Checks the objects behind these members, as far as they lead to a declaration. Bounded as `collect` is.
    #[cold]
    fn check_inside<'a>(
        &self,
        members: impl Iterator<Item = (Text<'a>, Value<'a>)>,
    ) -> Result<(), Unreadable> {
        for (name, value) in members {
            let Some(node) = self.child(name).filter(|node| !node.children.is_empty()) else { continue };
            let mut members = value.members();
            let names: Vec<_> = core::iter::from_fn(|| members.entry())
                .map(|(at, name, _)| Found::at(at + 1, name))
                .collect();
            node.check_names(names.iter().copied())?;
            if node.nested {
                node.check_nested(value)?;
            }
        }
        Ok(())
    }

    fn check_nested(&self, value: Value<'_>) -> Result<(), Unreadable> {
        self.check_inside(value.members())
    }

    /// A schema nests at most as deep as the scanner reads, so this recursion is bounded.
    fn collect<'a>(
        &self,
        members: impl Iterator<Item = (Text<'a>, Value<'a>)>,
        values: &mut [Option<Value<'a>>],
    ) {
        for (name, value) in members {
            let Some(node) = self.child(name) else { continue };
            if let Some(slot) = node.declaration.and_then(|index| values.get_mut(index)) {
                *slot = Some(value);
            }
            if !node.children.is_empty() && value.kind() == Type::Object {
                node.collect_nested(value, values);
            }
        }
    }

    fn collect_nested<'a>(&self, value: Value<'a>, values: &mut [Option<Value<'a>>]) {
        self.collect(value.members(), values);
    }
}

/// Why a schema declares nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invalid {
    /// The place of the annotation in the schema, shortened where it is long.
    pub at: String,
    /// What is wrong with it.
    pub why: Why,
}

/// What is wrong with an annotation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Why {
    /// The schema is no readable JSON.
    Unreadable(Unreadable),
    /// Not a string: `"x-mcp-header": 7`.
    NotText,
    /// Empty, or no token: `"x-mcp-header": "My Region"`.
    NotToken,
    /// On a property whose `type` is not the single string `string`, `integer` or `boolean`.
    Type,
    /// Not reached from the root through `properties` alone, or on the root itself.
    Unreachable,
    /// The same header, case ignored, on another property.
    Repeated,
    /// More than 1,024 of them.
    TooMany,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = &self.at;
        match self.why {
            Why::Unreadable(unreadable) => write!(f, "the schema cannot be read: {unreadable}"),
            Why::NotText => write!(f, "x-mcp-header at {at} is not a string"),
            Why::NotToken => {
                write!(f, "x-mcp-header at {at} is not a header token: use letters, digits, - and _")
            }
            Why::Type => write!(
                f,
                "x-mcp-header at {at} stands on a property whose type is not just string, integer or boolean"
            ),
            Why::Unreachable => {
                write!(f, "x-mcp-header at {at} is not reached from the root through properties alone")
            }
            Why::Repeated => write!(f, "x-mcp-header at {at} names a header that another property names too"),
            Why::TooMany => write!(f, "the schema has more than {MAX_DECLARED} x-mcp-header annotations"),
        }
    }
}

impl core::error::Error for Invalid {}

impl From<Unreadable> for Invalid {
    fn from(unreadable: Unreadable) -> Self {
        Self { at: String::new(), why: Why::Unreadable(unreadable) }
    }
}

/// The walk over schema positions: in one pass, while the scanner checks the text.
struct Walk<'a> {
    declarations: Vec<Declaration>,
    /// The keys from the root to here.
    place: Vec<Text<'a>>,
}

/// What the value of a keyword holds.
enum Holds {
    Properties,
    Schema,
    List,
    Map,
    Data,
}

fn holds(keyword: Text<'_>) -> Holds {
    match keyword.decode().as_deref() {
        Some("properties") => Holds::Properties,
        Some(
            "items"
            | "contains"
            | "unevaluatedItems"
            | "additionalProperties"
            | "propertyNames"
            | "unevaluatedProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contentSchema",
        ) => Holds::Schema,
        Some("allOf" | "anyOf" | "oneOf" | "prefixItems") => Holds::List,
        Some("patternProperties" | "dependentSchemas" | "$defs" | "definitions") => Holds::Map,
        _ => Holds::Data,
    }
}

type Step<T = ()> = Result<T, Unreadable>;

impl<'a> Walk<'a> {
    /// Reads one schema position. `reached` counts the properties that lead here, `None` where anything
    /// else does. What is wrong goes into `wrong`, once; reading goes on so that bad JSON is still found.
    fn schema(
        &mut self,
        scanner: &mut Scanner<'a>,
        reached: Option<usize>,
        wrong: &mut Option<Invalid>,
    ) -> Step {
        if scanner.peek()? != b'{' {
            scanner.value()?;
            return Ok(());
        }
        let (mut annotation, mut kind) = (None, None);
        scanner.object(&mut |scanner, name| {
            let keyword = name.text(scanner.text());
            let first = scanner.peek()?;
            match (holds(keyword), first) {
                (Holds::Properties, b'{') => {
                    let reached = reached.map(|count| count + 1);
                    self.each(scanner, keyword, reached, wrong)?;
                }
                (Holds::Map, b'{') => self.each(scanner, keyword, None, wrong)?,
                (Holds::List, b'[') => {
                    self.place.push(keyword);
                    scanner.array(|scanner| {
                        scanner.peek()?;
                        self.schema(scanner, None, wrong)
                    })?;
                    self.place.pop();
                }
                (Holds::Schema, b'{') => {
                    self.place.push(keyword);
                    self.schema(scanner, None, wrong)?;
                    self.place.pop();
                }
                _ => {
                    let value = scanner.value()?;
                    if keyword.is(ANNOTATION) {
                        annotation = Some(value);
                    } else if keyword.is("type") {
                        kind = Some(value);
                    }
                }
            }
            Ok(())
        })?;
        if let (Some(annotation), None) = (annotation, &wrong)
            && let Err(why) = self.declare(scanner.text(), annotation, kind, reached)
        {
            let names = self.place.iter().map(|name| name.as_written());
            *wrong = Some(Invalid { at: shown(names), why });
        }
        Ok(())
    }

    /// Reads an object whose every value is a schema.
    fn each(
        &mut self,
        scanner: &mut Scanner<'a>,
        keyword: Text<'a>,
        reached: Option<usize>,
        wrong: &mut Option<Invalid>,
    ) -> Step {
        self.place.push(keyword);
        scanner.object(&mut |scanner, name: Name| {
            self.place.push(name.text(scanner.text()));
            self.schema(scanner, reached, wrong)?;
            self.place.pop();
            Ok(())
        })?;
        self.place.pop();
        Ok(())
    }

    fn declare(
        &mut self,
        text: &'a str,
        annotation: Span,
        kind: Option<Span>,
        reached: Option<usize>,
    ) -> Result<(), Why> {
        if self.declarations.len() >= MAX_DECLARED {
            return Err(Why::TooMany);
        }
        if reached.is_none_or(|count| count == 0) {
            return Err(Why::Unreachable);
        }
        let token = Value::new(text, annotation).text().ok_or(Why::NotText)?;
        let token = token.decode().filter(|token| is_token(token)).ok_or(Why::NotToken)?;
        let kind = kind.and_then(|kind| Value::new(text, kind).text()).ok_or(Why::Type)?;
        let kind = match kind.decode().as_deref() {
            Some("string") => Primitive::String,
            Some("integer") => Primitive::Integer,
            Some("boolean") => Primitive::Boolean,
            _ => return Err(Why::Type),
        };
        // Every second key is the keyword `properties`.
        let names = self.place.iter().skip(1).step_by(2);
        let path = names.map(|name| name.decode().map(Into::into)).collect::<Option<Vec<String>>>();
        let path = path.ok_or(Why::Unreachable)?;
        self.declarations.push(Declaration { header: [PARAM_PREFIX, &token].concat(), path, kind });
        Ok(())
    }
}

/// A path for messages: its names joined with dots, the middle left out where it is long.
pub(crate) fn shown<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const MOST: usize = 120;
    let mut path = String::new();
    for name in names {
        if !path.is_empty() {
            path.push('.');
        }
        for char in name.chars() {
            if path.len() >= MOST {
                path.push('…');
                return path;
            }
            path.push(if char.is_control() { '\u{fffd}' } else { char });
        }
    }
    if path.is_empty() {
        path.push_str("the root");
    }
    path
}
