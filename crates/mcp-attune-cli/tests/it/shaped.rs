//! Answers shaped by the real program, for callers as they declare themselves: by the demo, over HTTP in front of a program,
//! and over pipes, in both eras; and what operators are told of their templates.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::callers::{LEGACY, MODERN, initialized, post};
use crate::demo::NOW;
use crate::serving::{FREE, Served, get};

const BINARY: &str = env!("CARGO_BIN_EXE_attune");
const TEMPLATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp-attune-demo/templates");
const EXTENSION: &str = "io.modelcontextprotocol/content-negotiation";
const BEHIND: [&str; 7] = ["--", BINARY, "demo", "--bare", "--stdio", "--now", NOW];
/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

type Tags = Option<&'static [&'static str]>;

/// A folder of its own, gone with its test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("attune-shaped-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        path
    }

    /// What the demo carries inside itself, as an operator would write it.
    fn config(&self, more: &str) -> String {
        let text = format!(
            "default_language = \"en\"\n[content]\nenabled = true\n{more}\n\
             [tools.get_weather]\ntemplates = \"{TEMPLATES}/get_weather\"\nhints = \"{TEMPLATES}/get_weather.hints\"\n\
             [resources.\"map://features/alpine-valley-1\"]\ntemplates = \"{TEMPLATES}/alpine-valley-1\"\n\
             [prompts.plan_trip]\ntemplates = \"{TEMPLATES}/plan_trip\"\n"
        );
        self.write("attune.toml", &text)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How a caller reaches a server.
enum Way {
    Http { address: String, session: String },
    Pipes { child: Child, to: ChildStdin, from: BufReader<ChildStdout> },
}

impl Way {
    fn http(address: &str) -> Self {
        Self::Http { address: address.to_owned(), session: String::new() }
    }

    /// `attune stdio` in front of the demo; its log goes to a file.
    fn pipes(config: &str, log: &Path) -> Self {
        let mut child = Command::new(BINARY)
            .args(["stdio", "--config", config])
            .args(BEHIND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log).expect("a log"))
            .spawn()
            .expect("attune starts");
        let (to, from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Self::Pipes { child, to, from: BufReader::new(from) }
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        if let Self::Pipes { child, .. } = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// One caller, who declares the same in every request.
struct Caller {
    way: Way,
    era: &'static str,
    tags: Tags,
    /// What the server said of itself.
    greeting: Value,
}

impl Caller {
    fn open(way: Way, era: &'static str, tags: Tags) -> Self {
        let mut caller = Self { way, era, tags, greeting: Value::Null };
        if era == MODERN {
            caller.greeting = caller.ask("server/discover", json!({}));
            return caller;
        }
        let client = json!({ "name": "it", "version": "1" });
        let params =
            json!({ "protocolVersion": LEGACY, "capabilities": caller.capabilities(), "clientInfo": client });
        caller.greeting = caller.ask("initialize", params);
        caller.send("", &initialized());
        caller
    }

    fn capabilities(&self) -> Value {
        match self.tags {
            Some(tags) => json!({ "extensions": { EXTENSION: { "version": "1.0", "features": tags } } }),
            None => json!({}),
        }
    }

    /// The result of a request.
    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        let mut headers = String::new();
        if self.era == MODERN {
            let name = params["name"].as_str().or(params["uri"].as_str());
            headers = format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n");
            headers += &name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
            params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities() });
        }
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut answer = self.send(&headers, &request);
        assert!(answer["result"].is_object(), "{method} {} {:?}: {answer}", self.era, self.tags);
        answer["result"].take()
    }

    fn send(&mut self, headers: &str, message: &Value) -> Value {
        match &mut self.way {
            Way::Http { address, session } => {
                let (head, answer) = post(address, &format!("{headers}{session}"), message);
                if let Some(id) = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")) {
                    *session = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {LEGACY}\r\n");
                }
                answer
            }
            Way::Pipes { to, from, .. } => {
                writeln!(to, "{message}").expect("it reads");
                let mut line = String::new();
                if message.get("id").is_some() {
                    from.read_line(&mut line).expect("it answers");
                }
                serde_json::from_str(&line).unwrap_or_default()
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    fn weather(&mut self) -> Value {
        self.call("get_weather", &json!({ "location": "Bern" }))
    }

    /// Everything that tags may change, and a call that fails.
    fn everything(&mut self) -> Vec<(&'static str, Value)> {
        vec![
            ("greeting", self.greeting.clone()),
            ("list", self.ask("tools/list", json!({}))),
            ("weather", self.weather()),
            ("connections", self.call("find_connections", &json!({ "from": "Zurich", "to": "Bern" }))),
            ("sales", self.call("sales_report", &json!({ "from": "2026-02-01", "to": "2026-02-03" }))),
            ("time", self.call("local_time", &json!({ "tz": "Asia/Tokyo" }))),
            ("failure", self.call("get_weather", &json!({ "location": "Atlantis" }))),
            ("resource", self.ask("resources/read", json!({ "uri": "map://features/alpine-valley-1" }))),
            (
                "prompt",
                self.ask("prompts/get", json!({ "name": "plan_trip", "arguments": { "city": "Bern" } })),
            ),
        ]
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    Plain,
    Json,
    Markdown,
    Text,
}

/// What a caller declares, what form results have for them, and how their prompt begins.
const CALLERS: [(Tags, Form, &str); 9] = [
    (None, Form::Plain, PROMPT),
    (Some(&["@#$%", "format==json"]), Form::Plain, PROMPT),
    (Some(&["agent", "format=json"]), Form::Json, PROMPT),
    (Some(&["agent", "sampling"]), Form::Json, PROMPT),
    (Some(&["agent", "!interactive"]), Form::Json, PROMPT),
    (Some(&["human", "format=markdown"]), Form::Markdown, PROMPT),
    (Some(&["format=text"]), Form::Text, PROMPT),
    (
        Some(&[
            "agent",
            "mcp-capable",
            "sampling",
            "elicitation",
            "roots",
            "tasks",
            "verbosity=compact",
            "format=json",
        ]),
        Form::Json,
        "Plan a trip of 3 days to Bern, step by step:",
    ),
    (
        Some(&["human", "!mcp-capable", "interactive", "verbosity=standard", "format=markdown"]),
        Form::Markdown,
        "## Plan a trip to Bern",
    ),
];
const PROMPT: &str = "Plan a trip of 3 days to Bern. Look at the weather first";

/// One answer, held against the one that the server gives without Attune.
#[track_caller]
fn check(what: &str, came: &Value, plain: &Value, (tags, form, prompt): (Tags, Form, &str)) {
    let told = format!("{what} for {tags:?}: {came}");
    let prose = matches!(form, Form::Markdown | Form::Text);
    match what {
        "greeting" => {
            let mut expected = plain.clone();
            expected["capabilities"]["extensions"] = json!({ EXTENSION: {} });
            assert_eq!(*came, expected, "{told}");
        }
        "list" => {
            let shown = |tools: &Value| -> Vec<(Value, bool)> {
                let tools = tools["tools"].as_array().expect("tools").iter();
                tools.map(|tool| (tool["name"].clone(), tool.get("outputSchema").is_some())).collect()
            };
            let mut expected = shown(plain);
            expected.iter_mut().for_each(|(_, schema)| *schema &= !prose);
            assert_eq!(shown(came), expected, "{told}");
        }
        "prompt" if prompt == PROMPT => assert_eq!(came, plain, "{told}"),
        "prompt" => {
            let text = came["messages"][0]["content"]["text"].as_str().expect("a text");
            assert!(text.starts_with(prompt), "{told}");
        }
        "failure" => assert_eq!(came, plain, "{told}"),
        _ if form == Form::Plain => assert_eq!(came, plain, "{told}"),
        "resource" if prose => {
            let contents = &came["contents"][0];
            let (mime, start) = match form {
                Form::Markdown => ("text/markdown", "# Alpine Valley\n"),
                _ => ("text/plain", "Type: Feature\n"),
            };
            assert_eq!(
                (&contents["mimeType"], &contents["uri"]),
                (&mime.into(), &plain["contents"][0]["uri"])
            );
            assert!(contents["text"].as_str().is_some_and(|text| text.starts_with(start)), "{told}");
        }
        "resource" => assert_eq!(came, plain, "{told}"),
        _ if prose => {
            assert_eq!(came.get("structuredContent"), None, "{told}");
            let [block] = came["content"].as_array().expect("content").as_slice() else { panic!("{told}") };
            let text = block["text"].as_str().expect("a text");
            let markup = text.contains("**");
            assert_eq!(markup, form == Form::Markdown, "{told}");
            let fact = match what {
                "weather" => "72%",
                "connections" => "CHF\u{a0}51.00",
                "sales" => "3,818",
                _ => "Asia/Tokyo",
            };
            assert!(text.contains(fact), "{told}");
        }
        _ => {
            assert_eq!(came["content"], json!([]), "{told}");
            let mut data = plain["structuredContent"].clone();
            let tags = tags.unwrap_or_default();
            if what == "weather" && tags.contains(&"!interactive") {
                let brief = [
                    "location",
                    "temperature_c",
                    "conditions",
                    "humidity_percent",
                    "precipitation_probability",
                ];
                let brief = brief.map(|name| (name.to_owned(), data[name].clone()));
                data = Value::Object(brief.into_iter().collect());
                data["status"] = "success".into();
            }
            if what == "weather" && tags.contains(&"sampling") {
                data["hints"] = json!([
                    "8 °C is cold: warm clothes are useful",
                    "30% chance of precipitation: an umbrella is useful",
                    "The UV index is low (2): no sunscreen is needed",
                ]);
            }
            assert_eq!(came["structuredContent"], data, "{told}");
        }
    }
}

#[test]
fn each_caller_gets_what_they_declared_whichever_way_they_come() {
    let place = Place::new("ways");
    let config = place.config("");
    let mut without = Served::start(&["demo", "--bare", "--now", NOW, "--listen", "127.0.0.1:0"]);
    let mut demo = Served::start(&[&["demo", "--now", NOW], &FREE[..]].concat());
    let mut serve = Served::start(&[&["serve", "--config", &config], &FREE[..], &BEHIND].concat());
    let bare = without.address("is at");
    let over = [demo.address("is at"), serve.address("serves")];
    for era in [MODERN, LEGACY] {
        let plain = Caller::open(Way::http(&bare), era, None).everything();
        for caller in CALLERS {
            let [demo, serve] = [0, 1].map(|way| Way::http(&over[way]));
            let ways = [demo, serve, Way::pipes(&config, &place.0.join("log"))];
            let [demo, serve, stdio] = ways.map(|way| Caller::open(way, era, caller.0).everything());
            for ((what, came), (_, plain)) in demo.iter().zip(&plain) {
                check(what, came, plain, caller);
            }
            assert_eq!(serve, demo, "{era} {:?}", caller.0);
            assert_eq!(stdio, demo, "{era} {:?}", caller.0);
        }
    }
}

/// What the proposal's three scenarios are told about the format of results.
#[test]
fn callers_are_told_what_they_get_where_the_operator_says_so() {
    let place = Place::new("announce");
    let config = place.config("announce = true");
    let mut serve = Served::start(&[&["serve", "--config", &config], &FREE[..], &BEHIND].concat());
    let address = serve.address("serves");
    for era in [MODERN, LEGACY] {
        for ((tags, form, _), way) in CALLERS.iter().flat_map(|caller| [(caller, false), (caller, true)]) {
            let way = if way { Way::pipes(&config, &place.0.join("log")) } else { Way::http(&address) };
            let greeting = Caller::open(way, era, *tags).greeting;
            let told = greeting["instructions"].as_str().unwrap_or_else(|| panic!("{greeting}"));
            let expected = match form {
                Form::Plain => "as the server writes them",
                Form::Json => "as structured content",
                Form::Markdown => "as Markdown",
                Form::Text => "as plain text",
            };
            assert!(told.starts_with("Travel in Switzerland") && told.contains(expected), "{tags:?} {told}");
            let reasons = tags.is_some_and(|tags| tags.contains(&"sampling"));
            assert_eq!(told.contains("Hints for reasoning"), reasons, "{tags:?} {told}");
        }
    }
}

/// Waits until something is there.
#[track_caller]
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(50));
    }
}

/// A gateway with templates of its own for the weather, and its log in a file.
struct Gateway {
    child: Child,
    address: String,
    admin: String,
    log: PathBuf,
}

impl Gateway {
    fn start(place: &Place) -> Self {
        let weather = place.path("weather");
        let text = format!("[content]\nenabled = true\n[tools.get_weather]\ntemplates = \"{weather}\"\n");
        let config = place.write("attune.toml", &text);
        let log = place.0.join("log");
        let mut child = Command::new(BINARY)
            .args([&["serve", "--config", &config], &FREE[..], &BEHIND].concat())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).expect("a log"))
            .spawn()
            .expect("attune starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut next = || {
            let line = lines.next().expect("a line").expect("a line");
            let at = line.find("http://").unwrap_or_else(|| panic!("no address: {line}")) + "http://".len();
            line[at..].split('/').next().unwrap_or_default().to_owned()
        };
        let (address, admin) = (next(), next());
        Self { child, address, admin, log }
    }

    /// What people get for the weather.
    fn weather(&self) -> String {
        let result = Caller::open(Way::http(&self.address), MODERN, Some(&["human"])).weather();
        assert_eq!(result["isError"], false, "{result}");
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
    }

    /// The first line of the log with all of these in it.
    #[track_caller]
    fn logged(&self, parts: &[&str]) -> String {
        until(&format!("{parts:?} in the log"), || {
            let log = fs::read_to_string(&self.log).expect("a log");
            log.lines().find(|line| parts.iter().all(|part| line.contains(part))).map(str::to_owned)
        })
    }

    /// How much was counted of something.
    fn counted(&self, what: &str) -> u64 {
        let metrics = get(&self.admin, "/metrics");
        let count = metrics.lines().find_map(|line| line.strip_prefix(what)).unwrap_or("0");
        count.trim().parse().unwrap_or_else(|_| panic!("{metrics}"))
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_template_that_fails_is_told_and_costs_nobody_an_answer() {
    let place = Place::new("fails");
    place.write("weather.md", "# {{ location }}\n{{ forecast[7].date | date }}\n");
    let gateway = Gateway::start(&place);
    let text = gateway.weather();
    assert!(text.contains("- **Location:** Bern"), "written without it: {text}");
    let line = gateway.logged(&["WARN", "a template failed, and the answer was written without it"]);
    assert!(line.contains("md of get_weather") && line.contains("line 2"), "{line}");
    assert!(!line.contains("Bern"), "nothing of the data: {line}");
    let faults = "attune_template_faults_total{mount=\"default\"} ";
    until("the fault is counted", || (gateway.counted(faults) == 1).then_some(()));

    let log = place.0.join("stdio.log");
    let pipes = Way::pipes(&place.path("attune.toml"), &log);
    let result = Caller::open(pipes, LEGACY, Some(&["human"])).weather();
    assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("- **Location:** Bern")));
    let log = fs::read_to_string(log).expect("a log");
    assert!(log.contains("a template failed") && log.contains("line 2"), "{log}");
}

#[test]
fn a_field_that_is_not_there_is_told_at_start_with_its_line_and_what_was_meant() {
    let place = Place::new("typo");
    place.write("weather.md", "# {{ location }}\n\n{{ temprature_c | number }} °C\n");
    let gateway = Gateway::start(&place);
    // Nobody called.
    let line = gateway.logged(&["WARN", "get_weather.md:3:"]);
    assert!(line.contains("temprature_c") && line.contains("did you mean `temperature_c`?"), "{line}");
}

#[test]
fn a_template_is_followed_while_the_gateway_runs() {
    let place = Place::new("follow");
    place.write("weather.md", "first: {{ temperature_c }}\n");
    let gateway = Gateway::start(&place);
    assert_eq!(gateway.weather(), "first: 8");
    place.write("weather.md", "the second: {{ humidity_percent }}\n");
    until("the second is used", || (gateway.weather() == "the second: 72").then_some(()));
    place.write("weather.md", "a third, broken: {{ humidity_percent\n");
    gateway.logged(&["weather.md:1:"]);
    assert_eq!(gateway.weather(), "the second: 72", "what it was before stays");
    place.write("weather.compact.md", "compact\n");
    fs::remove_file(place.path("weather.md")).expect("it was there");
    until("it is gone", || gateway.weather().contains("**Location:** Bern").then_some(()));
}

#[test]
fn what_is_left_out_is_counted() {
    let place = Place::new("counted");
    let gateway = Gateway::start(&place);
    let left =
        |part: &str| gateway.counted(&format!("attune_left_out_total{{mount=\"default\",part=\"{part}\"}} "));
    let call = |tags| Caller::open(Way::http(&gateway.address), MODERN, tags).weather();
    call(None);
    call(Some(&["@#$%"]));
    assert_eq!((left("blocks"), left("bytes")), (0, 0));
    let plain = call(None);
    call(Some(&["agent"]));
    let text = plain["content"][0].to_string().len() as u64;
    until("one block", || (left("blocks") == 1).then_some(()));
    assert_eq!(left("bytes"), text);
    call(Some(&["human", "verbosity=verbose"]));
    until("another", || (left("blocks") == 2).then_some(()));
}

/// Dates and numbers need no translation. Who asks, who runs the server and who reads the log are each told what is true.
#[test]
fn an_answer_without_a_word_in_the_language_is_called_what_it_is() {
    let place = Place::new("wordless");
    fs::create_dir_all(place.path("locales")).expect("a folder");
    place.write("locales/de.json", r#"{"messages":{"never":{"source":"Never said","text":"Nie gesagt"}}}"#);
    place.write("plain.md", "{{ temperature_c | number(2) }}");
    let config = place.write(
        "attune.toml",
        "default_language = \"en\"\nlog = \"debug\"\n[content]\nenabled = true\n[tools.get_weather]\ntemplates = \"plain\"\n",
    );
    let log = place.path("log");
    let mut child = Command::new(BINARY)
        .args(["serve", "--config", &config])
        .args(FREE)
        .args(BEHIND)
        .stdout(Stdio::piped())
        .stderr(File::create(&log).expect("a log"))
        .spawn()
        .expect("attune starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut address = |text: &str| {
        let line = lines.by_ref().map(|line| line.expect("a line")).find(|line| line.contains(text));
        let line = line.expect("an address");
        let rest = line.split_once("http://").expect("an address").1.to_owned();
        rest.split(['/', ' ', '\n']).next().unwrap_or_default().to_owned()
    };
    let (serves, admin) = (address("serves"), address("Health"));
    let url = format!("http://{serves}/mcp");
    let called = Command::new(BINARY)
        .args(["call", &url, "get_weather", "location=Bern", "--language", "de", "--feature", "human"])
        .output()
        .expect("attune starts");
    let (said, noted) = (String::from_utf8_lossy(&called.stdout), String::from_utf8_lossy(&called.stderr));
    assert!(said.contains("8,00"), "{said}");
    assert_eq!(
        noted.trim_end(),
        "note: the words of the answer are in `en`, and none were found in `de`; dates, numbers and money may be written \
         for the reader all the same"
    );
    // Both are written after the answer has left.
    let counted = until("the call is counted", || {
        let metrics = get(&admin, "/metrics");
        let line =
            metrics.lines().find(|line| line.contains("requests_total") && line.contains("tools/call"));
        line.map(str::to_owned)
    });
    assert!(counted.contains("language=\"en\""), "{counted}");
    let log = until("the call is in the log", || {
        let log = fs::read_to_string(&log).expect("a log");
        log.contains("attune::access: tools/call").then_some(log)
    });
    let _ = child.kill();
    let _ = child.wait();
    let says = |what: &str, expected: &str| {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(what)).collect();
        assert!(!lines.is_empty() && lines.iter().all(|line| line.contains(expected)), "{expected}: {log}");
    };
    says("language chosen", " language=de ");
    says("language chosen", r#"of=["en", "de"]"#);
    says("language reported", " language=\"en\"");
    says("attune::access: tools/call", " language=\"en\" ");
}
