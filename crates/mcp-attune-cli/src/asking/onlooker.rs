//! Whoever sits before the terminal: they see the wire and the progress, and are asked.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_attune_rmcp::{Answered, CallerProfile, Host, Wire};
use rmcp::model::{
    ClientCapabilities, ElicitationCapability, FormElicitationCapability, UrlElicitationCapability,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::question;
use crate::progress;
use crate::show::{plain, table, width};

/// How much of one body a terminal is shown.
const MOST_SHOWN: usize = 16 << 10;
/// Parts of the names of headers whose values are nobody's business.
const SECRET: [&str; 7] = ["auth", "cookie", "key", "password", "secret", "session", "token"];

/// The person at the terminal, or nobody.
#[derive(Debug)]
pub(crate) struct Onlooker {
    raw: bool,
    person: bool,
    server: String,
    terminal: bool,
    /// One question at a time.
    asking: Arc<Mutex<()>>,
}

impl Onlooker {
    pub(crate) fn new(raw: bool, person: bool, server: String) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { raw, person, server, terminal, asking: Arc::default() }
    }

    pub(crate) fn is_raw(&self) -> bool {
        self.raw
    }

    /// Whether there is somebody to ask.
    pub(crate) fn has_person(&self) -> bool {
        self.person
    }

    /// A profile that says so.
    pub(crate) fn declare(&self, profile: &CallerProfile) -> CallerProfile {
        if !self.person {
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
            progress::show(&table::cut(&plain::line(what), width().saturating_sub(1)));
        }
    }

    /// Puts a question to the person. They may take their time, and others go on meanwhile.
    pub(crate) async fn put(&self, question: String) -> serde_json::Value {
        progress::clear();
        let (server, asking) = (self.server.clone(), self.asking.clone());
        let asked = tokio::task::spawn_blocking(move || {
            let _one = asking.lock().unwrap_or_else(PoisonError::into_inner);
            question::ask(&question, &server, &mut question::Terminal)
        });
        asked.await.unwrap_or_else(|_| serde_json::json!({ "action": "cancel" }))
    }

    fn tell(&self, mark: char, text: &str) {
        let mut out = std::io::stderr().lock();
        for line in text.split('\n') {
            let _ = writeln!(out, "{mark} {line}");
        }
    }

    fn tell_body(&self, mark: char, body: &[u8]) {
        let most = if self.terminal { MOST_SHOWN } else { body.len() };
        let shown = plain::lines(&String::from_utf8_lossy(body.get(..most).unwrap_or(body)));
        let more = body.len().saturating_sub(most);
        let more = if more > 0 { format!("… and {more} bytes more") } else { String::new() };
        self.tell(mark, &format!("{shown}{more}"));
    }
}

impl Host for Onlooker {
    fn sees(&self, wire: &Wire<'_>) {
        if let Wire::Came(message) = wire
            && let Some(what) = progress_of(message)
        {
            self.show(&what);
        }
        if !self.raw {
            return;
        }
        match *wire {
            Wire::Request { method, url, headers, body } => {
                self.tell('>', &format!("{method} {}", without_query(url)));
                self.tell('>', &header_lines(headers));
                if !body.is_empty() {
                    self.tell_body('>', body);
                }
            }
            Wire::Response { status, headers } => {
                self.tell('<', &status.to_string());
                self.tell('<', &header_lines(headers));
            }
            Wire::Line(line) => self.tell_body('>', line),
            Wire::Came(message) => self.tell_body('<', message),
            _ => {}
        }
    }

    fn can_answer(&self) -> bool {
        self.person
    }

    fn answer<'a>(&'a self, question: &'a RawValue) -> Answered<'a> {
        Box::pin(self.put(question.get().to_owned()))
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
    name != "www-authenticate" && SECRET.iter().any(|part| name.contains(part))
}

/// A URL as it may be shown: what follows `?` may hold a key.
fn without_query(url: &str) -> String {
    match url.split_once('?') {
        Some((start, _)) => format!("{}?(masked)", plain::line(start)),
        None => plain::line(url),
    }
}

#[derive(Deserialize)]
struct Notification {
    method: String,
    params: Progress,
}

#[derive(Deserialize)]
struct Progress {
    progress: serde_json::Number,
    total: Option<serde_json::Number>,
    message: Option<String>,
}

/// What a progress notification says.
fn progress_of(message: &[u8]) -> Option<String> {
    let Notification { method, params } = serde_json::from_slice(message).ok()?;
    if method != "notifications/progress" {
        return None;
    }
    let Progress { progress, total, message } = params;
    let far = total.map_or(progress.to_string(), |total| format!("{progress} of {total}"));
    Some(message.map_or(far.clone(), |message| format!("{far}: {message}")))
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
        check(r#"{"progressToken":1,"progress":2,"total":5,"message":"page 2"}"#, Some("2 of 5: page 2"));
        check(r#"{"progressToken":1,"progress":0.5}"#, Some("0.5"));
        check(r#"{"progressToken":1}"#, None);
        assert_eq!(progress_of(b"{}"), None);
    }
}
