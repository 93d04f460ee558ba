//! Problems of locale files, and of the `localization` that says where they are.

use core::fmt;
use std::borrow::Cow;

use crate::{BundleFileError, BundleFileNameError};
use mcp_attune::catalog::{self, LocaleFileProblem, LocaleKeyPath};

/// What is wrong with a locale file or with `localization`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LocaleProblem {
    /// The placeholder in `resources` is not in lower case, as in `${LOCALE}`, which not every host recognizes.
    OtherCase,
    /// The path in `resources` leads out of the bundle.
    Outside(BundleFileNameError),
    /// `default_locale` passes the pattern of the official schema, but is no valid language tag.
    NoTag,
    /// There is a `localization`, but no locale file.
    NoFiles {
        /// The name that a German locale file would have, for the hint.
        example: String,
    },
    /// The file lies where locale files do, but its name gives no language, or one that another file has
    /// already.
    StrangeName {
        /// The name that was probably meant, with `-` for `_`, in which case this is an error and not a
        /// warning.
        meant: Option<String>,
    },
    /// The file cannot be read.
    Unavailable(BundleFileError),
    /// The file cannot be parsed, so none of its texts are used.
    Refused(catalog::LocaleFileError),
    /// One entry of the file cannot be used; the others are.
    Entry(LocaleFileProblem),
    /// The file translates a tool or prompt that the manifest does not list. It has no effect.
    NotListed {
        /// The listed name that was probably meant.
        near: Option<String>,
    },
    /// The file translates a text that the manifest does not have.
    Surplus,
    /// The text in the manifest has changed since the translation: it differs from the noted `translated_from`.
    Stale,
    /// Fewer texts are translated than [`BundleThresholds::coverage`](crate::BundleThresholds::coverage) asks
    /// for.
    Untranslated {
        /// The texts that neither this file nor a related language has.
        fields: Vec<LocaleKeyPath>,
        /// Number of translatable texts in the manifest.
        total: usize,
        /// Share of translated texts in percent, rounded down.
        percent: usize,
        /// The required share in percent.
        wanted: usize,
    },
    /// There are more locale files, or more bytes in them, than are checked; this file and those after it were
    /// not.
    TooMany,
}

impl fmt::Display for LocaleProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherCase => {
                "the place for the locale is not in lower case, and not every host takes it so"
            }
            Self::Outside(why) => return write!(f, "the path {why}"),
            Self::NoTag => "no tag of a language, though it looks like one",
            Self::NoFiles { .. } => "there are no locale files",
            Self::StrangeName { .. } => "the name is that of no language, so nobody gets these texts",
            Self::Unavailable(why) => return why.fmt(f),
            Self::Refused(why) => return why.fmt(f),
            Self::Entry(wrong) => return wrong.fmt(f),
            Self::NotListed { .. } => "the manifest does not list it, so its texts are ignored",
            Self::Surplus => "the manifest has no such text to translate",
            Self::Stale => "the text that this was translated from has changed",
            Self::Untranslated { fields, total, percent, wanted } => {
                const MAX_SHOWN_FIELDS: usize = 12;
                write!(
                    f,
                    "{} of {total} texts translated ({percent} %, and {wanted} % is wanted); missing: ",
                    total - fields.len()
                )?;
                for (at, field) in fields.iter().take(MAX_SHOWN_FIELDS).enumerate() {
                    write!(f, "{}{field}", if at == 0 { "" } else { ", " })?;
                }
                return match fields.len().checked_sub(MAX_SHOWN_FIELDS) {
                    Some(more @ 1..) => write!(f, " and {more} more"),
                    _ => Ok(()),
                };
            }
            Self::TooMany => "more locale files, or more in them, than are looked at; the others were not",
        })
    }
}

impl LocaleProblem {
    /// Returns a stable identifier for programs that read reports.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OtherCase => "placeholder-case",
            Self::Outside(_) => "locale-outside",
            Self::NoTag => "no-tag",
            Self::NoFiles { .. } => "no-locale-files",
            Self::StrangeName { .. } => "locale-name",
            Self::Unavailable(_) => "locale-unavailable",
            Self::Refused(_) => "locale-refused",
            Self::Entry(LocaleFileProblem::UnknownKey) => "locale-unknown-key",
            Self::Entry(_) => "locale-entry",
            Self::NotListed { .. } => "not-listed",
            Self::Surplus => "surplus",
            Self::Stale => "stale",
            Self::Untranslated { .. } => "untranslated",
            Self::TooMany => "locale-too-many",
        }
    }

    /// Returns what the author of the bundle can do about it.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        match self {
            Self::OtherCase => "write ${locale}".into(),
            Self::Outside(why) => why.hint().into(),
            Self::NoTag => "write a tag such as en-US or zh-Hans".into(),
            Self::NoFiles { example } => {
                format!("add one, such as {example}, or take localization out").into()
            }
            Self::StrangeName { meant: Some(name) } => format!("rename it to {name}").into(),
            Self::StrangeName { meant: None } => "rename it, such as de-CH, or move it elsewhere".into(),
            Self::Unavailable(why) => why.hint().into(),
            Self::Refused(_) => "nothing in this file is used until that is mended".into(),
            Self::Entry(wrong) => wrong.hint().into(),
            Self::NotListed { near: Some(near) } => format!("did you mean {near}?").into(),
            Self::NotListed { near: None } => "list it in the manifest, or take it out".into(),
            Self::Surplus => "write it into the manifest too, in its own language, or take it out".into(),
            Self::Stale => "look at it, and take out translated_from".into(),
            Self::Untranslated { .. } => {
                "translate them; until then users see the manifest's own texts".into()
            }
            Self::TooMany => "leave out what no user has, and what is not text".into(),
        }
    }
}
