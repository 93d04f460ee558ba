//! Whether a bundle is in order: what the official tool says of it, and what else can go wrong.
//!
//! 1. [`official`] holds the manifest against the official schema of its version.
//! 2. Where the document of the manifest allows more than the schema, that is a warning: [`Leniency`](super::Leniency).
//! 3. [`server`], [`paths`], [`icons`] and [`locales`] look at what no schema sees: names that are there twice, variables that
//!    nothing stands for, files that are missing, pictures that cannot be seen, texts that are not translated.
//!
//! A bundle is valid where no error stands. Everything is bounded: [`Report::MOST`] problems of each kind are told.
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
use mcp_attune_wire::json::{Type, Value};
use mcp_attune_wire::message::{Fault, Unreadable};

use self::collect::{At, Collect};
use super::files::Files;
use super::manifest::{Manifest, Refused};
use super::problem::{Breach, By, Problem, What};
use super::version::Version;
use mcp_attune::catalog::{Coverage, Path};
use mcp_attune::language::Tag;

/// From where on things are told.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Thresholds {
    /// A locale that has less of the texts than this many hundredths is told.
    pub coverage: usize,
    /// An icon with less contrast than this to its background is told.
    pub contrast: f32,
}

impl Default for Thresholds {
    /// Everything is to be translated. 3 is what WCAG 2.2 asks of graphics.
    fn default() -> Self {
        Self { coverage: 100, contrast: 3.0 }
    }
}

impl Thresholds {
    /// With another share of texts.
    #[must_use]
    pub fn with_coverage(self, percent: usize) -> Self {
        Self { coverage: percent, ..self }
    }
}

/// How far the bundle is translated into one language.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Covered {
    /// The language.
    pub tag: Tag,
    /// Its file.
    pub file: Box<str>,
    /// How far, with what relatives lend.
    pub coverage: Coverage,
}

/// What a check found.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The version that the manifest says.
    pub version: Option<Version>,
    /// What the official tool would say.
    pub official: Vec<Problem>,
    /// What else there is.
    pub ours: Vec<Problem>,
    /// Whether the bundle is in order: nothing stands.
    pub valid: bool,
    /// Whether it is for the official tool.
    pub officially_valid: bool,
    /// How many problems there are beyond those that are told.
    pub left_out: usize,
    /// How far it is translated, for each locale file that could be read.
    pub coverage: Vec<Covered>,
}

impl Report {
    /// The most problems that are told, of the official tool and of ours each.
    pub const MOST: usize = 300;
}

/// A bundle that is looked at.
struct Look<'a> {
    root: Value<'a>,
    manifest: &'a Manifest,
    files: &'a dyn Files,
    names: OnceCell<Vec<String>>,
    thresholds: Thresholds,
}

impl Look<'_> {
    /// The names of all files, asked for once.
    fn names(&self) -> &[String] {
        self.names.get_or_init(|| self.files.names())
    }
}

/// Judges a bundle by its manifest and its files.
///
/// ```
/// use mcp_attune_bundle::{Files, Inside, NoPicture, Picture, Thresholds, Unavailable, check};
///
/// struct Nothing;
/// impl Files for Nothing {
///     fn names(&self) -> Vec<String> {
///         Vec::new()
///     }
///     fn read(&self, _: &Inside, _: usize) -> Result<Vec<u8>, Unavailable> {
///         Err(Unavailable::Missing)
///     }
///     fn picture(&self, _: &Inside) -> Result<Picture, NoPicture> {
///         Err(NoPicture::Missing)
///     }
/// }
///
/// let manifest = br#"{"manifest_version": "0.3", "name": "weather", "version": "1.0.0", "descripton": "The weather",
///     "author": {"name": "Ann"}, "server": {"type": "binary", "entry_point": "weather", "mcp_config": {"command": "weather"}}}"#;
/// let report = check(manifest, &Nothing, Thresholds::default());
/// assert!(!report.valid && !report.officially_valid);
/// let told = |at: usize| format!("{}; {}", report.official[at], report.official[at].what.hint());
/// assert_eq!(told(0), "manifest.json:1:1: description: missing; add it");
/// assert_eq!(told(1), "manifest.json:1:82: descripton: there is no such key here; did you mean description?");
/// assert_eq!(report.ours[0].to_string(), "manifest.json:2:76: server.entry_point: there is no such file in the bundle");
/// ```
#[must_use]
pub fn check(manifest: &[u8], files: &dyn Files, thresholds: Thresholds) -> Report {
    let (mut official, mut ours) = (Collect::new(By::Official), Collect::new(By::Attune));
    let bytes = manifest.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(manifest);
    if bytes.len() < manifest.len() {
        official.error(whole(0), What::Schema(Breach::ByteOrderMark));
    }
    let version;
    let mut coverage = Vec::new();
    let read =
        Manifest::read(bytes).and_then(|it| Ok((it, Document::parse(bytes).map_err(Refused::Unreadable)?)));
    match &read {
        Ok((manifest, document)) => {
            let root = document.root();
            version = official::look(root, files, &mut official);
            let look = Look { root, manifest, files, names: OnceCell::new(), thresholds };
            lenient(&official, &mut ours);
            server::look(&look, &mut ours);
            paths::look(&look, &mut ours);
            icons::look(&look, &mut ours);
            coverage = locales::look(&look, &mut ours);
        }
        Err(why) => version = refused(*why, bytes, files, &mut official, &mut ours),
    }
    official.place(Manifest::NAME, bytes);
    ours.place(Manifest::NAME, bytes);
    let left_out = (official.count + ours.count).saturating_sub(official.kept() + ours.kept());
    Report {
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
fn whole(offset: usize) -> At<'static> {
    static TOP: std::sync::LazyLock<Path> = std::sync::LazyLock::new(Path::default);
    At { file: Manifest::NAME, path: &TOP, offset }
}

/// Tells as a warning what the official tool refuses and we do not.
fn lenient(official: &Collect, ours: &mut Collect) {
    for (offset, problem) in official.found() {
        let Some(why) = problem.accepted else { continue };
        // An icon with `sizes` lacks `size` too; once is enough.
        if why == super::Leniency::Sizes && problem.what == What::Schema(Breach::Missing) {
            continue;
        }
        ours.warn(At { file: &problem.file, path: &problem.path, offset: *offset }, What::Lenient(why));
    }
}

/// A manifest that cannot be read in one way. The official tool takes some of them all the same, and its verdict is its own.
fn refused(
    why: Refused,
    bytes: &[u8],
    files: &dyn Files,
    official: &mut Collect,
    ours: &mut Collect,
) -> Option<Version> {
    let (breach, offset) = match why {
        Refused::TooLarge => (Breach::TooLarge, 0),
        Refused::NoObject => (Breach::NoVersion, 0),
        Refused::Unreadable(why @ Unreadable { at, .. }) => (Breach::Unreadable(why), at),
    };
    // What the official tool reads all the same, if with less care.
    let only_ours = matches!(
        why,
        Refused::Unreadable(Unreadable { fault: Fault::RepeatedName | Fault::Utf8 | Fault::TooDeep, .. })
    );
    if !only_ours {
        official.error(whole(offset), What::Schema(breach));
        return None;
    }
    ours.error(whole(offset), What::Schema(breach.clone()));
    // As JavaScript reads it: the last of two names counts, and what is no UTF-8 is replaced.
    let again = serde_json::from_str::<serde_json::Value>(&String::from_utf8_lossy(bytes));
    let again = again.map(|value| value.to_string()).unwrap_or_default();
    match Document::parse(again.as_bytes()) {
        Ok(read) if read.root().kind() == Type::Object => {
            let mut found = Collect::new(By::Official);
            let version = official::look(read.root(), files, &mut found);
            found.nowhere();
            official.absorb(found);
            version
        }
        Ok(_) => {
            official.error(whole(0), What::Schema(Breach::NoVersion));
            None
        }
        // Too deep for anyone but JavaScript: nothing is known of its verdict.
        Err(_) => {
            official.error(whole(offset), What::Schema(breach));
            None
        }
    }
}
