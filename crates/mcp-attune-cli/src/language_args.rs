//! The languages of a server, as a command line says them.

use std::path::Path;

use mcp_attune::language::Tag;
use mcp_attune_files::LocaleFilePattern;
use mcp_attune_gateway::config::{Config, MountConfig, TranslateSetting};

use crate::exit::hinted;
use crate::text::quoted;

/// What a command line says of languages.
#[derive(clap::Args)]
pub(crate) struct ServerLanguageArgs {
    /// The language of the server's own texts; without it no language is claimed
    #[arg(long, value_name = "TAG")]
    default_language: Option<String>,
    /// The folder with the server's locale files, such as de-CH.json; see `attune catalog`
    #[arg(long, value_name = "DIR")]
    locales: Option<String>,
    /// Which texts are translated: those that people see, those that models read, what the server logs
    #[arg(long, value_name = "display|model|logs", value_delimiter = ',')]
    translate: Vec<String>,
}

impl ServerLanguageArgs {
    /// Whether anything is said.
    pub(crate) fn is_some(&self) -> bool {
        self.default_language.is_some() || self.locales.is_some() || !self.translate.is_empty()
    }

    /// Whether it is said where the locale files are.
    pub(crate) fn has_locales(&self) -> bool {
        self.locales.is_some()
    }

    /// Puts it into the configuration.
    pub(crate) fn apply_languages(&self, config: &mut Config) -> anyhow::Result<()> {
        if let Some(tag) = &self.default_language {
            let tag = Tag::parse(tag)
                .map_err(|why| hinted(format!("{tag} is {why}"), "such as --default-language en"))?;
            config.default_language = Some(tag);
        }
        if let Some(folder) = &self.locales {
            let hint = "`attune catalog extract` makes one from a running server";
            if !Path::new(folder).is_dir() {
                return Err(hinted(format!("{folder} is no folder"), hint));
            }
            only_mount(config, "--locales")?.locales.path = LocaleFilePattern::in_folder(folder, ".json");
        }
        if !self.translate.is_empty() {
            let kinds = self
                .translate
                .iter()
                .map(|word| parse_translate_kind(word))
                .collect::<anyhow::Result<_>>()?;
            only_mount(config, "--translate")?.locales.translate = kinds;
        }
        Ok(())
    }
}

fn parse_translate_kind(word: &str) -> anyhow::Result<TranslateSetting> {
    match word {
        "display" => Ok(TranslateSetting::Display),
        "model" => Ok(TranslateSetting::Model),
        "logs" => Ok(TranslateSetting::Logs),
        _ => Err(hinted(
            format!("--translate {} is no kind of text", quoted(word)),
            "write display, model or logs, or several of them with commas between",
        )),
    }
}

/// The one server that something on the command line is about.
pub(crate) fn only_mount<'a>(config: &'a mut Config, what: &str) -> anyhow::Result<&'a mut MountConfig> {
    match config.mounts.as_mut_slice() {
        [mount] => Ok(mount),
        _ => Err(hinted(
            format!("{what} is for one server, and the file has several mounts"),
            "say it in the file, under the mount that it is meant for; `attune config example` shows how",
        )),
    }
}
