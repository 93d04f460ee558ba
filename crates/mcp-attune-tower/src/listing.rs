//! A tool listing, as far as it is needed later: which tools declare headers, and what their results are like.
//!
//! Rules: F13, H5, H10, H11.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, OnceLock};

use http::header::{self, HeaderMap, HeaderValue};
use mcp_attune::bind::Bindings;
use mcp_attune::shape::{ListedTool, Output, Schema, Supply, has_view};
use mcp_attune_wire::header::{METHOD, NAME, PARAM_PREFIX};
use mcp_attune_wire::json::{Type, Value};
use mcp_attune_wire::message::{Kind, Message, meta};
use mcp_attune_wire::schema::{Declaration, Declared};

use crate::tool_names::ToolNames;

/// Our own request's id. It never meets an id of the caller's: each is an HTTP exchange of its own.
const ID: &str = "attune-schemas";

/// What of a listing is of interest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interest {
    /// What callers are shown is made with these.
    pub(crate) bindings: Arc<Bindings>,
    /// How answers are shaped, for which the schemas of results are.
    pub(crate) content: Option<Arc<dyn Supply>>,
    /// Learns the names of all tools.
    pub(crate) names: Arc<ToolNames>,
}

impl Interest {
    /// Tells what in the configuration does not fit a listing, and returns what of it is about templates. `whole`: these are
    /// all of its pages.
    pub(crate) fn check(&self, pages: &[Message<'_>], whole: bool) -> Vec<String> {
        for finding in self.bindings.check(pages, whole) {
            tracing::warn!("a binding does not fit the server: {finding}");
        }
        let of_templates = self.content.as_ref().map(|supply| supply.content().check(pages, whole));
        let of_templates = of_templates.unwrap_or_default();
        for finding in &of_templates {
            tracing::warn!("a template does not fit the server: {finding}");
        }
        of_templates
    }

    /// Learns the names of the tools on a page.
    pub(crate) fn learn_names(&self, page: &[u8]) {
        let message = Message::parse(page).ok();
        let tools = message.as_ref().and_then(|page| page.member("result")?.member("tools"));
        for (name, _) in tools.into_iter().flat_map(Value::elements).filter_map(named) {
            self.names.learn(&name);
        }
    }

    /// Whether there is anything that may not fit.
    pub(crate) fn checks(&self) -> bool {
        let content = self.content.as_ref();
        !self.bindings.is_empty() || content.is_some_and(|supply| !supply.content().tools.is_empty())
    }
}

/// The tools of a listing that declare headers, and the schemas of results.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
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
pub(crate) struct Kept {
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
pub(crate) struct Tool {
    /// To whoever calls the server: what the onward leg mirrors.
    pub(crate) own: Arc<Declared>,
    /// To callers, where they are shown another schema than the server's.
    shown: Option<Arc<Declared>>,
}

impl Tool {
    /// What callers are checked against.
    pub(crate) fn shown(&self) -> &Arc<Declared> {
        self.shown.as_ref().unwrap_or(&self.own)
    }
}

impl Listing {
    /// What a tool declares; none where it is not listed or declares nothing, which come to the same. A name that is not
    /// listed stands for one that differs from it in case only.
    pub(crate) fn declared(&self, tool: &str) -> Option<Tool> {
        if self.tools.is_empty() {
            return None;
        }
        let exactly = self.tools.get(tool);
        let alike = || self.folded.get(&folded(tool)).and_then(|name| self.tools.get(name));
        exactly.or_else(|| alike().filter(|_| !self.names.contains(&hash_of_name(tool)))).cloned()
    }

    /// The tools that declare headers.
    pub(crate) fn declaring(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// What the results of a tool are like, and whether a view is drawn from them.
    pub(crate) fn tool(&self, tool: &str) -> ListedTool {
        let output = self.outputs.get(tool).map_or(Schema::None, |kept| kept.schema());
        let name = hash_of_name(tool);
        let view = self.names.contains(&name).then(|| self.views.contains(&name));
        ListedTool { output, view }
    }

    /// About how many bytes it takes, rather too many than too few.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }

    /// Adds the tools of a page.
    pub(crate) fn add(&mut self, page: &Page) {
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
pub(crate) fn hash_of_name(tool: &str) -> u64 {
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
pub(crate) struct Page {
    tools: Vec<(String, Tool)>,
    /// All names, as hashes.
    names: Vec<u64>,
    outputs: Vec<(String, Arc<Kept>)>,
    /// The names of tools that have a view, as hashes.
    views: Vec<u64>,
    /// Where the next page begins, as written.
    pub(crate) next: Option<String>,
    /// Whether every caller gets the same.
    pub(crate) public: bool,
}

impl Page {
    /// Reads the bytes of an answer to a `tools/list`; none where they are no such answer.
    pub(crate) fn of(answer: &[u8], interest: &Interest) -> Option<Self> {
        Self::read(&Message::parse(answer).ok()?, interest)
    }

    /// Reads the answer to a `tools/list`; none where it is no such answer.
    pub(crate) fn read(message: &Message<'_>, interest: &Interest) -> Option<Self> {
        let bindings = &*interest.bindings;
        let result = message.member("result").filter(|_| message.kind() == Kind::Answer)?;
        let listed = result.member("tools").filter(|tools| tools.kind() == Type::Array)?;
        let (mut tools, mut names) = (Vec::new(), Vec::new());
        for (name, schema) in listed.elements().filter_map(named) {
            names.push(hash_of_name(&name));
            interest.names.learn(&name);
            if bindings.binds(&name) {
                continue;
            }
            match Declared::read(schema.raw().as_bytes()) {
                Ok(declared) if declared.is_empty() => {}
                Ok(declared) => {
                    tools.push((name.into_owned(), Tool { own: Arc::new(declared), shown: None }));
                }
                Err(invalid) => tracing::warn!(tool = %name, %invalid, "the tool declares no headers"),
            }
        }
        if !bindings.is_empty() {
            tools.extend(bound(message, bindings));
        }
        let shaped = || listed.elements().filter(|_| interest.content.is_some());
        let outputs = shaped().filter_map(output).collect();
        let views = shaped().filter(|tool| has_view(*tool)).filter_map(named);
        let views = views.map(|(name, _)| hash_of_name(&name)).collect();
        let next = result.member("nextCursor").filter(|cursor| cursor.kind() == Type::String);
        let scope = result.member("cacheScope").and_then(Value::text);
        let next = next.map(|cursor| cursor.raw().to_owned());
        let public = scope.is_some_and(|scope| scope.is("public"));
        Some(Self { tools, names, outputs, views, next, public })
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
fn bound(answer: &Message<'_>, bindings: &Bindings) -> Vec<(String, Tool)> {
    let edits = bindings.show(answer);
    let edits: Vec<_> = edits.iter().map(|(place, text)| (*place, text.as_str())).collect();
    let Ok(shown) = answer.splice(&edits) else { return Vec::new() };
    let Ok(shown) = Message::parse(shown.as_bytes()) else { return Vec::new() };
    let tools = |answer: &Message<'_>| {
        let listed = answer.member("result").and_then(|result| result.member("tools"));
        let bound = listed.into_iter().flat_map(Value::elements).filter_map(named);
        let bound = bound.filter(|(name, _)| bindings.binds(name));
        let read = |(name, schema): (Cow<'_, str>, Value<'_>)| {
            let declared = Declared::read(schema.raw().as_bytes()).unwrap_or_else(|invalid| {
                tracing::warn!(tool = %name, %invalid, "the tool declares no headers");
                Declared::default()
            });
            (name.into_owned(), Arc::new(declared))
        };
        bound.map(read).collect::<Vec<_>>()
    };
    let both = tools(answer).into_iter().zip(tools(&shown));
    let both = both.map(|((name, own), (_, shown))| (name, Tool { own, shown: Some(shown) }));
    both.filter(|(_, tool)| !tool.own.is_empty() || !tool.shown().is_empty()).collect()
}

/// The envelope of a caller, without their progress token and their context.
#[derive(Debug)]
pub(crate) struct Envelope(String);

impl Envelope {
    pub(crate) fn of(message: &Message<'_>) -> Self {
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
    pub(crate) fn request(&self, cursor: Option<&str>) -> String {
        let Self(envelope) = self;
        let cursor = cursor.map(|cursor| format!(",\"cursor\":{cursor}")).unwrap_or_default();
        format!(
            r#"{{"jsonrpc":"2.0","id":"{ID}","method":"tools/list","params":{{"_meta":{{{envelope}}}{cursor}}}}}"#
        )
    }
}

/// Whether an answer says that something went wrong inside the server, which may be over in a moment.
pub(crate) fn is_internal_error(answer: &[u8]) -> bool {
    let message = Message::parse(answer).ok();
    let code = message.and_then(|message| message.member("error")).and_then(|error| error.member("code"));
    code.is_some_and(|code| code.raw() == "-32603")
}

/// The headers of a `tools/list` in the name of whoever sent `headers`: their credentials, our routing.
pub(crate) fn headers(headers: &HeaderMap) -> HeaderMap {
    let mut own = headers.clone();
    for name in
        [NAME, header::CONTENT_LENGTH.as_str(), header::TRANSFER_ENCODING.as_str(), header::EXPECT.as_str()]
    {
        own.remove(name);
    }
    let start = PARAM_PREFIX.to_ascii_lowercase();
    let params: Vec<_> = own.keys().filter(|name| name.as_str().starts_with(&start)).cloned().collect();
    for name in params {
        own.remove(name);
    }
    own.insert(METHOD.parse().unwrap_or(header::FROM), HeaderValue::from_static("tools/list"));
    own.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_tools_that_declare_headers() {
        let answer =
            br#"{"jsonrpc":"2.0","id":1,"result":{"cacheScope":"public","nextCursor":"a\"b","tools":[
            {"name":"plain","inputSchema":{}},
            {"name":"bad","inputSchema":{"properties":{"a":{"x-mcp-header":"A"}}}},
            {"name":"g\u00f6t","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}},
            {"inputSchema":{}}, 7]}}"#;
        let page = Page::of(answer, &Interest::default()).unwrap();
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
            assert!(Page::of(answer.as_bytes(), &Interest::default()).is_none(), "{answer}");
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
