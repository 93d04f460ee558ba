//! What can be wrong with a path.

use core::fmt;
use std::borrow::Cow;

use crate::BundleFileNameError;

/// What is wrong with a path.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathProblem {
    /// It does not stay in the bundle.
    Outside(BundleFileNameError),
    /// There is nothing there.
    Missing {
        /// The file that was meant.
        near: Option<String>,
    },
    /// What a server of uv needs beside its code.
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
    /// A name for programs, which stays.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Outside(_) => "outside",
            Self::Missing { .. } => "missing-file",
            Self::NoProject => "no-project",
        }
    }

    /// What to do about it.
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
