//! `[locales]` and `[content]`: where translations are, and what is adapted.

use std::sync::Arc;

use mcp_attune::catalog::{Carried, Library};
use mcp_attune::language::Tag;
use mcp_attune::localize;
use mcp_attune_files::{Folder, Pattern, Watcher};
use mcp_attune_shape::Page;

use super::choice::{choices, choose};
use super::findings::Problem;
use super::reader::{Reader, flag, some_text, text};

/// Where translations are, and what they may replace.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Locales {
    /// Where the file of each locale is.
    pub path: Pattern,
    /// Which texts are translated.
    pub translate: Vec<Translate>,
    /// Files that the program carries itself, by their tags. Where there are some, `path` is not looked at.
    pub carried: &'static [(&'static str, &'static str)],
}

choices! {
    /// A kind of text that is translated.
    pub Translate {
        /// What people see: titles and the like.
        Display = "display",
        /// What models read: descriptions and content. Translating it changes what they do.
        Model = "model",
        /// What the server logs to its client (`notifications/message`).
        Logs = "logs",
    }
}

impl Default for Locales {
    fn default() -> Self {
        Self { path: Pattern::beside("locales", ".json"), translate: vec![Translate::Display], carried: &[] }
    }
}

impl Locales {
    pub(super) fn read(reader: &mut Reader<'_, '_, '_>, base: &Self) -> Self {
        Self {
            path: reader.read("path", base.path.clone(), |value| locale_path(text(value)?)),
            translate: reader.list("translate", &base.translate, choose),
            carried: base.carried,
        }
    }

    /// The files, which `watcher` follows; `default` is the language of the server's own texts.
    pub(super) fn library(&self, default: &Tag, watcher: &mut Watcher) -> Arc<dyn Library> {
        match Carried::new(default.clone(), self.carried) {
            Ok(carried) if !self.carried.is_empty() => Arc::new(carried),
            _ => {
                let folder = Arc::new(Folder::new(self.path.clone(), default.clone()));
                watcher.add(folder.clone());
                folder
            }
        }
    }

    /// What is translated, as the rules want it.
    pub(super) fn to_translate(&self) -> localize::Translate {
        localize::Translate {
            display: self.translate.contains(&Translate::Display),
            model: self.translate.contains(&Translate::Model),
            logs: self.translate.contains(&Translate::Logs),
        }
    }
}

fn locale_path(text: &str) -> Result<Pattern, Problem> {
    let path = some_text(text)?;
    let none = |_| Problem::new("has no ${locale}", "write a path such as \"locales/${locale}.json\"");
    Pattern::new(&path).map_err(none)
}

/// Whether results are adapted to what callers declare.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Content {
    /// Adapt results to the features that a caller declares.
    pub enabled: bool,
    /// Announce that to callers.
    pub announce: bool,
    /// Templates that the program carries itself. Where there are some, no files are looked at.
    pub carried: &'static [Page],
}

impl Content {
    pub(super) fn read(reader: &mut Reader<'_, '_, '_>, base: &Self) -> Self {
        let content = Self {
            enabled: reader.read("enabled", base.enabled, flag),
            announce: reader.read("announce", base.announce, flag),
            carried: base.carried,
        };
        if content.announce && !content.enabled {
            let key = if reader.has("announce") { "announce" } else { "enabled" };
            let hint = "set `enabled = true` too, or `announce = false`";
            reader.wrong(key, Problem::new("announces what is not enabled", hint));
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
            assert_eq!(locale_path(path).unwrap().to_string(), path);
        }
        for (text, what) in [
            ("", "is empty"),
            ("locales/en.json", "has no ${locale}"),
            ("locales/{locale}.json", "has no ${locale}"),
            ("${locale}\0", "holds a zero byte"),
        ] {
            assert_eq!(locale_path(text).unwrap_err().what, what, "{text}");
        }
    }
}
