//! Path templates of locale files, such as `l10n/${locale}/strings-${locale}.json`.

use super::file_name::{BundleFileName, BundleFileNameError};

/// A path with at least one placeholder for the locale, split at the placeholders.
///
/// It works in both directions: [`with_locale`](Self::with_locale) builds the name of a locale's file, and
/// [`locale_in`](Self::locale_in) recovers the locale from the name of a file that was found. Bundles use it
/// for `localization.resources`, and `mcp-attune-files` for the locale files of a server.
///
/// Rules: B2.
///
/// ```
/// use mcp_attune_bundle::LocalePath;
///
/// let path = LocalePath::parse_template("l10n/${locale}/strings-${locale}.json").unwrap();
/// assert_eq!(path.with_locale("de-CH"), "l10n/de-CH/strings-de-CH.json");
/// assert_eq!(path.locale_in("l10n/fr/strings-fr.json"), Some("fr"));
/// assert_eq!(path.locale_in("l10n/fr/strings-de.json"), None);
/// assert_eq!(LocalePath::parse_template("strings.json"), None);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalePath {
    /// The literal text around the placeholders: one piece more than there are placeholders.
    pieces: Vec<Box<str>>,
}

/// A private-use character that stands for the locale while a path is normalized. No language tag contains it,
/// and a path that contains it is refused.
const MARK: char = '\u{E000}';

impl LocalePath {
    /// The placeholder that is replaced by the locale.
    pub const PLACEHOLDER: &str = "${locale}";

    /// Splits a path at its placeholders, which are recognized in any case (`${LOCALE}` too).
    ///
    /// Returns `None` if the path has no placeholder.
    #[must_use]
    pub fn parse_template(path: &str) -> Option<Self> {
        let lower = path.to_ascii_lowercase();
        let (mut pieces, mut from) = (Vec::new(), 0);
        for (at, place) in lower.match_indices(Self::PLACEHOLDER) {
            pieces.push(path.get(from..at)?.into());
            from = at + place.len();
        }
        pieces.push(path.get(from..)?.into());
        (pieces.len() > 1).then_some(Self { pieces })
    }

    /// Builds a path from its literal pieces, with a placeholder between every two of them.
    ///
    /// A single piece has no placeholder: [`locale_in`](Self::locale_in) then always returns `None`.
    pub fn from_pieces(pieces: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        Self { pieces: pieces.into_iter().map(Into::into).collect() }
    }

    /// Returns the text before the first placeholder.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.pieces.first().map_or("", |piece| piece)
    }

    /// Returns the path with `locale` in place of every placeholder. The locale is not checked.
    #[must_use]
    pub fn with_locale(&self, locale: &str) -> String {
        self.pieces.join(locale)
    }

    /// Returns the locale in a file name that matches this template, as it is written there.
    ///
    /// Returns `None` if the name does not match, if its placeholders would stand for different texts, or if
    /// that text contains `/`. The result may be empty, and need not be a language tag: the caller parses it.
    #[must_use]
    pub fn locale_in<'n>(&self, name: &'n str) -> Option<&'n str> {
        let places = self.pieces.len().checked_sub(1).filter(|places| *places > 0)?;
        let fixed: usize = self.pieces.iter().map(|piece| piece.len()).sum();
        // Every place has the same text, so its length is known before it is looked for.
        let each = name.len().checked_sub(fixed).filter(|rest| rest % places == 0)? / places;
        let start = self.prefix().len();
        let locale = name.get(start..start + each).filter(|locale| !locale.contains('/'))?;
        let mut rest = name;
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                rest = rest.strip_prefix(locale)?;
            }
            rest = rest.strip_prefix(&**piece)?;
        }
        Some(locale)
    }

    /// Returns the path in the spelling of [`BundleFileName`], without `.` and doubled slashes.
    ///
    /// Names of files in a bundle are compared with the normalized path only.
    ///
    /// # Errors
    ///
    /// [`BundleFileNameError`] if the path leads out of the bundle, or cannot be the name of a file in one.
    pub fn normalize(&self) -> Result<Self, BundleFileNameError> {
        if self.pieces.iter().any(|piece| piece.contains(MARK)) {
            return Err(BundleFileNameError::Control);
        }
        let marked = BundleFileName::parse(&self.with_locale(&MARK.to_string()))?;
        Ok(Self::from_pieces(marked.as_str().split(MARK)))
    }

    /// Splits the path around the part that contains the first placeholder, so that a host needs to list one
    /// folder only.
    ///
    /// Returns the folder before that part (empty for the top), the part itself, and the rest of the path below
    /// it, or `None` if the part is the file itself. `a/${locale}/t.json` gives `a`, `${locale}` and `t.json`.
    #[must_use]
    pub fn split_at_locale(&self) -> (String, Self, Option<Self>) {
        let (folder, start) = match self.prefix().rsplit_once('/') {
            Some((folder, start)) => (folder, start),
            None => ("", self.prefix()),
        };
        let (mut name, mut below) = (vec![start], None::<Vec<&str>>);
        for piece in self.pieces.iter().skip(1) {
            match (&mut below, piece.split_once('/')) {
                (Some(below), _) => below.push(piece),
                (None, None) => name.push(piece),
                (None, Some((end, rest))) => {
                    name.push(end);
                    below = Some(vec![rest]);
                }
            }
        }
        (folder.to_owned(), Self::from_pieces(name), below.map(Self::from_pieces))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_occurrence_has_the_same_locale() {
        let path = LocalePath::parse_template("${locale}/a-${LOCALE}/${locale}.json").unwrap();
        assert_eq!(path.with_locale("de"), "de/a-de/de.json");
        for (name, locale) in [
            ("de/a-de/de.json", Some("de")),
            ("pt-BR/a-pt-BR/pt-BR.json", Some("pt-BR")),
            ("de/a-de/fr.json", None),
            ("de/a-fr/de.json", None),
            ("de/a-de/de-CH.json", None),
            ("de/a-de/de.jsonx", None),
            ("d/e/a-d/e/d/e.json", None),
            ("/a-/.json", Some("")),
            ("", None),
        ] {
            assert_eq!(path.locale_in(name), locale, "{name}");
        }
        // A cut through a character is no locale.
        assert_eq!(LocalePath::parse_template("${locale}é${locale}").unwrap().locale_in("éaé"), None);
    }

    #[test]
    fn a_path_is_taken_apart_around_the_first_locale() {
        for (path, folder, name, below) in [
            ("${locale}.json", "", "de.json", None),
            ("a/b/x-${locale}.json", "a/b", "x-de.json", None),
            ("a/${locale}/t.json", "a", "de", Some("t.json")),
            ("a/${locale}-${locale}/b/${locale}.json", "a", "de-de", Some("b/de.json")),
        ] {
            let (in_folder, named, under) = LocalePath::parse_template(path).unwrap().split_at_locale();
            assert_eq!((in_folder.as_str(), named.with_locale("de").as_str()), (folder, name), "{path}");
            assert_eq!(under.map(|under| under.with_locale("de")).as_deref(), below, "{path}");
        }
    }

    #[test]
    fn a_path_that_leads_outside_is_refused() {
        for path in ["../${locale}.json", "a/${locale}/../${locale}.json", "\u{E000}/${locale}.json"] {
            assert!(LocalePath::parse_template(path).unwrap().normalize().is_err(), "{path}");
        }
        let path =
            LocalePath::parse_template("./a//${locale}/./${locale}.json").unwrap().normalize().unwrap();
        assert_eq!(path.with_locale("de"), "a/de/de.json");
    }
}
