//! The templates of one tool, resource or prompt, in files beside each other: `templates/get_weather.md`,
//! `templates/get_weather.compact.md`.
//!
//! 1. The files of a stem are read at once. A name that no template can have, and a text that does not compile,
//!    are logged with file, line and a hint, and are left out.
//! 2. When they are [refreshed](TemplateFiles::refresh), new files are added, files that are gone are removed,
//!    and those that changed are read again. A changed file that is broken is logged once, and what it was
//!    before stays in use.
//! 3. No more than [`TemplateFiles::MAX_FILES`] files are read, none of them larger than a template may be.
//!
//! Rules: F8, F10, G4.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_attune_shape::template::{
    MAX_SOURCE, Template, TemplateCompileError, TemplateNameError, TemplateSet, TemplateVariant, ToolHints,
};

use crate::pattern::WatchedFileStamp;

/// Maximum number of entries of a folder that are looked at; the others are ignored.
const MAX_FOLDER_ENTRIES: usize = 10_000;

/// The templates and hints of one tool, resource or prompt, as they are on disk.
///
/// What follows the stem in a file's name says which callers a template is for: `get_weather.compact.md` is for
/// those who ask for compact Markdown. The hints are a file of their own, which the configuration names.
///
/// ```
/// use mcp_attune_files::TemplateFiles;
///
/// let shelf = TemplateFiles::new(Some("nowhere/get_weather".as_ref()), None);
/// assert!(shelf.templates().is_empty() && shelf.hints().is_empty());
/// assert!(shelf.findings().is_empty());
/// ```
pub struct TemplateFiles {
    /// The folder, and the beginning of the file names; `None` if there are no templates.
    stem: Option<(PathBuf, String)>,
    /// The file of hints.
    hints: Option<PathBuf>,
    /// Held by the one thread that reads files.
    reading: Mutex<()>,
    state: Mutex<TemplateFilesState>,
}

#[derive(Default)]
struct TemplateFilesState {
    /// The files by what follows the stem, such as `compact.md`.
    files: BTreeMap<String, LoadedTemplateFile<Template>>,
    /// The file of hints, if it exists.
    note: Option<LoadedTemplateFile<ToolHints>>,
    /// All usable templates, ready to be handed out.
    templates: Arc<TemplateSet>,
    hints: Arc<ToolHints>,
    /// What is wrong now. It is compared with the next look, so that each problem is logged once.
    findings: Vec<TemplateFileFinding>,
}

/// A file that was read, successfully or not.
struct LoadedTemplateFile<T> {
    /// The last usable version; `None` if there was none.
    read: Option<Arc<T>>,
    /// The state of the file that was read last, whether or not it could be used.
    stamp: WatchedFileStamp,
    /// What is wrong with that state of the file.
    wrong: Option<TemplateFileFinding>,
}

/// A file that cannot be used, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TemplateFileFinding {
    /// The path of the file.
    pub path: PathBuf,
    /// Why it cannot be used, or why its last usable version is used instead.
    pub why: TemplateFileError,
}

/// Why a file cannot be used as a template or as hints.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TemplateFileError {
    /// What follows the stem in its name is not the variant of a template.
    Name(TemplateNameError),
    /// Its text does not compile.
    Text(TemplateCompileError),
    /// It has more than [`MAX_SOURCE`] bytes.
    TooLarge,
    /// It is not UTF-8.
    Encoding,
    /// Opening or reading it failed.
    Unreadable(io::ErrorKind),
    /// It is the first of the files beyond [`TemplateFiles::MAX_FILES`], none of which are read.
    TooMany,
}

impl TemplateFileError {
    /// Returns what is wrong.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Name(wrong) => wrong.to_string(),
            Self::Text(wrong) => wrong.to_string(),
            Self::TooLarge => "too large for a template".to_owned(),
            Self::Encoding => "not UTF-8".to_owned(),
            Self::Unreadable(why) => why.to_string(),
            Self::TooMany => "more files than are read".to_owned(),
        }
    }

    /// Returns what to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Name(wrong) => wrong.hint().to_string(),
            Self::Text(wrong) => wrong.hint().to_string(),
            Self::TooLarge => format!("write at most {} KiB", MAX_SOURCE >> 10),
            Self::Encoding => "save it in that encoding".to_owned(),
            Self::Unreadable(_) => "see who may read it".to_owned(),
            Self::TooMany => format!("keep at most {}", TemplateFiles::MAX_FILES),
        }
    }
}

impl TemplateFileFinding {
    /// Returns where it is: the file, with line and column where they are known.
    #[must_use]
    pub fn place(&self) -> String {
        let path = self.path.display();
        match &self.why {
            TemplateFileError::Text(wrong) => format!("{path}:{}:{}", wrong.line, wrong.column),
            _ => path.to_string(),
        }
    }
}

/// Writes one line: file, line and column if known, what is wrong, and a hint.
impl fmt::Display for TemplateFileFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place(), self.why.what(), self.why.hint())
    }
}

impl TemplateFiles {
    /// Maximum number of template files of one stem.
    pub const MAX_FILES: usize = 64;

    /// Reads the templates whose paths begin with `stem` and a dot, and the file of hints. Blocks on the disk.
    ///
    /// Files and folders that do not exist count as empty, and are found by a later [`refresh`](Self::refresh).
    /// A stem whose last part is not UTF-8 has no templates.
    #[must_use]
    pub fn new(stem: Option<&Path>, hints: Option<&Path>) -> Self {
        let stem = stem.and_then(|stem| {
            let name = stem.file_name()?.to_str()?.to_owned();
            let folder = stem.parent().filter(|folder| !folder.as_os_str().is_empty());
            Some((folder.unwrap_or(Path::new(".")).to_owned(), name))
        });
        let shelf = Self {
            stem,
            hints: hints.map(Path::to_owned),
            reading: Mutex::new(()),
            state: Mutex::new(TemplateFilesState::default()),
        };
        shelf.refresh();
        shelf
    }

    /// Returns the templates as of the last look at the files. Cheap: the set is shared.
    #[must_use]
    pub fn templates(&self) -> Arc<TemplateSet> {
        self.state().templates.clone()
    }

    /// Returns the hints as of the last look at the files; empty if there are none.
    #[must_use]
    pub fn hints(&self) -> Arc<ToolHints> {
        self.state().hints.clone()
    }

    /// Returns what was wrong with the files at the last look.
    #[must_use]
    pub fn findings(&self) -> Vec<TemplateFileFinding> {
        self.state().findings.clone()
    }

    /// Looks whether files changed, and reads those that did. Blocks on the disk.
    ///
    /// Returns whether a file was added, removed or changed. That includes a change after which the file is
    /// broken and its earlier version stays in use.
    pub fn refresh(&self) -> bool {
        let _alone = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let (found, mut findings) = self.find();
        let (mut files, note) = {
            let mut state = self.state();
            (std::mem::take(&mut state.files), state.note.take())
        };
        let before = files.len();
        files.retain(|rest, _| found.iter().any(|(held, ..)| held == rest));
        let mut changed = files.len() < before;
        for (rest, path, stamp) in found {
            let held = files.remove(&rest);
            let kept =
                reload_if_changed(held, &path, stamp, |text| Template::compile(&rest, text), &mut changed);
            findings.extend(kept.wrong.clone());
            files.insert(rest, kept);
        }
        let hints = self.hints.as_ref().and_then(|path| Some((path, WatchedFileStamp::read_stamp(path)?)));
        changed |= hints.is_none() && note.is_some();
        let note =
            hints.map(|(path, stamp)| reload_if_changed(note, path, stamp, ToolHints::compile, &mut changed));
        findings.extend(note.as_ref().and_then(|note| note.wrong.clone()));
        let mut state = self.state();
        if changed {
            state.templates = Arc::new(TemplateSet::new(files.values().filter_map(|kept| kept.read.clone())));
            state.hints = note.as_ref().and_then(|note| note.read.clone()).unwrap_or_default();
        }
        for finding in findings.iter().filter(|finding| !state.findings.contains(finding)) {
            tracing::warn!("{finding}");
        }
        (state.files, state.note, state.findings) = (files, note, findings);
        changed
    }

    /// Lists the folder. Returns the files to read, by what follows the stem, and findings about names that no
    /// template can have. Names that end in `.hints` are passed over.
    fn find(&self) -> (Vec<(String, PathBuf, WatchedFileStamp)>, Vec<TemplateFileFinding>) {
        let (mut found, mut findings) = (Vec::new(), Vec::new());
        let Some((folder, stem)) = &self.stem else { return (found, findings) };
        let entries =
            fs::read_dir(folder).into_iter().flatten().take(MAX_FOLDER_ENTRIES).filter_map(Result::ok);
        for entry in entries {
            let name = entry.file_name();
            let rest = name.to_str().and_then(|name| name.strip_prefix(stem.as_str())?.strip_prefix('.'));
            let Some(rest) = rest.filter(|rest| rest.rsplit('.').next() != Some("hints")) else { continue };
            let path = folder.join(&name);
            let Some(stamp) = WatchedFileStamp::read_stamp(&path) else { continue };
            match TemplateVariant::parse(rest) {
                Ok(_) => found.push((rest.to_owned(), path, stamp)),
                Err(why) => findings.push(TemplateFileFinding { path, why: TemplateFileError::Name(why) }),
            }
        }
        // A disk gives them in any order.
        found.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        findings.sort_by(|one, other| one.path.cmp(&other.path));
        if let Some((_, path, _)) = found.get(Self::MAX_FILES) {
            findings.push(TemplateFileFinding { path: path.clone(), why: TemplateFileError::TooMany });
            found.truncate(Self::MAX_FILES);
        }
        findings.truncate(Self::MAX_FILES);
        (found, findings)
    }

    fn state(&self) -> MutexGuard<'_, TemplateFilesState> {
        // Nothing that holds the lock can panic halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for TemplateFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("TemplateFiles")
            .field("stem", &self.stem)
            .field("hints", &self.hints)
            .field("files", &state.files.len())
            .finish_non_exhaustive()
    }
}

/// Reads and compiles a file if it changed since `before`, and sets `changed` then. If that fails, the last
/// usable version is kept, along with the finding.
fn reload_if_changed<T>(
    before: Option<LoadedTemplateFile<T>>,
    path: &Path,
    stamp: WatchedFileStamp,
    compile: impl FnOnce(&str) -> Result<T, TemplateCompileError>,
    changed: &mut bool,
) -> LoadedTemplateFile<T> {
    let before = match before {
        Some(kept) if kept.stamp == stamp => return kept,
        before => before.and_then(|kept| kept.read),
    };
    *changed = true;
    match read(path, stamp).and_then(|text| compile(&text).map_err(TemplateFileError::Text)) {
        Ok(read) => {
            if before.is_some() {
                tracing::info!("{} was read again", path.display());
            }
            LoadedTemplateFile { read: Some(Arc::new(read)), stamp, wrong: None }
        }
        Err(why) => {
            if before.is_some() {
                tracing::warn!("{}: what it was before stays in use", path.display());
            }
            LoadedTemplateFile {
                read: before,
                stamp,
                wrong: Some(TemplateFileFinding { path: path.to_owned(), why }),
            }
        }
    }
}

/// Reads a file as text, within the bound.
fn read(path: &Path, stamp: WatchedFileStamp) -> Result<String, TemplateFileError> {
    let most = MAX_SOURCE as u64;
    if stamp.bytes > most {
        return Err(TemplateFileError::TooLarge);
    }
    let mut bytes = Vec::new();
    // One byte more, so that a file that grows meanwhile is found too large.
    let file = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    file.map_err(|error| TemplateFileError::Unreadable(error.kind()))?;
    if bytes.len() > MAX_SOURCE {
        return Err(TemplateFileError::TooLarge);
    }
    String::from_utf8(bytes).map_err(|_| TemplateFileError::Encoding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune::features::{ContentFormat, FeaturePreferences};

    /// A folder of its own, gone with its test.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("attune-templates-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        /// Writes a file, and makes sure that it can be seen to have changed.
        fn write(&self, name: &str, text: &str) {
            let path = self.0.join(name);
            let before = WatchedFileStamp::read_stamp(&path);
            loop {
                fs::write(&path, text).unwrap();
                if WatchedFileStamp::read_stamp(&path) != before {
                    return;
                }
            }
        }

        fn shelf(&self) -> TemplateFiles {
            TemplateFiles::new(Some(&self.0.join("weather")), Some(&self.0.join("weather.hints")))
        }

        /// What is wrong, without the folder.
        fn told(&self, shelf: &TemplateFiles) -> Vec<String> {
            let folder = format!("{}/", self.0.display());
            shelf.findings().iter().map(|finding| finding.to_string().replace(&folder, "")).collect()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// The source of what a caller without tags gets in Markdown.
    fn chosen(shelf: &TemplateFiles) -> Option<String> {
        let templates = shelf.templates();
        Some(templates.choose(&FeaturePreferences::default(), ContentFormat::Markdown)?.source().to_owned())
    }

    #[test]
    fn the_files_of_a_stem_are_its_templates() {
        let place = Place::new("stem");
        for name in
            ["weather.md", "weather.compact.md", "weather.x-a=1.txt", "weathers.md", "other.md", "weather"]
        {
            place.write(name, name);
        }
        place.write("weather.hints", "one\n\ntwo");
        let shelf = place.shelf();
        let templates = shelf.templates();
        assert_eq!(
            templates.iter().map(Template::name).collect::<Vec<_>>(),
            ["compact.md", "x-a=1.txt", "md"]
        );
        assert_eq!(templates.vendors().collect::<Vec<_>>(), ["x-a"]);
        assert!(!shelf.hints().is_empty());
        assert_eq!(place.told(&shelf), [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_told_with_file_line_and_what_to_do() {
        let place = Place::new("wrong");
        place.write("weather.md", "a\n{{ b | numbr }}");
        place.write("weather.compat.md", "");
        place.write("weather.html", "");
        place.write("weather.hints", "fine\n{{ open");
        fs::write(place.0.join("weather.txt"), b"\xff").unwrap();
        File::create(place.0.join("weather.json")).unwrap().set_len(1 << 30).unwrap();
        let shelf = place.shelf();
        assert_eq!(
            place.told(&shelf),
            [
                "weather.compat.md: `compat` is neither a verbosity nor a known tag; did you mean `compact`?",
                "weather.html: no template ends in `.html`; name it .md, .txt or .json, or move it away",
                "weather.json: too large for a template; write at most 256 KiB",
                "weather.md:2:8: there is no filter `numbr`; did you mean `number`?",
                "weather.txt: not UTF-8; save it in that encoding",
                "weather.hints:2:4: this is no template: unexpected end of input, expected end of variable block; \
                 close what is open, and write braces that are text as {{ \"{{\" }}",
            ]
        );
        assert!(shelf.templates().is_empty() && shelf.hints().is_empty());
    }

    #[test]
    fn what_changes_is_followed_and_what_breaks_stays_as_it_was() {
        let place = Place::new("follow");
        place.write("weather.md", "one");
        let shelf = place.shelf();
        let first = shelf.templates();
        shelf.refresh();
        assert!(Arc::ptr_eq(&first, &shelf.templates()), "nothing changed");
        place.write("weather.md", "two");
        place.write("weather.hints", "hint");
        shelf.refresh();
        assert_eq!(chosen(&shelf).as_deref(), Some("two"));
        assert!(!shelf.hints().is_empty());
        place.write("weather.md", "{{ broken");
        place.write("weather.hints", "{{ broken");
        shelf.refresh();
        assert_eq!(chosen(&shelf).as_deref(), Some("two"));
        assert_eq!((shelf.hints().is_empty(), shelf.findings().len()), (false, 2));
        shelf.refresh();
        assert_eq!(shelf.findings().len(), 2, "it is still wrong");
        place.write("weather.md", "three");
        fs::remove_file(place.0.join("weather.hints")).unwrap();
        shelf.refresh();
        assert_eq!(chosen(&shelf).as_deref(), Some("three"));
        assert_eq!((shelf.hints().is_empty(), shelf.findings().len()), (true, 0));
        fs::remove_file(place.0.join("weather.md")).unwrap();
        shelf.refresh();
        assert_eq!(chosen(&shelf), None);
    }

    #[test]
    fn no_more_files_are_read_than_anyone_needs() {
        let place = Place::new("many");
        for number in 0..70 {
            place.write(&format!("weather.x-a={number:03}.md"), "");
        }
        let shelf = place.shelf();
        assert_eq!(shelf.templates().iter().count(), TemplateFiles::MAX_FILES);
        assert_eq!(place.told(&shelf), ["weather.x-a=064.md: more files than are read; keep at most 64"]);
    }
}
