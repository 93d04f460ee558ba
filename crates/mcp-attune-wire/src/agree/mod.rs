//! Whether the headers of a request say what its body says.
//!
//! The checks come in this order, and the first that fails answers:
//!
//! 1. No member name differs from another only in case, where the rules read names (H18).
//! 2. A modern body is one request or one notification.
//! 3. `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` come once (H2).
//! 4. A modern request has its envelope in `_meta` (H14).
//! 5. The names that lead to declared arguments are as the schema writes them (H18).
//! 6. Every header agrees with the body; what does not is told all at once (H1, H4–H7, H16, H20, L14).
//! 7. The version is one that is spoken here, where Attune is the one to say so (H14).
//! 8. A request has one context, in whichever of its two places (C1).
//!
//! A `tools/call` whose arguments may travel in headers needs the schema that this caller was advertised.
//! Fetching it is the host's work: [`begin`] then hands back an [`Open`] question, and [`Open::with`]
//! finishes. Nothing here waits, reads a clock or remembers.
//!
//! Caveat: a legacy request is not checked against its routing headers. They are marked to be left behind
//! instead ([`Agreed::drops_routing_headers`]), so that nothing further on routes by them.
//!
//! ```
//! use mcp_attune_wire::agree::{self, Agree, Policy};
//! use mcp_attune_wire::{header::Headers, message::Message};
//!
//! let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
//!     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
//! let headers = Headers::new([
//!     ("MCP-Protocol-Version", &b"2026-07-28"[..]),
//!     ("Mcp-Method", b"tools/call"),
//! ]);
//! let refusal = agree::begin(&headers, Message::parse(body)?, &Policy::default()).unwrap_err();
//! assert_eq!(refusal.to_string(), "Mcp-Method is not what method says; send the two equal");
//! # Ok::<(), mcp_attune_wire::message::Unreadable>(())
//! ```
//!
//! Rules: C1, H1–H9, H14, H16, H18, H20, L14.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

mod refusal;
mod params;

pub use refusal::{Mismatch, Refusal, Refused, Wrong};

use crate::context;
use crate::header::{self, Headers, Lines};
use crate::json::{Text, Value};
use crate::message::{Kind, Message, meta};
use crate::mirror::name_key;
use crate::protocol::method;
use crate::protocol::version;
use crate::schema::Declared;

/// Which of the two ways of speaking MCP a request follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Era {
    /// Every request carries its version and capabilities: 2026-07-28 and later.
    Modern,
    /// An `initialize` handshake and sessions: 2025-11-25 and earlier.
    Legacy,
}

/// What an operator can choose.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Policy {
    /// Also refuse what is merely careless: `Mcp-Name` where none belongs, unsafe integers, routing headers
    /// on legacy requests.
    pub strict: bool,
    /// What an `Accept-Language` header means.
    pub language_header: LanguageHeader,
    /// What a declared argument without its header means.
    pub on_missing_param: OnMissingParam,
    /// The versions spoken behind, where the server behind cannot answer for itself (a stdio child).
    pub supported_versions: Option<Vec<String>>,
}

/// What an `Accept-Language` header means. Rules: L14.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LanguageHeader {
    /// It must equal the preference in `_meta` where both are there.
    #[default]
    Compare,
    /// The same, but a lone `*`, which some HTTP libraries add by themselves, is no header.
    IgnoreWildcard,
    /// Nothing.
    Ignore,
    /// Compared, and a preference in its own right where `_meta` has none.
    Promote,
}

/// What a declared argument without its header means. Rules: H6.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OnMissingParam {
    /// A mismatch.
    #[default]
    Refuse,
    /// Nothing: for mounts whose browser clients cannot send it.
    Pass,
}

/// How far a check came.
#[derive(Debug)]
pub enum Agree<'a, 'p> {
    /// All the way.
    Done(Agreed<'a>),
    /// To the arguments: the tool's schema decides.
    NeedsSchema(Open<'a, 'p>),
}

/// A message whose headers say what it says. Only a finished check makes one.
#[derive(Clone, Debug)]
pub struct Agreed<'a> {
    message: Message<'a>,
    era: Era,
    drops_routing_headers: bool,
    mirrored: bool,
    promoted: Option<Cow<'a, [u8]>>,
}

impl<'a> Agreed<'a> {
    /// The message.
    #[must_use]
    pub fn message(&self) -> &Message<'a> {
        &self.message
    }

    /// Which way of speaking MCP it follows.
    #[must_use]
    pub fn era(&self) -> Era {
        self.era
    }

    /// Whether `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*` must be left behind, because nobody checked them.
    ///
    /// Rules: H16.
    #[must_use]
    pub fn drops_routing_headers(&self) -> bool {
        self.drops_routing_headers
    }

    /// Whether the headers are to the letter those that [`mirror`](crate::mirror) writes for the message and for the
    /// schema that it was checked with, so that nobody has to write them anew. False says nothing.
    #[must_use]
    pub fn is_mirrored(&self) -> bool {
        self.mirrored
    }

    /// The message, when the check has done its part.
    #[must_use]
    pub fn into_message(self) -> Message<'a> {
        self.message
    }

    /// The caller's language preference as it was written, not yet read: the string in `_meta`, or a bare
    /// header where the policy promotes it. Rules: L2, L14.
    #[must_use]
    pub fn accept_language(&self) -> Option<Cow<'_, str>> {
        match preference(&self.message) {
            Some(text) => text.decode(),
            None => {
                self.promoted.as_deref().and_then(|value| core::str::from_utf8(value).ok()).map(Cow::Borrowed)
            }
        }
    }
}

/// A check that waits for the schema of the called tool.
#[derive(Clone, Debug)]
pub struct Open<'a, 'p> {
    agreed: Agreed<'a>,
    tool: Text<'a>,
    params: Vec<(&'a str, &'a [u8])>,
    mismatches: Vec<Mismatch>,
    policy: &'p Policy,
}

impl<'a> Open<'a, '_> {
    /// The tool whose schema is asked for, as its caller knows it.
    #[must_use]
    pub fn tool(&self) -> Cow<'a, str> {
        self.tool.decode().unwrap_or(Cow::Borrowed(self.tool.as_written()))
    }

    /// The message, for a host that needs its envelope to ask for the schema.
    #[must_use]
    pub fn message(&self) -> &Message<'a> {
        &self.agreed.message
    }

    /// Whether the request has an `Mcp-Param-*` header.
    #[must_use]
    pub fn has_params(&self) -> bool {
        !self.params.is_empty()
    }

    /// Whether the request is refused whatever the schema says.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        !self.mismatches.is_empty()
    }

    /// Finishes the check with what the tool's schema declares, or without it where it could not be had:
    /// then no `Mcp-Param-*` header is known, and none is checked.
    ///
    /// # Errors
    ///
    /// [`Refusal`] with every mismatch, those found before included.
    pub fn with(mut self, declared: Option<&Declared>) -> Result<Agreed<'a>, Refusal> {
        self.agreed.mirrored &= self.check(declared)?;
        Ok(self.agreed)
    }

    /// The same, with the question back beside a refusal: the schema may have changed since it was fetched.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn try_with(mut self, declared: Option<&Declared>) -> Result<Agreed<'a>, Box<(Refusal, Self)>> {
        match self.check(declared) {
            Ok(mirrored) => {
                self.agreed.mirrored &= mirrored;
                Ok(self.agreed)
            }
            Err(refusal) => Err(Box::new((refusal, self))),
        }
    }

    /// True where the headers of the arguments are what a client would write.
    fn check(&self, declared: Option<&Declared>) -> Result<bool, Refusal> {
        let mut mismatches = self.mismatches.clone();
        let declared = declared.filter(|declared| !declared.is_empty());
        if let Some(declared) = declared {
            declared.check_case(&self.agreed.message)?;
        }
        let mirrored = declared.is_none_or(|declared| {
            params::check(declared, &self.agreed.message, &self.params, self.policy, &mut mismatches)
        });
        refuse_underscores(&self.params, declared, &mut mismatches);
        finish(&self.agreed, mismatches, self.policy)?;
        Ok(mirrored)
    }
}

/// Checks headers against a message, as far as that goes without a schema.
///
/// # Errors
///
/// [`Refusal`] for the first of the steps above that fails.
pub fn begin<'a, 'p>(
    headers: &Headers<'a>,
    message: Message<'a>,
    policy: &'p Policy,
) -> Result<Agree<'a, 'p>, Refusal> {
    message.check_case()?;
    let era = era(headers, &message);
    if era == Era::Modern && !matches!(message.kind(), Kind::Request | Kind::Notification) {
        return Err(Refusal::new(&message, Refused::NotARequest(message.kind())));
    }
    refuse_repeated(headers, &message, era)?;
    if era == Era::Modern && message.kind() == Kind::Request {
        require_envelope(&message)?;
    }

    let mut mismatches = Vec::new();
    let standard = era == Era::Modern && check_standard(headers, &message, policy, &mut mismatches);
    let drops_routing_headers = headers.routes() && !names_modern_version(headers, &message);
    if drops_routing_headers && policy.strict {
        mismatches.push(Mismatch::new(routing_header(headers), None, Wrong::Unchecked));
    }
    let promoted = check_language(headers, &message, policy, &mut mismatches);

    let tool = tool_to_check(headers, &message, era);
    let speechless = headers.accept_language().is_empty() && preference(&message).is_none();
    let mirrored = standard && speechless && headers.are_bare();
    let agreed = Agreed { message, era, drops_routing_headers, mirrored, promoted };
    match tool {
        Some(tool) => {
            let params = headers.params().to_vec();
            Ok(Agree::NeedsSchema(Open { agreed, tool, params, mismatches, policy }))
        }
        None => {
            if era == Era::Modern {
                refuse_underscores(headers.params(), None, &mut mismatches);
            }
            finish(&agreed, mismatches, policy).map(|()| Agree::Done(agreed))
        }
    }
}

/// Refuses the header of a parameter that has an underscore in its name and is not declared so: a server that takes `_` for
/// `-` would take it for one that is.
fn refuse_underscores(params: &[(&str, &[u8])], declared: Option<&Declared>, mismatches: &mut Vec<Mismatch>) {
    let is_declared = |token: &str| declared.is_some_and(|declared| declared.find(token).is_some());
    if params.iter().any(|(token, _)| token.contains('_') && !is_declared(token)) {
        mismatches.push(Mismatch::new("Mcp-Param-*", None, Wrong::Underscore));
    }
}

/// The same for a message that came without headers, over a pipe: what is left are the names, the envelope, the version
/// and the context. What is neither request nor notification is for whoever waits for it.
///
/// # Errors
///
/// [`Refusal`] for the first that fails.
///
/// Rules: C1, H14, H18, L20.
pub fn without_headers<'a>(message: Message<'a>, policy: &Policy) -> Result<Agreed<'a>, Refusal> {
    message.check_case()?;
    let era = era(&Headers::default(), &message);
    if era == Era::Modern && message.kind() == Kind::Request {
        require_envelope(&message)?;
    }
    let agreed = Agreed { message, era, drops_routing_headers: false, mirrored: false, promoted: None };
    finish(&agreed, Vec::new(), policy)?;
    Ok(agreed)
}

/// The last steps: all mismatches together, then the version, then the context.
fn finish(agreed: &Agreed<'_>, mismatches: Vec<Mismatch>, policy: &Policy) -> Result<(), Refusal> {
    let message = &agreed.message;
    if !mismatches.is_empty() {
        return Err(Refusal::new(message, Refused::Mismatch(mismatches)));
    }
    if let (Some(supported), Era::Modern) = (&policy.supported_versions, agreed.era)
        && let Some(version) = body_version(message).and_then(Text::decode)
        && !supported.iter().any(|spoken| *spoken == version)
    {
        let refused = Refused::Version { requested: version.into_owned(), supported: supported.clone() };
        return Err(Refusal::new(message, refused));
    }
    if message.kind() == Kind::Request && context::differ(message) {
        return Err(Refusal::new(message, Refused::TwoContexts));
    }
    Ok(())
}

/// Which era a request belongs to. One sign of the modern one is enough, wherever it stands.
#[must_use]
pub fn era(headers: &Headers<'_>, message: &Message<'_>) -> Era {
    let modern = message.meta(meta::PROTOCOL_VERSION).is_some()
        || headers.version().iter().any(|version| !is_legacy(version))
        || message.method().is_some_and(|method| method.is(method::SERVER_DISCOVER));
    if modern { Era::Modern } else { Era::Legacy }
}

fn is_legacy(version: &[u8]) -> bool {
    version::LEGACY.iter().any(|legacy| legacy.as_bytes() == version)
}

fn body_version<'a>(message: &Message<'a>) -> Option<Text<'a>> {
    message.meta(meta::PROTOCOL_VERSION)?.text()
}

fn names_modern_version(headers: &Headers<'_>, message: &Message<'_>) -> bool {
    let in_body =
        body_version(message).is_some_and(|version| !version::LEGACY.iter().any(|legacy| version.is(legacy)));
    in_body || headers.version().iter().any(|version| !is_legacy(version))
}

/// One of the routing headers that are there. A parameter's is not named: its name is the caller's own.
fn routing_header(headers: &Headers<'_>) -> &'static str {
    match (headers.method().is_empty(), headers.name().is_empty()) {
        (false, _) => header::METHOD,
        (true, false) => header::NAME,
        (true, true) => "Mcp-Param-*",
    }
}

/// Two copies of a routing header are refused, equal or not: two readers could take two different ones.
fn refuse_repeated(headers: &Headers<'_>, message: &Message<'_>, era: Era) -> Result<(), Refusal> {
    let version = headers.version();
    let differ = version.iter().skip(1).any(|line| Some(line) != version.first());
    let repeated = match era {
        Era::Modern => [version.len() > 1, headers.method().len() > 1, headers.name().len() > 1],
        Era::Legacy => [differ, false, false],
    };
    if !repeated.contains(&true) {
        return Ok(());
    }
    let names = [header::PROTOCOL_VERSION, header::METHOD, header::NAME];
    let found = names.iter().zip(repeated).filter(|(_, repeated)| *repeated);
    let mismatches: Vec<_> = found.map(|(name, _)| Mismatch::new(*name, None, Wrong::Repeated)).collect();
    Err(Refusal::new(message, Refused::Mismatch(mismatches)))
}

fn require_envelope(message: &Message<'_>) -> Result<(), Refusal> {
    let required = [meta::PROTOCOL_VERSION, meta::CLIENT_CAPABILITIES];
    let is_missing = |key: &&str| message.meta(key).is_none();
    if required.iter().any(is_missing) {
        let missing = required.into_iter().filter(is_missing).collect();
        return Err(Refusal::new(message, Refused::EnvelopeMissing(missing)));
    }
    if body_version(message).is_none() {
        return Err(Refusal::new(message, Refused::VersionNotText));
    }
    Ok(())
}

/// `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name`. On a notification none is required. True where all three are
/// there, to the letter as a client would write them.
fn check_standard(
    headers: &Headers<'_>,
    message: &Message<'_>,
    policy: &Policy,
    mismatches: &mut Vec<Mismatch>,
) -> bool {
    let required = message.kind() == Kind::Request;
    let mut mirrored = 0;
    let mut check =
        |name: &'static str, argument: &'static str, lines: &Lines<'_>, body, compare: Compare| {
            if plainly(lines, body) {
                mirrored += 1;
                return;
            }
            let wrong = compare(lines, body);
            if let Some(wrong) = wrong.filter(|wrong| required || *wrong != Wrong::Missing) {
                mismatches.push(Mismatch::new(name, Some(argument.into()), wrong));
            }
        };

    // A notification may go without `_meta`; its version header then has nothing to agree with.
    if required || message.meta(meta::PROTOCOL_VERSION).is_some() {
        let argument = meta::path::PROTOCOL_VERSION;
        check(header::PROTOCOL_VERSION, argument, headers.version(), body_version(message), one_spelling);
    }
    check(header::METHOD, "method", headers.method(), message.method(), one_spelling);

    let Some(method) = message.method() else { return false };
    match name_key(method) {
        Some(key) => {
            let argument = match key {
                "uri" => "params.uri",
                "taskId" => "params.taskId",
                _ => "params.name",
            };
            let name = message.param(key).and_then(Value::text);
            check(header::NAME, argument, headers.name(), name, decoded);
        }
        None if policy.strict && !headers.name().is_empty() && has_no_name(method) => {
            mismatches.push(Mismatch::new(header::NAME, None, Wrong::NotHere));
        }
        None => {}
    }
    mirrored == 3
}

/// How a header is compared with what the body says.
type Compare = fn(&Lines<'_>, Option<Text<'_>>) -> Option<Wrong>;

/// Whether a header is there and says what the body says to the letter. False says nothing.
fn plainly(lines: &Lines<'_>, body: Option<Text<'_>>) -> bool {
    lines.first().zip(body).is_some_and(|(value, body)| header::plainly(value, body))
}

fn has_no_name(method: Text<'_>) -> bool {
    method.is(method::SERVER_DISCOVER) || method.decode().is_some_and(|method| method.ends_with("/list"))
}

/// A header that has one spelling for each value: plain where that is possible. Routers compare these as
/// text, so an encoded spelling of a plain value would slip past them.
fn one_spelling(lines: &Lines<'_>, body: Option<Text<'_>>) -> Option<Wrong> {
    let wrong = decoded(lines, body);
    let plain = body.and_then(Text::decode).filter(|body| header::travels_plain(body));
    match (wrong, lines.first(), plain) {
        (None, Some(value), Some(plain)) if value != plain.as_bytes() => Some(Wrong::Different),
        (wrong, ..) => wrong,
    }
}

/// A header that is compared after decoding.
fn decoded(lines: &Lines<'_>, body: Option<Text<'_>>) -> Option<Wrong> {
    match (lines.first(), body) {
        (None, None) => None,
        (None, Some(_)) => Some(Wrong::Missing),
        (Some(_), None) => Some(Wrong::Unexpected),
        (Some(value), Some(body)) => compare(value, body),
    }
}

fn compare(value: &[u8], body: Text<'_>) -> Option<Wrong> {
    if header::stands_for(value, body) {
        return None;
    }
    Some(header::decode(value).err().map_or(Wrong::Different, Wrong::Undecodable))
}

fn preference<'a>(message: &Message<'a>) -> Option<Text<'a>> {
    message.meta(meta::ACCEPT_LANGUAGE)?.text()
}

/// `Accept-Language` against `_meta`, before any grammar is looked at. Returns a bare header that counts.
fn check_language<'a>(
    headers: &Headers<'a>,
    message: &Message<'a>,
    policy: &Policy,
    mismatches: &mut Vec<Mismatch>,
) -> Option<Cow<'a, [u8]>> {
    if policy.language_header == LanguageHeader::Ignore {
        return None;
    }
    let header = headers.accept_language().joined()?;
    if policy.language_header == LanguageHeader::IgnoreWildcard && *header == *b"*" {
        return None;
    }
    match preference(message) {
        Some(body) => {
            if body.decode().is_none_or(|body| body.as_bytes() != &*header) {
                let body = body.decode().unwrap_or(Cow::Borrowed(body.as_written()));
                mismatches.push(Mismatch::language(&String::from_utf8_lossy(&header), &body));
            }
            None
        }
        None => (policy.language_header == LanguageHeader::Promote).then_some(header),
    }
}

/// The tool whose schema is needed, where a declaration could be violated at all.
fn tool_to_check<'a>(headers: &Headers<'_>, message: &Message<'a>, era: Era) -> Option<Text<'a>> {
    if era == Era::Legacy || !message.method()?.is(method::TOOLS_CALL) {
        return None;
    }
    let calls = message.kind() == Kind::Request && message.arguments().next().is_some();
    let tool = message.param("name")?.text()?;
    (calls || !headers.params().is_empty()).then_some(tool)
}
