//! ARCHITECTURE.md lists every module of a crate once, in the order of its `lib.rs`.
//!
//! A section that begins with `### \`crates/NAME\`` and has a table is compared with `crates/NAME/src/lib.rs`. A row may name
//! several modules. Where a section names `parent::child`, the children of that parent are compared with its `mod.rs`, in the
//! order of its `mod` lines. Each claim under "Invariants" says what holds it: a test, or a step of CI.

use std::collections::BTreeMap;

use super::names::module_line;
use kit::report::Finding;

const DOCUMENT: &str = "ARCHITECTURE.md";
const HINT: &str = "give every module one place in the table, in the order of the `mod` lines";

/// Compares the tables of the document with the modules that there are.
pub(crate) fn check(files: &[(String, String)]) -> Vec<Finding> {
    let texts: BTreeMap<_, _> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let Some(document) = texts.get(DOCUMENT) else { return Vec::new() };
    let mut findings: Vec<_> = claims_alone(document).collect();
    for (name, listed) in sections(document) {
        for (parent, listed) in by_parent(&listed) {
            let file = match parent {
                "" => format!("crates/{name}/src/lib.rs"),
                parent => format!("crates/{name}/src/{parent}/mod.rs"),
            };
            let Some(text) = texts.get(file.as_str()) else {
                findings.push(Finding::new(DOCUMENT, format!("{file} is not there"), HINT));
                continue;
            };
            findings.extend(compare(&file, &listed, &modules(text)));
        }
    }
    findings
}

/// The claims among the invariants that name nothing which holds them.
fn claims_alone(document: &str) -> impl Iterator<Item = Finding> {
    let invariants =
        document.split("\n## ").find(|section| section.starts_with("Invariants")).unwrap_or_default();
    let claims = invariants.split("\n- **").skip(1).filter(|claim| !claim.contains("Held by "));
    claims.map(|claim| {
        let name = claim.split("**").next().unwrap_or(claim);
        let what = format!("nothing is said to hold the invariant \"{name}\"");
        Finding::new(DOCUMENT, what, "end it with `Held by` and a test or a step of CI that would fail")
    })
}

/// The sections about crates that have a table, each with the modules in the order in which it names them.
fn sections(document: &str) -> Vec<(&str, Vec<&str>)> {
    let sections = document.split("\n### ").skip(1);
    let section = |text| -> Option<(&str, Vec<&str>)> {
        let name = str::strip_prefix(text, "`crates/")?.split('`').next()?;
        let text = text.split("\n## ").next().unwrap_or(text);
        let cells =
            text.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
        let listed: Vec<_> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        (!listed.is_empty()).then_some((name, listed))
    };
    sections.filter_map(section).collect()
}

/// What is listed, by the parent that it is a child of; the crate itself has an empty name.
fn by_parent<'a>(listed: &[&'a str]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut parents: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for name in listed {
        let (parent, child) = name.split_once("::").unwrap_or(("", name));
        parents.entry(parent).or_default().push(child);
    }
    parents
}

/// The modules that a file declares, but for those of tests.
fn modules(text: &str) -> Vec<&str> {
    let mut for_tests = false;
    let mut modules = Vec::new();
    for line in text.lines() {
        modules.extend(module_line(line).filter(|_| !for_tests));
        for_tests = line == "#[cfg(test)]";
    }
    modules
}

fn compare(file: &str, listed: &[&str], declared: &[&str]) -> Option<Finding> {
    let place = || DOCUMENT.to_owned();
    if let Some(missing) = declared.iter().find(|name| !listed.contains(name)) {
        return Some(Finding::new(place(), format!("the module `{missing}` of {file} has no row"), HINT));
    }
    if let Some(gone) = listed.iter().find(|name| !declared.contains(name)) {
        return Some(Finding::new(place(), format!("{file} has no module `{gone}`"), HINT));
    }
    if listed.len() > declared.len() {
        return Some(Finding::new(place(), format!("a module of {file} is listed twice"), HINT));
    }
    let (listed, declared) = listed.iter().zip(declared).find(|(listed, declared)| listed != declared)?;
    let what = format!("`{listed}` is listed where {file} has `{declared}`");
    Some(Finding::new(place(), what, HINT))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a table of these rows, where the crate has the modules `one`, `two` and, in `two`, `deep`.
    fn found(rows: &str) -> Vec<String> {
        let document = format!(
            "# A\n\n### `crates/x`: text\n\n| module | what |\n|---|---|\n{rows}\n## Next\n\n| `no` |\n"
        );
        let files = [
            (DOCUMENT, document.as_str()),
            ("crates/x/src/lib.rs", "pub mod one;\nmod two;\n#[cfg(test)]\nmod tests;\n"),
            ("crates/x/src/two/mod.rs", "mod deep;\n"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        check(&files).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn an_invariant_names_what_holds_it() {
        let document = "# A\n\n## Invariants: none\n\n- **Kept.** Text.\n  Held by `a`.\n- **Alone.** Text.\n\n## Next\n\n- **x**\n";
        let alone: Vec<_> = claims_alone(document).map(|finding| finding.what).collect();
        assert_eq!(alone, ["nothing is said to hold the invariant \"Alone.\""]);
    }

    #[test]
    fn every_module_stands_once_and_in_its_place() {
        assert_eq!(found("| `one`, `two` (private) | x |\n"), [""; 0]);
        assert_eq!(found("| `one` | x |\n| `two` | x |\n| `two::deep` | x |\n"), [""; 0]);
        assert_eq!(found("| `one` | x |\n"), ["the module `two` of crates/x/src/lib.rs has no row"]);
        assert_eq!(
            found("| `two` | x |\n| `one` | x |\n"),
            ["`two` is listed where crates/x/src/lib.rs has `one`"]
        );
        assert_eq!(
            found("| `one`, `two`, `two` | x |\n"),
            ["a module of crates/x/src/lib.rs is listed twice"]
        );
        assert_eq!(found("| `one`, `two`, `old` | x |\n"), ["crates/x/src/lib.rs has no module `old`"]);
        let nested = found("| `one`, `two`, `two::other` | x |\n");
        assert_eq!(nested, ["the module `deep` of crates/x/src/two/mod.rs has no row"]);
    }
}
