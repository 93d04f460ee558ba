//! `attune stdio`: the real program between this test and a server that is a few lines of shell.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A running `attune stdio`, and the two pipes to it.
struct Between {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Between {
    fn start(options: &[&str], server: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_attune"))
            .arg("stdio")
            .args(options)
            .args(["--", "sh", "-c", server])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("attune starts");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { to: child.stdin.take(), child, from }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.to.as_mut().expect("open"), "{line}").expect("it reads");
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("it speaks");
        line.trim_end().to_owned()
    }

    /// Closes our end: all that is still said, what was said on standard error, and how it ended.
    fn end(mut self) -> (String, String, Option<i32>) {
        drop(self.to.take());
        let mut rest = String::new();
        self.from.read_to_string(&mut rest).expect("it speaks");
        let output = self.child.wait_with_output().expect("it ends");
        (rest, String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
    }

    fn signal(&self, signal: &str) {
        let told = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(told.expect("kill").success());
    }
}

/// Answers everything with an empty result and the id 1.
const SERVER: &str = r#"
echo 'Server ready on stdio'
while read -r line; do echo '{"jsonrpc":"2.0","id":1,"result":{}}'; done
echo 'bye' >&2
exit 7"#;

const WISH: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/acceptLanguage":"it"}}}"#;
const BARE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

#[test]
fn says_the_language_of_an_answer_and_forgets_the_wish() {
    let mut between = Between::start(&["--default-language", "en"], SERVER);
    between.say(WISH);
    assert_eq!(
        between.hear(),
        r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/contentLanguage":"en"}}}"#
    );
    between.say(BARE);
    assert_eq!(between.hear(), RESULT);
    let (rest, errors, code) = between.end();
    assert_eq!((rest.as_str(), code), ("", Some(7)));
    // The server's own words are where they always were, and what is no message is told there too.
    assert!(errors.contains("bye\n") && errors.contains("Server ready on stdio"), "{errors}");
}

#[test]
fn what_was_asked_last_is_still_answered_when_the_client_closes_its_end() {
    let slow = "read -r line; read -r none; sleep 0.3; printf '%s' \"$line\"";
    let mut between = Between::start(&[], slow);
    between.say(BARE);
    let (rest, _, code) = between.end();
    assert_eq!((rest.trim_end(), code), (BARE, Some(0)));
}

#[test]
fn what_cannot_be_read_in_one_way_never_reaches_the_server() {
    let mut between = Between::start(&[], "cat");
    between.say(r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#);
    let answer = between.hear();
    assert!(answer.contains("-32700"), "{answer}");
    between.say(BARE);
    assert_eq!(between.hear(), BARE);
    assert_eq!(between.end().2, Some(0));
}

#[test]
fn signals_reach_the_server_and_its_end_is_ours() {
    let server = "trap 'exit 9' TERM INT; echo '{\"jsonrpc\":\"2.0\",\"method\":\"ready\"}'; while :; do sleep 0.1; done";
    for signal in ["-TERM", "-INT"] {
        let mut between = Between::start(&[], server);
        between.hear();
        between.signal(signal);
        let status = between.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(9), "{signal}");
    }
    let between = Between::start(&[], "kill -KILL $$");
    assert_eq!(between.end().2, Some(128 + 9));
}

#[test]
fn a_client_that_is_gone_ends_the_server() {
    let server = "while sleep 0.02; do echo '{\"jsonrpc\":\"2.0\",\"method\":\"x\"}'; done";
    let Between { mut child, to, mut from } = Between::start(&[], server);
    from.read_line(&mut String::new()).expect("it speaks");
    drop(from);
    child.wait().expect("it ends");
    drop(to);
}

#[test]
fn an_answer_that_is_too_long_is_an_error_and_the_next_call_works() {
    let folder = std::env::temp_dir().join(format!("attune-stdio-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("attune.toml");
    std::fs::write(&file, "[limits]\nanswer = '1 MiB'\nbody = '64 KiB'\n").expect("a file");
    let server = r#"
read -r line; printf '{"jsonrpc":"2.0","id":1,"result":"'; head -c 3000000 /dev/zero | tr '\0' x; printf '"}\n'
read -r line; printf '{"jsonrpc":"2.0","id":1,"result":{}}\n'
printf '{"half":'"#;
    let mut between = Between::start(&["--config", file.to_str().expect("a path")], server);
    between.say(BARE);
    let answer = between.hear();
    assert!(answer.contains(r#""id":1,"error":{"code":-32603"#) && answer.contains("`answer`"), "{answer}");
    between.say(&format!(r#"{{"jsonrpc":"2.0","id":"long","method":"{}"}}"#, "x".repeat(70_000)));
    let answer = between.hear();
    assert!(answer.contains(r#""id":"long""#) && answer.contains("`body`"), "{answer}");
    between.say(BARE);
    assert_eq!(between.hear(), RESULT);
    let (rest, errors, code) = between.end();
    assert_eq!((rest.as_str(), code), ("", Some(0)), "{errors}");
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

#[test]
fn says_what_to_do_where_there_is_no_server() {
    for (arguments, error) in [
        (&["stdio"][..], "there is no server to start"),
        (&["stdio", "--", "no-such-server"], "was not found"),
    ] {
        let shown = crate::attune(arguments);
        assert!(shown.starts_with("exit: 2\n--- stdout\n--- stderr\nerror: "), "{shown}");
        assert!(shown.contains(error) && shown.contains("hint: name the server after `--`"), "{shown}");
    }
}

#[test]
fn the_context_goes_on_as_far_as_the_operator_lets_it() {
    let folder = std::env::temp_dir().join(format!("attune-context-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("attune.toml");
    std::fs::write(&file, "[context]\nforward = [\"timezone\"]\n").expect("a file");
    let path = file.to_str().expect("UTF-8");
    // The server hands back what it gets, as the params of a notification.
    let server =
        r#"while read -r line; do printf '{"jsonrpc":"2.0","method":"x","params":%s}\n' "$line"; done"#;
    let key = "io.modelcontextprotocol/clientContext";
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;
    for (options, zone) in [(&[][..], ""), (&["--config", path], r#"{"timezone":"Europe/Vienna"}"#)] {
        let mut between = Between::start(options, server);
        for envelope in [r#""a":1"#, version] {
            let entry = if zone.is_empty() { String::new() } else { format!(r#""{key}":{zone},"#) };
            let request = |first: &str, entry: &str| {
                format!(
                    r#"{{{first}"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{entry}{envelope}}}}}}}"#
                )
            };
            between.say(&request(r#""clientContext":{"timezone":"europe/vienna","locale":"de"},"#, ""));
            let expected = format!(r#"{{"jsonrpc":"2.0","method":"x","params":{}}}"#, request("", &entry));
            assert_eq!(between.hear(), expected);
        }
        between.end();
    }
    let _ = std::fs::remove_dir_all(folder);
}

/// Lists a tool, and says back whatever else it hears.
const BOUND: &str = r#"while read -r line; do case "$line" in
*tools/list*) echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{"day":{"type":"integer"},"a":{}}}}]}}' ;;
*) echo "$line" ;; esac; done"#;

#[test]
fn the_context_fills_arguments_for_a_server_that_knows_nothing_of_it() {
    let folder = std::env::temp_dir().join(format!("attune-bound-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("attune.toml");
    std::fs::write(&file, "[tools.t.context]\nday = { from = 'today', hide = true }\n").expect("a file");
    let mut between = Between::start(&["--config", file.to_str().expect("a path")], BOUND);
    between.say(BARE);
    assert_eq!(
        between.hear(),
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"properties":{"a":{}}}}]}}"#
    );
    for (zone, day) in [("Europe/Zurich", "2026-11-13"), ("America/Los_Angeles", "2026-11-12")] {
        between.say(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"t"}},"clientContext":{{"timezone":"{zone}","currentTimestamp":"2026-11-12T23:30:00Z"}}}}"#
        ));
        let heard = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"arguments":{{"day":"{day}"}},"name":"t"}}}}"#
        );
        assert_eq!(between.hear(), heard);
    }
    let (_, errors, _) = between.end();
    // The listing that passed by was looked at.
    assert!(
        errors.contains("tools.t.context.day: a string is written, and the argument takes integer"),
        "{errors}"
    );
    std::fs::remove_dir_all(folder).expect("it goes");
}

#[test]
fn what_tags_ask_for_and_which_change_nothing_can_be_followed_in_the_log() {
    let file = std::env::temp_dir().join(format!("attune-tags-{}.toml", std::process::id()));
    std::fs::write(&file, "log = \"debug\"\n[content]\nenabled = true\n").expect("a file");
    let features = r#"["agent","human","bad tag","format=yaml","sampling"]"#;
    let hello = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25","clientInfo":{{"name":"it","version":"1"}},"capabilities":{{"sampling":{{}},"extensions":{{"io.modelcontextprotocol/content-negotiation":{{"version":"1.0","features":{features}}}}}}}}}}}"#
    );
    let mut between = Between::start(&["--config", file.to_str().expect("a path")], SERVER);
    between.say(&hello);
    between.hear();
    let (_, log, _) = between.end();
    std::fs::remove_file(file).expect("it is there");
    let told = log.lines().find(|line| line.contains("what the caller's tags ask for")).expect(&log);
    for part in ["DEBUG", "Json", "bad tag", "format=yaml", "unknown", "the other of `agent` and `human`"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// A server with tasks: it answers line by line, logs while it works, and tells of tasks on a subscription.
const TASKS: &str = r#"
task='"taskId":"7","status":"completed","statusMessage":"Working","result":{"content":[],"structuredContent":{"city":"Bern"}}'
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\("[^"]*"\|[^,}]*\).*/\1/')
  case "$line" in
    *'"tools/call"'*)
      echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"message":"Working"}}}'
      echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"resultType\":\"task\",\"taskId\":\"7\",\"status\":\"working\",\"statusMessage\":\"Working\"}}";;
    *'"tasks/get"'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{$task}}";;
    *'"subscriptions/listen"'*)
      echo "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":$id},$task}}";;
  esac
done"#;

#[test]
fn a_task_goes_through_pipes_in_its_callers_language_and_shape() {
    let folder = std::env::temp_dir().join(format!("attune-stdio-tasks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.display();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    write("weather.md", "{{ city }} is cold");
    write("de.json", r#"{"messages": {"a": {"source": "Working", "text": "In Arbeit"}}}"#);
    write(
        "attune.toml",
        &format!(
            "default_language = 'en'\n[content]\nenabled = true\n[tools.weather]\ntemplates = '{path}/weather'\n\
             [locales]\npath = '{path}/${{locale}}.json'\ntranslate = ['display', 'logs']\n"
        ),
    );
    let mut between = Between::start(&["--config", &format!("{path}/attune.toml")], TASKS);
    let mut ask = |id: u32, method: &str, params: &str| {
        between.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/acceptLanguage":"de","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"io.modelcontextprotocol/content-negotiation":{{"features":["human"]}}}}}}}}}}}}"#
        ));
        between.hear()
    };
    let logged = ask(1, "tools/call", r#""name":"weather""#);
    assert!(logged.contains(r#""data":{"message":"In Arbeit"}"#), "{logged}");
    let created = ask(2, "tasks/get", r#""taskId":"7""#);
    assert!(created.contains(r#""taskId":"7""#) && created.contains("In Arbeit"), "{created}");
    let got = ask(3, "subscriptions/listen", r#""notifications":{"taskIds":["7"]}"#);
    assert!(got.contains("In Arbeit") && got.contains("\"Bern is cold\""), "{got}");
    assert!(!got.contains("structuredContent"), "{got}");
    let told = between.hear();
    assert!(told.contains("notifications/tasks") && told.contains("\"Bern is cold\""), "{told}");
    assert!(told.contains("In Arbeit") && !told.contains("structuredContent"), "{told}");
    between.end();
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_locale_file_that_changes_is_followed_between_pipes() {
    const LISTS: &str = r#"while read -r line; do
echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","title":"One","inputSchema":{"type":"object"}}]}}'
done"#;
    let folder = std::env::temp_dir().join(format!("attune-stdio-follow-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let write = |title: &str| {
        let text = format!(r#"{{"tools":{{"a":{{"title":"{title}"}}}}}}"#);
        std::fs::write(folder.join("it.json"), text).expect("a file");
    };
    write("Uno");
    let locales = folder.display().to_string();
    let mut between = Between::start(&["--default-language", "en", "--locales", &locales], LISTS);
    let mut listed = || {
        between.say(WISH);
        between.hear()
    };
    let first = listed();
    assert!(first.contains(r#""title":"Uno""#), "{first}");
    write("Il secondo");
    let begun = Instant::now();
    while !listed().contains(r#""title":"Il secondo""#) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", listed());
        thread::sleep(Duration::from_millis(50));
    }
    between.end();
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_server_that_dies_is_told_to_whoever_asked_and_on_standard_error() {
    for script in ["exit 1", "sleep 0.3; exit 1"] {
        let mut between = Between::start(&[], script);
        between.say(WISH);
        let answer = between.hear();
        assert!(answer.contains(r#""id":1,"error":{"#), "{script}: {answer}");
        assert!(
            answer.contains("Il server a monte è terminato con 1 prima di rispondere"),
            "{script}: {answer}"
        );
        let (_, errors, code) = between.end();
        assert!(errors.contains("`sh` ended with 1 before it answered"), "{script}: {errors}");
        assert_eq!(code, Some(1), "{script}");
    }
}

#[test]
fn a_server_gets_what_is_given_to_it() {
    let server = r#"read -r line; printf '{"jsonrpc":"2.0","id":1,"result":{"said":"%s"}}\n' "$SAID""#;
    let mut between = Between::start(&["--env", "SAID=hello"], server);
    between.say(BARE);
    assert_eq!(between.hear(), r#"{"jsonrpc":"2.0","id":1,"result":{"said":"hello"}}"#);
}

/// Answers a call with the arguments that it got, as text.
const ECHO: &str = r#"while read -r line; do
printf '%s\n' "$line" | sed 's/^.*"arguments":\({[^}]*}\).*$/\1/; s/"/\\"/g; s/^.*$/{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"&"}]}}/'
done"#;

/// A call that says nothing of its caller.
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"day","arguments":{}}}"#;

/// A file that binds the day and the zone of the caller to arguments of the tool `day`.
fn bound_file(name: &str, more: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("attune-stdio-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("attune.toml");
    let bound = "[tools.day.context]\ntoday = { from = 'today' }\ntz = { from = 'timezone' }\nlanguage = { from = 'language', default = 'none' }\n";
    std::fs::write(&file, format!("{bound}{more}")).expect("a file");
    file
}

/// What the tool is called with where these are the options and the variables.
fn called_with(file: &std::path::Path, options: &[&str], variables: &[(&str, &str)]) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_attune"));
    for name in ["TZ", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LC_TIME", "LANG"] {
        child.env_remove(name);
    }
    let mut child = child
        .args(["stdio", "--config", file.to_str().expect("a path")])
        .args(options)
        .args(["--", "sh", "-c", ECHO])
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("attune starts");
    let from = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut between = Between { to: child.stdin.take(), child, from };
    between.say(CALL);
    let answer = between.hear();
    between.end();
    answer
}

fn date_in(zone: &str) -> String {
    jiff::Timestamp::now().in_tz(zone).expect("a zone").date().to_string()
}

#[test]
fn today_is_the_day_of_the_system_wherever_the_laptop_is() {
    let file = bound_file("today", "");
    for zone in ["Asia/Kathmandu", "Pacific/Apia", "America/Los_Angeles"] {
        // Midnight may pass there while the program runs.
        let before = date_in(zone);
        let answer = called_with(&file, &["--caller", "system"], &[("TZ", zone), ("LANG", "de_CH.UTF-8")]);
        let days = [before, date_in(zone)];
        let expected = |day: &String| {
            answer.contains(&format!(r#"\"today\":\"{day}\""#))
                && answer.contains(&format!(r#"\"tz\":\"{zone}\""#))
        };
        assert!(days.iter().any(expected), "{days:?} in {zone}: {answer}");
        assert!(answer.contains(r#"\"language\":\"de\""#), "{answer}");
    }
    // Apia is 21 hours ahead of Los Angeles or more, so the days differ for most of the day.
    std::fs::remove_dir_all(file.parent().expect("a folder")).expect("a folder");
}

#[test]
fn without_the_flag_the_system_says_nothing() {
    let file = bound_file("nothing", "");
    let variables = [("TZ", "Asia/Kathmandu"), ("LANG", "de_CH.UTF-8")];
    for options in [&[][..], &["--caller", "none"]] {
        let answer = called_with(&file, options, &variables);
        assert!(
            answer.contains(r#"\"tz\":\"UTC\""#) && answer.contains(r#"\"language\":\"none\""#),
            "{answer}"
        );
    }
    std::fs::remove_dir_all(file.parent().expect("a folder")).expect("a folder");
}

#[test]
fn options_come_before_the_file_and_the_file_before_the_system() {
    let file = bound_file("order", "[callers.default]\ntimezone = 'Europe/Rome'\nlanguage = 'it'\n");
    let variables = [("TZ", "Asia/Kathmandu"), ("LANG", "de_CH.UTF-8"), ("LANGUAGE", "fr:de")];
    let by_file = called_with(&file, &["--caller", "system"], &variables);
    assert!(
        by_file.contains(r#"\"tz\":\"Europe/Rome\""#) && by_file.contains(r#"\"language\":\"it\""#),
        "{by_file}"
    );
    let options = ["--caller", "system", "--timezone", "Pacific/Apia", "--language", "pt-BR, en;q=0.5"];
    let by_hand = called_with(&file, &options, &variables);
    assert!(
        by_hand.contains(r#"\"tz\":\"Pacific/Apia\""#) && by_hand.contains(r#"\"language\":\"pt\""#),
        "{by_hand}"
    );
    std::fs::remove_dir_all(file.parent().expect("a folder")).expect("a folder");
}

#[test]
fn a_caller_option_that_says_nothing_is_refused_before_the_server_starts() {
    for (options, what) in [
        (["--timezone", "Mars/Olympus"], "not a time zone"),
        (["--timezone", "+05:45"], "an offset and not a time zone"),
        (["--language", "*"], "asks for no language"),
        (["--language", "de;q=7"], "--language"),
        (["--locale", "not a locale"], "--locale"),
        (["--feature", "format=xml=json"], "cannot be used"),
        (["--caller", "everybody"], "possible values: system, none"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_attune"))
            .arg("stdio")
            .args(options)
            .args(["--", "sh", "-c", "echo started >&2"])
            .stdin(Stdio::null())
            .output()
            .expect("attune starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(what) && !errors.contains("started"), "{options:?}: {errors}");
        assert_eq!(output.status.code(), Some(2), "{options:?}: {errors}");
    }
}
