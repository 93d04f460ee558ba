//! Expressions of time, read a second time by Python: other code, another calendar, another reader of zones.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::cell::{Cell, Shared};
use super::install::{self, Unavailable};
use super::packages;
use super::servers::Ours;
use kit::shell;

/// Any number will do, as long as it stays: what differs once can then be looked at again.
const SEED: &str = "1809";
/// How many questions are asked of the command itself too, which is started anew for each.
const BY_COMMAND: usize = 50;
/// Faults beyond these are only counted.
const TOLD: usize = 20;

/// What was asked, and what each says.
struct TimeAnswers {
    questions: Vec<Value>,
    ours: Vec<Value>,
    theirs: Vec<Value>,
}

impl TimeAnswers {
    fn new(quick: bool) -> Result<Self> {
        let python = packages::python(&install::folder().join("clients/python")).context(Unavailable)?;
        let folder = install::folder().join("seen/when");
        fs::create_dir_all(&folder)?;
        let script = |arguments: &[&str]| {
            let mut command = Command::new(&python);
            command.arg(shell::root().join("interop/python/when.py")).args(arguments);
            // Zones from the pinned package only.
            command.env("PYTHONTZPATH", "").env("PYTHONDONTWRITEBYTECODE", "1");
            command
        };
        println!("    the zones are those of {}", shell::output(&mut script(&["zones"]))?.trim());
        let count = if quick { "1000" } else { "5000" };
        let questions = folder.join("questions.jsonl");
        fs::write(&questions, shell::output(&mut script(&["questions", count, SEED]))?)?;
        let theirs = answers(&mut script(&["answer"]), &questions, &folder.join("python.jsonl"))?;
        let example = shell::built("build --example resolve -p mcp-attune")?;
        let ours = answers(&mut Command::new(example), &questions, &folder.join("ours.jsonl"))?;
        let questions = lines(&fs::read_to_string(&questions)?)?;
        ensure!(
            questions.len() == ours.len() && ours.len() == theirs.len(),
            "{} questions, {} answers of ours and {} of Python's",
            questions.len(),
            ours.len(),
            theirs.len()
        );
        Ok(Self { questions, ours, theirs })
    }

    fn differences(&self) -> Vec<String> {
        let all = self.questions.iter().zip(&self.ours).zip(&self.theirs);
        let differ = all.filter(|((_, ours), theirs)| ours != theirs);
        let faults = differ.map(|((question, ours), theirs)| {
            format!("when: {question}: ours is {ours}, Python's is {theirs}")
        });
        let faults: Vec<_> = faults.collect();
        let refused = self.theirs.iter().filter(|answer| answer.get("error").is_some()).count();
        let count = self.questions.len();
        println!("    {count} expressions, {refused} of them backwards: {} differ", faults.len());
        faults
    }
}

pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let asked = Arc::new(Shared::new(move || TimeAnswers::new(quick)));
    let command = asked.clone();
    Ok(vec![
        Cell::new("by the library", move || Ok(first_few(asked.get()?.differences()))),
        Cell::new("by the command", move || {
            let TimeAnswers { questions, theirs, .. } = command.get()?;
            Ok(first_few(by_command(questions, theirs)?))
        }),
    ])
}

fn first_few(mut faults: Vec<String>) -> Vec<String> {
    let more = faults.len().saturating_sub(TOLD);
    faults.truncate(TOLD);
    faults.extend((more > 0).then(|| format!("when: and {more} more, see target/interop/seen/when")));
    faults
}

/// The same through `attune context resolve`, for the first days that a locale can say.
fn by_command(questions: &[Value], theirs: &[Value]) -> Result<Vec<String>> {
    let locales = BTreeMap::from([
        ("monday", "en-GB"),
        ("sunday", "en-US"),
        ("saturday", "en-EG"),
        ("friday", "en-MV"),
    ]);
    let Ours { attune, .. } = Ours::get()?;
    let mut faults = Vec::new();
    let mut asked = 0;
    for (question, theirs) in questions.iter().zip(theirs) {
        let text = |name: &str| question.get(name).and_then(Value::as_str).unwrap_or_default();
        let Some(locale) = locales.get(text("first_day")) else { continue };
        if theirs.get("error").is_some() {
            continue;
        }
        let mut command = Command::new(attune);
        command.args(["context", "resolve", "--json", "--now", text("now"), "--timezone", text("timezone")]);
        let printed = shell::output(command.args(["--locale", locale, text("expression")]))?;
        let printed: Value = serde_json::from_str(&printed)?;
        if [&printed["start_utc"], &printed["end_utc"]] != [&theirs["start"], &theirs["end"]] {
            faults.push(format!("when: {question}: the command says {printed}, Python {theirs}"));
        }
        asked += 1;
        if asked == BY_COMMAND {
            break;
        }
    }
    println!("    {asked} of them through the command: {} differ", faults.len());
    Ok(faults)
}

/// Lets a program answer the questions, and keeps what it said.
fn answers(program: &mut Command, questions: &Path, seen: &PathBuf) -> Result<Vec<Value>> {
    let answers = shell::output(program.stdin(File::open(questions)?))?;
    fs::write(seen, &answers)?;
    lines(&answers)
}

fn lines(text: &str) -> Result<Vec<Value>> {
    text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))).collect()
}
