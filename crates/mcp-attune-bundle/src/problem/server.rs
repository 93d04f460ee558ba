//! Problems of values in the manifest that do not fit each other.

use core::fmt;
use std::borrow::Cow;

use mcp_attune::suggestion::quote_name;

/// A contradiction inside a manifest, which no schema can express.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ManifestConsistencyProblem {
    /// The bundle's version is not a semantic version, such as `1.0`, so hosts cannot tell which release is
    /// newer.
    NotSemver,
    /// A tool or prompt has the name of an earlier entry of its list.
    RepeatedName,
    /// `mcp_config` has `${user_config.NAME}`, and `user_config` has no such setting.
    UnknownSetting {
        /// The name in the variable.
        name: String,
        /// The setting that was probably meant.
        near: Option<String>,
    },
    /// `mcp_config`, or the default of a setting, has a variable that hosts do not replace.
    UnknownVariable {
        /// The name of the variable, without `${` and `}`.
        name: String,
        /// The variable that was probably meant.
        near: Option<String>,
    },
    /// `mcp_config` does not use this setting, so the user's value never reaches the server.
    UnusedSetting,
    /// The text of a prompt has `${arguments.NAME}`, and the prompt does not declare such an argument.
    UnknownArgument {
        /// The name in the variable.
        name: String,
        /// The argument that was probably meant.
        near: Option<String>,
    },
    /// A prompt declares an argument that its text does not use.
    UnusedArgument,
    /// The default is not of the type of its setting.
    OtherDefault {
        /// The type that it should have, as a word for the message.
        kind: &'static str,
    },
    /// The default is below `min` or above `max`.
    DefaultOutOfRange,
    /// The default is a list, but the setting does not have `"multiple": true`.
    SeveralDefaults,
    /// `min` is greater than `max`.
    Backwards,
    /// The key has no effect for settings of this type, such as `min` for a text.
    Idle {
        /// The types for which it has an effect, as words for the message.
        kinds: &'static str,
    },
}

impl fmt::Display for ManifestConsistencyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSemver => "no semantic version, so that hosts cannot tell which one is newer",
            Self::RepeatedName => "the same name as an earlier entry",
            Self::UnknownSetting { name, .. } => {
                return write!(
                    f,
                    "${{user_config.{}}}, and user_config has no such setting",
                    quote_name(name)
                );
            }
            Self::UnknownVariable { name, .. } => {
                return write!(f, "the variable ${{{}}}, and nothing stands for it", quote_name(name));
            }
            Self::UnusedSetting => "nothing in mcp_config refers to this setting",
            Self::UnknownArgument { name, .. } => {
                return write!(f, "${{arguments.{}}}, and the prompt has no such argument", quote_name(name));
            }
            Self::UnusedArgument => "the text of the prompt has no place for this argument",
            Self::OtherDefault { kind } => return write!(f, "the default is no {kind}, as the setting is"),
            Self::DefaultOutOfRange => "the default is outside of what min and max allow",
            Self::SeveralDefaults => "the default is a list, and the setting is one value",
            Self::Backwards => "min is more than max",
            Self::Idle { kinds } => return write!(f, "means something for {kinds} only"),
        })
    }
}

impl ManifestConsistencyProblem {
    /// Returns a stable identifier for programs that read reports.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotSemver => "not-semver",
            Self::RepeatedName => "repeated-name",
            Self::UnknownSetting { .. } => "unknown-setting",
            Self::UnknownVariable { .. } => "unknown-variable",
            Self::UnusedSetting => "unused-setting",
            Self::UnknownArgument { .. } => "unknown-argument",
            Self::UnusedArgument => "unused-argument",
            Self::OtherDefault { .. } => "other-default",
            Self::DefaultOutOfRange => "default-out-of-range",
            Self::SeveralDefaults => "several-defaults",
            Self::Backwards => "backwards",
            Self::Idle { .. } => "idle",
        }
    }

    /// Returns what the author of the bundle can do about it.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        let meant = |near: &String| Cow::Owned(format!("did you mean {near}?"));
        match self {
            Self::NotSemver => "write three numbers, such as 1.0.0".into(),
            Self::RepeatedName => "keep one of the two".into(),
            Self::UnknownSetting { near, .. } => {
                near.as_ref().map_or("add it to user_config, or take it out".into(), meant)
            }
            Self::UnknownVariable { near, .. } => near.as_ref().map_or(
                "there are __dirname, HOME, DESKTOP, DOCUMENTS, DOWNLOADS, pathSeparator and user_config.…"
                    .into(),
                meant,
            ),
            Self::UnusedSetting => {
                "hand it to the server, as an argument or in env, with ${user_config.…}; or take it out"
                    .into()
            }
            Self::UnknownArgument { near, .. } => {
                near.as_ref().map_or("add it to arguments, or take it out of the text".into(), meant)
            }
            Self::UnusedArgument => "write ${arguments.…} into the text, or take the argument out".into(),
            Self::OtherDefault { .. } => "write a default of the setting's type, or change the type".into(),
            Self::DefaultOutOfRange => "change the default, or min and max".into(),
            Self::SeveralDefaults => {
                "write one value, or \"multiple\": true for a directory or a file".into()
            }
            Self::Backwards => "exchange the two".into(),
            Self::Idle { .. } => "take it out".into(),
        }
    }
}
