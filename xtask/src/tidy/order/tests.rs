use super::*;

/// Judges a crate of these files under `crates/x/src`.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let of = |(name, text): &(&str, &str)| (format!("crates/x/src/{name}"), (*text).to_owned());
    let files: Vec<_> = files.iter().map(of).collect();
    check(&files).iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect()
}

#[test]
fn finds_an_import_from_below() {
    for import in [
        "use crate::b::X;",
        "use super::b::X;",
        "use super::{c::Y, b::{self, X}};",
        "pub use crate::b;",
        "use crate::b::*;",
        "use crate::b::inner::X as Z;",
        "fn f() { crate::b::x() }",
        "impl super::b::Trait for Y {}",
    ] {
        let files = [("lib.rs", "mod c;\nmod a;\npub mod b;"), ("a.rs", import), ("b.rs", ""), ("c.rs", "")];
        let expected = "crates/x/src/a.rs:1: `a` uses `b`, which stands below it in crates/x/src/lib.rs";
        assert_eq!(found(&files), [expected], "{import}");
    }
}

#[test]
fn accepts_what_stands_above_and_what_is_the_modules_own() {
    for import in [
        "use crate::c::X;",
        "use super::c::{self, X};",
        "use self::own::X;",
        "use own::X;",
        "fn f() { crate::a::own::x() }",
        "use super::defined_in_the_root;",
        "use b::X;",
        "use ::b::X;",
        "#[cfg(test)]\nmod tests {\n    use crate::b::X;\n}",
        "// use crate::b::X;",
        "/// See [`crate::b`].\nconst A: &str = r\"use crate::b;\";",
    ] {
        let own = format!("{import}\nmod own;");
        let files = [
            ("lib.rs", "mod c;\nmod a;\nmod b;"),
            ("a.rs", &own),
            ("b.rs", ""),
            ("c.rs", ""),
            ("a/own.rs", ""),
        ];
        assert_eq!(found(&files), [""; 0], "{import}");
    }
}

#[test]
fn compares_the_siblings_under_the_nearest_common_parent() {
    let files = [
        ("lib.rs", "mod a;\nmod b;"),
        ("a/mod.rs", "mod one;\nmod two;"),
        ("a/one.rs", "use super::two::X;\nuse crate::b::inner::Y;"),
        ("a/two.rs", "use super::one::X;"),
        ("b.rs", "pub mod inner;\nuse crate::a::two::X;"),
        ("b/inner.rs", "use crate::a::one::X;\nuse super::Z;"),
    ];
    let expected = [
        "crates/x/src/a/one.rs:1: `one` uses `two`, which stands below it in crates/x/src/a/mod.rs",
        "crates/x/src/a/one.rs:2: `a` uses `b`, which stands below it in crates/x/src/lib.rs",
    ];
    assert_eq!(found(&files), expected);
}

#[test]
fn follows_a_name_that_a_parent_imports_or_exports_again() {
    let root = |exported: &str| format!("mod a;\nmod b;\nmod c;\n{exported}");
    for exported in ["pub use b::X;", "use crate::c::Z as X;", "pub use b::*;", "use c as X;"] {
        let root = root(exported);
        let files = [
            ("lib.rs", root.as_str()),
            ("a.rs", "use crate::X;"),
            ("b.rs", "pub struct X;"),
            ("c.rs", "pub struct Z;"),
        ];
        assert_eq!(found(&files).len(), 1, "{exported}");
    }
    for exported in ["pub use other_crate::X;", "struct X;", "pub use X;", "pub use b::Y;", "pub use b::*;"] {
        let root = root(exported);
        let files = [("lib.rs", root.as_str()), ("a.rs", "use crate::X;"), ("b.rs", ""), ("c.rs", "")];
        assert_eq!(found(&files), [""; 0], "{exported}");
    }
}

#[test]
fn reads_modules_that_stand_in_their_parents_file() {
    let files = [
        ("lib.rs", "mod a {\n    use crate::b::X;\n    mod inner;\n}\nmod b {}"),
        ("a/inner.rs", "use crate::b;"),
    ];
    assert_eq!(
        found(&files),
        [
            "crates/x/src/lib.rs:2: `a` uses `b`, which stands below it in crates/x/src/lib.rs",
            "crates/x/src/a/inner.rs:1: `a` uses `b`, which stands below it in crates/x/src/lib.rs",
        ]
    );
}

#[test]
fn says_where_a_module_has_no_file() {
    assert_eq!(found(&[("lib.rs", "mod a;")]), ["crates/x/src/lib.rs: no file has the module `a`"]);
}

#[test]
fn judges_the_crates_of_the_product_and_xtask() {
    assert!(is_root("crates/mcp-attune/src/lib.rs"));
    assert!(is_root("xtask/src/main.rs"));
    assert!(!is_root("interop/fixture/src/lib.rs"));
    assert!(!is_root("crates/mcp-attune/src/language/lib.rs"));
    assert!(!is_root("crates/mcp-attune/src/language.rs"));
}
