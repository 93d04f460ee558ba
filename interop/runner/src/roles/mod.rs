//! The first hour of the people whom Attune is for: `interop/roles/roles.toml`, run line by line in an empty folder.
//!
//! Each role is a short script of what somebody would type, against servers of other people where one is needed and on
//! a pseudo-terminal where a person would look at one. A step fails by its exit code, by what it does not show, or by
//! what it should not have shown. The first success of a role is timed and printed, and never judged.

mod script;
mod terminal;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use self::script::{Role, Step};
use super::cell::{Cell, Shared};
use super::install;
use super::local::list;
use super::packages;
use super::servers::Ours;
use kit::running::Running;
use kit::server::Server;
use kit::shell;

/// A step of a script may take this long: one of them compiles.
const STEP_TIMEOUT: Duration = Duration::from_secs(600);

/// One cell a role: all of them, or those that need nothing but Attune.
pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let programs = Arc::new(Shared::new(move || if quick { Ok(BTreeMap::new()) } else { programs() }));
    let cell = |role: Role| {
        let programs = programs.clone();
        Cell::new(role.name.clone(), move || {
            let session = Session::new(&role, &Ours::get()?.attune, programs.get()?.clone())?;
            let report = session.play(&role)?;
            println!("    {}: {}", role.name, report.summary());
            Ok(report.faults)
        })
    };
    Ok(script::read()?.into_iter().filter(|role| !quick || role.quick).map(cell).collect())
}

/// The commands of other people's servers, by the names that scripts use.
fn programs() -> Result<BTreeMap<String, String>> {
    let node = install::node()?;
    let mut programs = BTreeMap::new();
    for entry in list::read()? {
        programs.insert(entry.name.clone(), entry.launcher(&node)?);
    }
    let python = packages::python(&install::folder().join("clients/python")).context(install::Unavailable)?;
    let shop = shell::root().join("interop/roles/shop.py");
    programs.insert("shop".to_owned(), format!("{} {}", python.display(), shop.display()));
    let mcpb = install::npm("@anthropic-ai/mcpb@2.1.2", "@anthropic-ai/mcpb/dist/cli/cli.js")?;
    programs.insert("mcpb".to_owned(), format!("{} {}", node.display(), mcpb.display()));
    Ok(programs)
}

/// What came of a role.
struct Report {
    commands: usize,
    first_success: Option<Duration>,
    faults: Vec<String>,
}

impl Report {
    fn summary(&self) -> String {
        let first = self.first_success.map_or_else(
            || "no success".to_owned(),
            |after| format!("first success after {:.1} s", after.as_secs_f64()),
        );
        format!("{first}, {} commands, {} failed", self.commands, self.faults.len())
    }
}

/// A folder, the programs that were started in it, and what `{NAME}` stands for.
struct Session {
    folder: std::path::PathBuf,
    path: String,
    names: BTreeMap<String, String>,
}

impl Session {
    fn new(role: &Role, attune: &Path, mut names: BTreeMap<String, String>) -> Result<Self> {
        let folder = install::folder().join("seen/roles").join(role.name.replace(' ', "-"));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        names.insert("folder".to_owned(), folder.display().to_string());
        names.insert("root".to_owned(), shell::root().display().to_string());
        let beside = attune.parent().context("attune is in no folder")?.display();
        let path = format!("{beside}:{}", std::env::var("PATH").unwrap_or_default());
        Ok(Self { folder, path, names })
    }

    fn play(mut self, role: &Role) -> Result<Report> {
        let begun = Instant::now();
        let mut report = Report { commands: 0, first_success: None, faults: Vec::new() };
        let mut started = Vec::new();
        for step in &role.steps {
            match step {
                Step::Write { write, text } => self.write(write, text)?,
                Step::Start { start, named } => {
                    let server = Server::start(&mut self.command(start), &format!("{}-{named}", role.name))
                        .with_context(|| format!("{}: {start}", role.name))?;
                    self.names.insert(named.clone(), server.url.clone());
                    started.push(server);
                }
                Step::Run(step) => {
                    report.commands += 1;
                    let line = self.filled(&step.run);
                    let seen = self.see(&line, step)?;
                    let wrong = seen.faults(&self, step);
                    if wrong.is_empty() && step.success && report.first_success.is_none() {
                        report.first_success = Some(begun.elapsed());
                    }
                    report
                        .faults
                        .extend(wrong.into_iter().map(|why| format!("{}: `{line}`: {why}", role.name)));
                }
            }
        }
        Ok(report)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let file = self.folder.join(name);
        fs::create_dir_all(file.parent().unwrap_or(&self.folder))?;
        Ok(fs::write(file, self.filled(text))?)
    }

    fn see(&self, line: &str, step: &script::Run) -> Result<Seen> {
        let mut command = self.command(line);
        if step.terminal {
            let (code, text) = terminal::run(&mut command, &step.types, STEP_TIMEOUT)?;
            return Ok(Seen { code, text });
        }
        let output = Running::to_its_end(&mut command, STEP_TIMEOUT)?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Seen { code: output.status.code(), text: text.concat() })
    }

    /// A line for the shell, in the role's folder, as somebody in Bern would run it.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &self.filled(line)]).current_dir(&self.folder).stdin(Stdio::null());
        command.env("PATH", &self.path).env("LANG", "de_CH.UTF-8").env("TZ", "Europe/Zurich");
        for name in ["LC_ALL", "LC_MESSAGES", "ATTUNE_TOKEN", "COLUMNS"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm").env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    fn filled(&self, text: &str) -> String {
        let fill =
            |text: String, (name, value): (&String, &String)| text.replace(&format!("{{{name}}}"), value);
        self.names.iter().fold(text.to_owned(), fill)
    }
}

/// What a command showed, and how it ended.
struct Seen {
    code: Option<i32>,
    text: String,
}

impl Seen {
    fn faults(&self, session: &Session, step: &script::Run) -> Vec<String> {
        let mut faults = Vec::new();
        if self.code != Some(step.exit) {
            faults.push(format!("it ended with {:?} instead of {}: {}", self.code, step.exit, self.text));
        }
        for part in &step.shows {
            let part = session.filled(part);
            if !self.text.contains(&part) {
                faults.push(format!("it does not show {part:?}: {}", self.text));
            }
        }
        for part in &step.hides {
            let part = session.filled(part);
            if self.text.contains(&part) {
                faults.push(format!("it shows {part:?}: {}", self.text));
            }
        }
        faults
    }
}
