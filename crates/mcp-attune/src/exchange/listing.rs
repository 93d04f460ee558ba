//! A tool listing, as far as it is needed later: which tools declare headers, and what their results are like.
//!
//! Rules: F13, H5, H10, H11.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use mcp_attune_wire::header::{METHOD, NAME};
use mcp_attune_wire::json::{JsonKind, SpannedValue};
use mcp_attune_wire::listing::{ListingStep, Pages};
use mcp_attune_wire::message::{Message, MessageKind, meta};
use mcp_attune_wire::protocol::code::INTERNAL_ERROR;
use mcp_attune_wire::protocol::method::TOOLS_LIST;
use mcp_attune_wire::schema::{DeclaredHeaders, HeaderDeclaration};

use super::headers::HeaderChange;
use super::notice::ExchangeNotice;
use crate::bind::Bindings;
use crate::shaping::{ListedSchema, ListedTool, OutputSchema, has_view};

/// Our own request's id. It never meets an id of the caller's: each is an exchange of its own.
const LIST_REQUEST_ID: &str = "attune-schemas";

/// What of a listing is of interest.
#[derive(Clone, Copy, Debug)]
pub struct ListingReadOptions<'a> {
    /// What callers are shown is made with these.
    pub bindings: &'a Bindings,
    /// Whether the schemas of results are needed, because answers are shaped.
    pub outputs: bool,
}

/// The tools of a listing that declare headers, and the schemas of results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolIndex {
    tools: HashMap<String, ListedToolHeaders>,
    /// The same tools by their names regardless of case: a server may take another spelling for one of them.
    folded: HashMap<String, String>,
    /// All names that are listed, as hashes: one of them means the tool of that very name.
    names: HashSet<u64>,
    outputs: HashMap<String, Arc<OutputSchema>>,
    /// The names of tools that have a view, as hashes.
    views: HashSet<u64>,
    weight: usize,
}

/// What one tool declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedToolHeaders {
    /// To whoever calls the server: what the onward leg mirrors.
    pub(super) own: Arc<DeclaredHeaders>,
    /// To callers, where they are shown another schema than the server's.
    shown: Option<Arc<DeclaredHeaders>>,
}

impl ListedToolHeaders {
    /// What callers are checked against.
    pub(super) fn headers_for_callers(&self) -> &Arc<DeclaredHeaders> {
        self.shown.as_ref().unwrap_or(&self.own)
    }
}

impl ToolIndex {
    /// What a tool declares; none where it is not listed or declares nothing, which come to the same. A name that is not
    /// listed stands for one that differs from it in case only.
    pub(super) fn headers_of(&self, tool: &str) -> Option<ListedToolHeaders> {
        if self.tools.is_empty() {
            return None;
        }
        let exactly = self.tools.get(tool);
        let alike = || self.folded.get(&fold_name(tool)).and_then(|name| self.tools.get(name));
        exactly.or_else(|| alike().filter(|_| !self.names.contains(&hash_of_name(tool)))).cloned()
    }

    /// The tools that declare headers.
    pub fn tools_with_headers(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// What the results of a tool are like, and whether a view is drawn from them.
    pub fn listed_tool(&self, tool: &str) -> ListedTool {
        let output = self.outputs.get(tool).cloned().map_or(ListedSchema::None, ListedSchema::Known);
        let name = hash_of_name(tool);
        let view = self.names.contains(&name).then(|| self.views.contains(&name));
        ListedTool { output, view }
    }

    /// About how many bytes it takes, rather too many than too few.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Adds the tools of a page. What weighs more than `most` already is forgotten first.
    pub(super) fn add_within(&mut self, page: &ToolListingPage, most: usize) {
        if self.weight > most {
            *self = Self::default();
        }
        self.add(page);
    }

    /// Adds the tools of a page.
    pub fn add(&mut self, page: &ToolListingPage) {
        // Counted here, once: every new listing asks all others for their weight.
        self.weight += page.tools.iter().map(|(name, tool)| weight(name, tool)).sum::<usize>();
        // A schema that is read takes a multiple of what is written.
        self.weight +=
            page.outputs.iter().map(|(name, schema)| name.len() + 8 * schema.written().len()).sum::<usize>();
        self.weight += (page.names.len() + page.views.len()) * size_of::<u64>() * 2;
        self.views.extend(page.views.iter().copied());
        self.names.extend(page.names.iter().copied());
        self.folded.extend(page.tools.iter().map(|(name, _)| (fold_name(name), name.clone())));
        self.tools.extend(page.tools.iter().cloned());
        self.outputs.extend(page.outputs.iter().cloned());
    }
}

/// A name regardless of its case and of the white space around it.
fn fold_name(name: &str) -> String {
    name.trim().chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// A tool's name, as short as all names are.
pub fn hash_of_name(tool: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(tool)
}

/// What a tool takes. Measured with one declaration it was some 820 bytes and its texts: lists have room for four.
fn weight(name: &str, tool: &ListedToolHeaders) -> usize {
    const TOOL_BYTES: usize = 256;
    const DECLARATION_BYTES: usize = 576;
    let texts = |one: &HeaderDeclaration| one.header().len() + one.path().map(str::len).sum::<usize>();
    let declared = [Some(&tool.own), tool.shown.as_ref()].into_iter().flatten().flat_map(|all| all.iter());
    TOOL_BYTES + 3 * name.len() + declared.map(|one| DECLARATION_BYTES + texts(one)).sum::<usize>()
}

/// One page of a listing.
#[derive(Debug, Default)]
pub struct ToolListingPage {
    tools: Vec<(String, ListedToolHeaders)>,
    /// All names, as hashes.
    names: Vec<u64>,
    outputs: Vec<(String, Arc<OutputSchema>)>,
    /// The names of tools that have a view, as hashes.
    views: Vec<u64>,
    /// What a host may want to log.
    pub notices: Vec<ExchangeNotice>,
    /// Where the next page begins, as written.
    pub next: Option<String>,
    /// Whether every caller gets the same.
    pub public: bool,
}

impl ToolListingPage {
    /// Reads the answer to a `tools/list`; `None` where it is no such answer. `each` is told the names of all tools.
    #[must_use]
    pub fn read(
        message: &Message<'_>,
        interest: ListingReadOptions<'_>,
        mut each: impl FnMut(&str),
    ) -> Option<Self> {
        let bindings = interest.bindings;
        let result = message.member("result").filter(|_| message.kind() == MessageKind::Answer)?;
        let listed = result.member("tools").filter(|tools| tools.kind() == JsonKind::Array)?;
        let mut page = Self::default();
        for (name, schema) in listed.elements().filter_map(name_and_schema) {
            page.names.push(hash_of_name(&name));
            each(&name);
            if bindings.binds_tool(&name) {
                continue;
            }
            match DeclaredHeaders::read(schema.raw().as_bytes()) {
                Ok(declared) if declared.is_empty() => {}
                Ok(declared) => {
                    page.tools.push((
                        name.into_owned(),
                        ListedToolHeaders { own: Arc::new(declared), shown: None },
                    ));
                }
                Err(why) => page.notices.push(no_headers_notice(&name, &why)),
            }
        }
        if !bindings.is_empty() {
            let bound = bound_tools(message, bindings, &mut page.notices);
            page.tools.extend(bound);
        }
        let shaped = || listed.elements().filter(|_| interest.outputs);
        page.outputs = shaped().filter_map(name_and_output_schema).collect();
        let views = shaped().filter(|tool| has_view(*tool)).filter_map(name_and_schema);
        page.views = views.map(|(name, _)| hash_of_name(&name)).collect();
        let next = result.member("nextCursor").filter(|cursor| cursor.kind() == JsonKind::String);
        page.next = next.map(|cursor| cursor.raw().to_owned());
        let scope = result.member("cacheScope").and_then(SpannedValue::text);
        page.public = scope.is_some_and(|scope| scope.is("public"));
        Some(page)
    }
}

fn no_headers_notice(tool: &str, why: &dyn core::fmt::Display) -> ExchangeNotice {
    ExchangeNotice::NoHeadersDeclared { tool: tool.to_owned(), why: why.to_string() }
}

/// Tells the names of the tools on a page.
pub fn for_each_tool_name(page: &[u8], mut each: impl FnMut(&str)) {
    let Ok(page) = Message::parse(page) else { return };
    let tools = page.member("result").and_then(|result| result.member("tools"));
    for (name, _) in tools.into_iter().flat_map(SpannedValue::elements).filter_map(name_and_schema) {
        each(&name);
    }
}

/// The name of a listed tool, and its schema.
fn name_and_schema<'a>(tool: SpannedValue<'a>) -> Option<(Cow<'a, str>, SpannedValue<'a>)> {
    Some((tool.member("name")?.text()?.decode()?, tool.member("inputSchema")?))
}

/// The name of a listed tool, and the schema of its results.
fn name_and_output_schema(tool: SpannedValue<'_>) -> Option<(String, Arc<OutputSchema>)> {
    let schema = tool.member("outputSchema").filter(|schema| schema.kind() == JsonKind::Object)?;
    Some((name_and_schema(tool)?.0.into_owned(), Arc::new(OutputSchema::new(schema.raw()))))
}

/// The bound tools of a listing: what they declare to the server's callers, and to ours.
fn bound_tools(
    answer: &Message<'_>,
    bindings: &Bindings,
    notices: &mut Vec<ExchangeNotice>,
) -> Vec<(String, ListedToolHeaders)> {
    let edits = bindings.edits_for_listing(answer);
    let edits: Vec<_> = edits.iter().map(|(place, text)| (*place, text.as_str())).collect();
    let Ok(shown) = answer.splice(&edits) else { return Vec::new() };
    let Ok(shown) = Message::parse(shown.as_bytes()) else { return Vec::new() };
    let mut tools = |answer: &Message<'_>| {
        let listed = answer.member("result").and_then(|result| result.member("tools"));
        let bound = listed.into_iter().flat_map(SpannedValue::elements).filter_map(name_and_schema);
        let bound = bound.filter(|(name, _)| bindings.binds_tool(name));
        let read = |(name, schema): (Cow<'_, str>, SpannedValue<'_>)| {
            let declared = DeclaredHeaders::read(schema.raw().as_bytes()).unwrap_or_else(|why| {
                notices.push(no_headers_notice(&name, &why));
                DeclaredHeaders::default()
            });
            (name.into_owned(), Arc::new(declared))
        };
        bound.map(read).collect::<Vec<_>>()
    };
    let (own, shown) = (tools(answer), tools(&shown));
    let both = own.into_iter().zip(shown);
    let both = both.map(|((name, own), (_, shown))| (name, ListedToolHeaders { own, shown: Some(shown) }));
    both.filter(|(_, tool)| !tool.own.is_empty() || !tool.headers_for_callers().is_empty()).collect()
}

/// What a `tools/list` in the name of a caller says: their envelope without their progress token and their context, their
/// session as the server knows it, their credentials, and our routing.
#[derive(Debug, Default)]
pub struct ToolListRequest {
    meta: String,
    /// What changes in the caller's headers so that they name the session that the server knows.
    session: Vec<HeaderChange>,
}

impl ToolListRequest {
    pub(super) fn of(message: &Message<'_>, session: &[HeaderChange]) -> Self {
        let mut meta = String::new();
        for (name, value) in message.param("_meta").into_iter().flat_map(SpannedValue::members) {
            if !name.is("progressToken") && !name.is(meta::CLIENT_CONTEXT) {
                let comma = if meta.is_empty() { "" } else { "," };
                meta += &format!("{comma}\"{}\":{}", name.as_written(), value.raw());
            }
        }
        Self { meta, session: session.to_vec() }
    }

    /// What changes in the headers of that caller for a `tools/list` in their name.
    #[must_use]
    pub fn header_changes(&self) -> Vec<HeaderChange> {
        let mut changes = self.session.clone();
        changes.extend([NAME, "content-length", "transfer-encoding", "expect"].map(HeaderChange::remove));
        changes.push(HeaderChange::RemoveParams);
        changes.push(HeaderChange::set(METHOD, TOOLS_LIST));
        changes.push(super::forward::accept_identity());
        changes
    }

    /// The body of a `tools/list` in the name of that caller.
    #[must_use]
    pub fn body(&self, cursor: Option<&str>) -> String {
        let envelope = &self.meta;
        let cursor = cursor.map(|cursor| format!(",\"cursor\":{cursor}")).unwrap_or_default();
        format!(
            r#"{{"jsonrpc":"2.0","id":"{LIST_REQUEST_ID}","method":"{TOOLS_LIST}","params":{{"_meta":{{{envelope}}}{cursor}}}}}"#
        )
    }
}

/// Why an answer is no page of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListingPageError {
    /// Something went wrong inside the server, which may be over in a moment.
    NotNow,
    /// The server does not list its tools.
    Never,
}

/// Reads the answer to a `tools/list` of our own, and says what to do next. `each` is told the names of all tools.
///
/// # Errors
///
/// Why it is no page of a listing.
pub fn read_page(
    answer: &[u8],
    interest: ListingReadOptions<'_>,
    pages: &mut Pages,
    each: impl FnMut(&str),
) -> Result<(ToolListingPage, ListingStep), ListingPageError> {
    let answer = Message::parse(answer).map_err(|_| ListingPageError::Never)?;
    let page = ToolListingPage::read(&answer, interest, each);
    match page.and_then(|page| Some((page, pages.take_answer(&answer)?))) {
        Some(page) => Ok(page),
        None if answer.error_code() == Some(INTERNAL_ERROR) => Err(ListingPageError::NotNow),
        None => Err(ListingPageError::Never),
    }
}

/// Whether a page of a listing is the last.
#[must_use]
pub fn is_last_page(page: &Message<'_>) -> bool {
    page.member("result").is_some_and(|result| result.member("nextCursor").is_none())
}

/// Whether the schema of a listed tool has an argument; `None` where these pages list no such tool.
#[must_use]
pub fn takes_argument(pages: &[Message<'_>], tool: &str, argument: &str) -> Option<bool> {
    let tools = pages.iter().filter_map(|page| page.member("result")?.member("tools"));
    let is_named = |listed: &SpannedValue<'_>| {
        listed.member("name").and_then(SpannedValue::text).is_some_and(|name| name.is(tool))
    };
    let listed = tools.flat_map(SpannedValue::elements).find(is_named)?;
    let properties = listed.member("inputSchema").and_then(|schema| schema.member("properties"));
    Some(properties.is_some_and(|properties| properties.member(argument).is_some()))
}

/// Reads pages that were kept as they came; what is no message is left out.
pub fn parse_pages<'a>(pages: impl IntoIterator<Item = &'a [u8]>) -> Vec<Message<'a>> {
    pages.into_iter().filter_map(|page| Message::parse(page).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bind::{ArgumentFill, Binding, BoundContextPart};
    use crate::context::CoordinatePrecision;

    fn read(answer: &[u8]) -> Option<ToolListingPage> {
        let interest = ListingReadOptions { bindings: &Bindings::default(), outputs: true };
        ToolListingPage::read(&Message::parse(answer).ok()?, interest, |_| {})
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

    /// The tools of a listing.
    fn index(tools: &str) -> ToolIndex {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tools}]}}}}"#);
        let mut index = ToolIndex::default();
        index.add(&read(answer.as_bytes()).unwrap());
        index
    }

    const DECLARING: &str = r#"{"name":"tool","inputSchema":{"properties":{"of":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}}"#;

    #[test]
    fn a_listing_weighs_what_is_kept_of_it() {
        // A name is kept as a hash, whose table is at most half empty.
        let hash = 2 * size_of::<u64>();
        let declaration = 576 + "Mcp-Param-A".len() + "of".len() + "a".len();
        for (tools, expected) in [
            ("", 0),
            (r#"{"name":"plain","inputSchema":{}}"#, hash),
            (r#"{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}}"#, 2 * hash),
            (
                r#"{"name":"plain","inputSchema":{},"outputSchema":{"type":"object"}}"#,
                hash + "plain".len() + 8 * r#"{"type":"object"}"#.len(),
            ),
            (r#"{"name":"plain","inputSchema":{},"_meta":{"ui":{"resourceUri":"ui://a"}}}"#, 2 * hash),
            (DECLARING, hash + 256 + 3 * "tool".len() + declaration),
        ] {
            assert_eq!(index(tools).weight(), expected, "{tools}");
        }
        let mut twice = index(DECLARING);
        let once = twice.weight();
        let other = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{DECLARING}]}}}}"#);
        twice.add(&read(other.as_bytes()).unwrap());
        assert_eq!(twice.weight(), 2 * once);
    }

    #[test]
    fn a_listing_that_is_too_heavy_is_forgotten_for_the_next_page() {
        let next = read(br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#).unwrap();
        let weight = index(DECLARING).weight();
        for (most, is_kept) in [(weight + 1, true), (weight, true), (weight - 1, false)] {
            let mut listing = index(DECLARING);
            listing.add_within(&next, most);
            assert_eq!(listing.headers_of("tool").is_some(), is_kept, "{most}");
        }
    }

    #[test]
    fn a_name_that_is_not_listed_stands_for_one_in_another_case() {
        let plain = r#"{"name":"TOOL","inputSchema":{}}"#;
        let listing = index(&format!("{DECLARING},{plain}"));
        assert_eq!(listing.tools_with_headers().collect::<Vec<_>>(), ["tool"]);
        for (name, expected) in [
            ("tool", true),
            ("Tool", true),
            (" tool\t", true),
            ("TOOL", false),
            ("tools", false),
            ("", false),
        ] {
            assert_eq!(listing.headers_of(name).is_some(), expected, "{name:?}");
        }
        assert!(index(plain).headers_of("TOOL").is_none());
    }

    #[test]
    fn a_bad_annotation_of_a_hidden_argument_takes_nothing_from_callers() {
        let fills = ArgumentFill::Context { from: BoundContextPart::Timezone, default: None };
        let bound = [("tz".to_owned(), Binding { fills, hide: true })].into();
        let bindings = Bindings::new([("tool".to_owned(), bound)].into(), CoordinatePrecision::Off);
        let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"tool","inputSchema":{"type":"object","properties":{
            "tz":{"x-mcp-header":"Zone"},"a":{"type":"string","x-mcp-header":"A"}}}}]}}"#;
        let interest = ListingReadOptions { bindings: &bindings, outputs: false };
        let page = ToolListingPage::read(&Message::parse(answer).unwrap(), interest, |_| {}).unwrap();
        let mut index = ToolIndex::default();
        index.add(&page);
        let headers = index.headers_of("tool").unwrap();
        assert!(headers.own.is_empty() && !headers.headers_for_callers().is_empty());
    }

    #[test]
    fn tells_the_names_of_all_tools_of_a_page() {
        let names = |page: &str| {
            let mut names = Vec::new();
            for_each_tool_name(page.as_bytes(), |name| names.push(name.to_owned()));
            names
        };
        let page = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{DECLARING},7,{{"name":"g\u00f6t","inputSchema":{{}}}}]}}}}"#
        );
        assert_eq!(names(&page), ["tool", "göt"]);
        assert!(
            names("no message").is_empty() && names(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).is_empty()
        );
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
    fn an_answer_that_is_no_page_may_be_one_in_a_moment() {
        let read = |answer: &str| {
            let interest = ListingReadOptions { bindings: &Bindings::default(), outputs: true };
            let mut names = Vec::new();
            let read = read_page(answer.as_bytes(), interest, &mut Pages::new(TOOLS_LIST), |name| {
                names.push(name.to_owned());
            });
            read.map(|(page, turn)| (page.next.is_some(), turn, names))
        };
        let listed =
            r#"{"jsonrpc":"2.0","id":1,"result":{"nextCursor":"2","tools":[{"name":"a","inputSchema":{}}]}}"#;
        assert_eq!(read(listed), Ok((true, ListingStep::Next, vec!["a".to_owned()])));
        let internal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":""}}"#;
        assert_eq!(read(internal), Err(ListingPageError::NotNow));
        let unknown = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":""}}"#;
        for answer in [unknown, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "no message"] {
            assert_eq!(read(answer), Err(ListingPageError::Never), "{answer}");
        }
    }

    #[test]
    fn a_listed_tool_takes_the_arguments_of_its_schema() {
        let first = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}],"nextCursor":"2"}}"#;
        let last = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"b","inputSchema":{"properties":{"x":{}}}}]}}"#;
        let pages = parse_pages([&first[..], b"no message", &last[..]]);
        assert_eq!(pages.iter().map(is_last_page).collect::<Vec<_>>(), [false, true]);
        for (tool, argument, expected) in
            [("a", "x", Some(false)), ("b", "x", Some(true)), ("b", "y", Some(false)), ("c", "x", None)]
        {
            assert_eq!(takes_argument(&pages, tool, argument), expected, "{tool}.{argument}");
        }
    }

    #[test]
    fn asks_with_the_callers_envelope_but_not_their_progress_token_or_context() {
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{
            "io.modelcontextprotocol/clientContext":{"locale":"de"},"progressToken":7,"a\u0062":{"c" : 1.0},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let message = Message::parse(body).unwrap();
        let asked = ToolListRequest::of(&message, &[]).body(Some("\"x\""));
        assert_eq!(
            asked,
            r#"{"jsonrpc":"2.0","id":"attune-schemas","method":"tools/list","params":{"_meta":{"a\u0062":{"c" : 1.0},"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"cursor":"x"}}"#
        );
        assert!(Message::parse(asked.as_bytes()).is_ok());
    }

    #[test]
    fn asks_with_the_callers_headers_but_for_what_is_of_their_own_call() {
        let message = Message::parse(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#).unwrap();
        let session = HeaderChange::set("mcp-session-id", "s");
        let changes = ToolListRequest::of(&message, std::slice::from_ref(&session)).header_changes();
        let [name, length, encoding, expect] =
            ["Mcp-Name", "content-length", "transfer-encoding", "expect"].map(HeaderChange::remove);
        let method = HeaderChange::set("Mcp-Method", "tools/list");
        let identity = HeaderChange::set("accept-encoding", "identity");
        let expected =
            [session, name, length, encoding, expect, HeaderChange::RemoveParams, method, identity];
        assert_eq!(changes, expected);
    }
}
