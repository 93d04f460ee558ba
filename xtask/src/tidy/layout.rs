//! How crates are laid out: one way to write a module with modules inside, and the same lints in every library.

use kit::report::Finding;

/// What no library of the product may do outside of its tests. Cargo cannot inherit lints that hold outside of tests only,
/// so each library has these lines itself, and none of them can differ.
const LIBRARY_LINTS: &str = "\
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]
";

/// Finds modules that are a file beside their folder, and libraries with other lints.
pub(crate) fn check(files: &[(String, String)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in files {
        let Some(stem) = path.strip_suffix(".rs") else { continue };
        let inside = format!("{stem}/");
        if files.iter().any(|(other, _)| other.starts_with(&inside) && other.ends_with(".rs")) {
            let hint = format!("move it to {stem}/mod.rs");
            findings.push(Finding::new(path, "stands beside the folder of its modules", hint));
        }
        let is_library = path.starts_with("crates/") && path.ends_with("/src/lib.rs");
        if is_library && !text.contains(LIBRARY_LINTS) {
            let hint = "copy them from crates/mcp-attune-wire/src/lib.rs";
            findings.push(Finding::new(path, "does not have the lints of all libraries", hint));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        check(&files).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_module_with_modules_inside_is_a_folder() {
        assert_eq!(places(&[("a/src/b.rs", ""), ("a/src/b/c.rs", "")]), ["a/src/b.rs"]);
        assert_eq!(places(&[("a/src/b/mod.rs", ""), ("a/src/b/c.rs", "")]), [""; 0]);
        // Snapshots and other data may stand in a folder beside the file that they belong to.
        assert_eq!(places(&[("a/src/b.rs", ""), ("a/src/b/c.txt", ""), ("a/src/bc/d.rs", "")]), [""; 0]);
    }

    #[test]
    fn every_library_has_the_same_lints() {
        let library = "crates/a/src/lib.rs";
        assert_eq!(places(&[(library, LIBRARY_LINTS)]), [""; 0]);
        assert_eq!(places(&[(library, "")]), [library]);
        let fewer = LIBRARY_LINTS.replace(",\n        clippy::string_slice", "");
        assert_eq!(places(&[(library, &fewer)]), [library]);
        assert_eq!(places(&[("xtask/kit/src/lib.rs", ""), ("crates/a/src/main.rs", "")]), [""; 0]);
    }
}
