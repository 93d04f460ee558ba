//! Whether a bundle is in order: what the official tool says of it, and what else can go wrong.
//!
//! 1. [`official`] holds the manifest against the official schema of its version.
//! 2. Where the document of the manifest allows more than the schema, that is a warning: [`AcceptedDeviation`](super::AcceptedDeviation).
//! 3. [`server`], [`paths`], [`icons`] and [`locales`] look at what no schema sees: names that are there twice, variables that
//!    nothing stands for, files that are missing, pictures that cannot be seen, texts that are not translated.
//!
//! A bundle is valid where no error stands. Everything is bounded: [`BundleCheckReport::MAX_PROBLEMS`] problems of each kind are told.
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

/// From where on things are told.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct BundleThresholds {
    /// A locale that has less of the texts than this many hundredths is told.
    pub coverage: usize,
    /// An icon with less contrast than this to its background is told.
    pub contrast: f32,
}

impl Default for BundleThresholds {
    /// Everything is to be translated. 3 is what WCAG 2.2 asks of graphics.
    fn default() -> Self {
        Self { coverage: 100, contrast: 3.0 }
    }
}

impl BundleThresholds {
    /// With another share of texts.
    #[must_use]
    pub fn with_coverage(self, percent: usize) -> Self {
        Self { coverage: percent, ..self }
    }
}

/// How far the bundle is translated into one language.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BundleLocaleCoverage {
    /// The language.
    pub tag: Tag,
    /// Its file.
    pub file: Box<str>,
    /// How far, with what relatives lend.
    pub coverage: CatalogCoverage,
}

/// What a check found.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct BundleCheckReport {
    /// The version that the manifest says.
    pub version: Option<ManifestVersion>,
    /// What the official tool would say.
    pub official: Vec<BundleProblem>,
    /// What else there is.
    pub ours: Vec<BundleProblem>,
    /// Whether the bundle is in order: nothing stands.
    pub valid: bool,
    /// Whether it is for the official tool.
    pub officially_valid: bool,
    /// How many problems there are beyond those that are told.
    pub left_out: usize,
    /// How far it is translated, for each locale file that could be read.
    pub coverage: Vec<BundleLocaleCoverage>,
}

impl BundleCheckReport {
    /// The most problems that are told, of the official tool and of ours each.
    pub const MAX_PROBLEMS: usize = 300;
}

/// A bundle that is looked at.
struct BundleCheckInput<'a> {
    root: SpannedValue<'a>,
    manifest: &'a Manifest,
    files: &'a dyn BundleFiles,
    names: OnceCell<Vec<String>>,
    thresholds: BundleThresholds,
}

impl BundleCheckInput<'_> {
    /// The names of all files, asked for once.
    fn names(&self) -> &[String] {
        self.names.get_or_init(|| self.files.names())
    }
}

/// Judges a bundle by its manifest and its files.
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

/// A place in the manifest that has no name.
fn root_location(offset: usize) -> BundleProblemLocation<'static> {
    static TOP: std::sync::LazyLock<LocaleKeyPath> = std::sync::LazyLock::new(LocaleKeyPath::default);
    BundleProblemLocation { file: Manifest::FILE_NAME, path: &TOP, offset }
}

/// Tells as a warning what the official tool refuses and we do not.
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

/// A manifest that cannot be read in one way. The official tool takes some of them all the same, and its verdict is its own.
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
