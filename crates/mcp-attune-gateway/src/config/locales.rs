//! `[locales]` and `[content]`: where translations are, and whether results are adapted.

use std::sync::Arc;

use mcp_attune::catalog::{EmbeddedLocales, LocaleStore};
use mcp_attune::language::Tag;
use mcp_attune::localize;
use mcp_attune_files::{FileWatcher, LocaleFilePattern, LocaleFolder};
use mcp_attune_shape::EmbeddedTemplate;

use super::choice::{choices, parse_keyword};
use super::findings::ConfigProblem;
use super::reader::{ConfigTableReader, flag, parse_nonempty, text};

/// `[locales]`: where translations are, and what they may replace.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LocalesConfig {
    /// Where the file of each locale is: a path with `${locale}` in the place of the tag. Default:
    /// `locales/${locale}.json`.
    pub path: LocaleFilePattern,
    /// Which texts are translated. Default: those that people see.
    pub translate: Vec<TranslateSetting>,
    /// Files that an embedding program carries itself: pairs of a tag and the content of its file. If there
    /// are any, `path` is not looked at. Not a setting of the file.
    pub carried: &'static [(&'static str, &'static str)],
}

choices! {
    /// A kind of text that is translated.
    pub TranslateSetting {
        /// Text that people see, such as titles.
        Display = "display",
        /// Text that models read: descriptions and content. Translating it can change what they do.
        Model = "model",
        /// What the server logs to its client (`notifications/message`).
        Logs = "logs",
    }
}

impl Default for LocalesConfig {
    fn default() -> Self {
        Self {
            path: LocaleFilePattern::in_folder("locales", ".json"),
            translate: vec![TranslateSetting::Display],
            carried: &[],
        }
    }
}

impl LocalesConfig {
    /// Reads the table. Absent keys keep the values of `base`.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &Self) -> Self {
        Self {
            path: reader.read("path", base.path.clone(), |value| parse_locale_path(text(value)?)),
            translate: reader.list("translate", &base.translate, parse_keyword),
            carried: base.carried,
        }
    }

    /// Returns the source of locale files: those carried by the program, or a folder that is added to
    /// `watcher`. `default` is the language of the server's own texts.
    pub(super) fn library(&self, default: &Tag, watcher: &mut FileWatcher) -> Arc<dyn LocaleStore> {
        match EmbeddedLocales::new(default.clone(), self.carried) {
            Ok(carried) if !self.carried.is_empty() => Arc::new(carried),
            _ => {
                let folder = Arc::new(LocaleFolder::new(self.path.clone(), default.clone()));
                watcher.add(folder.clone());
                folder
            }
        }
    }

    /// Translates `translate` into the type of the rules.
    pub(super) fn to_translate(&self) -> localize::TranslationScope {
        localize::TranslationScope {
            display: self.translate.contains(&TranslateSetting::Display),
            model: self.translate.contains(&TranslateSetting::Model),
            logs: self.translate.contains(&TranslateSetting::Logs),
        }
    }
}

/// Parses a path with at least one `${locale}`.
fn parse_locale_path(text: &str) -> Result<LocaleFilePattern, ConfigProblem> {
    let path = parse_nonempty(text)?;
    let none = |_| ConfigProblem::new("has no ${locale}", "write a path such as \"locales/${locale}.json\"");
    LocaleFilePattern::new(&path).map_err(none)
}

/// `[content]`: whether results are adapted to the feature tags that callers declare, such as `human` or
/// `format=text`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ContentConfig {
    /// Whether results are adapted. Default: false.
    pub enabled: bool,
    /// Whether callers are told so. Needs `enabled`. Default: false.
    pub announce: bool,
    /// Templates that an embedding program carries itself. If there are any, no template files are looked at.
    /// Not a setting of the file.
    pub carried: &'static [EmbeddedTemplate],
}

impl ContentConfig {
    /// Reads the table. Absent keys keep the values of `base`.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &Self) -> Self {
        let content = Self {
            enabled: reader.read("enabled", base.enabled, flag),
            announce: reader.read("announce", base.announce, flag),
            carried: base.carried,
        };
        if content.announce && !content.enabled {
            let key = if reader.has("announce") { "announce" } else { "enabled" };
            let hint = "set `enabled = true` too, or `announce = false`";
            reader.report(key, ConfigProblem::new("announces what is not enabled", hint));
        }
        content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_places_for_the_tag() {
        for path in ["${locale}/a.json", "${locale}/${locale}.json"] {
            assert_eq!(parse_locale_path(path).unwrap().to_string(), path);
        }
        for (text, what) in [
            ("", "is empty"),
            ("locales/en.json", "has no ${locale}"),
            ("locales/{locale}.json", "has no ${locale}"),
            ("${locale}\0", "holds a zero byte"),
        ] {
            assert_eq!(parse_locale_path(text).unwrap_err().what, what, "{text}");
        }
    }
}
