//! Files that the manifest names: whether they stay inside the bundle, and whether they are there.

use mcp_attune_wire::json::Value;

use super::Look;
use super::collect::{Collect, here, path};
use super::server::{COMPARED, elements, text};
use crate::problem::{PathProblem, What};
use crate::{Inside, Outside};
use mcp_attune::catalog::Path;
use mcp_attune::near::{nearest, shown};

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
