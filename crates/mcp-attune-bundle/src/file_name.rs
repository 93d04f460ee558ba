//! Names of files inside a bundle, parsed so that they cannot lead out of it.

use core::fmt;

/// A normalized file name inside a bundle: relative to the bundle's folder, with `/` between its parts.
///
/// Manifests and archives come from strangers, so every name passes through [`BundleFileName::parse`] before a
/// host joins it to a folder. A value of this type has no `..`, drive letter, URL or backslash in it, and no
/// part that Windows takes for a device. It says nothing about symbolic links, which only a host can see.
///
/// Rules: B2, B8.
///
/// ```
/// use mcp_attune_bundle::{BundleFileName, BundleFileNameError};
///
/// assert_eq!(BundleFileName::parse("./assets//icon.png").unwrap().as_str(), "assets/icon.png");
/// assert_eq!(BundleFileName::parse("../icon.png").unwrap_err(), BundleFileNameError::Parent);
/// assert_eq!(BundleFileName::parse("C:\\icon.png").unwrap_err(), BundleFileNameError::Drive);
/// assert_eq!(BundleFileName::parse("https://example.com/icon.png").unwrap_err(), BundleFileNameError::Url);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BundleFileName(Box<str>);

/// Why a text is refused as the name of a file in a bundle.
///
/// The checks run in a fixed order and the first failure is returned, so that a text with several faults always
/// gets the same error. `Display` gives a predicate, to be put after "the path" or the like;
/// [`BundleFileNameError::hint`] says what to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BundleFileNameError {
    /// The text is empty, or consists of `.` and `/` only.
    Empty,
    /// Starts at the root of a file system or on a network share: `/icon.png`, `\\server\icon.png`.
    Absolute,
    /// Has a part `..`, between slashes or backslashes: `../icon.png`.
    Parent,
    /// Contains `:`, which on Windows names a drive or an alternate data stream: `C:\icon.png`,
    /// `icon.png:hidden`.
    Drive,
    /// Contains `://`, as URLs do: `https://example.com/icon.png`. Nothing is fetched for a bundle.
    Url,
    /// Contains `\`, which separates names on Windows and is an ordinary character elsewhere.
    Backslash,
    /// Contains `${`. Hosts replace variables in `mcp_config` only, not in the paths of files:
    /// `${__dirname}/icon.png`.
    Variable,
    /// Contains a control character, such as a line break or NUL.
    Control,
    /// Has a part that Windows opens as a device or under another name: `aux.json`, `icon.png.`.
    Reserved,
    /// Has more than [`BundleFileName::MAX_NAME_BYTES`] bytes.
    TooLong,
    /// Has more than [`BundleFileName::MAX_DEPTH`] parts, the file itself included.
    TooDeep,
}

impl BundleFileName {
    /// Maximum length of a whole name in bytes, before `.` and doubled slashes are removed.
    pub const MAX_NAME_BYTES: usize = 1024;
    /// Maximum number of parts in a name: its folders, and the file itself.
    pub const MAX_DEPTH: usize = 64;

    /// Parses and normalizes a name: parts that are empty or `.` are removed, so that `./a//b` becomes `a/b`.
    ///
    /// A trailing `/` is removed as well. A caller to whom it matters that `a/` names a folder looks at the
    /// text itself.
    ///
    /// # Errors
    ///
    /// [`BundleFileNameError`] if the name could leave the bundle, or means something else on some systems.
    pub fn parse(name: &str) -> Result<Self, BundleFileNameError> {
        if name.len() > Self::MAX_NAME_BYTES {
            return Err(BundleFileNameError::TooLong);
        }
        if name.chars().any(char::is_control) {
            return Err(BundleFileNameError::Control);
        }
        if name.contains("://") {
            return Err(BundleFileNameError::Url);
        }
        if name.contains("${") {
            return Err(BundleFileNameError::Variable);
        }
        if name.starts_with(['/', '\\']) {
            return Err(BundleFileNameError::Absolute);
        }
        if name.contains(':') {
            return Err(BundleFileNameError::Drive);
        }
        if name.split(['/', '\\']).any(|part| part == "..") {
            return Err(BundleFileNameError::Parent);
        }
        if name.contains('\\') {
            return Err(BundleFileNameError::Backslash);
        }
        let parts: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.is_empty() {
            return Err(BundleFileNameError::Empty);
        }
        if parts.len() > Self::MAX_DEPTH {
            return Err(BundleFileNameError::TooDeep);
        }
        if parts.iter().any(|part| is_reserved(part)) {
            return Err(BundleFileNameError::Reserved);
        }
        Ok(Self(parts.join("/").into()))
    }

    /// Returns the normalized name, such as `assets/icon.png`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether Windows would open something else than a file of this name.
///
/// That is a device name before the first dot in any case (`NUL.txt`, `com1`, also with superscript digits), or
/// a name that ends in a dot or a blank, which Windows removes.
fn is_reserved(part: &str) -> bool {
    const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
    let stem = part.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|rest| {
            let mut digits = rest.chars();
            matches!(digits.next(), Some('1'..='9' | '¹' | '²' | '³')) && digits.next().is_none()
        })
    };
    part.ends_with(['.', ' ']) || DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

impl fmt::Display for BundleFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for BundleFileNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "names no file",
            Self::Absolute => "is absolute",
            Self::Parent => "leads out of the bundle by `..`",
            Self::Drive => "has a `:`, as drives have",
            Self::Url => "is an address",
            Self::Backslash => "has a `\\` in it",
            Self::Variable => "has a variable in it, and none is replaced here",
            Self::Control => "has a control character in it",
            Self::Reserved => "is a name that Windows keeps for itself",
            Self::TooLong => "is too long",
            Self::TooDeep => "has too many folders inside each other",
        })
    }
}

impl BundleFileNameError {
    /// Returns what the author of the manifest or archive can do about it, as a short imperative.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Empty => "write the path of a file, relative to the bundle's folder",
            Self::Absolute | Self::Drive | Self::Variable => {
                "write the path relative to the bundle's folder, such as \"assets/icon.png\""
            }
            Self::Parent => "move the file into the bundle",
            Self::Url => "put the file into the bundle; nothing is fetched",
            Self::Backslash => "write `/`, which every system takes",
            Self::Control => "rename the file",
            Self::Reserved => "rename the file: no device's name, and no blank or dot at its end",
            Self::TooLong => "write at most 1,024 bytes",
            Self::TooDeep => "use at most 64 folders inside each other",
        }
    }
}

impl core::error::Error for BundleFileNameError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for (name, why) in [
            ("", BundleFileNameError::Empty),
            ("./", BundleFileNameError::Empty),
            ("/etc/passwd", BundleFileNameError::Absolute),
            ("\\\\host\\share\\a", BundleFileNameError::Absolute),
            ("//host/a", BundleFileNameError::Absolute),
            ("a/../../b", BundleFileNameError::Parent),
            ("a\\..\\b", BundleFileNameError::Parent),
            ("..", BundleFileNameError::Parent),
            ("c:a", BundleFileNameError::Drive),
            ("a.png:stream", BundleFileNameError::Drive),
            ("file:///etc/passwd", BundleFileNameError::Url),
            ("a\\b", BundleFileNameError::Backslash),
            ("${__dirname}/a", BundleFileNameError::Variable),
            ("a\0b", BundleFileNameError::Control),
            ("a/NUL", BundleFileNameError::Reserved),
            ("com1.json", BundleFileNameError::Reserved),
            ("LPT¹", BundleFileNameError::Reserved),
            ("a./b", BundleFileNameError::Reserved),
            ("a ", BundleFileNameError::Reserved),
        ] {
            assert_eq!(BundleFileName::parse(name), Err(why), "{name:?}");
        }
        assert_eq!(BundleFileName::parse(&"a".repeat(1025)), Err(BundleFileNameError::TooLong));
        assert_eq!(BundleFileName::parse(&"a/".repeat(65)), Err(BundleFileNameError::TooDeep));
    }

    #[test]
    fn other_names_are_kept() {
        for name in
            ["icon.png", "...", "com.json", "console/a", "com10", "a b/ü.json", ".mcpbignore", "..a/b.."]
        {
            let read = BundleFileName::parse(name);
            if name.ends_with('.') {
                assert_eq!(read, Err(BundleFileNameError::Reserved), "{name}");
            } else {
                assert_eq!(read.unwrap().as_str(), name);
            }
        }
        assert_eq!(BundleFileName::parse("././a//b/./c").unwrap().as_str(), "a/b/c");
    }
}
