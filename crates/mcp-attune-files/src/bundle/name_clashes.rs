//! Names that some file systems take for the same file, because they ignore case or normalize Unicode.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use icu_casemap::CaseMapper;
use icu_normalizer::{ComposingNormalizer, DecomposingNormalizer};

/// Returns a form that is equal for names that differ only in case or in the composition of letters (`é` as one
/// character or two).
pub(super) fn fold_name(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return name.to_ascii_lowercase().into();
        }
        return name.into();
    }
    let apart = DecomposingNormalizer::new_nfd().normalize(name);
    let folded = CaseMapper::new().fold_string(&apart).into_owned();
    ComposingNormalizer::new_nfc().normalize(&folded).into_owned().into()
}

/// The names of a bundle so far, and of all folders that they are in: by folded name, the spelling and whether
/// it is a folder.
#[derive(Default)]
pub(super) struct TakenFileNames(HashMap<Box<str>, (Box<str>, bool)>);

/// Why a name cannot be added to those that are there already.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FileNameClash {
    /// The same file again.
    Twice,
    /// The name is a file in one place and a folder in another.
    FileAndFolder,
    /// Another spelling of a name that is there, the same file on some systems. Folders count too.
    Twin(Box<str>),
}

impl TakenFileNames {
    /// Adds a file or folder, and the folders that it is in. The same folder may be added again.
    pub(super) fn add(&mut self, name: &str, folder: bool) -> Result<(), FileNameClash> {
        self.insert_name(name, folder, true)?;
        let mut rest = name;
        while let Some((parent, _)) = rest.rsplit_once('/') {
            // Where a folder is known, so are those that it is in.
            if self.insert_name(parent, true, false)? {
                break;
            }
            rest = parent;
        }
        Ok(())
    }

    /// Adds one name. Returns whether it was there already. `own` is false for a folder that only contains an
    /// entry.
    fn insert_name(&mut self, name: &str, folder: bool, own: bool) -> Result<bool, FileNameClash> {
        match self.0.entry(fold_name(name).into()) {
            Entry::Vacant(place) => {
                place.insert((name.into(), folder));
                Ok(false)
            }
            Entry::Occupied(place) => match place.get() {
                (there, _) if **there != *name => Err(FileNameClash::Twin(there.clone())),
                (_, was_folder) if *was_folder != folder => Err(FileNameClash::FileAndFolder),
                _ if own && !folder => Err(FileNameClash::Twice),
                _ => Ok(true),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: &Result<(), FileNameClash>) {
        let mut taken = TakenFileNames::default();
        let found = names.iter().try_for_each(|name| {
            let folder = name.ends_with('/');
            taken.add(name.trim_end_matches('/'), folder)
        });
        assert_eq!(&found, expected, "{names:?}");
    }

    #[test]
    fn names_that_some_systems_take_for_the_same_clash() {
        let twin = |name: &str| Err(FileNameClash::Twin(name.into()));
        check(&["a/b", "a/c", "a/", "a/b.c", "d/"], &Ok(()));
        check(&["a/b", "a/b"], &Err(FileNameClash::Twice));
        check(&["a", "a/b"], &Err(FileNameClash::FileAndFolder));
        check(&["a/b/c", "a/b"], &Err(FileNameClash::FileAndFolder));
        check(&["a/b/", "a/b"], &Err(FileNameClash::FileAndFolder));
        check(&["README.md", "readme.md"], &twin("README.md"));
        check(&["Lib/a", "lib/b"], &twin("Lib"));
        check(&["caf\u{e9}", "cafe\u{301}"], &twin("caf\u{e9}"));
        check(&["STRASSE", "Stra\u{df}e"], &twin("STRASSE"));
        check(&["\u{c9}", "e\u{301}"], &twin("\u{c9}"));
        check(&["\u{e9}", "e"], &Ok(()));
    }
}
