//! The bodies that are measured, and serde_json's reading of them to compare with.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The plainest borrowed reading that serde_json offers: nothing below the message is looked at.
#[derive(Deserialize)]
#[allow(dead_code, reason = "only reading it counts")]
pub(crate) struct Plain<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: &'a RawValue,
}

/// A `tools/call` of about `size` bytes: rows of small objects, as structured arguments are.
pub(crate) fn rows(size: usize) -> Vec<u8> {
    let mut rows = String::new();
    let mut row = 0u32;
    while rows.len() + 700 < size {
        if row > 0 {
            rows.push(',');
        }
        rows += &format!(
            "{{\"id\":{row},\"place\":\"Zürich, platform {}\",\"price\":{}.{:02},\"open\":{},\"tags\":[\"a\",\"b\"],\
             \"note\":\"Take the second door on the left; mind the step.\",\"at\":\"2026-11-15T08:{:02}:00Z\"}}",
            row % 18,
            row * 7 % 90,
            row % 100,
            row.is_multiple_of(2),
            row % 60,
        );
        row += 1;
    }
    call(&format!("\"rows\":[{rows}]"))
}

/// The same with one long text, as a document to summarize is.
pub(crate) fn prose(size: usize) -> Vec<u8> {
    let sentence =
        "The train leaves at eight and reaches the valley before noon. \\\"Bring a coat\\\", they say.\\n";
    let text = sentence.repeat(size.saturating_sub(700) / sentence.len());
    call(&format!("\"document\":\"{text}\""))
}

/// A `tools/call` as SEP-2243 has it, with three arguments that headers mirror.
pub(crate) fn call(arguments: &str) -> Vec<u8> {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":42,\"method\":\"tools/call\",\"params\":{{\"_meta\":{{\
         \"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\
         \"io.modelcontextprotocol/clientInfo\":{{\"name\":\"bench\",\"version\":\"1.0.0\"}},\
         \"io.modelcontextprotocol/clientCapabilities\":{{\"sampling\":{{}}}},\
         \"io.modelcontextprotocol/acceptLanguage\":\"de-CH, de;q=0.9, en;q=0.5\"}},\
         \"name\":\"execute_sql\",\"arguments\":{{\"region\":\"eu-west1\",\"shard\":17,\"dry_run\":true,{arguments}}}}}}}"
    )
    .into_bytes()
}
