//! Bundles on disk: a folder, or an archive of one, opened without trusting it.
//!
//! [`Bundle::open`] takes a folder, the `manifest.json` in one, or a `.mcpb` file (older ones are called `.dxt`; both are zip
//! archives). Opening reads the manifest and learns which locale files there are; of a folder nothing else is looked at, of
//! an archive the directory. Files are read when they are needed, up to a bound that the caller names.
//!
//! Archives that are not quite right are refused as a whole, with the entry and the reason; what the limits are is in
//! [`limits`]. Nothing of a bundle is run, fetched or followed out of it.
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

/// A bundle that was opened.
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
    bytes: Vec<u8>,
    locales: BundleLocales,
    /// How many files were read.
    reads: AtomicUsize,
    kept: Mutex<CachedBundleLocales>,
    /// The pictures that were looked at: a large one takes longer than all the rest.
    seen: Mutex<HashMap<BundleFileName, Result<PictureFacts, PictureReadError>>>,
}

enum BundleStorage {
    Tree(BundleFolder),
    Archive(Archive),
}

/// Locale files that were read.
#[derive(Default)]
struct CachedBundleLocales {
    /// None where it cannot be used.
    locales: HashMap<BundleFileName, Option<Arc<CompiledLocale>>>,
    bytes: u64,
}

impl Bundle {
    /// Opens a folder, the one that a `manifest.json` is in, or an archive.
    ///
    /// # Errors
    ///
    /// [`BundleOpenError`] where it is no bundle, or none that can be read safely.
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
    /// [`BundleOpenError`] where it is no bundle, or none that can be read safely.
    pub fn from_archive(archive: impl Into<Box<[u8]>>) -> Result<Self, BundleOpenError> {
        Self::new(BundleStorage::Archive(Archive::open(ArchiveSource::Memory(archive.into()))?))
    }

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

    /// What its manifest says.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The manifest's file as it is.
    #[must_use]
    pub fn manifest_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its locale files.
    #[must_use]
    pub fn locales(&self) -> &BundleLocales {
        &self.locales
    }

    /// Its folder, without links in the path, where it is one.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            BundleStorage::Tree(tree) => Some(tree.root()),
            BundleStorage::Archive(_) => None,
        }
    }

    /// The names of all its files, in their order. A folder is walked each time; left out are names that no bundle can have,
    /// links that lead out, and what follows the first [`limits::MAX_ENTRIES`].
    #[must_use]
    pub fn names(&self) -> Vec<BundleFileName> {
        match &self.place {
            BundleStorage::Tree(tree) => tree.files(),
            BundleStorage::Archive(archive) => archive.files().cloned().collect(),
        }
    }

    /// The signature at its end. It is only read: who signed it is not found out, nor whether the archive is what was
    /// signed. A folder has none.
    #[must_use]
    pub fn signature(&self) -> Option<BundleSignature> {
        match &self.place {
            BundleStorage::Tree(_) => None,
            BundleStorage::Archive(archive) => archive.signature().map(BundleSignature::read),
        }
    }

    /// Reads a file that has at most so many bytes.
    ///
    /// # Errors
    ///
    /// [`BundleReadError`] where it is not there, is larger, or is not inside.
    pub fn read(&self, name: &BundleFileName, most: u64) -> Result<Vec<u8>, BundleReadError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.place.read(name, most)
    }

    /// How many files were read so far, the manifest among them.
    #[must_use]
    pub fn read_count(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// The manifest as a user of this locale sees it. Locale files are read when they are first needed, one after the other
    /// and no more than it takes, and kept up to [`limits::MAX_CACHED_LOCALE_BYTES`] bytes; one that cannot be used is passed over.
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

    /// The folder of a manifest that is not at the top, as in an archive of a folder.
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
