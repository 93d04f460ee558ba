//! Which tests there are, asked of the test executables themselves, so that a test which is compiled out does not count.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use kit::report::hinted;
use kit::shell::{cargo, output, program};

/// The tests, by the names that the ledger uses.
#[derive(Debug, Default)]
pub(crate) struct Tests(BTreeMap<String, Found>);

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Found {
    /// How many tests share the name.
    pub(crate) count: usize,
    /// Whether one of them is ignored.
    pub(crate) ignored: bool,
}

impl Tests {
    pub(crate) fn add(&mut self, name: String, ignored: bool) {
        let found = self.0.entry(name).or_default();
        found.count += 1;
        found.ignored |= ignored;
    }

    pub(crate) fn find(&self, name: &str) -> Found {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Tests with the same last segment, for hints.
    pub(crate) fn namesakes(&self, name: &str) -> Vec<&str> {
        let last = last_segment(name);
        self.0.keys().map(String::as_str).filter(|known| last_segment(known) == last).collect()
    }
}

/// `agree` of `wire::it::cases::agree`.
pub(crate) fn last_segment(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// What `cargo test --no-run --message-format=json` prints for an executable, and much else that is left out here.
#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

/// Builds the test executables of the workspace and lists their tests.
pub(crate) fn of_the_workspace() -> Result<Tests> {
    let mut build = cargo("test --workspace --no-run --quiet --message-format=json-render-diagnostics");
    let messages = output(&mut build).map_err(|error| {
        hinted(format!("{error:#}"), "make the tests compile first: `cargo test --workspace --no-run`")
    })?;
    let mut tests = Tests::default();
    // Lines that are no artifacts (build scripts, the end of the build) lack the fields of one.
    for artifact in messages.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok()) {
        let Some(executable) = artifact.executable.filter(|_| artifact.profile.test) else {
            continue;
        };
        let manifest = std::fs::read_to_string(&artifact.manifest_path)
            .with_context(|| format!("could not read {}", artifact.manifest_path.display()))?;
        let manifest: Manifest = toml::from_str(&manifest)
            .with_context(|| format!("{} names no package", artifact.manifest_path.display()))?;
        // Only a test of its own in `tests/` stands outside the crate, so only that adds a segment.
        let binary =
            artifact.target.kind.iter().any(|kind| kind == "test").then_some(artifact.target.name.as_str());

        let list = |more: &str| -> Result<Vec<String>> {
            let executable = executable.to_string_lossy();
            let text = output(&mut program(&executable, &format!("--list {more} --format terse")))
                .with_context(|| format!("could not list the tests of {}", artifact.target.name))?;
            Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
        };
        let ignored = list("--ignored")?;
        for path in list("")? {
            let is_ignored = ignored.contains(&path);
            tests.add(name(&manifest.package.name, binary, &path), is_ignored);
        }
    }
    Ok(tests)
}

/// The name of a test in the ledger: crate, integration binary if any, and the path without its `tests` modules.
fn name(package: &str, binary: Option<&str>, path: &str) -> String {
    let krate = match package.strip_prefix("mcp-attune-") {
        Some(short) => short,
        None if package == "mcp-attune" => "attune",
        None => package,
    };
    let path = path.split("::").filter(|segment| *segment != "tests");
    std::iter::once(krate).chain(binary).chain(path).collect::<Vec<_>>().join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_test_by_crate_binary_and_path() {
        assert_eq!(name("mcp-attune-wire", None, "agree::tests::joins_x"), "wire::agree::joins_x");
        assert_eq!(name("mcp-attune-wire", Some("it"), "cases::agree"), "wire::it::cases::agree");
        assert_eq!(name("mcp-attune", None, "tests::x"), "attune::x");
        assert_eq!(name("xtask", None, "tidy::source::tests::x"), "xtask::tidy::source::x");
    }

    #[test]
    fn counts_tests_of_one_name_and_finds_namesakes() {
        let mut tests = Tests::default();
        tests.add("wire::a::x".into(), false);
        tests.add("wire::a::x".into(), true);
        tests.add("wire::b::x".into(), false);
        assert_eq!(tests.find("wire::a::x").count, 2);
        assert!(tests.find("wire::a::x").ignored);
        assert_eq!(tests.find("wire::c::x").count, 0);
        assert_eq!(tests.namesakes("wire::c::x"), ["wire::a::x", "wire::b::x"]);
    }
}
