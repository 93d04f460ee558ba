//! `cargo xtask mutants [MODULE]`: changes of the core, or of another crate, that no test notices.
//!
//! 1. cargo-mutants changes one thing at a time in one module of `mcp-attune` (a comparison, a sum, what a function returns),
//!    builds, and runs tests. A change with which they still pass is one that nobody tests: it is missed.
//! 2. Only the tests of that module run, so that a change takes seconds: the unit tests in the module, and those of a target
//!    of its own (`tests/MODULE.rs` or `tests/MODULE/main.rs` of the crate) where there is one. The tests of that target stand
//!    in a module of the same name, so that one filter picks both.
//! 3. The name of a crate in [`CRATES`] stands for all of that crate, with all its tests.
//! 4. It works on a copy of the tree. What it builds of other people's crates is kept in `target/mutants` for the next time.

use std::path::Path;

use anyhow::Result;

use kit::report::hinted;
use kit::shell::{self, cargo};

const PACKAGE: &str = "mcp-attune";
const FOLDER: &str = "crates/mcp-attune";
/// The modules that are gone through where none is named: every change in them should be noticed.
const MODULES: &[&str] = &["exchange", "session"];
/// The crates beside the core that can be named, without `mcp-attune-`.
const CRATES: &[&str] = &["http1"];
/// Everything that it makes.
const OUTPUT: &str = "target/mutants";

/// Whether these are the words after the command: one module or crate, or none.
pub(crate) fn accepts(words: &[&str]) -> bool {
    match words {
        [] => true,
        [module] => !module.starts_with('-'),
        _ => false,
    }
}

/// Goes through the module that the command line names, or through all of the list.
pub(crate) fn run() -> Result<()> {
    if !shell::succeeds(&mut cargo("mutants --version")) {
        return Err(hinted(
            "cargo-mutants is not here",
            "install it: `cargo install --locked cargo-mutants`",
        ));
    }
    let named = std::env::args().nth(2);
    let modules = named.as_deref().map_or(MODULES.to_vec(), |module| vec![module]);
    modules.into_iter().try_for_each(look)
}

fn look(module: &str) -> Result<()> {
    let exists = |path: &str| shell::root().join(FOLDER).join(path).exists();
    let Some(arguments) = arguments(module, &exists) else {
        let crates = CRATES.join(", ");
        let hint = format!(
            "name a module in {FOLDER}/src, such as `session` or `language/lookup`, or a crate: {crates}"
        );
        return Err(hinted(format!("there is no module `{module}`"), hint));
    };
    let output = shell::root().join(OUTPUT);
    let mut mutants = cargo("mutants");
    // Before what is said of the module, which ends with what the tests are given.
    mutants.arg("--output").arg(&output).args(arguments).env("CARGO_TARGET_DIR", output.join("target"));
    // Nobody debugs a mutant, and what debuggers need takes time to build.
    mutants.env("CARGO_PROFILE_DEV_DEBUG", "none");
    let missed = output.join("mutants.out/missed.txt");
    let hint = format!("write a test that fails with each change in {}", missed.display());
    shell::run(&mut mutants, &hint)
}

/// What cargo-mutants is told: the files of the module, and its tests; or the crate. `None` if there is no such module.
fn arguments(module: &str, exists: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
    if CRATES.contains(&module) {
        return Some(
            ["--package", &format!("mcp-attune-{module}"), "--colors", "never"].map(str::to_owned).into(),
        );
    }
    let files = [format!("src/{module}.rs"), format!("src/{module}/mod.rs")];
    if Path::new(module).is_absolute() || module.contains("..") || !files.iter().any(|file| exists(file)) {
        return None;
    }
    let own = module.replace('/', "_");
    let has_own = [format!("tests/{own}.rs"), format!("tests/{own}/main.rs")].iter().any(|file| exists(file));
    // What is handed to every call of cargo, so that no other target is built either.
    let targets = ["--cargo-arg=--lib".to_owned()].into_iter();
    let targets = targets.chain(has_own.then(|| format!("--cargo-arg=--test={own}")));
    let filter = ["--".to_owned(), format!("{}::", module.replace('/', "::"))];
    let patterns = [format!("{FOLDER}/src/{module}.rs"), format!("{FOLDER}/src/{module}/**")];
    let [file, folder] = patterns.map(|pattern| ["--file".to_owned(), pattern]);
    let package = ["--package", PACKAGE, "--colors", "never"].map(str::to_owned);
    Some(package.into_iter().chain(file).chain(folder).chain(targets).chain(filter).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(module: &str, files: &[&str]) -> Option<String> {
        arguments(module, &|path| files.contains(&path)).map(|words| words.join(" "))
    }

    #[test]
    fn a_module_runs_its_unit_tests_and_a_target_of_its_own() {
        let unit = told("session", &["src/session/mod.rs"]).unwrap();
        assert!(
            unit.ends_with("--file crates/mcp-attune/src/session/** --cargo-arg=--lib -- session::"),
            "{unit}"
        );
        let own = told("session", &["src/session.rs", "tests/session/main.rs"]).unwrap();
        assert!(own.ends_with("--cargo-arg=--lib --cargo-arg=--test=session -- session::"), "{own}");
        let inner = told("language/lookup", &["src/language/lookup.rs"]).unwrap();
        assert!(inner.ends_with("--cargo-arg=--lib -- language::lookup::"), "{inner}");
    }

    #[test]
    fn a_crate_is_gone_through_as_a_whole() {
        assert_eq!(told("http1", &[]).as_deref(), Some("--package mcp-attune-http1 --colors never"));
    }

    #[test]
    fn refuses_what_is_no_module() {
        assert_eq!(told("gone", &["src/session.rs"]), None);
        assert_eq!(told("../wire/src/json", &["src/../wire/src/json.rs"]), None);
        assert!(accepts(&[]) && accepts(&["session"]));
        assert!(!accepts(&["--all"]) && !accepts(&["session", "task"]));
    }
}
