//! Where a server is: at a URL, or a program that is started for the connection.

use std::fmt;
use std::str::FromStr;

use ::http::Uri;
use ::http::uri::{Authority, Scheme};

use super::sanitize::sanitized;

/// A server to connect to.
///
/// ```
/// use mcp_attune_rmcp::ServerTarget;
///
/// assert!(matches!("https://example.com/mcp".parse(), Ok(ServerTarget::Url(_))));
/// let program = ServerTarget::new(None, &["npx".to_owned(), "some-server".to_owned()])?;
/// assert_eq!(program.to_string(), "npx some-server");
///
/// let error = ServerTarget::new(Some("example.com/mcp"), &[]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "`example.com/mcp` is not a URL of a server; write `http://…` or `https://…`, or a program after `--`"
/// );
/// # Ok::<(), mcp_attune_rmcp::ServerTargetError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ServerTarget {
    /// A server that runs already, over HTTP. The URL has a scheme `http` or `https`, a host, and no user or
    /// password.
    Url(Uri),
    /// A program that is started for the connection, spoken to over its pipes, and ended with it.
    Program {
        /// Its path, or its name, which is looked up in `PATH`.
        name: String,
        /// Its command line arguments.
        arguments: Vec<String>,
    },
}

impl ServerTarget {
    /// Reads what a command line has: a URL, or the words after `--`.
    ///
    /// # Errors
    ///
    /// There is neither, or both, or what there is cannot be used.
    pub fn new(url: Option<&str>, command: &[String]) -> Result<Self, ServerTargetError> {
        match (url, command.split_first()) {
            (Some(_), Some(_)) => Err(ServerTargetError::Both),
            (None, None) => Err(ServerTargetError::Neither),
            (Some(url), None) => url.parse(),
            (None, Some((name, _))) if name.trim().is_empty() => Err(ServerTargetError::NoName),
            (None, Some((name, arguments))) => {
                Ok(Self::Program { name: name.clone(), arguments: arguments.to_vec() })
            }
        }
    }
}

impl ServerTarget {
    /// Returns what names this server in a cache. The query of a URL is left out: it is part of the identity of
    /// who asks.
    pub(crate) fn cache_name(&self) -> String {
        match self {
            Self::Url(_) => self.to_string(),
            Self::Program { name, arguments } => serde_json::json!([name, arguments]).to_string(),
        }
    }

    /// Returns the query of the URL, which may hold a secret.
    pub(crate) fn query(&self) -> Option<&[u8]> {
        match self {
            Self::Url(url) => url.query().map(str::as_bytes),
            Self::Program { .. } => None,
        }
    }
}

/// Parses a URL.
impl FromStr for ServerTarget {
    type Err = ServerTargetError;

    fn from_str(text: &str) -> Result<Self, ServerTargetError> {
        let bad = || ServerTargetError::NotAUrl(sanitized(text));
        let url: Uri = text.trim().parse().map_err(|_| bad())?;
        if !url.scheme().is_some_and(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS) {
            return Err(bad());
        }
        let authority = url.authority().ok_or_else(bad)?;
        if authority.as_str().contains('@') {
            return Err(ServerTargetError::Password);
        }
        if authority.host().is_empty() {
            return Err(bad());
        }
        Ok(Self::Url(url))
    }
}

/// Shows the URL without its query, which may hold a secret, or the command, shortened and safe for a terminal.
impl fmt::Display for ServerTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => {
                let scheme = url.scheme_str().unwrap_or_default();
                let authority = url.authority().map(Authority::as_str).unwrap_or_default();
                write!(f, "{scheme}://{authority}{}", url.path())
            }
            Self::Program { name, arguments } => {
                let words: Vec<_> = [name].into_iter().chain(arguments).map(String::as_str).collect();
                f.write_str(&sanitized(&words.join(" ")))
            }
        }
    }
}

/// Why something is not a server to connect to. `Display` says what to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ServerTargetError {
    /// Neither a URL nor a program is given.
    Neither,
    /// A URL and a program are both given.
    Both,
    /// The text is not a URL that begins with `http://` or `https://`.
    NotAUrl(String),
    /// The URL holds a user name or a password, which would end up in logs.
    Password,
    /// The name of the program is empty.
    NoName,
}

impl ServerTargetError {
    /// Returns what is wrong.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Neither => "no server is named".to_owned(),
            Self::Both => "a URL and a program are both given".to_owned(),
            Self::NotAUrl(text) => format!("`{text}` is not a URL of a server"),
            Self::Password => "the URL holds a name or a password, which ends up in logs".to_owned(),
            Self::NoName => "the program after `--` has no name".to_owned(),
        }
    }

    /// Returns what to write instead.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Neither => "give its URL, or the program to start after `--`",
            Self::Both => "leave one of them out",
            Self::NotAUrl(_) => "write `http://…` or `https://…`, or a program after `--`",
            Self::Password => "send it in a header `Authorization`",
            Self::NoName => "write it first",
        }
    }
}

impl fmt::Display for ServerTargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.hint())
    }
}

impl std::error::Error for ServerTargetError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn reads_urls_and_programs() {
        let target = ServerTarget::new(Some(" https://example.com:8443/mcp?key=secret "), &[]).unwrap();
        assert_eq!(target.to_string(), "https://example.com:8443/mcp");
        let target = ServerTarget::new(None, &words(&["server", "--stdio", "http://x/"])).unwrap();
        assert_eq!(target.to_string(), "server --stdio http://x/");
    }

    #[test]
    fn says_what_is_wrong_with_a_target() {
        let check = |url, command: &[&str], expected: ServerTargetError| {
            assert_eq!(ServerTarget::new(url, &words(command)), Err(expected));
        };
        check(None, &[], ServerTargetError::Neither);
        check(Some("http://x/"), &["x"], ServerTargetError::Both);
        check(None, &[" ", "x"], ServerTargetError::NoName);
        check(Some("http://me:secret@x/"), &[], ServerTargetError::Password);
        for text in ["", "x", "ftp://x/", "http://", "http:///mcp", "/mcp", "http://x y/"] {
            check(Some(text), &[], ServerTargetError::NotAUrl(text.to_owned()));
        }
    }
}
