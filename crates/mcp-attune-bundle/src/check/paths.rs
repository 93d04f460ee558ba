//! Files that the manifest names: whether the paths stay in the bundle, and whether the files exist.

use mcp_attune_wire::json::SpannedValue;

use super::BundleCheckInput;
use super::collect::{BundleProblemCollector, manifest_location, path};
use super::server::{MAX_COMPARED_NAMES, elements, text};
use crate::problem::{BundleProblemKind, PathProblem};
use crate::{BundleFileName, BundleFileNameError};
use mcp_attune::catalog::LocaleKeyPath;
use mcp_attune::suggestion::{nearest, quote_name};

/// Maximum number of screenshots that are looked for; those beyond it are not reported.
const MAX_SCREENSHOTS: usize = 100;

/// Checks `server.entry_point`, the `pyproject.toml` of `uv` servers, and `screenshots`. Icons have checks of
/// their own.
pub(super) fn check_paths(look: &BundleCheckInput<'_>, found: &mut BundleProblemCollector) {
    let server = look.root.member("server");
    let kind = server.and_then(|it| it.member("type")).and_then(text).unwrap_or_default();
    if let Some(entry) = server.and_then(|it| it.member("entry_point")) {
        // Hosts on Windows add it themselves.
        let suffixes: &[&str] = if kind == "binary" { &["", ".exe"] } else { &[""] };
        check_file_exists(look, &path(&["server", "entry_point"]), entry, suffixes, found);
    }
    if let (Some(value), "uv") = (server, &*kind)
        && !BundleFileName::parse("pyproject.toml").is_ok_and(|name| look.files.has(&name))
    {
        found.warn(
            manifest_location(&path(&["server"]), value),
            BundleProblemKind::Path(PathProblem::NoProject),
        );
    }
    for (at, value) in elements(look.root.member("screenshots")).enumerate().take(MAX_SCREENSHOTS) {
        check_file_exists(look, &path(&["screenshots", &at.to_string()]), value, &[""], found);
    }
}

/// Checks one path. With `suffixes`, the file may also have one of these endings, as programs have on Windows.
///
/// Leading out of the bundle is an error, except that a URL is a warning; a missing file is a warning.
fn check_file_exists(
    look: &BundleCheckInput<'_>,
    at: &LocaleKeyPath,
    value: SpannedValue<'_>,
    suffixes: &[&str],
    found: &mut BundleProblemCollector,
) {
    let Some(name) = text(value) else { return };
    let inside = match BundleFileName::parse(&name) {
        Ok(inside) => inside,
        Err(why) => {
            let what = BundleProblemKind::Path(PathProblem::Outside(why));
            // It leads nowhere near the machine, and some hosts may show it.
            let tell = if why == BundleFileNameError::Url {
                BundleProblemCollector::warn
            } else {
                BundleProblemCollector::error
            };
            return tell(found, manifest_location(at, value), what);
        }
    };
    let named = |suffix: &&str| {
        BundleFileName::parse(&format!("{inside}{suffix}")).is_ok_and(|name| look.files.has(&name))
    };
    if !suffixes.iter().any(named) {
        let near = if found.is_full() { None } else { look.suggest_file(&inside) };
        // It may still have to be built.
        found.warn(manifest_location(at, value), BundleProblemKind::Path(PathProblem::Missing { near }));
    }
}

impl BundleCheckInput<'_> {
    /// Returns the file that was probably meant by a name that does not exist: one of the same name in another
    /// folder or in another case, or else one with a similar path.
    pub(super) fn suggest_file(&self, name: &BundleFileName) -> Option<String> {
        let names = || self.names().iter().map(String::as_str);
        let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let wanted = last(name.as_str());
        let same = names().find(|it| last(it) == wanted).map(quote_name);
        same.or_else(|| nearest(name.as_str(), names().take(MAX_COMPARED_NAMES)))
    }
}
