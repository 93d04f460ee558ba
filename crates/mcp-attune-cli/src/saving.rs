//! What a result holds, in files: `--out`.
//!
//! 1. The images, the audio and the resources of a result are saved; where it has none, its texts.
//! 2. PATH is a folder where it is one, or where it ends with a slash; it is made where it is not there. Else it is the file
//!    of the one thing that there is to save.
//! 3. Files in a folder are called as their resource is, or by what they are and a number. No name leads out of the folder.
//! 4. Nothing is written over: in a folder another number is taken, and a file that is there is an error.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mcp_attune_wire::json::SpannedValue;

use crate::exit::hinted;
use crate::paint::{self, PaintStyle};
use crate::show::text_member;
use crate::show::{content_size, plain};

/// How many things are saved from one result.
const MAX_PARTS: usize = 1000;
/// How many characters a name has that a server chose.
const MAX_NAME: usize = 100;
/// How many numbers are tried for a name that is taken.
const MAX_TRIES: usize = 10_000;

/// One thing that can be saved.
#[derive(Debug)]
pub(crate) struct SavableContent {
    bytes: Vec<u8>,
    /// What it is called, without an extension.
    stem: String,
    extension: String,
}

/// What there is to save in the result of a call.
pub(crate) fn contents_of_call(result: SpannedValue<'_>) -> anyhow::Result<Vec<SavableContent>> {
    let blocks: Vec<_> =
        result.member("content").into_iter().flat_map(SpannedValue::elements).take(MAX_PARTS).collect();
    let (mut parts, mut texts) = (Vec::new(), Vec::new());
    for block in blocks {
        let kind = text_member(block, "type").unwrap_or_default();
        match (kind.as_str(), block.member("resource")) {
            ("image" | "audio", _) => {
                let bytes = decoded(&text_member(block, "data").unwrap_or_default())?;
                parts.push(SavableContent::new(bytes, &kind, parts.len(), text_member(block, "mimeType")));
            }
            ("resource", Some(resource)) => parts.extend(content_of_resource(resource, parts.len())?),
            ("text", _) => texts.extend(text_member(block, "text")),
            _ => {}
        }
    }
    if parts.is_empty() {
        let named = |(number, text): (usize, String)| {
            let json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            let kind = if json { "application/json" } else { "text/plain" };
            SavableContent::new(text.into_bytes(), "text", number, Some(kind.to_owned()))
        };
        parts = texts.into_iter().enumerate().map(named).collect();
    }
    Ok(parts)
}

/// What there is to save in a resource that was read.
pub(crate) fn contents_of_resource(result: SpannedValue<'_>) -> anyhow::Result<Vec<SavableContent>> {
    let contents = result.member("contents").into_iter().flat_map(SpannedValue::elements).take(MAX_PARTS);
    let mut parts = Vec::new();
    for (number, content) in contents.enumerate() {
        parts.extend(content_of_resource(content, number)?);
    }
    Ok(parts)
}

fn content_of_resource(resource: SpannedValue<'_>, number: usize) -> anyhow::Result<Option<SavableContent>> {
    let bytes = match (text_member(resource, "blob"), text_member(resource, "text")) {
        (Some(blob), _) => decoded(&blob)?,
        (None, Some(text)) => text.into_bytes(),
        (None, None) => return Ok(None),
    };
    let mut part = SavableContent::new(bytes, "resource", number, text_member(resource, "mimeType"));
    if let Some((stem, extension)) = text_member(resource, "uri").as_deref().and_then(file_name_of) {
        part.stem = stem;
        part.extension = extension.unwrap_or(part.extension);
    }
    Ok(Some(part))
}

impl SavableContent {
    fn new(bytes: Vec<u8>, what: &str, number: usize, kind: Option<String>) -> Self {
        let extension = extension(&kind.unwrap_or_default()).to_owned();
        Self { bytes, stem: format!("{what}-{}", number + 1), extension }
    }
}

/// Base64 as servers write it: with and without what fills it up, and on several lines.
fn decoded(base64: &str) -> anyhow::Result<Vec<u8>> {
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&alphabet::STANDARD, lenient);
    let text: String = base64.chars().filter(|char| !char.is_ascii_whitespace()).collect();
    engine.decode(text).map_err(|why| {
        let hint = "this is the server's mistake; --json shows what it sent";
        hinted(format!("what the server sent is no base64: {why}"), hint)
    })
}

/// The extension for a media type.
fn extension(kind: &str) -> &'static str {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/avif" => "avif",
        "image/bmp" => "bmp",
        "image/tiff" => "tiff",
        "image/x-icon" | "image/vnd.microsoft.icon" => "ico",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" | "audio/wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" => "ogg",
        "audio/flac" => "flac",
        "audio/aac" => "aac",
        "audio/mp4" => "m4a",
        "audio/webm" | "video/webm" => "webm",
        "video/mp4" => "mp4",
        "text/markdown" => "md",
        "text/html" => "html",
        "text/css" => "css",
        "text/csv" => "csv",
        "text/javascript" | "application/javascript" => "js",
        "application/json" => "json",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "application/gzip" => "gz",
        "application/xml" | "text/xml" => "xml",
        "application/yaml" | "text/yaml" => "yaml",
        "application/toml" => "toml",
        kind if kind.ends_with("+json") => "json",
        kind if kind.ends_with("+xml") => "xml",
        kind if kind.starts_with("text/") => "txt",
        _ => "bin",
    }
}

/// What a resource is called by the end of its URI, and its extension; none where that is nothing that a file can be called.
fn file_name_of(uri: &str) -> Option<(String, Option<String>)> {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    let last = path.trim_end_matches('/').rsplit(['/', '\\', ':']).next()?;
    let plain =
        |char: char| if char.is_alphanumeric() || matches!(char, '-' | '_' | '.') { char } else { '_' };
    let name: String = last.chars().take(MAX_NAME).map(plain).collect();
    let name = name.trim_matches('.');
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && extension.len() <= 8 => {
            (stem, Some(extension.to_owned()))
        }
        _ => (name, None),
    };
    // Some systems take these for devices, whatever follows the point.
    let device = ["con", "prn", "aux", "nul"]
        .contains(&stem.split('.').next().unwrap_or_default().to_lowercase().as_str());
    let says_something = stem.chars().any(char::is_alphanumeric);
    (says_something && !device).then(|| (stem.to_owned(), extension))
}

/// Whether `--out` can be written, before anything is asked.
pub(crate) fn check_out_path(path: &Path) -> anyhow::Result<()> {
    if is_folder(path) {
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.symlink_metadata().is_ok() {
        return Err(file_exists_error(path));
    }
    match folder {
        Some(folder) if !folder.is_dir() => Err(hinted(
            format!("there is no folder for {}", path.display()),
            "make it first, or name another",
        )),
        _ => Ok(()),
    }
}

/// Saves what there is, and tells where.
pub(crate) fn save(parts: &[SavableContent], path: &Path) -> anyhow::Result<()> {
    let folder = is_folder(path);
    match parts {
        [] => {
            crate::exit::print_note("there is nothing to save in the result");
            return Ok(());
        }
        [_, _, ..] if !folder => {
            let what =
                format!("there are {} things to save, and {} is one file", parts.len(), path.display());
            return Err(hinted(what, format!("name a folder: --out {}/", path.display())));
        }
        _ => {}
    }
    if folder {
        fs::create_dir_all(path)
            .map_err(|why| hinted(format!("{}: {why}", path.display()), "name another folder"))?;
    }
    for part in parts {
        let (mut file, written) =
            if folder { create_in_folder(part, path)? } else { (create_new_file(path)?, path.to_owned()) };
        file.write_all(&part.bytes)?;
        let wrote = paint::stderr().paint(PaintStyle::Good, "wrote");
        eprintln!(
            "{wrote} {} ({})",
            plain::line(&written.display().to_string()),
            content_size(part.bytes.len())
        );
    }
    Ok(())
}

/// A folder that is there, or that is to be: it is written with a slash at its end.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(['/', std::path::MAIN_SEPARATOR])
}

/// A new file in a folder, under the first name that is free.
fn create_in_folder(part: &SavableContent, folder: &Path) -> anyhow::Result<(File, PathBuf)> {
    for number in 1..=MAX_TRIES {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{}{number}.{}", part.stem, part.extension));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Ok(file) => return Ok((file, path)),
            Err(why) => return Err(hinted(format!("{}: {why}", path.display()), "name another folder")),
        }
    }
    Err(hinted(format!("{} has too many files of that name", folder.display()), "name another folder"))
}

fn create_new_file(path: &Path) -> anyhow::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => file_exists_error(path),
        _ => hinted(format!("{}: {error}", path.display()), "name another file"),
    })
}

fn file_exists_error(path: &Path) -> anyhow::Error {
    hinted(
        format!("{} is there already, and nothing is written over", path.display()),
        "remove it, or name another",
    )
}

#[cfg(test)]
mod tests {
    use mcp_attune_wire::document::Document;

    use super::*;

    fn saved(
        result: &str,
        path: &Path,
        of: fn(SpannedValue<'_>) -> anyhow::Result<Vec<SavableContent>>,
    ) -> anyhow::Result<()> {
        save(&of(Document::parse(result.as_bytes()).unwrap().root())?, path)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    const RESULT: &str = r#"{"content":[
        {"type":"text","text":"beside"},
        {"type":"image","data":"AAEC","mimeType":"image/png"},
        {"type":"audio","data":"AA","mimeType":"audio/wav"},
        {"type":"resource","resource":{"uri":"file:///../../etc/pass wd.TXT?x#y","blob":"aGk="}},
        {"type":"resource","resource":{"uri":"x:..","mimeType":"application/pdf","blob":"aGk="}}]}"#;

    #[test]
    fn a_folder_gets_every_thing_under_a_name_of_its_own() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("out/");
        saved(RESULT, &folder, contents_of_call).unwrap();
        assert_eq!(names(&folder), ["audio-2.wav", "image-1.png", "pass_wd.TXT", "resource-4.pdf"]);
        assert_eq!(fs::read(folder.join("image-1.png")).unwrap(), [0, 1, 2]);
        // Nothing is written over.
        saved(RESULT, &folder, contents_of_call).unwrap();
        assert_eq!(names(&folder).len(), 8);
        assert!(folder.join("image-1-2.png").is_file());
        assert_eq!(names(outer.path()), ["out"]);
    }

    #[test]
    fn one_thing_is_one_file_and_several_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("picture");
        let error = saved(RESULT, &file, contents_of_call).unwrap_err();
        assert!(error.to_string().starts_with("there are 4 things to save"), "{error}");
        let one = r#"{"contents":[{"uri":"x:y","mimeType":"text/plain","text":"hi\r\n"}]}"#;
        saved(one, &file, contents_of_resource).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"hi\r\n");
        assert!(check_out_path(&file).unwrap_err().to_string().contains("is there already"));
        assert!(saved(one, &file, contents_of_resource).is_err());
        assert!(check_out_path(&folder.path().join("a/b")).is_err() && check_out_path(folder.path()).is_ok());
    }

    #[test]
    fn text_is_saved_where_there_is_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let result = r#"{"content":[{"type":"text","text":"{}"},{"type":"text","text":"words"}]}"#;
        saved(result, folder.path(), contents_of_call).unwrap();
        assert_eq!(names(folder.path()), ["text-1.json", "text-2.txt"]);
        let broken = r#"{"content":[{"type":"image","data":"?","mimeType":"image/png"}]}"#;
        assert!(
            saved(broken, folder.path(), contents_of_call).unwrap_err().to_string().contains("no base64")
        );
    }

    #[test]
    fn names_lead_nowhere_else() {
        for uri in ["file:///..", "x:", "a/.hidden/..", "///", "file:///nul.txt", "x:CON"] {
            assert_eq!(file_name_of(uri), None, "{uri}");
        }
        assert_eq!(file_name_of("https://x/a.b/c"), Some(("c".to_owned(), None)));
        assert_eq!(file_name_of("c:\\a\\b.tar.gz"), Some(("b.tar".to_owned(), Some("gz".to_owned()))));
        assert_eq!(file_name_of("x://y/天気.md"), Some(("天気".to_owned(), Some("md".to_owned()))));
    }
}
