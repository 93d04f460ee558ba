//! Which arguments of a tool travel in headers: `x-mcp-header` in its `inputSchema`.
//!
//! 1. Annotations are looked for in every schema position of JSON Schema 2020-12; `default`, `examples`,
//!    `const` and `enum` hold data, and `$ref` is not followed.
//! 2. A valid one is a non-empty token, unique without case, on a property whose `type` is the single string
//!    `string`, `integer` or `boolean`, and reached from the root through `properties` alone.
//! 3. One invalid annotation makes the whole schema declare nothing: [`HeaderDeclarationError`] says which and why.
//!
//! A schema is read once into [`DeclaredHeaders`], which is cheap to check a call against.
//!
//! ```
//! use mcp_attune_wire::schema::{DeclaredHeaders, DeclaredType};
//!
//! let schema = r#"{"type":"object","properties":{
//!     "region":{"type":"string","x-mcp-header":"Region"},
//!     "query":{"type":"string"}}}"#;
//! let declared = DeclaredHeaders::read(schema.as_bytes())?;
//! let region = declared.iter().next().unwrap();
//! assert_eq!((region.header(), region.kind()), ("Mcp-Param-Region", DeclaredType::String));
//! assert_eq!(region.path().collect::<Vec<_>>(), ["region"]);
//! # Ok::<(), mcp_attune_wire::schema::HeaderDeclarationError>(())
//! ```
//!
//! Rules: H5, H18.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::header::{PARAM_PREFIX, cmp_header_names, is_token};
use crate::json::{ByteSpan, JsonKind, JsonString, SpannedValue};
use crate::message::{JsonParseError, Message};
use crate::scan::case_fold::{self, KnownName, LocatedName};
use crate::scan::{ScannedName, Scanner};

/// The annotation.
pub const ANNOTATION: &str = "x-mcp-header";

/// How many headers one tool may declare: more than any HTTP server would accept on a request.
pub const MAX_DECLARED: usize = 1024;

/// Up to this many declarations are looked at one by one.
const MAX_LINEAR_DECLARATIONS: usize = 8;

/// The types that may be mirrored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeclaredType {
    /// `"type": "string"`
    String,
    /// `"type": "integer"`
    Integer,
    /// `"type": "boolean"`
    Boolean,
}

/// One argument that travels in a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderDeclaration {
    header: String,
    path: Vec<String>,
    kind: DeclaredType,
}

impl HeaderDeclaration {
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
    pub fn kind(&self) -> DeclaredType {
        self.kind
    }
}

/// What a tool's schema declares, ready to check calls against.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeclaredHeaders {
    /// In the order of their header names, case ignored.
    declarations: Vec<HeaderDeclaration>,
    root: DeclarationNode,
}

/// One level of property names that lead to a declaration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct DeclarationNode {
    declaration: Option<usize>,
    /// In the order of the lengths of their names, then of the names: most names differ in length already.
    children: Vec<(KnownName, DeclarationNode)>,
    /// Whether a declaration stands deeper than among the children.
    nested: bool,
    /// Whether the names of the children are all ASCII, and no two of them equal but for their case.
    names_are_simple: bool,
}

impl DeclaredHeaders {
    /// Reads a tool's `inputSchema`.
    ///
    /// # Errors
    ///
    /// [`HeaderDeclarationError`] for the first annotation that breaks a rule, or where the text is no readable JSON.
    pub fn read(schema: &[u8]) -> Result<Self, HeaderDeclarationError> {
        let mut walk = DeclarationCollector { declarations: Vec::new(), place: Vec::new() };
        let mut scanner = Scanner::new(schema)?;
        scanner.peek()?;
        let mut wrong = None;
        walk.read_schema(&mut scanner, Some(0), &mut wrong)?;
        scanner.expect_end()?;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        Self::compile(walk.declarations)
    }

    fn compile(mut declarations: Vec<HeaderDeclaration>) -> Result<Self, HeaderDeclarationError> {
        declarations.sort_by(|one, other| cmp_header_names(&one.header, &other.header));
        for pair in declarations.windows(2) {
            if let [one, other] = pair
                && one.header.eq_ignore_ascii_case(&other.header)
            {
                return Err(HeaderDeclarationError {
                    at: display_property_path(other.path()),
                    why: HeaderDeclarationFault::Repeated,
                });
            }
        }
        let mut root = DeclarationNode { names_are_simple: true, ..DeclarationNode::default() };
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
                            (
                                KnownName::new(name),
                                DeclarationNode { names_are_simple: true, ..DeclarationNode::default() },
                            ),
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
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &HeaderDeclaration> {
        self.declarations.iter()
    }

    /// Whether no argument travels in a header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.declarations.is_empty()
    }

    /// The place in [`iter`](Self::iter) of the declaration for what follows `Mcp-Param-`, case ignored.
    pub(crate) fn declaration_position(&self, token: &str) -> Option<usize> {
        // Among a few the lengths tell most apart, which is quicker than going by their order.
        if self.declarations.len() <= MAX_LINEAR_DECLARATIONS {
            let same = |declaration: &HeaderDeclaration| declaration.token().eq_ignore_ascii_case(token);
            return self.declarations.iter().position(same);
        }
        self.declarations.binary_search_by(|declaration| cmp_header_names(declaration.token(), token)).ok()
    }

    /// The value of each declaration in a call, in the order of [`iter`](Self::iter). One walk over the
    /// arguments, whatever the number of declarations.
    pub(crate) fn argument_values<'a>(&self, message: &Message<'a>) -> Vec<Option<SpannedValue<'a>>> {
        let mut values = alloc::vec![None; self.declarations.len()];
        self.root.collect(message.arguments(), &mut values);
        values
    }

    /// Refuses names that a parser which ignores case would take for others, in `arguments` and in each object that leads
    /// to a declaration. Other objects are the tool's own.
    ///
    /// Rules: H18.
    pub(crate) fn check_case(&self, message: &Message<'_>) -> Result<(), JsonParseError> {
        self.root.check_names(message.argument_names())?;
        if self.root.nested { self.root.check_inside(message.arguments()) } else { Ok(()) }
    }
}

impl DeclarationNode {
    fn find(&self, name: &str) -> Result<usize, usize> {
        let order = |child: &str| child.len().cmp(&name.len()).then_with(|| child.cmp(name));
        self.children.binary_search_by(|(child, _)| order(child.as_str()))
    }

    fn child(&self, name: JsonString<'_>) -> Option<&Self> {
        // Half a surrogate pair is no character, so no schema has named it.
        let place = self.find(&name.decode()?).ok()?;
        self.children.get(place).map(|(_, node)| node)
    }

    fn check_names<'a>(
        &self,
        names: impl Iterator<Item = LocatedName<'a>> + Clone,
    ) -> Result<(), JsonParseError> {
        let known = self.children.iter().map(|(name, _)| name);
        if !self.names_are_simple {
            return case_fold::check_folded(names, &known);
        }
        // Among a few the marks tell most apart, which is quicker than going by their order.
        if self.children.len() <= MAX_LINEAR_DECLARATIONS {
            return case_fold::check(names, &known, |found| known.clone().any(|known| known.is(found)));
        }
        case_fold::check(names, &known, |found| self.child(found.text()).is_some())
    }

    /// Checks the objects behind these members, as far as they lead to a declaration. Bounded as `collect` is.
    #[cold]
    fn check_inside<'a>(
        &self,
        members: impl Iterator<Item = (JsonString<'a>, SpannedValue<'a>)>,
    ) -> Result<(), JsonParseError> {
        for (name, value) in members {
            let Some(node) = self.child(name).filter(|node| !node.children.is_empty()) else { continue };
            let mut members = value.members();
            let names: Vec<_> = core::iter::from_fn(|| members.next_entry())
                .map(|(at, name, _)| LocatedName::at_offset(at + 1, name))
                .collect();
            node.check_names(names.iter().copied())?;
            if node.nested {
                node.check_nested(value)?;
            }
        }
        Ok(())
    }

    fn check_nested(&self, value: SpannedValue<'_>) -> Result<(), JsonParseError> {
        self.check_inside(value.members())
    }

    /// A schema nests at most as deep as the scanner reads, so this recursion is bounded.
    fn collect<'a>(
        &self,
        members: impl Iterator<Item = (JsonString<'a>, SpannedValue<'a>)>,
        values: &mut [Option<SpannedValue<'a>>],
    ) {
        for (name, value) in members {
            let Some(node) = self.child(name) else { continue };
            if let Some(slot) = node.declaration.and_then(|index| values.get_mut(index)) {
                *slot = Some(value);
            }
            if !node.children.is_empty() && value.kind() == JsonKind::Object {
                node.collect_nested(value, values);
            }
        }
    }

    fn collect_nested<'a>(&self, value: SpannedValue<'a>, values: &mut [Option<SpannedValue<'a>>]) {
        self.collect(value.members(), values);
    }
}

/// Why a schema declares nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderDeclarationError {
    /// The place of the annotation in the schema, shortened where it is long.
    pub at: String,
    /// What is wrong with it.
    pub why: HeaderDeclarationFault,
}

/// What is wrong with an annotation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum HeaderDeclarationFault {
    /// The schema is no readable JSON.
    Unreadable(JsonParseError),
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

impl fmt::Display for HeaderDeclarationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = &self.at;
        match self.why {
            HeaderDeclarationFault::Unreadable(unreadable) => {
                write!(f, "the schema cannot be read: {unreadable}")
            }
            HeaderDeclarationFault::NotText => write!(f, "x-mcp-header at {at} is not a string"),
            HeaderDeclarationFault::NotToken => {
                write!(f, "x-mcp-header at {at} is not a header token: use letters, digits, - and _")
            }
            HeaderDeclarationFault::Type => write!(
                f,
                "x-mcp-header at {at} stands on a property whose type is not just string, integer or boolean"
            ),
            HeaderDeclarationFault::Unreachable => {
                write!(f, "x-mcp-header at {at} is not reached from the root through properties alone")
            }
            HeaderDeclarationFault::Repeated => {
                write!(f, "x-mcp-header at {at} names a header that another property names too")
            }
            HeaderDeclarationFault::TooMany => {
                write!(f, "the schema has more than {MAX_DECLARED} x-mcp-header annotations")
            }
        }
    }
}

impl core::error::Error for HeaderDeclarationError {}

impl From<JsonParseError> for HeaderDeclarationError {
    fn from(unreadable: JsonParseError) -> Self {
        Self { at: String::new(), why: HeaderDeclarationFault::Unreadable(unreadable) }
    }
}

/// The walk over schema positions: in one pass, while the scanner checks the text.
struct DeclarationCollector<'a> {
    declarations: Vec<HeaderDeclaration>,
    /// The keys from the root to here.
    place: Vec<JsonString<'a>>,
}

/// What the value of a keyword holds.
enum KeywordContent {
    Properties,
    Schema,
    List,
    Map,
    Data,
}

fn keyword_content(keyword: JsonString<'_>) -> KeywordContent {
    match keyword.decode().as_deref() {
        Some("properties") => KeywordContent::Properties,
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
        ) => KeywordContent::Schema,
        Some("allOf" | "anyOf" | "oneOf" | "prefixItems") => KeywordContent::List,
        Some("patternProperties" | "dependentSchemas" | "$defs" | "definitions") => KeywordContent::Map,
        _ => KeywordContent::Data,
    }
}

type SchemaScanResult<T = ()> = Result<T, JsonParseError>;

impl<'a> DeclarationCollector<'a> {
    /// Reads one schema position. `reached` counts the properties that lead here, `None` where anything
    /// else does. What is wrong goes into `wrong`, once; reading goes on so that bad JSON is still found.
    fn read_schema(
        &mut self,
        scanner: &mut Scanner<'a>,
        reached: Option<usize>,
        wrong: &mut Option<HeaderDeclarationError>,
    ) -> SchemaScanResult {
        if scanner.peek()? != b'{' {
            scanner.read_value()?;
            return Ok(());
        }
        let (mut annotation, mut kind) = (None, None);
        scanner.read_object(&mut |scanner, name| {
            let keyword = name.text(scanner.text());
            let first = scanner.peek()?;
            match (keyword_content(keyword), first) {
                (KeywordContent::Properties, b'{') => {
                    let reached = reached.map(|count| count + 1);
                    self.read_schema_map(scanner, keyword, reached, wrong)?;
                }
                (KeywordContent::Map, b'{') => self.read_schema_map(scanner, keyword, None, wrong)?,
                (KeywordContent::List, b'[') => {
                    self.place.push(keyword);
                    scanner.read_array(|scanner| {
                        scanner.peek()?;
                        self.read_schema(scanner, None, wrong)
                    })?;
                    self.place.pop();
                }
                (KeywordContent::Schema, b'{') => {
                    self.place.push(keyword);
                    self.read_schema(scanner, None, wrong)?;
                    self.place.pop();
                }
                _ => {
                    let value = scanner.read_value()?;
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
            *wrong = Some(HeaderDeclarationError { at: display_property_path(names), why });
        }
        Ok(())
    }

    /// Reads an object whose every value is a schema.
    fn read_schema_map(
        &mut self,
        scanner: &mut Scanner<'a>,
        keyword: JsonString<'a>,
        reached: Option<usize>,
        wrong: &mut Option<HeaderDeclarationError>,
    ) -> SchemaScanResult {
        self.place.push(keyword);
        scanner.read_object(&mut |scanner, name: ScannedName| {
            self.place.push(name.text(scanner.text()));
            self.read_schema(scanner, reached, wrong)?;
            self.place.pop();
            Ok(())
        })?;
        self.place.pop();
        Ok(())
    }

    fn declare(
        &mut self,
        text: &'a str,
        annotation: ByteSpan,
        kind: Option<ByteSpan>,
        reached: Option<usize>,
    ) -> Result<(), HeaderDeclarationFault> {
        if self.declarations.len() >= MAX_DECLARED {
            return Err(HeaderDeclarationFault::TooMany);
        }
        if reached.is_none_or(|count| count == 0) {
            return Err(HeaderDeclarationFault::Unreachable);
        }
        let token = SpannedValue::new(text, annotation).text().ok_or(HeaderDeclarationFault::NotText)?;
        let token = token.decode().filter(|token| is_token(token)).ok_or(HeaderDeclarationFault::NotToken)?;
        let kind =
            kind.and_then(|kind| SpannedValue::new(text, kind).text()).ok_or(HeaderDeclarationFault::Type)?;
        let kind = match kind.decode().as_deref() {
            Some("string") => DeclaredType::String,
            Some("integer") => DeclaredType::Integer,
            Some("boolean") => DeclaredType::Boolean,
            _ => return Err(HeaderDeclarationFault::Type),
        };
        // Every second key is the keyword `properties`.
        let names = self.place.iter().skip(1).step_by(2);
        let path = names.map(|name| name.decode().map(Into::into)).collect::<Option<Vec<String>>>();
        let path = path.ok_or(HeaderDeclarationFault::Unreachable)?;
        self.declarations.push(HeaderDeclaration { header: [PARAM_PREFIX, &token].concat(), path, kind });
        Ok(())
    }
}

/// A path for messages: its names joined with dots, the end left out where it is long.
pub(crate) fn display_property_path<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const MAX_PATH_BYTES: usize = 120;
    let mut path = String::new();
    for name in names {
        if !path.is_empty() {
            path.push('.');
        }
        for char in name.chars() {
            if path.len() >= MAX_PATH_BYTES {
                path.push('…');
                return path;
            }
            path.push(crate::text::blank_if_deceptive(char));
        }
    }
    if path.is_empty() {
        path.push_str("the root");
    }
    path
}
