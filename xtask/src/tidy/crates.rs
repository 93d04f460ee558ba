//! A crate's folder has the name of its package.

use serde::Deserialize;

use kit::report::Finding;

#[derive(Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

/// Judges `crates/FOLDER/Cargo.toml`, and leaves all other files alone.
pub(crate) fn check(path: &str, text: &str) -> Option<Finding> {
    let folder = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    match toml::from_str::<Manifest>(text) {
        Err(_) => Some(Finding::new(path, "names no package", "give it `package.name`")),
        Ok(manifest) if manifest.package.name != folder => {
            let name = manifest.package.name;
            Some(Finding::new(
                path,
                format!("the folder `{folder}` holds the package `{name}`"),
                format!("rename the folder to `crates/{name}`"),
            ))
        }
        Ok(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_folder_that_is_named_unlike_its_package() {
        let text = "[package]\nname = 'mcp-attune-wire'\n";
        let finding = check("crates/wire/Cargo.toml", text).unwrap();
        assert_eq!(finding.what, "the folder `wire` holds the package `mcp-attune-wire`");
        assert_eq!(check("crates/mcp-attune-wire/Cargo.toml", text), None);
        assert_eq!(check("xtask/Cargo.toml", text), None);
        assert!(check("crates/wire/Cargo.toml", "").is_some());
    }
}
