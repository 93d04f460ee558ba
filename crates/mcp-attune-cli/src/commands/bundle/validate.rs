//! `attune bundle validate`: whether a bundle is in order.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use mcp_attune_bundle::{
    By, Files, Inside, Level, Manifest, NoPicture, Picture, Problem, Report, Thresholds, Unavailable, check,
};
use mcp_attune_files::bundle::{NotOpened, Signature};
use serde::Serialize;
use serde_json::json;

use super::Opened;
use crate::exit::{Exit, hinted};
use crate::text::json;

/// Check a bundle: exit 0 if it is valid, with warnings too, 1 if it is not
///
/// The manifest is held against the official schema of its version, as the official tool does. Beyond that are found locale files
/// that are broken, missing or incomplete, icons that are missing, of another size than declared or hard to see, files that
/// are not there, variables that nothing stands for, and settings that contradict themselves.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune bundle validate examples/bundle\n  $ attune bundle validate --official-only --json examples/bundle\n  $ attune bundle validate --format github --at-least 80 examples/bundle/manifest.json"
)]
pub(super) struct Validate {
    /// The bundle: its folder, its manifest.json, or a .mcpb file
    path: PathBuf,
    /// Judge only as the official tool does
    #[arg(long)]
    official_only: bool,
    /// Warn about locales with less of the texts than this, in hundredths
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(0..=100))]
    at_least: u8,
    /// Print for people, for programs, or as annotations of GitHub Actions
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Github,
}

impl Validate {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let thresholds = Thresholds::default().with_coverage(self.at_least.into());
        let (report, signature) = match Opened::open(&self.path) {
            Ok(bundle) => (check(bundle.manifest_bytes(), &bundle, thresholds), bundle.signature()),
            Err(NotOpened::Manifest { file, .. }) if !file.is_empty() => {
                (check(&file, &Nothing, thresholds), None)
            }
            Err(why @ (NotOpened::Unreadable(_) | NotOpened::Special | NotOpened::NoManifest { .. })) => {
                return Err(hinted(format!("{}: {why}", self.path.display()), why.hint()));
            }
            Err(why) => return self.refused(out, &why),
        };
        let valid = if self.official_only { report.officially_valid } else { report.valid };
        match self.format {
            _ if self.json => json(out, &self.shown(&report, valid, thresholds, signature.as_ref()))?,
            Format::Json => json(out, &self.shown(&report, valid, thresholds, signature.as_ref()))?,
            Format::Github => self.annotate(out, &report, valid)?,
            Format::Text => {
                self.write(out, &report, valid)?;
                if let Some(signature) = &signature {
                    let how = if signature.signed.is_some() { "well formed" } else { "not well formed" };
                    writeln!(
                        out,
                        "signed; the signature is {how}, and whom to trust is for the host to say"
                    )?;
                }
            }
        }
        Ok(if valid { Exit::Fine } else { Exit::Findings })
    }

    /// What is told, errors first. What the official tool refuses and we accept is a warning of ours already.
    fn told<'a>(&self, report: &'a Report) -> Vec<&'a Problem> {
        let all = report.official.iter().chain(report.ours.iter().filter(|_| !self.official_only));
        let mut told: Vec<&Problem> = all.filter(|it| self.official_only || it.accepted.is_none()).collect();
        told.sort_by_key(|it| it.level);
        told
    }

    /// The file of a problem, from where the command was run.
    fn file(&self, problem: &Problem) -> String {
        let given = self.path.is_file();
        let root = if given { self.path.parent().unwrap_or(Path::new("")) } else { &self.path };
        let file = if given && *problem.file == *Manifest::NAME {
            self.path.clone()
        } else {
            root.join(&*problem.file)
        };
        let file = file.display().to_string();
        file.chars()
            .flat_map(|it| if it.is_control() { it.escape_debug().collect() } else { vec![it] })
            .collect()
    }

    fn write(&self, out: &mut impl Write, report: &Report, valid: bool) -> anyhow::Result<()> {
        let told = self.told(report);
        for problem in &told {
            let Problem { line, column, level, by, what, .. } = problem;
            let by = if by.as_str() == "official" { " (official)" } else { "" };
            let path = path_of(problem).map(|path| format!("{path}: ")).unwrap_or_default();
            writeln!(out, "{}:{line}:{column}: {}{by}: {path}{what}", self.file(problem), level.as_str())?;
            writeln!(out, "hint: {}\n", what.hint())?;
        }
        let left_out =
            if report.left_out > 0 { format!(", {} more not shown", report.left_out) } else { String::new() };
        let verdict = if valid { "valid" } else { "not valid" };
        writeln!(out, "{verdict}: {}{left_out}", counts(&told))?;
        if !self.official_only {
            writeln!(out, "{}", official(report.officially_valid, valid))?;
        }
        Ok(())
    }

    /// Workflow commands, which GitHub shows beside the lines of a change.
    fn annotate(&self, out: &mut impl Write, report: &Report, valid: bool) -> anyhow::Result<()> {
        let told = self.told(report);
        for problem in &told {
            let Problem { line, column, level, what, .. } = problem;
            let file = property(&self.file(problem)).into_owned();
            let path = path_of(problem).map(|path| format!("{path}: ")).unwrap_or_default();
            let message = message(&format!("{path}{what}\nhint: {}", what.hint())).into_owned();
            let title = property(what.kind()).into_owned();
            writeln!(
                out,
                "::{} file={file},line={line},col={column},title={title}::{message}",
                level.as_str()
            )?;
        }
        let verdict = if valid { "valid" } else { "not valid" };
        Ok(writeln!(out, "{verdict}: {}", counts(&told))?)
    }

    fn shown(
        &self,
        report: &Report,
        valid: bool,
        thresholds: Thresholds,
        signature: Option<&Signature>,
    ) -> Shown {
        let problem = |it: &Problem| Found {
            file: it.file.to_string(),
            path: path_of(it),
            line: it.line,
            column: it.column,
            level: it.level.as_str(),
            by: it.by.as_str(),
            accepted: it.accepted.is_some(),
            kind: it.what.kind(),
            what: it.what.to_string(),
            hint: it.what.hint().into_owned(),
        };
        let ours = report.ours.iter().filter(|_| !self.official_only);
        Shown {
            valid,
            officially_valid: report.officially_valid,
            manifest_version: report.version.map(mcp_attune_bundle::Version::as_str),
            problems: report.official.iter().chain(ours).map(problem).collect(),
            left_out: report.left_out,
            coverage: report.coverage.iter().filter(|_| !self.official_only).map(Covered::of).collect(),
            thresholds: Wanted { coverage: thresholds.coverage, contrast: thresholds.contrast },
            signature: signature.map(|it| Signed { well_formed: it.signed.is_some() }),
        }
    }

    /// A bundle that cannot be opened safely is not valid either.
    fn refused(&self, out: &mut impl Write, why: &NotOpened) -> anyhow::Result<Exit> {
        let (file, what, hint) = (self.path.display().to_string(), why.to_string(), why.hint());
        match self.format {
            Format::Text if !self.json => {
                writeln!(out, "{file}: error: {what}\nhint: {hint}\n\nnot valid: 1 error, 0 warnings")?;
            }
            Format::Github => {
                writeln!(
                    out,
                    "::error file={},title=unopened::{}",
                    property(&file),
                    message(&format!("{what}\nhint: {hint}"))
                )?;
            }
            Format::Text | Format::Json => {
                let found = Found {
                    file,
                    path: None,
                    line: 1,
                    column: 1,
                    level: Level::Error.as_str(),
                    by: By::Attune.as_str(),
                    accepted: false,
                    kind: "unopened",
                    what,
                    hint,
                };
                json(out, &json!({ "valid": false, "officially_valid": false, "problems": [found] }))?;
            }
        }
        Ok(Exit::Findings)
    }
}

/// The files of a bundle whose manifest says nothing of them.
struct Nothing;

impl Files for Nothing {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn read(&self, _: &Inside, _: usize) -> Result<Vec<u8>, Unavailable> {
        Err(Unavailable::Missing)
    }

    fn picture(&self, _: &Inside) -> Result<Picture, NoPicture> {
        Err(NoPicture::Missing)
    }
}

#[derive(Serialize)]
struct Shown {
    valid: bool,
    officially_valid: bool,
    manifest_version: Option<&'static str>,
    problems: Vec<Found>,
    left_out: usize,
    coverage: Vec<Covered>,
    thresholds: Wanted,
    signature: Option<Signed>,
}

#[derive(Serialize)]
struct Signed {
    well_formed: bool,
}

#[derive(Serialize)]
struct Found {
    file: String,
    path: Option<String>,
    line: usize,
    column: usize,
    level: &'static str,
    by: &'static str,
    accepted: bool,
    kind: &'static str,
    what: String,
    hint: String,
}

#[derive(Serialize)]
struct Covered {
    locale: String,
    file: String,
    percent: usize,
    missing: Vec<String>,
    inherited: Vec<String>,
    stale: Vec<String>,
    surplus: Vec<String>,
}

impl Covered {
    fn of(it: &mcp_attune_bundle::Covered) -> Self {
        let names = |paths: &[mcp_attune::catalog::Path]| paths.iter().map(ToString::to_string).collect();
        Self {
            locale: it.tag.to_string(),
            file: it.file.to_string(),
            percent: it.coverage.percent(),
            missing: names(&it.coverage.missing),
            inherited: names(&it.coverage.inherited),
            stale: names(&it.coverage.stale),
            surplus: names(&it.coverage.surplus),
        }
    }
}

#[derive(Serialize)]
struct Wanted {
    coverage: usize,
    contrast: f32,
}

fn path_of(problem: &Problem) -> Option<String> {
    problem.path.names().next().is_some().then(|| problem.path.to_string())
}

fn counts(told: &[&Problem]) -> String {
    let count = |level: Level| match told.iter().filter(|it| it.level == level).count() {
        1 => format!("1 {}", level.as_str()),
        number => format!("{number} {}s", level.as_str()),
    };
    format!("{}, {}", count(Level::Error), count(Level::Warning))
}

/// What the official tool makes of the same bundle.
fn official(officially_valid: bool, valid: bool) -> &'static str {
    match (officially_valid, valid) {
        (true, true) => "The official tool, mcpb validate, accepts it too.",
        (true, false) => {
            "The official tool, mcpb validate, accepts it: it does not look for what is wrong here."
        }
        (false, true) => "The official tool, mcpb validate, refuses it: see the warnings above.",
        (false, false) => "The official tool, mcpb validate, refuses it too.",
    }
}

/// A message of a workflow command: it ends with its line.
fn message(text: &str) -> Cow<'_, str> {
    if text.contains(['%', '\r', '\n']) {
        return text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A").into();
    }
    text.into()
}

/// A property of one: it ends with a comma or a colon too.
fn property(text: &str) -> Cow<'_, str> {
    let text = message(text);
    if text.contains([':', ',']) { text.replace(':', "%3A").replace(',', "%2C").into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_escaped() {
        assert_eq!(message("50 %\r\na:b,c"), "50 %25%0D%0Aa:b,c");
        assert_eq!(property("C:\\a,b%\n"), "C%3A\\a%2Cb%25%0A");
        assert_eq!(property("plain"), "plain");
    }
}
