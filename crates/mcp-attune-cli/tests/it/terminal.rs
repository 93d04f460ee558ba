//! The commands that ask servers, on a terminal: a pseudo-terminal with a person before it who is a list of lines.
#![cfg(target_os = "linux")]

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use crate::serving::{FREE, Served};

const ATTUNE: &str = env!("CARGO_BIN_EXE_attune");
const DEMO: [&str; 5] = ["--", ATTUNE, "demo", "--bare", "--stdio"];
/// Long enough for any machine; a test that passes does not wait for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was shown, and how it ended.
struct Seen {
    code: Option<i32>,
    /// Everything, as it came.
    raw: String,
}

impl Seen {
    /// Without the line of progress that is written over.
    fn text(&self) -> String {
        let lines = self.raw.replace("\r\n", "\n");
        let left = lines.split('\n').map(|line| line.rsplit("\r\u{1b}[K").next().unwrap_or_default());
        left.collect::<Vec<_>>().join("\n")
    }
}

/// Runs `attune` on a terminal of so many columns, in Bern. Each line is said when its question was seen.
fn on_terminal(columns: u16, variables: &[(&str, &str)], arguments: &[&str], says: &[(&str, &str)]) -> Seen {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("a terminal");
    unlockpt(&master).expect("a terminal");
    let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("a path");
    let open = || OpenOptions::new().read(true).write(true).open(&name).expect("a terminal");
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).expect("a size");
    let mut modes = tcgetattr(open()).expect("modes");
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(open(), OptionalActions::Now, &modes).expect("modes");
    let mut command = Command::new(ATTUNE);
    command
        .args(arguments)
        .stdin(Stdio::from(open()))
        .stdout(Stdio::from(open()))
        .stderr(Stdio::from(open()));
    for name in ["COLUMNS", "LC_ALL", "LC_MESSAGES", "ATTUNE_TOKEN"] {
        command.env_remove(name);
    }
    command.env("LANG", "de_CH.UTF-8").env("TZ", "Europe/Zurich").env("TERM", "xterm").env("NO_COLOR", "1");
    command.envs(variables.iter().copied());
    let mut child = command.spawn().expect("attune starts");
    // Its copies are ours too: without this the terminal would not end with the child.
    drop(command);
    let mut master = File::from(master);
    let pieces = listen(master.try_clone().expect("a terminal"));
    let mut raw = String::new();
    let mut from = 0;
    for (question, line) in says {
        let deadline = Instant::now() + PATIENCE;
        while !raw[from..].contains(question) {
            let left = deadline.saturating_duration_since(Instant::now());
            match pieces.recv_timeout(left) {
                Ok(piece) => raw += &piece,
                Err(_) => {
                    let _ = child.kill();
                    panic!("{question:?} was not asked: {raw}");
                }
            }
        }
        from = raw.len();
        writeln!(master, "{line}").expect("it reads");
    }
    let code = ended(&mut child, &pieces, &mut raw);
    Seen { code, raw }
}

/// Everything that appears on the terminal, piece by piece, until nobody holds it any more.
fn listen(mut master: File) -> Receiver<String> {
    let (to, pieces) = channel();
    std::thread::spawn(move || {
        let (mut buffer, mut rest) = ([0; 4096], Vec::new());
        while let Ok(read @ 1..) = master.read(&mut buffer) {
            rest.extend_from_slice(&buffer[..read]);
            // A character may come in two pieces.
            let whole = std::str::from_utf8(&rest).map_or_else(|error| error.valid_up_to(), str::len);
            let piece: Vec<u8> = rest.drain(..whole).collect();
            if to.send(String::from_utf8(piece).expect("UTF-8")).is_err() {
                return;
            }
        }
    });
    pieces
}

fn ended(child: &mut std::process::Child, pieces: &Receiver<String>, raw: &mut String) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE;
    while let Ok(piece) = pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        *raw += &piece;
    }
    if child.try_wait().expect("a child").is_none() && Instant::now() >= deadline {
        let _ = child.kill();
        panic!("it does not end: {raw}");
    }
    child.wait().expect("a child").code()
}

/// Asks the demo, which is a program.
fn demo(command: &[&str], says: &[(&str, &str)]) -> Seen {
    on_terminal(100, &[], &[command, &DEMO].concat(), says)
}

#[test]
fn a_table_is_as_wide_as_the_terminal() {
    for columns in [60, 100] {
        let seen = on_terminal(columns, &[], &[&["tools"], &DEMO[..]].concat(), &[]);
        assert_eq!(seen.code, Some(0), "{}", seen.raw);
        let text = seen.text();
        assert!(text.starts_with("TOOL "), "{text}");
        assert!(text.lines().any(|line| line.starts_with("get_weather ")), "{text}");
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns.into()) && widest > Some(usize::from(columns) - 10), "{text}");
    }
}

#[test]
fn the_language_and_the_zone_of_the_system_are_the_callers_on_a_terminal() {
    let mut gateway = Served::start(&[&["demo"], &FREE[..]].concat());
    let url = format!("http://{}/mcp", gateway.address("is at"));
    let asked = |options: &[&str], variables: &[(&str, &str)]| {
        let call = ["call", &url, "query_sales", "query=sales this month", "--raw"];
        let seen = on_terminal(100, variables, &[&call, options].concat(), &[]);
        assert_eq!(seen.code, Some(0), "{}", seen.raw);
        seen.text()
    };
    let shown = asked(&[], &[]);
    assert!(shown.contains("> accept-language: de-CH\n"), "{shown}");
    assert!(shown.contains("* language de-CH (the system's, by LANG): the answer is in de"), "{shown}");
    assert!(shown.contains("* timezone Europe/Zurich (the system's), in `_meta`"), "{shown}");
    assert!(shown.contains("\"timezone\": \"Europe/Zurich\""), "{shown}");
    let shown = asked(&[], &[("LC_ALL", "fr_CH.UTF-8"), ("TZ", ":Asia/Kathmandu")]);
    assert!(shown.contains("> accept-language: fr-CH\n") && shown.contains("\"Asia/Kathmandu\""), "{shown}");
    let shown = asked(&["--language", "none", "--timezone", "none"], &[]);
    assert!(!shown.contains("> accept-language") && shown.contains("\"timezone\": \"UTC\""), "{shown}");
    let shown = asked(&[], &[("LANG", "C.UTF-8")]);
    assert!(!shown.contains("> accept-language"), "{shown}");
}

#[test]
fn the_zone_and_the_locale_of_the_system_are_those_of_the_context_on_a_terminal() {
    let tokyo = [("TZ", "Asia/Tokyo"), ("LANG", "en_US.UTF-8")];
    let shows = |variables: &[(&str, &str)], arguments: &[&str]| {
        let seen = on_terminal(100, variables, &[&["context"], arguments].concat(), &[]);
        assert_eq!(seen.code, Some(0), "{}", seen.raw);
        seen.text()
    };
    let shown = shows(&tokyo, &["show"]);
    for part in ["Asia/Tokyo", "en-US", "first day of week  sunday"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // What is given counts, and an instant with an offset is read by it.
    let given = ["show", "--timezone", "Europe/Vienna", "--locale", "de-AT"];
    assert!(shows(&tokyo, &given).contains("Europe/Vienna"));
    assert!(shows(&tokyo, &["show", "--now", "2026-11-12T14:23:00+01:00"]).contains("+01:00"));
    // A week begins on Sunday in America, and the words are those of the locale.
    assert!(shows(&[("LANG", "de_DE.UTF-8")], &["resolve", "letzte Woche"]).contains('/'));
    // A script gets the same wherever it runs.
    let piped = Command::new(ATTUNE).args(["context", "show"]).envs(tokyo).output().expect("attune starts");
    let piped = crate::text(&piped.stdout);
    assert!(piped.contains("time zone          UTC") && piped.contains("locale             none"), "{piped}");
}

#[test]
fn markdown_is_rendered_and_styles_are_ours() {
    let mut gateway = Served::start(&[&["demo"], &FREE[..]].concat());
    let url = format!("http://{}/mcp", gateway.address("is at"));
    let call = ["call", &url, "get_weather", "location=Bern", "--feature", "human"];
    let shown = on_terminal(100, &[], &call, &[]).text();
    assert!(shown.starts_with("Aktuelles Wetter in Bern\n"), "{shown}");
    assert!(!shown.contains("**") && !shown.contains('\u{1b}'), "{shown}");
    let styled = on_terminal(100, &[("NO_COLOR", "")], &call, &[]).text();
    assert!(styled.starts_with("\u{1b}[1mAktuelles Wetter in Bern\u{1b}[0m\n"), "{styled:?}");
}

/// A server of the older era that gives one text, whatever it is asked.
fn says(text: &str) -> String {
    let result = serde_json::json!({ "content": [{ "type": "text", "text": text }] }).to_string();
    format!(
        r#"
say() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) say '{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}' ;;
    *'"notifications/'*) ;;
    *'"tools/list"'*) say '{{"tools":[{{"name":"t","inputSchema":{{"type":"object"}}}}]}}' ;;
    *'"tools/call"'*) say '{}' ;;
    *) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no"}}}}\n' "$id" ;;
  esac
done"#,
        result.replace('\'', r"'\''")
    )
}

#[test]
fn plain_text_is_shown_as_it_came() {
    let diff = "diff --git a/x.py b/x.py\n def __init__(self):\n+    return a * b * c * d\n-    return a\n # Title?\n1) &amp; n <a@b>";
    let server = says(diff);
    let call = |options: &[&str]| {
        let words = [&["call", "t"], options, &["--", "sh", "-c", &server]].concat();
        on_terminal(100, &[], &words, &[]).text()
    };
    assert_eq!(call(&[]), format!("{diff}\n"));
    assert_eq!(call(&["--plain"]), format!("{diff}\n"));
    assert_eq!(call(&["--text"]), format!("{diff}\n"));
    // A server that negotiates nothing gives its own text, whatever it is asked for.
    let shown = call(&["--feature", "human"]);
    assert!(shown.ends_with(&format!("{diff}\n")), "{shown}");
    let shown = call(&["--markdown"]);
    assert!(shown.contains("- return a * b * c * d") && shown.contains("def init(self)"), "{shown}");
}

#[test]
fn tables_of_text_keep_their_alignment() {
    let mut gateway = Served::start(&[&["demo"], &FREE[..]].concat());
    let url = format!("http://{}/mcp", gateway.address("is at"));
    let call = ["call", &url, "find_connections", "from=Bern", "to=Zurich", "--feature", "format=text"];
    let shown = on_terminal(200, &[], &call, &[]).text();
    let piped = crate::attune(
        &[&call[..], &["--text", "--language", "de-CH", "--timezone", "Europe/Zurich"]].concat(),
    );
    let piped =
        piped.split_once("--- stdout\n").expect("output").1.rsplit_once("--- stderr").expect("errors").0;
    assert_eq!(shown, piped);
    assert!(shown.lines().any(|line| line.starts_with("---") || line.contains("  ")), "{shown}");
}

const CONNECTION: &str = "connection=bern-zurich-2026-02-22-0831";

#[test]
fn a_modern_server_asks_and_gets_answers() {
    let says = [("Nummer> ", "nine"), ("Nummer> ", "aisle"), ("Nummer> ", "1"), ("Abschicken?", "")];
    let seen = demo(&["call", "book_seat", CONNECTION], &says);
    let text = seen.text();
    assert_eq!(seen.code, Some(0), "{text}");
    assert!(text.contains("demo --bare --stdio fragt:\nWhich seat would you like"), "{text}");
    assert!(
        text.contains("Class: First class has wider seats\n  1  First class\n  2  Second class\n"),
        "{text}"
    );
    assert!(text.contains("nine steht nicht zur Auswahl; bitte eine Nummer von 1 bis 2 eingeben."), "{text}");
    assert!(text.contains(r#"Ihre Antwort: {"position":"aisle","travel_class":"first"}"#), "{text}");
    assert!(text.contains("\"seat\": \"42B\""), "{text}");
}

#[test]
fn a_person_can_decline() {
    let seen = demo(&["call", "book_seat", CONNECTION], &[("Nummer> ", "!decline")]);
    assert_eq!(seen.code, Some(1), "{}", seen.raw);
    assert!(seen.text().ends_with("the tool says that it failed\n"), "{}", seen.raw);
}

/// A server of the older era, a few lines of shell: it asks before it answers, in words that a terminal should not obey.
pub(crate) const LEGACY: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s\u001b[2J","version":"1"}}' ;;
    *'"notifications/'*) ;;
    *'"tools/list"'*) say '{"tools":[{"name":"ask","description":"\u001b]0;title\u0007 \u202efirst\nsecond","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"ask"'*)
      echo '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1,"total":2,"message":"\u001b[2Jhalf\u009b"}}'
      echo '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"\u001b[2J Who?","requestedSchema":{"type":"object","properties":{"zebra":{"type":"string"},"ant":{"type":"integer"}},"required":["zebra"]}}}'
      read -r answer
      text=$(printf %s "$answer" | sed 's/.*"result"://; s/["\\]/\\&/g')
      say '{"content":[{"type":"text","text":"got '"$text"' \u001b[31m&#27;[2J **bold**"}]}' ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no\\u001b[2J"}}\n' "$id" ;;
  esac
done"#;

#[test]
fn a_legacy_server_asks_in_the_order_of_its_form_and_nothing_is_obeyed() {
    let server = ["--", "sh", "-c", LEGACY];
    let says = [("Text> ", "Zoe"), ("[weglassen]> ", ""), ("Abschicken?", "j")];
    let seen = on_terminal(100, &[], &[&["call", "ask"], &server[..]].concat(), &says);
    let text = seen.text();
    assert_eq!(seen.code, Some(0), "{text}");
    assert!(text.contains("\\u{1b}[2J Who?\n") && text.contains("zebra\n"), "{text}");
    assert!(
        text.contains(r#""content":{"zebra":"Zoe"}"#) && text.contains("\\u{1b}[31m&#27;[2J **bold**\n"),
        "{text}"
    );
    assert!(seen.raw.contains("1 of 2: \\u{1b}[2Jhalf\\u{9b}"), "{}", seen.raw);
    let listed = on_terminal(100, &[], &[&["tools"], &server[..]].concat(), &[]);
    let found = on_terminal(100, &[], &[&["discover"], &server[..]].concat(), &[]);
    let json = on_terminal(100, &[], &[&["tools", "--json"], &server[..]].concat(), &[]);
    let raw = on_terminal(100, &[], &[&["tools", "--raw"], &server[..]].concat(), &[]);
    for seen in [&seen, &listed, &found, &json, &raw] {
        let text = seen.text();
        let obeyed = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
        assert!(!text.contains(obeyed), "{text:?}");
    }
    assert!(listed.text().contains("\\u{1b}]0;title\\u{7} \\u{202e}first\n"), "{}", listed.text());
    assert!(found.text().starts_with("server               s\\u{1b}[2J 1\n"), "{}", found.text());
}

#[test]
fn progress_is_shown_while_it_lasts() {
    let seen = demo(&["call", "build_report", "--json"], &[]);
    assert_eq!(seen.code, Some(0), "{}", seen.raw);
    assert!(seen.raw.contains(" of ") && !seen.text().contains("build_report, page"), "{}", seen.raw);
    assert!(seen.raw.matches("\r\u{1b}[K").count() > 3, "{:?}", seen.raw);
}

#[test]
fn colours_are_where_they_are_wanted() {
    let colours = [("NO_COLOR", "")];
    let tools = [&["tools"], &DEMO[..]].concat();
    let shown = on_terminal(100, &colours, &tools, &[]).text();
    assert!(shown.starts_with("\u{1b}[1mTOOL "), "{shown:?}");
    let json =
        on_terminal(100, &colours, &[&["tools", "local_time", "--json"], &DEMO[..]].concat(), &[]).text();
    assert!(json.contains("\u{1b}[34m\"name\"\u{1b}[0m: \u{1b}[32m\"local_time\"\u{1b}[0m"), "{json:?}");
    let wrong = [&["call", "get_wether"], &DEMO[..]].concat();
    let shown = on_terminal(100, &colours, &wrong, &[]).text();
    assert!(shown.starts_with("\u{1b}[1;31merror:\u{1b}[0m the server has no tool"), "{shown:?}");
    assert!(shown.contains("\n\u{1b}[36mhint:\u{1b}[0m did you mean"), "{shown:?}");
    for (variables, option) in [
        (&[("NO_COLOR", ""), ("TERM", "dumb")][..], "--color=auto"),
        (&colours, "--color=never"),
        (&[], "--color=auto"),
    ] {
        let shown = on_terminal(100, variables, &[&["call", option, "get_wether"], &DEMO[..]].concat(), &[]);
        assert!(shown.text().starts_with("error: the server has no tool"), "{:?}", shown.raw);
        let is_dumb = variables.len() == 2;
        assert_eq!(shown.raw.contains('\u{1b}'), !is_dumb, "{:?}", shown.raw);
    }
    let always =
        on_terminal(100, &[], &[&["call", "--color", "always", "get_wether"], &DEMO[..]].concat(), &[]);
    assert!(always.text().starts_with("\u{1b}[1;31merror:"), "{:?}", always.raw);
    let forced = Command::new(ATTUNE)
        .args(["tools", "--text"])
        .args(DEMO)
        .env("CLICOLOR_FORCE", "1")
        .env_remove("NO_COLOR")
        .output()
        .expect("attune starts");
    assert!(String::from_utf8_lossy(&forced.stdout).starts_with("\u{1b}[1mTOOL "));
}

#[test]
fn long_errors_break_at_blanks() {
    let shown = on_terminal(40, &[], &[&["call", "get_weather"], &DEMO[..]].concat(), &[]).text();
    assert_eq!(
        shown,
        "error: `location` is missing\nhint: write location=… (A Swiss city,\n      for example Bern)\n"
    );
}

#[test]
fn what_a_program_says_stands_apart_from_what_we_show() {
    let script = format!("printf 'warn \\033[31mred\\n' >&2; {LEGACY}");
    let seen = on_terminal(100, &[], &["tools", "--", "sh", "-c", &script], &[]);
    assert_eq!(seen.code, Some(0), "{}", seen.raw);
    assert!(seen.raw.contains("\r\u{1b}[K│ warn \\u{1b}[31mred\r\n"), "{:?}", seen.raw);
    assert!(seen.text().starts_with("│ warn \\u{1b}[31mred\nTOOL"), "{:?}", seen.text());
    let died = on_terminal(100, &[], &["tools", "--", "sh", "-c", "echo Traceback >&2; exit 1"], &[]);
    assert_eq!(
        died.raw.matches("Traceback").count(),
        1 + died.raw.matches("echo Traceback").count(),
        "{}",
        died.raw
    );
    assert!(died.text().contains("ended with exit code 1 before it answered"), "{}", died.raw);
}

#[test]
fn the_wire_is_laid_out_and_listings_are_folded() {
    let seen = on_terminal(100, &[], &[&["call", "local_time", "--raw"], &DEMO[..]].concat(), &[]);
    let text = seen.text();
    assert_eq!(seen.code, Some(0), "{text}");
    assert!(text.contains("\n>   \"method\": \"tools/call\",\n"), "{text}");
    let folds = text.lines().filter(|line| line.starts_with("< … ") && line.contains(" lines more")).count();
    assert!(folds >= 1, "{text}");
    assert!(text.lines().count() < 400, "{text}");
}
