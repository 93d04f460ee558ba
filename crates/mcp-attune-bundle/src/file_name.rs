//! Names of files that stay inside their bundle.

use core::fmt;

/// The name of a file in a bundle: relative to its folder, with `/` between the parts, and never outside.
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

/// Why a name is not that of a file in a bundle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BundleFileNameError {
    /// Nothing, or nothing but `.` and `/`.
    Empty,
    /// Begins at the root of a disk: `/icon.png`, `\\server\icon.png`.
    Absolute,
    /// Goes up: `../icon.png`.
    Parent,
    /// Names a drive, or a stream of a file: `C:\icon.png`, `icon.png:hidden`.
    Drive,
    /// Is an address: `https://example.com/icon.png`.
    Url,
    /// Has `\` in it, which is part of a name on some systems and divides names on others.
    Backslash,
    /// Has a variable in it that is not replaced here: `${__dirname}/icon.png`.
    Variable,
    /// Has a control character in it.
    Control,
    /// Has a part that Windows opens as something else: `aux.json`, `icon.png.`.
    Reserved,
    /// Longer than [`BundleFileName::MAX_NAME_BYTES`] bytes.
    TooLong,
    /// More than [`BundleFileName::MAX_DEPTH`] names in a path, its own among them.
    TooDeep,
}

impl BundleFileName {
    /// The most bytes of a name.
    pub const MAX_NAME_BYTES: usize = 1024;
    /// The most names in a path: folders, and the file itself.
    pub const MAX_DEPTH: usize = 64;

    /// Reads a name; `.` and doubled `/` in it are left out.
    ///
    /// # Errors
    ///
    /// [`BundleFileNameError`] where it is none of a file in a bundle.
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

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether Windows opens something else than a file of this name.
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
    /// What to do about it.
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
