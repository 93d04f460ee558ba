//! A tool listing, as far as it is needed later: which tools declare headers, and what their results are like.
//!
//! Rules: F13, H5, H10, H11.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, OnceLock};

use mcp_attune_wire::header::{METHOD, NAME};
use mcp_attune_wire::json::{Type, Value};
use mcp_attune_wire::message::{Kind, Message, meta};
use mcp_attune_wire::protocol::code::INTERNAL_ERROR;
use mcp_attune_wire::protocol::method::TOOLS_LIST;
use mcp_attune_wire::schema::{Declaration, Declared};

use super::headers::HeaderChange;
use super::notice::Notice;
use crate::bind::Bindings;
use crate::shape::{ListedTool, Output, Schema, has_view};

/// Our own request's id. It never meets an id of the caller's: each is an exchange of its own.
const ID: &str = "attune-schemas";

/// What of a listing is of interest.
#[derive(Clone, Copy, Debug)]
pub struct Interest<'a> {
    /// What callers are shown is made with these.
    pub bindings: &'a Bindings,
    /// Whether the schemas of results are needed, because answers are shaped.
    pub outputs: bool,
}

/// The tools of a listing that declare headers, and the schemas of results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    tools: HashMap<String, Tool>,
    /// The same tools by their names regardless of case: a server may take another spelling for one of them.
    folded: HashMap<String, String>,
    /// All names that are listed, as hashes: one of them means the tool of that very name.
    names: HashSet<u64>,
    outputs: HashMap<String, Arc<Kept>>,
    /// The names of tools that have a view, as hashes.
    views: HashSet<u64>,
    weight: usize,
}

/// The schema of a tool's results, read when it is first needed.
#[derive(Debug)]
struct Kept {
    written: Box<str>,
    read: OnceLock<Option<Arc<Output>>>,
}

impl Kept {
    /// Of a schema that cannot be used, nothing is known.
    fn schema(&self) -> Schema {
        let read = self.read.get_or_init(|| Output::read(&self.written).map(Arc::new));
        read.clone().map_or(Schema::Unknown, Schema::Known)
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Kept {}

/// What one tool declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// To whoever calls the server: what the onward leg mirrors.
    pub(super) own: Arc<Declared>,
    /// To callers, where they are shown another schema than the server's.
    shown: Option<Arc<Declared>>,
}

impl Tool {
    /// What callers are checked against.
    pub(super) fn shown(&self) -> &Arc<Declared> {
        self.shown.as_ref().unwrap_or(&self.own)
    }
}

impl Listing {
    /// What a tool declares; none where it is not listed or declares nothing, which come to the same. A name that is not
    /// listed stands for one that differs from it in case only.
    pub(super) fn declared(&self, tool: &str) -> Option<Tool> {
        if self.tools.is_empty() {
            return None;
        }
        let exactly = self.tools.get(tool);
        let alike = || self.folded.get(&folded(tool)).and_then(|name| self.tools.get(name));
        exactly.or_else(|| alike().filter(|_| !self.names.contains(&hash_of_name(tool)))).cloned()
    }

    /// The tools that declare headers.
    pub fn declaring(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// What the results of a tool are like, and whether a view is drawn from them.
    pub fn tool(&self, tool: &str) -> ListedTool {
        let output = self.outputs.get(tool).map_or(Schema::None, |kept| kept.schema());
        let name = hash_of_name(tool);
        let view = self.names.contains(&name).then(|| self.views.contains(&name));
        ListedTool { output, view }
    }

    /// About how many bytes it takes, rather too many than too few.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Adds the tools of a page.
    pub fn add(&mut self, page: &Page) {
        // Counted here, once: every new listing asks all others for their weight.
        self.weight += page.tools.iter().map(|(name, tool)| weight(name, tool)).sum::<usize>();
        // A schema that is read takes a multiple of what is written.
        self.weight +=
            page.outputs.iter().map(|(name, kept)| name.len() + 8 * kept.written.len()).sum::<usize>();
        self.weight += (page.names.len() + page.views.len()) * size_of::<u64>() * 2;
        self.views.extend(page.views.iter().copied());
        self.names.extend(page.names.iter().copied());
        self.folded.extend(page.tools.iter().map(|(name, _)| (folded(name), name.clone())));
        self.tools.extend(page.tools.iter().cloned());
        self.outputs.extend(page.outputs.iter().cloned());
    }
}

/// A name regardless of its case and of the white space around it.
fn folded(name: &str) -> String {
    name.trim().chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// A tool's name, as short as all names are.
pub fn hash_of_name(tool: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(tool)
}

/// What a tool takes. Measured with one declaration it was some 820 bytes and its texts: lists have room for four.
fn weight(name: &str, tool: &Tool) -> usize {
    const TOOL: usize = 256;
    const DECLARATION: usize = 576;
    let texts = |one: &Declaration| one.header().len() + one.path().map(str::len).sum::<usize>();
    let declared = [Some(&tool.own), tool.shown.as_ref()].into_iter().flatten().flat_map(|all| all.iter());
    TOOL + 3 * name.len() + declared.map(|one| DECLARATION + texts(one)).sum::<usize>()
}

/// One page of a listing.
#[derive(Debug, Default)]
pub struct Page {
    tools: Vec<(String, Tool)>,
    /// All names, as hashes.
    names: Vec<u64>,
    outputs: Vec<(String, Arc<Kept>)>,
    /// The names of tools that have a view, as hashes.
    views: Vec<u64>,
    /// What a host may want to log.
    pub notices: Vec<Notice>,
    /// Where the next page begins, as written.
    pub next: Option<String>,
    /// Whether every caller gets the same.
    pub public: bool,
}

impl Page {
    /// Reads the answer to a `tools/list`; `None` where it is no such answer. `each` is told the names of all tools.
    #[must_use]
    pub fn read(message: &Message<'_>, interest: Interest<'_>, mut each: impl FnMut(&str)) -> Option<Self> {
        let bindings = interest.bindings;
        let result = message.member("result").filter(|_| message.kind() == Kind::Answer)?;
        let listed = result.member("tools").filter(|tools| tools.kind() == Type::Array)?;
        let mut page = Self::default();
        for (name, schema) in listed.elements().filter_map(named) {
            page.names.push(hash_of_name(&name));
            each(&name);
            if bindings.binds(&name) {
                continue;
            }
            match Declared::read(schema.raw().as_bytes()) {
                Ok(declared) if declared.is_empty() => {}
                Ok(declared) => {
                    page.tools.push((name.into_owned(), Tool { own: Arc::new(declared), shown: None }));
                }
                Err(why) => page.notices.push(not_declared(&name, &why)),
            }
        }
        if !bindings.is_empty() {
            let bound = bound(message, bindings, &mut page.notices);
            page.tools.extend(bound);
        }
        let shaped = || listed.elements().filter(|_| interest.outputs);
        page.outputs = shaped().filter_map(output).collect();
        let views = shaped().filter(|tool| has_view(*tool)).filter_map(named);
        page.views = views.map(|(name, _)| hash_of_name(&name)).collect();
        let next = result.member("nextCursor").filter(|cursor| cursor.kind() == Type::String);
        page.next = next.map(|cursor| cursor.raw().to_owned());
        let scope = result.member("cacheScope").and_then(Value::text);
        page.public = scope.is_some_and(|scope| scope.is("public"));
        Some(page)
    }
}

fn not_declared(tool: &str, why: &dyn core::fmt::Display) -> Notice {
    Notice::NoHeadersDeclared { tool: tool.to_owned(), why: why.to_string() }
}

/// The names of the tools on a page.
pub fn names(page: &Message<'_>, mut each: impl FnMut(&str)) {
    let tools = page.member("result").and_then(|result| result.member("tools"));
    for (name, _) in tools.into_iter().flat_map(Value::elements).filter_map(named) {
        each(&name);
    }
}

/// The name of a listed tool, and its schema.
fn named<'a>(tool: Value<'a>) -> Option<(Cow<'a, str>, Value<'a>)> {
    Some((tool.member("name")?.text()?.decode()?, tool.member("inputSchema")?))
}

/// The name of a listed tool, and the schema of its results.
fn output(tool: Value<'_>) -> Option<(String, Arc<Kept>)> {
    let written = tool.member("outputSchema").filter(|schema| schema.kind() == Type::Object)?.raw().into();
    Some((named(tool)?.0.into_owned(), Arc::new(Kept { written, read: OnceLock::new() })))
}

/// The bound tools of a listing: what they declare to the server's callers, and to ours.
fn bound(answer: &Message<'_>, bindings: &Bindings, notices: &mut Vec<Notice>) -> Vec<(String, Tool)> {
    let edits = bindings.show(answer);
    let edits: Vec<_> = edits.iter().map(|(place, text)| (*place, text.as_str())).collect();
    let Ok(shown) = answer.splice(&edits) else { return Vec::new() };
    let Ok(shown) = Message::parse(shown.as_bytes()) else { return Vec::new() };
    let mut tools = |answer: &Message<'_>| {
        let listed = answer.member("result").and_then(|result| result.member("tools"));
        let bound = listed.into_iter().flat_map(Value::elements).filter_map(named);
        let bound = bound.filter(|(name, _)| bindings.binds(name));
        let read = |(name, schema): (Cow<'_, str>, Value<'_>)| {
            let declared = Declared::read(schema.raw().as_bytes()).unwrap_or_else(|why| {
                notices.push(not_declared(&name, &why));
                Declared::default()
            });
            (name.into_owned(), Arc::new(declared))
        };
        bound.map(read).collect::<Vec<_>>()
    };
    let (own, shown) = (tools(answer), tools(&shown));
    let both = own.into_iter().zip(shown);
    let both = both.map(|((name, own), (_, shown))| (name, Tool { own, shown: Some(shown) }));
    both.filter(|(_, tool)| !tool.own.is_empty() || !tool.shown().is_empty()).collect()
}

/// The envelope of a caller, without their progress token and their context.
#[derive(Debug, Default)]
pub struct Envelope(String);

impl Envelope {
    pub(super) fn of(message: &Message<'_>) -> Self {
        let mut envelope = String::new();
        for (name, value) in message.param("_meta").into_iter().flat_map(Value::members) {
            if !name.is("progressToken") && !name.is(meta::CLIENT_CONTEXT) {
                let comma = if envelope.is_empty() { "" } else { "," };
                envelope += &format!("{comma}\"{}\":{}", name.as_written(), value.raw());
            }
        }
        Self(envelope)
    }

    /// The body of a `tools/list` in the name of that caller.
    #[must_use]
    pub fn request(&self, cursor: Option<&str>) -> String {
        let Self(envelope) = self;
        let cursor = cursor.map(|cursor| format!(",\"cursor\":{cursor}")).unwrap_or_default();
        format!(
            r#"{{"jsonrpc":"2.0","id":"{ID}","method":"{TOOLS_LIST}","params":{{"_meta":{{{envelope}}}{cursor}}}}}"#
        )
    }
}

/// Whether an answer says that something went wrong inside the server, which may be over in a moment.
#[must_use]
pub fn is_internal_error(answer: &Message<'_>) -> bool {
    let code = answer.member("error").and_then(|error| error.member("code"));
    code.is_some_and(|code| code.raw().parse() == Ok(INTERNAL_ERROR))
}

/// What changes in the headers of a caller for a `tools/list` in their name: their credentials, our routing.
#[must_use]
pub fn headers() -> Vec<HeaderChange> {
    let mut changes: Vec<_> =
        [NAME, "content-length", "transfer-encoding", "expect"].map(HeaderChange::remove).into();
    changes.push(HeaderChange::RemoveParams);
    changes.push(HeaderChange::set(METHOD, TOOLS_LIST));
    changes.push(super::forward::identity());
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &[u8]) -> Option<Page> {
        let interest = Interest { bindings: &Bindings::default(), outputs: true };
        Page::read(&Message::parse(answer).ok()?, interest, |_| {})
    }

    #[test]
    fn reads_the_tools_that_declare_headers() {
        let answer =
            br#"{"jsonrpc":"2.0","id":1,"result":{"cacheScope":"public","nextCursor":"a\"b","tools":[
            {"name":"plain","inputSchema":{}},
            {"name":"bad","inputSchema":{"properties":{"a":{"x-mcp-header":"A"}}}},
            {"name":"g\u00f6t","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}},
            {"inputSchema":{}}, 7]}}"#;
        let page = read(answer).unwrap();
        assert_eq!(page.tools.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["göt"]);
        assert_eq!((page.next.as_deref(), page.public), (Some("\"a\\\"b\""), true));
    }

    #[test]
    fn what_is_no_listing_is_none() {
        for answer in [
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":7}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            "[]",
            "",
        ] {
            assert!(read(answer.as_bytes()).is_none(), "{answer}");
        }
    }

    #[test]
    fn asks_with_the_callers_envelope_but_not_their_progress_token_or_context() {
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{
            "io.modelcontextprotocol/clientContext":{"locale":"de"},"progressToken":7,"a\u0062":{"c" : 1.0},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let message = Message::parse(body).unwrap();
        let asked = Envelope::of(&message).request(Some("\"x\""));
        assert_eq!(
            asked,
            r#"{"jsonrpc":"2.0","id":"attune-schemas","method":"tools/list","params":{"_meta":{"a\u0062":{"c" : 1.0},"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"cursor":"x"}}"#
        );
        assert!(Message::parse(asked.as_bytes()).is_ok());
    }
}
