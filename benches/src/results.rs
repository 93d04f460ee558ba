//! Answers that are worth changing: results of some 8 KB, and a listing with titles and descriptions.
//!
//! Every answer has the id of its request, and every result other data, so that nothing can be kept from one to the next. Both
//! are cheap to make: all that changes is put between parts that were written once.

use std::fmt::Write as _;

/// How many rows make a result of some 8 KB, the data as structured content and again as text.
const ROWS: u64 = 28;
/// Where a number goes that is another in every answer. No JSON has it unescaped.
const SLOT: char = '\u{1}';

/// The tool whose results are asked for.
pub const TOOL: &str = r#"{"name":"find_trains","title":"Find trains","description":"Trains between two stations, with their platforms, departures and prices","inputSchema":{"type":"object","properties":{"from":{"type":"string","title":"From"},"to":{"type":"string","title":"To"}}},"outputSchema":{"title":"Trains","type":"object","required":["from","to","trains"],"properties":{"from":{"type":"string","title":"From"},"to":{"type":"string","title":"To"},"trains":{"type":"array","title":"Trains","items":{"type":"object","properties":{"train":{"type":"string","title":"Train"},"platform":{"type":"integer","title":"Platform"},"departs":{"type":"string","format":"date-time","title":"Departs"},"reference":{"type":"integer","title":"Reference"},"price_chf":{"type":"number","title":"Price"}}}}}}}"#;

/// The answers of a server with so many tools.
pub struct Results {
    /// The text of a result between its numbers.
    parts: Vec<String>,
    listing: String,
}

impl Results {
    /// Makes them. The first tool is [`TOOL`].
    #[must_use]
    pub fn new(tools: usize) -> Self {
        let data = data();
        let text = data.replace('"', "\\\"");
        let result = format!(
            r#","result":{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}},{{"type":"resource_link","uri":"timetable://all","name":"timetable","title":"Timetable"}}],"structuredContent":{data},"isError":false}}}}"#
        );
        Self { parts: result.split(SLOT).map(str::to_owned).collect(), listing: listing(tools) }
    }

    /// The result of the call with this number.
    #[must_use]
    pub fn result(&self, request: &[u8], number: u64) -> String {
        let mut answer = begun(request);
        let Some((last, parts)) = self.parts.split_last() else { return answer };
        for (part, row) in parts.iter().zip((0..ROWS).cycle()) {
            answer += part;
            let _ = write!(answer, "{}", 10_000_000 + number * ROWS + row);
        }
        answer + last
    }

    /// The listing of all tools.
    #[must_use]
    pub fn listing(&self, request: &[u8]) -> String {
        begun(request) + &self.listing
    }
}

/// The beginning of an answer, with the id of its request.
fn begun(request: &[u8]) -> String {
    let request = String::from_utf8_lossy(request);
    let id = request.split_once("\"id\":").and_then(|(_, rest)| rest.split([',', '}']).next());
    let mut answer = String::with_capacity(10_000);
    let _ = write!(answer, r#"{{"jsonrpc":"2.0","id":{}"#, id.unwrap_or("1"));
    answer
}

fn data() -> String {
    let mut rows = String::new();
    for row in 0..ROWS {
        let comma = if row == 0 { "" } else { "," };
        let (platform, minute, price) = (1 + row % 18, row * 2, 12 + row);
        let _ = write!(
            rows,
            r#"{comma}{{"train":"IC {row}, to Zürich and beyond","platform":{platform},"departs":"2026-11-15T08:{minute:02}:00Z","reference":{SLOT},"price_chf":{price}.50}}"#
        );
    }
    format!(r#"{{"from":"Bern","to":"Locarno","trains":[{rows}]}}"#)
}

/// Some 480 bytes a tool.
fn listing(tools: usize) -> String {
    let mut list = TOOL.to_owned();
    for number in 1..tools {
        let _ = write!(
            list,
            r#",{{"name":"tool_{number}","title":"Work number {number}","description":"Does the work number {number} in one region, and nothing else; it may be called again and again, and gives the same each time","inputSchema":{{"type":"object","properties":{{"region":{{"type":"string","title":"Region","description":"Where the work is done","x-mcp-header":"Region"}},"query":{{"type":"string","title":"Query","description":"What is looked for, in the words of the region"}}}}}},"annotations":{{"readOnlyHint":true}}}}"#
        );
    }
    format!(
        r#","result":{{"resultType":"complete","tools":[{list}],"ttlMs":60000,"cacheScope":"private"}}}}"#
    )
}
