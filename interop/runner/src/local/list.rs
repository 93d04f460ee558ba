//! The list of servers and what each is asked: `interop/local/servers.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::install;
use kit::shell;

/// A server as the list has it.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) name: String,
    npm: Option<String>,
    pypi: Option<String>,
    program: String,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    git: bool,
    /// Whether it speaks both eras.
    #[serde(default)]
    pub(super) modern: bool,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    #[serde(rename = "do")]
    verb: String,
    #[serde(default)]
    what: String,
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
    /// What must be in what comes of it.
    pub(super) has: String,
}

impl Step {
    /// `3 calls echo`: every step has a name of its own.
    pub(super) fn name(&self, number: usize) -> String {
        format!("{number} {} {}", self.verb, self.what).trim_end().to_owned()
    }
}

impl Entry {
    /// Installs the server, and returns the words of a shell that start it, without its arguments.
    pub(crate) fn launcher(&self, node: &Path) -> Result<String> {
        let program = self.install()?;
        Ok(match self.npm {
            Some(_) => format!("{} {}", node.display(), program.display()),
            None => program.display().to_string(),
        })
    }

    fn install(&self) -> Result<PathBuf> {
        match (&self.npm, &self.pypi) {
            (Some(package), None) => install::npm(package, &self.program),
            (None, Some(package)) => install::pypi(package, &self.program),
            _ => bail!("the server {} comes from npm or from PyPI", self.name),
        }
    }
}

/// Reads the list.
pub(crate) fn read() -> Result<Vec<Entry>> {
    #[derive(Deserialize)]
    struct List {
        server: Vec<Entry>,
    }
    let file = shell::root().join("interop/local/servers.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let List { server } = toml::from_str(&text).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(server)
}

/// A server that is installed, with a folder of its own.
pub(super) struct Server {
    pub(super) entry: Entry,
    node: PathBuf,
    program: PathBuf,
    folder: PathBuf,
    site: String,
}

impl Server {
    pub(super) fn install(entry: Entry, node: &Path, site: &str) -> Result<Self> {
        let program = entry.install()?;
        let folder = install::folder().join("seen/local").join(&entry.name);
        fs::create_dir_all(&folder)?;
        // Servers tell where they are without links, and that is compared.
        let folder = folder.canonicalize()?;
        Ok(Self { entry, node: node.to_owned(), program, folder, site: site.to_owned() })
    }

    /// The command that starts it.
    pub(super) fn command(&self) -> Vec<String> {
        let program = self.program.to_string_lossy().into_owned();
        let mut command = vec!["env".to_owned()];
        command.extend(self.entry.env.iter().map(|(name, value)| format!("{name}={}", self.filled(value))));
        if self.entry.npm.is_some() {
            command.push(self.node.to_string_lossy().into_owned());
        }
        command.push(program);
        command.extend(self.entry.arguments.iter().map(|argument| self.filled(argument)));
        command
    }

    /// Makes its folder anew, and returns the file with its steps.
    pub(super) fn prepare(&self) -> Result<PathBuf> {
        let place = self.place();
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        fs::create_dir_all(&place)?;
        for (name, content) in &self.entry.files {
            let file = place.join(name);
            fs::create_dir_all(file.parent().unwrap_or(&place))?;
            fs::write(&file, content)?;
        }
        if self.entry.git {
            repository(&place)?;
        }
        let steps = self.entry.steps.iter().zip(1..).map(|(step, number)| {
            json!({ "name": step.name(number), "do": step.verb, "what": step.what, "arguments": step.arguments })
        });
        let script = self.folder.join("steps.json");
        fs::write(&script, self.filled(&json!(steps.collect::<Vec<_>>()).to_string()))?;
        Ok(script)
    }

    /// The tools that are called, and each call as `attune audit` takes it.
    pub(super) fn calls(&self) -> impl Iterator<Item = (String, String)> {
        let calls = self.entry.steps.iter().filter(|step| step.verb == "calls");
        calls.map(|step| {
            let arguments = self.filled(&json!(step.arguments).to_string());
            (step.what.clone(), format!("{}={arguments}", step.what))
        })
    }

    /// What must be in what comes of each step.
    pub(super) fn expected(&self) -> impl Iterator<Item = (String, String)> {
        let steps = self.entry.steps.iter().zip(1..);
        steps.map(|(step, number)| (step.name(number), self.filled(&step.has)))
    }

    /// Where what was seen is kept.
    pub(super) fn seen(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Its {folder}.
    pub(super) fn place(&self) -> PathBuf {
        self.folder.join("folder")
    }

    fn filled(&self, text: &str) -> String {
        text.replace("{folder}", &self.place().to_string_lossy()).replace("{site}", &self.site)
    }
}

/// One commit, always the same.
fn repository(folder: &Path) -> Result<()> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"]);
        git.args(arguments).current_dir(folder);
        for time in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            git.env(time, "2026-11-15T12:00:00+00:00");
        }
        shell::output(&mut git)
    };
    git(&["init", "--quiet", "--initial-branch", "main"])?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "--message", "The first one"])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_pinned_and_asked_something_that_it_refuses() {
        let all = read().unwrap();
        assert!(all.len() >= 6, "{} servers", all.len());
        for entry in all {
            let package = entry.npm.as_ref().or(entry.pypi.as_ref()).unwrap();
            assert!(package.ends_with(|last: char| last.is_ascii_digit()), "{package} is not pinned");
            assert!(entry.steps.iter().all(|step| !step.has.is_empty()), "{}", entry.name);
        }
    }

    #[test]
    fn a_step_has_a_name() {
        let step = |what: &str| Step {
            verb: "calls".to_owned(),
            what: what.to_owned(),
            arguments: serde_json::Map::new(),
            has: String::new(),
        };
        assert_eq!(step("echo").name(3), "3 calls echo");
        assert_eq!(step("").name(1), "1 calls");
    }
}
