//! Validation of a bundle: the verdict of the official tool, and checks beyond it.
//!
//! 1. [`official`] validates the manifest with the official schema of its version.
//! 2. If the specification of the manifest allows what the schema refuses, the error is marked as
//!    [accepted](super::AcceptedDeviation), and repeated as a warning of Attune's own.
//! 3. [`server`], [`paths`], [`icons`] and [`locales`] check what no schema sees: repeated names, undefined
//!    variables, missing files, pictures that cannot be seen, texts that are not translated.
//!
//! A bundle is valid if there is no error other than accepted ones. The work and the report are bounded,
//! whatever the bundle contains: at most [`BundleCheckReport::MAX_PROBLEMS`] problems are kept of the official
//! checks and as many of ours. The verdicts count those beyond that too.
//!
//! Rules: B1, B2, B3, B6, B7.

// How problems are kept,
mod collect;

// what the official tool says,
mod schema;

mod format;

mod official;

// and what only we say.
mod server;

mod paths;

mod icons;

mod locales;

use core::cell::OnceCell;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, SpannedValue};
use mcp_attune_wire::message::{JsonFault, JsonParseError};

use self::collect::{BundleProblemCollector, BundleProblemLocation};
use super::files::BundleFiles;
use super::manifest::{Manifest, ManifestError};
use super::problem::{BundleProblem, BundleProblemKind, BundleProblemSource, ManifestSchemaProblem};
use super::version::ManifestVersion;
use mcp_attune::catalog::{CatalogCoverage, LocaleKeyPath};
use mcp_attune::language::Tag;

/// Limits below which the check warns.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct BundleThresholds {
    /// Minimum share of translated texts for each locale, in percent from 0 to 100.
    pub coverage: usize,
    /// Minimum contrast ratio of an icon with its background, from 1 to 21.
    pub contrast: f32,
}

impl Default for BundleThresholds {
    /// 100 % of the texts, and a contrast of 3, which WCAG 2.2 requires of graphics.
    fn default() -> Self {
        Self { coverage: 100, contrast: 3.0 }
    }
}

impl BundleThresholds {
    /// Returns the thresholds with another minimum share of translated texts.
    #[must_use]
    pub fn with_coverage(self, percent: usize) -> Self {
        Self { coverage: percent, ..self }
    }
}

/// How much of the manifest is translated into one language.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BundleLocaleCoverage {
    /// The language.
    pub tag: Tag,
    /// The name of its locale file.
    pub file: Box<str>,
    /// The translated and missing texts. Texts that a related language provides count as translated.
    pub coverage: CatalogCoverage,
}

/// The result of [`check`].
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct BundleCheckReport {
    /// The version of the format whose schema was used; `None` if no known version could be read from the
    /// manifest.
    pub version: Option<ManifestVersion>,
    /// The problems that the official tool reports as well, sorted by file and position.
    pub official: Vec<BundleProblem>,
    /// The problems that only Attune reports, in the same order.
    pub ours: Vec<BundleProblem>,
    /// Attune's verdict: there is no error, other than accepted ones.
    pub valid: bool,
    /// The verdict of the official tool: there is no error in its part, accepted or not.
    pub officially_valid: bool,
    /// Number of further problems that were found but not kept.
    pub left_out: usize,
    /// The translation into each language whose locale file could be parsed, in the order of the files.
    pub coverage: Vec<BundleLocaleCoverage>,
}

impl BundleCheckReport {
    /// Maximum number of problems in each of [`official`](Self::official) and [`ours`](Self::ours).
    pub const MAX_PROBLEMS: usize = 300;
}

/// What every check gets: the manifest, as JSON and parsed, and access to the files.
struct BundleCheckInput<'a> {
    /// The manifest as JSON, for what the parsed form does not have: positions, and values of the wrong type.
    root: SpannedValue<'a>,
    manifest: &'a Manifest,
    files: &'a dyn BundleFiles,
    /// The names of all files, once a check asked for them.
    names: OnceCell<Vec<String>>,
    thresholds: BundleThresholds,
}

impl BundleCheckInput<'_> {
    /// Returns the names of all files. The host is asked for them once, since a folder has to be walked for
    /// them, but again by each [`BundleFiles::has`] that it does not implement itself.
    fn names(&self) -> &[String] {
        self.names.get_or_init(|| self.files.names())
    }
}

/// Validates a bundle, given the bytes of its manifest and access to its files.
///
/// Never fails: a manifest that cannot be parsed is a problem in the report. No more than 64 entries of
/// `icons`, 100 screenshots and 500 locale files are looked at, and no more than 64 MiB of locale files are
/// read.
///
/// ```
/// use mcp_attune_bundle::{BundleFiles, BundleFileName, PictureError, PictureFacts, BundleThresholds, BundleFileError, check};
///
/// struct Nothing;
/// impl BundleFiles for Nothing {
///     fn names(&self) -> Vec<String> {
///         Vec::new()
///     }
///     fn read(&self, _: &BundleFileName, _: usize) -> Result<Vec<u8>, BundleFileError> {
///         Err(BundleFileError::Missing)
///     }
///     fn picture(&self, _: &BundleFileName) -> Result<PictureFacts, PictureError> {
///         Err(PictureError::Missing)
///     }
/// }
///
/// let manifest = br#"{"manifest_version": "0.3", "name": "weather", "version": "1.0.0", "descripton": "The weather",
///     "author": {"name": "Ann"}, "server": {"type": "binary", "entry_point": "weather", "mcp_config": {"command": "weather"}}}"#;
/// let report = check(manifest, &Nothing, BundleThresholds::default());
/// assert!(!report.valid && !report.officially_valid);
/// let told = |at: usize| format!("{}; {}", report.official[at], report.official[at].what.hint());
/// assert_eq!(told(0), "manifest.json:1:1: description: missing; add it");
/// assert_eq!(told(1), "manifest.json:1:82: descripton: there is no such key here; did you mean description?");
/// assert_eq!(report.ours[0].to_string(), "manifest.json:2:76: server.entry_point: there is no such file in the bundle");
/// ```
#[must_use]
pub fn check(manifest: &[u8], files: &dyn BundleFiles, thresholds: BundleThresholds) -> BundleCheckReport {
    let (mut official, mut ours) = (
        BundleProblemCollector::new(BundleProblemSource::Official),
        BundleProblemCollector::new(BundleProblemSource::Attune),
    );
    let bytes = manifest.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(manifest);
    if bytes.len() < manifest.len() {
        official.error(root_location(0), BundleProblemKind::Schema(ManifestSchemaProblem::ByteOrderMark));
    }
    let version;
    let mut coverage = Vec::new();
    let read = Manifest::read(bytes)
        .and_then(|it| Ok((it, Document::parse(bytes).map_err(ManifestError::Unreadable)?)));
    match &read {
        Ok((manifest, document)) => {
            let root = document.root();
            version = official::check_official_schema(root, files, &mut official);
            let look = BundleCheckInput { root, manifest, files, names: OnceCell::new(), thresholds };
            warn_about_deviations(&official, &mut ours);
            server::check_consistency(&look, &mut ours);
            paths::check_paths(&look, &mut ours);
            icons::check_icons(&look, &mut ours);
            coverage = locales::check_locales(&look, &mut ours);
        }
        Err(why) => version = check_unreadable_manifest(*why, bytes, files, &mut official, &mut ours),
    }
    official.assign_lines(Manifest::FILE_NAME, bytes);
    ours.assign_lines(Manifest::FILE_NAME, bytes);
    let left_out = (official.count + ours.count).saturating_sub(official.kept_count() + ours.kept_count());
    BundleCheckReport {
        version,
        valid: !official.fails && !ours.fails,
        officially_valid: !official.errs,
        left_out,
        official: official.finish(),
        ours: ours.finish(),
        coverage,
    }
}

/// Returns a position in the manifest that belongs to no key.
fn root_location(offset: usize) -> BundleProblemLocation<'static> {
    static TOP: std::sync::LazyLock<LocaleKeyPath> = std::sync::LazyLock::new(LocaleKeyPath::default);
    BundleProblemLocation { file: Manifest::FILE_NAME, path: &TOP, offset }
}

/// Adds a warning of ours for each accepted deviation, so that authors learn that the official tool refuses
/// their bundle.
fn warn_about_deviations(official: &BundleProblemCollector, ours: &mut BundleProblemCollector) {
    for (offset, problem) in official.found() {
        let Some(why) = problem.accepted else { continue };
        // An icon with `sizes` lacks `size` too; once is enough.
        if why == super::AcceptedDeviation::Sizes
            && problem.what == BundleProblemKind::Schema(ManifestSchemaProblem::Missing)
        {
            continue;
        }
        ours.warn(
            BundleProblemLocation { file: &problem.file, path: &problem.path, offset: *offset },
            BundleProblemKind::Lenient(why),
        );
    }
}

/// Reports a manifest that the strict parser refuses, and returns its version if that can be found out.
///
/// The official tool parses with JavaScript, which takes repeated names, invalid UTF-8 and deep nesting. To
/// predict its verdict, such a manifest is parsed again as leniently and validated; without positions, since
/// they would be those of another text. In all other cases the official tool fails as well.
fn check_unreadable_manifest(
    why: ManifestError,
    bytes: &[u8],
    files: &dyn BundleFiles,
    official: &mut BundleProblemCollector,
    ours: &mut BundleProblemCollector,
) -> Option<ManifestVersion> {
    let (breach, offset) = match why {
        ManifestError::TooLarge => (ManifestSchemaProblem::TooLarge, 0),
        ManifestError::NoObject => (ManifestSchemaProblem::NoVersion, 0),
        ManifestError::Unreadable(why @ JsonParseError { at, .. }) => {
            (ManifestSchemaProblem::Unreadable(why), at)
        }
    };
    // What the official tool reads all the same, if with less care.
    let only_ours = matches!(
        why,
        ManifestError::Unreadable(JsonParseError {
            fault: JsonFault::RepeatedName | JsonFault::Utf8 | JsonFault::TooDeep,
            ..
        })
    );
    if !only_ours {
        official.error(root_location(offset), BundleProblemKind::Schema(breach));
        return None;
    }
    ours.error(root_location(offset), BundleProblemKind::Schema(breach.clone()));
    // As JavaScript reads it: the last of two names counts, and what is no UTF-8 is replaced.
    let again = serde_json::from_str::<serde_json::Value>(&String::from_utf8_lossy(bytes));
    let again = again.map(|value| value.to_string()).unwrap_or_default();
    match Document::parse(again.as_bytes()) {
        Ok(read) if read.root().kind() == JsonKind::Object => {
            let mut found = BundleProblemCollector::new(BundleProblemSource::Official);
            let version = official::check_official_schema(read.root(), files, &mut found);
            found.clear_offsets();
            official.absorb(found);
            version
        }
        Ok(_) => {
            official.error(root_location(0), BundleProblemKind::Schema(ManifestSchemaProblem::NoVersion));
            None
        }
        // Too deep for anyone but JavaScript: nothing is known of its verdict.
        Err(_) => {
            official.error(root_location(offset), BundleProblemKind::Schema(breach));
            None
        }
    }
}
