//! `attune install` and `attune uninstall`: Attune before a server in a desktop client's own settings, and out of them again.

mod clients;
mod splice;

mod entry;

mod jsonc;
mod table;

mod file;
mod settings;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use serde::Serialize;
use similar::TextDiff;

use crate::asking::did_you_mean;
use crate::exit::{Exit, hinted, print_error};
use crate::show::plain;
use crate::text::{print_json, quoted};
use clients::{DesktopClient, UserFolders};
use entry::{ConfiguredServer, LaunchWords, SettingsProblem, Wrapping, wrapping};
use settings::SettingsText;

/// Put Attune before a server in the settings of a desktop client
///
/// The server NAME is started through `attune stdio` from then on; its own command stays, behind `--`. Where COMMAND is given, it is added under NAME. Nothing else
/// in the file changes: comments, order and layout stay. The file as it was stays beside it as FILE.before-attune.
///
/// Exit 1: there is no such server, or nothing to do. Exit 2: the file cannot be read, and nothing was written.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune install cursor time --file examples/desktop/mcp.json --dry-run\n\nA server that Claude Desktop has, and one that it does not have yet:\n  attune install claude-desktop filesystem\n  attune install claude-desktop time -- uvx mcp-server-time\nWith what `attune init` wrote for it:\n  attune install claude-desktop time --config time/attune.toml\nA server of one workspace of VS Code:\n  attune install vscode time --file .vscode/mcp.json --program attune"
)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    server: ConfiguredServerArgs,
    /// Whose language and time zone count: those of this system, or none
    #[arg(long, value_enum, value_name = "WHO", default_value_t)]
    caller: WrittenCaller,
    /// The configuration of Attune for this server, such as `attune init` writes
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder of locale files for this server
    #[arg(long, value_name = "DIR")]
    locales: Option<PathBuf>,
    /// What starts Attune; without it, this program by its whole path, because a client may know other folders than your shell
    #[arg(long, value_name = "PROGRAM", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    program: Option<String>,
    /// A server to add, with its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Take Attune out of the settings of a desktop client
///
/// The server NAME is started directly again, by the command that it had. It stays in the settings, also where `attune install` added it. The file
/// as it was stays beside it as FILE.before-attune.
///
/// Exit 1: there is no such server, or nothing to do. Exit 2: the file cannot be read, and nothing was written.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune uninstall cursor weather --file examples/desktop/mcp.json --dry-run\n\nOut of the settings of Claude Desktop:\n  attune uninstall claude-desktop filesystem"
)]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    server: ConfiguredServerArgs,
}

/// A server in a client's settings, and what becomes of the file.
#[derive(clap::Args)]
struct ConfiguredServerArgs {
    /// The client
    #[arg(value_enum)]
    client: DesktopClient,
    /// The server's name in the settings
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
    /// The settings file; without it, the client's own of this user
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Show what would change as a unified diff, and write nothing. The lines around may hold your tokens: look before you share it
    #[arg(long)]
    dry_run: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Who counts as the caller in what is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum WrittenCaller {
    /// The person at this system
    #[default]
    System,
    /// Nobody: only what requests say
    None,
}

/// What `--json` prints.
#[derive(Serialize)]
struct SettingsChangeReport<'a> {
    file: &'a Path,
    changed: bool,
    backup: Option<&'a Path>,
    diff: &'a str,
}

/// What becomes of a file.
enum SettingsOutcome {
    /// Its new text, and what is said of it.
    Changed(String, &'static str),
    /// Nothing, and why.
    Unchanged(anyhow::Error),
}

impl InstallArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let attune = self.attune()?;
        self.server.run(out, |settings, server| {
            let ConfiguredServerArgs { client, name, .. } = &self.server;
            let listing = settings.read(name)?;
            let Some(found) = listing.found else {
                return self.add(settings, &listing.names, &attune);
            };
            let launch = match found {
                ConfiguredServer::Local(launch) => launch,
                ConfiguredServer::Remote => {
                    return Ok(SettingsOutcome::Unchanged(remote_error(*client, name)));
                }
            };
            let words = launch.words();
            if !self.command.is_empty()
                && self.command != words
                && wrapping(&words) != Wrapping::Around(&self.command)
            {
                let what = format!("{server} is there already, with another command");
                let hint = "leave `-- COMMAND` out to put Attune before it, or choose another name";
                return Ok(SettingsOutcome::Unchanged(hinted(what, hint)));
            }
            if wrapping(&words) != Wrapping::Absent {
                let hint = "to start it with other options, `attune uninstall` it first";
                let what = format!("{server} goes through Attune already, and nothing was written");
                return Ok(SettingsOutcome::Unchanged(hinted(what, hint)));
            }
            Ok(SettingsOutcome::Changed(settings.wrap(name, &launch, &attune)?, "goes through Attune now"))
        })
    }

    fn add(
        &self,
        settings: SettingsText<'_>,
        names: &[String],
        attune: &[String],
    ) -> Result<SettingsOutcome, SettingsProblem> {
        let name = &self.server.name;
        if self.command.is_empty() {
            return Ok(SettingsOutcome::Unchanged(self.server.unknown_error(names)));
        }
        let command = match wrapping(&self.command) {
            // Somebody has written it out.
            Wrapping::Absent => [attune, &self.command].concat(),
            Wrapping::Around(_) | Wrapping::Elsewhere => self.command.clone(),
        };
        Ok(SettingsOutcome::Changed(settings.add(name, &command)?, "was added, and goes through Attune"))
    }

    /// The words that start Attune before a server.
    fn attune(&self) -> anyhow::Result<Vec<String>> {
        let program = match &self.program {
            Some(program) => program.clone(),
            None => own_program()?,
        };
        let mut words = vec![program, "stdio".to_owned()];
        for (option, path) in [("--config", &self.config), ("--locales", &self.locales)] {
            if let Some(path) = path {
                words.extend([option.to_owned(), existing_path(option, path)?]);
            }
        }
        if self.caller == WrittenCaller::System {
            words.extend(["--caller", "system"].map(str::to_owned));
        }
        words.push("--".to_owned());
        Ok(words)
    }
}

/// The whole path of what an option names, because a client starts its servers in another folder.
fn existing_path(option: &str, path: &Path) -> anyhow::Result<String> {
    let shown = quoted(&path.display().to_string()).to_string();
    if !path.exists() {
        return Err(hinted(format!("{option}: {shown} is not there"), "name what `attune init` wrote"));
    }
    let whole = std::path::absolute(path).ok().and_then(|whole| whole.to_str().map(str::to_owned));
    whole.ok_or_else(|| {
        hinted(format!("{option}: {shown} cannot be written in a settings file"), "give it a name in UTF-8")
    })
}

impl UninstallArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        self.server.run(out, |settings, server| {
            let name = &self.server.name;
            let listing = settings.read(name)?;
            let launch = match listing.found {
                None => return Ok(SettingsOutcome::Unchanged(self.server.unknown_error(&listing.names))),
                Some(ConfiguredServer::Remote) => None,
                Some(ConfiguredServer::Local(launch)) => Some(launch),
            };
            let words = launch.as_ref().map(LaunchWords::words).unwrap_or_default();
            let what = match (launch, wrapping(&words)) {
                (Some(launch), Wrapping::Around(_)) => {
                    let text = settings.unwrap(name, &launch)?;
                    return Ok(SettingsOutcome::Changed(text, "is started without Attune again"));
                }
                (_, Wrapping::Elsewhere) => {
                    let what = format!(
                        "{server} goes through Attune, but names no command after `--` to go back to"
                    );
                    hinted(what, "change it in the settings by hand")
                }
                _ => hinted(
                    format!("{server} does not go through Attune, and nothing was written"),
                    "`attune install` puts Attune before it",
                ),
            };
            Ok(SettingsOutcome::Unchanged(what))
        })
    }
}

impl ConfiguredServerArgs {
    /// Reads the file, lets it be changed, and tells what became of it. `change` gets the text, and the server as messages name it.
    fn run(
        &self,
        out: &mut impl Write,
        change: impl Fn(SettingsText<'_>, &str) -> Result<SettingsOutcome, SettingsProblem>,
    ) -> anyhow::Result<Exit> {
        let path = self.path()?;
        let old = file::read(&path)?;
        let text = old.as_deref().unwrap_or_default();
        let settings = SettingsText::new(self.client, text);
        let server = format!("the server `{}`", quoted(&self.name));
        let outcome = change(settings, &server).map_err(|problem| {
            let what = format!("{}: {}", path.display(), settings.describe(&problem));
            hinted(what, "nothing was written; mend it in an editor, or name another file with --file")
        })?;
        let (new, what) = match outcome {
            SettingsOutcome::Changed(new, what) => (new, what),
            SettingsOutcome::Unchanged(why) => {
                if self.json {
                    self.report(out, &path, None, "")?;
                }
                print_error(&match old {
                    Some(_) => why.context(path.display().to_string()),
                    None => self.missing_error(&path),
                });
                return Ok(Exit::Findings);
            }
        };
        let diff = unified_diff(&path, old.as_deref(), &new);
        let backup = old.is_some().then(|| file::backup_path(&path));
        if !self.dry_run {
            check_folder(self.client, &path)?;
            file::replace(&path, old.as_deref(), &new)?;
        }
        match (self.json, self.dry_run) {
            (true, _) => self.report(out, &path, backup.as_deref(), &diff)?,
            (false, true) if std::io::stdout().is_terminal() => write!(out, "{}", plain::lines(&diff))?,
            (false, true) => write!(out, "{diff}")?,
            (false, false) => {
                writeln!(out, "{}: `{}` {what}", path.display(), quoted(&self.name))?;
                if let Some(backup) = backup {
                    writeln!(out, "The file as it was: {}", backup.display())?;
                }
                writeln!(out, "Next: {}", self.client.next_step())?;
            }
        }
        Ok(Exit::Fine)
    }

    fn report(
        &self,
        out: &mut impl Write,
        file: &Path,
        backup: Option<&Path>,
        diff: &str,
    ) -> anyhow::Result<()> {
        let changed = !self.dry_run && !diff.is_empty();
        print_json(out, &SettingsChangeReport { file, changed, backup: backup.filter(|_| changed), diff })
    }

    /// The file that is named, or the first of the client's own that is there, one with the server in it before others.
    fn path(&self) -> anyhow::Result<PathBuf> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        let folders = UserFolders::read(std::env::consts::OS, |name| std::env::var_os(name));
        let folders = folders.ok_or_else(|| {
            hinted("there is no home folder to look for settings in", "name the settings file with --file")
        })?;
        let files = self.client.user_files(&folders);
        let has_server = |path: &&PathBuf| {
            let text = file::read(path).ok().flatten().unwrap_or_default();
            let listing = SettingsText::new(self.client, &text).read(&self.name);
            listing.is_ok_and(|listing| listing.found.is_some())
        };
        let found = files.iter().find(has_server).or_else(|| files.iter().find(|path| path.exists()));
        found.or(files.last()).cloned().context("this client has no settings file")
    }

    /// There is no server of this name.
    fn unknown_error(&self, names: &[String]) -> anyhow::Error {
        let what = format!("there is no server `{}`", quoted(&self.name));
        let elsewhere = self.client.project_files().iter().filter(|_| self.file.is_none()).find(|path| {
            let text = file::read(Path::new(path)).ok().flatten().unwrap_or_default();
            let listing = SettingsText::new(self.client, &text).read(&self.name);
            listing.is_ok_and(|listing| listing.found.is_some())
        });
        let hint = match elsewhere {
            Some(path) => format!("there is one in {path}: name that file with --file {path}"),
            None if names.is_empty() => format!("there is none at all; {}", self.adding()),
            None => did_you_mean::hint(&self.name, names),
        };
        hinted(what, hint)
    }

    /// How a server gets there.
    fn adding(&self) -> String {
        let client = self.client.to_possible_value();
        let client = client.as_ref().map_or("CLIENT", clap::builder::PossibleValue::get_name);
        format!("`attune install {client} {} -- COMMAND` adds one", quoted(&self.name))
    }

    /// There is no file.
    fn missing_error(&self, path: &Path) -> anyhow::Error {
        let what = format!("there is no {}, and no server `{}` in it", path.display(), quoted(&self.name));
        let hint = match self.client.project_files().iter().find(|path| Path::new(path).exists()) {
            Some(project) if self.file.is_none() => {
                format!("there is {project}: name it with --file {project}")
            }
            _ => format!("name the settings file of {} with --file; {}", self.client.title(), self.adding()),
        };
        hinted(what, hint)
    }
}

/// A new file needs a folder, which is there where the client is.
fn check_folder(client: DesktopClient, path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => {
            let what = format!("there is no folder {} to write to", folder.display());
            Err(hinted(what, format!("is {} installed? Start it once, or make the folder", client.title())))
        }
    }
}

/// A server that no command starts.
fn remote_error(client: DesktopClient, name: &str) -> anyhow::Error {
    let what = format!(
        "{} connects to `{}` by its URL; Attune can only be put before servers that are started by a command",
        client.title(),
        quoted(name)
    );
    let hint =
        "run `attune serve --upstream URL` with that URL, and write http://127.0.0.1:8808/mcp in its place";
    hinted(what, hint)
}

fn unified_diff(path: &Path, old: Option<&str>, new: &str) -> String {
    let name = path.display().to_string();
    let before = if old.is_some() { name.as_str() } else { "/dev/null" };
    let diff = TextDiff::from_lines(old.unwrap_or_default(), new);
    diff.unified_diff().context_radius(3).header(before, &name).to_string()
}

/// This program, by a path that stays.
///
/// A desktop client is not started by a shell and often knows only the folders of the system, so the path is absolute. Where
/// `PATH` leads to this program, that way is taken and not what links on it lead to: package managers change where those lead with every version.
fn own_program() -> anyhow::Result<String> {
    let own = std::env::current_exe().context("could not find out where this program is")?;
    let real = own.canonicalize().unwrap_or_else(|_| own.clone());
    let name = format!("attune{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&name))
        .find(|program| program.canonicalize().is_ok_and(|program| program == real));
    on_path.unwrap_or(own).into_os_string().into_string().map_err(|path| {
        let what = format!("the path of this program, {}, is not Unicode", Path::new(&path).display());
        hinted(what, "name what starts Attune with --program")
    })
}

#[cfg(test)]
mod tests;
