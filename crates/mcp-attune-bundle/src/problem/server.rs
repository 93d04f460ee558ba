//! What can be wrong with how a bundle describes itself and starts its server.

use core::fmt;
use std::borrow::Cow;

use mcp_attune::suggestion::quote_name;

/// What is wrong with how a bundle describes itself and starts its server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ManifestConsistencyProblem {
    /// A version that does not sort among others: `1.0`.
    NotSemver,
    /// The name of an earlier entry.
    RepeatedName,
    /// `${user_config.NAME}` of a setting that there is not.
    UnknownSetting {
        /// Its name.
        name: String,
        /// The one that was meant.
        near: Option<String>,
    },
    /// A variable that hosts do not know.
    UnknownVariable {
        /// Its name.
        name: String,
        /// The one that was meant.
        near: Option<String>,
    },
    /// A setting that nothing refers to.
    UnusedSetting,
    /// `${arguments.NAME}` of an argument that the prompt does not have.
    UnknownArgument {
        /// Its name.
        name: String,
        /// The one that was meant.
        near: Option<String>,
    },
    /// An argument that the text of the prompt does not have.
    UnusedArgument,
    /// A default of another type than the setting.
    OtherDefault {
        /// The type of the setting.
        kind: &'static str,
    },
    /// A default that is smaller than the least or larger than the largest.
    DefaultOutOfRange,
    /// A list where one value is set.
    SeveralDefaults,
    /// The least is more than the largest.
    Backwards,
    /// A member that means nothing for settings of this type.
    Idle {
        /// The types for which it means something.
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
    /// A name for programs, which stays.
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

    /// What to do about it.
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
