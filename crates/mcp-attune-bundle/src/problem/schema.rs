//! How the official schemas can be broken, and what of it is accepted all the same.

use core::fmt;
use std::borrow::Cow;

use mcp_attune_wire::json::Type;
use mcp_attune_wire::message::{Fault, Unreadable};

use crate::Version;
use mcp_attune::near::shown;

/// What a text has to look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Format {
    /// Like anything.
    Any,
    /// Not empty.
    NotEmpty,
    /// An address of the web.
    Url,
    /// An address of e-mail.
    Email,
    /// A path with a place for the locale.
    Placeholder,
    /// The tag of a language.
    Locale,
    /// A width and a height.
    Size,
}

/// How the official schema is broken.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Breach {
    /// The file is no JSON, or none that can be read in one way.
    Unreadable(Unreadable),
    /// The file has more bytes than a manifest may have.
    TooLarge,
    /// The file begins with a byte order mark.
    ByteOrderMark,
    /// The manifest says no version that there is.
    NoVersion,
    /// It says two.
    OtherVersion {
        /// The one that counts.
        counts: Version,
    },
    /// Something has to be there.
    Missing,
    /// A name that there is not.
    UnknownKey {
        /// The one that was meant.
        near: Option<String>,
        /// The version that it came with, where that is later.
        since: Option<Version>,
    },
    /// Another kind of value than it should be.
    WrongType {
        /// What it should be.
        wanted: &'static str,
        /// What it is.
        found: Type,
    },
    /// None of the words that it can be.
    NoSuchWord {
        /// What is there.
        found: String,
        /// The words.
        words: Vec<&'static str>,
    },
    /// A text that does not look as it has to.
    Format(Format),
    /// The one icon is where no host finds it: `${__dirname}/icon.png`.
    IconVariable,
    /// The one icon is at an absolute path.
    IconAbsolute,
    /// The one icon is not there.
    IconMissing,
    /// The one icon is no PNG picture.
    IconNotPng,
    /// The one icon is an address.
    IconRemote,
}

/// The name of a kind of value, with its article.
fn a(kind: Type) -> &'static str {
    match kind {
        Type::Null => "null",
        Type::Boolean => "a truth value",
        Type::Number => "a number",
        Type::String => "a text",
        Type::Array => "a list",
        Type::Object => "an object",
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable(Unreadable { fault, .. }) => match fault {
                Fault::Empty => "the file is empty",
                Fault::Cut => "the file ends inside a value",
                Fault::Utf8 => "not UTF-8",
                Fault::TooDeep => "too many brackets inside each other",
                Fault::RepeatedName => "a name stands twice in one object",
                Fault::Trailing => "something follows the object",
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
            Self::WrongType { wanted, found } => return write!(f, "{}, and {wanted} is wanted", a(*found)),
            Self::NoSuchWord { found, words } => {
                return write!(f, "\"{}\", and one of {} is wanted", shown(found), words.join(", "));
            }
            Self::Format(format) => match format {
                Format::Any => "any text",
                Format::NotEmpty => "an empty text",
                Format::Url => "no address",
                Format::Email => "no address of e-mail",
                Format::Placeholder => "no place for the locale",
                Format::Locale => "no tag of a language",
                Format::Size => "no size",
            },
            Self::IconVariable => "a variable in the path of the icon, where none is replaced",
            Self::IconAbsolute => "an absolute path",
            Self::IconMissing => "there is no such file in the bundle",
            Self::IconNotPng => "the file is no PNG picture",
            Self::IconRemote => "an address; most hosts show only icons that are in the bundle",
        })
    }
}

impl Breach {
    /// A name for programs, which stays.
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

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Unreadable(Unreadable { fault, .. }) => match fault {
                Fault::Empty => "write a manifest: {\"manifest_version\": \"0.3\", …}",
                Fault::Cut => "close what is open",
                Fault::Utf8 => "save the file as UTF-8",
                Fault::TooDeep => "use fewer brackets inside each other",
                Fault::RepeatedName => "keep one of the two; readers differ in which one they take",
                Fault::Trailing => "take it out",
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
                Format::Any | Format::NotEmpty => "write a text, or leave it out",
                Format::Url => "write it in full, such as https://example.com/weather",
                Format::Email => "write it such as ann@example.com, without a name",
                Format::Placeholder => "write a path such as mcpb-resources/${locale}.json",
                Format::Locale => "write a tag such as en-US or zh-Hans",
                Format::Size => "write it in pixels, such as 64x64",
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

/// What the official schemas refuse, and the document that describes the manifest allows. It is accepted with a warning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Leniency {
    /// `localization` without `resources`.
    Resources,
    /// `localization` without `default_locale`.
    DefaultLocale,
    /// An icon with `sizes`.
    Sizes,
    /// `compatibility` with the name of another client.
    Client,
    /// A server of uv without `mcp_config`.
    Uv,
}

impl fmt::Display for Leniency {
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

impl Leniency {
    /// A name for programs, which stays.
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

    /// What to do about it.
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
