//! Every dependency's licence can be met by the list in deny.toml.
//!
//! cargo-deny checks this too, and more, and CI runs it where it is installed. It is no requirement: neither cargo nor
//! rustup brings it along, so a new machine would first have to compile it with all that it depends on, and `.ci/run` needs
//! cargo and nothing else. A licence that the project cannot live with must be found everywhere, so this small reading of the same
//! file stays.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::Deserialize;

use kit::report::{Finding, conclude};
use kit::shell::{cargo, output, root};

/// The part of deny.toml that is read here.
#[derive(Deserialize)]
struct Deny {
    licenses: Licenses,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

/// The part of `cargo metadata` that is read here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
}

pub(crate) fn run() -> Result<()> {
    let deny = std::fs::read_to_string(root().join("deny.toml")).context("could not read deny.toml")?;
    let deny: Deny = toml::from_str(&deny).context("deny.toml: could not find `licenses.allow`")?;
    let metadata: Metadata = serde_json::from_str(&output(&mut cargo("metadata --format-version 1"))?)
        .context("could not read what `cargo metadata` printed")?;
    conclude(
        "licences",
        "allow the licence in deny.toml if the project can live with it, or use another crate",
        &check(&metadata.packages, &deny.licenses.allow),
    )
}

fn check(packages: &[Package], allow: &BTreeSet<String>) -> Vec<Finding> {
    packages
        .iter()
        .filter_map(|package| {
            let place = format!("{} {}", package.name, package.version);
            let Some(licence) = &package.license else {
                let hint =
                    "look into the crate's licence file, and prefer a crate that names an SPDX licence";
                return Some(Finding::new(place, "names no licence", hint));
            };
            match satisfied(licence, allow) {
                Some(true) => None,
                Some(false) => Some(Finding::new(
                    place,
                    format!("its licence `{licence}` is not covered by the list in deny.toml"),
                    "use another crate, or add the licence there if the project can live with it",
                )),
                None => Some(Finding::new(
                    place,
                    format!("its licence `{licence}` is not an SPDX expression"),
                    "tell the crate's authors, and use another crate",
                )),
            }
        })
        .collect()
}

/// Whether an SPDX expression can be met with the allowed licences; `None` when it cannot be read.
fn satisfied(expression: &str, allow: &BTreeSet<String>) -> Option<bool> {
    // The slash is how crates said OR before they said it in SPDX.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut reader = Reader { words: spaced.split_whitespace().peekable(), allow };
    let met = reader.any()?;
    reader.words.next().is_none().then_some(met)
}

struct Reader<'a, Words: Iterator<Item = &'a str>> {
    words: std::iter::Peekable<Words>,
    allow: &'a BTreeSet<String>,
}

impl<'a, Words: Iterator<Item = &'a str>> Reader<'a, Words> {
    /// `all OR all OR …`
    fn any(&mut self) -> Option<bool> {
        let mut met = self.all()?;
        while self.words.next_if_eq(&"OR").is_some() {
            met |= self.all()?;
        }
        Some(met)
    }

    /// `one AND one AND …`
    fn all(&mut self) -> Option<bool> {
        let mut met = self.one()?;
        while self.words.next_if_eq(&"AND").is_some() {
            met &= self.one()?;
        }
        Some(met)
    }

    /// `( any )`, `LICENCE` or `LICENCE WITH EXCEPTION`
    fn one(&mut self) -> Option<bool> {
        match self.words.next()? {
            "(" => {
                let met = self.any()?;
                self.words.next_if_eq(&")").map(|_| met)
            }
            ")" | "OR" | "AND" | "WITH" => None,
            licence if self.words.next_if_eq(&"WITH").is_some() => {
                let exception = self.words.next()?;
                Some(self.allow.contains(&format!("{licence} WITH {exception}")))
            }
            licence => Some(self.allow.contains(licence)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow() -> BTreeSet<String> {
        ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into()
    }

    #[test]
    fn accepts_what_the_list_can_meet() {
        for licence in [
            "MIT",
            "MIT OR GPL-3.0-only",
            "GPL-3.0-only/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR GPL-2.0-only",
            "GPL-2.0-only OR MIT AND Unicode-3.0",
        ] {
            assert_eq!(satisfied(licence, &allow()), Some(true), "{licence}");
        }
    }

    #[test]
    fn refuses_what_the_list_cannot_meet() {
        for licence in [
            "GPL-3.0-only",
            "Apache-2.0",
            "MIT AND GPL-3.0-only",
            "MIT WITH LLVM-exception",
            "(MIT OR Apache-2.0) AND GPL-3.0-only",
        ] {
            assert_eq!(satisfied(licence, &allow()), Some(false), "{licence}");
        }
    }

    #[test]
    fn refuses_what_is_no_expression() {
        for licence in ["", "MIT MIT", "MIT OR", "(MIT", "MIT)", "OR MIT", "MIT WITH"] {
            assert_eq!(satisfied(licence, &allow()), None, "{licence}");
        }
    }

    #[test]
    fn a_finding_names_the_crate_and_its_licence() {
        let package = |license: Option<&str>| Package {
            name: "left-pad".into(),
            version: "1.0.0".into(),
            license: license.map(str::to_owned),
        };
        let packages =
            [package(Some("MIT")), package(Some("GPL-3.0-only")), package(None), package(Some("ask me"))];
        let what: Vec<String> = check(&packages, &allow()).into_iter().map(|finding| finding.what).collect();
        assert_eq!(
            what,
            [
                "its licence `GPL-3.0-only` is not covered by the list in deny.toml",
                "names no licence",
                "its licence `ask me` is not an SPDX expression",
            ]
        );
    }
}
