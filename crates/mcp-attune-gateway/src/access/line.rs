//! How a call is written to the access log: as a line of text, or as one JSON object on a line.
//!
//! ```text
//! 2026-11-16T13:41:28.123456Z  INFO attune::access: tools/call tool="get_weather" language="de-CH" format="text"
//!     outcome="answered" status=200 time=1.2ms mount="shop" request="9b0c"
//! {"timestamp":"2026-11-16T13:41:28.123456Z","level":"INFO","target":"attune::access","message":"a call is over",
//!     "method":"tools/call","outcome":"answered","mount":"shop","request":"9b0c","tool":"get_weather", …}
//! ```
//!
//! (Each is one line in the log.) The line is put together piece by piece in a buffer, because there is one
//! for each call: `format!` took some 5,500 instructions for a line, this takes some 1,500.

use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use mcp_attune::language::Tag;

use super::AccessRecord;

/// The target of these lines, by which a reader can tell them from other lines of the same log.
const TARGET: &str = "attune::access";

/// Writes lines into a buffer. It keeps the formatted second of the last line, which is mostly that of the
/// next one too.
#[derive(Debug, Default)]
pub(super) struct LineWriter {
    /// The second that `written` is about, since 1970.
    second: u64,
    /// That second in RFC 3339, without the `Z`.
    written: String,
}

impl LineWriter {
    /// Writes one call as text: method, tool, language, format, outcome, status, time in milliseconds, mount,
    /// request id. Fields that are not known are left out.
    pub(super) fn write_text(&mut self, call: &AccessRecord, into: &mut Vec<u8>) -> io::Result<()> {
        self.write_timestamp(call.at, into);
        into.extend_from_slice(b"  INFO ");
        into.extend_from_slice(TARGET.as_bytes());
        into.extend_from_slice(b": ");
        into.extend_from_slice(call.method.as_bytes());
        for (name, value) in call.choices() {
            if let Some(value) = value {
                write_field(name, value, into)?;
            }
        }
        write_field("outcome", call.outcome, into)?;
        if let Some(status) = call.status {
            into.extend_from_slice(b" status=");
            write_number(status.into(), 1, into);
        }
        let micros = micros(call.time);
        into.extend_from_slice(b" time=");
        write_number(micros / 1000, 1, into);
        into.push(b'.');
        write_number(micros % 1000 / 100, 1, into);
        into.extend_from_slice(b"ms");
        write_field("mount", &call.mount, into)?;
        if let Some(id) = call.request_id() {
            write_field("request", id, into)?;
        }
        into.push(b'\n');
        Ok(())
    }

    /// Writes one call as a JSON object with the same fields; `seconds` has six decimals. Fields that are not
    /// known are `null`.
    pub(super) fn write_json(&mut self, call: &AccessRecord, into: &mut Vec<u8>) -> io::Result<()> {
        into.extend_from_slice(b"{\"timestamp\":\"");
        self.write_timestamp(call.at, into);
        write!(into, "\",\"level\":\"INFO\",\"target\":\"{TARGET}\",\"message\":\"a call is over\"")?;
        let named = [
            ("method", Some(call.method)),
            ("outcome", Some(call.outcome)),
            ("mount", Some(&*call.mount)),
            ("request", call.request_id()),
        ];
        for (name, value) in named.into_iter().chain(call.choices()) {
            write!(into, ",\"{name}\":")?;
            serde_json::to_writer(&mut *into, &value)?;
        }
        let micros = micros(call.time);
        write!(into, ",\"seconds\":{}.{:06}", micros / 1_000_000, micros % 1_000_000)?;
        match call.status {
            Some(status) => writeln!(into, ",\"status\":{status}}}"),
            None => writeln!(into, ",\"status\":null}}"),
        }
    }

    /// Writes a time in UTC with microseconds.
    fn write_timestamp(&mut self, at: SystemTime, into: &mut Vec<u8>) {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        if self.second != since.as_secs() || self.written.is_empty() {
            let second = i64::try_from(since.as_secs()).ok().and_then(|at| Timestamp::from_second(at).ok());
            self.second = since.as_secs();
            self.written = second.unwrap_or_default().to_string();
            self.written.pop();
        }
        into.extend_from_slice(self.written.as_bytes());
        into.push(b'.');
        write_number(since.subsec_micros().into(), 6, into);
        into.push(b'Z');
    }
}

impl AccessRecord {
    /// Returns the fields that depend on the call: tool, language and format, each `None` where there is
    /// none.
    fn choices(&self) -> [(&'static str, Option<&str>); 3] {
        [
            ("tool", self.tool.as_deref()),
            ("language", self.language.as_ref().map(Tag::as_str)),
            ("format", self.format),
        ]
    }

    fn request_id(&self) -> Option<&str> {
        self.request.as_ref()?.to_str().ok()
    }
}

/// Returns a duration in microseconds, saturating.
fn micros(time: Duration) -> u64 {
    time.as_secs().saturating_mul(1_000_000).saturating_add(time.subsec_micros().into())
}

/// Writes a number in decimal, with leading zeros up to `least` digits.
fn write_number(mut number: u64, least: usize, into: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        used += 1;
        if number == 0 && used >= least {
            break;
        }
    }
    into.extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
}

/// Writes ` name="value"`. A value with quotes, backslashes, control characters or anything outside ASCII is
/// escaped as Rust's `Debug` does, so that a line cannot be forged.
fn write_field(name: &str, value: &str, into: &mut Vec<u8>) -> io::Result<()> {
    into.push(b' ');
    into.extend_from_slice(name.as_bytes());
    into.push(b'=');
    let is_plain = |byte: u8| (byte.is_ascii_graphic() || byte == b' ') && byte != b'"' && byte != b'\\';
    if !value.bytes().all(is_plain) {
        return write!(into, "{value:?}");
    }
    into.push(b'"');
    into.extend_from_slice(value.as_bytes());
    into.push(b'"');
    Ok(())
}
