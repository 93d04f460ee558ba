//! Problems of paths in the manifest: `server.entry_point` and `screenshots`.

use core::fmt;
use std::borrow::Cow;

use crate::BundleFileNameError;

/// What is wrong with a path that the manifest names.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathProblem {
    /// The path is not the name of a file inside the bundle.
    Outside(BundleFileNameError),
    /// The bundle has no such file. This is a warning, since the file may still have to be built.
    Missing {
        /// A file that was probably meant: of the same name in another folder or case, or with a similar path.
        near: Option<String>,
    },
    /// The server is of type `uv`, and `pyproject.toml`, which lists its dependencies, is missing.
    NoProject,
}

impl fmt::Display for PathProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside(why) => write!(f, "the path {why}"),
            Self::Missing { .. } => f.write_str("there is no such file in the bundle"),
            Self::NoProject => f.write_str("a server of uv, and there is no pyproject.toml in the bundle"),
        }
    }
}

impl PathProblem {
    /// Returns a stable identifier for programs that read reports.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Outside(_) => "outside",
            Self::Missing { .. } => "missing-file",
            Self::NoProject => "no-project",
        }
    }

    /// Returns what the author of the bundle can do about it.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        match self {
            Self::Outside(why) => why.hint().into(),
            Self::Missing { near: Some(near) } => format!("did you mean {near}?").into(),
            Self::Missing { near: None } => "add the file, build it, or correct the path".into(),
            Self::NoProject => "add it, with what the server depends on".into(),
        }
    }
}
