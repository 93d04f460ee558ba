//! The pure crates stay pure, and the wire crate small: read off `cargo tree`.

use std::collections::BTreeSet;

use anyhow::Result;

use kit::report::{Finding, conclude};
use kit::shell::{cargo, output};

/// The crates that only decide.
const PURE: &[&str] =
    &["mcp-attune-wire", "mcp-attune", "mcp-attune-format", "mcp-attune-shape", "mcp-attune-bundle"];

/// What a crate that does I/O, keeps time or draws random numbers would bring along.
const IMPURE: &[&str] = &["tokio", "hyper", "mio", "async-std", "socket2", "getrandom"];

/// What comes along all the same, and why no outcome depends on it.
const HARMLESS: &[(&str, &str)] = &[
    // The reader of JSON Schema seeds its hash tables with it, as the standard library does.
    ("mcp-attune-shape", "getrandom"),
];

/// The wire crate is for anyone to use, so it may cost its users only a handful of crates, counted in depth.
const SMALL: (&str, usize) = ("mcp-attune-wire", 6);

/// What somebody compiles who needs a part of Attune only, and how many crates that may be, its own among them.
const COMPILED: &[(&str, &str, usize)] =
    &[("mcp-attune", "", 80), ("mcp-attune-rmcp", "--no-default-features --features server", 120)];

pub(crate) fn run() -> Result<()> {
    let mut findings = Vec::new();
    for (package, features, most) in COMPILED {
        let arguments = format!("tree -p {package} {features} -e normal,build --prefix none --format {{p}}");
        findings.extend(compiled(package, features, *most, &output(&mut cargo(&arguments))?));
    }
    for package in PURE {
        let arguments = format!("tree -p {package} -e normal --target all --prefix none --format {{p}}");
        findings.extend(check(package, &output(&mut cargo(&arguments))?));
    }
    conclude(
        "the dependencies of the pure crates",
        "`cargo tree -p NAME -e normal` shows who asks for what",
        &findings,
    )
}

/// Judges how many crates are compiled, by what `cargo tree` printed.
fn compiled(package: &str, features: &str, most: usize, tree: &str) -> Option<Finding> {
    let named = |line: &'_ str| -> Option<(String, String)> {
        let mut words = line.split(' ');
        Some((words.next().filter(|name| !name.is_empty())?.to_owned(), words.next()?.to_owned()))
    };
    let crates: BTreeSet<_> = tree.lines().filter_map(named).collect();
    (crates.len() > most).then(|| {
        Finding::new(
            format!("{package} {features}").trim_end(),
            format!("compiles {} crates, and may compile {most}", crates.len()),
            "move what needs the new ones behind a feature or into another crate",
        )
    })
}

/// Judges what `cargo tree --prefix none --format {p}` printed for a package.
fn check(package: &str, tree: &str) -> Vec<Finding> {
    let dependencies: BTreeSet<&str> =
        tree.lines().filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty()).collect();
    let mut findings = Vec::new();
    let harmless = |name: &str| HARMLESS.contains(&(package, name));
    for name in IMPURE.iter().filter(|name| dependencies.contains(**name) && !harmless(name)) {
        findings.push(Finding::new(
            package,
            format!("depends on `{name}`, which is not pure"),
            format!(
                "`cargo tree -p {package} -e normal -i {name}` shows the way; cut it or switch a feature off"
            ),
        ));
    }
    // The package stands in its own tree.
    let count = dependencies.iter().filter(|name| **name != package).count();
    if package == SMALL.0 && count > SMALL.1 {
        findings.push(Finding::new(
            package,
            format!("has {count} dependencies, and may have {}", SMALL.1),
            "write the few lines that are needed, or move what needs the dependency to another crate",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_crates_that_are_compiled() {
        let tree = "a v1\nb v1\nb v2\na v1 (*)\n\n";
        assert!(compiled("a", "", 3, tree).is_none());
        assert!(compiled("a", "", 2, tree).is_some());
    }

    #[test]
    fn refuses_a_pure_crate_with_a_runtime() {
        let tree = "mcp-attune v0.1.0 (/x)\noxilangtag v0.1.5\ntokio v1.50.0\n";
        let findings = check("mcp-attune", tree);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].what.contains("`tokio`"));
    }

    #[test]
    fn what_is_harmless_is_so_for_one_crate() {
        let tree = "base64 v0.23.0\ngetrandom v0.3.4\n";
        assert_eq!(check("mcp-attune-shape", tree), []);
        assert_eq!(check("mcp-attune", tree).len(), 1);
    }

    #[test]
    fn refuses_a_wire_crate_that_grew() {
        let tree = "mcp-attune-wire v0.1.0\na v1\nb v1\nc v1\nd v1\ne v1\nf v1\ng v1\ng v1\n";
        assert_eq!(check("mcp-attune-wire", tree)[0].what, "has 7 dependencies, and may have 6");
    }

    #[test]
    fn accepts_a_small_pure_tree() {
        assert_eq!(
            check("mcp-attune-wire", "mcp-attune-wire v0.1.0 (/x)\nbase64 v0.23.0\nbase64 v0.23.0 (*)\n"),
            []
        );
    }
}
