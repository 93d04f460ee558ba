//! The command that starts a bundle's server.
//!
//! 1. Each part of `mcp_config` (`command`, `args`, `env`) is taken from the override of the platform if it has
//!    that part, and from the base otherwise.
//! 2. Variables in the texts are replaced: by values of the host, such as the bundle's folder, and by settings
//!    of the user.
//! 3. An argument that is exactly one `${user_config.KEY}` becomes as many arguments as the setting has values.
//!    In other texts a setting has to have one value, or none, which is empty.
//! 4. Variables are replaced once. In a value that the user set, `${…}` is ordinary text; in a default of the
//!    manifest, variables of the host are replaced.
//!
//! Nothing is run here, and no shell is involved: arguments are passed on as they are.

use core::fmt;
use std::collections::HashMap;

use super::manifest::{Manifest, PartialCommandLine, UserConfigSetting};
use mcp_attune::suggestion::quote_name;

/// An operating system that bundles run on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Platform {
    /// macOS
    Darwin,
    /// Windows
    Win32,
    /// Linux
    Linux,
}

impl Platform {
    /// Returns the key in `platform_overrides`, such as `win32`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Darwin => "darwin",
            Self::Win32 => "win32",
            Self::Linux => "linux",
        }
    }

    /// Returns what separates the parts of a path: the value of `${/}` and `${pathSeparator}`.
    #[must_use]
    pub const fn separator(self) -> &'static str {
        match self {
            Self::Win32 => "\\",
            Self::Darwin | Self::Linux => "/",
        }
    }
}

/// Where a bundle runs: the values of the variables that the host provides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BundleLaunchContext {
    /// The operating system, which selects overrides and the path separator.
    pub platform: Platform,
    /// `${__dirname}`: the absolute path of the bundle's folder.
    pub directory: String,
    /// `${HOME}`, and the folder of `${DESKTOP}`, `${DOCUMENTS}` and `${DOWNLOADS}`. If it is `None`, a
    /// manifest that uses one of them cannot be started.
    pub home: Option<String>,
}

/// A command line with all variables replaced, to be started in the bundle's folder.
///
/// `Debug` shows the program only, because arguments and environment may contain secrets of the user.
///
/// ```
/// use mcp_attune_bundle::{BundleLaunchCommand, Manifest, BundleLaunchContext, Platform};
///
/// let manifest = Manifest::read(br#"{"server": {"type": "node", "entry_point": "i.js", "mcp_config":
///     {"command": "node", "args": ["${__dirname}/i.js", "${user_config.dirs}"], "env": {"KEY": "${user_config.key}"}}},
///     "user_config": {"dirs": {"type": "directory", "multiple": true}, "key": {"type": "string", "default": "none"}}}"#).unwrap();
/// let place = BundleLaunchContext { platform: Platform::Linux, directory: "/b".to_owned(), home: None };
/// let launch = BundleLaunchCommand::from_manifest(&manifest, &place, &[("dirs", "/one"), ("dirs", "/two")]).unwrap();
/// assert_eq!((&*launch.command, launch.args.join(" ")), ("node", "/b/i.js /one /two".to_owned()));
/// assert_eq!(launch.env, [("KEY".to_owned(), "none".to_owned())]);
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BundleLaunchCommand {
    /// The program: a path, or a name that the system looks up.
    pub command: String,
    /// The arguments, each passed on as one, without a shell.
    pub args: Vec<String>,
    /// Variables to add to the environment, by name.
    pub env: Vec<(String, String)>,
}

/// Leaves out arguments and environment, which may contain secrets.
impl fmt::Debug for BundleLaunchCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BundleLaunchCommand").field("command", &self.command).finish_non_exhaustive()
    }
}

/// Why there is no command for a bundle's server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BundleLaunchError {
    /// The manifest has no `server`, or neither a command nor, for `uv`, an entry point.
    NoCommand,
    /// A required setting has neither a value nor a default, or only empty ones. A value that the user set to
    /// nothing does not fall back to the default.
    Required {
        /// Its key in `user_config`.
        key: Box<str>,
        /// Its title for people, or its key if it has none.
        title: Box<str>,
    },
    /// A value was given for a setting that the manifest does not have.
    UnknownSetting {
        /// The key that was given.
        key: Box<str>,
        /// The first 20 keys that the manifest has, for the message.
        known: Vec<Box<str>>,
    },
    /// A value cannot be parsed as the type of its setting.
    WrongSetting {
        /// Its key in `user_config`.
        key: Box<str>,
        /// The type: `number` or `boolean`.
        kind: Box<str>,
    },
    /// A number is below the `min` or above the `max` of its setting.
    OutOfRange {
        /// Its key in `user_config`.
        key: Box<str>,
    },
    /// Several values for a setting that takes one, or that is used where only one fits: in the command, in the
    /// environment or inside of a longer argument.
    Several {
        /// Its key in `user_config`.
        key: Box<str>,
    },
    /// A variable that does not exist, or that this host has no value for.
    UnknownVariable {
        /// Its name, without `${` and `}`.
        name: Box<str>,
    },
    /// The command would exceed [`BundleLaunchCommand::MAX_COMMAND_BYTES`].
    TooLong,
}

impl fmt::Display for BundleLaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommand => f.write_str("the manifest does not say how its server is started"),
            Self::Required { key, title } => {
                write!(f, "the bundle needs {} ({})", quote_name(key), quote_name(title))
            }
            Self::UnknownSetting { key, known } if known.is_empty() => {
                write!(f, "{} cannot be set: the bundle has no settings", quote_name(key))
            }
            Self::UnknownSetting { key, known } => {
                let known: Vec<String> = known.iter().map(|key| quote_name(key)).collect();
                write!(f, "{} cannot be set; the bundle has {}", quote_name(key), known.join(", "))
            }
            Self::WrongSetting { key, kind } => write!(f, "{} is no {}", quote_name(key), quote_name(kind)),
            Self::OutOfRange { key } => {
                write!(f, "{} is outside the range that the bundle allows", quote_name(key))
            }
            Self::Several { key } => {
                write!(f, "{} is set several times, and can be one value", quote_name(key))
            }
            Self::UnknownVariable { name } => {
                write!(
                    f,
                    "`mcp_config` has the variable ${{{}}}, and nothing stands for it here",
                    quote_name(name)
                )
            }
            Self::TooLong => f.write_str("the command is longer than systems take"),
        }
    }
}

impl core::error::Error for BundleLaunchError {}

impl BundleLaunchCommand {
    /// Maximum size of the program, its arguments and the values of its environment in bytes, as far as they
    /// are made from `mcp_config`. It keeps a small manifest from filling the memory. A setting that is put
    /// into a longer text counts twice.
    pub const MAX_COMMAND_BYTES: usize = 1024 * 1024;

    /// Builds the command of a bundle's server on a platform, with the settings of its user.
    ///
    /// `set` has pairs of a key in `user_config` and a value; for several values, the key is repeated. A server
    /// of type `uv` without `mcp_config` is started as `uv run --directory FOLDER ENTRY_POINT`.
    ///
    /// # Errors
    ///
    /// [`BundleLaunchError`], the first that is met: settings are checked before the command is built.
    pub fn from_manifest(
        manifest: &Manifest,
        place: &BundleLaunchContext,
        set: &[(&str, &str)],
    ) -> Result<Self, BundleLaunchError> {
        let server = manifest.server.as_ref().ok_or(BundleLaunchError::NoCommand)?;
        let values = values(&manifest.user_config, set)?;
        let mut variables = LaunchVariables { place, values: &values, left: Self::MAX_COMMAND_BYTES };
        let Some(config) = &server.mcp_config else {
            // A host runs these itself.
            let entry = server.entry_point.as_ref().filter(|_| server.kind.as_deref() == Some("uv"));
            let entry = entry.ok_or(BundleLaunchError::NoCommand)?.to_string();
            let args = ["run", "--directory", &place.directory, &entry].map(str::to_owned);
            return Ok(Self { command: "uv".to_owned(), args: args.into(), env: Vec::new() });
        };
        let own = config.platforms.iter().find(|(name, _)| **name == *place.platform.as_str());
        let own = own.map_or(&config.base, |(_, own)| own);
        let pick = |part: fn(&PartialCommandLine) -> bool| if part(own) { own } else { &config.base };
        let command = &pick(|it| it.command.is_some()).command;
        let args = &pick(|it| it.args.is_some()).args;
        let env = &pick(|it| it.env.is_some()).env;
        let mut launch = Self {
            command: variables.expand_text(command.as_deref().ok_or(BundleLaunchError::NoCommand)?)?,
            args: Vec::new(),
            env: Vec::new(),
        };
        for argument in args.iter().flatten() {
            launch.args.extend(variables.expand_argument(argument)?);
        }
        for (name, value) in env.iter().flatten() {
            launch.env.push((name.to_string(), variables.expand_text(value)?));
        }
        Ok(launch)
    }
}

/// The values of one setting: those that the user set, or else the default.
struct UserConfigValue<'a> {
    /// Whether this is the manifest's default, in which variables of the host are replaced.
    own: bool,
    /// The values; empty if the setting is optional, is not set and has no default.
    texts: Vec<&'a str>,
}

/// Matches the given values with the settings of the manifest. The result has every setting.
fn values<'a>(
    settings: &'a [UserConfigSetting],
    set: &[(&'a str, &'a str)],
) -> Result<HashMap<&'a str, UserConfigValue<'a>>, BundleLaunchError> {
    let mut given: HashMap<&str, Vec<&str>> = HashMap::new();
    for (key, value) in set {
        given.entry(key).or_default().push(value);
    }
    let mut values = HashMap::new();
    for setting in settings {
        let given = given.remove(&*setting.key).unwrap_or_default();
        values.insert(&*setting.key, value(setting, given)?);
    }
    match given.keys().min() {
        None => Ok(values),
        Some(key) => {
            let known = settings.iter().take(20).map(|it| it.key.clone()).collect();
            Err(BundleLaunchError::UnknownSetting { key: (*key).into(), known })
        }
    }
}

/// Checks the values given for one setting, and falls back to its default. Defaults are not checked here.
fn value<'a>(
    setting: &'a UserConfigSetting,
    given: Vec<&'a str>,
) -> Result<UserConfigValue<'a>, BundleLaunchError> {
    let key = || setting.key.clone();
    let wrong = |kind: &str| BundleLaunchError::WrongSetting { key: key(), kind: kind.into() };
    for text in &given {
        match setting.kind.as_deref() {
            Some("number") => {
                let number = text.parse().ok().filter(|it: &f64| it.is_finite());
                let number = number.ok_or_else(|| wrong("number"))?;
                if setting.min.is_some_and(|min| number < min) || setting.max.is_some_and(|max| number > max)
                {
                    return Err(BundleLaunchError::OutOfRange { key: key() });
                }
            }
            Some("boolean") if !matches!(*text, "true" | "false") => return Err(wrong("boolean")),
            _ => {}
        }
    }
    if given.len() > 1 && !setting.multiple {
        return Err(BundleLaunchError::Several { key: key() });
    }
    let default = setting.default.iter().flatten().map(|text| &**text).collect::<Vec<_>>();
    let missing = |texts: &[&str]| texts.iter().all(|text| text.is_empty());
    let own = given.is_empty();
    let texts = if own { default } else { given };
    if setting.required && missing(&texts) {
        let title = setting.title.clone().unwrap_or_else(key);
        return Err(BundleLaunchError::Required { key: key(), title });
    }
    Ok(UserConfigValue { own, texts })
}

/// The values of all variables, and how many bytes may still be produced.
struct LaunchVariables<'a> {
    place: &'a BundleLaunchContext,
    values: &'a HashMap<&'a str, UserConfigValue<'a>>,
    /// The rest of [`BundleLaunchCommand::MAX_COMMAND_BYTES`].
    left: usize,
}

impl LaunchVariables<'_> {
    /// Expands one argument. If it is exactly one setting, the result has as many arguments as that has values,
    /// possibly none.
    fn expand_argument(&mut self, text: &str) -> Result<Vec<String>, BundleLaunchError> {
        let alone = text.strip_prefix("${user_config.").and_then(|rest| rest.strip_suffix('}'));
        let Some(value) = alone.and_then(|key| self.values.get(key)) else {
            return Ok(vec![self.expand_text(text)?]);
        };
        value.texts.iter().map(|text| self.expand_value(value, text)).collect()
    }

    /// Expands all variables in a text.
    fn expand_text(&mut self, text: &str) -> Result<String, BundleLaunchError> {
        self.expand_with(text, |this, name| {
            match name.strip_prefix("user_config.").and_then(|key| Some((key, this.values.get(key)?))) {
                None => this.host_variable(name),
                Some((key, value)) => match value.texts.as_slice() {
                    // As it is in the environment of a program that has no such setting.
                    [] => Ok(String::new()),
                    [text] => this.expand_value(value, text),
                    _ => Err(BundleLaunchError::Several { key: key.into() }),
                },
            }
        })
    }

    /// Expands one value of a setting: in a default, variables of the host are replaced; a value of the user is
    /// taken literally.
    fn expand_value(&mut self, value: &UserConfigValue<'_>, text: &str) -> Result<String, BundleLaunchError> {
        if value.own {
            self.expand_with(text, Self::host_variable)
        } else {
            self.expand_with(text, keep_variable)
        }
    }

    /// Replaces each `${NAME}` by what `variable` returns for it, and takes the result off the remaining bytes.
    /// An unclosed `${` stays as it is. What was put in is not searched for variables again.
    fn expand_with(
        &mut self,
        text: &str,
        variable: fn(&mut Self, &str) -> Result<String, BundleLaunchError>,
    ) -> Result<String, BundleLaunchError> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, (name, after))) =
            rest.split_once("${").and_then(|(before, after)| Some((before, after.split_once('}')?)))
        {
            out.push_str(before);
            out.push_str(&variable(self, name)?);
            rest = after;
        }
        out.push_str(rest);
        self.left = self.left.checked_sub(out.len() + 1).ok_or(BundleLaunchError::TooLong)?;
        Ok(out)
    }

    /// Returns the value of a variable that the host provides.
    fn host_variable(&mut self, name: &str) -> Result<String, BundleLaunchError> {
        let BundleLaunchContext { platform, directory, home } = self.place;
        let below = |folder: &str| Some(format!("{}{}{folder}", home.as_ref()?, platform.separator()));
        let known = match name {
            "__dirname" => Some(directory.clone()),
            "pathSeparator" | "/" => Some(platform.separator().to_owned()),
            "HOME" => home.clone(),
            "DESKTOP" => below("Desktop"),
            "DOCUMENTS" => below("Documents"),
            "DOWNLOADS" => below("Downloads"),
            _ => None,
        };
        known.ok_or_else(|| BundleLaunchError::UnknownVariable { name: name.into() })
    }
}

/// Leaves a variable as it is written, for values of the user.
fn keep_variable(_: &mut LaunchVariables<'_>, name: &str) -> Result<String, BundleLaunchError> {
    Ok(format!("${{{name}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"{"server": {"type": "node", "entry_point": "i.js", "mcp_config": {
        "command": "node", "args": ["${__dirname}${/}i.js", "${user_config.dirs}", "--n=${user_config.n}", "${user_config.unset}"],
        "env": {"KEY": "${user_config.key}", "D": "${DESKTOP}", "U": "${user_config.unset}", "OPEN": "${"},
        "platform_overrides": {"win32": {"command": "node.exe", "env": {}}}}},
        "user_config": {
          "dirs": {"type": "directory", "multiple": true, "default": ["${HOME}/a", "b"]},
          "key": {"type": "string", "title": "The key", "required": true, "sensitive": true},
          "n": {"type": "number", "default": 3, "min": 1, "max": 9},
          "unset": {"type": "string"}}}"#;

    fn launch(
        text: &str,
        platform: Platform,
        set: &[(&str, &str)],
    ) -> Result<BundleLaunchCommand, BundleLaunchError> {
        let manifest = Manifest::read(text.as_bytes()).unwrap();
        let place =
            BundleLaunchContext { platform, directory: "/b".to_owned(), home: Some("/home/u".to_owned()) };
        BundleLaunchCommand::from_manifest(&manifest, &place, set)
    }

    fn refused(set: &[(&str, &str)]) -> String {
        launch(MANIFEST, Platform::Linux, set).unwrap_err().to_string()
    }

    #[test]
    fn variables_are_filled_in_and_lists_become_several_arguments() {
        let linux = launch(MANIFEST, Platform::Linux, &[("key", "s${HOME}")]).unwrap();
        assert_eq!((&*linux.command, linux.args.join(" ")), ("node", "/b/i.js /home/u/a b --n=3".to_owned()));
        let env = |name: &str| linux.env.iter().find(|(known, _)| known == name).unwrap().1.clone();
        assert_eq!([env("KEY"), env("D"), env("U"), env("OPEN")], ["s${HOME}", "/home/u/Desktop", "", "${"]);
        let windows = launch(MANIFEST, Platform::Win32, &[("key", "k"), ("dirs", "x"), ("n", "9")]).unwrap();
        assert_eq!((&*windows.command, windows.args.join(" ")), ("node.exe", "/b\\i.js x --n=9".to_owned()));
        assert!(windows.env.is_empty());
        assert!(!format!("{linux:?}").contains("s$"), "secrets are not told");
    }

    #[test]
    fn what_is_missing_or_wrong_is_told() {
        assert_eq!(refused(&[]), "the bundle needs key (The key)");
        assert_eq!(refused(&[("key", "")]), "the bundle needs key (The key)");
        assert_eq!(
            refused(&[("key", "k"), ("kye", "")]),
            "kye cannot be set; the bundle has dirs, key, n, unset"
        );
        assert_eq!(refused(&[("key", "k"), ("n", "x")]), "n is no number");
        assert_eq!(refused(&[("key", "k"), ("n", "10")]), "n is outside the range that the bundle allows");
        assert_eq!(refused(&[("key", "k"), ("key", "l")]), "key is set several times, and can be one value");
        let told = |text: &str| launch(text, Platform::Linux, &[]).unwrap_err().to_string();
        assert_eq!(told("{}"), "the manifest does not say how its server is started");
        assert_eq!(
            told(r#"{"server": {"mcp_config": {"command": "${NOPE}"}}}"#),
            "`mcp_config` has the variable ${NOPE}, and nothing stands for it here"
        );
    }

    #[test]
    fn a_server_of_uv_needs_no_command() {
        let text = r#"{"server": {"type": "uv", "entry_point": "src/server.py"}}"#;
        let launch = launch(text, Platform::Linux, &[]).unwrap();
        assert_eq!(
            (&*launch.command, launch.args.join(" ")),
            ("uv", "run --directory /b src/server.py".to_owned())
        );
    }

    #[test]
    fn what_is_filled_in_stays_bounded() {
        let long = "x".repeat(10_000);
        let args = vec!["\"${user_config.a}\""; 1000].join(",");
        let text = format!(
            r#"{{"server": {{"mcp_config": {{"command": "c", "args": [{args}]}}}}, "user_config": {{"a": {{"default": "{long}"}}}}}}"#
        );
        assert_eq!(launch(&text, Platform::Linux, &[]).unwrap_err(), BundleLaunchError::TooLong);
    }
}
