//! The locale files of one server in a folder, loaded lazily and cached.
//!
//! 1. Which files there are is known from the start; a file is read when a caller first needs it, and kept.
//! 2. When a [`FileWatcher`](crate::FileWatcher) looks, new files are added, files that are gone are removed,
//!    and cached files that changed are read again. A changed file that is broken is logged, and what it was
//!    before stays in use. Nothing else looks for changes.
//! 3. No more than [`LocaleFolder::MAX_CACHED_BYTES`] bytes of files are kept after a load; the least recently
//!    used goes first. A file that is too large for a locale file is not read at all.
//! 4. One file is read at a time: a thousand callers who need the same one wait for a single read.
//!
//! There are two locks. `reading` is held while the disk is used, by one thread at a time; `state` is held for
//! moments only. `cached` takes only the latter, so callers whose files are at hand never wait for the disk.
//!
//! Rules: G4, L7.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_attune::catalog::{CompiledLocale, LocaleIndex, LocaleStore, ParsedLocaleFile};
use mcp_attune::language::{Languages, Tag};

use crate::pattern::{FoundLocaleFile, LocaleFilePattern, WatchedFileStamp};
use crate::store;
use crate::watcher::WatchedFiles;

/// Maximum number of problems that are logged of one file, and of file names at one look.
const MAX_LOGGED_FINDINGS: usize = 10;

/// The locale files of one server, as a [`LocaleStore`] for requests and as [`WatchedFiles`] for a watcher.
///
/// Hosts call [`cached`](LocaleStore::cached) where requests are served, and [`load`](LocaleStore::load), which
/// blocks on the disk, on another thread. What is wrong with files is logged with file, line and a hint;
/// callers then get the texts of related languages, or the server's own.
pub struct LocaleFolder {
    pattern: LocaleFilePattern,
    default: Tag,
    /// Held by the one thread that reads files.
    reading: Mutex<()>,
    /// Maximum size of cached files in bytes.
    most: u64,
    state: Mutex<LocaleFolderState>,
}

/// Everything that changes, behind one lock.
struct LocaleFolderState {
    /// Which languages there are; replaced when files are added or removed.
    catalogs: Arc<LocaleIndex>,
    /// The files at the last look.
    found: Vec<FoundLocaleFile>,
    /// Names without a language tag at the last look, so that they are logged once.
    strange: Vec<String>,
    /// The cache.
    kept: HashMap<Tag, CachedLocaleFile>,
    /// A counter that increases with every use, as the clock of the cache.
    now: u64,
}

/// A file that was read, successfully or not.
struct CachedLocaleFile {
    /// `None` if no version of the file could be used. It is kept too, so that it is not read again for every
    /// caller.
    locale: Option<Arc<CompiledLocale>>,
    /// The state of the file that was read last, whether or not it could be used.
    stamp: WatchedFileStamp,
    /// The counter at the last use.
    used: u64,
}

impl LocaleFolder {
    /// Maximum size of cached files in bytes, as on disk. Compiled, they take about three times as much memory.
    pub const MAX_CACHED_BYTES: u64 = 64 << 20;

    /// Lists the files of a pattern, without reading them. `default` is the language of the server's own texts.
    ///
    /// A folder that does not exist has no files; once it does, the next look of a watcher finds them.
    #[must_use]
    pub fn new(pattern: LocaleFilePattern, default: Tag) -> Self {
        let (found, strange) = pattern.find();
        warn_about_names(&pattern, &strange);
        let catalogs = Arc::new(catalogs(&default, &found));
        let state = LocaleFolderState { catalogs, found, strange, kept: HashMap::new(), now: 0 };
        let (reading, state) = (Mutex::new(()), Mutex::new(state));
        Self { pattern, default, reading, most: Self::MAX_CACHED_BYTES, state }
    }

    fn reading(&self) -> MutexGuard<'_, ()> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, LocaleFolderState> {
        // Nothing that holds the lock can panic halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Builds the index of languages. If there are more files than a server can offer languages, the rest is logged
/// and left out.
fn catalogs(default: &Tag, found: &[FoundLocaleFile]) -> LocaleIndex {
    let most = Languages::MAX_OFFERED - 1;
    if found.len() > most {
        tracing::warn!("there are {} locale files; the first {most} are used", found.len());
    }
    let tags = found.iter().take(most).map(|found| found.tag.clone());
    LocaleIndex::new(default.clone(), tags).unwrap_or_else(|_| LocaleIndex::without_files(default.clone()))
}

fn warn_about_names(pattern: &LocaleFilePattern, strange: &[String]) {
    for name in strange.iter().take(MAX_LOGGED_FINDINGS) {
        tracing::warn!(
            "{name:?} is where {pattern} has a language, and is none; name it such as de-CH, or move it away"
        );
    }
}

/// Reads and compiles one file. Returns `None` if it cannot be used; that and unusable entries are logged.
fn read(tag: &Tag, path: &Path, stamp: WatchedFileStamp) -> Option<Arc<CompiledLocale>> {
    let wrong = |why: &dyn fmt::Display| tracing::warn!("{}: {why}", path.display());
    let most = ParsedLocaleFile::MAX_BYTES as u64;
    if stamp.bytes > most {
        wrong(&format_args!("too large for a locale file; it is not read (at most {most} bytes)"));
        return None;
    }
    let bytes = match store::read_locale_file(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            wrong(&error);
            return None;
        }
    };
    match CompiledLocale::read(tag.clone(), &bytes) {
        Ok((locale, findings)) => {
            for finding in findings.iter().take(MAX_LOGGED_FINDINGS) {
                let (line, column) = finding.position(&bytes);
                wrong(&format_args!("{line}:{column}: {finding}; {}", finding.hint()));
            }
            if findings.len() > MAX_LOGGED_FINDINGS {
                wrong(&format_args!(
                    "and {} more; `attune catalog lint` tells all",
                    findings.len() - MAX_LOGGED_FINDINGS
                ));
            }
            Some(Arc::new(locale))
        }
        Err(refused) => {
            wrong(&refused);
            None
        }
    }
}

impl LocaleStore for LocaleFolder {
    fn locale_index(&self) -> Arc<LocaleIndex> {
        self.state().catalogs.clone()
    }

    fn cached(&self, chosen: &Tag) -> Option<Vec<Arc<CompiledLocale>>> {
        let mut state = self.state();
        let LocaleFolderState { catalogs, kept, now, .. } = &mut *state;
        *now += 1;
        let mut locales = Vec::new();
        for tag in catalogs.required_locales(chosen) {
            let file = kept.get_mut(tag)?;
            file.used = *now;
            locales.extend(file.locale.clone());
        }
        Some(locales)
    }

    fn load(&self, chosen: &Tag) -> Vec<Arc<CompiledLocale>> {
        let _alone = self.reading();
        loop {
            if let Some(locales) = self.cached(chosen) {
                return locales;
            }
            let missing: Vec<FoundLocaleFile> = {
                let state = self.state();
                let wanted = state.catalogs.required_locales(chosen);
                let missing = |found: &&FoundLocaleFile| {
                    wanted.contains(&&found.tag) && !state.kept.contains_key(&found.tag)
                };
                state.found.iter().filter(missing).cloned().collect()
            };
            // Read without the state: who has what they need does not wait for this disk.
            for FoundLocaleFile { tag, path, stamp } in missing {
                let locale = read(&tag, &path, stamp);
                let mut state = self.state();
                let used = state.now;
                state.kept.insert(tag, CachedLocaleFile { locale, stamp, used });
                state.drop_oldest(chosen, self.most);
            }
        }
    }
}

impl WatchedFiles for LocaleFolder {
    fn refresh(&self) {
        let _alone = self.reading();
        let (found, strange) = self.pattern.find();
        let changed: Vec<FoundLocaleFile> = {
            let mut state = self.state();
            if strange != state.strange {
                warn_about_names(&self.pattern, &strange);
                state.strange = strange;
            }
            if found == state.found {
                return;
            }
            let kept = |found: &&FoundLocaleFile| {
                state.kept.get(&found.tag).is_some_and(|kept| kept.stamp != found.stamp)
            };
            found.iter().filter(kept).cloned().collect()
        };
        let read: Vec<_> =
            changed.iter().map(|found| (found, read(&found.tag, &found.path, found.stamp))).collect();
        let mut state = self.state();
        for (found, locale) in read {
            let Some(kept) = state.kept.get_mut(&found.tag) else { continue };
            kept.stamp = found.stamp;
            match locale {
                Some(locale) => {
                    tracing::info!("{} was read again", found.path.display());
                    kept.locale = Some(locale);
                }
                None if kept.locale.is_some() => {
                    tracing::warn!("{}: what it was before stays in use", found.path.display());
                }
                None => {}
            }
        }
        state.kept.retain(|tag, _| found.iter().any(|found| found.tag == *tag));
        let tags =
            |found: &[FoundLocaleFile]| found.iter().map(|found| found.tag.clone()).collect::<Vec<_>>();
        if tags(&found) != tags(&state.found) {
            state.catalogs = Arc::new(catalogs(&self.default, &found));
        }
        state.found = found;
    }
}

impl LocaleFolderState {
    /// Removes the least recently used files until the cache is within its bound. The files of the language
    /// `chosen` stay, even if they alone exceed it: somebody is waiting for them.
    fn drop_oldest(&mut self, chosen: &Tag, most: u64) {
        while self.kept.values().map(|kept| kept.stamp.bytes).sum::<u64>() > most {
            let needed = self.catalogs.required_locales(chosen);
            let spare = self.kept.iter().filter(|(tag, _)| !needed.contains(tag));
            let Some(oldest) = spare.min_by_key(|(_, kept)| kept.used).map(|(tag, _)| tag.clone()) else {
                return;
            };
            self.kept.remove(&oldest);
        }
    }
}

impl fmt::Debug for LocaleFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("LocaleFolder")
            .field("pattern", &self.pattern.to_string())
            .field("files", &state.found.len())
            .field("kept", &state.kept.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune::catalog::{LocaleField, TextSlot};
    use std::fs::{self, File};
    use std::path::PathBuf;

    /// A folder of its own, gone with its test.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("attune-folder-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        /// Writes a file, and makes sure that it can be seen to have changed.
        fn write(&self, tag: &str, text: &str) {
            let path = self.0.join(format!("{tag}.json"));
            let before = WatchedFileStamp::read_stamp(&path);
            loop {
                fs::write(&path, text).unwrap();
                if WatchedFileStamp::read_stamp(&path) != before {
                    return;
                }
            }
        }

        fn folder(&self) -> LocaleFolder {
            LocaleFolder::new(
                LocaleFilePattern::new(&format!("{}/${{locale}}.json", self.0.display())).unwrap(),
                tag("en"),
            )
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn tag(text: &str) -> Tag {
        Tag::parse(text).unwrap()
    }

    fn titled(title: &str) -> String {
        format!(r#"{{"tools":{{"a":{{"title":"{title}"}}}}}}"#)
    }

    fn title(folder: &LocaleFolder, chosen: &str) -> Option<String> {
        let locales = folder.load(&tag(chosen));
        locales
            .iter()
            .find_map(|locale| Some(locale.find(TextSlot::Tool("a", LocaleField::Title))?.to_owned()))
    }

    #[test]
    fn files_are_read_when_they_are_needed_and_kept() {
        let place = Place::new("kept");
        place.write("de", &titled("eins"));
        place.write("de-CH", "{}");
        let folder = place.folder();
        assert_eq!(folder.locale_index().languages().tags().count(), 3);
        assert!(folder.cached(&tag("de-CH")).is_none());
        assert_eq!(title(&folder, "de-CH").unwrap(), "\"eins\"");
        assert_eq!(folder.cached(&tag("de-CH")).unwrap().len(), 2);
        assert_eq!(folder.cached(&tag("en")).unwrap().len(), 0);
    }

    #[test]
    fn what_changes_is_followed_and_what_breaks_stays_as_it_was() {
        let place = Place::new("follow");
        place.write("de", &titled("eins"));
        let folder = place.folder();
        assert_eq!(title(&folder, "de").unwrap(), "\"eins\"");
        place.write("de", &titled("zwei"));
        place.write("fr", &titled("un"));
        folder.refresh();
        assert_eq!(title(&folder, "de").unwrap(), "\"zwei\"");
        assert_eq!(title(&folder, "fr").unwrap(), "\"un\"");
        place.write("de", "{\"tools\":");
        folder.refresh();
        assert_eq!(title(&folder, "de").unwrap(), "\"zwei\"");
        fs::remove_file(place.0.join("de.json")).unwrap();
        folder.refresh();
        assert_eq!(title(&folder, "de"), None);
        assert!(!folder.locale_index().languages().tags().any(|known| known.as_str() == "de"));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_no_file() {
        let place = Place::new("broken");
        place.write("de", r#"{"tools":{},"tools":{}}"#);
        place.write("fr", "[]");
        let huge = File::create(place.0.join("it.json")).unwrap();
        huge.set_len(1 << 30).unwrap();
        place.write("no.tag", "{}");
        let folder = place.folder();
        for locale in ["de", "fr", "it"] {
            assert_eq!(folder.load(&tag(locale)).len(), 0, "{locale}");
            // It is not read again for every caller.
            assert_eq!(folder.cached(&tag(locale)).unwrap().len(), 0, "{locale}");
        }
        place.write("de", &titled("eins"));
        folder.refresh();
        assert_eq!(title(&folder, "de").unwrap(), "\"eins\"");
    }

    #[test]
    fn no_more_bytes_are_kept_than_there_is_room_for() {
        let place = Place::new("most");
        let tags = ["de", "en", "es", "fr", "it", "ja", "ko", "pt"];
        for tag in tags {
            place.write(tag, &titled(tag));
        }
        let room = 3 * titled("de").len() as u64;
        let folder = LocaleFolder { most: room, ..place.folder() };
        for tag in tags {
            assert_eq!(title(&folder, tag).unwrap(), format!("\"{tag}\""));
        }
        assert_eq!(folder.state().kept.len(), 3);
        assert_eq!(title(&folder, "de").unwrap(), "\"de\"");
        // What is needed now is kept, however little room there is.
        assert_eq!(title(&LocaleFolder { most: 0, ..place.folder() }, "de").unwrap(), "\"de\"");
    }

    #[test]
    fn callers_who_need_the_same_file_wait_for_one_reading_of_it() {
        let place = Place::new("once");
        place.write("de", &titled("eins"));
        let folder = place.folder();
        let locales: Vec<_> = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..8).map(|_| scope.spawn(|| folder.load(&tag("de")).remove(0))).collect();
            callers.into_iter().map(|caller| caller.join().unwrap()).collect()
        });
        assert!(locales.iter().all(|locale| Arc::ptr_eq(locale, &locales[0])));
    }
}
