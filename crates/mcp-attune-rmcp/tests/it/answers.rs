//! Answers that contradict themselves or what was asked, that never end, or that would move a terminal.

use std::time::Duration;

use mcp_attune_rmcp::{ClientError, Connection, ConnectionOptions, ServerTarget};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::support::{Asked, answer, fault, impatient, json as answer_json, modern, options, says};

const KEY: &str = "io.modelcontextprotocol/contentLanguage";

fn in_french() -> String {
    format!(r#"{{"resultType":"complete","content":[],"_meta":{{"{KEY}":"fr"}}}}"#)
}

fn event(asked: &Asked, result: &str) -> String {
    format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}\n\n", asked.body["id"])
}

#[tokio::test]
async fn an_answer_whose_header_and_body_name_two_languages_is_malformed() {
    let (target, _) = modern("{}", |asked| {
        let french = in_french();
        let stream = "Content-Type: text/event-stream\r\nContent-Language: en\r\n";
        match asked.method() {
            "lies" => asked.result_with("Content-Language: en\r\n", &french),
            "lies/twice" => asked.result_with("Content-Language: fr\r\nContent-Language: en\r\n", &french),
            "lies/stream" => answer(200, stream, &event(asked, &french)),
            "lies/error" => {
                let error = format!(r#"{{"code":-32602,"message":"non","data":{{"_meta":{{"{KEY}":"fr"}}}}}}"#);
                let body = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, asked.body["id"]);
                answer(200, "Content-Type: application/json\r\nContent-Language: en\r\n", &body)
            }
            "agrees" => asked.result_with("Content-Language: FR\r\n", &french),
            "silent/header" => asked.result(&french),
            "silent/body" => asked.result_with("Content-Language: en\r\n", r#"{"content":[]}"#),
            // Somebody else's message stands in the stream before the one that is asked for.
            _ => {
                let progress = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":0,"progress":1,"_meta":{{"{KEY}":"fr"}}}}}}"#
                );
                let english = event(asked, &french.replace("fr", "en"));
                answer(200, stream, &format!("data: {progress}\n\n{english}"))
            }
        }
    })
    .await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    for method in ["lies", "lies/twice", "lies/stream", "lies/error"] {
        let error = connection.request(method, json!({})).await.unwrap_err();
        assert!(matches!(error, ClientError::Malformed { .. }) && !error.is_refusal(), "{method}: {error}");
    }
    let error = connection.request("lies", json!({})).await.unwrap_err();
    assert_eq!(
        says(&error, &target),
        "TARGET gives an answer that contradicts itself: `Content-Language: en`, and `fr` in its `_meta`; \
         somebody on the way may have changed it"
    );
    for method in ["agrees", "silent/header", "silent/body", "stream"] {
        connection.request(method, json!({})).await.unwrap_or_else(|error| panic!("{method}: {error}"));
    }
}

#[tokio::test]
async fn an_introduction_that_contradicts_itself_is_none() {
    for stream in [false, true] {
        let target = crate::support::server(move |asked| {
            let result = format!(
                r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{}},"ttlMs":0,"cacheScope":"private","_meta":{{"{KEY}":"fr"}}}}"#
            );
            if stream {
                let headers = "Content-Type: text/event-stream\r\nContent-Language: en\r\n";
                return answer(200, headers, &event(&asked, &result));
            }
            asked.result_with("Content-Language: en\r\n", &result)
        })
        .await;
        let error = fault(&target, &options()).await;
        assert!(matches!(error, ClientError::Malformed { .. }), "{stream} {error}");
    }
}

#[tokio::test]
async fn an_answer_to_another_question_is_none() {
    let (target, _) = modern("{}", |asked| match asked.method() {
        "other" => answer_json(200, r#"{"jsonrpc":"2.0","id":"\u001b[2J","result":{}}"#),
        "other/error" => answer_json(200, r#"{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}"#),
        "nobodys" => answer_json(200, r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#),
        "named" => {
            answer_json(400, r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":2,"message":"y"}}"#)
        }
        _ => answer(200, "Content-Type: text/event-stream\r\n", ": nothing\n\n"),
    })
    .await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    let said = async |method| connection.request(method, json!({})).await.unwrap_err();
    let error = said("other").await;
    let number = says(&error, &target).replace(|char: char| char.is_ascii_digit(), "0");
    assert_eq!(
        number,
        "TARGET does not speak MCP: it answers ` [0J`, and `0` was asked; is it the right server?"
    );
    assert!(says(&said("other/error").await, &target).contains("it answers `99`, and `"));
    for (method, code) in [("nobodys", 1), ("named", 2)] {
        let error = said(method).await;
        assert!(matches!(error, ClientError::Refused { code: got, .. } if got == code), "{method}: {error}");
    }
    let error = said("ends/without").await;
    assert!(!error.is_refusal() && says(&error, &target).contains("closed"), "{error}");
}

/// A server that answers its introduction and then writes without end.
async fn endless(head: &'static str, piece: &'static str) -> ServerTarget {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let asked = crate::support::asked(&mut stream).await?;
                if asked.method() == "server/discover" {
                    let result = asked.result(
                        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#,
                    );
                    return stream.write_all(result.as_bytes()).await.ok();
                }
                let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{head}\r\n");
                stream.write_all(head.as_bytes()).await.ok()?;
                let piece = piece.repeat(1000);
                let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
                loop {
                    stream.write_all(chunk.as_bytes()).await.ok()?;
                }
            });
        }
    });
    url.parse().unwrap()
}

#[tokio::test]
async fn an_answer_without_end_is_given_up_at_the_bound() {
    for (head, piece) in [
        ("Content-Type: application/json\r\n", "                "),
        ("Content-Type: text/event-stream\r\n", "data: xxxxxxxxxx\n"),
        ("Content-Type: text/event-stream\r\n", ": nothing\n\n"),
        (
            "Content-Type: text/event-stream\r\n",
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n",
        ),
    ] {
        let target = endless(head, piece).await;
        let mut options: ConnectionOptions = options();
        options.bytes = 1 << 20;
        options.answer = Duration::from_secs(30);
        let connection = Connection::open(&target, &options).await.unwrap();
        let error = connection.request("flood", json!({})).await.unwrap_err();
        assert!(matches!(error, ClientError::TooMuch { .. }), "{head}{piece}: {error}");
        assert_eq!(
            says(&error, &target),
            "TARGET sends an answer of more than 1048576 bytes; raise the bound if that is right"
        );
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_no_credentials_go_elsewhere() {
    let (elsewhere, heard) = modern("{}", |asked| asked.result("{}")).await;
    let location = format!("Location: {elsewhere}\r\n");
    for status in [301, 302, 303, 307, 308] {
        let location = location.clone();
        let target = crate::support::server(move |_| answer(status, &location, "")).await;
        let mut options = options();
        options.headers = vec!["Authorization: Bearer secret".parse().unwrap()];
        let said = says(&fault(&target, &options).await, &target);
        assert!(said.starts_with(&format!("TARGET answers {status}: http://127.0.0.1:")), "{said}");
        assert!(said.ends_with("redirects are not followed, so give the URL that it leads to"), "{said}");
        assert!(!said.contains("secret"));
    }
    assert!(heard.take().is_empty());
}

#[tokio::test]
async fn nothing_that_a_server_says_moves_a_terminal() {
    let nasty = r"\u001b]0;owned\u0007\u009b31m\u202e\r\nline\u2066";
    let (target, _) = modern("{}", move |asked| match asked.method() {
        "refuses" => {
            let error = format!(r#"{{"code":1,"message":"{nasty}"}}"#);
            answer_json(400, &format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, asked.body["id"]))
        }
        "kind" => answer(200, "Content-Type: te\u{9b}xt\r\n", ""),
        "text" => answer_json(200, "\u{1b}[2J\u{202e}no JSON"),
        "language" => {
            asked.result_with("Content-Language: e\tn\r\n", &format!(r#"{{"_meta":{{"{KEY}":"{nasty}"}}}}"#))
        }
        _ => answer(500, "", "\u{1b}[2J\u{202e}"),
    })
    .await;
    let connection = Connection::open(&target, &impatient()).await.unwrap();
    for method in ["refuses", "kind", "text", "language", "status"] {
        let said = connection.request(method, json!({})).await.unwrap_err().to_string();
        let moves = |char: char| {
            char.is_control() || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!said.contains(moves), "{method}: {said:?}");
    }
}
