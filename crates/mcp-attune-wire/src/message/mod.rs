//! One JSON-RPC message, read once from its bytes and never written again.
//!
//! 1. The body is one JSON value that can be read in one way only, or it is [`JsonParseError`].
//! 2. What the rules look at (`id`, `method`, `params`, its `_meta` and its `arguments`) is found on the way;
//!    each value knows where it stands.
//! 3. Nothing else is interpreted: unknown members, big numbers, escapes and white space stay as they came.
//! 4. Changing a message means [splicing](Message::splice): the bytes of a value are replaced, the rest stays.
//!
//! Half a surrogate pair (`"\ud83d"`) is legal JSON and passes; it equals nothing that a header can say.
//!
//! Rules: H13, H18.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

mod id;

pub use id::{Id, MAX_ID_BYTES};

use crate::json::{ByteSpan, JSON_WHITESPACE, JsonKind, JsonString, SpannedValue, splice};
use crate::protocol::method;
use crate::scan::case_fold::{self, KnownName, LocatedName};
use crate::scan::{ScannedName, Scanner, WantedName};
use result::ResultMember;

pub use crate::json::SpliceError;
pub use crate::protocol::meta;
pub use crate::scan::{JsonFault, JsonParseError, MAX_DEPTH};
pub use owned::OwnedMessage;
pub use result::ResultParts;

mod owned;
mod result;

/// The members that the rules read, in the three objects where MCP gives them a meaning. A name that differs from one of
/// these only in case is refused (H18), so a member that is read anywhere must stand here.
mod known {
    use super::{KnownName, meta};

    /// In the message itself.
    pub(super) static MESSAGE: [KnownName; 7] = [
        KnownName::from_static("jsonrpc"),
        KnownName::from_static("id"),
        KnownName::from_static("method"),
        KnownName::from_static("params"),
        KnownName::from_static("result"),
        KnownName::from_static("error"),
        KnownName::from_static("clientContext"),
    ];

    /// In `params`.
    pub(super) static PARAMS: [KnownName; 14] = [
        KnownName::from_static("name"),
        KnownName::from_static("_meta"),
        KnownName::from_static("arguments"),
        KnownName::from_static("uri"),
        KnownName::from_static("taskId"),
        KnownName::from_static("cursor"),
        KnownName::from_static("requestId"),
        KnownName::from_static("progressToken"),
        KnownName::from_static("protocolVersion"),
        KnownName::from_static("capabilities"),
        KnownName::from_static("clientInfo"),
        KnownName::from_static("inputResponses"),
        KnownName::from_static("requestState"),
        KnownName::from_static("notifications"),
    ];

    /// In `params._meta`.
    pub(super) static META: [KnownName; 10] = [
        KnownName::from_static(meta::PROTOCOL_VERSION),
        KnownName::from_static(meta::CLIENT_CAPABILITIES),
        KnownName::from_static(meta::CLIENT_INFO),
        KnownName::from_static(meta::ACCEPT_LANGUAGE),
        KnownName::from_static(meta::CONTENT_LANGUAGE),
        KnownName::from_static(meta::CLIENT_CONTEXT),
        KnownName::from_static(meta::SUBSCRIPTION_ID),
        KnownName::from_static(meta::RELATED_TASK),
        KnownName::from_static(meta::LOG_LEVEL),
        KnownName::from_static("progressToken"),
    ];
}

/// What a body is, before any rule is applied.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MessageKind {
    /// A method and an id: wants an answer.
    Request,
    /// A method without an id.
    Notification,
    /// A result or an error.
    Answer,
    /// An array of messages, which only legacy clients send.
    Batch,
    /// JSON, but no JSON-RPC 2.0 message.
    Other,
}

/// Whose member an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ParentObject {
    Message,
    Params,
    Meta,
    Arguments,
    Result,
}

#[derive(Clone, Copy, Debug)]
struct MessageMember {
    name: ScannedName,
    value: ByteSpan,
    place: ParentObject,
}

/// One message and where its parts stand.
///
/// ```
/// use mcp_attune_wire::message::{MessageKind, Message};
///
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call",
///     "params":{"name":"get_weather","arguments":{"location":"Bern"}}}"#;
/// let message = Message::parse(body)?;
/// assert_eq!(message.kind(), MessageKind::Request);
/// assert!(message.method().unwrap().is("tools/call"));
/// assert!(message.param("name").unwrap().text().unwrap().is("get_weather"));
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Message<'a> {
    text: &'a str,
    kind: MessageKind,
    /// In the order they stand in the body, an object's members after the object's own entry began.
    members: Vec<MessageMember>,
    /// Which of them belong to `_meta`, to the arguments and to the result: most lookups are for these.
    within: MemberRanges,
    /// The elements of a result's `content`.
    content: Vec<ByteSpan>,
    known: JsonRpcMembers,
}

/// Where the members of the three objects that are looked into most stand among all.
#[derive(Clone, Debug, Default)]
struct MemberRanges {
    meta: Range<usize>,
    arguments: Range<usize>,
    result: Range<usize>,
}

/// The members that say what kind of message it is.
#[derive(Clone, Copy, Debug, Default)]
struct JsonRpcMembers {
    version: Option<ByteSpan>,
    id: Option<ByteSpan>,
    method: Option<ByteSpan>,
    answers: bool,
}

impl JsonRpcMembers {
    fn record(&mut self, name: ScannedName, text: &str, value: ByteSpan) {
        let is = |wanted| name.is(&WantedName::new(wanted), text);
        match () {
            () if is("jsonrpc") => self.version = Some(value),
            () if is("id") => self.id = Some(value),
            () if is("method") => self.method = Some(value),
            () if is("result") || is("error") => self.answers = true,
            () => {}
        }
    }

    /// A message that could be taken for two kinds at once is none.
    fn kind(self, text: &str) -> MessageKind {
        let value = |span: Option<ByteSpan>| span.map(|span| SpannedValue::new(text, span));
        if !value(self.version).and_then(SpannedValue::text).is_some_and(|version| version.is("2.0")) {
            return MessageKind::Other;
        }
        match (
            value(self.method).map(SpannedValue::kind),
            value(self.id).map(SpannedValue::kind),
            self.answers,
        ) {
            (Some(JsonKind::String), Some(JsonKind::String | JsonKind::Number), false) => {
                MessageKind::Request
            }
            (Some(JsonKind::String), None, false) => MessageKind::Notification,
            (None, _, true) => MessageKind::Answer,
            _ => MessageKind::Other,
        }
    }
}

impl<'a> Message<'a> {
    /// Reads a body. One pass, no recursion, memory in proportion to the body.
    ///
    /// # Errors
    ///
    /// What is not one JSON value, has more than 127 brackets open at once, is not UTF-8, or has a member
    /// name twice in one object is [`JsonParseError`]. Rules: H13.
    pub fn parse(body: &'a [u8]) -> Result<Self, JsonParseError> {
        #[cfg(feature = "count-readings")]
        crate::readings::count();
        let mut scanner = Scanner::new(body)?;
        let (mut members, mut content) = (Vec::new(), Vec::new());
        let (mut within, mut known) = (MemberRanges::default(), JsonRpcMembers::default());
        let first = scanner.peek()?;
        if first == b'{' {
            members.reserve(16);
            let mut parts =
                PartCollector { members: &mut members, within: &mut within, content: &mut content };
            read_message(&mut scanner, &mut parts, &mut known)?;
        } else {
            scanner.read_value()?;
        }
        scanner.expect_end()?;
        let text = scanner.text();
        let kind = if first == b'[' { MessageKind::Batch } else { known.kind(text) };
        Ok(Self { text, kind, members, within, content, known })
    }

    /// Refuses names that a parser which ignores case would take for others: in the message, in its `params` and in their
    /// `_meta`, no two names may be equal after simple case folding, nor may one be equal to a name that is read there
    /// without being it. [`agree`](crate::agree) asks this of everything that a caller sends, and the same of the
    /// arguments that the tool's schema declares. What stands in other objects, and in batches, is not looked at.
    ///
    /// ```
    /// use mcp_attune_wire::message::{JsonFault, Message};
    ///
    /// let body = br#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#;
    /// let unreadable = Message::parse(body)?.check_case().unwrap_err();
    /// assert_eq!((unreadable.fault, unreadable.at), (JsonFault::NameDiffersInCase, 40));
    /// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`JsonFault::NameDiffersInCase`] and where that name stands. Rules: H18.
    pub fn check_case(&self) -> Result<(), JsonParseError> {
        let is_known = |place, found: &LocatedName<'_>| {
            Self::known_names(place).is_none_or(|known| known.iter().any(|known| known.is(found)))
        };
        // Most messages have no other names than the known ones, and there is nothing else to ask then.
        let mut members = self.members.iter();
        if members.all(|member| is_known(member.place, &LocatedName::new(member.name, self.text))) {
            return Ok(());
        }
        [ParentObject::Message, ParentObject::Params, ParentObject::Meta].into_iter().try_for_each(|place| {
            let known = Self::known_names(place).unwrap_or_default();
            case_fold::check(self.names_in(place), &known.iter(), |found| is_known(place, found))
        })
    }

    /// The names that are known in one place; `None` where they are the tool's own.
    #[inline]
    fn known_names(place: ParentObject) -> Option<&'static [KnownName]> {
        match place {
            ParentObject::Message => Some(&known::MESSAGE),
            ParentObject::Params => Some(&known::PARAMS),
            ParentObject::Meta => Some(&known::META),
            ParentObject::Arguments | ParentObject::Result => None,
        }
    }

    /// The names of the arguments, to be compared without case.
    pub(crate) fn argument_names(&self) -> impl Iterator<Item = LocatedName<'a>> + Clone {
        self.names_in(ParentObject::Arguments)
    }

    fn names_in(&self, place: ParentObject) -> impl Iterator<Item = LocatedName<'a>> + Clone {
        let here = self.members(place).iter().filter(move |member| member.place == place);
        let text = self.text;
        here.map(move |member| LocatedName::new(member.name, text))
    }

    /// The whole body as text.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The whole body as a value, whatever it is.
    #[must_use]
    pub fn body(&self) -> SpannedValue<'a> {
        SpannedValue::from_checked_text(self.text)
    }

    /// What kind of message it is.
    #[must_use]
    pub fn kind(&self) -> MessageKind {
        self.kind
    }

    /// The id as written; [`Id`] says which of them are equal.
    #[must_use]
    pub fn id(&self) -> Option<SpannedValue<'a>> {
        self.known.id.map(|id| SpannedValue::new(self.text, id))
    }

    /// The method, if it is a string.
    #[must_use]
    pub fn method(&self) -> Option<JsonString<'a>> {
        self.known.method.and_then(|method| SpannedValue::new(self.text, method).text())
    }

    /// The method where it is one of MCP's own: a name that can be counted by, however many others callers make up.
    #[must_use]
    pub fn known_method(&self) -> Option<&'static str> {
        let method = self.method()?.decode()?;
        let found = method::ALL.binary_search(&&*method).ok()?;
        method::ALL.get(found).copied()
    }

    /// Whether it has a `result`, as an answer to a request that succeeded.
    #[must_use]
    pub fn is_result(&self) -> bool {
        self.member("result").is_some()
    }

    /// Whether it has an `error`, as an answer to a request that failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.member("error").is_some()
    }

    /// The code of its `error`; `None` where it has no error, or that has no code.
    #[must_use]
    pub fn error_code(&self) -> Option<i32> {
        self.member("error")?.member("code")?.raw().parse().ok()
    }

    /// The messages of a batch, as far as they can be read one by one; `None` where it is no batch.
    ///
    /// ```
    /// use mcp_attune_wire::message::Message;
    ///
    /// let batch = br#"[{"jsonrpc":"2.0","method":"a"}, {"jsonrpc":"2.0","id":1,"method":"b"}]"#;
    /// let messages = Message::parse(batch)?.batch().unwrap();
    /// assert!(messages.iter().map(|message| message.method().unwrap()).all(|method| method.is("a") || method.is("b")));
    /// assert!(messages.iter().all(|message| message.batch().is_none()));
    /// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
    /// ```
    #[must_use]
    pub fn batch(&self) -> Option<Vec<Self>> {
        let read = |part: SpannedValue<'a>| Message::parse(part.raw().as_bytes()).ok();
        (self.kind == MessageKind::Batch).then(|| self.body().elements().filter_map(read).collect())
    }

    /// A member of the message itself, such as `params` or a sibling `clientContext`.
    #[must_use]
    #[inline]
    pub fn member(&self, name: &str) -> Option<SpannedValue<'a>> {
        self.find_member_value(ParentObject::Message, name)
    }

    /// Where a member of the message itself stands, from its name to its value and with one of the commas around it:
    /// replaced by nothing, the member is gone and the rest is whole.
    #[must_use]
    pub fn member_removal_span(&self, name: &str) -> Option<ByteSpan> {
        self.find_removal_span(ParentObject::Message, name)
    }

    /// The same for a member of `params._meta`.
    #[must_use]
    pub fn meta_removal_span(&self, key: &str) -> Option<ByteSpan> {
        self.find_removal_span(ParentObject::Meta, key)
    }

    /// The place right inside the bracket that opens the message, where a first member can be put; none where the body
    /// is no object.
    #[must_use]
    pub fn opening(&self) -> Option<ByteSpan> {
        let start = self.text.find('{').filter(|_| !self.members.is_empty())?;
        Some(ByteSpan::new(start + 1, start + 1))
    }

    /// A member of `params`, such as `name`, `uri`, `taskId`, `arguments` or `_meta`.
    #[must_use]
    #[inline]
    pub fn param(&self, name: &str) -> Option<SpannedValue<'a>> {
        self.find_member_value(ParentObject::Params, name)
    }

    /// A member of `params._meta`; the keys have names in [`meta`].
    #[must_use]
    #[inline]
    pub fn meta(&self, key: &str) -> Option<SpannedValue<'a>> {
        self.find_member_value(ParentObject::Meta, key)
    }

    /// The members of `params.arguments`, in the order they stand in.
    pub fn arguments(&self) -> impl Iterator<Item = (JsonString<'a>, SpannedValue<'a>)> {
        let members = self.members(ParentObject::Arguments).iter();
        members.map(|member| (member.name.text(self.text), self.value(member)))
    }

    /// The members of `result`, in the order they stand in: found while the message was read, so that nobody has to go over
    /// a large result again to look into it.
    pub fn result_members(&self) -> impl Iterator<Item = (JsonString<'a>, SpannedValue<'a>)> {
        let members = self.members(ParentObject::Result).iter();
        members.map(|member| (member.name.text(self.text), self.value(member)))
    }

    /// The result taken apart; `None` where there is none.
    #[must_use]
    pub fn result_parts(&self) -> Option<ResultParts<'a>> {
        let result = self.member("result")?;
        let part = |member: &MessageMember| ResultMember {
            start: member.name.start(),
            name: member.name.text(self.text),
            value: self.value(member),
        };
        let members = self.members(ParentObject::Result).iter().map(part).collect();
        Some(ResultParts::new(result, members, self.result_content().collect()))
    }

    /// The elements of `result.content`, found in the same way; none where it is no array.
    pub fn result_content(&self) -> impl Iterator<Item = SpannedValue<'a>> {
        self.content.iter().map(|place| SpannedValue::new(self.text, *place))
    }

    /// The body with the values at these spans replaced and every other byte as it was.
    ///
    /// Spans may be given in any order. One that overlaps an earlier one, or lies outside the body, changes
    /// nothing and is reported, because two edits of one place cannot both be right. What is inserted at one place
    /// keeps its order.
    ///
    /// ```
    /// use mcp_attune_wire::message::Message;
    ///
    /// let body = br#"{"jsonrpc":"2.0", "id":1, "method":"ping"}"#;
    /// let message = Message::parse(body)?;
    /// let spliced = message.splice(&[(message.id().unwrap().span(), "\"a\"")])?;
    /// assert_eq!(spliced, r#"{"jsonrpc":"2.0", "id":"a", "method":"ping"}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpliceError`] as said above.
    pub fn splice(&self, edits: &[(ByteSpan, &str)]) -> Result<String, SpliceError> {
        splice(self.text, edits)
    }

    /// All members of one place, and maybe others.
    fn members(&self, place: ParentObject) -> &[MessageMember] {
        let within = match place {
            ParentObject::Message | ParentObject::Params => return &self.members,
            ParentObject::Meta => &self.within.meta,
            ParentObject::Arguments => &self.within.arguments,
            ParentObject::Result => &self.within.result,
        };
        self.members.get(within.clone()).unwrap_or_default()
    }

    fn find_member(&self, place: ParentObject, wanted: &WantedName<'_>) -> Option<&MessageMember> {
        let here = |member: &&MessageMember| member.place == place && member.name.is(wanted, self.text);
        self.members(place).iter().find(here)
    }

    /// Names are mostly known when this is compiled, and made ready then.
    #[inline]
    fn find_member_value(&self, place: ParentObject, name: &str) -> Option<SpannedValue<'a>> {
        self.find_member(place, &WantedName::new(name)).map(|member| self.value(member))
    }

    /// A member from its name to its value, with one of the commas around it.
    fn find_removal_span(&self, place: ParentObject, name: &str) -> Option<ByteSpan> {
        let member = self.find_member(place, &WantedName::new(name))?;
        // The quote before the name is the first byte of the member.
        let (start, end) = (member.name.start().checked_sub(1)?, member.value.end());
        let after = self.text.get(end..)?;
        let next = after.trim_start_matches(JSON_WHITESPACE);
        if next.starts_with(',') {
            return Some(ByteSpan::new(start, end + (after.len() - next.len()) + 1));
        }
        let before = self.text.get(..start)?.trim_end_matches(JSON_WHITESPACE);
        Some(ByteSpan::new(before.strip_suffix(',').map_or(start, str::len), end))
    }

    fn value(&self, member: &MessageMember) -> SpannedValue<'a> {
        SpannedValue::new(self.text, member.value)
    }
}

/// What is found on the way through a message.
struct PartCollector<'p> {
    members: &'p mut Vec<MessageMember>,
    within: &'p mut MemberRanges,
    content: &'p mut Vec<ByteSpan>,
}

fn read_message(
    scanner: &mut Scanner<'_>,
    parts: &mut PartCollector<'_>,
    known: &mut JsonRpcMembers,
) -> Result<(), JsonParseError> {
    let (params, result) = (WantedName::new("params"), WantedName::new("result"));
    scanner.read_object(&mut |scanner, name| {
        let is = |wanted| name.is(wanted, scanner.text());
        let (is_params, is_result) = (is(&params), is(&result));
        let value = match () {
            () if is_params && scanner.peek()? == b'{' => read_params(scanner, parts.members, parts.within)?,
            () if is_result && scanner.peek()? == b'{' => read_result(scanner, parts)?,
            () => scanner.read_value()?,
        };
        known.record(name, scanner.text(), value);
        parts.members.push(MessageMember { name, value, place: ParentObject::Message });
        Ok(())
    })?;
    Ok(())
}

fn read_result(scanner: &mut Scanner<'_>, parts: &mut PartCollector<'_>) -> Result<ByteSpan, JsonParseError> {
    let content = WantedName::new("content");
    let first = parts.members.len();
    let value = scanner.read_object(&mut |scanner, name| {
        let is_content = name.is(&content, scanner.text()) && scanner.peek()? == b'[';
        let value = if is_content {
            scanner.read_array(|scanner| {
                let block = scanner.read_value()?;
                parts.content.push(block);
                Ok(())
            })?
        } else {
            scanner.read_value()?
        };
        parts.members.push(MessageMember { name, value, place: ParentObject::Result });
        Ok(())
    })?;
    parts.within.result = first..parts.members.len();
    Ok(value)
}

fn read_params(
    scanner: &mut Scanner<'_>,
    members: &mut Vec<MessageMember>,
    within: &mut MemberRanges,
) -> Result<ByteSpan, JsonParseError> {
    let (meta, arguments) = (WantedName::new("_meta"), WantedName::new("arguments"));
    scanner.read_object(&mut |scanner, name| {
        let text = scanner.text();
        let inside = match () {
            () if name.is(&meta, text) => Some(ParentObject::Meta),
            () if name.is(&arguments, text) => Some(ParentObject::Arguments),
            () => None,
        };
        let value = match inside {
            Some(place) if scanner.peek()? == b'{' => {
                let first = members.len();
                let value = scanner.read_object(&mut |scanner, name| {
                    let value = scanner.read_value()?;
                    members.push(MessageMember { name, value, place });
                    Ok(())
                })?;
                let found = first..members.len();
                match place {
                    ParentObject::Meta => within.meta = found,
                    _ => within.arguments = found,
                }
                value
            }
            _ => scanner.read_value()?,
        };
        members.push(MessageMember { name, value, place: ParentObject::Params });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_every_method_of_the_list() {
        assert!(method::ALL.is_sorted());
        for &method in method::ALL {
            let body = alloc::format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
            assert_eq!(Message::parse(body.as_bytes()).unwrap().known_method(), Some(method));
        }
        let other = Message::parse(br#"{"jsonrpc":"2.0","id":1,"method":"tools/cal"}"#).unwrap();
        assert_eq!(other.known_method(), None);
    }

    fn kind(body: &str) -> MessageKind {
        Message::parse(body.as_bytes()).unwrap().kind()
    }

    #[test]
    fn tells_the_kinds_apart() {
        for (body, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, MessageKind::Request),
            (r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#, MessageKind::Request),
            (r#"{"method":"ping","id":1e2,"jsonrpc":"2.0"}"#, MessageKind::Request),
            (r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, MessageKind::Notification),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, MessageKind::Answer),
            (r#"{"jsonrpc":"2.0","error":{"code":1}}"#, MessageKind::Answer),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, MessageKind::Batch),
            (r#"[]"#, MessageKind::Batch),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, MessageKind::Other),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, MessageKind::Other),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, MessageKind::Other),
            (r#"{"jsonrpc":"2.0","id":1}"#, MessageKind::Other),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, MessageKind::Other),
            (r#"{"id":1,"method":"ping"}"#, MessageKind::Other),
            (r#""ping""#, MessageKind::Other),
            (r#"null"#, MessageKind::Other),
        ] {
            assert_eq!(kind(body), expected, "{body}");
        }
    }

    #[test]
    fn finds_parts_whatever_their_order_and_spelling() {
        let body = r#" { "params" : {"arguments": {"a":1,"b":[2]}, "n\u0061me":"x",
            "_meta":{"io.modelcontextprotocol/acceptLanguage":"de"}},"clientContext":{"locale":"de"},
            "method":"tools\/call","id":007e1, "jsonrpc":"2.0"}"#
            .replace("007e1", "7e1");
        let message = Message::parse(body.as_bytes()).unwrap();
        assert_eq!(message.id().unwrap().raw(), "7e1");
        assert!(message.method().unwrap().is("tools/call"));
        assert_eq!(message.param("name").unwrap().raw(), "\"x\"");
        assert_eq!(message.param("arguments").unwrap().raw(), r#"{"a":1,"b":[2]}"#);
        assert_eq!(message.meta(meta::ACCEPT_LANGUAGE).unwrap().raw(), "\"de\"");
        assert_eq!(message.member("clientContext").unwrap().raw(), r#"{"locale":"de"}"#);
        let arguments: Vec<_> =
            message.arguments().map(|(name, value)| (name.as_written(), value.raw())).collect();
        assert_eq!(arguments, [("a", "1"), ("b", "[2]")]);
        assert_eq!(message.member("nothing"), None);
    }

    #[test]
    fn spans_point_at_the_bytes_of_their_values() {
        let body = r#"{"jsonrpc":"2.0","id": "ä" ,"method":"m","params":{"_meta":{"k":{"v":"\u00e9"}}}}"#;
        let message = Message::parse(body.as_bytes()).unwrap();
        for value in [message.id(), message.member("params"), message.param("_meta"), message.meta("k")] {
            let value = value.unwrap();
            assert_eq!(&body[value.span().range()], value.raw());
        }
        assert_eq!(message.id().unwrap().raw(), "\"ä\"");
    }

    #[test]
    fn counts_by_the_methods_of_mcp_only() {
        for (method, known) in
            [("tools/call", Some("tools/call")), ("tools\\/call", Some("tools/call")), ("x-mine", None)]
        {
            let body = alloc::format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
            assert_eq!(Message::parse(body.as_bytes()).unwrap().known_method(), known);
        }
        assert_eq!(Message::parse(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap().known_method(), None);
    }

    #[test]
    fn params_that_are_no_object_have_no_members() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":["name"]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":["k"],"arguments":3}}"#,
        ] {
            let message = Message::parse(body.as_bytes()).unwrap();
            assert_eq!(message.meta("k"), None);
            assert_eq!(message.arguments().count(), 0);
        }
    }

    #[test]
    fn splices_only_the_bytes_of_the_value() {
        let body = "{ \"jsonrpc\":\"2.0\",\t\"id\": 1, \"method\":\"m\",\"params\":{ \"a\" : 1.0 , \"b\":\"\\u0061\"} }";
        let message = Message::parse(body.as_bytes()).unwrap();
        let (id, a) = (message.id().unwrap().span(), message.param("a").unwrap().span());
        let spliced = message.splice(&[(a, "[2]"), (id, "\"x\"")]).unwrap();
        assert_eq!(spliced, body.replace("1.0", "[2]").replace("\"id\": 1,", "\"id\": \"x\","));
        assert_eq!(message.splice(&[]).unwrap(), body);
    }

    #[test]
    fn takes_a_member_out_wherever_it_stands() {
        for (body, rest) in [
            (r#"{"x":{"y":1},"jsonrpc":"2.0"}"#, r#"{"jsonrpc":"2.0"}"#),
            (r#"{"jsonrpc":"2.0","x":[",}"],"id":1}"#, r#"{"jsonrpc":"2.0","id":1}"#),
            ("{ \"id\" : 1 ,\n \"x\" : 2 \t}", "{ \"id\" : 1  \t}"),
            ("{ \"\\u0078\" : null , \"id\":1}", "{  \"id\":1}"),
            (r#"{"x":","}"#, "{}"),
        ] {
            let message = Message::parse(body.as_bytes()).unwrap();
            let gone = message.splice(&[(message.member_removal_span("x").unwrap(), "")]).unwrap();
            assert_eq!(gone, rest);
            Message::parse(gone.as_bytes()).unwrap();
        }
        let nested = Message::parse(br#"{"params":{"x":1}}"#).unwrap();
        assert_eq!(nested.member_removal_span("x"), None);
    }

    #[test]
    fn takes_a_member_of_meta_out_and_puts_one_into_the_message() {
        let body = r#" {"params":{"_meta":{"x":{"y":1}, "z":2},"x":3}}"#;
        let message = Message::parse(body.as_bytes()).unwrap();
        let edits =
            [(message.meta_removal_span("x").unwrap(), ""), (message.opening().unwrap(), "\"id\":1,")];
        assert_eq!(message.splice(&edits).unwrap(), r#" {"id":1,"params":{"_meta":{ "z":2},"x":3}}"#);
        assert_eq!(message.meta_removal_span("y"), None);
        for none in ["[{}]", "\"{\"", "{}"] {
            assert_eq!(Message::parse(none.as_bytes()).unwrap().opening(), None, "{none}");
        }
    }

    #[test]
    fn refuses_to_splice_one_place_twice() {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#;
        let message = Message::parse(body.as_bytes()).unwrap();
        let (params, a) = (message.member("params").unwrap().span(), message.param("a").unwrap().span());
        assert_eq!(message.splice(&[(a, "2"), (params, "{}")]), Err(SpliceError { at: a }));
        assert_eq!(message.splice(&[(a, "2"), (a, "3")]), Err(SpliceError { at: a }));
        let other = Message::parse(br#"{"a":1}"#).unwrap();
        assert_eq!(other.splice(&[(a, "2")]), Err(SpliceError { at: a }));
    }
}
