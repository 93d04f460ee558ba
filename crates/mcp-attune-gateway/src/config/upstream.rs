//! `[upstream]`: the server behind.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;

use super::choice::choices;
use super::findings::{Problem, quoted};
use super::limits::{count, some_time};
use super::reader::{Reader, flag, text};
use super::server::url;

/// The server behind.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Upstream {
    /// How it is reached.
    pub target: Target,
    /// What happens to paths beside the endpoint.
    pub unknown_paths: UnknownPaths,
}

/// How the server behind is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// Over HTTP, at an absolute URL.
    Http(Uri),
    /// Over the standard input and output of a program that the gateway starts.
    Stdio(Child),
}

/// A program that is an MCP server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Child {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The folder that it runs in; that of the gateway where none is named.
    pub directory: Option<PathBuf>,
    /// What is added to its environment.
    pub env: Env,
    /// Whether it gets our environment too, or only what every program needs.
    pub inherit_env: bool,
    /// How many legacy sessions, each with one of its own, may be open at one time. Modern callers share one more.
    pub children: usize,
    /// How long one without work is kept, and with it its session.
    pub child_idle: Duration,
}

/// Variables for the environment of a program. Their values are never printed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Env(BTreeMap<String, String>);

impl Env {
    /// The names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl FromIterator<(String, String)> for Env {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(pairs: T) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, format_args!("…")))).finish()
    }
}

choices! {
    /// What happens to paths beside the endpoint. Rules: G1, H19.
    pub UnknownPaths {
        /// `GET` and `HEAD` of `/.well-known/…` go to the server behind; all else is not found.
        WellKnown = "well-known",
        /// They go to the server behind, with any method, unchecked.
        Pass = "pass",
        /// They are not found.
        Refuse = "refuse",
    }
}

impl Upstream {
    /// A server at a URL, with everything else as it is by default.
    ///
    /// ```
    /// use mcp_attune_gateway::config::{Target, Upstream};
    ///
    /// let upstream = Upstream::http("http://127.0.0.1:9000/mcp").unwrap();
    /// assert!(matches!(upstream.target, Target::Http(_)));
    /// assert_eq!(Upstream::http("mcp.example.com").unwrap_err().to_string(), "is no URL");
    /// ```
    ///
    /// # Errors
    ///
    /// [`BadUrl`] for anything but a whole URL with `http` or `https`, without credentials.
    pub fn http(url: &str) -> Result<Self, BadUrl> {
        let uri = self::url(url).map_err(BadUrl)?;
        Ok(Self { target: Target::Http(uri), unknown_paths: UnknownPaths::default() })
    }

    /// A program with its arguments, with everything else as it is by default.
    ///
    /// ```
    /// use mcp_attune_gateway::config::{Target, Upstream};
    ///
    /// let upstream = Upstream::stdio("npx", ["-y", "some-server"]);
    /// let Target::Stdio(child) = upstream.target else { unreachable!() };
    /// assert_eq!(child.children, 16);
    /// ```
    pub fn stdio(program: impl Into<String>, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let child = Child {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            directory: None,
            env: Env::default(),
            inherit_env: true,
            children: 16,
            child_idle: Duration::from_secs(10 * 60),
        };
        Self { target: Target::Stdio(child), unknown_paths: UnknownPaths::default() }
    }

    pub(super) fn read(reader: &mut Reader<'_, '_, '_>) -> Option<Self> {
        reader.mask("env");
        // Credentials in a URL are refused, and not shown either.
        reader.mask_where("url", |url| url.contains('@'));
        let uri = reader.optional("url", |value| url(text(value)?));
        let command = reader.words("command");
        let unknown_paths = reader.choice("unknown_paths", UnknownPaths::default());
        let env = env(reader);
        let inherit_env = reader.optional("inherit_env", flag);
        let children = reader.optional("children", |value| count(value, 10_000));
        let child_idle = reader.optional("child_idle", some_time);

        let target = match (reader.has("url"), reader.has("command")) {
            (true, true) => {
                reader.wrong("command", Problem::new("stands beside `url`", "keep one of the two"));
                None
            }
            (false, false) => {
                let hint = "add `url = \"http://…\"`, or `command = [\"program\", \"argument\"]`";
                reader.wrong_table("names no server", hint);
                None
            }
            (true, false) => {
                let problem = Problem::new(
                    "is for a `command`, and this is a `url`",
                    "take it out, or give a `command` instead of the `url`",
                );
                reader.refuse(&["env", "inherit_env", "children", "child_idle"], &problem);
                uri.map(Target::Http)
            }
            (false, true) => {
                let Target::Stdio(base) = Self::stdio("", [""; 0]).target else { return None };
                child(reader, command?, base).map(|child| {
                    Target::Stdio(Child {
                        env,
                        inherit_env: inherit_env.unwrap_or(child.inherit_env),
                        children: children.unwrap_or(child.children),
                        child_idle: child_idle.unwrap_or(child.child_idle),
                        ..child
                    })
                })
            }
        };
        Some(Self { target: target?, unknown_paths })
    }
}

fn child(reader: &mut Reader<'_, '_, '_>, command: Vec<String>, base: Child) -> Option<Child> {
    let mut words = command.into_iter();
    match words.next() {
        Some(program) if !program.trim().is_empty() => {
            Some(Child { program, arguments: words.collect(), ..base })
        }
        _ => {
            let hint =
                "write the program and its arguments, each in quotes: [\"npx\", \"-y\", \"some-server\"]";
            reader.wrong("command", Problem::new("names no program", hint));
            None
        }
    }
}

fn env(reader: &mut Reader<'_, '_, '_>) -> Env {
    let mut env = BTreeMap::new();
    for (name, value) in reader.strings("env").unwrap_or_default() {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            let what = format!("holds `{}`, which no environment can hold", quoted(name));
            reader.wrong("env", Problem::new(what, "names have no `=`, and nothing has a zero byte"));
        } else {
            env.insert(name.to_owned(), value.to_owned());
        }
    }
    Env(env)
}

/// Why a text is no URL of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadUrl(Problem);

impl BadUrl {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.0.hint
    }
}

impl fmt::Display for BadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.what)
    }
}

impl std::error::Error for BadUrl {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_environment_are_never_printed() {
        let env = Env(BTreeMap::from([("TOKEN".to_owned(), "secret".to_owned())]));
        assert_eq!(format!("{env:?}"), "{\"TOKEN\": …}");
        assert_eq!(env.iter().collect::<Vec<_>>(), [("TOKEN", "secret")]);
    }
}
