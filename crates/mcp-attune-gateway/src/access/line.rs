//! How a call is written: `2026-11-16T13:41:28.123456Z  INFO attune::access: tools/call tool="get_weather" …`, or the same as one
//! JSON object.
//!
//! Written piece by piece into a buffer, because there is a line for each call: `format!` took some 5,500 instructions for one,
//! this takes some 1,500.

use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use mcp_attune::language::Tag;

use super::AccessRecord;

/// What the lines are known by in a log.
const TARGET: &str = "attune::access";

/// Writes lines. It remembers the second that the last one was about.
#[derive(Debug, Default)]
pub(super) struct LineWriter {
    second: u64,
    /// The second as it is written, without the `Z`.
    written: String,
}

impl LineWriter {
    /// Writes one call for people.
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

    /// Writes one call for programs.
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
    /// What was chosen for the call, where something was.
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

fn micros(time: Duration) -> u64 {
    time.as_secs().saturating_mul(1_000_000).saturating_add(time.subsec_micros().into())
}

/// Writes a number with at least so many digits.
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

/// Writes ` name="value"`, escaped where that is needed.
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
