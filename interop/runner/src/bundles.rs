//! Bundles, judged by the official tool and by ours: manifests of every version, each with one thing changed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::cell::{Cell, Shared};
use super::install;
use super::servers::Ours;
use kit::shell;

/// The official tool.
const OFFICIAL: &str = "@anthropic-ai/mcpb@2.1.2";
/// In the quick half, one mutant of so many is judged. It divides none of the lists that mutants are made of.
const ONE_OF: usize = 17;
/// How many are judged by the command itself too, which is started anew for each.
const BY_COMMAND: usize = 40;
/// Faults beyond these are only counted.
const TOLD: usize = 20;

/// What the two see differently, and why.
const DIFFERENT: &[(&str, &str)] = &[];

/// What was asked, and what each tool says.
struct BundleVerdicts {
    node: PathBuf,
    package: PathBuf,
    folder: PathBuf,
    asked: Vec<String>,
    ours: Vec<Value>,
    theirs: Vec<Value>,
}

impl BundleVerdicts {
    fn new(quick: bool) -> Result<Self> {
        let tool = install::npm(OFFICIAL, "@anthropic-ai/mcpb/dist/node/validate.js")?;
        let package = tool.ancestors().nth(3).context("the package has a folder")?.to_owned();
        let node = install::node()?;
        let folder = install::folder().join("seen/bundles");
        fs::create_dir_all(&folder)?;
        let script = |arguments: &[&str]| {
            let mut command = Command::new(&node);
            command.arg(shell::root().join("interop/bundles/mutants.mjs")).args(arguments);
            command
        };
        let all = shell::output(&mut script(&["questions"]))?;
        let asked =
            all.lines().enumerate().filter(|(at, line)| !quick || at % ONE_OF == 0 || !is_mutant(line));
        let asked: Vec<String> = asked.map(|(_, line)| line.to_owned()).collect();
        let questions = folder.join("questions.jsonl");
        fs::write(&questions, asked.join("\n") + "\n")?;
        let official = script(&["answer", &package.to_string_lossy()]);
        let theirs = answers(official, &questions, &folder.join("official.jsonl"))?;
        let judge = shell::built("build --example judge -p mcp-attune-bundle")?;
        let ours = answers(Command::new(judge), &questions, &folder.join("ours.jsonl"))?;
        ensure!(
            asked.len() == ours.len() && ours.len() == theirs.len(),
            "{} manifests, {} verdicts of ours and {} of the official tool",
            asked.len(),
            ours.len(),
            theirs.len()
        );
        Ok(Self { node, package, folder, asked, ours, theirs })
    }

    fn differences(&self) -> Result<Vec<String>> {
        let Self { asked, ours, theirs, .. } = self;
        let mut faults = Vec::new();
        for ((question, ours), theirs) in asked.iter().zip(ours).zip(theirs) {
            if ours["official"] == theirs["official"] {
                continue;
            }
            let question: Value = serde_json::from_str(question)?;
            let what = question["what"].as_str().unwrap_or_default();
            if !DIFFERENT.iter().any(|(known, _)| *known == what) {
                faults.push(format!("bundles: {what}: ours is {ours}, the official tool's is {theirs}"));
            }
        }
        let valid = theirs.iter().filter(|verdict| verdict["official"] == true).count();
        println!("    {} manifests, {valid} of them valid: {} differ", asked.len(), faults.len());
        Ok(faults)
    }
}

pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let verdicts = Arc::new(Shared::new(move || BundleVerdicts::new(quick)));
    let [command, packing] = [verdicts.clone(), verdicts.clone()];
    Ok(vec![
        Cell::new("verdicts of the library", move || Ok(first_few(verdicts.get()?.differences()?))),
        Cell::new("verdicts of the command", move || {
            let BundleVerdicts { asked, theirs, folder, .. } = command.get()?;
            let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
            Ok(first_few(by_command(&asked, theirs, &folder.join("bundle"))?))
        }),
        Cell::new("packed and opened", move || {
            let BundleVerdicts { node, package, folder, .. } = packing.get()?;
            packed(node, package, &folder.join("packed"))
        }),
    ])
}

fn first_few(mut faults: Vec<String>) -> Vec<String> {
    let more = faults.len().saturating_sub(TOLD);
    faults.truncate(TOLD);
    faults.extend((more > 0).then(|| format!("bundles: and {more} more, see target/interop/seen/bundles")));
    faults
}

/// Bundles that one tool packs and the other opens, signed ones too.
fn packed(node: &Path, package: &Path, folder: &Path) -> Result<Vec<String>> {
    let Ours { attune, .. } = Ours::get()?;
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let example = shell::root().join("examples/bundle");
    let official = |arguments: &[&OsStr]| {
        let mut command = Command::new(node);
        command.arg(package.join("dist/cli/cli.js")).args(arguments).stdin(Stdio::null()).current_dir(folder);
        shell::output(&mut command)
    };
    let own = |arguments: &[&OsStr]| {
        let mut command = Command::new(attune);
        command.arg("bundle").args(arguments);
        shell::output(&mut command)
    };
    let [ours, again, theirs, unpacked] =
        ["ours.mcpb", "again.mcpb", "theirs.mcpb", "unpacked"].map(|name| folder.join(name));
    own(&["pack".as_ref(), example.as_ref(), ours.as_ref()])?;
    own(&["pack".as_ref(), example.as_ref(), again.as_ref()])?;
    official(&["unpack".as_ref(), ours.as_ref(), unpacked.as_ref()])?;
    official(&["validate".as_ref(), unpacked.as_ref()])?;
    official(&["pack".as_ref(), example.as_ref(), theirs.as_ref()])?;
    let mut faults = Vec::new();
    if fs::read(&ours)? != fs::read(&again)? {
        faults.push("bundles: packed twice, the same folder is two archives".to_owned());
    }
    if !shell::succeeds(Command::new("diff").arg("-r").arg(&example).arg(&unpacked)) {
        faults.push("bundles: the official tool unpacks something else than we packed".to_owned());
    }
    let judged = |path: &Path| -> Result<Value> {
        Ok(serde_json::from_str(&own(&["validate".as_ref(), "--json".as_ref(), path.as_ref()])?)?)
    };
    if judged(&theirs)?["problems"] != Value::Array(Vec::new()) {
        faults.push("bundles: something is wrong with what the official tool packed".to_owned());
    }
    for archive in [&ours, &theirs] {
        official(&["sign".as_ref(), "--self-signed".as_ref(), archive.as_ref()])?;
        if judged(archive)?["signature"]["well_formed"] != true {
            faults.push(format!("bundles: the signature of {} is not seen", archive.display()));
        }
    }
    println!("    packed and signed by either, opened by the other: {} faults", faults.len());
    Ok(faults)
}

/// Whether a question is one of the many that are made by changing one thing.
fn is_mutant(line: &str) -> bool {
    line.starts_with(r#"{"what":"0."#)
}

/// The same through `attune bundle validate --official-only`, for some of them.
fn by_command(asked: &[&str], theirs: &[Value], folder: &Path) -> Result<Vec<String>> {
    let Ours { attune, .. } = Ours::get()?;
    fs::create_dir_all(folder.join("assets"))?;
    let picture = fs::read(shell::root().join("examples/bundle/assets/icon.png"))?;
    for name in ["icon.png", "assets/icon.png"] {
        fs::write(folder.join(name), &picture)?;
    }
    fs::write(folder.join("notes.txt"), "no picture")?;
    let mut faults = Vec::new();
    let step = (asked.len() / BY_COMMAND).max(1);
    for (question, theirs) in asked.iter().zip(theirs).step_by(step) {
        let question: Value = serde_json::from_str(question)?;
        fs::write(folder.join("manifest.json"), question["text"].as_str().unwrap_or_default())?;
        let mut command = Command::new(attune);
        command.args(["bundle", "validate", "--official-only"]).arg(folder).stdout(Stdio::null());
        let code = command.status()?.code();
        if code != Some(i32::from(theirs["official"] == false)) {
            faults.push(format!(
                "bundles: {}: the command ended with {code:?}, and {theirs}",
                question["what"]
            ));
        }
    }
    println!("    {} of them through the command: {} differ", asked.len().div_ceil(step), faults.len());
    Ok(faults)
}

/// Lets a program judge the manifests, and keeps what it said.
fn answers(mut program: Command, questions: &Path, seen: &PathBuf) -> Result<Vec<Value>> {
    let answers = shell::output(program.stdin(File::open(questions)?))?;
    fs::write(seen, &answers)?;
    answers
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("not JSON: {line}")))
        .collect()
}
