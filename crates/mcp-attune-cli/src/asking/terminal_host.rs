//! Whoever sits before the terminal: they see the wire and the progress, and are asked.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_attune_rmcp::{CallerProfile, ClientHost, ElicitationFuture, WireEvent};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::method;
use rmcp::model::{
    ClientCapabilities, ElicitationCapability, FormElicitationCapability, UrlElicitationCapability,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::person::TerminalPrompter;
use super::question;
use super::scripted::{AnswerScript, ScriptedAnswers};
use super::words::QuestionTexts;
use crate::exit;
use crate::paint::{self, PaintStyle};
use crate::progress;
use crate::show::{json, plain, table, terminal_columns};
use crate::text::quoted;

/// How much of a body that is no message a terminal is shown.
const MAX_SHOWN: usize = 16 << 10;
/// Up to how many bytes a message is laid out for a terminal.
const MAX_FORMATTED_BYTES: usize = 1 << 20;
/// How many lines of a listing are shown among what goes over the wire.
const MAX_LINES: usize = 40;
/// How many columns the bar of a progress has.
const BAR_COLUMNS: usize = 12;
/// Parts of the names of headers whose values are nobody's business.
const SECRET_NAME_PARTS: [&str; 7] = ["auth", "cookie", "key", "password", "secret", "session", "token"];

/// The person at the terminal, or nobody.
#[derive(Debug)]
pub(crate) struct TerminalHost {
    raw: bool,
    person: bool,
    /// What the command line answers, in place of the person.
    scripted: Option<AnswerScript>,
    /// The words around questions.
    words: Arc<QuestionTexts>,
    server: String,
    terminal: bool,
    /// One question at a time.
    asking: Arc<Mutex<()>>,
}

impl TerminalHost {
    pub(crate) fn new(
        raw: bool,
        person: bool,
        answers: Option<ScriptedAnswers>,
        words: QuestionTexts,
        server: String,
    ) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let scripted = answers.map(AnswerScript::new);
        Self { raw, person, scripted, words: Arc::new(words), server, terminal, asking: Arc::default() }
    }

    /// Why a question could not be answered.
    pub(crate) fn fault(&self) -> Option<anyhow::Error> {
        self.scripted.as_ref().and_then(AnswerScript::fault)
    }

    /// Tells which answers nobody asked for.
    pub(crate) fn note_unused_answers(&self) {
        for key in self.scripted.iter().flat_map(AnswerScript::unused_keys) {
            exit::print_note(&format!(
                "nothing was asked that is called `{}`, so that --answer was not used",
                quoted(&key)
            ));
        }
    }

    pub(crate) fn is_raw(&self) -> bool {
        self.raw
    }

    /// Whether there is somebody to ask, or an answer without them.
    pub(crate) fn has_answers(&self) -> bool {
        self.person || self.scripted.is_some()
    }

    /// A profile that says so.
    pub(crate) fn declare_elicitation(&self, profile: &CallerProfile) -> CallerProfile {
        if !self.has_answers() {
            return profile.clone();
        }
        let both = ElicitationCapability::new()
            .with_form(FormElicitationCapability::default())
            .with_url(UrlElicitationCapability::default());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(both);
        profile.capabilities(capabilities)
    }

    /// Shows what is being done, unless the wire is shown.
    pub(crate) fn show(&self, what: &str) {
        if !self.raw {
            progress::show(&table::truncate_to_columns(
                &plain::line(what),
                terminal_columns().saturating_sub(1),
            ));
        }
    }

    /// Puts a question to the person. They may take their time, and others go on meanwhile.
    pub(crate) async fn elicit(&self, question: String) -> serde_json::Value {
        if let Some(scripted) = &self.scripted {
            return scripted.answer(&question);
        }
        progress::clear();
        let (server, asking, words) = (self.server.clone(), self.asking.clone(), self.words.clone());
        let asked = tokio::task::spawn_blocking(move || {
            let _one = asking.lock().unwrap_or_else(PoisonError::into_inner);
            question::ask(&question, &server, &words, &mut TerminalPrompter)
        });
        asked.await.unwrap_or_else(|_| serde_json::json!({ "action": "cancel" }))
    }

    fn print_marked(&self, mark: char, text: &str) {
        let mark = paint::stderr().paint(PaintStyle::Hint, mark.encode_utf8(&mut [0; 4]));
        let mut out = std::io::stderr().lock();
        for line in text.split('\n') {
            let _ = writeln!(out, "{mark} {line}");
        }
    }

    /// Shows a body: in a pipe as it is, on a terminal laid out, and of what is known to be long and dull its beginning.
    fn print_body(&self, mark: char, body: &[u8]) {
        if !self.terminal {
            return self.print_marked(mark, &plain::lines(&String::from_utf8_lossy(body)));
        }
        if let Some(text) = std::str::from_utf8(body).ok().filter(|_| body.len() <= MAX_FORMATTED_BYTES)
            && let Ok(message) = Message::parse(body)
        {
            let laid_out = json::indented(text, true, paint::stderr());
            let folded = if is_listing_or_introduction(&message) { first_lines(&laid_out) } else { laid_out };
            return self.print_marked(mark, &folded);
        }
        let shown = plain::lines(&String::from_utf8_lossy(body.get(..MAX_SHOWN).unwrap_or(body)));
        let more = body.len().saturating_sub(MAX_SHOWN);
        let more = if more > 0 { format!("… and {more} bytes more") } else { String::new() };
        self.print_marked(mark, &format!("{shown}{more}"));
    }
}

/// Whether a message is a listing or an introduction, which are long, and seldom what is looked for.
fn is_listing_or_introduction(message: &Message<'_>) -> bool {
    let dull = ["tools", "prompts", "resources", "resourceTemplates", "capabilities"];
    let result = message.member("result");
    result.is_some_and(|result| dull.iter().any(|member| result.member(member).is_some()))
}

/// The first lines of a text.
fn first_lines(text: &str) -> String {
    let more = text.lines().count().saturating_sub(MAX_LINES);
    if more == 0 {
        return text.to_owned();
    }
    let first: Vec<_> = text.lines().take(MAX_LINES).collect();
    format!("{}\n… {more} lines more; with 2> FILE they are all in the file", first.join("\n"))
}

impl ClientHost for TerminalHost {
    fn on_wire_event(&self, wire: &WireEvent<'_>) {
        if let WireEvent::Said(line) = wire {
            // Its own colours are lost: on a terminal, nothing that a program says is obeyed.
            let line = format!("│ {}", plain::lines(&String::from_utf8_lossy(line)));
            progress::print_above(&paint::stderr().paint(PaintStyle::Aside, &line));
        }
        if let WireEvent::Came(message) = wire
            && let Some(what) = progress_of(message)
        {
            self.show(&what);
        }
        if !self.raw {
            return;
        }
        match *wire {
            WireEvent::Request { method, url, headers, body } => {
                self.print_marked('>', &format!("{method} {}", without_query(url)));
                self.print_marked('>', &header_lines(headers));
                if !body.is_empty() {
                    self.print_body('>', body);
                }
            }
            WireEvent::Response { status, headers } => {
                self.print_marked('<', &status.to_string());
                self.print_marked('<', &header_lines(headers));
            }
            WireEvent::Line(line) => self.print_body('>', line),
            WireEvent::Came(message) => self.print_body('<', message),
            _ => {}
        }
    }

    fn can_answer(&self) -> bool {
        self.has_answers()
    }

    fn answer_elicitation<'a>(&'a self, question: &'a RawValue) -> ElicitationFuture<'a> {
        Box::pin(self.elicit(question.get().to_owned()))
    }
}

/// The headers below each other, secrets masked, and an empty line.
fn header_lines(headers: &http::HeaderMap) -> String {
    let line = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        let name = name.as_str();
        let value = String::from_utf8_lossy(value.as_bytes());
        let value = if is_secret(name) { "(masked)".to_owned() } else { plain::line(&value) };
        format!("{name}: {value}\n")
    };
    headers.iter().map(line).collect()
}

/// Whether a header's value may open a door. `WWW-Authenticate` says only which door there is.
fn is_secret(name: &str) -> bool {
    name != "www-authenticate" && SECRET_NAME_PARTS.iter().any(|part| name.contains(part))
}

/// A URL as it may be shown: what follows `?` may hold a key.
fn without_query(url: &str) -> String {
    match url.split_once('?') {
        Some((start, _)) => format!("{}?(masked)", plain::line(start)),
        None => plain::line(url),
    }
}

#[derive(Deserialize)]
struct ProgressMessage {
    method: String,
    params: ProgressParams,
}

#[derive(Deserialize)]
struct ProgressParams {
    progress: serde_json::Number,
    total: Option<serde_json::Number>,
    message: Option<String>,
}

/// What a progress notification says.
fn progress_of(message: &[u8]) -> Option<String> {
    let ProgressMessage { method, params } = serde_json::from_slice(message).ok()?;
    if method != method::PROGRESS {
        return None;
    }
    let ProgressParams { progress, total, message } = params;
    let far = match &total {
        Some(total) => {
            format!("{}{} of {}", bar(&progress, total), number_text(&progress), number_text(total))
        }
        None => number_text(&progress),
    };
    Some(message.map_or(far.clone(), |message| format!("{far}: {message}")))
}

/// A number without the point of one that is whole.
fn number_text(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        _ => number.to_string(),
    }
}

/// A bar as long as the progress, and a blank; nothing where the numbers make no sense.
fn bar(progress: &serde_json::Number, total: &serde_json::Number) -> String {
    let (Some(progress), Some(total)) = (progress.as_f64(), total.as_f64()) else { return String::new() };
    let part = progress / total;
    if !(0.0..=1.0).contains(&part) {
        return String::new();
    }
    let full = (0..BAR_COLUMNS).filter(|cell| (*cell as f64 + 0.5) / BAR_COLUMNS as f64 <= part).count();
    format!("{}{} ", "█".repeat(full), "░".repeat(BAR_COLUMNS - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_the_rest_is_not_obeyed() {
        let mut headers = http::HeaderMap::new();
        for (name, value) in [
            ("authorization", &b"Bearer s3cret"[..]),
            ("x-api-key", b"s3cret"),
            ("mcp-session-id", b"s3cret"),
            ("set-cookie", b"s3cret"),
            ("content-type", b"a/b\x9b"),
            ("www-authenticate", b"Bearer realm=x"),
        ] {
            let name = http::HeaderName::from_static(name);
            headers.insert(name, http::HeaderValue::from_bytes(value).unwrap());
        }
        let lines = header_lines(&headers);
        assert!(!lines.contains("s3cret") && lines.contains("content-type: a/b\u{fffd}\n"), "{lines}");
        assert!(lines.contains("www-authenticate: Bearer realm=x\n"), "{lines}");
        assert_eq!(without_query("http://x/mcp?key=s3cret"), "http://x/mcp?(masked)");
    }

    #[test]
    fn progress_is_told_in_words() {
        let check = |params: &str, expected: Option<&str>| {
            let message =
                format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#);
            assert_eq!(progress_of(message.as_bytes()).as_deref(), expected);
        };
        check(
            r#"{"progressToken":1,"progress":2,"total":5,"message":"page 2"}"#,
            Some("█████░░░░░░░ 2 of 5: page 2"),
        );
        check(r#"{"progressToken":1,"progress":1.0,"total":5.0}"#, Some("██░░░░░░░░░░ 1 of 5"));
        check(r#"{"progressToken":1,"progress":5,"total":5}"#, Some("████████████ 5 of 5"));
        check(r#"{"progressToken":1,"progress":7,"total":5}"#, Some("7 of 5"));
        check(r#"{"progressToken":1,"progress":0,"total":0}"#, Some("0 of 0"));
        check(r#"{"progressToken":1,"progress":3.0}"#, Some("3"));
        check(r#"{"progressToken":1,"progress":0.5}"#, Some("0.5"));
        check(r#"{"progressToken":1}"#, None);
        assert_eq!(progress_of(b"{}"), None);
    }

    #[test]
    fn listings_are_folded_and_nothing_else() {
        let long = format!("[{}]", vec!["1"; 100].join(","));
        let parse = |result: &str| {
            let answer = crate::server::wrap_in_answer(result);
            is_listing_or_introduction(&Message::parse(answer.as_bytes()).unwrap())
        };
        assert!(parse(&format!(r#"{{"tools":{long}}}"#)) && parse(r#"{"capabilities":{}}"#));
        assert!(!parse(&format!(r#"{{"content":{long}}}"#)));
        let lines = json::indented(&long, true, paint::Paint::NONE);
        assert!(first_lines(&lines).ends_with("\n… 62 lines more; with 2> FILE they are all in the file"));
        assert_eq!(first_lines("a\nb"), "a\nb");
    }
}
