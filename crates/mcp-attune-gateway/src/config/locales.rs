//! `[locales]` and `[content]`: where translations are, and what is adapted.

use std::path::PathBuf;

use mcp_attune::language::Tag;

use super::choice::{choices, choose};
use super::findings::Problem;
use super::reader::{Reader, flag, some_text, text};

/// Where translations are, and what they may replace.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Locales {
    /// Where the file of each locale is.
    pub path: LocalePath,
    /// Which texts are translated.
    pub translate: Vec<Translate>,
}

/// The path of every locale's file, with `${locale}` where its tag goes.
///
/// ```
/// use mcp_attune::language::Tag;
/// use mcp_attune_gateway::config::Locales;
///
/// let path = Locales::default().path;
/// assert_eq!(path.of(&Tag::parse("de-CH")?).to_str(), Some("locales/de-CH.json"));
/// # Ok::<(), mcp_attune::language::IllFormed>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalePath(String);

impl LocalePath {
    /// What stands in the path where the tag goes.
    pub const PLACE: &str = "${locale}";

    /// The path of one locale's file.
    #[must_use]
    pub fn of(&self, tag: &Tag) -> PathBuf {
        PathBuf::from(self.0.replace(Self::PLACE, tag.as_str()))
    }

    /// The path with `${locale}` in it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

choices! {
    /// A kind of text that is translated.
    pub Translate {
        /// What people see: titles and the like.
        Display = "display",
        /// What models read: descriptions and content. Translating it changes what they do.
        Model = "model",
    }
}

impl Default for Locales {
    fn default() -> Self {
        let path = LocalePath(format!("locales/{}.json", LocalePath::PLACE));
        Self { path, translate: vec![Translate::Display] }
    }
}

impl Locales {
    pub(super) fn read(reader: &mut Reader<'_, '_, '_>, base: &Self) -> Self {
        Self {
            path: reader.read("path", base.path.clone(), |value| locale_path(text(value)?)),
            translate: reader.list("translate", &base.translate, choose),
        }
    }
}

fn locale_path(text: &str) -> Result<LocalePath, Problem> {
    let path = some_text(text)?;
    match path.matches(LocalePath::PLACE).count() {
        1 => Ok(LocalePath(path)),
        0 => Err(Problem::new("has no ${locale}", "write a path such as \"locales/${locale}.json\"")),
        _ => Err(Problem::new("has ${locale} more than once", "keep one of them")),
    }
}

/// Whether results are adapted to what callers declare.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Content {
    /// Adapt results to the features that a caller declares.
    pub enabled: bool,
    /// Announce that to callers.
    pub announce: bool,
}

impl Content {
    pub(super) fn read(reader: &mut Reader<'_, '_, '_>, base: &Self) -> Self {
        let content = Self {
            enabled: reader.read("enabled", base.enabled, flag),
            announce: reader.read("announce", base.announce, flag),
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
    fn a_path_has_one_place_for_the_tag() {
        assert_eq!(locale_path("${locale}/a.json").unwrap().as_str(), "${locale}/a.json");
        for (text, what) in [
            ("", "is empty"),
            ("locales/en.json", "has no ${locale}"),
            ("locales/{locale}.json", "has no ${locale}"),
            ("${locale}/${locale}.json", "has ${locale} more than once"),
            ("${locale}\0", "holds a zero byte"),
        ] {
            assert_eq!(locale_path(text).unwrap_err().what, what, "{text}");
        }
    }
}
