//! Packing of a folder into an archive: the same files give the same bytes, wherever and whenever they are
//! packed.
//!
//! 1. Files are sorted by name, dated 1980-01-01, the first day that archives can express, and have the modes
//!    644 or 755.
//! 2. Files that the official tool leaves out are left out, and those that `.mcpbignore` names, in the syntax
//!    of `.gitignore`.
//! 3. Links are packed as what they lead to, and refused if that is outside of the folder.
//! 4. Names, sizes and compression ratios that [`Bundle::open`](super::Bundle::open) would refuse are not
//!    packed. They are checked before anything is written; sizes and ratios again while files are compressed.
//! 5. The archive is written to a temporary file and renamed, so that readers see the old or the new one, never
//!    a part.
//!
//! Rules: B8.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use mcp_attune_bundle::{BundleFileName, Manifest};
use sha2::{Digest, Sha256};

use super::fault::{ArchiveEntryError, ArchiveError, BundleReadError, EscapedFileName};
use super::limits::{
    MAX_ARCHIVE_BYTES, MAX_ENTRIES, MAX_FILE_BYTES, MAX_RATIO, MAX_UNPACKED_BYTES, RATIO_MIN_BYTES,
};
use super::name_clashes::{FileNameClash, TakenFileNames};
use super::pack_limits::{self, CHUNK_BYTES, PackLimitError};
use crate::store::{NotAFile, resolve_write_target};

/// Patterns that the official tool leaves out: remains of editors, package managers and version control, and
/// secrets.
const LEFT_OUT: [&str; 33] = [
    ".DS_Store",
    "Thumbs.db",
    ".gitignore",
    ".git",
    ".mcpbignore",
    "*.log",
    ".env*",
    ".npm",
    ".npmrc",
    ".yarnrc",
    ".yarn",
    ".eslintrc",
    ".editorconfig",
    ".prettierrc",
    ".prettierignore",
    ".eslintignore",
    ".nycrc",
    ".babelrc",
    ".pnp.*",
    "node_modules/.cache",
    "node_modules/.bin",
    "*.map",
    ".env.local",
    ".env.*.local",
    "npm-debug.log*",
    "yarn-debug.log*",
    "yarn-error.log*",
    "package-lock.json",
    "yarn.lock",
    "*.mcpb",
    "*.d.ts",
    "*.tsbuildinfo",
    "tsconfig.json",
];

/// The file with further patterns.
const IGNORE_FILE: &str = ".mcpbignore";
/// Maximum size of that file in bytes.
const MAX_IGNORE_BYTES: u64 = 1 << 20;

/// What was packed, for a report.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PackedBundle {
    /// The packed files, sorted by name, with their unpacked sizes in bytes.
    pub files: Vec<(BundleFileName, u64)>,
    /// Files and folders that were left out, sorted. Names of folders end in `/`, and what is in them is not
    /// listed.
    pub left_out: Vec<Box<str>>,
    /// Size of the archive in bytes.
    pub bytes: u64,
    /// SHA-256 of the archive.
    pub sha256: [u8; 32],
}

/// Why a folder was not packed. An archive that was at the target before is still there.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BundlePackError {
    /// The folder cannot be listed.
    Unreadable(io::ErrorKind),
    /// There is no `manifest.json` at the top of the folder, or it is left out.
    NoManifest,
    /// A line of `.mcpbignore` is not a valid pattern.
    Pattern {
        /// The number of the line, counted from 1.
        line: usize,
    },
    /// A file cannot be packed.
    File {
        /// Its name in the bundle.
        name: Box<str>,
        /// Why it cannot be packed.
        why: BundleReadError,
    },
    /// The archive would exceed a bound, so that nobody could open it.
    Archive(ArchiveError),
    /// The target exists and is not a regular file. It is left as it is.
    NotAFile,
    /// Creating or writing the archive failed.
    Unwritable(io::ErrorKind),
}

impl fmt::Display for BundlePackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "cannot be read as a folder: {why}"),
            Self::NoManifest => f.write_str("has no manifest.json at its top, or it is left out"),
            Self::Pattern { line } => write!(f, "its {IGNORE_FILE} has no pattern in line {line}"),
            Self::File { name, why } => write!(f, "its file {} {why}", EscapedFileName(name)),
            Self::Archive(why) => write!(f, "as an archive, it {why}"),
            Self::NotAFile => f.write_str("the archive cannot be written: what is at its place is no file"),
            Self::Unwritable(why) => write!(f, "the archive cannot be written: {why}"),
        }
    }
}

impl BundlePackError {
    /// Returns what the user can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable(_) => "name the folder that manifest.json is in".into(),
            Self::NoManifest => format!("put one there, and see whether {IGNORE_FILE} names it"),
            Self::Pattern { .. } => "write it as in a .gitignore".into(),
            Self::File { why, .. } => format!("{}; or name it in {IGNORE_FILE}", why.hint()),
            Self::Archive(why) => why.hint().into(),
            Self::NotAFile => "name a file, such as weather.mcpb".into(),
            Self::Unwritable(_) => "see who may write there, and whether there is room".into(),
        }
    }
}

impl std::error::Error for BundlePackError {}

/// Progress of packing, in bytes of the files that are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PackProgress {
    /// Bytes that were compressed so far.
    pub done: u64,
    /// Bytes of all files, as measured before packing began.
    pub total: u64,
}

/// Packs a folder into an archive at `out`, which is replaced if it exists. Blocks until it is done.
///
/// There has to be a `manifest.json`; whether it is valid is not checked. The archive itself is left out if it
/// is in the folder.
///
/// # Errors
///
/// [`BundlePackError`]; nothing is written then.
pub fn pack(folder: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<PackedBundle, BundlePackError> {
    pack_with_progress(folder, out, &mut |_| {})
}

/// Packs a folder as [`pack`] does, and calls `progress` after each megabyte or smaller rest of a file.
///
/// # Errors
///
/// [`BundlePackError`]; nothing is written then.
pub fn pack_with_progress(
    folder: impl AsRef<Path>,
    out: impl AsRef<Path>,
    progress: &mut dyn FnMut(PackProgress),
) -> Result<PackedBundle, BundlePackError> {
    let unreadable = |error: io::Error| BundlePackError::Unreadable(error.kind());
    let unwritable = |error: io::Error| BundlePackError::Unwritable(error.kind());
    let (root, out) = (fs::canonicalize(folder).map_err(unreadable)?, out.as_ref());
    let name = out.file_name().ok_or(BundlePackError::Unwritable(io::ErrorKind::InvalidInput))?;
    let beside = out.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let out = fs::canonicalize(beside).map_err(unwritable)?.join(name);
    // Where it is a link, what it points to is written.
    let out = resolve_write_target(&out).map_err(|NotAFile| BundlePackError::NotAFile)?;
    let name = out.file_name().unwrap_or(name);
    let mut walk = PackWalk::new(&root, &out)?;
    walk.walk_folder("", &root)?;
    let PackWalk { files, mut left_out, .. } = walk;
    if !files.contains_key(Manifest::FILE_NAME) {
        return Err(BundlePackError::NoManifest);
    }
    left_out.sort();
    let total =
        pack_limits::check(files.values().map(|it| (&it.name, &*it.path))).map_err(|over| match over {
            PackLimitError::File(name, why) => BundlePackError::File { name, why },
            PackLimitError::All(why) => BundlePackError::Archive(why),
        })?;
    // No bundle ends so.
    let partial = out.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    let packed = File::create(&partial).map_err(unwritable).and_then(|file| {
        let mut done = 0;
        let packed = write_archive(&files, left_out, BufWriter::new(file), &mut |bytes| {
            done += bytes;
            progress(PackProgress { done, total });
        })?;
        fs::rename(&partial, &out).map_err(unwritable)?;
        Ok(packed)
    });
    if packed.is_err() {
        let _ = fs::remove_file(&partial);
    }
    packed
}

/// A file that will be packed.
struct FileToPack {
    name: BundleFileName,
    /// Its absolute path, with links resolved.
    path: PathBuf,
}

/// A walk over the folder that collects the files to pack.
struct PackWalk<'a> {
    root: &'a Path,
    /// The archive that is written, which is not packed into itself.
    out: &'a Path,
    ignore: Gitignore,
    /// Names so far, to refuse those that are the same file on some systems.
    taken: TakenFileNames,
    /// Number of entries so far, those that are left out included.
    seen: usize,
    /// The files by name, which gives their order in the archive.
    files: BTreeMap<Box<str>, FileToPack>,
    left_out: Vec<Box<str>>,
}

impl<'a> PackWalk<'a> {
    fn new(root: &'a Path, out: &'a Path) -> Result<Self, BundlePackError> {
        let ignore = ignore_patterns(root)?;
        let (taken, seen, files, left_out) = (TakenFileNames::default(), 0, BTreeMap::new(), Vec::new());
        Ok(Self { root, out, ignore, taken, seen, files, left_out })
    }

    /// Walks one folder: `name` is its name in the bundle, empty for the top, and `path` its path with links
    /// resolved.
    fn walk_folder(&mut self, name: &str, path: &Path) -> Result<(), BundlePackError> {
        let unreadable = |name: &str, error: &io::Error| match name {
            "" => BundlePackError::Unreadable(error.kind()),
            name => {
                BundlePackError::File { name: name.into(), why: BundleReadError::Unreadable(error.kind()) }
            }
        };
        let entries = fs::read_dir(path).map_err(|error| unreadable(name, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(name, &error))?;
            let own = entry.file_name();
            let below = |own: &str| if name.is_empty() { own.to_owned() } else { format!("{name}/{own}") };
            let wrong = |why: ArchiveEntryError| {
                let name = below(&own.to_string_lossy()).into();
                BundlePackError::File { name, why: BundleReadError::Entry(why) }
            };
            self.seen += 1;
            if self.seen > MAX_ENTRIES {
                return Err(BundlePackError::Archive(ArchiveError::TooMany));
            }
            let name = below(own.to_str().ok_or_else(|| wrong(ArchiveEntryError::Encoding))?);
            self.walk_entry(name, &entry.path())?;
        }
        Ok(())
    }

    /// Decides about one entry: it is left out, walked, or added to the files; or it makes packing fail.
    fn walk_entry(&mut self, name: String, path: &Path) -> Result<(), BundlePackError> {
        let unfit = |why| BundlePackError::File { name: name.as_str().into(), why };
        // What it is, and where a link leads to: links to nowhere are refused where they are not left out.
        let about = fs::metadata(path);
        let is_folder = about.as_ref().is_ok_and(fs::Metadata::is_dir);
        if path == self.out || self.ignore.matched(&name, is_folder).is_ignore() {
            self.left_out.push(if is_folder { name + "/" } else { name }.into());
            return Ok(());
        }
        let about = about.map_err(|error| unfit(BundleReadError::Unreadable(error.kind())))?;
        let real =
            fs::canonicalize(path).map_err(|error| unfit(BundleReadError::Unreadable(error.kind())))?;
        if !real.starts_with(self.root) {
            return Err(unfit(BundleReadError::Outside));
        }
        let inside = BundleFileName::parse(&name)
            .map_err(|why| unfit(BundleReadError::Entry(ArchiveEntryError::Name(why))))?;
        let clash = self.taken.add(&name, is_folder);
        clash.map_err(|clash| {
            unfit(BundleReadError::Entry(match clash {
                FileNameClash::Twice => ArchiveEntryError::Twice,
                FileNameClash::FileAndFolder => ArchiveEntryError::FileAndFolder,
                FileNameClash::Twin(other) => ArchiveEntryError::Twin(other),
            }))
        })?;
        if is_folder {
            // A link that leads in a circle ends where names are too long.
            return self.walk_folder(&name, &real);
        }
        if !about.is_file() {
            return Err(unfit(BundleReadError::NoFile));
        }
        self.files.insert(name.into(), FileToPack { name: inside, path: real });
        Ok(())
    }
}

/// Builds the matcher of what is left out. The patterns of `.mcpbignore` come last, so that they can take back
/// those of the official tool with `!`.
fn ignore_patterns(root: &Path) -> Result<Gitignore, BundlePackError> {
    let mut builder = GitignoreBuilder::new("");
    // As the official tool does.
    let _ = builder.case_insensitive(true);
    for line in LEFT_OUT {
        let _ = builder.add_line(None, line);
    }
    let unfit = |why| BundlePackError::File { name: IGNORE_FILE.into(), why };
    let mut text = String::new();
    match File::open(root.join(IGNORE_FILE)) {
        Ok(file) => {
            let read = file.take(MAX_IGNORE_BYTES + 1).read_to_string(&mut text);
            read.map_err(|error| unfit(BundleReadError::Unreadable(error.kind())))?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(unfit(BundleReadError::Unreadable(error.kind()))),
    }
    if text.len() as u64 > MAX_IGNORE_BYTES {
        return Err(unfit(BundleReadError::TooLarge { most: MAX_IGNORE_BYTES }));
    }
    for (at, line) in text.lines().enumerate() {
        builder.add_line(None, line.trim()).map_err(|_| BundlePackError::Pattern { line: at + 1 })?;
    }
    builder.build().map_err(|_| BundlePackError::Pattern { line: 1 })
}

/// Writes the archive of these files, and flushes it to disk. `packed_bytes` is called with each number of
/// compressed bytes.
fn write_archive(
    files: &BTreeMap<Box<str>, FileToPack>,
    left_out: Vec<Box<str>>,
    mut into: BufWriter<File>,
    packed_bytes: &mut dyn FnMut(u64),
) -> Result<PackedBundle, BundlePackError> {
    let unwritable = |error: io::Error| BundlePackError::Unwritable(error.kind());
    let (mut bytes, mut unpacked, mut hash) = (0_u64, 0_u64, Sha256::new());
    let (mut directory, mut packed) = (Vec::new(), Vec::new());
    let mut put = |part: &[u8], bytes: &mut u64| {
        hash.update(part);
        *bytes += part.len() as u64;
        if *bytes > MAX_ARCHIVE_BYTES {
            return Err(BundlePackError::Archive(ArchiveError::TooLarge));
        }
        into.write_all(part).map_err(unwritable)
    };
    for FileToPack { name, path } in files.values() {
        let entry = PackedEntry::compress_file(name, path, packed_bytes)
            .map_err(|why| BundlePackError::File { name: name.as_str().into(), why })?;
        unpacked += u64::from(entry.size);
        if unpacked > MAX_UNPACKED_BYTES {
            return Err(BundlePackError::Archive(ArchiveError::Unpacked));
        }
        directory.extend(entry.directory_record(bytes));
        put(&entry.header(), &mut bytes)?;
        put(&entry.data, &mut bytes)?;
        packed.push((name.clone(), entry.size.into()));
    }
    let end = end_record(packed.len(), directory.len(), bytes);
    put(&directory, &mut bytes)?;
    put(&end, &mut bytes)?;
    into.flush().map_err(unwritable)?;
    into.get_ref().sync_all().map_err(unwritable)?;
    Ok(PackedBundle { files: packed, left_out, bytes, sha256: hash.finalize().into() })
}

/// A file that was compressed, in memory.
struct PackedEntry<'a> {
    name: &'a BundleFileName,
    /// The Unix mode: a regular file with 644, or 755 if it is executable.
    mode: u32,
    /// 8 for deflate; 0, stored, if deflate would not make it smaller.
    method: u16,
    checksum: u32,
    /// Unpacked size in bytes.
    size: u32,
    data: Vec<u8>,
}

impl<'a> PackedEntry<'a> {
    /// Reads and compresses one file, within the bounds.
    fn compress_file(
        name: &'a BundleFileName,
        path: &Path,
        packed: &mut dyn FnMut(u64),
    ) -> Result<Self, BundleReadError> {
        let unreadable = |error: io::Error| BundleReadError::Unreadable(error.kind());
        let file = File::open(path).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        let size = u32::try_from(bytes.len()).ok().filter(|size| u64::from(*size) <= MAX_FILE_BYTES);
        let size = size.ok_or(BundleReadError::Entry(ArchiveEntryError::TooLarge))?;
        let checksum = crc32fast::hash(&bytes);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        for part in bytes.chunks(CHUNK_BYTES) {
            encoder.write_all(part).map_err(unreadable)?;
            packed(part.len() as u64);
        }
        let deflated = encoder.finish().map_err(unreadable)?;
        let (method, data) = if deflated.len() < bytes.len() { (8, deflated) } else { (0, bytes) };
        if u64::from(size) > RATIO_MIN_BYTES && u64::from(size) > data.len() as u64 * MAX_RATIO {
            return Err(BundleReadError::Entry(ArchiveEntryError::Ratio));
        }
        let mode = if is_program(&about) { 0o100_755 } else { 0o100_644 };
        Ok(Self { name, mode, method, checksum, size, data })
    }

    /// Returns the fields that the local header and the directory record share.
    fn common_fields(&self) -> Vec<u8> {
        const UTF8: u16 = 1 << 11;
        const FIRST_DAY: u16 = 1 << 5 | 1;
        let flags = if self.name.as_str().is_ascii() { 0 } else { UTF8 };
        let mut bytes = Vec::new();
        push_u16s(&mut bytes, &[20, flags, self.method, 0, FIRST_DAY]);
        push_u32s(&mut bytes, &[self.checksum, as_u32(self.data.len()), self.size]);
        push_u16s(&mut bytes, &[as_u16(self.name.as_str().len()), 0]);
        bytes
    }

    /// Returns the local header.
    fn header(&self) -> Vec<u8> {
        [b"PK\x03\x04", &*self.common_fields(), self.name.as_str().as_bytes()].concat()
    }

    /// Returns the directory record; `at` is the offset of the local header.
    fn directory_record(&self, at: u64) -> Vec<u8> {
        const UNIX: u8 = 3;
        let mut rest = Vec::new();
        push_u16s(&mut rest, &[0, 0, 0]);
        push_u32s(&mut rest, &[self.mode << 16, as_u32(at)]);
        [b"PK\x01\x02", &[20, UNIX][..], &*self.common_fields(), &*rest, self.name.as_str().as_bytes()]
            .concat()
    }
}

fn end_record(entries: usize, directory: usize, at: u64) -> Vec<u8> {
    let mut bytes = b"PK\x05\x06".to_vec();
    push_u16s(&mut bytes, &[0, 0, as_u16(entries), as_u16(entries)]);
    push_u32s(&mut bytes, &[as_u32(directory), as_u32(at)]);
    push_u16s(&mut bytes, &[0]);
    bytes
}

/// Converts a number of an archive. The limits keep all of them below the maximum.
fn as_u16(number: usize) -> u16 {
    number.try_into().unwrap_or(u16::MAX)
}

fn as_u32(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}

fn push_u16s(into: &mut Vec<u8>, numbers: &[u16]) {
    into.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn push_u32s(into: &mut Vec<u8>, numbers: &[u32]) {
    into.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// Returns whether anybody may execute the file.
#[cfg(unix)]
fn is_program(about: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o111 != 0
}

/// Returns false: systems other than Unix do not say.
#[cfg(not(unix))]
fn is_program(_: &fs::Metadata) -> bool {
    false
}
