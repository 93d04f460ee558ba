//! Commands that ask what is no good server: an error that says so, soon, and nothing of it raw.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::{attune, code, text};

const INTRODUCTION: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}"#;
const JSON: &str = "application/json";

/// A request: its head, and its body where that is JSON.
struct Asked {
    head: String,
    body: Value,
}

impl Asked {
    fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    fn result(&self, result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.body["id"])
    }
}

/// Serves one answer to each request; the test says how, and may write what it wants.
fn serve(answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            std::thread::spawn(move || {
                let mut tcp = tcp;
                if let Some(asked) = read(&tcp) {
                    answer(&asked, &mut tcp);
                }
            });
        }
    });
    url
}

fn read(tcp: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(tcp);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_ascii_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { head, body: serde_json::from_slice(&body).unwrap_or_default() })
}

fn send(tcp: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let answer =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}");
    let _ = tcp.write_all(answer.as_bytes());
}

fn send_json(tcp: &mut TcpStream, body: &str) {
    send(tcp, "200 OK", &format!("Content-Type: {JSON}\r\n"), body);
}

/// Introduces itself, and answers other requests as the test says.
fn introduced(answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) -> String {
    serve(move |asked, tcp| match asked.method() {
        "server/discover" => send_json(tcp, &asked.result(INTRODUCTION)),
        _ => answer(asked, tcp),
    })
}

/// What is said of a listing.
fn said(url: &str) -> String {
    let shown = attune(&["tools", url, "--timeout", "5"]);
    shown.replace(url, "URL")
}

#[test]
fn an_answer_that_is_no_json_is_told_and_escaped() {
    let url = introduced(|_, tcp| send_json(tcp, "\u{1b}[2J nonsense"));
    insta::assert_snapshot!(said(&url), @"
    exit: 2
    --- stdout
    --- stderr
    error: URL does not speak MCP: it answers ` [2J nonsense`
    hint: is it the right server?
    ");
    let url = serve(|_, tcp| send(tcp, "200 OK", "Content-Type: text/html\r\n", "<html>"));
    insta::assert_snapshot!(said(&url), @"
    exit: 2
    --- stdout
    --- stderr
    error: URL does not speak MCP: it answers with `text/html`
    hint: is it the right server?
    ");
    let url = introduced(|asked, tcp| send_json(tcp, &asked.result(r#"{"tools":[],"tools":[]}"#)));
    insta::assert_snapshot!(said(&url), @"
    exit: 2
    --- stdout
    --- stderr
    error: the answer to `tools/list` cannot be read in one way: a member name stands twice in one object, the second time at byte 12
    hint: this is the server's mistake, and others may read its answer in another way
    ");
}

#[test]
fn an_answer_to_another_question_is_none() {
    let url = introduced(|_, tcp| send_json(tcp, r#"{"jsonrpc":"2.0","id":"other","result":{"tools":[]}}"#));
    let shown = said(&url);
    assert!(shown.starts_with("exit: 2\n--- stdout\n--- stderr\nerror: URL "), "{shown}");
}

#[test]
fn an_answer_without_an_end_has_one() {
    for (kind, start) in
        [(JSON, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[""#), ("text/event-stream", "data: \"")]
    {
        let url = introduced(move |_, tcp| {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 1000000000\r\n\r\n{start}"
            );
            let _ = tcp.write_all(head.as_bytes());
            let piece = vec![b'a'; 1 << 16];
            while tcp.write_all(&piece).is_ok() {}
        });
        let shown = attune(&["tools", &url]).replace(&url, "URL");
        assert!(shown.starts_with("exit: 2\n"), "{shown}");
        assert!(shown.contains("error: URL sends an answer of more than 67108864 bytes"), "{kind}: {shown}");
    }
}

#[test]
fn pages_without_an_end_have_one() {
    let count = AtomicUsize::new(0);
    let url = introduced(move |asked, tcp| {
        let next = count.fetch_add(1, Ordering::Relaxed);
        send_json(tcp, &asked.result(&format!(r#"{{"tools":[],"nextCursor":"{next}"}}"#)));
    });
    insta::assert_snapshot!(said(&url), @"
    exit: 2
    --- stdout
    --- stderr
    error: the server has more than 100 pages of `tools/list`
    hint: see whether it gives the same page again and again
    ");
}

#[test]
fn a_listing_over_its_bound_is_an_error_in_every_command_that_lists() {
    const INTRODUCTION: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}},"ttlMs":0,"cacheScope":"private"}"#;
    const PAGES: usize = 12;
    // Twelve pages of 3 MiB: each is small enough, and all together are not.
    let padding = "a".repeat(3 << 20);
    let url = serve(move |asked, tcp| {
        let member = match asked.method() {
            "server/discover" => return send_json(tcp, &asked.result(INTRODUCTION)),
            "tools/list" => "tools",
            "prompts/list" => "prompts",
            "resources/list" => "resources",
            _ => return send_json(tcp, &asked.result("{}")),
        };
        let page: usize = asked.body["params"]["cursor"].as_str().map_or(1, |page| page.parse().unwrap());
        let next = if page < PAGES { format!(r#","nextCursor":"{}""#, page + 1) } else { String::new() };
        let item =
            format!(r#"{{"name":"n{page}","uri":"x:{page}","inputSchema":{{}},"description":"{padding}"}}"#);
        send_json(tcp, &asked.result(&format!(r#"{{"resultType":"complete","{member}":[{item}]{next}}}"#)));
    });
    let folder = tempfile::tempdir().unwrap();
    for command in [
        &["tools", &url][..],
        &["prompts", &url],
        &["resources", &url],
        &["call", &url, "n1"],
        &["prompt", &url, "n1"],
        &["audit", &url],
        &["check", &url],
        &["catalog", "extract", &url, "--out", folder.path().to_str().unwrap()],
    ] {
        let shown = attune(command).replace(&url, "URL");
        assert!(shown.starts_with("exit: 2\n"), "{command:?}: {shown}");
        assert!(
            shown.contains("more than 33554432 bytes of `")
                && shown.contains("/list`, all pages together\nhint: see whether"),
            "{command:?}: {shown}"
        );
    }
}

#[test]
fn a_language_that_the_header_denies_is_malformed() {
    let url = introduced(|asked, tcp| {
        let result = r#"{"tools":[],"_meta":{"io.modelcontextprotocol/contentLanguage":"fr"}}"#;
        send(
            tcp,
            "200 OK",
            "Content-Type: application/json\r\nContent-Language: de\r\n",
            &asked.result(result),
        );
    });
    insta::assert_snapshot!(said(&url), @"
    exit: 2
    --- stdout
    --- stderr
    error: URL gives an answer that contradicts itself: `Content-Language: de`, and `fr` in its `_meta`
    hint: somebody on the way may have changed it
    ");
}

#[test]
fn a_token_does_not_follow_a_redirect_and_is_never_shown() {
    let (elsewhere, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = elsewhere.clone();
    let other = serve(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let counted = seen.clone();
    let url = serve(move |asked, tcp| {
        if asked.head.contains("authorization: bearer s3cret\r\n") {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        send(tcp, "307 Temporary Redirect", &format!("Location: {other}\r\n"), "");
    });
    let output = Command::new(env!("CARGO_BIN_EXE_attune"))
        .args(["tools", "--raw", &url])
        .env("ATTUNE_TOKEN", "s3cret")
        .output()
        .expect("attune starts");
    let errors = text(&output.stderr);
    assert_eq!(code(&output), 2, "{errors}");
    assert!(errors.contains("redirects are not followed") && !errors.contains("s3cret"), "{errors}");
    assert!(seen.load(Ordering::Relaxed) > 0, "the token was not sent");
    assert_eq!(elsewhere.load(Ordering::Relaxed), 0);
}

#[test]
fn whoever_is_not_let_in_is_told_how_to_say_who_they_are() {
    let url = serve(|_, tcp| send(tcp, "401 Unauthorized", "WWW-Authenticate: Bearer\r\n", ""));
    insta::assert_snapshot!(said(&url), @"
    exit: 2
    --- stdout
    --- stderr
    error: URL answers 401: Bearer
    hint: say who you are: a token in the environment variable ATTUNE_TOKEN or with --token, or --header NAME:VALUE
    ");
}

#[test]
fn a_server_that_is_silent_is_left_when_its_time_is_over() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    for server in [&["tools", &url, "--timeout", "2"][..], &["tools", "--timeout", "2", "--", "sleep", "100"]]
    {
        let begun = std::time::Instant::now();
        let shown = attune(server).replace(&url, "URL");
        assert!(begun.elapsed() < std::time::Duration::from_secs(15), "{shown}");
        assert!(shown.contains("did not answer `") && shown.contains("` within 2s\n"), "{shown}");
        assert!(shown.contains("hint: allow it more time with --timeout SECONDS"), "{shown}");
    }
}

#[test]
fn a_server_that_is_silent_to_what_it_does_not_know_is_asked_in_the_older_way() {
    let url = serve(|asked, tcp| {
        match asked.method() {
        "server/discover" => {
            // Long after nobody waits for it any more.
            std::thread::sleep(std::time::Duration::from_secs(20));
            let id = &asked.body["id"];
            let late = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"late"}}}}"#);
            send_json(tcp, &late);
        }
        "initialize" => send_json(
            tcp,
            &asked.result(r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#),
        ),
        "tools/list" => {
            send_json(tcp, &asked.result(r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#));
        }
        _ => send(tcp, "202 Accepted", "", ""),
    }
    });
    let shown = attune(&["tools", &url, "--timeout", "6", "--text"]);
    assert!(shown.starts_with("exit: 0\n--- stdout\nTOOL\nt\n"), "{shown}");
}

#[test]
fn a_program_that_dies_is_started_once_and_told_with_its_code() {
    let shown = attune(&["tools", "--", "sh", "-c", "echo Traceback >&2; exit 1"]);
    insta::assert_snapshot!(shown, @"
    exit: 2
    --- stdout
    --- stderr
    Traceback
    error: `sh -c echo Traceback >&2; exit 1` ended with exit code 1 before it answered
    hint: what it says on its standard error may tell why
    ");
}

#[test]
fn a_refusal_is_told_with_its_words_escaped() {
    let url = introduced(|asked, tcp| {
        let id = &asked.body["id"];
        let error = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"no\u001b[2J\u202e"}}}}"#
        );
        send(tcp, "500 No", &format!("Content-Type: {JSON}\r\n"), &error);
    });
    insta::assert_snapshot!(said(&url), @"
    exit: 1
    --- stdout
    --- stderr
    error: the server could not answer `tools/list`: no [2J  (-32603)
    ");
}

#[test]
fn what_asks_again_and_again_is_left() {
    let url = introduced(|asked, tcp| match asked.method() {
        "tools/list" => {
            send_json(tcp, &asked.result(r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#));
        }
        _ => send_json(tcp, &asked.result(r#"{"resultType":"input_required","requestState":"x"}"#)),
    });
    insta::assert_snapshot!(attune(&["call", &url, "t"]).replace(&url, "URL"), @"
    exit: 2
    --- stdout
    --- stderr
    error: the server wants more 16 times and gives no answer
    hint: --raw shows what it asks for
    ");
    let url = introduced(|asked, tcp| match asked.method() {
        "tools/list" => {
            send_json(tcp, &asked.result(r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#));
        }
        _ => {
            let asks = r#"{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{}}}}"#;
            send_json(tcp, &asked.result(asks));
        }
    });
    insta::assert_snapshot!(attune(&["call", &url, "t"]).replace(&url, "URL"), @"
    exit: 2
    --- stdout
    --- stderr
    error: the server asks for `sampling/createMessage`, which a command line cannot give
    hint: use a client that has a model
    ");
}
