//! A server over standard input and output that does what a test asks of it. It is this very test program, started
//! again for the one test below; what the test harness prints first is no message, and the gateway reads over it.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::time::Duration;

use mcp_attune_wire::json::{JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, MessageKind};

/// The command of a child that follows a script, as a piece of `attune.toml`.
pub(crate) fn command(script: &str) -> String {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    format!(
        "[upstream]\ncommand = ['{program}', '--exact', 'child::script::speak', '--nocapture']\n\
         env = {{ SCRIPT = '{script}' }}\n"
    )
}

/// Not a test, but a door: other tests start it as a child, with a script.
#[test]
fn speak() {
    let Ok(script) = std::env::var("SCRIPT") else { return };
    if script == "dies" {
        std::process::exit(3);
    }
    let mut server = Server { script, ..Server::default() };
    for line in std::io::stdin().lock().lines() {
        server.hear(&line.unwrap());
    }
    std::process::exit(0);
}

#[derive(Default)]
struct Server {
    script: String,
    capabilities: String,
    /// Calls that wait for the caller's answer, by the question's id.
    asked: BTreeMap<String, String>,
    listening: Vec<String>,
    cancelled: Vec<String>,
    /// The `_meta` of whatever asked to have it copied.
    copied: Vec<String>,
    /// Calls that get no answer.
    never: usize,
    questions: usize,
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// The result first and the id last, as some servers write it.
fn result(id: &str, result: &str) {
    say(&format!(r#"{{"result":{result},"jsonrpc":"2.0","id":{id}}}"#));
}

fn error(id: &str, code: &str) {
    say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#));
}

fn text(text: &str) -> String {
    format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, serde_json::json!(text))
}

impl Server {
    fn hear(&mut self, line: &str) {
        let message = Message::parse(line.as_bytes()).unwrap();
        let id = message.id().map(SpannedValue::raw).unwrap_or_default();
        let method = message.method().and_then(JsonString::decode).unwrap_or_default();
        let script = self.script.as_str();
        match &*method {
            _ if message.kind() == MessageKind::Answer => {
                let call = self.asked.remove(id).unwrap();
                let answer = message.member("result").map(SpannedValue::raw).unwrap_or("null");
                result(&call, &text(answer));
            }
            "server/discover" if script == "legacy-exits" => std::process::exit(1),
            "server/discover" if script == "legacy-hangs" => loop {
                std::thread::sleep(Duration::from_secs(60));
            },
            "server/discover" if script == "legacy-is-silent" => {}
            "server/discover" if script.starts_with("legacy") => error(id, "-32602"),
            "server/discover" => {
                let versions =
                    if script == "both" { r#"["2026-07-28","2025-11-25"]"# } else { r#"["2026-07-28"]"# };
                result(id, &format!(r#"{{"supportedVersions":{versions},"capabilities":{{}}}}"#));
            }
            "initialize" if script == "modern" => error(id, "-32601"),
            "initialize"
                if script == "both-but-initialize-ends-it"
                    && message.param("capabilities").unwrap().member("bad").is_some() =>
            {
                std::process::exit(3);
            }
            "initialize" => {
                if script == "legacy-talks-first" {
                    say(
                        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"I am here"}}"#,
                    );
                    say(r#"{"jsonrpc":"2.0","id":77,"method":"ping"}"#);
                }
                self.capabilities = message.param("capabilities").unwrap().raw().to_owned();
                result(
                    id,
                    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}"#,
                );
            }
            "tools/list" if script.ends_with("-bound") => result(
                id,
                r#"{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"a":{},"day":{"type":"string"}},"required":["day"]}}]}"#,
            ),
            "tools/list" => result(id, r#"{"tools":[]}"#),
            "tools/call" => self.call(&message, id),
            "subscriptions/listen" => {
                self.listening.push(id.to_owned());
                say(&format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{{}}}}}}"#
                ));
            }
            "notifications/copied" => {
                self.copy_meta(&message);
            }
            "notifications/progress" => {
                let params = message.param("progressToken").unwrap().raw();
                say(&format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{params},"progress":1,"message":"copied"}}}}"#
                ));
            }
            "notifications/cancelled" => {
                self.cancelled.push(message.param("requestId").unwrap().raw().to_owned());
            }
            _ if message.kind() == MessageKind::Request => error(id, "-32601"),
            _ => {}
        }
    }

    fn copy_meta(&mut self, message: &Message<'_>) {
        let meta = message.param("_meta").map(SpannedValue::raw).unwrap_or("{}");
        self.copied.push(meta.to_owned());
        say(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"_meta":{meta},"data":"copied"}}}}"#
        ));
    }

    fn call(&mut self, message: &Message<'_>, id: &str) {
        let name = message.param("name").unwrap().text().unwrap().decode().unwrap().into_owned();
        let arguments = message.param("arguments").map(SpannedValue::raw).unwrap_or("{}");
        let token = message.meta("progressToken").map(SpannedValue::raw).unwrap_or("null");
        match name.as_str() {
            "echo" => result(id, &format!(r#"{{"id":{id},"token":{token},"arguments":{arguments}}}"#)),
            "progress" => {
                for step in 1..=2 {
                    say(&format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{step}}}}}"#
                    ));
                }
                result(id, "{}");
            }
            "begin" => {
                say(&format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
                ));
            }
            "elicit" => {
                self.questions += 1;
                let question = self.questions.to_string();
                say(&format!(
                    r#"{{"jsonrpc":"2.0","id":{question},"method":"elicitation/create","params":{{"message":{}}}}}"#,
                    serde_json::json!(arguments)
                ));
                self.asked.insert(question, id.to_owned());
            }
            // Asks as a modern server does.
            "ask" => match message.param("inputResponses") {
                Some(responses) => result(
                    id,
                    &text(&format!("{} {}", message.param("requestState").unwrap().raw(), responses.raw())),
                ),
                None => result(
                    id,
                    r#"{"resultType":"input_required","inputRequests":{"name":{"method":"elicitation/create","params":{"message":"Name?"}},"age":{"method":"elicitation/create","params":{"message":"Age?"}}},"requestState":"s1"}"#,
                ),
            },
            "meta" => result(id, &text(message.param("_meta").map(SpannedValue::raw).unwrap_or("none"))),
            "capabilities" => result(id, &text(&self.capabilities)),
            "cancelled" => {
                let (cancelled, never) = (self.cancelled.join(","), self.never);
                result(id, &format!(r#"{{"cancelled":[{cancelled}],"never":{never}}}"#));
            }
            "pid" => result(id, &text(&std::process::id().to_string())),
            "error" => error(id, message.param("arguments").unwrap().member("code").unwrap().raw()),
            "changed" => {
                say(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
                result(id, "{}");
            }
            "log" => {
                say(
                    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"whose?"}}"#,
                );
                say(r#"{"jsonrpc":"2.0","id":99,"method":"roots/list"}"#);
                result(id, "{}");
            }
            "poke" => {
                for listening in &self.listening {
                    say(&format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"a://b","_meta":{{"io.modelcontextprotocol/subscriptionId":{listening}}}}}}}"#
                    ));
                }
                result(id, "{}");
            }
            "close" => {
                for listening in self.listening.drain(..) {
                    result(
                        &listening,
                        &format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{listening}}}}}"#),
                    );
                }
                result(id, "{}");
            }
            // Copies what its caller says of itself into a notification.
            "copy_meta" => {
                self.copy_meta(message);
                result(id, "{}");
            }
            // Says what it has copied so far.
            "copied" => result(id, &text(&format!("[{}]", self.copied.join(",")))),
            // Says whatever its caller wants it to say.
            "say" => {
                say(message.param("arguments").unwrap().member("message").unwrap().raw());
                result(id, "{}");
            }
            "never" => self.never += 1,
            "deaf" => loop {
                std::thread::sleep(Duration::from_secs(60));
            },
            "die" => std::process::exit(3),
            "half" => {
                let mut out = std::io::stdout().lock();
                write!(out, r#"{{"jsonrpc":"2.0","id":{id},"resu"#).unwrap();
                out.flush().unwrap();
                std::process::exit(3);
            }
            "long" => {
                let mut out = std::io::stdout().lock();
                write!(out, r#"{{"jsonrpc":"2.0","result":{{"text":""#).unwrap();
                let megabyte = "x".repeat(1_000_000);
                for _ in 0..100 {
                    out.write_all(megabyte.as_bytes()).unwrap();
                }
                drop(out);
                say(&format!(r#""}},"id":{id}}}"#));
            }
            // A log line that is too long, and a question, before the answer.
            "loud" => {
                let megabyte = "x".repeat(1_000_000);
                for rest in [r#""method":"notifications/message""#, r#""id":1,"method":"elicitation/create""#]
                {
                    let mut out = std::io::stdout().lock();
                    write!(out, r#"{{"jsonrpc":"2.0","params":{{"data":""#).unwrap();
                    for _ in 0..100 {
                        out.write_all(megabyte.as_bytes()).unwrap();
                    }
                    drop(out);
                    say(&format!(r#""}},{rest}}}"#));
                }
                result(id, "{}");
            }
            "noise" => {
                let mut out = std::io::stdout().lock();
                out.write_all(b"\xff\xfe\n\nListening on port 3000\n{\"half\":\n[]\n7\n{}\n").unwrap();
                drop(out);
                result(id, "{}");
            }
            "flood" => {
                let line = "e".repeat(10_000);
                for number in 0..2_000 {
                    eprintln!("{number} {line}");
                }
                result(id, "{}");
            }
            "pages" => {
                for _ in 0..10_000 {
                    say(&format!(
                        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1,"message":"{}"}}}}"#,
                        "x".repeat(1000)
                    ));
                }
                result(id, "{}");
            }
            "environment" => {
                let names: Vec<_> = std::env::vars().map(|(name, _)| name).collect();
                result(id, &text(&names.join(" ")));
            }
            _ => error(id, "-32602"),
        }
    }
}
