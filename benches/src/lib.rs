//! What is measured: the bodies, headers and preferences of the benchmarks, and serde_json's reading to compare with.

pub mod results;

use mcp_attune::language::Languages;
use mcp_attune_wire::schema::DeclaredHeaders;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The plainest borrowed reading that serde_json offers: nothing below the message is looked at.
#[derive(Deserialize)]
pub struct Plain<'a> {
    /// `2.0`
    pub jsonrpc: &'a str,
    /// As written.
    #[serde(borrow)]
    pub id: &'a RawValue,
    /// As written.
    pub method: &'a str,
    /// As written.
    #[serde(borrow)]
    pub params: &'a RawValue,
}

/// A `tools/call` of about `size` bytes: rows of small objects, as structured arguments are.
#[must_use]
pub fn rows(size: usize) -> Vec<u8> {
    let room = size - call("\"rows\":[]").len();
    let mut rows = String::new();
    for row in 0u32.. {
        let comma = if row > 0 { "," } else { "" };
        let more = format!(
            "{comma}{{\"id\":{row},\"place\":\"Zürich, platform {}\",\"price\":{}.{:02},\"open\":{},\"tags\":[\"a\",\"b\"],\
             \"note\":\"Take the second door on the left; mind the step.\",\"at\":\"2026-11-15T08:{:02}:00Z\"}}",
            row % 18,
            row * 7 % 90,
            row % 100,
            row.is_multiple_of(2),
            row % 60,
        );
        if rows.len() + more.len() > room {
            break;
        }
        rows += &more;
    }
    call(&format!("\"rows\":[{rows}]"))
}

/// The same with one long text, as a document to summarize is.
#[must_use]
pub fn prose(size: usize) -> Vec<u8> {
    let sentence =
        "The train leaves at eight and reaches the valley before noon. \\\"Bring a coat\\\", they say.\\n";
    let room = size - call("\"document\":\"\"").len();
    call(&format!("\"document\":\"{}\"", sentence.repeat(room / sentence.len())))
}

/// A `tools/call` as SEP-2243 has it, with three arguments that headers mirror.
#[must_use]
pub fn call(arguments: &str) -> Vec<u8> {
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

/// What a client sends with [`call`].
pub const HEADERS: [(&str, &[u8]); 12] = [
    ("host", b"localhost:8808"),
    ("user-agent", b"bench/1.0"),
    ("content-type", b"application/json"),
    ("accept", b"application/json, text/event-stream"),
    ("accept-language", b"de-CH, de;q=0.9, en;q=0.5"),
    ("authorization", b"Bearer 0123456789abcdef"),
    ("mcp-protocol-version", b"2026-07-28"),
    ("mcp-method", b"tools/call"),
    ("mcp-name", b"execute_sql"),
    ("mcp-param-region", b"eu-west1"),
    ("mcp-param-shard", b"17"),
    ("mcp-param-dry-run", b"true"),
];

/// The schema of the called tool: three of its arguments travel in headers.
pub const SCHEMA: &[u8] = br#"{"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"},
    "shard":{"type":"integer","x-mcp-header":"Shard"},
    "dry_run":{"type":"boolean","x-mcp-header":"Dry-Run"},
    "rows":{"type":"array","items":{"type":"object"}}}}"#;

/// What [`SCHEMA`] declares.
///
/// # Panics
///
/// Never: the schema is valid.
#[must_use]
pub fn declared() -> DeclaredHeaders {
    DeclaredHeaders::read(SCHEMA).expect("the schema is valid")
}

/// Preferences of four ranges: a usual one, and the two that cost most, a tie that nearness breaks and no
/// match but a relative.
pub const PREFERENCES: [(&str, &str); 3] = [
    ("usual", "fr-CH, fr;q=0.9, de;q=0.8, en;q=0.7"),
    ("tie", "es-UY, zh-TW;q=0.9, pt-AO;q=0.8, en;q=0.7"),
    ("relative", "th, vi;q=0.9, nn;q=0.8, sw;q=0.7"),
];

/// Twenty languages.
///
/// # Panics
///
/// Never: the tags are well formed.
#[must_use]
pub fn languages() -> Languages {
    let others = [
        "ar", "cs", "da", "de-AT", "de-DE", "es-419", "es-ES", "fr", "he", "hi", "it", "ja", "ko", "nb",
        "pl", "pt-BR", "pt-PT", "zh-Hans", "zh-Hant",
    ];
    Languages::new("en", others).expect("the tags are well formed")
}
