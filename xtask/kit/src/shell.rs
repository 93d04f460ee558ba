//! Starting other programs, in the root of the workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::report::hinted;

/// The root of the workspace.
pub fn root() -> &'static Path {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    kit.ancestors().nth(2).unwrap_or(kit)
}

/// The cargo that started us, so that every step uses one toolchain and one set of artefacts.
pub fn cargo(arguments: &str) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments.split_whitespace()).current_dir(root());
    // What cargo told us about this package is not for others: build scripts that look at it (ring's) would run again,
    // and all that depends on them, whenever a build from here follows one from a terminal.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Any other program, found on the path.
pub fn program(name: &str, arguments: &str) -> Command {
    let mut command = Command::new(name);
    command.args(arguments.split_whitespace()).current_dir(root());
    command
}

/// Runs a command with its output on ours; fails with `hint` when the command does.
pub fn run(command: &mut Command, hint: &str) -> Result<()> {
    let line = describe(command);
    println!("    $ {line}");
    let status = command.status().with_context(|| format!("could not start `{line}`"))?;
    if status.success() {
        return Ok(());
    }
    Err(hinted(format!("`{line}` failed ({status})"), hint))
}

/// Runs a command and returns what it printed; its complaints go to our stderr.
pub fn output(command: &mut Command) -> Result<String> {
    let line = describe(command);
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("could not start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({})", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed something that is not UTF-8"))
}

/// Builds something with cargo and returns where its executable is.
pub fn built(arguments: &str) -> Result<PathBuf> {
    built_by(&mut cargo(arguments))
}

/// The same, by a cargo that was told more.
pub fn built_by(cargo: &mut Command) -> Result<PathBuf> {
    executables(cargo)?.pop().context("cargo built no executable")
}

/// Builds programs of the workspace in one go, so that they share one set of artefacts, and returns where they are.
pub fn programs<const N: usize>(packages: &str, names: [&str; N]) -> Result<[PathBuf; N]> {
    let built = executables(&mut cargo(&format!("build --bins {packages}")))?;
    let named = |name: &str| built.iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
    let found = names.map(|name| named(name).cloned());
    match found.iter().position(Option::is_none) {
        Some(missing) => bail!("cargo built no `{}`", names[missing]),
        None => Ok(found.map(Option::unwrap_or_default)),
    }
}

/// Builds an example of a crate, and returns where it is.
pub fn example(package: &str, name: &str) -> Result<PathBuf> {
    let built = executables(&mut cargo(&format!("build -p {package} --example {name}")))?;
    let is_it = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == name);
    built.into_iter().find(is_it).with_context(|| format!("cargo built no example `{name}`"))
}

fn executables(cargo: &mut Command) -> Result<Vec<PathBuf>> {
    #[derive(Deserialize)]
    struct Artifact {
        executable: Option<PathBuf>,
    }
    let messages = output(cargo.arg("--message-format=json-render-diagnostics"))?;
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    Ok(artifacts.filter_map(|artifact| artifact.executable).collect())
}

/// Whether a command starts and succeeds; its output is thrown away.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The command as one would type it: the program's name without its folder, then the arguments.
fn describe(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_stem().unwrap_or_default();
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        assert_eq!(describe(&program("/usr/bin/rustup", "target add wasm32")), "rustup target add wasm32");
    }

    #[test]
    fn a_failed_command_is_an_error() {
        assert!(run(&mut program("false", ""), "none").is_err());
        assert!(output(&mut program("false", "")).is_err());
        assert!(output(&mut program("no-such-program", "")).is_err());
        assert!(!succeeds(&mut program("false", "")));
        assert!(succeeds(&mut cargo("--version")));
    }
}
