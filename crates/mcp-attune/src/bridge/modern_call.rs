//! One request of a legacy caller in front of a modern server: how it is sent, and what becomes of each message of the
//! answer.
//!
//! 1. A request gains the envelope. Its id stays; a retry gets another one, as the modern era wants.
//! 2. Results lose what only the modern era has. Structured content that is no object, and the `outputSchema` of such a
//!    tool, are left out: a legacy client would refuse them. Text stays.
//! 3. An `input_required` result becomes requests to the caller, and its answers become a retry. A URL gets the id that a
//!    legacy client wants.
//!
//! Rules: X4, X5.

use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonQuoted, JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, MessageKind, meta};
use mcp_attune_wire::mirror;
use mcp_attune_wire::protocol::method::{ELICITATION_CREATE, TOOLS_LIST};
use mcp_attune_wire::schema::DeclaredHeaders;

use super::bridged_session::BridgedSession;
use super::members::{edit_members, joined, member};
use crate::edits::{MessageEdit, MessageEdits};

/// The members of results that only the modern era has.
const MODERN_RESULT: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];
/// The most questions that are asked in one round.
const MAX_QUESTIONS: usize = 64;

/// One request to a modern server, until it is answered.
#[derive(Debug)]
pub struct ModernCall {
    /// The caller's id, as written.
    id: String,
    /// The request with its envelope, as it was sent first.
    request: String,
    lists_tools: bool,
    retries: usize,
}

/// What becomes of a message of the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModernCallEvent {
    /// The caller gets this notification.
    Notify(String),
    /// The caller gets this answer, and the call is over.
    Answer(String),
    /// The caller has to be asked these, and the server gets a retry with this state, as written.
    Ask(Vec<ModernQuestion>, Option<String>),
    /// Nobody gets it.
    Drop,
}

/// A question of a modern server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModernQuestion {
    /// The server's key of it, as written.
    key: String,
    method: String,
    /// `params` as written.
    params: Option<String>,
}

/// What a caller said to a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuestionAnswer {
    /// The result, as written.
    Result(String),
    /// It refused, with this error, as written.
    Refused(String),
}

impl ModernQuestion {
    /// Returns the request to the caller, under this id.
    #[must_use]
    pub fn request(&self, id: &str) -> String {
        let (quoted, method) = (JsonQuoted(id).to_string(), JsonQuoted(&self.method));
        let params = self
            .params
            .as_ref()
            .map(|params| format!(",{}", member("params", &self.legacy_params(params, &quoted))));
        format!(r#"{{"jsonrpc":"2.0","id":{quoted},"method":{method}{}}}"#, params.unwrap_or_default())
    }

    /// A legacy client knows a URL by an id.
    fn legacy_params(&self, params: &str, id: &str) -> String {
        let document = mcp_attune_wire::document::Document::parse(params.as_bytes()).ok();
        let is_url = document.as_ref().is_some_and(|document| {
            document.member("mode").and_then(SpannedValue::text).is_some_and(|mode| mode.is("url"))
                && document.member("elicitationId").is_none()
        });
        match params.strip_prefix('{').filter(|_| is_url) {
            Some(rest) => format!("{{{},{rest}", member("elicitationId", id)),
            None => params.to_owned(),
        }
    }

    /// Reads the answer of a caller to a request of ours. `None` for what is no answer.
    #[must_use]
    pub fn read_answer(message: &Message<'_>) -> Option<QuestionAnswer> {
        match (message.member("result"), message.member("error")) {
            (Some(result), _) => Some(QuestionAnswer::Result(result.raw().to_owned())),
            (None, Some(error)) => Some(QuestionAnswer::Refused(error.raw().to_owned())),
            (None, None) => None,
        }
    }

    /// Returns the input response for an answer; `None` where the modern era has no word for it, so that the call fails.
    fn response(&self, answer: &QuestionAnswer) -> Option<String> {
        match answer {
            QuestionAnswer::Result(result) => Some(result.clone()),
            QuestionAnswer::Refused(_) if self.method == ELICITATION_CREATE => {
                Some(r#"{"action":"cancel"}"#.to_owned())
            }
            QuestionAnswer::Refused(_) => None,
        }
    }
}

impl ModernCall {
    /// Prepares a request. `None` for what is no request.
    #[must_use]
    pub fn begin(message: &Message<'_>, session: &BridgedSession, log_level: Option<&str>) -> Option<Self> {
        let id = message.id().filter(|_| message.kind() == MessageKind::Request)?.raw().to_owned();
        let request = with_envelope(message, &session.envelope(log_level))?;
        Some(Self { id, request, lists_tools: message.known_method() == Some(TOOLS_LIST), retries: 0 })
    }

    /// Returns the request as the server gets it first.
    #[must_use]
    pub fn request(&self) -> &str {
        &self.request
    }

    /// Returns the headers that mirror a request of this call. `declared` is what the called tool's schema declares.
    #[must_use]
    pub fn headers(request: &str, declared: Option<&DeclaredHeaders>) -> Vec<(String, String)> {
        let Ok(message) = Message::parse(request.as_bytes()) else { return Vec::new() };
        let headers = mirror::headers(&message, declared);
        headers.into_iter().map(|(name, value)| (name.to_owned(), value.into_owned())).collect()
    }

    /// Returns the caller's id, as written.
    #[must_use]
    pub fn caller_id(&self) -> &str {
        &self.id
    }

    /// Reads a message of the server.
    #[must_use]
    pub fn receive(&self, message: &Message<'_>) -> ModernCallEvent {
        match message.kind() {
            MessageKind::Notification => ModernCallEvent::Notify(message.text().to_owned()),
            MessageKind::Answer => self.answer(message),
            MessageKind::Request | MessageKind::Batch | MessageKind::Other => ModernCallEvent::Drop,
        }
    }

    fn answer(&self, message: &Message<'_>) -> ModernCallEvent {
        let result = message.member("result");
        let kind = result.and_then(|result| result.member("resultType")?.text());
        if let Some(result) = result.filter(|_| kind.is_some_and(|kind| kind.is("input_required"))) {
            let state = result.member("requestState").map(|state| state.raw().to_owned());
            let asked = result.member("inputRequests").into_iter().flat_map(SpannedValue::members);
            return ModernCallEvent::Ask(
                asked.take(MAX_QUESTIONS).filter_map(read_question).collect(),
                state,
            );
        }
        let mut edits: Vec<MessageEdit<'_>> = Vec::new();
        edits.extend(message.id().map(|id| (id.span(), self.id.as_str().into())));
        edits.extend(result.map(|result| self.legacy_result(result)).unwrap_or_default());
        let mut all = MessageEdits::default();
        all.add_step(edits);
        all.apply(message).map_or(ModernCallEvent::Drop, ModernCallEvent::Answer)
    }

    /// Returns what a result loses.
    fn legacy_result(&self, result: SpannedValue<'_>) -> Vec<MessageEdit<'static>> {
        let is_object =
            |value: Option<SpannedValue<'_>>| value.is_none_or(|value| value.kind() == JsonKind::Object);
        let structured = is_object(result.member("structuredContent"));
        let own_meta = result.member("_meta");
        let only_server =
            own_meta.is_some_and(|own| own.members().all(|(name, _)| name.is(meta::SERVER_INFO)));
        let goes = |name: JsonString<'_>| {
            MODERN_RESULT.iter().any(|modern| name.is(modern))
                || (name.is("structuredContent") && !structured)
                || (name.is("_meta") && only_server)
        };
        let mut edits = edit_members(result, goes, "");
        if let Some(own) = own_meta.filter(|_| !only_server) {
            edits.extend(edit_members(own, |name| name.is(meta::SERVER_INFO), ""));
        }
        if self.lists_tools {
            let tools = result.member("tools").into_iter().flat_map(SpannedValue::elements);
            let cuts = tools
                .filter(|tool| !has_legacy_output(*tool))
                .flat_map(|tool| tool.cut_members(|name| name.is("outputSchema")));
            edits.extend(cuts.map(|cut: ByteSpan| (cut, "".into())));
        }
        edits
    }

    /// Returns the next request to the server: the first one again, with these answers. An error, as written, where an
    /// answer is a refusal that the modern era has no word for.
    ///
    /// # Errors
    ///
    /// The caller's own error, which ends the call.
    pub fn retry(
        &mut self,
        answers: &[(ModernQuestion, QuestionAnswer)],
        state: Option<&str>,
    ) -> Result<String, String> {
        self.retries += 1;
        let mut responses = Vec::new();
        for (question, answer) in answers {
            match (question.response(answer), answer) {
                (Some(response), _) => responses.push(format!("{}:{response}", question.key)),
                (None, QuestionAnswer::Refused(error)) => return Err(error.clone()),
                (None, QuestionAnswer::Result(_)) => {}
            }
        }
        let responses = if answers.is_empty() {
            String::new()
        } else {
            member("inputResponses", &format!("{{{}}}", responses.join(",")))
        };
        let state = state.map(|state| member("requestState", state)).unwrap_or_default();
        Ok(self.retry_text(&joined([responses.as_str(), &state])).unwrap_or_default())
    }

    fn retry_text(&self, added: &str) -> Option<String> {
        let message = Message::parse(self.request.as_bytes()).ok()?;
        let id = JsonQuoted(&format!("retry-{} of {}", self.retries, self.id)).to_string();
        let mut edits = vec![(message.id()?.span(), id.into())];
        edits.extend(edit_members(
            message.member("params")?,
            |name| name.is("inputResponses") || name.is("requestState"),
            added.to_owned(),
        ));
        let mut all = MessageEdits::default();
        all.add_step(edits);
        all.apply(&message)
    }

    /// Returns the answer to the caller that this error, as written, is.
    #[must_use]
    pub fn error_answer(&self, error: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, self.id)
    }
}

fn read_question((key, request): (JsonString<'_>, SpannedValue<'_>)) -> Option<ModernQuestion> {
    let method = request.member("method")?.text()?.decode()?.into_owned();
    let params = request.member("params").map(|params| params.raw().to_owned());
    Some(ModernQuestion { key: format!("\"{}\"", key.as_written()), method, params })
}

/// Whether the `outputSchema` of a tool is one that legacy clients take: of an object, or none.
fn has_legacy_output(tool: SpannedValue<'_>) -> bool {
    let Some(schema) = tool.member("outputSchema") else { return true };
    schema.member("type").and_then(SpannedValue::text).is_some_and(|kind| kind.is("object"))
}

/// Returns a message of a legacy client with an envelope. A task that a legacy client asks for is left out: none is offered.
pub(super) fn with_envelope(message: &Message<'_>, envelope: &str) -> Option<String> {
    const ENVELOPE: [&str; 4] =
        [meta::PROTOCOL_VERSION, meta::CLIENT_INFO, meta::CLIENT_CAPABILITIES, meta::LOG_LEVEL];
    let own = |name: JsonString<'_>| ENVELOPE.iter().any(|key| name.is(key));
    let is_object = |value: &SpannedValue<'_>| value.kind() == JsonKind::Object;
    let wrapped = || member("_meta", &format!("{{{envelope}}}"));
    let mut edits = MessageEdits::default();
    edits.add_step(
        match (message.member("params").filter(is_object), message.param("_meta").filter(is_object)) {
            (Some(params), Some(meta)) => {
                let mut step = edit_members(meta, own, envelope.to_owned());
                step.extend(edit_members(params, |name| name.is("task"), ""));
                step
            }
            (Some(params), None) => {
                edit_members(params, |name| name.is("task") || name.is("_meta"), wrapped())
            }
            (None, _) => edit_members(
                message.body(),
                |name| name.is("params"),
                member("params", &format!("{{{}}}", wrapped())),
            ),
        },
    );
    edits.apply(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> BridgedSession {
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
        BridgedSession::read(&Message::parse(body).unwrap())
    }

    fn begin(body: &str) -> ModernCall {
        ModernCall::begin(&Message::parse(body.as_bytes()).unwrap(), &session(), None).unwrap()
    }

    const ENVELOPED: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}"#;

    #[test]
    fn a_request_gains_the_envelope() {
        for (body, expected) in [
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
                format!(
                    r#"{{"params":{{"_meta":{{{ENVELOPED}}}}},"jsonrpc":"2.0","id":1,"method":"tools/list"}}"#
                ),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","task":{"ttl":1}}}"#,
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"_meta":{{{ENVELOPED}}},"name":"t"}}}}"#
                ),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":3,"io.modelcontextprotocol/clientInfo":{}}}}"#,
                format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","_meta":{{{ENVELOPED},"progressToken":3}}}}}}"#
                ),
            ),
        ] {
            let call = begin(body);
            assert_eq!(call.request(), expected);
            let headers = ModernCall::headers(call.request(), None);
            assert!(
                headers.contains(&("MCP-Protocol-Version".to_owned(), "2026-07-28".to_owned())),
                "{headers:?}"
            );
        }
    }

    #[test]
    fn results_lose_what_legacy_clients_do_not_know() {
        let call = begin(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#);
        let received = |call: &ModernCall, result: &str| {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            match call.receive(&Message::parse(text.as_bytes()).unwrap()) {
                ModernCallEvent::Answer(text) => text,
                other => panic!("{other:?}"),
            }
        };
        for (result, expected) in [
            (r#"{"resultType":"complete","content":[]}"#, r#"{"content":[]}"#),
            (
                r#"{"content":[],"ttlMs":5,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{},"a":1}}"#,
                r#"{"content":[],"_meta":{"a":1}}"#,
            ),
            (
                r#"{"content":[],"structuredContent":[1],"_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#,
                r#"{"content":[]}"#,
            ),
            (
                r#"{"content":[],"structuredContent":{"a":1}}"#,
                r#"{"content":[],"structuredContent":{"a":1}}"#,
            ),
        ] {
            assert_eq!(received(&call, result), format!(r#"{{"jsonrpc":"2.0","id":1,"result":{expected}}}"#));
        }
        let list = begin(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        let listed = received(
            &list,
            r#"{"tools":[{"name":"a","outputSchema":{"type":"array"}},{"name":"b","outputSchema":{"type":"object"}}]}"#,
        );
        assert_eq!(
            listed,
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b","outputSchema":{"type":"object"}}]}}"#
        );
    }

    #[test]
    fn a_round_asks_the_caller_and_retries() {
        let mut call = begin(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t"}}"#);
        let asked = r#"{"jsonrpc":"2.0","id":5,"result":{"resultType":"input_required","inputRequests":{"name":{"method":"elicitation/create","params":{"message":"Name?"}},"login":{"method":"elicitation/create","params":{"mode":"url","url":"https://a/"}}},"requestState":"s\"1"}}"#;
        let ModernCallEvent::Ask(questions, state) = call.receive(&Message::parse(asked.as_bytes()).unwrap())
        else {
            panic!("no question")
        };
        assert_eq!(state.as_deref(), Some(r#""s\"1""#));
        assert_eq!(
            questions[0].request("q1"),
            r#"{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Name?"}}"#
        );
        assert_eq!(
            questions[1].request("q2"),
            r#"{"jsonrpc":"2.0","id":"q2","method":"elicitation/create","params":{"elicitationId":"q2","mode":"url","url":"https://a/"}}"#
        );
        let said =
            |text: &str| ModernQuestion::read_answer(&Message::parse(text.as_bytes()).unwrap()).unwrap();
        let answers = [
            (
                questions[0].clone(),
                said(r#"{"jsonrpc":"2.0","id":"q1","result":{"action":"accept","content":{"name":"x"}}}"#),
            ),
            (questions[1].clone(), said(r#"{"jsonrpc":"2.0","id":"q2","error":{"code":-1,"message":"no"}}"#)),
        ];
        let retry = call.retry(&answers, state.as_deref()).unwrap();
        assert_eq!(
            retry,
            format!(
                r#"{{"jsonrpc":"2.0","id":"retry-1 of 5","method":"tools/call","params":{{"inputResponses":{{"name":{{"action":"accept","content":{{"name":"x"}}}},"login":{{"action":"cancel"}}}},"requestState":"s\"1","_meta":{{{ENVELOPED}}},"name":"t"}}}}"#
            )
        );
        let done = r#"{"jsonrpc":"2.0","id":"retry-1 of 5","result":{"resultType":"complete","content":[]}}"#;
        assert_eq!(
            call.receive(&Message::parse(done.as_bytes()).unwrap()),
            ModernCallEvent::Answer(r#"{"jsonrpc":"2.0","id":5,"result":{"content":[]}}"#.to_owned())
        );
        let sampling = ModernQuestion {
            key: "\"k\"".to_owned(),
            method: "sampling/createMessage".to_owned(),
            params: None,
        };
        let refused = call.retry(&[(sampling, QuestionAnswer::Refused(r#"{"code":-1}"#.to_owned()))], None);
        assert_eq!(refused, Err(r#"{"code":-1}"#.to_owned()));
        assert_eq!(call.error_answer(r#"{"code":-1}"#), r#"{"jsonrpc":"2.0","id":5,"error":{"code":-1}}"#);
    }
}
