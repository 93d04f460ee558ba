//! Settings as people write them: what is put in comes out again, and nothing else moves.

use proptest::prelude::*;
use proptest::sample::select;

use super::clients::DesktopClient;
use super::entry::{ConfiguredServer, LaunchWords, Wrapping, wrapping};
use super::settings::SettingsText;

const JSON_CLIENTS: [DesktopClient; 5] = [
    DesktopClient::ClaudeDesktop,
    DesktopClient::Vscode,
    DesktopClient::Cursor,
    DesktopClient::Opencode,
    DesktopClient::GeminiCli,
];

fn attune() -> Vec<String> {
    [r"C:\Program Files\attune.exe", "stdio", "--caller", "system", "--"].map(str::to_owned).to_vec()
}

fn launch(client: DesktopClient, text: &str, name: &str) -> LaunchWords {
    match SettingsText::new(client, text).read(name) {
        Ok(listing) => match listing.found {
            Some(ConfiguredServer::Local(launch)) => launch,
            other => panic!("{other:?}\n{text}"),
        },
        Err(problem) => panic!("{problem:?}\n{text}"),
    }
}

fn installed(client: DesktopClient, text: &str) -> String {
    let settings = SettingsText::new(client, text);
    let launch = launch(client, text, "it");
    settings.wrap("it", &launch, &attune()).unwrap_or_else(|problem| panic!("{problem:?}\n{text}"))
}

fn uninstalled(client: DesktopClient, text: &str) -> String {
    let settings = SettingsText::new(client, text);
    let launch = launch(client, text, "it");
    settings.unwrap("it", &launch).unwrap_or_else(|problem| panic!("{problem:?}\n{text}"))
}

/// A server in some text: there and back it is the same, and the text around never changes.
fn check(client: DesktopClient, before: &str, entry: &str, after: &str) {
    let text = format!("{before}{entry}{after}");
    let words = launch(client, &text, "it").words();
    let there = installed(client, &text);
    assert!(there.starts_with(before) && there.ends_with(after), "{text}\n{there}");
    let wrapped = launch(client, &there, "it").words();
    assert_eq!(wrapping(&wrapped), Wrapping::Around(&words), "{there}");
    assert_eq!(wrapped, [attune(), words].concat());
    assert_eq!(uninstalled(client, &there), text, "{there}");
}

/// A server added to some text: nothing that was there is lost or moved, and the other servers are the same.
fn check_added(client: DesktopClient, text: &str) {
    let words = ["attune", "stdio", "--", "new \"server\"", "\u{7f}é"].map(str::to_owned);
    let settings = SettingsText::new(client, text);
    let added = settings.add("a new.one", &words).unwrap_or_else(|problem| panic!("{problem:?}\n{text}"));
    assert_eq!(launch(client, &added, "a new.one").words(), words);
    assert_eq!(launch(client, &added, "it").words(), launch(client, text, "it").words(), "{added}");
    let mut rest = added.chars();
    assert!(text.chars().all(|char| rest.any(|other| other == char)), "{text}\n{added}");
}

/// What may stand between any two tokens of JSON with comments.
fn gap() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "",
        "",
        " ",
        "\n",
        "\n    ",
        "\r\n\t",
        "/* , ] } */",
        " // a \"b\", ]\n  ",
        "/*\n*/",
        "\t",
        " // é\r\n",
    ])
}

fn json_string() -> impl Strategy<Value = &'static str> {
    select(vec![
        r#""npx""#,
        r#""-y""#,
        r#""np\u0078""#,
        r#""C:\\x y\\uvx.exe""#,
        r#""é]}""#,
        r#""//""#,
        r#""--""#,
        r#""\n\"""#,
    ])
}

fn json_list(words: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = String> {
    (proptest::collection::vec((gap(), json_string(), gap()), words), gap(), any::<bool>()).prop_map(
        |(words, last, comma)| {
            let comma = if comma && !words.is_empty() { "," } else { "" };
            let words: Vec<_> =
                words.iter().map(|(before, word, after)| format!("{before}{word}{after}")).collect();
            format!("[{}{comma}{last}]", words.join(","))
        },
    )
}

/// The members of a server in any order, with others beside them.
fn json_entry(client: DesktopClient) -> impl Strategy<Value = String> {
    let command = if client == DesktopClient::Opencode {
        json_list(1..4).boxed()
    } else {
        json_string().prop_map(str::to_owned).boxed()
    };
    let arguments = if client == DesktopClient::Opencode {
        Just(None).boxed()
    } else {
        proptest::option::of(json_list(0..4)).boxed()
    };
    let env = proptest::option::of(select(vec![r#"{"A": "b", /* x */}"#, "{ }", r#"{"command": 1}"#]));
    (command, arguments, env, proptest::collection::vec(gap(), 16), any::<bool>(), any::<[u8; 3]>()).prop_map(
        |(command, arguments, env, gaps, comma, order)| {
            let mut members = vec![("command", command)];
            members.extend(arguments.map(|list| ("args", list)));
            members.extend(env.map(|env| ("env", env.to_owned())));
            let mut members: Vec<_> = order.into_iter().zip(members).collect();
            members.sort_by_key(|(order, _)| *order);
            let mut gaps = gaps.into_iter().cycle();
            let mut gap = || gaps.next().unwrap_or_default();
            let members: Vec<_> = members
                .iter()
                .map(|(_, (name, value))| format!("{}\"{name}\"{}:{}{value}{}", gap(), gap(), gap(), gap()))
                .collect();
            format!("{{{}{}{}}}", members.join(","), if comma { "," } else { "" }, gap())
        },
    )
}

/// A file around a server: what is before, the server, what is after.
fn json_file() -> impl Strategy<Value = (DesktopClient, String, String, String)> {
    let client = select(JSON_CLIENTS.to_vec());
    client.prop_flat_map(|client| {
        let key = match client {
            DesktopClient::Vscode => "servers",
            DesktopClient::Opencode => "mcp",
            _ => "mcpServers",
        };
        let other =
            if client == DesktopClient::Opencode { r#"{"command":["o"]}"# } else { r#"{"command":"o"}"# };
        let parts = (json_entry(client), proptest::collection::vec(gap(), 12), any::<[bool; 6]>());
        parts.prop_map(move |(entry, gaps, [mark, first, last, more, comma, end])| {
            let mut gaps = gaps.into_iter().cycle();
            let mut gap = || gaps.next().unwrap_or_default();
            let mark = if mark { "\u{feff}" } else { "" };
            let first = if first { format!("\"a\"{}:{}{other},", gap(), gap()) } else { String::new() };
            let last = if last { format!(",{}\"z\":{other}", gap()) } else { String::new() };
            let more = if more { format!(",{}\"theme\": [1.50, {{}}, null]", gap()) } else { String::new() };
            let (comma, end) = (if comma { "," } else { "" }, if end { "\n" } else { "" });
            let before =
                format!("{mark}{}{{{}\"{key}\":{}{{{first}{}\"it\":{}", gap(), gap(), gap(), gap(), gap());
            let after = format!("{}{last}{comma}{}}}{}{more}{}{comma}}}{end}", gap(), gap(), gap(), gap());
            (client, before, entry, after)
        })
    })
}

fn toml_string() -> impl Strategy<Value = &'static str> {
    select(vec![
        r#""npx""#,
        "'C:\\x\\uvx.exe'",
        r#""np\u0078""#,
        "\"\"\"a\nb\"\"\"",
        "'''#'''",
        "\"é # ]\"",
        "'--'",
    ])
}

/// What may stand between the words of a list in TOML.
fn toml_gap() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", " ", "\n  ", "\r\n\t", " # a, 'b' ]\n  "])
}

fn toml_list() -> impl Strategy<Value = String> {
    let words = proptest::collection::vec((toml_gap(), toml_string(), toml_gap()), 0..4);
    (words, toml_gap(), any::<bool>()).prop_map(|(words, last, comma)| {
        let comma = if comma && !words.is_empty() { "," } else { "" };
        let words: Vec<_> =
            words.iter().map(|(before, word, after)| format!("{before}{word}{after}")).collect();
        format!("[{}{comma}{last}]", words.join(","))
    })
}

/// A file around a server, as a table, an inline table or dotted keys.
fn toml_file() -> impl Strategy<Value = (String, String, String)> {
    let parts = (
        toml_string(),
        proptest::option::of(toml_list()),
        0..4_usize,
        any::<[bool; 5]>(),
        select(vec!["", " # mine", "  "]),
    );
    parts.prop_map(|(command, list, form, [mark, windows, swapped, more, end], comment)| {
        let newline = if windows { "\r\n" } else { "\n" };
        let (header, indent, opened) = match form {
            0 => ("[mcp_servers.it]", "", false),
            1 => (" [ mcp_servers . \"it\" ] # here", "\t", false),
            2 => ("[mcp_servers]", "it.", false),
            _ => ("[mcp_servers]", "", true),
        };
        let list = list.map(|list| format!("args = {list}"));
        let command = format!("command = {command}");
        let entry = if opened {
            let members: Vec<_> = if swapped { list.into_iter().chain([command]).collect() } else { [command].into_iter().chain(list).collect() };
            format!("it = {{ {} }}{comment}", members.join(", "))
        } else {
            let members = [Some(command), list].into_iter().flatten().map(|line| format!("{indent}{line}{comment}"));
            let mut members: Vec<_> = members.collect();
            if swapped {
                members.reverse();
            }
            members.join(newline)
        };
        let before = format!("{}model = \"x\" # é{newline}{newline}{header}{newline}", if mark { "\u{feff}" } else { "" });
        let more = if more { format!("{newline}{newline}[mcp_servers.z] # other{newline}command = \"o\"{newline}env = {{ A = \"b\" }}") } else { String::new() };
        (before, entry, format!("{more}{}", if end { newline } else { "" }))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_is_the_same_there_and_back((client, before, entry, after) in json_file()) {
        check(client, &before, &entry, &after);
    }

    #[test]
    fn nothing_of_json_is_lost_where_a_server_is_added((client, before, entry, after) in json_file()) {
        check_added(client, &format!("{before}{entry}{after}"));
    }

    #[test]
    fn toml_is_the_same_there_and_back((before, entry, after) in toml_file()) {
        check(DesktopClient::Codex, &before, &entry, &after);
    }

    #[test]
    fn nothing_of_toml_is_lost_where_a_server_is_added((before, entry, after) in toml_file()) {
        check_added(DesktopClient::Codex, &format!("{before}{entry}{after}"));
    }

    #[test]
    fn whatever_a_file_holds_it_is_read_or_refused(text in "[{}\\[\\]\":,a-c/*# =.\n'\\\\-]{0,60}", name in "[a-c]") {
        for client in [DesktopClient::Cursor, DesktopClient::Opencode, DesktopClient::Codex] {
            let settings = SettingsText::new(client, &text);
            match settings.read(&name) {
                Ok(_) => drop(settings.add(&name, &attune())),
                Err(problem) => assert!(settings.describe(&problem).starts_with("line ")),
            }
        }
    }
}

#[test]
fn a_list_that_a_formatter_laid_out_anew_is_emptied_cleanly() {
    let text = "{\"mcpServers\": {\"it\": {\n  \"command\": \"attune\",\n  \"args\": [\n    \"stdio\",\n    \"--\",\n    \"npx\"\n  ]\n}}}";
    let undone = uninstalled(DesktopClient::Cursor, text);
    assert_eq!(undone, "{\"mcpServers\": {\"it\": {\n  \"command\": \"npx\",\n  \"args\": []\n}}}");
}

#[test]
fn a_comment_between_the_words_of_attune_is_not_lost() {
    let text =
        r#"{"mcpServers": {"it": {"command": "attune", "args": ["stdio", /* why */ "--", "npx", "x"]}}}"#;
    let settings = SettingsText::new(DesktopClient::Cursor, text);
    let problem = settings.unwrap("it", &launch(DesktopClient::Cursor, text, "it")).expect_err("refused");
    insta::assert_snapshot!(settings.describe(&problem), @r#"
    line 1, column 61: there is a comment between the words that start Attune; move it, and try again
      ", "args": ["stdio", /* why */ "--", "npx", "x"]}}}
                         ^
    "#);
}

#[test]
fn what_cannot_be_written_in_one_way_is_refused() {
    let text = "mcp_servers = { it.command = 'x' }\n";
    let settings = SettingsText::new(DesktopClient::Codex, text);
    let problem =
        settings.wrap("it", &launch(DesktopClient::Codex, text, "it"), &attune()).expect_err("refused");
    assert!(problem.what.contains("write an empty one first"), "{problem:?}");
    // An inline table cannot be gone on with.
    let problem = settings.add("new", &attune()).expect_err("refused");
    assert!(problem.what.contains("cannot be changed safely"), "{problem:?}");
}
