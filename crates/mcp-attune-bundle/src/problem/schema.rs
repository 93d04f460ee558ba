//! Violations of the official schemas, and those that are accepted all the same.

use core::fmt;
use std::borrow::Cow;

use mcp_attune_wire::json::JsonKind;
use mcp_attune_wire::message::{JsonFault, JsonParseError};

use crate::ManifestVersion;
use mcp_attune::suggestion::quote_name;

/// A format that the official schemas require of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ManifestTextFormat {
    /// No requirement.
    Any,
    /// At least one character.
    NotEmpty,
    /// An absolute URL, as the URL standard parses it.
    Url,
    /// An e-mail address without a display name.
    Email,
    /// A path that contains `${locale}`, in any case.
    Placeholder,
    /// A text of the shape of a language tag; it need not be a valid one.
    Locale,
    /// Width and height in pixels, such as `64x64`.
    Size,
}

/// How a manifest violates the official schema of its version, or the checks of the official tool around it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ManifestSchemaProblem {
    /// The file is not JSON, or two readers could understand it differently.
    Unreadable(JsonParseError),
    /// The file has more than [`Manifest::MAX_BYTES`](crate::Manifest::MAX_BYTES) bytes.
    TooLarge,
    /// The file begins with a byte order mark, at which the official tool fails.
    ByteOrderMark,
    /// Neither `manifest_version` nor `dxt_version` names a known version, so there is no schema to validate
    /// with.
    NoVersion,
    /// `manifest_version` and `dxt_version` differ.
    OtherVersion {
        /// The version whose schema is used.
        counts: ManifestVersion,
    },
    /// A required key is missing.
    Missing,
    /// A key that the schema does not have. The schemas are strict and allow no others.
    UnknownKey {
        /// The key that was probably meant.
        near: Option<String>,
        /// The later version of the format that introduces the key, if there is one.
        since: Option<ManifestVersion>,
    },
    /// A value of the wrong JSON type.
    WrongType {
        /// The expected type, as words with their article.
        wanted: &'static str,
        /// The type of the value.
        found: JsonKind,
    },
    /// A text that is not one of the allowed values.
    NoSuchWord {
        /// The text, unescaped; `Display` escapes and shortens it.
        found: String,
        /// The values that the schema of this version allows.
        words: Vec<&'static str>,
    },
    /// A text that does not have the required format.
    Format(ManifestTextFormat),
    /// `icon` contains `${__dirname}`, which hosts do not replace there.
    IconVariable,
    /// `icon` is an absolute path.
    IconAbsolute,
    /// The file that `icon` names is not in the bundle.
    IconMissing,
    /// The file that `icon` names is not a PNG.
    IconNotPng,
    /// `icon` is a URL. This is only a warning: the official tool allows it, but most hosts do not show it.
    IconRemote,
}

/// Returns the name of a JSON type with its article, for messages.
fn with_article(kind: JsonKind) -> &'static str {
    match kind {
        JsonKind::Null => "null",
        JsonKind::Boolean => "a truth value",
        JsonKind::Number => "a number",
        JsonKind::String => "a text",
        JsonKind::Array => "a list",
        JsonKind::Object => "an object",
    }
}

impl fmt::Display for ManifestSchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable(JsonParseError { fault, .. }) => match fault {
                JsonFault::Empty => "the file is empty",
                JsonFault::Cut => "the file ends inside a value",
                JsonFault::Utf8 => "not UTF-8",
                JsonFault::TooDeep => "too many brackets inside each other",
                JsonFault::RepeatedName => "a name stands twice in one object",
                JsonFault::Trailing => "something follows the object",
                _ => "not JSON",
            },
            Self::TooLarge => "too large for a manifest; at most 4 MiB are read",
            Self::ByteOrderMark => "the file begins with a byte order mark, and JSON does not",
            Self::NoVersion => "the manifest says no version that is known",
            Self::OtherVersion { counts } => {
                return write!(f, "another version than {counts}, which counts here");
            }
            Self::Missing => "missing",
            Self::UnknownKey { since: Some(version), .. } => {
                return write!(f, "there is no such key before version {version}");
            }
            Self::UnknownKey { .. } => "there is no such key here",
            Self::WrongType { wanted, found } => {
                return write!(f, "{}, and {wanted} is wanted", with_article(*found));
            }
            Self::NoSuchWord { found, words } => {
                return write!(f, "\"{}\", and one of {} is wanted", quote_name(found), words.join(", "));
            }
            Self::Format(format) => match format {
                ManifestTextFormat::Any => "any text",
                ManifestTextFormat::NotEmpty => "an empty text",
                ManifestTextFormat::Url => "no address",
                ManifestTextFormat::Email => "no address of e-mail",
                ManifestTextFormat::Placeholder => "no place for the locale",
                ManifestTextFormat::Locale => "no tag of a language",
                ManifestTextFormat::Size => "no size",
            },
            Self::IconVariable => "a variable in the path of the icon, where none is replaced",
            Self::IconAbsolute => "an absolute path",
            Self::IconMissing => "there is no such file in the bundle",
            Self::IconNotPng => "the file is no PNG picture",
            Self::IconRemote => "an address; most hosts show only icons that are in the bundle",
        })
    }
}

impl ManifestSchemaProblem {
    /// Returns a stable identifier for programs that read reports.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable",
            Self::TooLarge => "too-large",
            Self::ByteOrderMark => "byte-order-mark",
            Self::NoVersion => "no-version",
            Self::OtherVersion { .. } => "other-version",
            Self::Missing => "missing",
            Self::UnknownKey { .. } => "unknown-key",
            Self::WrongType { .. } => "wrong-type",
            Self::NoSuchWord { .. } => "no-such-word",
            Self::Format(_) => "format",
            Self::IconVariable => "icon-variable",
            Self::IconAbsolute => "icon-absolute",
            Self::IconMissing => "icon-missing",
            Self::IconNotPng => "icon-not-png",
            Self::IconRemote => "icon-remote",
        }
    }

    /// Returns what the author of the manifest can do about it.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Unreadable(JsonParseError { fault, .. }) => match fault {
                JsonFault::Empty => "write a manifest: {\"manifest_version\": \"0.3\", …}",
                JsonFault::Cut => "close what is open",
                JsonFault::Utf8 => "save the file as UTF-8",
                JsonFault::TooDeep => "use fewer brackets inside each other",
                JsonFault::RepeatedName => "keep one of the two; readers differ in which one they take",
                JsonFault::Trailing => "take it out",
                _ => "look for a comma, a quote or a comment that JSON does not have",
            },
            Self::TooLarge => "leave out what is no manifest's",
            Self::ByteOrderMark => "save the file as UTF-8 without it",
            Self::NoVersion => "add \"manifest_version\": \"0.3\"",
            Self::OtherVersion { .. } => "leave out dxt_version, which is of old, or write the same in both",
            Self::Missing => "add it",
            Self::UnknownKey { near: Some(near), .. } => return format!("did you mean {near}?").into(),
            Self::UnknownKey { since: Some(version), .. } => {
                return format!("write \"manifest_version\": \"{version}\", or take the key out").into();
            }
            Self::UnknownKey { .. } => "take it out; data of your own goes into _meta, from version 0.3 on",
            Self::WrongType { wanted, .. } => return format!("write {wanted}").into(),
            Self::NoSuchWord { .. } => "write one of them",
            Self::Format(format) => match format {
                ManifestTextFormat::Any | ManifestTextFormat::NotEmpty => "write a text, or leave it out",
                ManifestTextFormat::Url => "write it in full, such as https://example.com/weather",
                ManifestTextFormat::Email => "write it such as ann@example.com, without a name",
                ManifestTextFormat::Placeholder => "write a path such as mcpb-resources/${locale}.json",
                ManifestTextFormat::Locale => "write a tag such as en-US or zh-Hans",
                ManifestTextFormat::Size => "write it in pixels, such as 64x64",
            },
            Self::IconVariable | Self::IconAbsolute => {
                "write the path relative to the bundle's folder, such as icon.png"
            }
            Self::IconMissing => "add the file, or correct the path",
            Self::IconNotPng => "save it as PNG; hosts show nothing else",
            Self::IconRemote => "put the picture into the bundle, and write its path",
        })
    }
}

/// A violation of the official schemas that the specification of the manifest allows.
///
/// Schema and specification contradict each other in these points. Attune accepts them with a warning, and
/// reports that the official tool does not.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AcceptedDeviation {
    /// `localization` without `resources`, which has a default.
    Resources,
    /// `localization` without `default_locale`, which has a default.
    DefaultLocale,
    /// An icon with `sizes` in place of `size`, as in web manifests.
    Sizes,
    /// `compatibility` with the name of another client than `claude_desktop`.
    Client,
    /// A server of type `uv` without `mcp_config`, from version 0.4 on: the host knows how to start it.
    Uv,
}

impl fmt::Display for AcceptedDeviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resources => {
                "missing; the document of the manifest has a default for it, and the official tool wants it written"
            }
            Self::DefaultLocale => {
                "missing; the document of the manifest takes en-US then, and the official tool wants it written"
            }
            Self::Sizes => "`sizes`, as web manifests have it; the official tool knows only `size`",
            Self::Client => {
                "the document of the manifest allows any client here, and the official tool only claude_desktop"
            }
            Self::Uv => {
                "missing; the document of the manifest leaves it to the host for uv, and the official tool wants it written"
            }
        })
    }
}

impl AcceptedDeviation {
    /// Returns a stable identifier for programs that read reports.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Resources => "default-resources",
            Self::DefaultLocale => "default-locale",
            Self::Sizes => "icon-sizes",
            Self::Client => "other-client",
            Self::Uv => "uv-without-config",
        }
    }

    /// Returns how to satisfy the official tool as well.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Resources => "write \"resources\": \"mcpb-resources/${locale}.json\"",
            Self::DefaultLocale => "write \"default_locale\": \"en-US\"",
            Self::Sizes => "write one entry for each size, with \"size\": \"64x64\"",
            Self::Client => "leave it out until the official tool takes it",
            Self::Uv => "write mcp_config with \"command\": \"uv\" and what follows it",
        }
    }
}
