//! The texts of other people's servers: extracted, made into a pseudo-locale, served from it, and listed by somebody else's
//! client. Whatever the extracted file has comes in brackets, and names come as they are; without a preference everything
//! comes as the server says it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::list::{self, Server};
use super::shared_server;
use crate::cell::Cell;
use crate::install::{self, Unavailable};
use crate::packages::{self, LEGACY, MODERN};
use crate::servers::Ours;
use kit::running::Running;
use kit::shell;

const PATIENCE: Duration = Duration::from_secs(60);

/// What CI has time for: two from npm and one from PyPI.
const QUICK: [&str; 3] = ["everything", "filesystem", "time"];

const CONFIG: &str = r#"default_language = "en"

[locales]
path = "locales/${locale}.json"
translate = ["display", "model"]
"#;

/// Two listings by one client.
const STEPS: &str = r#"[{"name":"plain","do":"lists"},{"name":"pseudo","do":"lists","language":"en-XA"}]"#;

pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let entries = list::read()?.into_iter().filter(|entry| !quick || QUICK.contains(&&*entry.name));
    let cell = |entry: list::Entry| {
        let (name, server) = (entry.name.clone(), shared_server(entry));
        Cell::new(name, move || translated(server.get()?))
    };
    Ok(entries.map(cell).collect())
}

fn translated(server: &Server) -> Result<Vec<String>> {
    let python = packages::python(&install::folder().join("clients/python")).context(Unavailable)?;
    let ours = Ours::get()?;
    server.prepare()?;
    let name = &server.entry.name;
    let folder = server.seen("catalog");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("attune.toml"), CONFIG)?;
    fs::write(folder.join("steps.json"), STEPS)?;
    let mut wrong = make(ours, server, &folder)?;
    let file: Value = serde_json::from_slice(&fs::read(folder.join("locales/en.json"))?)?;
    let eras: &[&str] = if server.entry.modern { &[LEGACY, MODERN] } else { &[LEGACY] };
    let mut seen = 0;
    for era in eras {
        let (count, more) = listed(ours, &python, server, &folder, era, &file)?;
        seen += count;
        wrong.extend(more.into_iter().map(|what| format!("{era}: {what}")));
    }
    println!("    {name}, {}: {seen} texts seen translated, {} wrong", eras.join(" and "), wrong.len());
    Ok(wrong.into_iter().map(|what| format!("catalog: {name}: {what}")).collect())
}

/// Extracts twice, which gives the same file, and makes a pseudo-locale that nothing is wrong with.
fn make(ours: &Ours, server: &Server, folder: &Path) -> Result<Vec<String>> {
    let locales = folder.join("locales");
    let extract = || {
        let mut command = Command::new(&ours.attune);
        command.args(["catalog", "extract", "--out"]).arg(&locales).arg("--").args(server.command());
        let output = Running::to_its_end(&mut command, PATIENCE)?;
        if !output.status.success() {
            bail!("{}: {}", server.entry.name, String::from_utf8_lossy(&output.stderr));
        }
        Ok(fs::read(locales.join("en.json"))?)
    };
    let mut wrong = Vec::new();
    if extract()? != extract()? {
        wrong.push("extracted twice, the file is another".to_owned());
    }
    for words in [&["pseudo"][..], &["lint"], &["status", "--at-least", "100"]] {
        let mut command = Command::new(&ours.attune);
        let output = Running::to_its_end(command.arg("catalog").args(words).arg(&locales), PATIENCE)?;
        if !output.status.success() {
            let said = [output.stdout, output.stderr].concat();
            wrong.push(format!("{}: {}", words.join(" "), String::from_utf8_lossy(&said)));
        }
    }
    Ok(wrong)
}

/// How many texts were seen translated, and what is wrong with the listings.
fn listed(
    ours: &Ours,
    python: &Path,
    server: &Server,
    folder: &Path,
    era: &str,
    file: &Value,
) -> Result<(usize, Vec<String>)> {
    let (attune, config) = (ours.attune.to_string_lossy(), folder.join("attune.toml"));
    let start = [&*attune, "stdio", "--config", &*config.to_string_lossy(), "--"].map(str::to_owned);
    let target = json!([&start[..], &server.command()].concat()).to_string();
    let mut client = Command::new(python);
    client.arg(shell::root().join("interop/python/client.py")).args([&target, era, "--script"]);
    let output = Running::to_its_end(client.arg(folder.join("steps.json")), PATIENCE)?;
    fs::write(folder.join(format!("{era}.jsonl")), &output.stdout)?;
    let lines = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let listing =
        |step: &str| lines.iter().find(|line| line["step"] == step).map(|it| &it["outcome"]["result"]);
    match (listing("plain"), listing("pseudo")) {
        (Some(plain), Some(pseudo)) if plain.is_object() && pseudo.is_object() => {
            Ok(compared(file, plain, pseudo))
        }
        _ => bail!("{}, {era}: no listing: {}", server.entry.name, String::from_utf8_lossy(&output.stderr)),
    }
}

/// Where things are listed, in the file and in an answer, and what they are called by.
const LISTS: [(&str, [&str; 2], &str); 4] = [
    ("tools", ["tools", "tools"], "name"),
    ("prompts", ["prompts", "prompts"], "name"),
    ("resources", ["resources", "resources"], "uri"),
    ("resource_templates", ["templates", "resourceTemplates"], "uriTemplate"),
];

/// Holds a listing without a preference against the file, and one for the pseudo-locale against both.
fn compared(file: &Value, plain: &Value, pseudo: &Value) -> (usize, Vec<String>) {
    let (mut seen, mut wrong) = (0, Vec::new());
    for (section, [outer, inner], called) in LISTS {
        let all = |listing: &Value| listing[outer][inner].as_array().cloned().unwrap_or_default();
        let (plain, pseudo) = (all(plain), all(pseudo));
        let names = |things: &[Value]| things.iter().map(|thing| thing[called].clone()).collect::<Vec<_>>();
        if names(&plain) != names(&pseudo) {
            wrong.push(format!("other {section} for another language"));
            continue;
        }
        for (plain, pseudo) in plain.iter().zip(&pseudo) {
            let name = plain[called].as_str().unwrap_or_default();
            for field in ["title", "description"] {
                let Some(text) = file[section][name][field].as_str() else { continue };
                if plain[field].as_str().is_some_and(|said| said != text) {
                    wrong.push(format!("{section} {name}: its {field} is {} and not {text:?}", plain[field]));
                }
                // A title may stand in the annotations alone.
                let shown = pseudo[field].as_str().or_else(|| pseudo["annotations"][field].as_str());
                if shown.is_some_and(|shown| shown.starts_with('⟦') && shown.ends_with('⟧')) {
                    seen += 1;
                } else {
                    wrong.push(format!("{section} {name}: its {field} is shown as {shown:?}"));
                }
            }
        }
    }
    if seen == 0 {
        wrong.push("no text was seen translated".to_owned());
    }
    (seen, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_not_translated_is_found() {
        let file = json!({ "tools": { "a": { "title": "A", "description": "Does a." } } });
        let listing = |title: &str| json!({ "tools": { "tools": [{ "name": "a", "title": title, "description": "⟦x⟧" }] } });
        assert_eq!(
            compared(&file, &listing("A"), &listing("⟦Åå⟧")).1.len(),
            1,
            "the description is not the server's"
        );
        let plain =
            json!({ "tools": { "tools": [{ "name": "a", "title": "A", "description": "Does a." }] } });
        assert_eq!(compared(&file, &plain, &listing("⟦Åå⟧")), (2, Vec::new()));
        assert_eq!(compared(&file, &plain, &listing("A")).1.len(), 1);
        assert_eq!(compared(&file, &plain, &json!({})).1.len(), 2);
    }
}
