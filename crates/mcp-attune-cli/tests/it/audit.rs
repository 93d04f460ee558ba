//! `attune audit`, with real servers: the demo, the referee's fixture, and one of a few lines that does its worst.
#![cfg(feature = "audit")]

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::attune;
use crate::demo::NOW;

const ATTUNE: &str = env!("CARGO_BIN_EXE_attune");

/// Audits a program, and shows it without its path, which is another one elsewhere.
fn audited(options: &[&str], command: &[&str]) -> String {
    attune(&[&["audit"], options, &["--"], command].concat()).replace(ATTUNE, "attune")
}

fn demo(options: &[&str]) -> String {
    audited(options, &[ATTUNE, "demo", "--bare", "--stdio", "--now", NOW])
}

/// What JSON a command printed.
fn printed(shown: &str) -> Value {
    let text = shown.split("--- stdout\n").nth(1).and_then(|rest| rest.split("--- stderr").next());
    serde_json::from_str(text.expect("output")).expect("JSON")
}

/// A name in a folder of its own, gone when the test is over.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("attune-audit-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const BERN: &str = r#"get_weather={"location": "Bern"}"#;
const TRAINS: &str = r#"find_connections={"from": "Bern", "to": "Zurich"}"#;

#[test]
fn shows_what_results_cost_and_what_comes_twice() {
    insta::assert_snapshot!(demo(&["--call", BERN, "--call", TRAINS]), @r#"
    exit: 0
    --- stdout
    attune demo --bare --stdio --now 2026-02-22T08:30:00Z (2026-07-28): 10 tools, 4 calls

    10 tools: 841 tokens in every conversation
      execute_sql          205
      find_connections      89
      local_time            83
      get_weather           79
      sales_report          71
      query_activity        68
      query_sales           66
      query_tickets         63
      build_report          59
      book_seat             58
    Hidden and filled from the caller's context, local_time.tz, get_weather.tz would save 68 tokens.

                           as it comes   json, compact        markdown            text
    tool                 bytes  tokens  tokens   saved  tokens   saved  tokens   saved
    build_report            96      30      15    50 %      22    27 %      16    47 %
    local_time             200      72      36    50 %      42    42 %      34    53 %
    get_weather            879     229     150    34 %     180    21 %     153    33 %
    find_connections      1366     556     278    50 %     326    41 %     270    51 %

    build_report: it comes twice: as structuredContent, and as JSON in a text block
    local_time: it comes twice: as structuredContent, and as JSON in a text block
    find_connections: it comes twice: as structuredContent, and as JSON in a text block

    Not called:
      sales_report: it needs `from` and `to`, for which its schema has no value; add --call 'sales_report={"from": …, "to": …}'
      query_sales: it needs `query`, for which its schema has no value; add --call 'query_sales={"query": …}'
      query_tickets: it needs `query`, for which its schema has no value; add --call 'query_tickets={"query": …}'
      query_activity: it needs `query`, for which its schema has no value; add --call 'query_activity={"query": …}'
      book_seat: it is not marked as read-only; add --call 'book_seat'
      execute_sql: it is not marked as read-only; add --call 'execute_sql'

    3 of 4 results come twice; of 658 tokens format=json with verbosity=compact saves 50 %.
    In total: 887 tokens as they come, 479 with format=json and verbosity=compact, 46 % saved.
    --- stderr
    "#);
}

#[test]
fn the_object_has_every_form_and_its_totals_are_sums() {
    let shown = printed(&demo(&["--json", "--call", BERN, "--call", TRAINS]));
    let names = |value: &Value| value.as_object().map(|it| it.keys().cloned().collect::<Vec<_>>().join(" "));
    insta::assert_snapshot!(names(&shown).expect("an object"), @"listing not_called results server tokenizer tools total twice version");
    let rows = shown["results"].as_array().expect("rows");
    insta::assert_snapshot!(names(&rows[0]).expect("an object"), @"arguments as_it_comes findings outcome shaped tool why");
    let row = |name: &str| rows.iter().find(|row| row["tool"] == name).expect(name);
    assert_eq!(row("get_weather")["arguments"], serde_json::json!({ "location": "Bern" }));
    for shape in 0..9 {
        let sum: u64 = rows.iter().filter_map(|row| row["shaped"][shape]["tokens"].as_u64()).sum();
        assert!(sum > 0 && shown["total"]["shaped"][shape]["tokens"] == sum, "{shape}");
    }
    let forms: Vec<_> = rows[0]["shaped"].as_array().into_iter().flatten().collect();
    let form = |of: &Value| format!("{}/{}", of["format"], of["verbosity"]).replace('"', "");
    insta::assert_snapshot!(forms.into_iter().map(form).collect::<Vec<_>>().join(" "), @"json/compact json/standard json/verbose markdown/compact markdown/standard markdown/verbose text/compact text/standard text/verbose");
    assert_eq!((shown["total"]["results"].as_u64(), shown["twice"]["results"].as_u64()), (Some(4), Some(3)));
    assert_eq!(row("find_connections")["findings"][0]["kind"], "twice");
    // What comes twice costs half of it.
    let saving = shown["twice"]["shaped"][0]["saving"].as_f64().expect("a number");
    assert!((0.5..1.0).contains(&saving), "{saving}");
}

/// A server of the older era whose tools are bad in all ways that came to mind.
#[cfg(unix)]
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"notifications/'*) ;;
    *'"tools/list"'*) say "{\"tools\":[TOOLS]}" ;;
    *'"name":"fine"'*) say '{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}' ;;
    *'"name":"huge"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"; head -c 5000000 /dev/zero | tr '\0' a; echo '"}]}}' ;;
    *'"name":"long"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"; head -c 100000 /dev/zero | tr '\0' ' '; echo '"}]}}' ;;
    *'"name":"deep"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":' "$id"; head -c 120 /dev/zero | tr '\0' '['; head -c 120 /dev/zero | tr '\0' ']'; echo '}}' ;;
    *'"name":"deepest"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":' "$id"; head -c 9000 /dev/zero | tr '\0' '['; head -c 9000 /dev/zero | tr '\0' ']'; echo '}}' ;;
    *'"name":"named-twice"'*) say '{"content":[],"content":[]}' ;;
    *'"name":"invalid"'*) say '{"content":[],"structuredContent":{"n":"\u001b[2J"}}' ;;
    *'"name":"error"'*) say '{"content":[{"type":"text","text":"\u001b[2J no\n"}],"isError":true}' ;;
    *'"name":"odd"'*) say '[]' ;;
    *'"name":"silent"'*) ;;
    *'"name":"ends"'*) exit 3 ;;
    *'"name":"danger"'*) echo called > "$1"; say '{"content":[{"type":"text","text":"done"}]}' ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no\\u001b[2J"}}\n' "$id" ;;
  esac
done"#;

/// Audits that server with these tools; `$1` in it is a file.
#[cfg(unix)]
fn worst(options: &[&str], tools: &str, file: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let place = Place::new(&format!("server-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
    let script = place.file("server.sh");
    fs::write(&script, SERVER.replace("TOOLS", tools)).expect("a file");
    audited(options, &["sh", &script, file]).replace(&script, "server.sh")
}

#[cfg(unix)]
fn tool(name: &str, read_only: bool, more: &str) -> String {
    format!(
        r#"{{\"name\":\"{name}\",\"annotations\":{{\"readOnlyHint\":{read_only}}},\"inputSchema\":{{\"type\":\"object\"}}{more}}}"#
    )
}

#[cfg(unix)]
const SCHEMA: &str = r#",\"outputSchema\":{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"integer\"}}}"#;

#[test]
#[cfg(unix)]
fn a_tool_that_fails_is_a_row_and_the_others_are_looked_at() {
    let names =
        ["huge", "long", "deep", "deepest", "named-twice", "error", "odd", "silent", "ends", "unknown"];
    let mut tools: Vec<_> = names.map(|name| tool(name, true, "")).to_vec();
    tools.push(tool("invalid", true, SCHEMA));
    tools.push(tool("\\\\u001b[2J\\\\u202e<b>", true, ""));
    tools.push(tool("fine", true, SCHEMA));
    insta::assert_snapshot!(worst(&["--timeout", "3"], &tools.join(","), ""), @r#"
    exit: 1
    --- stdout
    sh server.sh (2025-11-25): 13 tools, 13 calls

    13 tools: 90 tokens in every conversation
      \u{1b}[2J\u{202e}<b>      13
      named-twice                9
      huge                       7
      deepest                    7
      long                       6
      deep                       6
      error                      6
      odd                        6
      silent                     6
      ends                       6
      unknown                    6
      invalid                    6
      fine                       6

                  as it comes   json, compact        markdown            text
    tool        bytes  tokens  tokens   saved  tokens   saved  tokens   saved
    long       100000     782     782     0 %     782     0 %     782     0 %
    deep          240     120     120     0 %     152   -27 %     137   -14 %
    error           8       6
    invalid        17      11      11     0 %       8    27 %       6    45 %
    fine           14      10       5    50 %       6    40 %       4    60 %

    huge: no result: sh server.sh sends a message of more than 4194304 bytes
    deep: there is structuredContent and no outputSchema
    deepest: no result: sh server.sh did not answer `tools/call` within 3s. It wrote `{"jsonrpc":"2.0","id":4,"result":{"content":[],"structuredContent":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…`, which is no message: only messages may go to the standard output
    named-twice: no result: the answer to `tools/call` cannot be read in one way: a member name stands twice in one object, the second time at byte 14
    error: the result is an error: \u{1b}[2J no\n
    odd: no result: what came is no object
    silent: no result: sh server.sh did not answer `tools/call` within 3s
    ends: no result: `sh server.sh` ended with exit code 3 before it answered
    unknown: no result: the server refuses `tools/call`: no [2J (-32601)
    invalid: not as its outputSchema asks, /n: value is not of type "integer"
    \u{1b}[2J\u{202e}<b>: no result: the server refuses `tools/call`: no [2J (-32601)
    fine: it comes twice: as structuredContent, and as JSON in a text block

    1 of 4 results comes twice; of 10 tokens format=json with verbosity=compact saves 50 %.
    In total (9 errors aside): 923 tokens as they come, 918 with format=json and verbosity=compact, 1 % saved.
    --- stderr
    "#);
}

#[test]
#[cfg(unix)]
fn a_server_that_breaks_off_again_and_again_is_left_alone() {
    let mut tools = vec![tool("ends", true, ""); 7];
    tools.push(tool("fine", true, SCHEMA));
    let shown = worst(&["--json"], &tools.join(","), "");
    assert!(shown.starts_with("exit: 1\n"), "{shown}");
    let shown = printed(&shown);
    assert_eq!(shown["results"].as_array().map(Vec::len), Some(6));
    let left: Vec<_> =
        shown["not_called"].as_array().expect("rows").iter().map(|left| &left["tool"]).collect();
    assert_eq!(left, ["ends", "fine"]);
}

#[test]
#[cfg(unix)]
fn only_what_is_read_only_is_called_unless_it_is_named() {
    let place = Place::new("danger");
    let file = place.file("called");
    let tools = tool("danger", false, "");
    let shown = worst(&[], &tools, &file);
    assert!(shown.contains("danger: it is not marked as read-only; add --call 'danger'"), "{shown}");
    assert!(shown.starts_with("exit: 0\n") && !fs::exists(&file).expect("an answer"), "{shown}");
    let shown = worst(&["--call", "danger"], &tools, &file);
    assert!(shown.starts_with("exit: 0\n") && fs::exists(&file).expect("an answer"), "{shown}");
}

#[test]
#[cfg(unix)]
fn a_listing_without_an_end_exits_with_2() {
    let endless = SERVER.replace(r#"{\"tools\":[TOOLS]}"#, r#"{\"tools\":[],\"nextCursor\":\"$id\"}"#);
    let same = SERVER.replace(r#"{\"tools\":[TOOLS]}"#, r#"{\"tools\":[],\"nextCursor\":\"x\"}"#);
    insta::assert_snapshot!(audited(&[], &["sh", "-c", &endless]), @"
    exit: 2
    --- stdout
    --- stderr
    error: the server has more than 100 pages of `tools/list`
    hint: see whether it gives the same page again and again
    ");
    insta::assert_snapshot!(audited(&[], &["sh", "-c", &same]), @"
    exit: 2
    --- stdout
    --- stderr
    error: the server has a page of `tools/list` that leads back to one before it
    hint: see whether it gives the same page again and again
    ");
}

#[test]
#[cfg(unix)]
fn the_page_needs_nothing_else_and_nothing_of_a_server_is_markup_in_it() {
    let place = Place::new("page");
    let file = place.file("audit.html");
    let tools =
        [tool("<script>alert(1)</script>", true, ""), tool("fine", true, SCHEMA), tool("error", true, "")];
    let shown = worst(&["--html", &file], &tools.join(","), "");
    assert!(shown.starts_with("exit: 1\n"), "{shown}");
    let page = fs::read_to_string(&file).expect("a page");
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script"), "{page}");
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("url("), "{page}");
    assert!(!page.chars().any(|char| char.is_control() && char != '\n'), "{page:?}");
    assert!(page.contains("<svg role=\"img\" aria-label=\"") && page.contains("<caption>"), "{page}");
    // A file that is there is replaced; what is no file is not.
    assert!(worst(&["--html", &file], &tool("fine", true, SCHEMA), "").starts_with("exit: 0\n"));
    assert!(!fs::read_to_string(&file).expect("a page").contains("alert"));
    let folder = place.file("");
    for (file, what) in
        [(folder.as_str(), "no file"), ("/dev/null", "no file"), (&place.file("a/b"), "no folder")]
    {
        let shown = worst(&["--html", file], &tool("fine", true, ""), "");
        assert!(shown.starts_with("exit: 2\n") && shown.contains(what), "{file}: {shown}");
    }
}

#[test]
fn what_cannot_be_audited_exits_with_2() {
    insta::assert_snapshot!(demo(&["--call", "get_wether"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: the server has no tool `get_wether`
    hint: it has get_weather, find_connections, book_seat, build_report, execute_sql, sales_report, local_time, query_sales, query_tickets, query_activity
    ");
    insta::assert_snapshot!(demo(&["--call", "get_weather=Bern"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: --call: the arguments are no JSON object
    hint: write --call 'get_weather={"name": "value"}'
    "#);
    insta::assert_snapshot!(attune(&["audit"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: no server is named
    hint: give its URL, or the program to start after `--`
    ");
    assert!(attune(&["audit", "http://127.0.0.1:1/mcp"]).starts_with("exit: 2\n"));
}

/// Over HTTP, with a server that has content of every kind.
#[test]
fn audits_over_http() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    runtime.spawn(attune_fixture::serve(listener, false, None, std::future::pending()));
    let names = ["test_simple_text", "test_image_content", "test_embedded_resource", "test_error_handling"];
    let options: Vec<_> = names.iter().flat_map(|name| ["--call", name]).collect();
    let shown = printed(&attune(&[&["audit", "--json", &url], &options[..]].concat()));
    assert_eq!(shown["version"], "2026-07-28");
    let rows = shown["results"].as_array().expect("rows");
    let row = |name: &str| rows.iter().find(|row| row["tool"] == name).expect(name);
    let tokens = |name: &str| row(name)["as_it_comes"]["tokens"].as_u64().expect(name);
    assert!(tokens("test_simple_text") > 0 && tokens("test_embedded_resource") > 0);
    assert_eq!(tokens("test_image_content"), 0);
    assert_eq!(row("test_error_handling")["outcome"], "error");
}
