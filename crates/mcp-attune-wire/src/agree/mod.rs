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
//! Fetching it is the host's work: [`begin`] then hands back an [`PendingAgreement`] question, and [`PendingAgreement::finish_with_schema`]
//! finishes. Nothing here waits, reads a clock or remembers.
//!
//! Caveat: a legacy request is not checked against its routing headers. They are marked to be left behind
//! instead ([`Agreed::drops_routing_headers`]), so that nothing further on routes by them.
//!
//! ```
//! use mcp_attune_wire::agree::{self, HeaderAgreement, HeaderPolicy};
//! use mcp_attune_wire::{header::MirroredHeaders, message::Message};
//!
//! let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
//!     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
//! let headers = MirroredHeaders::new([
//!     ("MCP-Protocol-Version", &b"2026-07-28"[..]),
//!     ("Mcp-Method", b"tools/call"),
//! ]);
//! let refusal = agree::begin(&headers, Message::parse(body)?, &HeaderPolicy::default()).unwrap_err();
//! assert_eq!(refusal.to_string(), "Mcp-Method is not what method says; send the two equal");
//! # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
//! ```
//!
//! Rules: C1, H1–H9, H14, H16, H18, H20, L14.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

mod refusal;
mod params;

pub use refusal::{HeaderFault, HeaderMismatch, MessageRefusal, MessageRefusalReason};

use crate::context;
use crate::header::{self, HeaderValues, MirroredHeaders};
use crate::json::{JsonString, SpannedValue};
use crate::message::{Message, MessageKind, meta};
use crate::mirror::name_key;
use crate::protocol::method;
use crate::protocol::version;
use crate::schema::DeclaredHeaders;

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
pub struct HeaderPolicy {
    /// Also refuse what is merely careless: `Mcp-Name` where none belongs, unsafe integers, routing headers
    /// on legacy requests.
    pub strict: bool,
    /// What an `Accept-Language` header means.
    pub language_header: LanguageHeaderPolicy,
    /// What a declared argument without its header means.
    pub on_missing_param: OnMissingParam,
    /// The versions spoken behind, where the server behind cannot answer for itself (a stdio child).
    pub supported_versions: Option<Vec<String>>,
}

/// What an `Accept-Language` header means. Rules: L14.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum LanguageHeaderPolicy {
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
pub enum HeaderAgreement<'a, 'p> {
    /// All the way.
    Done(Agreed<'a>),
    /// To the arguments: the tool's schema decides.
    NeedsSchema(PendingAgreement<'a, 'p>),
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
        match language_preference(&self.message) {
            Some(text) => text.decode(),
            None => {
                self.promoted.as_deref().and_then(|value| core::str::from_utf8(value).ok()).map(Cow::Borrowed)
            }
        }
    }
}

/// A check that waits for the schema of the called tool.
#[derive(Clone, Debug)]
pub struct PendingAgreement<'a, 'p> {
    agreed: Agreed<'a>,
    tool: JsonString<'a>,
    params: Vec<(&'a str, &'a [u8])>,
    mismatches: Vec<HeaderMismatch>,
    policy: &'p HeaderPolicy,
}

impl<'a> PendingAgreement<'a, '_> {
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
    pub fn has_param_headers(&self) -> bool {
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
    /// [`MessageRefusal`] with every mismatch, those found before included.
    pub fn finish_with_schema(
        mut self,
        declared: Option<&DeclaredHeaders>,
    ) -> Result<Agreed<'a>, MessageRefusal> {
        self.agreed.mirrored &= self.check(declared)?;
        Ok(self.agreed)
    }

    /// The same, with the question back beside a refusal: the schema may have changed since it was fetched.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn try_finish_with_schema(
        mut self,
        declared: Option<&DeclaredHeaders>,
    ) -> Result<Agreed<'a>, Box<(MessageRefusal, Self)>> {
        match self.check(declared) {
            Ok(mirrored) => {
                self.agreed.mirrored &= mirrored;
                Ok(self.agreed)
            }
            Err(refusal) => Err(Box::new((refusal, self))),
        }
    }

    /// True where the headers of the arguments are what a client would write.
    fn check(&self, declared: Option<&DeclaredHeaders>) -> Result<bool, MessageRefusal> {
        let mut mismatches = self.mismatches.clone();
        let declared = declared.filter(|declared| !declared.is_empty());
        if let Some(declared) = declared {
            declared.check_case(&self.agreed.message)?;
        }
        let mirrored = declared.is_none_or(|declared| {
            params::check_params(declared, &self.agreed.message, &self.params, self.policy, &mut mismatches)
        });
        refuse_underscores(&self.params, declared, &mut mismatches);
        finish_checks(&self.agreed, mismatches, self.policy)?;
        Ok(mirrored)
    }
}

/// Checks headers against a message, as far as that goes without a schema.
///
/// # Errors
///
/// [`MessageRefusal`] for the first of the steps above that fails.
pub fn begin<'a, 'p>(
    headers: &MirroredHeaders<'a>,
    message: Message<'a>,
    policy: &'p HeaderPolicy,
) -> Result<HeaderAgreement<'a, 'p>, MessageRefusal> {
    message.check_case()?;
    let era = request_era(headers, &message);
    if era == Era::Modern && !matches!(message.kind(), MessageKind::Request | MessageKind::Notification) {
        return Err(MessageRefusal::new(&message, MessageRefusalReason::NotARequest(message.kind())));
    }
    refuse_repeated(headers, &message, era)?;
    if era == Era::Modern && message.kind() == MessageKind::Request {
        require_envelope(&message)?;
    }

    let mut mismatches = Vec::new();
    let standard = era == Era::Modern && check_standard_headers(headers, &message, policy, &mut mismatches);
    let drops_routing_headers = headers.has_routing_headers() && !names_modern_version(headers, &message);
    if drops_routing_headers && policy.strict {
        mismatches.push(HeaderMismatch::new(routing_header(headers), None, HeaderFault::Unchecked));
    }
    let promoted = check_language(headers, &message, policy, &mut mismatches);

    let tool = tool_to_check(headers, &message, era);
    let speechless = headers.accept_language().is_empty() && language_preference(&message).is_none();
    let mirrored = standard && speechless && headers.are_unpadded();
    let agreed = Agreed { message, era, drops_routing_headers, mirrored, promoted };
    match tool {
        Some(tool) => {
            let params = headers.params().to_vec();
            Ok(HeaderAgreement::NeedsSchema(PendingAgreement { agreed, tool, params, mismatches, policy }))
        }
        None => {
            if era == Era::Modern {
                refuse_underscores(headers.params(), None, &mut mismatches);
            }
            finish_checks(&agreed, mismatches, policy).map(|()| HeaderAgreement::Done(agreed))
        }
    }
}

/// Refuses the header of a parameter that has an underscore in its name and is not declared so: a server that takes `_` for
/// `-` would take it for one that is.
fn refuse_underscores(
    params: &[(&str, &[u8])],
    declared: Option<&DeclaredHeaders>,
    mismatches: &mut Vec<HeaderMismatch>,
) {
    let is_declared =
        |token: &str| declared.is_some_and(|declared| declared.declaration_position(token).is_some());
    if params.iter().any(|(token, _)| token.contains('_') && !is_declared(token)) {
        mismatches.push(HeaderMismatch::new("Mcp-Param-*", None, HeaderFault::Underscore));
    }
}

/// The same for a message that came without headers, over a pipe: what is left are the names, the envelope, the version
/// and the context. What is neither request nor notification is for whoever waits for it.
///
/// # Errors
///
/// [`MessageRefusal`] for the first that fails.
///
/// Rules: C1, H14, H18, L20.
pub fn check_without_headers<'a>(
    message: Message<'a>,
    policy: &HeaderPolicy,
) -> Result<Agreed<'a>, MessageRefusal> {
    message.check_case()?;
    let era = request_era(&MirroredHeaders::default(), &message);
    if era == Era::Modern && message.kind() == MessageKind::Request {
        require_envelope(&message)?;
    }
    let agreed = Agreed { message, era, drops_routing_headers: false, mirrored: false, promoted: None };
    finish_checks(&agreed, Vec::new(), policy)?;
    Ok(agreed)
}

/// The last steps: all mismatches together, then the version, then the context.
fn finish_checks(
    agreed: &Agreed<'_>,
    mismatches: Vec<HeaderMismatch>,
    policy: &HeaderPolicy,
) -> Result<(), MessageRefusal> {
    let message = &agreed.message;
    if !mismatches.is_empty() {
        return Err(MessageRefusal::new(message, MessageRefusalReason::Mismatch(mismatches)));
    }
    if let (Some(supported), Era::Modern) = (&policy.supported_versions, agreed.era)
        && let Some(version) = body_version(message).and_then(JsonString::decode)
        && !supported.iter().any(|spoken| *spoken == version)
    {
        let refused =
            MessageRefusalReason::Version { requested: version.into_owned(), supported: supported.clone() };
        return Err(MessageRefusal::new(message, refused));
    }
    if message.kind() == MessageKind::Request && context::has_conflicting_contexts(message) {
        return Err(MessageRefusal::new(message, MessageRefusalReason::TwoContexts));
    }
    Ok(())
}

/// Which era a request belongs to. One sign of the modern one is enough, wherever it stands.
#[must_use]
pub fn request_era(headers: &MirroredHeaders<'_>, message: &Message<'_>) -> Era {
    let modern = message.meta(meta::PROTOCOL_VERSION).is_some()
        || headers.version().iter().any(|version| !is_legacy(version))
        || message.method().is_some_and(|method| method.is(method::SERVER_DISCOVER));
    if modern { Era::Modern } else { Era::Legacy }
}

fn is_legacy(version: &[u8]) -> bool {
    version::LEGACY.iter().any(|legacy| legacy.as_bytes() == version)
}

fn body_version<'a>(message: &Message<'a>) -> Option<JsonString<'a>> {
    message.meta(meta::PROTOCOL_VERSION)?.text()
}

fn names_modern_version(headers: &MirroredHeaders<'_>, message: &Message<'_>) -> bool {
    let in_body =
        body_version(message).is_some_and(|version| !version::LEGACY.iter().any(|legacy| version.is(legacy)));
    in_body || headers.version().iter().any(|version| !is_legacy(version))
}

/// One of the routing headers that are there. A parameter's is not named: its name is the caller's own.
fn routing_header(headers: &MirroredHeaders<'_>) -> &'static str {
    match (headers.method().is_empty(), headers.name().is_empty()) {
        (false, _) => header::METHOD,
        (true, false) => header::NAME,
        (true, true) => "Mcp-Param-*",
    }
}

/// Two copies of a routing header are refused, equal or not: two readers could take two different ones.
fn refuse_repeated(
    headers: &MirroredHeaders<'_>,
    message: &Message<'_>,
    era: Era,
) -> Result<(), MessageRefusal> {
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
    let mismatches: Vec<_> =
        found.map(|(name, _)| HeaderMismatch::new(*name, None, HeaderFault::Repeated)).collect();
    Err(MessageRefusal::new(message, MessageRefusalReason::Mismatch(mismatches)))
}

fn require_envelope(message: &Message<'_>) -> Result<(), MessageRefusal> {
    let required = [meta::PROTOCOL_VERSION, meta::CLIENT_CAPABILITIES];
    let is_missing = |key: &&str| message.meta(key).is_none();
    if required.iter().any(is_missing) {
        let missing = required.into_iter().filter(is_missing).collect();
        return Err(MessageRefusal::new(message, MessageRefusalReason::EnvelopeMissing(missing)));
    }
    if body_version(message).is_none() {
        return Err(MessageRefusal::new(message, MessageRefusalReason::VersionNotText));
    }
    Ok(())
}

/// `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name`. On a notification none is required. True where all three are
/// there, to the letter as a client would write them.
fn check_standard_headers(
    headers: &MirroredHeaders<'_>,
    message: &Message<'_>,
    policy: &HeaderPolicy,
    mismatches: &mut Vec<HeaderMismatch>,
) -> bool {
    let required = message.kind() == MessageKind::Request;
    let mut mirrored = 0;
    let mut check = |name: &'static str,
                     argument: &'static str,
                     lines: &HeaderValues<'_>,
                     body,
                     compare: HeaderComparison| {
        if is_plainly_mirrored(lines, body) {
            mirrored += 1;
            return;
        }
        let wrong = compare(lines, body);
        if let Some(wrong) = wrong.filter(|wrong| required || *wrong != HeaderFault::Missing) {
            mismatches.push(HeaderMismatch::new(name, Some(argument.into()), wrong));
        }
    };

    // A notification may go without `_meta`; its version header then has nothing to agree with.
    if required || message.meta(meta::PROTOCOL_VERSION).is_some() {
        let argument = meta::path::PROTOCOL_VERSION;
        check(header::PROTOCOL_VERSION, argument, headers.version(), body_version(message), compare_exactly);
    }
    check(header::METHOD, "method", headers.method(), message.method(), compare_exactly);

    let Some(method) = message.method() else { return false };
    match name_key(method) {
        Some(key) => {
            let argument = match key {
                "uri" => "params.uri",
                "taskId" => "params.taskId",
                _ => "params.name",
            };
            let name = message.param(key).and_then(SpannedValue::text);
            check(header::NAME, argument, headers.name(), name, compare_decoded);
        }
        None if policy.strict && !headers.name().is_empty() && has_no_name(method) => {
            mismatches.push(HeaderMismatch::new(header::NAME, None, HeaderFault::NotHere));
        }
        None => {}
    }
    mirrored == 3
}

/// How a header is compared with what the body says.
type HeaderComparison = fn(&HeaderValues<'_>, Option<JsonString<'_>>) -> Option<HeaderFault>;

/// Whether a header is there and says what the body says to the letter. False says nothing.
fn is_plainly_mirrored(lines: &HeaderValues<'_>, body: Option<JsonString<'_>>) -> bool {
    lines.first().zip(body).is_some_and(|(value, body)| header::is_trivially_equal(value, body))
}

fn has_no_name(method: JsonString<'_>) -> bool {
    method.is(method::SERVER_DISCOVER) || method.decode().is_some_and(|method| method.ends_with("/list"))
}

/// A header that has one spelling for each value: plain where that is possible. Routers compare these as
/// text, so an encoded spelling of a plain value would slip past them.
fn compare_exactly(lines: &HeaderValues<'_>, body: Option<JsonString<'_>>) -> Option<HeaderFault> {
    let wrong = compare_decoded(lines, body);
    let plain = body.and_then(JsonString::decode).filter(|body| header::needs_no_encoding(body));
    match (wrong, lines.first(), plain) {
        (None, Some(value), Some(plain)) if value != plain.as_bytes() => Some(HeaderFault::Different),
        (wrong, ..) => wrong,
    }
}

/// A header that is compared after decoding.
fn compare_decoded(lines: &HeaderValues<'_>, body: Option<JsonString<'_>>) -> Option<HeaderFault> {
    match (lines.first(), body) {
        (None, None) => None,
        (None, Some(_)) => Some(HeaderFault::Missing),
        (Some(_), None) => Some(HeaderFault::Unexpected),
        (Some(value), Some(body)) => compare_value(value, body),
    }
}

fn compare_value(value: &[u8], body: JsonString<'_>) -> Option<HeaderFault> {
    if header::decodes_to(value, body) {
        return None;
    }
    Some(header::decode(value).err().map_or(HeaderFault::Different, HeaderFault::Undecodable))
}

fn language_preference<'a>(message: &Message<'a>) -> Option<JsonString<'a>> {
    message.meta(meta::ACCEPT_LANGUAGE)?.text()
}

/// `Accept-Language` against `_meta`, before any grammar is looked at. Returns a bare header that counts.
fn check_language<'a>(
    headers: &MirroredHeaders<'a>,
    message: &Message<'a>,
    policy: &HeaderPolicy,
    mismatches: &mut Vec<HeaderMismatch>,
) -> Option<Cow<'a, [u8]>> {
    if policy.language_header == LanguageHeaderPolicy::Ignore {
        return None;
    }
    let header = headers.accept_language().joined()?;
    if policy.language_header == LanguageHeaderPolicy::IgnoreWildcard && *header == *b"*" {
        return None;
    }
    match language_preference(message) {
        Some(body) => {
            if body.decode().is_none_or(|body| body.as_bytes() != &*header) {
                let body = body.decode().unwrap_or(Cow::Borrowed(body.as_written()));
                mismatches.push(HeaderMismatch::language(&String::from_utf8_lossy(&header), &body));
            }
            None
        }
        // Many programs send a lone `*` without having been told to. It says nothing (A1).
        None => {
            (policy.language_header == LanguageHeaderPolicy::Promote && *header != *b"*").then_some(header)
        }
    }
}

/// The tool whose schema is needed, where a declaration could be violated at all.
fn tool_to_check<'a>(
    headers: &MirroredHeaders<'_>,
    message: &Message<'a>,
    era: Era,
) -> Option<JsonString<'a>> {
    if era == Era::Legacy || !message.method()?.is(method::TOOLS_CALL) {
        return None;
    }
    let calls = message.kind() == MessageKind::Request && message.arguments().next().is_some();
    let tool = message.param("name")?.text()?;
    (calls || !headers.params().is_empty()).then_some(tool)
}
