//! What is wrong with a bundle: where, how badly, who says so, and what to do about it.

use core::fmt;
use std::borrow::Cow;

use mcp_attune::catalog::Path;

mod icon;
mod locale;
mod path;
mod schema;
mod server;

pub use icon::IconProblem;
pub(super) use icon::{ICON_PIXELS, MAX_ICONS};
pub use locale::LocaleProblem;
pub use path::PathProblem;
pub(super) use schema::Format;
pub use schema::{Breach, Leniency};
pub use server::ServerProblem;

/// One thing that is wrong with a bundle.
///
/// Rules: B7.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Problem {
    /// The name of the file in the bundle.
    pub file: Box<str>,
    /// Where in it, by names; those in lists are numbers.
    pub path: Path,
    /// The line in the file, from 1.
    pub line: usize,
    /// The column in the line, from 1.
    pub column: usize,
    /// How bad it is.
    pub level: Level,
    /// Who says so.
    pub by: By,
    /// Whether the official tool refuses what is accepted here, because the manifest's own document allows it.
    pub accepted: Option<Leniency>,
    /// What is wrong.
    pub what: What,
}

/// How bad a problem is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// The bundle is not valid.
    Error,
    /// The bundle is valid, and could be better.
    Warning,
}

/// Who says that something is a problem.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum By {
    /// The official tool would say it too.
    Official,
    /// Only Attune says it.
    Attune,
}

/// What is wrong.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum What {
    /// Something that the official schema does not allow.
    Schema(Breach),
    /// Something that the official schema does not allow, and the manifest's own document does.
    Lenient(Leniency),
    /// Something about the name, the version, or names that are there twice.
    Server(ServerProblem),
    /// A file that is not there, or a path that leads elsewhere.
    Path(PathProblem),
    /// An icon.
    Icon(IconProblem),
    /// A locale file, or where they are.
    Locale(LocaleProblem),
}

impl Problem {
    /// Whether the bundle is not valid because of it.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.level == Level::Error && self.accepted.is_none()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, path, line, column, what, .. } = self;
        write!(f, "{}:{line}:{column}: ", mcp_attune::near::shown(file))?;
        if path.names().next().is_some() {
            write!(f, "{path}: ")?;
        }
        what.fmt(f)
    }
}

impl Level {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl By {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Official => "official",
            Self::Attune => "attune",
        }
    }
}

impl fmt::Display for What {
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

impl What {
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
