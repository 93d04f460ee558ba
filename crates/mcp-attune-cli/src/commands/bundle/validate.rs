//! `attune bundle validate`: whether a bundle is in order.

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use mcp_attune_bundle::{
    BundleCheckReport, BundleFileError, BundleFileName, BundleFiles, BundleProblem, BundleProblemLevel,
    BundleProblemSource, BundleThresholds, Manifest, PictureError, PictureFacts, check,
};
use mcp_attune_files::bundle::{BundleOpenError, BundleSignature};
use serde::Serialize;
use serde_json::json;

use super::Opened;
use crate::exit::{Exit, hinted};
use crate::text::print_json;

/// Check a bundle: exit 0 if it is valid, with warnings too, 1 if it is not
///
/// The manifest is held against the official schema of its version, as the official tool does. Beyond that are found locale files
/// that are broken, missing or incomplete, icons that are missing, of another size than declared or hard to see, files that
/// are not there, variables that nothing stands for, and settings that contradict themselves.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune bundle validate examples/bundle\n  $ attune bundle validate --official-only --json examples/bundle\n  $ attune bundle validate --format github --at-least 80 examples/bundle/manifest.json"
)]
pub(super) struct BundleValidateArgs {
    /// The bundle: its folder, its manifest.json, or a .mcpb file
    path: PathBuf,
    /// Judge only as the official tool does
    #[arg(long)]
    official_only: bool,
    /// Warn about locales with less of the texts than this, in hundredths
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(0..=100))]
    at_least: u8,
    /// Print for people, for programs, or as annotations of GitHub Actions
    #[arg(long, value_enum, default_value_t = BundleValidateFormat::Text)]
    format: BundleValidateFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BundleValidateFormat {
    Text,
    Json,
    Github,
}

impl BundleValidateArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let thresholds = BundleThresholds::default().with_coverage(self.at_least.into());
        let (report, signature) = match Opened::open(&self.path) {
            Ok(bundle) => (check(bundle.manifest_bytes(), &bundle, thresholds), bundle.signature()),
            Err(BundleOpenError::Manifest { file, .. }) if !file.is_empty() => {
                (check(&file, &NoBundleFiles, thresholds), None)
            }
            Err(
                why @ (BundleOpenError::Unreadable(_)
                | BundleOpenError::Special
                | BundleOpenError::NoManifest { .. }),
            ) => {
                return Err(hinted(format!("{}: {why}", self.path.display()), why.hint()));
            }
            Err(why) => return self.write_unopened(out, &why),
        };
        let valid = if self.official_only { report.officially_valid } else { report.valid };
        match self.format {
            _ if self.json => {
                print_json(out, &self.json_output(&report, valid, thresholds, signature.as_ref()))?;
            }
            BundleValidateFormat::Json => {
                print_json(out, &self.json_output(&report, valid, thresholds, signature.as_ref()))?;
            }
            BundleValidateFormat::Github => self.annotate(out, &report, valid)?,
            BundleValidateFormat::Text => {
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
    fn listed_problems<'a>(&self, report: &'a BundleCheckReport) -> Vec<&'a BundleProblem> {
        let all = report.official.iter().chain(report.ours.iter().filter(|_| !self.official_only));
        let mut told: Vec<&BundleProblem> =
            all.filter(|it| self.official_only || it.accepted.is_none()).collect();
        told.sort_by_key(|it| it.level);
        told
    }

    /// The file of a problem, from where the command was run.
    fn file(&self, problem: &BundleProblem) -> String {
        let given = self.path.is_file();
        let root = if given { self.path.parent().unwrap_or(Path::new("")) } else { &self.path };
        let file = if given && *problem.file == *Manifest::FILE_NAME {
            self.path.clone()
        } else {
            root.join(&*problem.file)
        };
        let file = file.display().to_string();
        file.chars().flat_map(mcp_attune_wire::text::escape_char).collect()
    }

    fn write(&self, out: &mut impl Write, report: &BundleCheckReport, valid: bool) -> anyhow::Result<()> {
        let told = self.listed_problems(report);
        for problem in &told {
            let BundleProblem { line, column, level, by, what, .. } = problem;
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
            writeln!(out, "{}", official_verdict(report.officially_valid, valid))?;
        }
        Ok(())
    }

    /// Workflow commands, which GitHub shows beside the lines of a change.
    fn annotate(&self, out: &mut impl Write, report: &BundleCheckReport, valid: bool) -> anyhow::Result<()> {
        let told = self.listed_problems(report);
        for problem in &told {
            let BundleProblem { line, column, level, what, .. } = problem;
            let file = escape_property(&self.file(problem)).into_owned();
            let path = path_of(problem).map(|path| format!("{path}: ")).unwrap_or_default();
            let message = escape_message(&format!("{path}{what}\nhint: {}", what.hint())).into_owned();
            let title = escape_property(what.kind()).into_owned();
            writeln!(
                out,
                "::{} file={file},line={line},col={column},title={title}::{message}",
                level.as_str()
            )?;
        }
        let verdict = if valid { "valid" } else { "not valid" };
        Ok(writeln!(out, "{verdict}: {}", counts(&told))?)
    }

    fn json_output(
        &self,
        report: &BundleCheckReport,
        valid: bool,
        thresholds: BundleThresholds,
        signature: Option<&BundleSignature>,
    ) -> BundleValidateOutput {
        let problem = |it: &BundleProblem| BundleProblemOutput {
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
        BundleValidateOutput {
            valid,
            officially_valid: report.officially_valid,
            manifest_version: report.version.map(mcp_attune_bundle::ManifestVersion::as_str),
            problems: report.official.iter().chain(ours).map(problem).collect(),
            left_out: report.left_out,
            coverage: report
                .coverage
                .iter()
                .filter(|_| !self.official_only)
                .map(BundleLocaleOutput::of)
                .collect(),
            thresholds: BundleThresholdsOutput {
                coverage: thresholds.coverage,
                contrast: thresholds.contrast,
            },
            signature: signature.map(|it| BundleSignatureOutput { well_formed: it.signed.is_some() }),
        }
    }

    /// A bundle that cannot be opened safely is not valid either.
    fn write_unopened(&self, out: &mut impl Write, why: &BundleOpenError) -> anyhow::Result<Exit> {
        let (file, what, hint) = (self.path.display().to_string(), why.to_string(), why.hint());
        match self.format {
            BundleValidateFormat::Text if !self.json => {
                writeln!(out, "{file}: error: {what}\nhint: {hint}\n\nnot valid: 1 error, 0 warnings")?;
            }
            BundleValidateFormat::Github => {
                writeln!(
                    out,
                    "::error file={},title=unopened::{}",
                    escape_property(&file),
                    escape_message(&format!("{what}\nhint: {hint}"))
                )?;
            }
            BundleValidateFormat::Text | BundleValidateFormat::Json => {
                let found = BundleProblemOutput {
                    file,
                    path: None,
                    line: 1,
                    column: 1,
                    level: BundleProblemLevel::Error.as_str(),
                    by: BundleProblemSource::Attune.as_str(),
                    accepted: false,
                    kind: "unopened",
                    what,
                    hint,
                };
                print_json(out, &json!({ "valid": false, "officially_valid": false, "problems": [found] }))?;
            }
        }
        Ok(Exit::Findings)
    }
}

/// The files of a bundle whose manifest says nothing of them.
struct NoBundleFiles;

impl BundleFiles for NoBundleFiles {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn read(&self, _: &BundleFileName, _: usize) -> Result<Vec<u8>, BundleFileError> {
        Err(BundleFileError::Missing)
    }

    fn picture(&self, _: &BundleFileName) -> Result<PictureFacts, PictureError> {
        Err(PictureError::Missing)
    }
}

#[derive(Serialize)]
struct BundleValidateOutput {
    valid: bool,
    officially_valid: bool,
    manifest_version: Option<&'static str>,
    problems: Vec<BundleProblemOutput>,
    left_out: usize,
    coverage: Vec<BundleLocaleOutput>,
    thresholds: BundleThresholdsOutput,
    signature: Option<BundleSignatureOutput>,
}

#[derive(Serialize)]
struct BundleSignatureOutput {
    well_formed: bool,
}

#[derive(Serialize)]
struct BundleProblemOutput {
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
struct BundleLocaleOutput {
    locale: String,
    file: String,
    percent: usize,
    missing: Vec<String>,
    inherited: Vec<String>,
    stale: Vec<String>,
    surplus: Vec<String>,
}

impl BundleLocaleOutput {
    fn of(it: &mcp_attune_bundle::BundleLocaleCoverage) -> Self {
        let names =
            |paths: &[mcp_attune::catalog::LocaleKeyPath]| paths.iter().map(ToString::to_string).collect();
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
struct BundleThresholdsOutput {
    coverage: usize,
    contrast: f32,
}

fn path_of(problem: &BundleProblem) -> Option<String> {
    problem.path.names().next().is_some().then(|| problem.path.to_string())
}

fn counts(told: &[&BundleProblem]) -> String {
    let count = |level: BundleProblemLevel| match told.iter().filter(|it| it.level == level).count() {
        1 => format!("1 {}", level.as_str()),
        number => format!("{number} {}s", level.as_str()),
    };
    format!("{}, {}", count(BundleProblemLevel::Error), count(BundleProblemLevel::Warning))
}

/// What the official tool makes of the same bundle.
fn official_verdict(officially_valid: bool, valid: bool) -> &'static str {
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
fn escape_message(text: &str) -> Cow<'_, str> {
    if text.contains(['%', '\r', '\n']) {
        return text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A").into();
    }
    text.into()
}

/// A property of one: it ends with a comma or a colon too.
fn escape_property(text: &str) -> Cow<'_, str> {
    let text = escape_message(text);
    if text.contains([':', ',']) { text.replace(':', "%3A").replace(',', "%2C").into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_escaped() {
        assert_eq!(escape_message("50 %\r\na:b,c"), "50 %25%0D%0Aa:b,c");
        assert_eq!(escape_property("C:\\a,b%\n"), "C%3A\\a%2Cb%25%0A");
        assert_eq!(escape_property("plain"), "plain");
    }
}
