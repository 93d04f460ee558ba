//! The commands that ask servers, in a pipe: `discover`, `tools`, `prompts`, `resources`, `call`, `read`, `prompt`.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::attune;
use crate::demo::NOW;
use crate::serving::{FREE, Served};

const ATTUNE: &str = env!("CARGO_BIN_EXE_attune");

/// Asks the demo, a program, and shows it without its path.
fn demo(arguments: &[&str]) -> String {
    let server = ["--", ATTUNE, "demo", "--bare", "--stdio", "--now", NOW];
    let shown = attune(&[arguments, &server].concat()).replace(ATTUNE, "attune");
    // What the demo logs beside has the time in it.
    shown.split_inclusive('\n').filter(|line| !line.contains(" WARN rmcp::")).collect()
}

/// What a command printed.
fn stdout(shown: &str) -> &str {
    let rest = shown.split_once("--- stdout\n").expect("output").1;
    rest.rsplit_once("--- stderr\n").expect("errors").0
}

fn printed(shown: &str) -> Value {
    serde_json::from_str(stdout(shown)).expect("JSON")
}

#[test]
fn a_listing_is_the_servers_own() {
    let tools = printed(&demo(&["tools"]));
    let names: Vec<_> = tools["tools"].as_array().into_iter().flatten().map(|tool| &tool["name"]).collect();
    assert!(names.len() == 10 && names.contains(&&json!("get_weather")), "{names:?}");
    let prompts = printed(&demo(&["prompts"]));
    assert_eq!(prompts["prompts"][0]["name"], "plan_trip");
    let resources = printed(&demo(&["resources"]));
    assert_eq!(resources["resources"][0]["uri"], "map://features/alpine-valley-1");
    assert_eq!(resources["resourceTemplates"][0]["uriTemplate"], "map://features/{id}");
}

#[test]
fn text_in_a_pipe_is_a_table() {
    insta::assert_snapshot!(demo(&["prompts", "--text"]), @"
    exit: 0
    --- stdout
    PROMPT     TITLE        ARGUMENTS    DESCRIPTION
    plan_trip  Plan a trip  city [days]  Plan a trip to a Swiss city, with weather and trains
    --- stderr
    ");
    insta::assert_snapshot!(demo(&["resources", "--text"]), @"
    exit: 0
    --- stdout
    RESOURCE                        TITLE          KIND              DESCRIPTION
    map://features/alpine-valley-1  Alpine valley  application/json  A valley for hikers: where it is, how high, how hard to reach

    TEMPLATE             TITLE        KIND              DESCRIPTION
    map://features/{id}  Map feature  application/json  A feature of the map by its id: alpine-valley-1, aletsch-glacier-1, rhine-falls-1
    --- stderr
    ");
    let tools = demo(&["tools", "--text"]);
    let row = tools.lines().find(|line| line.starts_with("find_connections ")).expect("a row");
    insta::assert_snapshot!(row, @"find_connections  Train connections        from to [date]                            Finds train connections between two Swiss cities");
}

#[test]
fn says_who_a_server_is() {
    insta::assert_snapshot!(demo(&["discover", "--text"]), @"
    exit: 0
    --- stdout
    server               Swiss travel service (swiss-travel) 0.1.0
    is                   Weather, train connections, seats and maps, with sample data
    version              2026-07-28, spoken now; in all 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
    can                  prompts, resources, tools
    content negotiation  not declared
    language             not told; a server may do so when --language asks for one

    Travel in Switzerland: weather, train connections, seats and maps. All data are samples.
    --- stderr
    ");
    assert_eq!(printed(&demo(&["discover"]))["supportedVersions"][4], "2026-07-28");
}

#[test]
fn calls_with_arguments_of_the_right_types() {
    let called = demo(&["call", "find_connections", "from=Bern", "to=Zurich"]);
    assert!(called.starts_with("exit: 0\n"), "{called}");
    assert_eq!(printed(&called)["structuredContent"]["connections"][0]["from"], "Bern");
    let called = demo(&["call", "build_report", "--arguments", r#"{"pages": 1}"#]);
    assert!(called.starts_with("exit: 0\n"), "{called}");
    insta::assert_snapshot!(demo(&["call", "--text", "build_report", "pages=2"]), @r#"
    exit: 0
    --- stdout
    {
      "pages": 2,
      "title": "Travel report",
      "words": 500
    }
    --- stderr
    "#);
}

#[test]
fn says_what_is_wrong_with_a_call_before_it_is_made() {
    insta::assert_snapshot!(demo(&["call", "get_wether", "location=Bern"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: the server has no tool `get_wether`
    hint: did you mean `get_weather`?
    ");
    insta::assert_snapshot!(demo(&["call", "get_weather"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: `location` is missing
    hint: write location=… (A Swiss city, for example Bern)
    ");
    insta::assert_snapshot!(demo(&["call", "get_weather", "lokation=Bern"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: there is no argument `lokation`
    hint: did you mean `location`?
    ");
    insta::assert_snapshot!(demo(&["call", "build_report", "pages=many"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: the argument `pages` takes a whole number, and many is none
    hint: write pages=7
    ");
    insta::assert_snapshot!(demo(&["call", "build_report", "--arguments", "[1]"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: --arguments is JSON, but no object
    hint: write --arguments '{"name": "value"}', --arguments @FILE, or --arguments - for standard input
    "#);
    insta::assert_snapshot!(attune(&["call", "http://127.0.0.1:9/mcp"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: no tool is named
    hint: write the tool after the URL, or before `--`
    ");
    insta::assert_snapshot!(attune(&["call", "get_weather"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: `get_weather` is not a URL of a server
    hint: write `http://…` or `https://…`, or a program after `--`
    ");
    insta::assert_snapshot!(demo(&["prompt", "plan_trip"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: `city` is missing
    hint: write city=… (The city to travel to, for example Bern)
    ");
}

#[test]
fn a_tool_that_fails_and_a_server_that_refuses_are_findings() {
    let failed = demo(&["call", "get_weather", "location=Atlantis"]);
    assert!(
        failed.starts_with("exit: 1\n") && failed.ends_with("the tool says that it failed\n"),
        "{failed}"
    );
    assert_eq!(printed(&failed)["isError"], true);
    insta::assert_snapshot!(demo(&["read", "map://nowhere"]), @"
    exit: 1
    --- stdout
    --- stderr
    error: the server refuses `resources/read`: Resource not found (-32602)
    ");
}

#[test]
fn a_server_that_wants_to_ask_gets_no_answer_in_a_pipe() {
    insta::assert_snapshot!(demo(&["call", "book_seat", "connection=bern-zurich-2026-02-22-0831"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: the server wants to ask a person before it answers
    hint: run the command on a terminal, or answer with --answer KEY=VALUE, --answer decline or --answer cancel
    ");
}

#[test]
fn reads_resources_and_prompts() {
    let text = demo(&["read", "--text", "map://features/alpine-valley-1"]);
    assert_eq!(printed(&text)["properties"]["name"], "Alpine Valley", "{text}");
    assert!(printed(&demo(&["read", "map://features/alpine-valley-1"]))["contents"][0]["text"].is_string());
    insta::assert_snapshot!(demo(&["prompt", "--text", "plan_trip", "city=Bern"]), @"
    exit: 0
    --- stdout
    A trip of 3 days to Bern

    user:
    Plan a trip of 3 days to Bern. Look at the weather first, then find a connection for the way there and one for the way back. Propose one thing to see for each day, and say what to pack.
    --- stderr
    ");
}

#[test]
fn nothing_is_said_of_the_caller_in_a_pipe_unless_it_is_asked_for() {
    let shown = demo(&["call", "--raw", "local_time"]);
    assert!(!shown.contains("acceptLanguage") && !shown.contains("clientContext"), "{shown}");
    assert!(
        shown.contains("* language: none asked for; the answer does not say which it is in\n"),
        "{shown}"
    );
    let options = [
        "--language",
        "de-CH, en;q=0.5",
        "--timezone",
        "Asia/Kathmandu",
        "--now",
        "2026-11-12T14:23:00+01:00",
        "--locale",
        "de-CH",
        "--location",
        "Bern,,CH",
        "--feature",
        "agent",
    ];
    let shown = demo(&[&["call", "--raw", "local_time"], &options[..]].concat());
    let sent = shown.lines().find(|line| line.contains("\"method\":\"tools/call\"")).expect("a call");
    let sent: Value = serde_json::from_str(sent.strip_prefix("> ").expect("a mark")).expect("JSON");
    let meta = &sent["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/acceptLanguage"], "de-CH, en;q=0.5");
    assert_eq!(
        meta["io.modelcontextprotocol/clientContext"],
        json!({ "timezone": "Asia/Kathmandu", "currentTimestamp": "2026-11-12T14:23:00+01:00", "locale": "de-CH",
            "userLocation": { "city": "Bern", "country": "CH" } })
    );
    let extension = &meta["io.modelcontextprotocol/clientCapabilities"]["extensions"];
    assert_eq!(extension["io.modelcontextprotocol/content-negotiation"]["features"], json!(["agent"]));
    let told: String = shown
        .lines()
        .filter(|line| line.starts_with("* ") || line.starts_with("note"))
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!(told, @"
    * version 2026-07-28: the server has it, by its answer to `server/discover`
    * language de-CH, en;q=0.5 (--language): the answer does not say which it is in
    * features agent (--feature); the answer has content and structuredContent
    * timezone Asia/Kathmandu (--timezone), in `_meta`
    * context currentTimestamp (--now), locale (--locale), userLocation (--location), in `_meta`
    note: the server does not negotiate content: `agent` may have no effect
    note: the answer does not say its language; `de-CH, en;q=0.5` may have had no effect
    ");
}

#[test]
fn the_wire_is_shown_with_its_headers_and_without_secrets() {
    let mut gateway = Served::start(&[&["demo"], &FREE[..]].concat());
    let url = format!("http://{}/mcp?key=s3cret", gateway.address("is at"));
    let options = [
        "--raw",
        "--language",
        "fr",
        "--token",
        "s3cret",
        "--header",
        "X-Api-Key: s3cret",
        "--header",
        "X-Plain: seen",
    ];
    let shown =
        attune(&[&["call", &url, "execute_sql", "query=SELECT 1", "region=eu-west1"], &options[..]].concat());
    assert!(shown.starts_with("exit: 0\n") && !shown.contains("s3cret"), "{shown}");
    for line in [
        "> authorization: (masked)",
        "> x-api-key: (masked)",
        "> x-plain: seen",
        "> accept-language: fr",
        "> mcp-param-region: eu-west1",
        "> mcp-name: execute_sql",
        "< 200",
        "< content-language: fr-CH",
        "* version 2026-07-28: the server has it, by its answer to `server/discover`",
        "* language fr (--language): the answer is in fr-CH",
    ] {
        assert!(shown.lines().any(|other| other == line), "{line}\n{shown}");
    }
    assert!(shown.contains("/mcp?(masked)\n"), "{shown}");
}

#[test]
fn a_preference_that_is_not_honoured_is_told() {
    let shown = demo(&["tools", "--language", "fr", "--feature", "agent"]);
    let errors = shown.rsplit_once("--- stderr\n").expect("errors").1;
    insta::assert_snapshot!(errors, @"
    note: the server does not negotiate content: `agent` may have no effect
    note: the answer does not say its language; `fr` may have had no effect
    ");
}

#[test]
fn options_that_cannot_be_read_are_told() {
    for (option, value) in [
        ("--language", "de_CH"),
        ("--timezone", "+01:00"),
        ("--now", "today"),
        ("--locale", "deutsch!"),
        ("--location", "Bern"),
        ("--location", ",,Switzerland"),
        ("--feature", "two words"),
        ("--header", "X"),
        ("--token", "a\nb"),
    ] {
        let shown = attune(&["tools", "http://127.0.0.1:9/mcp", option, value]);
        assert!(shown.starts_with("exit: 2\n") && shown.contains("error: "), "{option} {shown}");
        assert!(!shown.contains("127.0.0.1"), "it was asked: {shown}");
    }
    let shown = attune(&["tools", "--language", "de_CH", "http://127.0.0.1:9/mcp"]);
    insta::assert_snapshot!(shown, @"
    exit: 2
    --- stdout
    --- stderr
    error: --language de_CH is no language preference, at byte 2: not a character of a language range
    hint: write letters, digits and '-', with ',' between ranges, such as en-GB, fr
    ");
}
