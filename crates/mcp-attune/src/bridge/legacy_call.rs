//! One request of a modern caller in a session of a legacy server: how it is sent, and what becomes of each message that
//! the server says about it.
//!
//! 1. A request gets a number of its own in the session, which stands for the caller's id and progress token: callers that
//!    share a session may use the same ids. Envelope keys come off, and so does what a retry carries.
//! 2. Results gain what the modern era wants of them: `resultType`, for listings and resources `ttlMs` and `cacheScope`,
//!    and who the server is.
//! 3. Log messages reach the caller only if the request asks for their level.
//! 4. What the server asks is a [`Question`]. All that wait go to the caller in one `input_required` result.
//! 5. `-32002` becomes `-32602`; `-32042` becomes an `input_required` result with its URLs, and a retry is a new call.
//!
//! Rules: X2, X3, X5.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use mcp_attune_wire::correlate::{NotificationSubject, notification_subject, progress_token};
use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};
use mcp_attune_wire::message::{Id, Message, MessageKind, meta};
use mcp_attune_wire::multiplex::{self, CallerRequestIds};
use mcp_attune_wire::protocol::code;
use mcp_attune_wire::protocol::method::{
    CANCELLED, ELICITATION_CREATE, INITIALIZE, LOG_MESSAGE, LOGGING_SET_LEVEL, PING, PROGRESS, PROMPTS_LIST,
    RESOURCES_LIST, RESOURCES_READ, RESOURCES_SUBSCRIBE, RESOURCES_TEMPLATES_LIST, RESOURCES_UNSUBSCRIBE,
    TASKS_CANCEL, TASKS_GET, TASKS_LIST, TASKS_RESULT, TASKS_UPDATE, TOOLS_LIST,
};
use mcp_attune_wire::reply::answer_status;

use super::legacy_server::{CallerProfile, LegacyServer};
use super::members::{edit_members, joined, member};
use super::question::{Question, ServerRequest, modern_params, read_server_request};
use crate::edits::{MessageEdit, MessageEdits};

/// The members of `_meta` that only the modern era has.
const ENVELOPE: [&str; 5] = [
    meta::PROTOCOL_VERSION,
    meta::CLIENT_CAPABILITIES,
    meta::CLIENT_INFO,
    meta::LOG_LEVEL,
    meta::SUBSCRIPTION_ID,
];
const INPUT_RESPONSES: &str = "inputResponses";
const REQUEST_STATE: &str = "requestState";
/// The levels of log messages, the least important first.
pub(super) const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// One request in a legacy session, until it is answered.
#[derive(Debug)]
pub struct LegacyCall {
    number: u64,
    ids: CallerRequestIds,
    method: Option<&'static str>,
    /// The least important level of log messages that the request asks for, as its place in [`LOG_LEVELS`].
    log_level: Option<usize>,
    profile: CallerProfile,
    server_info: Arc<str>,
    /// How many questions were handed to the caller in all rounds, so that their keys differ.
    asked: usize,
    /// The questions of the last `input_required` result that have no answer yet, with their keys.
    open: Vec<(String, Question)>,
}

/// What becomes of a message of the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LegacyCallEvent {
    /// The caller gets this notification.
    Notify(String),
    /// The caller gets this answer, with this HTTP status, and the call is over.
    Answer(String, u16),
    /// The caller has to be asked.
    Ask(Question),
    /// The server withdraws the question with this id.
    Withdraw(Id),
    /// The server gets this answer.
    Reply(String),
    /// It is about the session and not about this call: lists and resources that changed.
    AboutSession,
    /// Nobody gets it.
    Drop,
}

impl LegacyCall {
    /// Prepares a request to be sent in a session under this number, and returns its text. `None` for what is no request.
    #[must_use]
    pub fn begin(
        message: &Message<'_>,
        number: u64,
        profile: &CallerProfile,
        server: &LegacyServer,
    ) -> Option<(Self, String)> {
        let ids = CallerRequestIds::of(message)?;
        let (method, log_level) = (message.known_method(), requested_level(message));
        let (profile, server_info) = (profile.clone(), Arc::clone(server.info()));
        let text = legacy_request(message, number)?;
        let (asked, open) = (0, Vec::new());
        Some((Self { number, ids, method, log_level, profile, server_info, asked, open }, text))
    }

    /// Returns the level of log messages that the request asks for, as a legacy session is told it, and its rank: that of
    /// the most verbose level is 0.
    #[must_use]
    pub fn log_level(&self) -> Option<(usize, &'static str)> {
        let rank = self.log_level?;
        Some((rank, LOG_LEVELS.get(rank)?))
    }

    /// Reads a message that the server sent on the stream of this call.
    #[must_use]
    pub fn receive(&self, message: &Message<'_>) -> LegacyCallEvent {
        match message.kind() {
            MessageKind::Answer if multiplex::request_number(message) == Some(self.number) => self
                .answer(message)
                .map_or(LegacyCallEvent::Drop, |(text, status)| LegacyCallEvent::Answer(text, status)),
            MessageKind::Answer | MessageKind::Batch | MessageKind::Other => LegacyCallEvent::Drop,
            MessageKind::Request => match read_server_request(message, &self.profile) {
                Some(ServerRequest::Ask(question)) => LegacyCallEvent::Ask(question),
                Some(ServerRequest::Answer(text)) => LegacyCallEvent::Reply(text),
                None => LegacyCallEvent::Drop,
            },
            MessageKind::Notification => self.notification(message),
        }
    }

    fn notification(&self, message: &Message<'_>) -> LegacyCallEvent {
        match message.known_method() {
            Some(PROGRESS) if multiplex::request_number(message) == Some(self.number) => {
                let restored = multiplex::restore_ids(message, self.number, &self.ids);
                restored.map_or(LegacyCallEvent::Drop, LegacyCallEvent::Notify)
            }
            Some(LOG_MESSAGE) => {
                let level = message.param("level").and_then(level_of);
                let is_wanted = level.zip(self.log_level).is_some_and(|(level, wanted)| level >= wanted);
                if is_wanted {
                    LegacyCallEvent::Notify(message.text().to_owned())
                } else {
                    LegacyCallEvent::Drop
                }
            }
            Some(CANCELLED) => {
                let id = message.param("requestId").and_then(Id::read);
                id.map_or(LegacyCallEvent::Drop, LegacyCallEvent::Withdraw)
            }
            _ => match notification_subject(message) {
                NotificationSubject::Server => LegacyCallEvent::AboutSession,
                _ => LegacyCallEvent::Drop,
            },
        }
    }

    /// Returns the answer as the modern era writes it, and its HTTP status.
    fn answer(&self, message: &Message<'_>) -> Option<(String, u16)> {
        if let Some(urls) = self.url_questions(message) {
            return Some((urls, 200));
        }
        let mut edits: Vec<MessageEdit<'_>> = vec![(message.id()?.span(), self.ids.id().into())];
        let mut status = answer_status(message);
        if let Some(result) = message.member("result").filter(|result| result.kind() == JsonKind::Object) {
            edits.extend(complete_result(result, self.is_cacheable(), &self.server_info));
        } else if message.error_code() == Some(code::LEGACY_RESOURCE_NOT_FOUND) {
            let written = message.member("error")?.member("code")?.span();
            edits.push((written, code::INVALID_PARAMS.to_string().into()));
            status = code::http_status(code::INVALID_PARAMS);
        }
        let mut all = MessageEdits::default();
        all.add_step(edits);
        all.apply(message).map(|text| (text, status))
    }

    fn is_cacheable(&self) -> bool {
        let cacheable = [TOOLS_LIST, PROMPTS_LIST, RESOURCES_LIST, RESOURCES_TEMPLATES_LIST, RESOURCES_READ];
        self.method.is_some_and(|method| cacheable.contains(&method))
    }

    /// Returns the `input_required` result for an error that says that URLs have to be opened first.
    fn url_questions(&self, message: &Message<'_>) -> Option<String> {
        let is_asked = message.error_code() == Some(code::LEGACY_URL_ELICITATION_REQUIRED);
        if !is_asked || !self.profile.opens_urls() {
            return None;
        }
        let urls = message.member("error")?.member("data")?.member("elicitations")?;
        let method = member("method", &format!("\"{ELICITATION_CREATE}\""));
        let request = |(at, params): (usize, SpannedValue<'_>)| {
            let params = member("params", &modern_params(params));
            member(&format!("url-{}", at + 1), &format!("{{{method},{params}}}"))
        };
        let requests: Vec<_> = urls.elements().enumerate().map(request).collect();
        (!requests.is_empty()).then(|| self.input_required_answer(&requests, None))
    }

    /// Returns the answer that asks the caller all of these, with the state that its retry has to bring along.
    #[must_use]
    pub fn ask(&mut self, questions: Vec<Question>, state: &str) -> String {
        for question in questions {
            self.asked += 1;
            self.open.push((format!("input-{}", self.asked), question));
        }
        let requests: Vec<_> = self.open.iter().map(|(key, question)| question.input_request(key)).collect();
        self.input_required_answer(&requests, Some(state))
    }

    fn input_required_answer(&self, requests: &[String], state: Option<&str>) -> String {
        let requests = member("inputRequests", &format!("{{{}}}", requests.join(",")));
        let state = state
            .map(|state| member(REQUEST_STATE, &mcp_attune_wire::json::JsonQuoted(state).to_string()))
            .unwrap_or_default();
        let server = member("_meta", &format!("{{{}}}", member(meta::SERVER_INFO, &self.server_info)));
        let result = joined([r#""resultType":"input_required""#, &requests, &state, &server]);
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{{result}}}}}"#, self.ids.id())
    }

    /// Takes a retry: its id and progress token replace the first ones. Returns what the server gets for it. Questions that
    /// it does not answer stay [open](Self::has_open_questions).
    #[must_use]
    pub fn retry(&mut self, message: &Message<'_>) -> Vec<String> {
        if let Some(ids) = CallerRequestIds::of(message) {
            self.ids = ids;
        }
        self.log_level = requested_level(message);
        let responses = message.param(INPUT_RESPONSES);
        let mut answers = Vec::new();
        self.open.retain(|(key, question)| {
            let response = responses.and_then(|responses| responses.member(key));
            let answer = response.filter(|response| response.kind() == JsonKind::Object);
            answers.extend(answer.map(|answer| question.answer(answer)));
            answer.is_none()
        });
        answers
    }

    /// Whether the caller still owes answers.
    #[must_use]
    pub fn has_open_questions(&self) -> bool {
        !self.open.is_empty()
    }

    /// Takes back a question that the server withdraws.
    pub fn withdraw(&mut self, id: &Id) {
        self.open.retain(|(_, question)| !question.is(id));
    }

    /// Returns what the server gets when nobody waits for the call any more: answers to open questions, and its
    /// cancellation.
    #[must_use]
    pub fn cancel(&self) -> Vec<String> {
        let answers = self.open.iter().map(|(_, question)| question.cancelled_answer());
        let cancelled =
            format!(r#"{{"jsonrpc":"2.0","method":"{CANCELLED}","params":{{"requestId":{}}}}}"#, self.number);
        answers.chain([cancelled]).collect()
    }

    /// Returns the caller's id, as written.
    #[must_use]
    pub fn caller_id(&self) -> &str {
        self.ids.id()
    }

    /// Whether a method is one that the modern era has taken out, so that no modern caller has it from any server.
    #[must_use]
    pub fn is_legacy_only(method: &str) -> bool {
        [
            INITIALIZE,
            LOGGING_SET_LEVEL,
            PING,
            RESOURCES_SUBSCRIBE,
            RESOURCES_UNSUBSCRIBE,
            TASKS_CANCEL,
            TASKS_GET,
            TASKS_LIST,
            TASKS_RESULT,
            TASKS_UPDATE,
        ]
        .contains(&method)
    }

    /// Returns the state that a retry brings along; `None` where the request is none.
    #[must_use]
    pub fn state_of<'m>(message: &Message<'m>) -> Option<Cow<'m, str>> {
        message.param(REQUEST_STATE).and_then(SpannedValue::text).and_then(JsonString::decode)
    }
}

/// Returns the request as a legacy server gets it.
fn legacy_request(message: &Message<'_>, number: u64) -> Option<String> {
    let number = number.to_string();
    let mut edits: Vec<MessageEdit<'_>> = vec![(message.id()?.span(), number.as_str().into())];
    edits.extend(progress_token(message).map(|token| (token.span(), Cow::Borrowed(number.as_str()))));
    if let Some(meta) = message.param("_meta") {
        edits.extend(edit_members(meta, |name| ENVELOPE.iter().any(|key| name.is(key)), ""));
    }
    if let Some(params) = message.member("params") {
        edits.extend(edit_members(params, |name| name.is(INPUT_RESPONSES) || name.is(REQUEST_STATE), ""));
    }
    let mut all = MessageEdits::default();
    all.add_step(edits);
    all.apply(message)
}

/// Returns what a result gains, where it does not say it already.
fn complete_result(result: SpannedValue<'_>, cacheable: bool, server: &str) -> Vec<MessageEdit<'static>> {
    let lacks = |name: &str| result.member(name).is_none();
    let kind = if lacks("resultType") { r#""resultType":"complete""# } else { "" };
    let ttl = if cacheable && lacks("ttlMs") { r#""ttlMs":0"# } else { "" };
    let scope = if cacheable && lacks("cacheScope") { r#""cacheScope":"private""# } else { "" };
    let info = member(meta::SERVER_INFO, server);
    let (own_meta, mut edits) = match result.member("_meta").filter(|meta| meta.kind() == JsonKind::Object) {
        None if lacks("_meta") => (member("_meta", &format!("{{{info}}}")), Vec::new()),
        Some(meta) if meta.member(meta::SERVER_INFO).is_none() => {
            (String::new(), edit_members(meta, |_| false, info))
        }
        _ => (String::new(), Vec::new()),
    };
    let added = joined([kind, ttl, scope, own_meta.as_str()]);
    edits.extend(edit_members(result, |_| false, added));
    edits
}

fn requested_level(message: &Message<'_>) -> Option<usize> {
    message.meta(meta::LOG_LEVEL).and_then(level_of)
}

fn level_of(value: SpannedValue<'_>) -> Option<usize> {
    let text = value.text()?;
    LOG_LEVELS.iter().position(|level| text.is(level))
}

/// Returns a number that is the same for a request and its retry: that of its method and parameters, without `_meta` and
/// what a retry carries. The order of members and white space do not count.
#[must_use]
pub fn request_digest(message: &Message<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.method().and_then(JsonString::decode).hash(&mut hasher);
    let params = message.member("params").into_iter().flat_map(SpannedValue::members);
    let own = params.filter(|(name, _)| {
        !["_meta", INPUT_RESPONSES, REQUEST_STATE].iter().any(|left_out| name.is(left_out))
    });
    hash_members(own, &mut hasher);
    hasher.finish()
}

fn hash_members<'m>(
    members: impl Iterator<Item = (JsonString<'m>, SpannedValue<'m>)>,
    hasher: &mut DefaultHasher,
) {
    let mut members: Vec<_> = members.map(|(name, value)| (name.decode(), value)).collect();
    members.sort_by(|(one, _), (two, _)| one.cmp(two));
    members.len().hash(hasher);
    for (name, value) in members {
        name.hash(hasher);
        hash_value(value, hasher);
    }
}

/// Goes as deep as the value does, which the scanner has bounded.
fn hash_value(value: SpannedValue<'_>, hasher: &mut DefaultHasher) {
    std::mem::discriminant(&value.kind()).hash(hasher);
    match value.kind() {
        JsonKind::Object => hash_members(value.members(), hasher),
        JsonKind::Array => {
            let elements: Vec<_> = value.elements().collect();
            elements.len().hash(hasher);
            elements.into_iter().for_each(|element| hash_value(element, hasher));
        }
        JsonKind::String => value.text().and_then(JsonString::decode).hash(hasher),
        JsonKind::Number | JsonKind::Boolean | JsonKind::Null => value.raw().hash(hasher),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVELOPED: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}"#;

    fn server() -> LegacyServer {
        let answer = br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s"}}}"#;
        LegacyServer::read(&Message::parse(answer).unwrap()).unwrap()
    }

    fn begin(body: &str) -> (LegacyCall, String) {
        let message = Message::parse(body.as_bytes()).unwrap();
        LegacyCall::begin(&message, 7, &CallerProfile::of_request(&message), &server()).unwrap()
    }

    fn call(method: &str, more: &str) -> LegacyCall {
        begin(&format!(
            r#"{{"jsonrpc":"2.0","id":"mine","method":"{method}","params":{{"name":"t","_meta":{{{ENVELOPED}{more}}}}}}}"#
        ))
        .0
    }

    fn receive(call: &LegacyCall, text: &str) -> LegacyCallEvent {
        call.receive(&Message::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn a_request_loses_its_envelope_and_gets_a_number() {
        let (_, text) = begin(&format!(
            r#"{{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{{"name":"t","arguments":{{"a": 1}},"inputResponses":{{}},"requestState":"s","_meta":{{{ENVELOPED},"progressToken":"p","x/y":[1, 2]}}}}}}"#
        ));
        assert_eq!(
            text,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a": 1},"_meta":{"progressToken":7,"x/y":[1, 2]}}}"#
        );
        let (_, text) = begin(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{ENVELOPED}}}}}}}"#
        ));
        assert_eq!(text, r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{}}}"#);
    }

    #[test]
    fn results_gain_what_the_modern_era_wants() {
        let info = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}"#;
        for (method, result, expected) in [
            ("tools/call", r#"{"content":[]}"#, format!(r#"{{"resultType":"complete",{info},"content":[]}}"#)),
            ("tools/call", "{}", format!(r#"{{"resultType":"complete",{info}}}"#)),
            (
                "tools/list",
                r#"{"tools":[]}"#,
                format!(r#"{{"resultType":"complete","ttlMs":0,"cacheScope":"private",{info},"tools":[]}}"#),
            ),
            (
                "resources/read",
                r#"{"contents":[],"ttlMs":5,"_meta":{"a":1}}"#,
                r#"{"resultType":"complete","cacheScope":"private","contents":[],"ttlMs":5,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"},"a":1}}"#
                    .to_owned(),
            ),
        ] {
            let got = receive(&call(method, ""), &format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#));
            let expected = format!(r#"{{"jsonrpc":"2.0","id":"mine","result":{expected}}}"#);
            assert_eq!(got, LegacyCallEvent::Answer(expected, 200));
        }
    }

    #[test]
    fn errors_have_the_codes_and_statuses_of_the_modern_era() {
        for (code, expected, status) in [(-32002, -32602, 400), (-32601, -32601, 404), (-32000, -32000, 200)]
        {
            let got = receive(
                &call("resources/read", ""),
                &format!(r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":{code},"message":"m"}}}}"#),
            );
            let expected =
                format!(r#"{{"jsonrpc":"2.0","id":"mine","error":{{"code":{expected},"message":"m"}}}}"#);
            assert_eq!(got, LegacyCallEvent::Answer(expected, status));
        }
    }

    #[test]
    fn urls_that_have_to_be_opened_are_questions() {
        let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a/","message":"Log in"}]}}}"#;
        let LegacyCallEvent::Answer(answer, 200) = receive(&call("tools/call", ""), error) else {
            panic!("no answer")
        };
        assert!(answer.contains(r#""inputRequests":{"url-1":{"method":"elicitation/create","params":{"mode":"url","url":"https://a/","message":"Log in"}}}"#), "{answer}");
        assert!(
            answer.contains(r#""resultType":"input_required""#) && !answer.contains("requestState"),
            "{answer}"
        );
        // A caller that opens none gets the error.
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}"#;
        let got = receive(&begin(body).0, error);
        assert!(matches!(&got, LegacyCallEvent::Answer(text, 200) if text.contains("-32042")), "{got:?}");
    }

    #[test]
    fn progress_has_the_callers_token_and_logs_come_where_they_were_asked_for() {
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#;
        let got = receive(&call("tools/call", r#","progressToken":"p""#), progress);
        assert_eq!(
            got,
            LegacyCallEvent::Notify(progress.replace("\"progressToken\":7", "\"progressToken\":\"p\""))
        );
        assert_eq!(receive(&call("tools/call", ""), progress), LegacyCallEvent::Drop);
        let log = |level: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":"d"}}}}"#
            )
        };
        let wanting = call("tools/call", r#","io.modelcontextprotocol/logLevel":"warning""#);
        assert_eq!(wanting.log_level(), Some((3, "warning")));
        assert_eq!(receive(&wanting, &log("error")), LegacyCallEvent::Notify(log("error")));
        assert_eq!(receive(&wanting, &log("info")), LegacyCallEvent::Drop);
        assert_eq!(receive(&call("tools/call", ""), &log("error")), LegacyCallEvent::Drop);
        let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        assert_eq!(receive(&wanting, changed), LegacyCallEvent::AboutSession);
    }

    #[test]
    fn a_round_asks_and_brings_answers_back() {
        let mut call = call("tools/call", "");
        let ask = |id: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"elicitation/create","params":{{"message":"Name?","elicitationId":"x"}}}}"#
            )
        };
        let LegacyCallEvent::Ask(one) = receive(&call, &ask("3")) else { panic!("no question") };
        let LegacyCallEvent::Ask(two) = receive(&call, &ask("\"q\"")) else { panic!("no question") };
        let asked = call.ask(vec![one, two], "sealed");
        let request = r#"{"method":"elicitation/create","params":{"message":"Name?"}}"#;
        assert_eq!(
            asked,
            format!(
                r#"{{"jsonrpc":"2.0","id":"mine","result":{{"resultType":"input_required","inputRequests":{{"input-1":{request},"input-2":{request}}},"requestState":"sealed","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"s"}}}}}}}}"#
            )
        );
        let retry = |id: &str, responses: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","inputResponses":{responses},"requestState":"sealed"}}}}"#
            )
        };
        let first = retry("8", r#"{"input-2":{"action":"decline"},"input-1":7,"other":{}}"#);
        let message = Message::parse(first.as_bytes()).unwrap();
        assert_eq!(LegacyCall::state_of(&message).as_deref(), Some("sealed"));
        assert_eq!(call.retry(&message), [r#"{"jsonrpc":"2.0","id":"q","result":{"action":"decline"}}"#]);
        assert!(call.has_open_questions());
        assert!(call.ask(Vec::new(), "again").contains(r#""inputRequests":{"input-1":"#));
        let second = retry("9", r#"{"input-1":{"action":"accept","content":{"a":1}}}"#);
        assert_eq!(
            call.retry(&Message::parse(second.as_bytes()).unwrap()),
            [r#"{"jsonrpc":"2.0","id":3,"result":{"action":"accept","content":{"a":1}}}"#]
        );
        assert!(!call.has_open_questions());
        let answer = receive(&call, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
        assert!(
            matches!(&answer, LegacyCallEvent::Answer(text, 200) if text.starts_with(r#"{"jsonrpc":"2.0","id":9,"#))
        );
    }

    #[test]
    fn what_was_not_declared_is_refused_to_the_server_and_a_ping_is_answered() {
        let call = call("tools/call", "");
        let got = receive(&call, r#"{"jsonrpc":"2.0","id":4,"method":"sampling/createMessage","params":{}}"#);
        assert!(
            matches!(&got, LegacyCallEvent::Reply(text) if text.contains("-32601") && text.contains(r#""id":4"#)),
            "{got:?}"
        );
        let got = receive(&call, r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#);
        assert_eq!(got, LegacyCallEvent::Reply(r#"{"jsonrpc":"2.0","id":"p","result":{}}"#.to_owned()));
    }

    #[test]
    fn methods_that_the_modern_era_has_taken_out_are_told_apart() {
        for gone in [
            "ping",
            "initialize",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
            "tasks/list",
        ] {
            assert!(LegacyCall::is_legacy_only(gone), "{gone}");
        }
        for stays in ["tools/call", "tools/list", "completion/complete", "server/discover", "a/b", ""] {
            assert!(!LegacyCall::is_legacy_only(stays), "{stays}");
        }
    }

    #[test]
    fn a_call_that_nobody_waits_for_is_cancelled() {
        let mut call = call("tools/call", "");
        let LegacyCallEvent::Ask(one) =
            receive(&call, r#"{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{}}"#)
        else {
            panic!("no question")
        };
        let _ = call.ask(vec![one], "s");
        assert_eq!(
            call.cancel(),
            [
                r#"{"jsonrpc":"2.0","id":3,"result":{"action":"cancel"}}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#
            ]
        );
        call.withdraw(&Id::parse("3").unwrap());
        assert_eq!(call.cancel().len(), 1);
        let gone = receive(
            &call,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
        );
        assert_eq!(gone, LegacyCallEvent::Withdraw(Id::parse("3").unwrap()));
    }

    #[test]
    fn a_retry_has_the_digest_of_its_request_and_others_have_not() {
        let digest = |params: &str| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
            request_digest(&Message::parse(body.as_bytes()).unwrap())
        };
        let first = digest(r#"{"name":"t","arguments":{"a":1,"b":[1,"x"]}}"#);
        for same in [
            r#"{"arguments":{"b":[1,"\u0078"],"a":1},"name":"t"}"#,
            r#"{"name":"t", "arguments":{"a":1,"b":[1,"x"]},"_meta":{"x":1},"inputResponses":{"i":{}},"requestState":"s"}"#,
        ] {
            assert_eq!(digest(same), first, "{same}");
        }
        for other in [
            r#"{"name":"u","arguments":{"a":1,"b":[1,"x"]}}"#,
            r#"{"name":"t","arguments":{"a":2,"b":[1,"x"]}}"#,
            r#"{"name":"t","arguments":{"a":1,"b":["x",1]}}"#,
            r#"{"name":"t","arguments":{"a":1,"b":[1,"x"],"c":null}}"#,
            r#"{"name":"t"}"#,
        ] {
            assert_ne!(digest(other), first, "{other}");
        }
    }
}
