//! Bundles on disk: a folder, or an archive of one, opened without trusting it.
//!
//! [`Bundle::open`] takes a folder, the `manifest.json` in one, or a `.mcpb` file (older ones are called
//! `.dxt`; both are zip archives). Opening parses the manifest and finds the locale files. For that, a folder
//! is listed only where locale files can be; of an archive, the whole directory is checked. Other files are
//! read when they are needed, up to a size that the caller names.
//!
//! An archive that is malformed or ambiguous is refused as a whole, with the entry and the reason; the bounds
//! are in [`limits`]. Nothing of a bundle is run or fetched, and no link is followed out of it.
//!
//! Rules: B1, B2, B4, B5, B8.

pub mod limits;
mod fault;
mod name_clashes;

mod source;

mod directory;

mod signature;
mod archive;
mod tree;

mod pack_limits;

mod picture;
mod files;
mod pack;
mod unpack;

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_attune::catalog::{CompiledLocale, ParsedLocaleFile};
use mcp_attune::language::Tag;
use mcp_attune_bundle::{
    BundleFileName, BundleLocaleFile, BundleLocales, Manifest, ManifestError, ManifestResolver, PictureFacts,
    ResolvedManifest,
};

use self::archive::Archive;
pub use self::fault::{ArchiveEntryError, ArchiveError, BundleOpenError, BundleReadError};
use self::limits::MAX_CACHED_LOCALE_BYTES;
pub use self::pack::{BundlePackError, PackProgress, PackedBundle, pack, pack_with_progress};
pub use self::picture::PictureReadError;
pub use self::signature::{BundleSignature, SignatureClaims};
use self::source::ArchiveSource;
use self::tree::BundleFolder;
pub use self::unpack::BundleUnpackError;

/// An opened bundle: its manifest, its locale files, and access to everything else in it.
///
/// It can be shared between threads. Locale files and measurements of pictures are cached, and changes on disk
/// after opening are not followed.
///
/// ```
/// use mcp_attune::language::Tag;
/// use mcp_attune_files::bundle::Bundle;
///
/// # let folder = std::env::temp_dir().join(format!("attune-bundle-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(folder.join("texts"))?;
/// # std::fs::write(folder.join("manifest.json"), r#"{"name": "weather", "description": "The weather",
/// #     "localization": {"resources": "texts/${locale}.json", "default_locale": "en"}}"#)?;
/// # std::fs::write(folder.join("texts/es.json"), r#"{"description": "El tiempo"}"#)?;
/// let bundle = Bundle::open(&folder)?;
/// assert_eq!(bundle.manifest().name.as_deref(), Some("weather"));
/// let resolved = bundle.resolve(&Tag::parse("es-UY")?);
/// assert!(resolved.text.contains("El tiempo"));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Bundle {
    place: BundleStorage,
    manifest: Manifest,
    /// The manifest's file, unchanged, for checks that report positions in it.
    bytes: Vec<u8>,
    locales: BundleLocales,
    /// Number of files that were read, for tests of lazy loading.
    reads: AtomicUsize,
    /// Compiled locale files.
    kept: Mutex<CachedBundleLocales>,
    /// Measurements of pictures: decoding a large one takes longer than everything else.
    seen: Mutex<HashMap<BundleFileName, Result<PictureFacts, PictureReadError>>>,
}

/// Where the files of a bundle are.
enum BundleStorage {
    Tree(BundleFolder),
    Archive(Archive),
}

/// Locale files that were read, by name.
#[derive(Default)]
struct CachedBundleLocales {
    /// `None` for a file that cannot be used, so that it is not read again.
    locales: HashMap<BundleFileName, Option<Arc<CompiledLocale>>>,
    /// Total size of all files that were read through the cache. Once it exceeds the bound, no more are kept.
    bytes: u64,
}

impl Bundle {
    /// Opens a folder, the folder of a `manifest.json`, or an archive. Blocks on the disk, as all reading does.
    ///
    /// Every file of another name than `manifest.json` is opened as an archive, whatever its suffix is.
    ///
    /// # Errors
    ///
    /// [`BundleOpenError`] if it has no manifest that can be parsed, or is an archive that cannot be read
    /// safely.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, BundleOpenError> {
        let path = path.as_ref();
        let unreadable = |error: std::io::Error| BundleOpenError::Unreadable(error.kind());
        let about = fs::metadata(path).map_err(unreadable)?;
        if about.is_dir() {
            return Self::new(BundleStorage::Tree(BundleFolder::open(path).map_err(unreadable)?));
        }
        if !about.is_file() {
            return Err(BundleOpenError::Special);
        }
        if path.file_name().is_some_and(|name| name == Manifest::FILE_NAME) {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            return Self::new(BundleStorage::Tree(BundleFolder::open(folder).map_err(unreadable)?));
        }
        let source = File::open(path).and_then(ArchiveSource::from_file).map_err(unreadable)?;
        Self::new(BundleStorage::Archive(Archive::open(source)?))
    }

    /// Opens an archive that is in memory.
    ///
    /// # Errors
    ///
    /// [`BundleOpenError`] if it has no manifest that can be parsed, or cannot be read safely.
    pub fn from_archive(archive: impl Into<Box<[u8]>>) -> Result<Self, BundleOpenError> {
        Self::new(BundleStorage::Archive(Archive::open(ArchiveSource::Memory(archive.into()))?))
    }

    /// Parses the manifest and finds the locale files.
    fn new(place: BundleStorage) -> Result<Self, BundleOpenError> {
        let name = BundleFileName::parse(Manifest::FILE_NAME)
            .map_err(|_| BundleOpenError::NoManifest { elsewhere: None })?;
        let bytes = place.read(&name, Manifest::MAX_BYTES as u64).map_err(|why| match why {
            BundleReadError::Missing => {
                BundleOpenError::NoManifest { elsewhere: place.nested_manifest_folder() }
            }
            BundleReadError::TooLarge { .. } => {
                BundleOpenError::Manifest { why: ManifestError::TooLarge, file: Box::default() }
            }
            why => BundleOpenError::Unavailable(why),
        })?;
        let manifest = match Manifest::read(&bytes) {
            Ok(manifest) => manifest,
            Err(why) => return Err(BundleOpenError::Manifest { why, file: bytes.into() }),
        };
        let locales = match (&place, &manifest.localization) {
            (BundleStorage::Tree(tree), Some(localization)) => {
                let names = tree.locales(localization);
                BundleLocales::find_among(&manifest, names.iter().map(String::as_str))
            }
            (BundleStorage::Tree(_), None) => BundleLocales::find_among(&manifest, []),
            (BundleStorage::Archive(archive), _) => {
                BundleLocales::find_among(&manifest, archive.files().map(BundleFileName::as_str))
            }
        };
        let (reads, kept, seen) = (AtomicUsize::new(1), Mutex::default(), Mutex::default());
        Ok(Self { place, manifest, bytes, locales, reads, kept, seen })
    }

    /// Returns the parsed manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the manifest's file, byte for byte.
    #[must_use]
    pub fn manifest_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the locale files that were found when the bundle was opened.
    #[must_use]
    pub fn locales(&self) -> &BundleLocales {
        &self.locales
    }

    /// Returns the absolute path of the bundle's folder, with links resolved; `None` for an archive.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            BundleStorage::Tree(tree) => Some(tree.root()),
            BundleStorage::Archive(_) => None,
        }
    }

    /// Returns the names of all files, sorted. A folder is walked each time.
    ///
    /// Of a folder are left out: names that no bundle can have, links to folders or out of the bundle, and
    /// whatever comes after the first [`limits::MAX_ENTRIES`] entries.
    #[must_use]
    pub fn names(&self) -> Vec<BundleFileName> {
        match &self.place {
            BundleStorage::Tree(tree) => tree.files(),
            BundleStorage::Archive(archive) => archive.files().cloned().collect(),
        }
    }

    /// Returns the signature at the end of an archive, parsed but not verified: neither who signed nor what was
    /// signed is checked.
    ///
    /// Returns `None` if there is none, and for a folder.
    #[must_use]
    pub fn signature(&self) -> Option<BundleSignature> {
        match &self.place {
            BundleStorage::Tree(_) => None,
            BundleStorage::Archive(archive) => archive.signature().map(BundleSignature::read),
        }
    }

    /// Reads a file of at most `most` bytes.
    ///
    /// # Errors
    ///
    /// [`BundleReadError`] if the file is missing, larger, outside of the bundle or unreadable, or if its
    /// archive entry is damaged.
    pub fn read(&self, name: &BundleFileName, most: u64) -> Result<Vec<u8>, BundleReadError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.place.read(name, most)
    }

    /// Returns how many files were asked for so far, the manifest included.
    #[must_use]
    pub fn read_count(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// Returns the manifest in a user's language.
    ///
    /// Locale files are read when they are first needed, one after the other and no more than necessary, and
    /// kept up to [`limits::MAX_CACHED_LOCALE_BYTES`] bytes. One that is missing or cannot be used is passed
    /// over.
    ///
    /// Rules: B4, B5.
    #[must_use]
    pub fn resolve(&self, locale: &Tag) -> ResolvedManifest {
        let mut resolve = ManifestResolver::new(&self.manifest, &self.locales, locale);
        while let Some(wanted) = resolve.next_file() {
            match self.locale(wanted) {
                Some(locale) => resolve.apply_locale(&locale),
                None => resolve.skip(),
            }
        }
        resolve.finish()
    }

    /// Returns a locale file, from the cache or from disk; `None` if it cannot be used.
    fn locale(&self, file: &BundleLocaleFile) -> Option<Arc<CompiledLocale>> {
        // Held while it is read, so that two who need the same file read it once.
        let mut kept = self.lock_cache();
        if let Some(locale) = kept.locales.get(&file.name) {
            return locale.clone();
        }
        let bytes = self.read(&file.name, ParsedLocaleFile::MAX_BYTES as u64).unwrap_or_default();
        let locale = CompiledLocale::read(file.tag.clone(), &bytes).ok().map(|(locale, _)| Arc::new(locale));
        kept.bytes = kept.bytes.saturating_add(bytes.len() as u64);
        if kept.bytes <= MAX_CACHED_LOCALE_BYTES {
            kept.locales.insert(file.name.clone(), locale.clone());
        }
        locale
    }

    fn lock_cache(&self) -> MutexGuard<'_, CachedBundleLocales> {
        // Nothing that holds the lock can panic halfway through a change.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BundleStorage {
    fn read(&self, name: &BundleFileName, most: u64) -> Result<Vec<u8>, BundleReadError> {
        match self {
            Self::Tree(tree) => tree.read(name, most),
            Self::Archive(archive) => archive.read(name, most),
        }
    }

    /// Returns the folder of a manifest that is one level too deep, as if the folder had been packed and not
    /// what is in it. Only archives are searched. It makes the error message helpful.
    fn nested_manifest_folder(&self) -> Option<Box<str>> {
        let Self::Archive(archive) = self else { return None };
        let mut folders = archive.files().filter_map(|name| {
            let (folder, file) = name.as_str().split_once('/')?;
            (file == Manifest::FILE_NAME).then_some(folder)
        });
        folders.next().map(Box::from)
    }
}

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bundle")
            .field("name", &self.manifest.name)
            .field("folder", &self.folder())
            .field("locales", &self.locales.files.len())
            .finish_non_exhaustive()
    }
}
