//! `[upstream]`: the server that a mount stands for.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;

use super::choice::choices;
use super::findings::{ConfigProblem, quoted};
use super::limits::{parse_count, parse_nonzero_time};
use super::reader::{ConfigTableReader, flag, text};
use super::server::parse_url;

/// `[upstream]`: the server that a mount stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct UpstreamConfig {
    /// How it is reached: `url` or `command`.
    pub target: UpstreamTarget,
    /// What happens to requests for other paths than the endpoint. Without effect for a program, which has no
    /// paths.
    pub unknown_paths: UnknownPaths,
    /// Which era of MCP it speaks.
    pub era: UpstreamEra,
}

/// How an upstream is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UpstreamTarget {
    /// Over HTTP, at an absolute URL.
    Http(Uri),
    /// Over the standard input and output of a program that the gateway starts.
    Stdio(ChildConfig),
}

/// A program that is an MCP server over stdio, and how many of it may run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ChildConfig {
    /// The program: a path, or a name that is looked for in `PATH`.
    pub program: String,
    /// Its arguments. No shell interprets them.
    pub arguments: Vec<String>,
    /// The folder that it runs in; that of the gateway for `None`. Not a setting of the file.
    pub directory: Option<PathBuf>,
    /// Variables that are added to its environment.
    pub env: SecretEnv,
    /// Whether it gets the gateway's environment too, or only what every program needs (`PATH`, `HOME`,
    /// `LANG`, `TZ` and the like). Default: true.
    pub inherit_env: bool,
    /// How many legacy sessions, each with a program of its own, may be open at a time. Modern callers share
    /// one more. Default: 16.
    pub children: usize,
    /// How long a program without work is kept, and with it its session. Default: 10 min.
    pub child_idle: Duration,
}

/// Environment variables of a program. `Debug` shows their names and never their values.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SecretEnv(BTreeMap<String, String>);

impl SecretEnv {
    /// Returns the names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl FromIterator<(String, String)> for SecretEnv {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(pairs: T) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl fmt::Debug for SecretEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, format_args!("…")))).finish()
    }
}

choices! {
    /// What happens to paths beside the endpoint. Rules: G1, H19.
    pub UnknownPaths {
        /// `GET` and `HEAD` of `/.well-known/…` go to the upstream; all else is 404, or 405 for other methods
        /// there.
        WellKnown = "well-known",
        /// They go to the upstream, with any method, unchecked.
        Pass = "pass",
        /// They are 404.
        Refuse = "refuse",
    }
}

choices! {
    /// Which era of MCP an upstream speaks. Rules: X1.
    pub UpstreamEra {
        /// It is asked.
        Auto = "auto",
        /// 2026-07-28 and after. It is not asked.
        Modern = "modern",
        /// 2025-11-25 and before. It is not asked.
        Legacy = "legacy",
    }
}

impl UpstreamConfig {
    /// Makes an upstream at a URL, with everything else as it is by default.
    ///
    /// ```
    /// use mcp_attune_gateway::config::{UpstreamTarget, UpstreamConfig};
    ///
    /// let upstream = UpstreamConfig::http("http://127.0.0.1:9000/mcp").unwrap();
    /// assert!(matches!(upstream.target, UpstreamTarget::Http(_)));
    /// assert_eq!(UpstreamConfig::http("mcp.example.com").unwrap_err().to_string(), "is no URL");
    /// ```
    ///
    /// # Errors
    ///
    /// [`UpstreamUrlError`] for anything but a whole URL with `http` or `https`, without credentials and
    /// without a fragment.
    pub fn http(url: &str) -> Result<Self, UpstreamUrlError> {
        let uri = parse_url(url).map_err(UpstreamUrlError)?;
        Ok(Self {
            target: UpstreamTarget::Http(uri),
            unknown_paths: UnknownPaths::default(),
            era: UpstreamEra::default(),
        })
    }

    /// Makes an upstream that is a program with arguments, with everything else as it is by default.
    ///
    /// ```
    /// use mcp_attune_gateway::config::{UpstreamTarget, UpstreamConfig};
    ///
    /// let upstream = UpstreamConfig::stdio("npx", ["-y", "some-server"]);
    /// let UpstreamTarget::Stdio(child) = upstream.target else { unreachable!() };
    /// assert_eq!(child.children, 16);
    /// ```
    pub fn stdio(program: impl Into<String>, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let child = ChildConfig {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: None,
            env: SecretEnv::default(),
            inherit_env: true,
            children: 16,
            child_idle: Duration::from_secs(10 * 60),
        };
        Self {
            target: UpstreamTarget::Stdio(child),
            unknown_paths: UnknownPaths::default(),
            era: UpstreamEra::default(),
        }
    }

    /// Reads the table: either `url` or `command`. Settings of programs beside a `url` are findings. `None`
    /// if there is no valid target.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>) -> Option<Self> {
        reader.mask("env");
        // Credentials in a URL are refused, and not shown either.
        reader.mask_where("url", |url| url.contains('@'));
        let uri = reader.optional("url", |value| parse_url(text(value)?));
        let command = reader.string_array("command");
        let unknown_paths = reader.choice("unknown_paths", UnknownPaths::default());
        let era = reader.choice("era", UpstreamEra::default());
        let env = env(reader);
        let inherit_env = reader.optional("inherit_env", flag);
        let children = reader.optional("children", |value| parse_count(value, 10_000));
        let child_idle = reader.optional("child_idle", parse_nonzero_time);

        let target = match (reader.has("url"), reader.has("command")) {
            (true, true) => {
                reader.report("command", ConfigProblem::new("stands beside `url`", "keep one of the two"));
                None
            }
            (false, false) => {
                let hint = "add `url = \"http://…\"`, or `command = [\"program\", \"argument\"]`";
                reader.report_table("names no server", hint);
                None
            }
            (true, false) => {
                let problem = ConfigProblem::new(
                    "is for a `command`, and this is a `url`",
                    "take it out, or give a `command` instead of the `url`",
                );
                reader.report_each_present(&["env", "inherit_env", "children", "child_idle"], &problem);
                uri.map(UpstreamTarget::Http)
            }
            (false, true) => {
                let UpstreamTarget::Stdio(base) = Self::stdio("", [""; 0]).target else { return None };
                child(reader, command?, base).map(|child| {
                    UpstreamTarget::Stdio(ChildConfig {
                        env,
                        inherit_env: inherit_env.unwrap_or(child.inherit_env),
                        children: children.unwrap_or(child.children),
                        child_idle: child_idle.unwrap_or(child.child_idle),
                        ..child
                    })
                })
            }
        };
        Some(Self { target: target?, unknown_paths, era })
    }
}

/// Makes the program of a `command`: its first word, and its arguments.
fn child(
    reader: &mut ConfigTableReader<'_, '_, '_>,
    command: Vec<String>,
    base: ChildConfig,
) -> Option<ChildConfig> {
    let mut words = command.into_iter();
    match words.next() {
        Some(program) if !program.trim().is_empty() => {
            Some(ChildConfig { program, arguments: words.collect(), ..base })
        }
        _ => {
            let hint =
                "write the program and its arguments, each in quotes: [\"npx\", \"-y\", \"some-server\"]";
            reader.report("command", ConfigProblem::new("names no program", hint));
            None
        }
    }
}

/// Reads `env`. Names and values that no environment can hold are findings.
fn env(reader: &mut ConfigTableReader<'_, '_, '_>) -> SecretEnv {
    let mut env = BTreeMap::new();
    for (name, value) in reader.string_table("env").unwrap_or_default() {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let what = format!("holds `{}`, which no environment can hold", quoted(name));
            reader.report("env", ConfigProblem::new(what, "names have no `=`, and nothing has a zero byte"));
        } else {
            env.insert(name.to_owned(), value.to_owned());
        }
    }
    SecretEnv(env)
}

/// Why a text is not the URL of an upstream. `Display` is a predicate, such as `is no URL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamUrlError(ConfigProblem);

impl UpstreamUrlError {
    /// Returns what to do about it.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.0.hint
    }
}

impl fmt::Display for UpstreamUrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.what)
    }
}

impl std::error::Error for UpstreamUrlError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_environment_are_never_printed() {
        let env = SecretEnv(BTreeMap::from([("TOKEN".to_owned(), "secret".to_owned())]));
        assert_eq!(format!("{env:?}"), "{\"TOKEN\": …}");
        assert_eq!(env.iter().collect::<Vec<_>>(), [("TOKEN", "secret")]);
    }
}
