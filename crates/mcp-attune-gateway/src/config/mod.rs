//! `attune.toml`: everything that an operator can choose, checked as a whole.
//!
//! 1. A file of more than [`Config::MAX_LEN`] bytes is refused.
//! 2. A file that is not TOML is one finding, and nothing else is looked for: what its keys are is then
//!    anybody's guess. Only a key that comes twice leaves no doubt about the others.
//! 3. Every key that is unknown, every value that is wrong and every contradiction is a finding, with line,
//!    column and a hint; all of them are reported at once.
//! 4. A [`Config`] exists only for a file without findings, and holds values that need no further checking.
//!
//! One server behind the gateway is described by the tables at the top. Several are described by one table
//! `[mounts.NAME]` each, with a `path` and the same tables from `[upstream]` down. Then `[headers]`,
//! `[locales]`, `[content]`, `[context]`, `[callers]` and `[auth]` at the top are what each mount begins with, key by key;
//! `[upstream]`, `[tools]`, `[resources]` and `[prompts]` belong to one server, and stand in its mount.
//!
//! Caveat: whether a file that is named exists is not checked here, but by [`inspect`](crate::inspect) and by
//! whoever reads it. [`Config::parse`] keeps paths as they are written; [`Config::load`] resolves relative
//! ones from the folder of the file.
//!
//! ```
//! use mcp_attune_gateway::config::Config;
//!
//! let config = Config::parse("[upstream]\nurl = 'http://127.0.0.1:9000/mcp'\n", "attune.toml")?;
//! assert_eq!(config.server.listen.port(), 8808);
//!
//! let findings = Config::parse("[server]\nlisen = '127.0.0.1:80'\n", "attune.toml").unwrap_err();
//! assert_eq!(
//!     findings.to_string(),
//!     "attune.toml:2:1: there is no key `lisen` in [server]\n  \
//!        2 | lisen = …\n    \
//!          | ^^^^^\n\
//!      hint: did you mean `listen`?\n"
//! );
//! # Ok::<(), mcp_attune_gateway::config::ConfigFindings>(())
//! ```

mod excerpt;

mod findings;

mod choice;
mod network;
mod positions;
mod units;

mod reader;

mod context;
mod feature_tags;
mod limits;
mod locales;
mod session;
mod template_paths;

mod headers;
mod clients;
mod callers;
mod server;
mod auth;
mod bridge;
mod tools;

mod upstream;

mod mount;

mod schema;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use mcp_attune::language::{Languages, Tag};
use mcp_attune::plan::Offer;
use mcp_attune_files::FileWatcher;
use toml::de::DeTable;

pub use auth::AuthConfig;
pub use bridge::{AnonymousCallers, BridgeConfig};
pub use callers::{CallerHeadersConfig, CallersConfig, ProfileSetting};
pub(crate) use choice::nearest_name;
pub use context::{
    ContextConfig, ContextFieldSetting, CoordinatesSetting, ForwardPlacementSetting, PastSetting,
};
pub use findings::{ConfigFinding, ConfigFindings};
pub use headers::{HeaderAgreementSetting, HeadersConfig, UnknownSchemaSetting};
pub use limits::LimitsConfig;
pub use locales::{ContentConfig, LocalesConfig, TranslateSetting};
pub use mount::{MountConfig, MountPath};
pub use network::{IpNetwork, IpNetworkError};
pub use positions::SettingPositions;
pub use schema::schema;
pub use server::{AllowedOrigin, HttpImplementation, LogFormat, ServerConfig, TlsFiles};
pub use session::{SessionConfig, SessionSealKey};
pub use template_paths::TemplatesConfig;
pub use tools::{
    BindingConfig, BindingSourceSetting, FieldBinding, InstantFormatSetting, IntervalBinding,
    IntervalBindingPart, IntervalEndSetting, ToolConfig,
};
pub use upstream::{
    ChildConfig, SecretEnv, UnknownPaths, UpstreamConfig, UpstreamEra, UpstreamTarget, UpstreamUrlError,
};

use mcp_attune_wire::agree::{LanguageHeaderPolicy, OnMissingParam};

use choice::choices;
use findings::{ConfigProblem, FindingCollector};
use reader::{ConfigTableReader, text};

/// The whole configuration, checked. A reload compares it with the running one to find out whether anything
/// changed but the text.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The language of the servers' own texts, so of everything that has no translation. With `None`, Attune
    /// claims no language of its own. Rules: L7.
    pub default_language: Option<Tag>,
    /// How much is logged.
    pub log: LogLevelSetting,
    /// `[server]`: where the gateway listens, and whose requests it accepts.
    pub server: ServerConfig,
    /// `[limits]`: sizes, numbers and time-outs.
    pub limits: LimitsConfig,
    /// `[session]`: the keys that seal the ids of legacy sessions.
    pub session: SessionConfig,
    /// `[bridge]`: callers of one era of MCP in front of servers of the other.
    pub bridge: BridgeConfig,
    /// The upstreams: at least one, each at a path of its own.
    pub mounts: Vec<MountConfig>,
}

choices! {
    /// How much is logged: this and everything graver.
    pub LogLevelSetting {
        /// What happens, including a line for each call.
        Info = "info",
        /// Nothing.
        Off = "off",
        /// What failed.
        Error = "error",
        /// What may be wrong.
        Warn = "warn",
        /// What was decided about each request, and why.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

/// Why a configuration file could not be loaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigLoadError {
    /// The file could not be opened or read.
    Unreadable(io::Error),
    /// The file was read, and is wrong.
    Wrong(ConfigFindings),
}

impl std::fmt::Display for ConfigLoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(f),
            Self::Wrong(findings) => findings.fmt(f),
        }
    }
}

impl std::error::Error for ConfigLoadError {}

impl Default for Config {
    /// What an empty file says.
    fn default() -> Self {
        Self {
            default_language: None,
            log: LogLevelSetting::default(),
            server: ServerConfig::default(),
            limits: LimitsConfig::default(),
            session: SessionConfig::default(),
            bridge: BridgeConfig::default(),
            mounts: vec![MountConfig::default()],
        }
    }
}

impl Config {
    /// Maximum size of a file, in bytes: 1 MiB.
    pub const MAX_LEN: usize = 1 << 20;

    /// Parses and checks a configuration. `file` is its name in findings; nothing is read from it. Paths are
    /// kept as they are written.
    ///
    /// # Errors
    ///
    /// [`ConfigFindings`], with everything that is wrong.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigFindings> {
        if text.len() > Self::MAX_LEN {
            let problem = ConfigProblem::new("the file is larger than 1 MiB", "is it the right file?");
            return Err(ConfigFindings::single(file, (1, 1), problem));
        }
        let mut notes = FindingCollector::new(schema::top_tables_of_key);
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() && may_hold_secrets(text) {
            notes.hide_lines();
        }
        // A key that comes twice leaves no doubt about the others.
        let is_readable = errors.iter().all(|error| error.message().trim() == DUPLICATE_KEY);
        for error in errors {
            let what = format!("this is no TOML: {}", error.message().trim());
            let hint =
                if error.message().trim() == DUPLICATE_KEY { "take one of them out" } else { TOML_HINT };
            notes.add(error.span().unwrap_or(text.len()..text.len()), ConfigProblem::new(what, hint));
        }
        let config = if is_readable {
            reader::read_root(table.get_ref(), &mut notes, Self::read)
        } else {
            Self::default()
        };
        notes.finish(text, file).map_or(Ok(config), Err)
    }

    /// Reads, parses and checks a file. Relative paths in it are resolved from its folder. Blocks on the
    /// disk.
    ///
    /// # Errors
    ///
    /// [`ConfigLoadError`], if the file cannot be read, or is wrong.
    pub fn load(path: &Path) -> Result<Self, ConfigLoadError> {
        let mut bytes = Vec::new();
        let most = u64::try_from(Self::MAX_LEN + 1).unwrap_or(u64::MAX);
        File::open(path)
            .and_then(|file| file.take(most).read_to_end(&mut bytes))
            .map_err(ConfigLoadError::Unreadable)?;
        let mut config =
            Self::from_bytes(&bytes, &path.display().to_string()).map_err(ConfigLoadError::Wrong)?;
        if let Some(folder) = path.parent() {
            config.server.within(folder);
            for mount in &mut config.mounts {
                mount.within(folder);
            }
        }
        Ok(config)
    }

    /// Parses the bytes of a file. What is not UTF-8 is a finding at the first wrong byte.
    fn from_bytes(bytes: &[u8], file: &str) -> Result<Self, ConfigFindings> {
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => return Self::parse(text, file),
            // The limit may have cut the last character in two.
            Err(_) if bytes.len() > Self::MAX_LEN => return Self::parse(&" ".repeat(bytes.len()), file),
            Err(error) => error,
        };
        let fine = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let fine = String::from_utf8_lossy(fine);
        let problem = ConfigProblem::new("this is no UTF-8", "save the file as UTF-8");
        Err(ConfigFindings::single(file, findings::line_and_column(&fine, fine.len()), problem))
    }

    /// Translates the settings of a mount into what the rules can offer to its callers: languages,
    /// translations, bindings, templates. Without a mount, only the default language and its formats. Locale
    /// files and templates are added to `watcher`.
    pub(crate) fn offer(&self, mount: Option<&MountConfig>, watcher: &mut FileWatcher) -> Offer {
        let default = self.default_language.clone();
        let server = default.clone().or_else(|| Tag::parse("en").ok());
        let library = mount.zip(server).map(|(mount, tag)| mount.locales.library(&tag, watcher));
        if default.is_none() && library.as_ref().is_some_and(|library| !library.locale_index().is_empty()) {
            tracing::warn!(
                "there are locale files, and no `default_language`; the server's own texts count as English"
            );
        }
        let argument =
            |(name, tool): (&String, &ToolConfig)| Some((name.clone(), tool.language_argument.clone()?));
        Offer {
            languages: default.map(Languages::from),
            speaks: false,
            forward: mount.map(|mount| mount.context.to_forward()).unwrap_or_default(),
            bindings: Arc::new(mount.map(MountConfig::bindings).unwrap_or_default()),
            library,
            translate: mount.map(|mount| mount.locales.to_translate()).unwrap_or_default(),
            language_arguments: Arc::new(
                mount.iter().flat_map(|mount| &mount.tools).filter_map(argument).collect(),
            ),
            formatters: Some(
                self.default_language
                    .as_ref()
                    .map_or_else(mcp_attune_format::english, mcp_attune_format::formatters),
            ),
            content: mount.and_then(|mount| mount.content_supply(watcher)),
            past: mount.map(|mount| mount.context.to_past()).unwrap_or_default(),
            callers: Arc::new(mount.map(|mount| mount.callers.to_assumptions()).unwrap_or_default()),
        }
    }

    /// A complete file with comments: every key, with its default or, where it has none, an example.
    ///
    /// ```
    /// use mcp_attune_gateway::config::Config;
    ///
    /// assert!(Config::parse(Config::example(), "attune.toml").is_ok());
    /// ```
    #[must_use]
    pub fn example() -> &'static str {
        include_str!("example.toml")
    }

    /// Reads the top of a file. The values of `[session]` are masked first, so that no finding can show them.
    fn read(reader: &mut ConfigTableReader<'_, '_, '_>) -> Self {
        let base = Self::default();
        reader.mask("session");
        Self {
            default_language: reader.optional("default_language", |value| parse_language(text(value)?)),
            log: reader.choice("log", base.log),
            server: reader.table("server", base.server, ServerConfig::read),
            limits: reader.table("limits", base.limits, LimitsConfig::read),
            session: reader.table("session", base.session, SessionConfig::read),
            bridge: reader.table("bridge", base.bridge, BridgeConfig::read),
            mounts: mount::read(reader),
        }
    }
}

/// The message of the TOML parser for a key that comes twice.
const DUPLICATE_KEY: &str = "duplicate key";

/// The hint for a file that is not TOML.
const TOML_HINT: &str = "see https://toml.io for how it is written; strings stand in quotes";

/// Returns whether a file that is not TOML may hold a key or an environment variable somewhere. Then its
/// findings show no lines at all, because the parser cannot say which of them are secret.
fn may_hold_secrets(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    lines.into_iter().any(|line| ["session", "keys", "env"].iter().any(|word| line.contains(word)))
}

/// Parses a BCP 47 tag. The problem suggests `de-CH` for `de_CH`.
fn parse_language(text: &str) -> Result<Tag, ConfigProblem> {
    Tag::parse(text).map_err(|why| {
        let hint = match Tag::parse(&text.replace('_', "-")) {
            Ok(tag) => format!("did you mean \"{tag}\"?"),
            Err(_) => why.hint().to_owned(),
        };
        ConfigProblem::new(format!("is {}", why.what()), hint)
    })
}
