//! A type name means one thing in the product.
//!
//! 1. What counts are `struct`, `enum` and `trait` in `crates/*/src`, without what is only compiled for tests.
//! 2. A name that is defined more than twice fails; twice is for two crates that mirror each other on purpose.
//! 3. `cargo xtask tidy --names` prints how many definitions share their name with another, and which.

use std::collections::{BTreeMap, BTreeSet};

use kit::report::Finding;

/// How often a name may be defined.
const MAX_DEFINITIONS: usize = 2;

/// The types of the product, by name, each with the places where the name is defined.
pub(crate) struct TypeNames(BTreeMap<String, Vec<String>>);

impl TypeNames {
    pub(crate) fn collect(files: &[(String, String)]) -> Self {
        let tests = modules_of_tests(files);
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, text) in files.iter().filter(|(path, _)| is_product(path) && !is_under(path, &tests)) {
            for (line, name) in definitions(text) {
                names.entry(name.to_owned()).or_default().push(format!("{path}:{line}"));
            }
        }
        Self(names)
    }

    pub(crate) fn findings(&self) -> Vec<Finding> {
        let too_many = self.0.iter().filter(|(_, places)| places.len() > MAX_DEFINITIONS);
        let finding = |(name, places): (&String, &Vec<String>)| {
            let what = format!("`{name}` is the name of {} types: {}", places.len(), places.join(", "));
            Finding::new(
                places[0].clone(),
                what,
                "say in each name what the type is, as ARCHITECTURE.md does",
            )
        };
        too_many.map(finding).collect()
    }

    /// How many definitions there are, how many share their name, and which names these are.
    pub(crate) fn summary(&self) -> String {
        let total: usize = self.0.values().map(Vec::len).sum();
        let shared: Vec<_> = self.0.iter().filter(|(_, places)| places.len() > 1).collect();
        let sharing: usize = shared.iter().map(|(_, places)| places.len()).sum();
        let share = 100.0 * sharing as f64 / total.max(1) as f64;
        let mut text = format!("{sharing} of {total} types share their name with another ({share:.1} %)\n");
        for (name, places) in shared {
            text += &format!("  {name}: {}\n", places.join(", "));
        }
        text
    }
}

fn is_product(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs")
}

fn is_under(path: &str, tests: &BTreeSet<String>) -> bool {
    tests.iter().any(|module| {
        path.strip_prefix(module.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    })
}

/// The modules in files of their own that are only compiled for tests, as paths without `.rs`.
fn modules_of_tests(files: &[(String, String)]) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for (path, text) in files.iter().filter(|(path, _)| is_product(path)) {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = match file {
            "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
            _ => path.trim_end_matches(".rs").to_owned(),
        };
        let mut for_tests = false;
        for line in text.lines().map(str::trim) {
            if let Some(name) = module_line(line).filter(|_| for_tests) {
                modules.insert(format!("{folder}/{name}"));
            }
            for_tests = line == "#[cfg(test)]" || (for_tests && line.starts_with("#["));
        }
    }
    modules
}

/// The name in a line such as `pub mod name;`.
pub(super) fn module_line(line: &str) -> Option<&str> {
    without_visibility(line).strip_prefix("mod ")?.strip_suffix(';')
}

/// The definitions in a file, with their lines.
fn definitions(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut for_tests, mut skips_to) = (false, None::<String>);
    text.lines().enumerate().filter_map(move |(at, line)| {
        if let Some(end) = &skips_to {
            if line == end {
                skips_to = None;
            }
            return None;
        }
        let begun = line.trim();
        if for_tests && without_visibility(begun).starts_with("mod ") && begun.ends_with('{') {
            let indent = line.len() - line.trim_start().len();
            skips_to = Some(format!("{}}}", " ".repeat(indent)));
        }
        for_tests = begun == "#[cfg(test)]" || (for_tests && begun.starts_with("#["));
        Some((at + 1, definition(begun)?))
    })
}

fn definition(line: &str) -> Option<&str> {
    let line = without_visibility(line);
    let rest = ["struct ", "enum ", "trait "].iter().find_map(|kind| line.strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| name.starts_with(char::is_uppercase))
}

fn without_visibility(line: &str) -> &str {
    let Some(rest) = line.strip_prefix("pub") else { return line };
    let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
    rest.strip_prefix(' ').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[(&str, &str)]) -> TypeNames {
        let owned: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        TypeNames::collect(&owned)
    }

    #[test]
    fn a_name_that_three_types_have_is_found() {
        let one = ("crates/a/src/one.rs", "pub struct Place;\npub(crate) enum Kind {}\n");
        let two = ("crates/b/src/two.rs", "    trait Place {\nstruct Other<T>(T);\n");
        let twice = names(&[one, two]);
        assert!(twice.findings().is_empty());
        assert!(
            twice.summary().starts_with("2 of 4 types share their name with another (50.0 %)\n  Place: ")
        );
        let three = ("crates/c/src/lib.rs", "enum Place {}\n");
        let findings = names(&[one, two, three]).findings();
        assert_eq!(findings.len(), 1);
        assert!(findings[0].what.contains("`Place` is the name of 3 types"), "{}", findings[0].what);
    }

    #[test]
    fn what_is_only_for_tests_does_not_count() {
        let inline = "struct Here;\n#[cfg(test)]\nmod tests {\n    struct Here;\n}\nstruct There;\n";
        let declared = "#[cfg(test)]\nmod proof;\nmod real;\n";
        let files = [
            ("crates/a/src/lib.rs", inline),
            ("crates/a/src/x/mod.rs", declared),
            ("crates/a/src/x/proof/deep.rs", "struct Here;\n"),
            ("crates/a/src/x/real.rs", "struct Real;\n"),
            ("crates/a/tests/it/main.rs", "struct Here;\n"),
        ];
        assert_eq!(names(&files).summary(), "0 of 3 types share their name with another (0.0 %)\n");
    }
}
