//! Servers in settings that are JSON, with comments and trailing commas or without.
//!
//! 1. A name that is there twice on the way to a server is refused: readers differ in which one counts.
//! 2. A new server comes last, laid out as the one before it; a comment behind that one stays behind it.
//! 3. A server with a URL is one that the client connects to, whatever else it has.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::clients::JsonLayout;
use super::entry::{ConfiguredServer, LaunchWords, ListPlace, LocatedList, LocatedWord, SettingsProblem};
use super::splice::{TextSplice, line_ending, line_start};

/// Members that only a server has that a client connects to.
const REMOTE_MEMBERS: [&str; 4] = ["url", "httpUrl", "serverUrl", "tcp"];
/// The indentation where a file shows none.
const INDENT: &str = "  ";

/// What JSON files allow that clients read.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A string as JSON writes it.
pub(super) fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The names of all servers, and the one that is asked for.
pub(super) fn read(
    text: &str,
    layout: JsonLayout,
    name: &str,
) -> Result<(Vec<String>, Option<ConfiguredServer>), SettingsProblem> {
    let root = parse(text)?;
    let Some(servers) = servers(&root, layout)? else { return Ok((Vec::new(), None)) };
    let names = servers.properties.iter().map(|member| member.name.as_str().to_owned()).collect();
    let found = find(servers, name)?.map(|member| server(text, member, layout)).transpose()?;
    Ok((names, found))
}

/// Adds a server that is not there.
pub(super) fn add(
    text: &str,
    layout: JsonLayout,
    name: &str,
    words: &[String],
) -> Result<Vec<TextSplice>, SettingsProblem> {
    let root = parse(text)?;
    let entry = new_entry(layout, words);
    let style = TextStyle::of(text, &root);
    Ok(match servers(&root, layout)? {
        Some(servers) => style.insert(servers, name, &entry),
        None => {
            let servers = JsonDraft::Object(vec![(name.to_owned(), entry)]);
            style.insert(&root, layout.new_member, &servers)
        }
    })
}

/// A file with one server.
pub(super) fn new_file(layout: JsonLayout, name: &str, words: &[String]) -> String {
    let servers = JsonDraft::Object(vec![(name.to_owned(), new_entry(layout, words))]);
    JsonDraft::Object(vec![(layout.new_member.to_owned(), servers)]).render(Some("\n"), INDENT) + "\n"
}

fn parse(text: &str) -> Result<Object<'_>, SettingsProblem> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS)
        .map_err(|error| SettingsProblem::new(error.range().start, error.kind().to_string()))?;
    match parsed.value {
        Some(Value::Object(root)) => Ok(root),
        Some(other) => {
            Err(SettingsProblem::new(other.start(), "the file holds something else than an object"))
        }
        None => Err(SettingsProblem::new(0, "the file holds no object")),
    }
}

/// A member by its name.
fn find<'o, 'a>(object: &'o Object<'a>, name: &str) -> Result<Option<&'o ObjectProp<'a>>, SettingsProblem> {
    let mut found = object.properties.iter().filter(|member| member.name.as_str() == name);
    match (found.next(), found.next()) {
        (_, Some(second)) => {
            let what = format!("`{}` is there a second time", crate::text::quoted(name));
            Err(SettingsProblem::new(second.start(), what))
        }
        (first, None) => Ok(first),
    }
}

/// The object of all servers.
fn servers<'o, 'a>(
    root: &'o Object<'a>,
    layout: JsonLayout,
) -> Result<Option<&'o Object<'a>>, SettingsProblem> {
    'paths: for path in layout.paths {
        let mut object = root;
        for name in *path {
            let Some(member) = find(object, name)? else { continue 'paths };
            match &member.value {
                Value::Object(inner) => object = inner,
                // Below the first level it may be a server that is called so.
                _ if path.len() > 1 => continue 'paths,
                other => return Err(SettingsProblem::new(other.start(), format!("`{name}` is no object"))),
            }
        }
        if path.len() == 1 || !is_server(object) {
            return Ok(Some(object));
        }
    }
    Ok(None)
}

/// Whether an object describes a server, and does not hold several.
fn is_server(object: &Object<'_>) -> bool {
    let plain = |name: &str| object.get(name).is_some_and(|member| !matches!(member.value, Value::Object(_)));
    ["type", "command", "url", "enabled"].into_iter().any(plain)
}

fn server(
    text: &str,
    member: &ObjectProp<'_>,
    layout: JsonLayout,
) -> Result<ConfiguredServer, SettingsProblem> {
    let Value::Object(object) = &member.value else {
        return Err(SettingsProblem::new(member.value.start(), "the server is no object"));
    };
    for remote in REMOTE_MEMBERS {
        if find(object, remote)?.is_some() {
            return Ok(ConfiguredServer::Remote);
        }
    }
    let command = find(object, "command")?
        .ok_or_else(|| SettingsProblem::new(object.start(), "the server has no `command`"))?;
    let launch = match &command.value {
        Value::Array(list) if layout.command_is_list => LaunchWords::List(words(list, "command")?),
        Value::StringLit(program) if !layout.command_is_list => {
            let arguments = match find(object, "args")?.map(|member| &member.value) {
                None => None,
                Some(Value::Array(list)) => Some(words(list, "args")?),
                Some(other) => return Err(SettingsProblem::new(other.start(), "`args` is no array")),
            };
            let separator = line_start(text, command.start()).unwrap_or(" ");
            let place = ListPlace { at: program.range.end, lead: format!(",{separator}\"args\": ") };
            let program = LocatedWord { at: span(program), value: program.value.to_string() };
            LaunchWords::Split { program, arguments, place: Some(place) }
        }
        other => {
            let what =
                if layout.command_is_list { "`command` is no array" } else { "`command` is no string" };
            return Err(SettingsProblem::new(other.start(), what));
        }
    };
    if launch.words().first().is_none_or(|program| program.trim().is_empty()) {
        return Err(SettingsProblem::new(command.value.start(), "`command` is empty"));
    }
    Ok(ConfiguredServer::Local(launch))
}

fn span(node: &impl Ranged) -> Range<usize> {
    node.start()..node.end()
}

fn words(list: &Array<'_>, name: &str) -> Result<LocatedList, SettingsProblem> {
    let word = |element: &Value<'_>| match element {
        Value::StringLit(word) => Ok(LocatedWord { at: span(word), value: word.value.to_string() }),
        other => {
            Err(SettingsProblem::new(other.start(), format!("`{name}` holds something else than strings")))
        }
    };
    Ok(LocatedList { at: span(list), words: list.elements.iter().map(word).collect::<Result<_, _>>()? })
}

/// A value that is yet to be written.
enum JsonDraft {
    Literal(String),
    Object(Vec<(String, Self)>),
}

fn new_entry(layout: JsonLayout, words: &[String]) -> JsonDraft {
    let list = |words: &[String]| {
        let words: Vec<_> = words.iter().map(|word| literal(word)).collect();
        JsonDraft::Literal(format!("[{}]", words.join(", ")))
    };
    let kind = layout.kind.map(|kind| ("type".to_owned(), JsonDraft::Literal(literal(kind))));
    let command = match words.split_first() {
        Some((program, arguments)) if !layout.command_is_list => {
            let program = ("command".to_owned(), JsonDraft::Literal(literal(program)));
            vec![program, ("args".to_owned(), list(arguments))]
        }
        _ => vec![("command".to_owned(), list(words))],
    };
    JsonDraft::Object(kind.into_iter().chain(command).collect())
}

impl JsonDraft {
    /// The text: after a line break and so much indentation, or on one line.
    fn render(&self, lead: Option<&str>, indent: &str) -> String {
        let members = match self {
            Self::Literal(text) => return text.clone(),
            Self::Object(members) => members,
        };
        let inner = lead.map(|lead| format!("{lead}{indent}"));
        let member = |(name, value): &(String, Self)| {
            format!("{}: {}", literal(name), value.render(inner.as_deref(), indent))
        };
        let separator = format!(",{}", inner.as_deref().unwrap_or(" "));
        let members = members.iter().map(member).collect::<Vec<_>>().join(&separator);
        format!("{{{}{members}{}}}", inner.as_deref().unwrap_or_default(), lead.unwrap_or_default())
    }
}

/// How a file is laid out.
struct TextStyle<'t> {
    text: &'t str,
    newline: &'static str,
    /// What one level is indented by; `None` where everything is on one line.
    indent: Option<String>,
}

impl<'t> TextStyle<'t> {
    fn of(text: &'t str, root: &Object<'_>) -> Self {
        let newline = line_ending(text);
        let first = root.properties.first();
        let lead = first.and_then(|first| line_start(text, first.start()));
        let indent = lead.map(|lead| lead.trim_start_matches(['\r', '\n']).to_owned());
        let has_lines = text.trim().contains('\n');
        let indent = indent.or_else(|| (has_lines || first.is_none()).then(|| INDENT.to_owned()));
        Self { text, newline, indent }
    }

    /// Writes a member at the end of an object.
    fn insert(&self, object: &Object<'_>, name: &str, value: &JsonDraft) -> Vec<TextSplice> {
        let indent = self.indent.as_deref().unwrap_or(INDENT);
        let member = |lead: Option<&str>| format!("{}: {}", literal(name), value.render(lead, indent));
        let Some(last) = object.properties.last() else { return self.insert_first(object, &member) };
        let after = self.text.get(last.end()..object.end().saturating_sub(1)).unwrap_or_default();
        let comma = comma_end(after);
        let behind = after.get(comma.unwrap_or_default()..).unwrap_or_default();
        let comments = behind.get(..comments_length(behind)).unwrap_or_default();
        let line = last.end() + comma.unwrap_or_default() + comments.len();
        let lead = line_start(self.text, last.start());
        // Nothing can be written behind a comment that goes on to the end of its line.
        let same_line = if comments.contains("//") { self.newline } else { " " };
        let member = format!("{}{}", lead.unwrap_or(same_line), member(lead));
        match comma {
            Some(_) => vec![TextSplice::insert(line, member + ",")],
            // Two at one place keep their order.
            None => vec![TextSplice::insert(last.end(), ","), TextSplice::insert(line, member)],
        }
    }

    /// Writes the first member of an object.
    fn insert_first(&self, object: &Object<'_>, member: &impl Fn(Option<&str>) -> String) -> Vec<TextSplice> {
        let Some(indent) = self.indent.as_deref() else {
            return vec![TextSplice::insert(object.start() + 1, member(None))];
        };
        let inside = self.text.get(object.start() + 1..object.end().saturating_sub(1)).unwrap_or_default();
        // The indentation of the line that the object begins on.
        let line = self.text.get(..object.start()).unwrap_or_default();
        let line = line.rsplit('\n').next().unwrap_or_default();
        let own: String = line.chars().take_while(|char| matches!(char, ' ' | '\t')).collect();
        let lead = format!("{}{own}{indent}", self.newline);
        let end = if inside.contains('\n') { String::new() } else { format!("{}{own}", self.newline) };
        vec![TextSplice::insert(object.start() + 1, format!("{lead}{}{end}", member(Some(&lead))))]
    }
}

/// Where a comma ends that comes next, whatever comments are before it.
fn comma_end(after: &str) -> Option<usize> {
    let mut rest = after;
    loop {
        rest = rest.trim_start();
        rest = match rest.as_bytes() {
            [b'/', b'/', ..] => rest.split_once('\n')?.1,
            [b'/', b'*', ..] => rest.get(2..)?.split_once("*/")?.1,
            [b',', ..] => return Some(after.len() - rest.len() + 1),
            _ => return None,
        };
    }
}

/// How long the comments are that come next on the same line.
fn comments_length(after: &str) -> usize {
    let mut rest = after;
    loop {
        let next = rest.trim_start_matches([' ', '\t']);
        let length = if next.starts_with("//") {
            next.find(['\r', '\n']).unwrap_or(next.len())
        } else {
            let block = next.strip_prefix("/*").and_then(|block| block.split_once("*/"));
            let Some((comment, _)) = block.filter(|(comment, _)| !comment.contains('\n')) else { break };
            comment.len() + 4
        };
        rest = next.get(length..).unwrap_or_default();
    }
    after.len() - rest.len()
}

#[cfg(test)]
mod tests {
    use super::super::clients::{DesktopClient, SettingsFormat};
    use super::super::splice::apply;
    use super::*;

    fn layout(client: DesktopClient) -> JsonLayout {
        match client.format() {
            SettingsFormat::Json(layout) => layout,
            SettingsFormat::Toml => panic!("{client:?} writes TOML"),
        }
    }

    fn added(text: &str, client: DesktopClient) -> String {
        let words = ["attune", "stdio"].map(str::to_owned);
        let splices =
            add(text, layout(client), "new", &words).unwrap_or_else(|problem| panic!("{problem:?}"));
        let changed = apply(text, splices).expect("splices that fit");
        let (names, found) =
            read(&changed, layout(client), "new").unwrap_or_else(|problem| panic!("{problem:?}\n{changed}"));
        assert!(names.contains(&"new".to_owned()), "{changed}");
        assert!(
            matches!(found, Some(ConfiguredServer::Local(launch)) if launch.words() == words),
            "{changed}"
        );
        changed
    }

    #[test]
    fn a_new_server_is_laid_out_as_the_others() {
        let text = "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"a\"} // mine\n\t}\n}\n";
        let expected = "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"a\"}, // mine\n\t\t\"new\": {\n\t\t\t\"command\": \"attune\",\n\t\t\t\"args\": [\"stdio\"]\n\t\t}\n\t}\n}\n";
        assert_eq!(added(text, DesktopClient::Cursor), expected);
        let text = "{\r\n    // all\r\n    \"servers\": {\r\n    },\r\n}";
        let expected = "{\r\n    // all\r\n    \"servers\": {\r\n        \"new\": {\r\n            \"type\": \"stdio\",\r\n            \"command\": \"attune\",\r\n            \"args\": [\"stdio\"]\r\n        }\r\n    },\r\n}";
        assert_eq!(added(text, DesktopClient::Vscode), expected);
        let text = r#"{"mcp": {"a": {"command": ["a"]}, /* last */ }}"#;
        let new = r#""new": {"type": "local", "command": ["attune", "stdio"]}"#;
        let expected = format!(r#"{{"mcp": {{"a": {{"command": ["a"]}}, /* last */ {new}, }}}}"#);
        assert_eq!(added(text, DesktopClient::Opencode), expected);
    }

    #[test]
    fn the_first_server_brings_the_member_for_all_of_them() {
        let servers = "\"mcpServers\": {\n    \"new\": {\n      \"command\": \"attune\",\n      \"args\": [\"stdio\"]\n    }\n  }";
        assert_eq!(added("{}", DesktopClient::GeminiCli), format!("{{\n  {servers}\n}}"));
        let text = "{\n  \"theme\": 1\n}\n";
        assert_eq!(added(text, DesktopClient::GeminiCli), format!("{{\n  \"theme\": 1,\n  {servers}\n}}\n"));
        let line = r#"{"theme": 1, "mcpServers": {"new": {"command": "attune", "args": ["stdio"]}}}"#;
        assert_eq!(added("{\"theme\": 1}", DesktopClient::GeminiCli), line);
    }

    #[test]
    fn a_new_server_goes_where_the_file_has_servers() {
        let second =
            added(r#"{"mcp":{"servers":{"a":{"type":"local","command":["a"]}}}}"#, DesktopClient::Opencode);
        assert!(second.contains(r#""command":["a"]}, "new""#), "{second}");
        let called_so =
            added(r#"{"mcp":{"servers":{"type":"local","command":["a"]}}}"#, DesktopClient::Opencode);
        assert!(called_so.contains(r#""command":["a"]}, "new""#), "{called_so}");
        let shared = added(r#"{"mcpServers":{"a":{"command":"a"}}}"#, DesktopClient::Vscode);
        assert!(!shared.contains("\"servers\""), "{shared}");
    }

    #[test]
    fn commas_and_comments_in_any_place_leave_valid_json() {
        for end in [
            "",
            ",",
            " ,",
            "\n,",
            " // a, b\n",
            " // c\n , // d\n",
            "/* , */",
            "/* \n */ , /* x */",
            ", // x",
        ] {
            for open in ["{", "{\n  "] {
                let text = format!("{{\"mcpServers\": {open}\"a\": {{\"command\": \"a\"}}{end}\n}} }}");
                added(&text, DesktopClient::Cursor);
            }
        }
    }
}
