//! The server of a bundle, for commands that run one.
//!
//! 1. A folder is used where it is; an archive is unpacked into a folder of its own, which is gone when the command ends.
//! 2. The command is the manifest's, with its variables filled in, and runs in the bundle's folder. A program that is part of
//!    the bundle is that one, whatever PATH has.
//! 3. What the user can set comes from `--setting`, and what should not stand on a command line, where others see it, from
//!    the environment: `ATTUNE_SETTING_API_KEY` for `api_key`.
//! 4. The locale files are the bundle's, and its default locale is the language of the server's own texts.

use std::path::{Path, PathBuf};

use mcp_attune::language::Tag;
use mcp_attune_bundle::{
    BundleFileName, BundleLaunchCommand, BundleLaunchContext, BundleLaunchError, Localization, Manifest,
    Platform,
};
use mcp_attune_files::LocaleFilePattern;
use mcp_attune_files::bundle::Bundle;
use mcp_attune_gateway::config::{Config, UpstreamConfig, UpstreamTarget};
use tempfile::TempDir;

use crate::exit::hinted;
use crate::text::quoted;

/// The bundle on a command line.
#[derive(clap::Args)]
pub(crate) struct BundleServerArgs {
    /// A bundle whose server it is, with its translations: a folder or a .mcpb file
    #[arg(long, value_name = "PATH", conflicts_with = "command")]
    bundle: Option<PathBuf>,
    /// A setting of the bundle, as KEY=VALUE; several for one that is a list. Secrets belong into the environment, as
    /// `ATTUNE_SETTING_KEY`
    #[arg(long, value_name = "KEY=VALUE", requires = "bundle")]
    setting: Vec<String>,
}

/// A bundle whose server can be started. Keep it until the server ended: an archive's folder is gone with it.
pub(crate) struct RunnableBundle {
    pub(crate) upstream: UpstreamConfig,
    locales: Option<(LocaleFilePattern, Tag)>,
    _unpacked: Option<TempDir>,
}

impl BundleServerArgs {
    pub(crate) fn has_bundle(&self) -> bool {
        self.bundle.is_some()
    }

    /// Makes the bundle ready, where one is named.
    pub(crate) fn prepare(&self) -> anyhow::Result<Option<RunnableBundle>> {
        self.bundle.as_deref().map(|path| prepare_bundle(path, &self.setting)).transpose()
    }
}

fn prepare_bundle(path: &Path, settings: &[String]) -> anyhow::Result<RunnableBundle> {
    let bundle =
        Bundle::open(path).map_err(|why| hinted(format!("{}: {why}", path.display()), why.hint()))?;
    let (folder, unpacked) = match bundle.folder() {
        Some(folder) => (folder.canonicalize()?, None),
        None => {
            let place = tempfile::Builder::new().prefix("attune-bundle-").tempdir()?;
            let folder = place.path().canonicalize()?.join("bundle");
            bundle.unpack(&folder).map_err(|why| hinted(format!("{}: {why}", path.display()), why.hint()))?;
            (folder, Some(place))
        }
    };
    let manifest = bundle.manifest();
    let upstream = upstream(manifest, &folder, settings)?;
    let locales = manifest.localization.as_ref().and_then(|it| locales(it, &folder));
    Ok(RunnableBundle { upstream, locales, _unpacked: unpacked })
}

impl RunnableBundle {
    /// Puts the bundle's translations into the configuration, where nothing else says what they are.
    pub(crate) fn apply_locales(&self, config: &mut Config, has_locales: bool) {
        let Some((pattern, default)) = &self.locales else { return };
        config.default_language.get_or_insert_with(|| default.clone());
        if let (false, [mount]) = (has_locales, config.mounts.as_mut_slice()) {
            mount.locales.path = pattern.clone();
        }
    }
}

fn upstream(manifest: &Manifest, folder: &Path, settings: &[String]) -> anyhow::Result<UpstreamConfig> {
    let platform = if cfg!(windows) {
        Platform::Win32
    } else if cfg!(target_os = "macos") {
        Platform::Darwin
    } else {
        Platform::Linux
    };
    let home = std::env::home_dir().and_then(|home| home.into_os_string().into_string().ok());
    let directory = folder.to_str().ok_or_else(|| {
        hinted(format!("{} is no text", folder.display()), "move the bundle to a folder whose name is")
    })?;
    let place = BundleLaunchContext { platform, directory: directory.to_owned(), home };
    let set = setting_values(manifest, settings)?;
    let set: Vec<(&str, &str)> = set.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let launch = BundleLaunchCommand::from_manifest(manifest, &place, &set)
        .map_err(|why| hinted(why.to_string(), hint(&why)))?;
    let mut upstream = UpstreamConfig::stdio(program(&launch.command, folder), launch.args);
    if let UpstreamTarget::Stdio(child) = &mut upstream.target {
        child.directory = Some(folder.to_owned());
        child.env = launch.env.into_iter().collect();
    }
    Ok(upstream)
}

/// What the environment says, and the command line on top.
fn setting_values(manifest: &Manifest, settings: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let mut set = Vec::new();
    for setting in settings {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(hinted(format!("--setting {setting} has no `=`"), "write --setting KEY=VALUE"));
        };
        set.push((key.to_owned(), value.to_owned()));
    }
    for setting in &manifest.user_config {
        let named = set.iter().any(|(key, _)| *key == *setting.key);
        let variable = setting_variable(&setting.key);
        if let (false, Ok(value)) = (named, std::env::var(&variable)) {
            set.push((setting.key.to_string(), value));
        }
    }
    Ok(set)
}

/// The variable of the environment that sets something.
fn setting_variable(key: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("ATTUNE_SETTING_{}", key.chars().map(plain).collect::<String>())
}

fn hint(why: &BundleLaunchError) -> String {
    match why {
        BundleLaunchError::NoCommand => "add `server.mcp_config` with a `command` to the manifest".to_owned(),
        BundleLaunchError::Required { key, .. } => {
            let (key, variable) = (quoted(key), setting_variable(key));
            format!("set it with --setting {key}=VALUE, or in the environment as {variable}")
        }
        BundleLaunchError::UnknownVariable { .. } => {
            "known are __dirname, HOME, DESKTOP, DOCUMENTS, DOWNLOADS, pathSeparator and user_config.KEY"
                .to_owned()
        }
        BundleLaunchError::TooLong => "shorten `args` and `env` in the manifest".to_owned(),
        _ => "see `user_config` in the manifest".to_owned(),
    }
}

/// A program of the bundle by its path, any other by its name.
fn program(command: &str, folder: &Path) -> String {
    let own = BundleFileName::parse(command).ok().map(|name| folder.join(name.as_str()));
    let own = own.filter(|path| path.is_file()).and_then(|path| path.into_os_string().into_string().ok());
    own.unwrap_or_else(|| command.to_owned())
}

/// The locale files in the folder, and the language of the manifest's own texts.
fn locales(localization: &Localization, folder: &Path) -> Option<(LocaleFilePattern, Tag)> {
    let path = localization.resources.normalize().ok()?;
    let pattern = LocaleFilePattern::new(&path.with_locale(LocaleFilePattern::LOCALE_PLACEHOLDER)).ok()?;
    Some((pattern.resolve_from(folder), localization.default_locale.clone()))
}
