//! Records answers as they came, beside what rmcp makes of them.
//!
//! rmcp reads an answer into its own types and drops the members that they do not have. Both transports, HTTP
//! and pipes, show every message to [`WireRecorder`] before rmcp sees it. A request that wants its answer as
//! text carries an [`AnswerSlot`] among its extensions, which never leave this program. The recorder knows the
//! slots of the requests that are on their way and nothing else, so it holds no more than is being waited for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use mcp_attune::cache::ChangeNotification;
use mcp_attune::language::ContentLanguage;
use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::protocol::method;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetExtensions, RequestId};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::cache::AnswerCache;
use super::error::ClientError;
use super::host::{ClientHost, WireEvent};
use super::sanitize::sanitized;

/// The method by which a legacy server asks a person.
pub(crate) const ELICITATION_METHOD: &str = method::ELICITATION_CREATE;
/// Maximum number of questions whose text is kept until they are answered. Of further ones rmcp's reading is
/// used.
const MAX_OPEN_ELICITATIONS: usize = 16;

/// Where the answer to one request is put: the `result` as it was written, or why there is none that can be
/// used. It is set at most once.
pub(crate) type AnswerSlot = Arc<AnswerCell>;
type AnswerCell = OnceLock<Result<Box<RawValue>, ClientError>>;

/// What a connection saw on the wire that rmcp does not tell. One for each attempt to connect, shared by its
/// transport, its handler and its requests.
#[derive(Default, Debug)]
pub(crate) struct WireRecorder {
    seen: Mutex<WireRecords>,
    /// The cache that is told of changes at the server, and the name of the server in it.
    told: OnceLock<(Arc<AnswerCache>, Arc<str>)>,
    host: Option<Arc<dyn ClientHost>>,
}

/// The records, behind one lock.
#[derive(Default, Debug)]
struct WireRecords {
    /// The slots of requests that are on their way. They are weak: a request that nobody waits for any more is
    /// cleaned up when the next one is sent.
    waiting: HashMap<RequestId, Weak<AnswerCell>>,
    /// The latest `server/discover` or `initialize`, with the slot of its answer.
    introduction: Option<IntroductionRequest>,
    /// The id of a `server/discover` that was given up for an `initialize`. A late answer to it is dropped.
    given_up: Option<RequestId>,
    /// The `params` of the server's open `elicitation/create` requests, as they were written.
    questions: HashMap<RequestId, Box<RawValue>>,
    /// The first thing that came and is not a message, safe to show.
    stray: Option<String>,
    /// The latest failure of the transport, which rmcp reports in fewer words or not at all.
    trouble: Option<ClientError>,
    /// Whether a program ended without having read anything that it was sent.
    unread: bool,
}

/// A request by which the server is asked to introduce itself.
#[derive(Debug)]
struct IntroductionRequest {
    id: RequestId,
    method: &'static str,
    slot: AnswerSlot,
}

/// A message with an id, and its result if it is a successful answer.
#[derive(Deserialize)]
struct AnswerResultView<'a> {
    id: RequestId,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

/// A message with an id, of which only matters whether it is an answer.
#[derive(Deserialize)]
struct AnswerKindView {
    id: RequestId,
    result: Option<serde::de::IgnoredAny>,
    error: Option<serde::de::IgnoredAny>,
}

impl AnswerKindView {
    fn is_answer(&self) -> bool {
        self.result.is_some() || self.error.is_some()
    }
}

/// A request of the server.
#[derive(Deserialize)]
struct ServerRequestView<'a> {
    id: RequestId,
    method: String,
    #[serde(borrow)]
    params: &'a RawValue,
}

/// The places where an answer can say its language: the `_meta` of its result, or of the `data` of its error.
#[derive(Deserialize)]
struct AnswerMetaView {
    result: Option<ResultMetaView>,
    error: Option<ErrorDataView>,
}

#[derive(Deserialize)]
struct ErrorDataView {
    data: Option<ResultMetaView>,
}

#[derive(Deserialize)]
struct ResultMetaView {
    #[serde(rename = "_meta")]
    meta: Option<HashMap<String, Box<RawValue>>>,
}

/// Returns what the `Content-Language` header of an answer and its `_meta` say, if they do not say the same.
/// `None` if they agree or `_meta` says nothing.
///
/// Rules: L16.
pub(crate) fn language_contradiction(header: &str, answer: &[u8]) -> Option<String> {
    let AnswerMetaView { result, error } = serde_json::from_slice(answer).ok()?;
    let inside = result.or_else(|| error?.data)?;
    let reported: String = serde_json::from_str(inside.meta?.get(meta::CONTENT_LANGUAGE)?.get()).ok()?;
    if ContentLanguage::agree(header, &reported) {
        return None;
    }
    let (header, reported) = (sanitized(header), sanitized(&reported));
    Some(format!("`Content-Language: {header}`, and `{reported}` in its `_meta`"))
}

impl WireRecorder {
    pub(crate) fn new(host: Option<Arc<dyn ClientHost>>) -> Self {
        Self { host, ..Self::default() }
    }

    /// Tells the host, if there is one, what goes over the wire.
    pub(crate) fn notify_host(&self, wire: &WireEvent<'_>) {
        if let Some(host) = &self.host {
            host.on_wire_event(wire);
        }
    }

    fn with_records<T>(&self, look: impl FnOnce(&mut WireRecords) -> T) -> T {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records that a message is about to be sent: registers its slot, or that the server is asked to introduce
    /// itself.
    pub(crate) fn record_sent(&self, message: &ClientJsonRpcMessage) {
        let ClientJsonRpcMessage::Request(request) = message else { return };
        let id = request.id.clone();
        let first = match request.request {
            ClientRequest::DiscoverRequest(_) => Some(method::SERVER_DISCOVER),
            ClientRequest::InitializeRequest(_) => Some(method::INITIALIZE),
            _ => None,
        };
        let slot = request.request.extensions().get::<AnswerSlot>();
        self.with_records(|seen| {
            if let Some(method) = first {
                if method == method::INITIALIZE {
                    seen.given_up = seen.introduction.take().map(|asked| asked.id);
                }
                seen.introduction = Some(IntroductionRequest { id, method, slot: AnswerSlot::default() });
            } else if let Some(slot) = slot {
                seen.waiting.retain(|_, slot| slot.strong_count() > 0);
                seen.waiting.insert(id, Arc::downgrade(slot));
            }
        });
    }

    /// Returns the id of a `server/discover`, which legacy servers may not know and not answer. `None` for
    /// other messages.
    pub(crate) fn discover_request_id(&self, message: &ClientJsonRpcMessage) -> Option<RequestId> {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                matches!(request.request, ClientRequest::DiscoverRequest(_)).then(|| request.id.clone())
            }
            _ => None,
        }
    }

    /// Returns whether a message answers the `server/discover` that was given up.
    pub(crate) fn is_answer_to_abandoned(&self, message: &[u8]) -> bool {
        let Some(given_up) = self.with_records(|seen| seen.given_up.clone()) else { return false };
        let answer: Result<AnswerKindView, _> = serde_json::from_slice(message);
        answer.is_ok_and(|answer| answer.is_answer() && answer.id == given_up)
    }

    /// Has changes at the server told to a cache from now on, in which the server is known as `server`.
    pub(crate) fn attach_cache(&self, cache: &Arc<AnswerCache>, server: &Arc<str>) {
        let _ = self.told.set((cache.clone(), server.clone()));
    }

    /// Records a message that came. `malformed` says that it contradicts what came with it, and becomes the
    /// answer to its request.
    pub(crate) fn record_received(&self, message: &[u8], malformed: Option<ClientError>) {
        let Ok(AnswerResultView { id, result }) = serde_json::from_slice(message) else {
            return self.record_notification(message);
        };
        match (malformed, result) {
            (Some(error), _) => self.settle(&id, Err(error)),
            (None, Some(result)) => self.settle(&id, Ok(result)),
            (None, None) => self.record_question(message),
        }
    }

    /// Keeps the text of a question of the server, if the host can answer it.
    fn record_question(&self, message: &[u8]) {
        let Some(host) = &self.host else { return };
        match serde_json::from_slice(message) {
            Ok(ServerRequestView { id, method, params })
                if method == ELICITATION_METHOD && host.can_answer() =>
            {
                self.with_records(|seen| {
                    if seen.questions.len() < MAX_OPEN_ELICITATIONS {
                        seen.questions.insert(id, params.to_owned());
                    }
                });
            }
            _ => {}
        }
    }

    /// Returns the text of a question and forgets it.
    pub(crate) fn take_question(&self, id: &RequestId) -> Option<Box<RawValue>> {
        self.with_records(|seen| seen.questions.remove(id))
    }

    /// Tells the cache if a notification says that something changed.
    fn record_notification(&self, message: &[u8]) {
        let Some((cache, server)) = self.told.get() else { return };
        if let Some(change) = Message::parse(message).ok().as_ref().and_then(ChangeNotification::read) {
            cache.invalidate(server, &change);
        }
    }

    /// Puts the answer to a request, or why there is none, into its slot. A second answer to the same request
    /// is ignored.
    pub(crate) fn settle(&self, id: &RequestId, answer: Result<&RawValue, ClientError>) {
        self.with_records(|seen| {
            let introduction = seen.introduction.as_ref().filter(|asked| asked.id == *id);
            let slot = introduction.map(|asked| asked.slot.clone());
            if let Some(slot) = slot.or_else(|| seen.waiting.remove(id)?.upgrade()) {
                // A second answer to one question is nobody's.
                let _ = slot.set(answer.map(RawValue::to_owned));
            }
        });
    }

    /// Returns what the server answered when it was asked to introduce itself. `None` if it has not, or not in
    /// a usable way.
    pub(crate) fn introduction(&self) -> Option<Box<RawValue>> {
        self.checked_introduction().ok().flatten()
    }

    /// Returns the same, or why the answer cannot be trusted.
    pub(crate) fn checked_introduction(&self) -> Result<Option<Box<RawValue>>, ClientError> {
        let said = self.with_records(|seen| seen.introduction.as_ref()?.slot.get().cloned());
        said.transpose()
    }

    /// Returns the method by which the server was last asked to introduce itself.
    pub(crate) fn introduction_method(&self) -> &'static str {
        self.with_records(|seen| {
            seen.introduction.as_ref().map_or(method::SERVER_DISCOVER, |asked| asked.method)
        })
    }

    /// Records something that came and is not a message. The first is kept, at most 1024 bytes of it, to be
    /// shown in an error if no answer comes.
    pub(crate) fn record_stray(&self, text: &[u8]) {
        self.with_records(|seen| {
            seen.stray.get_or_insert_with(|| {
                let start = text.get(..1024).unwrap_or(text);
                sanitized(&String::from_utf8_lossy(start))
            });
        });
    }

    pub(crate) fn first_stray(&self) -> Option<String> {
        self.with_records(|seen| seen.stray.clone())
    }

    /// Records a failure of the transport, which rmcp may report in fewer words or not at all.
    pub(crate) fn record_failure(&self, error: &ClientError) {
        self.with_records(|seen| seen.trouble = Some(error.clone()));
    }

    /// Records a failure as the answer to the request that it happened to, if that waits for one, else as one
    /// of the transport.
    pub(crate) fn record_failure_for(&self, request: Option<&RequestId>, error: &ClientError) {
        let waits = |id: &&RequestId| self.with_records(|seen| seen.waiting.contains_key(*id));
        match request.filter(waits) {
            Some(id) => self.settle(id, Err(error.clone())),
            None => self.record_failure(error),
        }
    }

    /// Records that a program ended and had read nothing of what it was sent.
    pub(crate) fn record_ended_unread(&self) {
        self.with_records(|seen| seen.unread = true);
    }

    /// Returns whether what was sent was read, as far as that is known.
    pub(crate) fn was_input_read(&self) -> bool {
        self.with_records(|seen| !seen.unread)
    }

    pub(crate) fn last_failure(&self) -> Option<ClientError> {
        self.with_records(|seen| seen.trouble.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::CustomRequest;

    fn request(id: i64, slot: &AnswerSlot) -> ClientJsonRpcMessage {
        let mut request = CustomRequest::new("x", None);
        request.extensions.insert(slot.clone());
        ClientJsonRpcMessage::request(ClientRequest::CustomRequest(request), RequestId::Number(id))
    }

    #[test]
    fn keeps_the_answer_to_a_question_as_it_was_written() {
        let (kept, slot, other) = (WireRecorder::default(), AnswerSlot::default(), AnswerSlot::default());
        kept.record_sent(&request(1, &slot));
        kept.record_sent(&request(2, &other));
        kept.record_received(br#"{"jsonrpc":"2.0","id":3,"result":{}}"#, None);
        kept.record_received(
            br#"{"jsonrpc":"2.0","id":1,"result":{ "z":1.0,"a":12345678901234567890123 }}"#,
            None,
        );
        kept.record_received(br#"{"jsonrpc":"2.0","id":1,"result":{"second":true}}"#, None);
        assert_eq!(slot.get().unwrap().as_ref().unwrap().get(), r#"{ "z":1.0,"a":12345678901234567890123 }"#);
        assert!(other.get().is_none());
    }

    #[test]
    fn a_string_is_not_the_id_of_a_question_that_has_a_number() {
        let (kept, slot) = (WireRecorder::default(), AnswerSlot::default());
        kept.record_sent(&request(1, &slot));
        kept.record_received(br#"{"jsonrpc":"2.0","id":"1","result":{"of":"another"}}"#, None);
        assert!(slot.get().is_none());
        kept.record_received(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#, None);
        assert_eq!(slot.get().unwrap().as_ref().unwrap().get(), "{}");
    }

    #[test]
    fn an_answer_to_a_question_that_was_given_up_is_late() {
        use rmcp::model::{
            ClientConfig, DiscoverRequest, DiscoverRequestParams, InitializeRequest, ProtocolVersion,
        };
        let kept = WireRecorder::default();
        let (result, error) = (
            br#"{"jsonrpc":"2.0","id":0,"result":{}}"#.as_slice(),
            br#"{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":""}}"#.as_slice(),
        );
        let discover = DiscoverRequest::new(DiscoverRequestParams {});
        let discover = ClientRequest::DiscoverRequest(discover);
        kept.record_sent(&ClientJsonRpcMessage::request(discover, RequestId::Number(0)));
        assert!(!kept.is_answer_to_abandoned(result) && !kept.is_answer_to_abandoned(error));
        let us = ClientConfig::default().with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let initialize = ClientRequest::InitializeRequest(InitializeRequest::new(us));
        kept.record_sent(&ClientJsonRpcMessage::request(initialize, RequestId::Number(1)));
        assert!(kept.is_answer_to_abandoned(result) && kept.is_answer_to_abandoned(error));
        assert!(!kept.is_answer_to_abandoned(br#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#));
        assert!(!kept.is_answer_to_abandoned(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    }

    #[test]
    fn sees_where_an_answer_says_two_languages() {
        let key = "io.modelcontextprotocol/contentLanguage";
        let check = |header: &str, answer: &str, agrees: bool| {
            let answer = answer.replace("KEY", key);
            assert_eq!(
                language_contradiction(header, answer.as_bytes()).is_none(),
                agrees,
                "{header} {answer}"
            );
        };
        check("fr", r#"{"id":1,"result":{"_meta":{"KEY":"FR"}}}"#, true);
        check("fr,en", r#"{"id":1,"result":{"_meta":{"KEY":"fr, en"}}}"#, true);
        check("en", r#"{"id":1,"result":{"_meta":{"KEY":"fr"}}}"#, false);
        check("en, fr", r#"{"id":1,"result":{"_meta":{"KEY":"fr"}}}"#, false);
        check("", r#"{"id":1,"result":{"_meta":{"KEY":"fr"}}}"#, false);
        check("en", r#"{"id":1,"error":{"code":1,"message":"","data":{"_meta":{"KEY":"fr"}}}}"#, false);
        check("en", r#"{"id":1,"error":{"code":1,"message":"","data":"fr"}}"#, true);
        check("en", r#"{"id":1,"result":{"_meta":{}}}"#, true);
        check("en", r#"{"id":1,"result":{}}"#, true);
        check("en", "no JSON", true);
    }

    #[test]
    fn forgets_questions_that_nobody_waits_for() {
        let kept = WireRecorder::default();
        for id in 0..100 {
            kept.record_sent(&request(id, &AnswerSlot::default()));
        }
        assert!(kept.with_records(|seen| seen.waiting.len()) <= 1);
    }
}
