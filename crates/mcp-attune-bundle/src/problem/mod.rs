//! Problems of a bundle: position, severity, source, and what to do about each.

use core::fmt;
use std::borrow::Cow;

use mcp_attune::catalog::LocaleKeyPath;

mod icon;
mod locale;
mod path;
mod schema;
mod server;

pub use icon::IconProblem;
pub(super) use icon::{ICON_PIXELS, MAX_CHECKED_ICONS};
pub use locale::LocaleProblem;
pub use path::PathProblem;
pub(super) use schema::ManifestTextFormat;
pub use schema::{AcceptedDeviation, ManifestSchemaProblem};
pub use server::ManifestConsistencyProblem;

/// One problem that [`check`](fn@crate::check) found.
///
/// `Display` writes one line without severity and hint, as compilers do:
/// `manifest.json:3:5: server.entry_point: there is no such file in the bundle`.
///
/// Rules: B7.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct BundleProblem {
    /// Name of the file in the bundle: the manifest, or a locale file.
    pub file: Box<str>,
    /// JSON path inside the file: names of members, and indices of list elements as numbers. Empty for the
    /// whole file.
    pub path: LocaleKeyPath,
    /// Line in the file, counted from 1.
    pub line: usize,
    /// Column in the line, counted from 1 in characters.
    pub column: usize,
    /// Severity.
    pub level: BundleProblemLevel,
    /// Whether the official tool reports it too.
    pub by: BundleProblemSource,
    /// Set if the official tool refuses something that the specification of the manifest allows. Such an error
    /// does not make the bundle invalid for Attune, and a warning ([`BundleProblemKind::Lenient`]) goes with
    /// it.
    pub accepted: Option<AcceptedDeviation>,
    /// The problem itself.
    pub what: BundleProblemKind,
}

/// Severity of a problem. Errors are ordered before warnings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BundleProblemLevel {
    /// Makes the bundle invalid, unless it is [accepted](BundleProblem::accepted).
    Error,
    /// Leaves the bundle valid.
    Warning,
}

/// Which check reports a problem.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BundleProblemSource {
    /// The official schema or tool, which Attune reproduces.
    Official,
    /// A check of Attune's own.
    Attune,
}

/// What is wrong, by the area of the check.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum BundleProblemKind {
    /// The manifest violates the official schema, or cannot be parsed.
    Schema(ManifestSchemaProblem),
    /// The manifest violates the official schema in a way that its specification allows.
    Lenient(AcceptedDeviation),
    /// Values of the manifest contradict each other: repeated names, undefined variables, unused settings,
    /// prompt arguments, or a version that is not semantic.
    Server(ManifestConsistencyProblem),
    /// A path in the manifest leads out of the bundle, or its file is missing.
    Path(PathProblem),
    /// An icon is missing, is not what the manifest declares, or is hard to see.
    Icon(IconProblem),
    /// A locale file, or `localization` itself, has a problem.
    Locale(LocaleProblem),
}

impl BundleProblem {
    /// Returns whether this problem alone makes the bundle invalid: an error that is not accepted.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.level == BundleProblemLevel::Error && self.accepted.is_none()
    }
}

impl fmt::Display for BundleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, path, line, column, what, .. } = self;
        write!(f, "{}:{line}:{column}: ", mcp_attune::suggestion::quote_name(file))?;
        if path.names().next().is_some() {
            write!(f, "{path}: ")?;
        }
        what.fmt(f)
    }
}

impl BundleProblemLevel {
    /// Returns the word for reports: `error` or `warning`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl BundleProblemSource {
    /// Returns the word for reports: `official` or `attune`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Official => "official",
            Self::Attune => "attune",
        }
    }
}

impl fmt::Display for BundleProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema(what) => what.fmt(f),
            Self::Lenient(what) => what.fmt(f),
            Self::Server(what) => what.fmt(f),
            Self::Path(what) => what.fmt(f),
            Self::Icon(what) => what.fmt(f),
            Self::Locale(what) => what.fmt(f),
        }
    }
}

impl BundleProblemKind {
    /// Returns a stable identifier in kebab case, for programs that read reports. It is part of the interface
    /// of commands.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Schema(what) => what.kind(),
            Self::Lenient(what) => what.kind(),
            Self::Server(what) => what.kind(),
            Self::Path(what) => what.kind(),
            Self::Icon(what) => what.kind(),
            Self::Locale(what) => what.kind(),
        }
    }

    /// Returns what the author of the bundle can do about it, as a short imperative or a question.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        match self {
            Self::Schema(what) => what.hint(),
            Self::Lenient(what) => what.hint().into(),
            Self::Server(what) => what.hint(),
            Self::Path(what) => what.hint(),
            Self::Icon(what) => what.hint().into(),
            Self::Locale(what) => what.hint(),
        }
    }
}
