//! What is sent to a server, and what comes back, exactly as it was written.

use serde_json::Value;
use serde_json::value::RawValue;

/// How many bytes one answer may have.
pub(super) const MAX_ANSWER_BYTES: usize = 4 << 20;

/// A request, as it is sent. Over pipes it is its body alone.
#[derive(Clone, Debug, Default)]
pub(super) struct CheckWireRequest {
    /// In their order, repetitions and all.
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Vec<u8>,
    /// Whether the names of headers go out in small letters, and not as the specification writes them.
    pub(super) small: bool,
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub(super) struct CheckWireAnswer {
    /// None over pipes, and where nothing came.
    pub(super) status: Option<u16>,
    pub(super) headers: Vec<(String, String)>,
    /// The body, or the line.
    pub(super) text: String,
    /// The answer in it: alone, or the event on a stream that has the id of the request.
    pub(super) answer: Option<Value>,
    /// Its result as it was written.
    pub(super) result: Option<String>,
    /// Why nothing came.
    pub(super) trouble: Option<String>,
}

impl CheckWireAnswer {
    pub(super) fn no_answer(why: impl Into<String>) -> Self {
        Self { trouble: Some(why.into()), ..Self::default() }
    }

    /// Takes the answer out of one message, if it is that.
    pub(super) fn take_answer(&mut self, message: &str, id: Option<u64>) -> bool {
        #[derive(serde::Deserialize)]
        struct CheckRawResult {
            result: Option<Box<RawValue>>,
        }
        let Ok(value) = serde_json::from_str::<Value>(message) else { return false };
        let answers = value.get("result").is_some() || value.get("error").is_some();
        let ours = id.is_none_or(|id| value.get("id").is_none_or(|theirs| theirs.is_null() || *theirs == id));
        if answers && ours {
            let parts = serde_json::from_str::<CheckRawResult>(message).ok();
            self.result = parts.and_then(|parts| parts.result).map(|raw| raw.get().to_owned());
            self.answer = Some(value);
        }
        answers && ours
    }

    /// The lines of a header, whatever the case of its name.
    pub(super) fn header_values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = move |(found, _): &&(String, String)| found.eq_ignore_ascii_case(name);
        self.headers.iter().filter(named).map(|(_, value)| value.as_str())
    }

    pub(super) fn is_json(&self) -> bool {
        let media = self.header_values("content-type").next().and_then(|value| value.split(';').next());
        media.is_some_and(|media| media.trim().eq_ignore_ascii_case("application/json"))
    }
}
