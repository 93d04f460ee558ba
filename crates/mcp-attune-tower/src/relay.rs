//! The rules between a client and a server that speak over pipes, one message a line: a driver of
//! [`PipeExchange`], with the clock of this system and the log of this process.
//!
//! It reads and writes nothing itself. Its owner reads lines, gives each to [`LineRelay`], and writes what
//! comes back.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune::assume::{CallerEvidence, CallerValues};
use mcp_attune::exchange::listing::is_last_page;
use mcp_attune::exchange::{Rejection, localize_reply, pipe::PipeExchange};
use mcp_attune::plan::Offer;
use mcp_attune_wire::agree::HeaderPolicy;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::reply::Reply;

use crate::listing_inspector::ListingInspector;
use crate::logging;
use crate::request_outcome::RequestOutcome;
use crate::settings::set_formatters;

pub use mcp_attune::exchange::pipe::{ForwardedLine, ReturnedLine};

/// The state of one pipe: what its client declared, and what was decided of each request whose answer has not
/// come yet.
///
/// One pipe is one session of one client. The methods are synchronous, and may load locale files from a disk.
#[derive(Debug)]
pub struct LineRelay {
    pipe: PipeExchange,
    /// Bindings and templates that were not checked against a listing yet; taken by the first one.
    unchecked: Option<ListingInspector>,
    /// Says what the system of the person at this machine says, anew for each line.
    system: Option<SystemCaller>,
}

/// Reads what the system says of the person at it: its language and zone now.
#[derive(Clone)]
pub struct SystemCaller(Arc<dyn Fn() -> CallerValues + Send + Sync>);

impl SystemCaller {
    /// A reader of the system. It is asked once for each line of the client, and may read files.
    pub fn new(read: impl Fn() -> CallerValues + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }
}

impl fmt::Debug for SystemCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SystemCaller")
    }
}

impl LineRelay {
    /// Makes the rules for one pipe. At most `most` requests may wait for their answers; what exceeds it is
    /// refused. With `report_only`, requests that break rules are logged and forwarded all the same.
    #[must_use]
    pub fn new(mut offer: Offer, policy: HeaderPolicy, report_only: bool, most: usize) -> Self {
        set_formatters(&mut offer);
        let (bindings, content) = (offer.bindings.clone(), offer.content.clone());
        let unchecked = Some(ListingInspector { bindings, content, ..ListingInspector::default() });
        Self { pipe: PipeExchange::new(offer, policy, report_only, most), unchecked, system: None }
    }

    /// The same for a client of the person at this machine: what a line does not say of its caller, the system does.
    ///
    /// Rules: A1, A2.
    #[must_use]
    pub fn with_system(self, system: Option<SystemCaller>) -> Self {
        Self { system, ..self }
    }

    /// Handles a line of the client. Returns the line as the server gets it, with who sent it.
    ///
    /// # Errors
    ///
    /// The reply that goes to the client instead, in its language: the line cannot be read in one way only, is
    /// a request without its envelope, or is one request too many.
    pub fn handle_client_line<'l>(&mut self, line: &'l [u8]) -> Result<ForwardedLine<'l>, Reply> {
        let system = self.system.as_ref().map(|SystemCaller(read)| read());
        let evidence = CallerEvidence { system, ..CallerEvidence::default() };
        let sent = self.pipe.forward_line(line, evidence, Timestamp::now()).map_err(reworded_refusal)?;
        logging::log_exchange(&sent.facts, Some(&sent.caller), self.pipe.offer(), None);
        logging::log_features(&sent.caller);
        if let Some(filled) = &sent.filled {
            tracing::debug!(?filled, "the context fills arguments");
        }
        Ok(sent)
    }

    /// Handles a line of the server. Returns the line as the client gets it, adapted to the request that it
    /// belongs to, or that it is to be dropped because it is not a message.
    pub fn handle_server_line<'l>(&mut self, line: &'l [u8]) -> ReturnedLine<'l> {
        let Self { pipe, unchecked, .. } = self;
        let learn = |page: &Message<'_>| {
            if let Some(interest) = unchecked.take() {
                interest.check_configuration(std::slice::from_ref(page), is_last_page(page));
            }
        };
        pipe.return_line(line, learn, |message| {
            if let Some(told) = &message.told {
                logging::record_adapted(told, &RequestOutcome::default());
            }
        })
    }

    /// Returns the reply to a line that was forwarded but that the server could not read after all, and forgets
    /// its request. `None` if the line does not wait for an answer. `line` is what the server was given.
    pub fn refuse(&mut self, line: &[u8], why: Notice) -> Option<Reply> {
        self.pipe.refuse(line, why)
    }

    /// Forgets a request that was answered in another way, such as one whose answer was too long. `id` is as
    /// written.
    pub fn forget(&mut self, id: &str) {
        self.pipe.forget(id);
    }

    /// Returns error replies to all requests that wait, because the server will not answer any more, and
    /// forgets them. `what` says why.
    pub fn give_up(&mut self, what: &Notice) -> Vec<Reply> {
        self.pipe.fail_all(what)
    }
}

/// Logs a refusal, and returns the reply in the client's language.
fn reworded_refusal(rejected: Box<Rejection>) -> Reply {
    if rejected.breach {
        logging::log_refusal(&rejected.reply, true);
    }
    localize_reply(rejected.reply, &rejected.preference).0
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use mcp_attune::bind::{
        ArgumentFill, Binding, Bindings, BoundContextPart, InstantNotation, IntervalEdge,
    };
    use mcp_attune::context::{ClientContextField, ContextForwarding, CoordinatePrecision};
    use mcp_attune::language::Languages;

    fn english() -> Offer {
        Offer { languages: Languages::new("en", []).ok(), ..Offer::default() }
    }

    fn relay() -> LineRelay {
        LineRelay::new(english(), HeaderPolicy::default(), false, 3)
    }

    /// Lets everything pass.
    fn reporting() -> LineRelay {
        LineRelay::new(english(), HeaderPolicy::default(), true, 3)
    }

    fn request(id: &str, preference: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/acceptLanguage":"{preference}"}}}}}}"#
        )
    }

    #[track_caller]
    fn check_onward(relay: &mut LineRelay, line: &str, expected: &str) {
        let Ok(ForwardedLine { line: sent, .. }) = relay.handle_client_line(line.as_bytes()) else {
            panic!("refused: {line}")
        };
        assert_eq!(String::from_utf8_lossy(&sent), expected);
    }

    #[track_caller]
    fn check_back(relay: &mut LineRelay, line: &str, expected: Option<&str>) {
        let sent = match relay.handle_server_line(line.as_bytes()) {
            ReturnedLine::Send(sent) => Some(String::from_utf8(sent.into_owned()).unwrap()),
            ReturnedLine::Drop => None,
        };
        assert_eq!(sent.as_deref(), expected);
    }

    const TOLD: &str = r#"{"_meta":{"io.modelcontextprotocol/contentLanguage":"en"}}"#;

    fn result(id: &str, result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
    }

    #[test]
    fn an_answer_says_its_language_and_the_next_one_does_not() {
        let mut relay = relay();
        for (id, answered) in [("1", "1"), ("\"1\"", "\"1\""), ("7.0", "7"), ("\"\\u00e9\"", "\"é\"")] {
            let line = request(id, "de");
            check_onward(&mut relay, &line, &line);
            check_back(&mut relay, &result(answered, "{}"), Some(&result(answered, TOLD)));
            // The preference is gone with the request that had it.
            let bare = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#);
            check_onward(&mut relay, &bare, &bare);
            check_back(&mut relay, &result(answered, "{}"), Some(&result(answered, "{}")));
        }
        assert!(relay.pipe.is_idle());
    }

    #[test]
    fn requests_in_flight_keep_apart() {
        let mut relay = relay();
        let bare = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
        check_onward(&mut relay, &request("1", "de"), &request("1", "de"));
        check_onward(&mut relay, bare, bare);
        // The server asks the client something, under an id that the client uses too.
        let asked = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
        check_back(&mut relay, asked, Some(asked));
        let roots = result("1", r#"{"roots":[]}"#);
        check_onward(&mut relay, &roots, &roots);
        check_back(&mut relay, &result("2", "{}"), Some(&result("2", "{}")));
        check_back(&mut relay, &result("1", "{}"), Some(&result("1", TOLD)));
    }

    #[test]
    fn what_is_cancelled_waits_no_more() {
        let mut relay = relay();
        for id in ["1", "2", "3"] {
            check_onward(&mut relay, &request(id, "de"), &request(id, "de"));
        }
        let Err(reply) = relay.handle_client_line(request("4", "de").as_bytes()) else { panic!("too many") };
        // Said in German, as asked.
        assert!(
            reply.body.contains(r#""id":4,"error":{"#) && reply.body.contains("die Grenze `calls`"),
            "{}",
            reply.body
        );
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
        check_onward(&mut relay, cancel, cancel);
        check_onward(&mut relay, &request("4", "de"), &request("4", "de"));
    }

    #[test]
    fn answers_what_cannot_be_read_in_one_way_and_what_has_no_envelope() {
        for (line, code) in [
            ("no JSON", -32700),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#, -32602),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","clientContext":{},"params":{"_meta":{"io.modelcontextprotocol/clientContext":{"locale":"de"}}}}"#,
                -32602,
            ),
        ] {
            let Err(reply) = relay().handle_client_line(line.as_bytes()) else { panic!("passed: {line}") };
            assert_eq!(reply.code, code, "{line}");
        }
        let mut relay = reporting();
        check_onward(&mut relay, "no JSON", "no JSON");
    }

    #[test]
    fn answers_a_name_in_another_case_and_lets_it_pass_where_it_only_reports() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sql","Name":"evil"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"RequestId":2}}"#,
        ] {
            let Err(reply) = relay().handle_client_line(line.as_bytes()) else { panic!("passed: {line}") };
            assert_eq!((reply.code, reply.rules), (-32700, vec!["H18"]), "{line}");
            let mut reporting = reporting();
            check_onward(&mut reporting, line, line);
        }
        // What a server says is for its client to read.
        let odd = r#"{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}"#;
        check_back(&mut relay(), odd, Some(odd));
    }

    #[test]
    fn the_context_does_not_go_on() {
        let bare = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let told = bare.replacen('{', r#"{"clientContext":{"locale":"de"},"#, 1);
        check_onward(&mut relay(), &told, bare);
    }

    #[test]
    fn the_context_goes_on_as_far_as_the_operator_lets_it() {
        let forward =
            ContextForwarding { fields: vec![ClientContextField::Locale], ..ContextForwarding::default() };
        let offer = Offer { forward, ..Offer::default() };
        let mut relay = LineRelay::new(offer, HeaderPolicy::default(), false, 3);
        let bare = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let told = bare.replacen('{', r#"{"clientContext":{"locale":"de","timezone":"Europe/Zurich"},"#, 1);
        let onward = bare.replacen(
            '{',
            r#"{"params":{"_meta":{"io.modelcontextprotocol/clientContext":{"locale":"de"}}},"#,
            1,
        );
        check_onward(&mut relay, &told, &onward);
    }

    #[test]
    fn the_context_fills_arguments_and_listings_show_what_is_left() {
        let timezone = ArgumentFill::Context { from: BoundContextPart::Timezone, default: None };
        let day = ArgumentFill::Interval {
            named: "when".to_owned(),
            part: IntervalEdge::Start,
            written: InstantNotation::Date,
        };
        let arguments = [
            ("tz".to_owned(), Binding { fills: timezone, hide: true }),
            ("day".to_owned(), Binding { fills: day, hide: false }),
        ];
        let bindings =
            Bindings::new([("t".to_owned(), arguments.into())].into(), CoordinatePrecision::default());
        let offer = Offer { bindings: bindings.into(), ..Offer::default() };
        let mut relay = LineRelay::new(offer, HeaderPolicy::default(), false, 3);
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
            )
        };
        let told = call(r#"{"a":1}"#).replacen('{', r#"{"clientContext":{"timezone":"Europe/Zurich"},"#, 1);
        check_onward(&mut relay, &told, &call(r#"{"tz":"Europe/Zurich","a":1}"#));
        check_onward(
            &mut relay,
            &call(r#"{"when":"2026-11-12"}"#),
            &call(r#"{"day":"2026-11-12","tz":"UTC"}"#),
        );
        let soon = call(r#"{"when":"soon"}"#);
        let Err(reply) = relay.handle_client_line(soon.as_bytes()) else { panic!("passed") };
        assert!(
            reply.body.contains(r#""isError":true"#) && reply.body.contains(r#""id":1"#),
            "{}",
            reply.body
        );
        assert!(relay.pipe.is_idle());

        let tools =
            |schema: &str| result("2", &format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#));
        let listed = tools(r#"{"properties":{"tz":{},"a":{}},"required":["tz"]}"#);
        // Nobody asked for it.
        check_back(&mut relay, &listed, Some(&listed));
        let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
        check_onward(&mut relay, list, list);
        let ReturnedLine::Send(shown) = relay.handle_server_line(listed.as_bytes()) else {
            panic!("dropped")
        };
        let shown = String::from_utf8_lossy(&shown);
        assert!(
            shown.contains("\"when\":{") && !shown.contains("tz") && !shown.contains("required"),
            "{shown}"
        );
    }

    /// The rules for what an operator wrote for `t`, with German files.
    fn attuned() -> LineRelay {
        use mcp_attune_shape::template::{Template, TemplateSet};
        use mcp_attune_shape::{OperatorContent, ToolShaping};
        let german = r#"{"messages":{"a":{"source":"Working","text":"In Arbeit"}}}"#;
        let templates = TemplateSet::new([Template::compile("md", "{{ city }} is cold").unwrap()]);
        let tool = ToolShaping { templates: templates.into(), ..ToolShaping::default() };
        let content =
            OperatorContent { tools: [("t".to_owned(), tool)].into(), ..OperatorContent::default() };
        let english = mcp_attune::language::Tag::parse("en").unwrap();
        let files = mcp_attune::catalog::EmbeddedLocales::new(english, Box::leak(Box::new([("de", german)])))
            .unwrap();
        let translate = mcp_attune::localize::TranslationScope { logs: true, ..Default::default() };
        let (content, library) = (Arc::new(Arc::new(content)), Arc::new(files));
        let offer = Offer { content: Some(content), library: Some(library), translate, ..Offer::default() };
        LineRelay::new(offer, HeaderPolicy::default(), false, 9)
    }

    /// A request of a person whose host draws views, and who prefers German.
    fn human(id: u32, method: &str, params: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/acceptLanguage":"de","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"io.modelcontextprotocol/content-negotiation":{{"features":["human"]}},"io.modelcontextprotocol/ui":{{}}}}}}}}}}}}"#
        )
    }

    fn back(relay: &mut LineRelay, line: &str) -> String {
        match relay.handle_server_line(line.as_bytes()) {
            ReturnedLine::Send(sent) => String::from_utf8(sent.into_owned()).unwrap(),
            ReturnedLine::Drop => panic!("dropped: {line}"),
        }
    }

    const DONE: &str = r#"{"taskId":"7","statusMessage":"Working","result":{"content":[],"structuredContent":{"city":"Bern"}}}"#;

    #[test]
    fn a_task_is_remembered_with_its_tool() {
        let mut relay = attuned();
        relay.handle_client_line(human(1, "tools/call", r#""name":"t""#).as_bytes()).unwrap();
        let created =
            back(&mut relay, &result("1", r#"{"resultType":"task","taskId":"7","statusMessage":"Working"}"#));
        assert!(created.contains(r#""taskId":"7""#) && created.contains("In Arbeit"), "{created}");
        relay.handle_client_line(human(2, "tasks/get", r#""taskId":"7""#).as_bytes()).unwrap();
        let got = back(&mut relay, &result("2", DONE));
        assert!(got.contains("Bern is cold") && got.contains("In Arbeit"), "{got}");
        // What a view is drawn from stays: nobody says that the tool has none.
        assert!(got.contains("structuredContent"), "{got}");
        relay.handle_client_line(human(3, "tasks/get", r#""taskId":"8""#).as_bytes()).unwrap();
        let got = back(&mut relay, &result("3", &DONE.replace('7', "8")));
        assert!(got.contains("**City:** Bern"), "{got}");
    }

    #[test]
    fn what_is_told_on_a_subscription_follows_the_request_that_opened_it() {
        let mut relay = attuned();
        relay
            .handle_client_line(
                human(4, "subscriptions/listen", r#""notifications":{"taskIds":["7"]}"#).as_bytes(),
            )
            .unwrap();
        let told = |subscription: &str| {
            let params = DONE.replacen(
                '{',
                &format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{subscription}}},"#),
                1,
            );
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{params}}}"#)
        };
        let adapted = back(&mut relay, &told("4"));
        assert!(adapted.contains("**City:** Bern") && adapted.contains("In Arbeit"), "{adapted}");
        // Of another subscription, or of none, nobody knows the language.
        for other in [
            told("5"),
            told("\"4\""),
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{DONE}}}"#),
        ] {
            assert_eq!(back(&mut relay, &other), other);
        }
        // A request that opened none has none, whatever its id is.
        relay.handle_client_line(human(5, "tools/call", r#""name":"t""#).as_bytes()).unwrap();
        assert_eq!(back(&mut relay, &told("5")), told("5"));
    }

    #[test]
    fn progress_follows_the_request_that_gave_its_token() {
        let mut relay = attuned();
        let progress = |token: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1,"message":"Working"}}}}"#
            )
        };
        let call = human(1, "tools/call", r#""name":"t""#);
        relay
            .handle_client_line(
                call.replacen(r#""_meta":{"#, r#""_meta":{"progressToken":"a","#, 1).as_bytes(),
            )
            .unwrap();
        assert!(back(&mut relay, &progress("\"a\"")).contains("In Arbeit"));
        for other in [progress("\"b\""), progress("1")] {
            assert_eq!(back(&mut relay, &other), other);
        }
    }

    #[test]
    fn a_log_message_follows_the_only_request_that_waits() {
        let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"Working"}}"#;
        let mut relay = attuned();
        assert_eq!(back(&mut relay, log), log);
        relay
            .handle_client_line(
                human(4, "subscriptions/listen", r#""notifications":{"taskIds":["7"]}"#).as_bytes(),
            )
            .unwrap();
        assert_eq!(back(&mut relay, log), log);
        relay.handle_client_line(human(1, "tools/call", r#""name":"t""#).as_bytes()).unwrap();
        assert!(back(&mut relay, log).contains("In Arbeit"));
        relay.handle_client_line(human(2, "tools/call", r#""name":"t""#).as_bytes()).unwrap();
        assert_eq!(back(&mut relay, log), log);
    }

    #[test]
    fn a_locale_alone_is_a_preference() {
        let mut relay = relay();
        let bare = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        check_onward(&mut relay, &bare.replacen('{', r#"{"clientContext":{"locale":"de"},"#, 1), bare);
        check_back(&mut relay, &result("1", "{}"), Some(&result("1", TOLD)));
    }

    #[test]
    fn whoever_waits_when_the_server_ends_is_told_in_their_language() {
        let mut relay = relay();
        for (id, preference) in [("7", "de"), ("\"a\"", "en")] {
            relay.handle_client_line(request(id, preference).as_bytes()).unwrap();
        }
        let mut told: Vec<String> =
            relay.give_up(&Notice::ServerBrokeOff).into_iter().map(|reply| reply.body).collect();
        told.sort();
        assert_eq!(told.len(), 2);
        assert!(
            told[0].contains(r#""id":"a""#) && told[0].contains("the server behind broke off"),
            "{told:?}"
        );
        assert!(told[1].contains(r#""id":7"#) && told[1].contains("Der Zielserver"), "{told:?}");
        assert!(relay.give_up(&Notice::ServerBrokeOff).is_empty());
    }

    #[test]
    fn what_is_no_message_stays_away_from_the_client() {
        for noise in ["Server started on stdio", "{\"level\":\"info\"}", "\u{1b}[2K", "\"text\"", "{"] {
            check_back(&mut relay(), noise, None);
        }
        for odd in ["[]", r#"{"jsonrpc":"2.0","method":"vendor/odd","z":1e400}"#] {
            check_back(&mut relay(), odd, Some(odd));
        }
    }
}
