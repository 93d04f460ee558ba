//! What is wrong with a bundle: where, how badly, who says so, and what to do about it.

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

/// One thing that is wrong with a bundle.
///
/// Rules: B7.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct BundleProblem {
    /// The name of the file in the bundle.
    pub file: Box<str>,
    /// Where in it, by names; those in lists are numbers.
    pub path: LocaleKeyPath,
    /// The line in the file, from 1.
    pub line: usize,
    /// The column in the line, from 1.
    pub column: usize,
    /// How bad it is.
    pub level: BundleProblemLevel,
    /// Who says so.
    pub by: BundleProblemSource,
    /// Whether the official tool refuses what is accepted here, because the manifest's own document allows it.
    pub accepted: Option<AcceptedDeviation>,
    /// What is wrong.
    pub what: BundleProblemKind,
}

/// How bad a problem is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BundleProblemLevel {
    /// The bundle is not valid.
    Error,
    /// The bundle is valid, and could be better.
    Warning,
}

/// Who says that something is a problem.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BundleProblemSource {
    /// The official tool would say it too.
    Official,
    /// Only Attune says it.
    Attune,
}

/// What is wrong.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum BundleProblemKind {
    /// Something that the official schema does not allow.
    Schema(ManifestSchemaProblem),
    /// Something that the official schema does not allow, and the manifest's own document does.
    Lenient(AcceptedDeviation),
    /// Something in the manifest that does not fit the rest of it: the name, the version, names that are there twice, variables,
    /// settings, arguments of prompts.
    Server(ManifestConsistencyProblem),
    /// A file that is not there, or a path that leads elsewhere.
    Path(PathProblem),
    /// An icon.
    Icon(IconProblem),
    /// A locale file, or where they are.
    Locale(LocaleProblem),
}

impl BundleProblem {
    /// Whether the bundle is not valid because of it.
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
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl BundleProblemSource {
    /// Its name.
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
    /// A name for programs, which stays.
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

    /// What to do about it.
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
