//! Servers in settings that are TOML: tables below `mcp_servers`, in any of the ways to write one.
//!
//! 1. Arguments that are not there are written on the line after the command, or behind it in an inline table.
//! 2. A new server is a table at the end of the file.

use std::ops::Range;

use toml::de::{DeArray, DeTable, DeValue};

use super::entry::{ConfiguredServer, LaunchWords, ListPlace, LocatedList, LocatedWord, SettingsProblem};
use super::splice::{TextSplice, line_ending};
use crate::commands::init::toml::{basic, key};

/// The table of all servers.
const SERVERS: &str = "mcp_servers";

/// A key, where it is, and its value with where that is.
type LocatedMember<'t, 'd> = (Range<usize>, &'d DeValue<'t>, Range<usize>);

/// A string as TOML writes it.
pub(super) fn literal(text: &str) -> String {
    basic(text)
}

/// The names of all servers, and the one that is asked for.
pub(super) fn read(
    text: &str,
    name: &str,
) -> Result<(Vec<String>, Option<ConfiguredServer>), SettingsProblem> {
    let root = DeTable::parse(text).map_err(|error| {
        SettingsProblem::new(error.span().map_or(0, |span| span.start), error.message().to_owned())
    })?;
    let Some((_, servers, at)) = find(root.get_ref(), SERVERS) else { return Ok((Vec::new(), None)) };
    let DeValue::Table(servers) = servers else {
        return Err(SettingsProblem::new(at.start, format!("`{SERVERS}` is no table")));
    };
    let names = servers.keys().map(|name| name.get_ref().to_string()).collect();
    let found = find(servers, name).map(|(_, value, at)| server(text, value, &at)).transpose()?;
    Ok((names, found))
}

/// Adds a server that is not there.
pub(super) fn add(text: &str, name: &str, words: &[String]) -> Vec<TextSplice> {
    let newline = line_ending(text);
    let before = match text {
        "" => "",
        _ if text.ends_with('\n') => newline,
        _ => &newline.repeat(2),
    };
    let words: Vec<_> = words.iter().map(|word| literal(word)).collect();
    let (program, arguments) =
        words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let table = [
        format!("[{SERVERS}.{}]", key(name)),
        format!("command = {program}"),
        format!("args = [{}]", arguments.join(", ")),
    ];
    let table: String = table.iter().map(|line| format!("{line}{newline}")).collect();
    vec![TextSplice::insert(text.len(), format!("{before}{table}"))]
}

fn find<'t, 'd>(table: &'d DeTable<'t>, name: &str) -> Option<LocatedMember<'t, 'd>> {
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
    Some((key.span(), value.get_ref(), value.span()))
}

fn server(text: &str, value: &DeValue<'_>, at: &Range<usize>) -> Result<ConfiguredServer, SettingsProblem> {
    let DeValue::Table(table) = value else {
        return Err(SettingsProblem::new(at.start, "the server is no table"));
    };
    if find(table, "url").is_some() {
        return Ok(ConfiguredServer::Remote);
    }
    let (key, command, command_at) = find(table, "command")
        .ok_or_else(|| SettingsProblem::new(at.start, "the server has no `command`"))?;
    let DeValue::String(command) = command else {
        return Err(SettingsProblem::new(command_at.start, "`command` is no string"));
    };
    if command.trim().is_empty() {
        return Err(SettingsProblem::new(command_at.start, "`command` is empty"));
    }
    let arguments = match find(table, "args") {
        None => None,
        Some((_, DeValue::Array(list), at)) => Some(words(list, at)?),
        Some((_, _, at)) => return Err(SettingsProblem::new(at.start, "`args` is no array")),
    };
    let is_inline = text.get(at.clone()).is_some_and(|text| text.starts_with('{'));
    let place = if is_inline {
        Some(ListPlace { at: command_at.end, lead: ", args = ".to_owned() })
    } else {
        next_line(text, &key, &command_at)
    };
    let program = LocatedWord { at: command_at, value: command.to_string() };
    Ok(ConfiguredServer::Local(LaunchWords::Split { program, arguments, place }))
}

/// The line after a command, with what its own line has before the key. `None` where that is more than other keys.
fn next_line(text: &str, key: &Range<usize>, command: &Range<usize>) -> Option<ListPlace> {
    let start = text.get(..key.start)?.rfind('\n').map_or(0, |newline| newline + 1);
    let lead = text.get(start..key.start)?;
    // A quote is part of the key where the key is quoted; a brace would be that of an inline table.
    let lead = lead.trim_end_matches(['"', '\'']);
    if lead.contains(['{', '=']) {
        return None;
    }
    let rest = text.get(command.end..)?;
    let line = rest.find('\n').unwrap_or(rest.len());
    let line = rest.get(..line)?.trim_end_matches('\r').len();
    Some(ListPlace { at: command.end + line, lead: format!("{}{lead}args = ", line_ending(text)) })
}

fn words(list: &DeArray<'_>, at: Range<usize>) -> Result<LocatedList, SettingsProblem> {
    let words = list.iter().map(|element| match element.get_ref() {
        DeValue::String(word) => Ok(LocatedWord { at: element.span(), value: word.to_string() }),
        _ => Err(SettingsProblem::new(element.span().start, "`args` holds something else than strings")),
    });
    Ok(LocatedList { words: words.collect::<Result<_, _>>()?, at })
}
