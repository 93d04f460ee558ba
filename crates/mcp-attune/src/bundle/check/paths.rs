//! Files that the manifest names: whether they stay inside the bundle, and whether they are there.

use core::fmt;
use std::borrow::Cow;

use mcp_attune_wire::json::Value;

use super::Look;
use super::collect::{Collect, here, path};
use super::server::{COMPARED, elements, text};
use crate::bundle::problem::What;
use crate::bundle::{Inside, Outside};
use crate::catalog::Path;
use crate::near::{nearest, shown};

/// What is wrong with a path.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathProblem {
    /// It does not stay in the bundle.
    Outside(Outside),
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

/// The most screenshots that are looked for.
const MOST: usize = 100;

pub(super) fn look(look: &Look<'_>, found: &mut Collect) {
    let server = look.root.member("server");
    let kind = server.and_then(|it| it.member("type")).and_then(text).unwrap_or_default();
    if let Some(entry) = server.and_then(|it| it.member("entry_point")) {
        // Hosts on Windows add it themselves.
        let suffixes: &[&str] = if kind == "binary" { &["", ".exe"] } else { &[""] };
        is_there(look, &path(&["server", "entry_point"]), entry, suffixes, found);
    }
    if let (Some(value), "uv") = (server, &*kind)
        && !Inside::parse("pyproject.toml").is_ok_and(|name| look.files.has(&name))
    {
        found.warn(here(&path(&["server"]), value), What::Path(PathProblem::NoProject));
    }
    for (at, value) in elements(look.root.member("screenshots")).enumerate().take(MOST) {
        is_there(look, &path(&["screenshots", &at.to_string()]), value, &[""], found);
    }
}

fn is_there(look: &Look<'_>, at: &Path, value: Value<'_>, suffixes: &[&str], found: &mut Collect) {
    let Some(name) = text(value) else { return };
    let inside = match Inside::parse(&name) {
        Ok(inside) => inside,
        Err(why) => {
            let what = What::Path(PathProblem::Outside(why));
            // It leads nowhere near the machine, and some hosts may show it.
            let tell = if why == Outside::Url { Collect::warn } else { Collect::error };
            return tell(found, here(at, value), what);
        }
    };
    let named =
        |suffix: &&str| Inside::parse(&format!("{inside}{suffix}")).is_ok_and(|name| look.files.has(&name));
    if !suffixes.iter().any(named) {
        let near = if found.full() { None } else { look.meant(&inside) };
        // It may still have to be built.
        found.warn(here(at, value), What::Path(PathProblem::Missing { near }));
    }
}

impl Look<'_> {
    /// The file that was meant by a name that is not there: in another case, elsewhere, or nearly so.
    pub(super) fn meant(&self, name: &Inside) -> Option<String> {
        let names = || self.names().iter().map(String::as_str);
        let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let wanted = last(name.as_str());
        let same = names().find(|it| last(it) == wanted).map(shown);
        same.or_else(|| nearest(name.as_str(), names().take(COMPARED)))
    }
}
