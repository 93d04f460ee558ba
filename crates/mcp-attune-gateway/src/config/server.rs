//! `[server]`: where the gateway listens, and whose requests it accepts.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use http::uri::Authority;

use super::choice::choices;
use super::findings::ConfigProblem;
use super::limits::parse_time;
use super::network::{IpNetwork, parse_network};
use super::reader::{ConfigTableReader, TomlValue, flag, parse_nonempty, text};

/// `[server]`: where the gateway listens, and whose requests it accepts.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The address that callers connect to. Default: `127.0.0.1:8808`.
    pub listen: SocketAddr,
    /// The address of the admin listener (`/metrics`, `/healthz`, `/readyz`); never the same as `listen`.
    /// Default: `127.0.0.1:8809`.
    pub admin: SocketAddr,
    /// Which implementation of HTTP/1.1 reads requests.
    pub http: HttpImplementation,
    /// The values of `Host` that are answered beside loopback: a name, and a port where it matters; others
    /// get 403. Default: `localhost`.
    pub allowed_hosts: Vec<Authority>,
    /// The origins of web pages that may send requests: CORS is on for these. Default: none, so CORS is off.
    pub allowed_origins: Vec<AllowedOrigin>,
    /// The proxies whose `X-Forwarded-For` or `Forwarded` says where a caller comes from, for the share of permits that one
    /// caller gets. Default: loopback.
    pub trusted_proxies: Vec<IpNetwork>,
    /// How long the gateway goes on serving after `SIGTERM`, while `/readyz` answers 503 and every answer
    /// closes its connection. Default: 1 s.
    pub shutdown_delay: Duration,
    /// Whether every call is logged, in a line of its own. Default: true.
    pub access_log: bool,
    /// How lines of the log are written.
    pub log_format: LogFormat,
    /// The certificate to answer HTTPS with; `None` for plain HTTP.
    pub tls: Option<TlsFiles>,
}

choices! {
    /// Which implementation of HTTP/1.1 reads requests. Answers of upstreams are always read by Attune's own,
    /// because hyper accepts answers that can be read in two ways. Rules: G4, H20.
    pub HttpImplementation {
        /// Attune's own reads plain requests, which most are, and hyper all others.
        Own = "own",
        /// hyper reads all requests. Their framing is checked before, as with the other value.
        Hyper = "hyper",
    }
}

choices! {
    /// How lines of the log are written. Rules: G12.
    pub LogFormat {
        /// For people.
        Text = "text",
        /// For programs: one JSON object on each line.
        Json = "json",
    }
}

/// A certificate and its key, in PEM files. They are read at the start, and again when they change.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TlsFiles {
    /// The certificate chain, the server's own certificate first.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The origin of a web page, as browsers write it: scheme, host in lower case, and the port unless it is the
/// usual one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AllowedOrigin(String);

impl AllowedOrigin {
    /// Returns the origin as a browser sends it in `Origin`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AllowedOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        Self {
            listen: loopback(8808),
            admin: loopback(8809),
            http: HttpImplementation::default(),
            allowed_hosts: vec![Authority::from_static("localhost")],
            allowed_origins: Vec::new(),
            trusted_proxies: ["127.0.0.0/8", "::1"]
                .iter()
                .filter_map(|network| network.parse().ok())
                .collect(),
            shutdown_delay: Duration::from_secs(1),
            access_log: true,
            log_format: LogFormat::default(),
            tls: None,
        }
    }
}

impl ServerConfig {
    /// Resolves every relative path from a folder.
    pub(super) fn within(&mut self, folder: &std::path::Path) {
        if let Some(tls) = &mut self.tls {
            tls.cert = folder.join(&tls.cert);
            tls.key = folder.join(&tls.key);
        }
    }

    /// Reads the table. Absent keys keep the values of `base`.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &Self) -> Self {
        let server = Self {
            listen: reader.read("listen", base.listen, address_value),
            admin: reader.read("admin", base.admin, address_value),
            http: reader.choice("http", base.http),
            allowed_hosts: reader.list("allowed_hosts", &base.allowed_hosts, host),
            allowed_origins: reader.list("allowed_origins", &base.allowed_origins, origin),
            trusted_proxies: reader.list("trusted_proxies", &base.trusted_proxies, parse_network),
            shutdown_delay: reader.read("shutdown_delay", base.shutdown_delay, parse_time),
            access_log: reader.read("access_log", base.access_log, flag),
            log_format: reader.choice("log_format", base.log_format),
            tls: reader.table("tls", base.tls.clone(), |reader, _| tls(reader)),
        };
        // Port 0 is a different port each time.
        if server.listen == server.admin && server.listen.port() != 0 {
            let key = if reader.has("admin") { "admin" } else { "listen" };
            let other = if key == "admin" { "listen" } else { "admin" };
            let problem = ConfigProblem::new(
                format!("is the address of `server.{other}` too"),
                "give them different ports; admin pages are not for callers",
            );
            reader.report(key, problem);
        }
        server
    }
}

/// Reads `[server.tls]`, which needs both of its keys.
fn tls(reader: &mut ConfigTableReader<'_, '_, '_>) -> Option<TlsFiles> {
    let [cert, key] = ["cert", "key"]
        .map(|key| reader.optional(key, |value| parse_nonempty(text(value)?).map(PathBuf::from)));
    for name in ["cert", "key"] {
        if !reader.has(name) {
            reader.report_table(
                format!("has no `{name}`"),
                "give both `cert` and `key`, the paths of PEM files",
            );
        }
    }
    Some(TlsFiles { cert: cert?, key: key? })
}

/// Parses the value of `listen` or `admin`. A lone port is refused with a hint that completes it.
fn address_value(value: &TomlValue<'_>) -> Result<SocketAddr, ConfigProblem> {
    let port = value.as_integer().and_then(|port| port.as_str().parse::<u16>().ok());
    match port {
        // Somebody gave the port alone.
        Some(port) => address(&format!(":{port}")),
        None => address(text(value)?),
    }
}

/// Parses an IP address with a port. A name is refused; the hint for `localhost` is `127.0.0.1`.
fn address(text: &str) -> Result<SocketAddr, ConfigProblem> {
    text.parse().map_err(|_| {
        let port = text.rsplit_once(':').filter(|(host, _)| ["", "localhost", "*"].contains(host));
        let hint = match port.and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?))) {
            Some(("localhost", port)) => format!("did you mean \"127.0.0.1:{port}\"?"),
            Some((_, port)) => {
                format!("write \"127.0.0.1:{port}\" for this machine alone, \"0.0.0.0:{port}\" for everyone")
            }
            None => "write an IP address and a port, such as \"127.0.0.1:8808\" or \"[::1]:8808\"".to_owned(),
        };
        ConfigProblem::new("is no IP address with a port", hint)
    })
}

/// Parses an entry of `allowed_hosts`: a name or an IP address, with a port or without.
fn host(text: &str) -> Result<Authority, ConfigProblem> {
    let hint = "write a name, or a name and a port, such as \"mcp.example.com\" or \"mcp.example.com:8443\"";
    if text.trim().is_empty() {
        return Err(ConfigProblem::new("is empty", hint));
    }
    authority(text).ok_or_else(|| ConfigProblem::new("is no host", hint))
}

/// Parses a host and an optional port, and nothing else that the `http` crate would accept, such as user
/// information or a wildcard.
fn authority(text: &str) -> Option<Authority> {
    let authority: Authority = text.parse().ok()?;
    let after_host = text.strip_prefix(authority.host())?;
    let is_port = |port: &str| port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    let name = authority.host();
    let is_ip = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let fits = match is_ip {
        Some(ip) => ip.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !name.is_empty() && name.chars().all(is_name),
    };
    (fits && (after_host.is_empty() || is_port(after_host))).then_some(authority)
}

/// Parses an entry of `allowed_origins`, and normalizes it to what browsers send:
/// `https://App.example.com:443` becomes `https://app.example.com`.
fn origin(text: &str) -> Result<AllowedOrigin, ConfigProblem> {
    let hint = "write scheme and host as a browser sends them, such as \"https://app.example.com\"";
    let problem = || ConfigProblem::new("is no origin", hint);
    let (scheme, rest) = text.split_once("://").ok_or_else(problem)?;
    let usual = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return Err(problem()),
    };
    if rest.contains('/') && authority(rest.trim_end_matches('/')).is_some() {
        return Err(ConfigProblem::new("ends in a slash", "take the slash away: an origin has no path"));
    }
    let rest = authority(rest).ok_or_else(problem)?.as_str().to_ascii_lowercase();
    Ok(AllowedOrigin(format!("{scheme}://{}", rest.strip_suffix(usual).unwrap_or(&rest))))
}

/// Parses the URL of an upstream: absolute, with `http` or `https`, without credentials and without a
/// fragment.
pub(super) fn parse_url(text: &str) -> Result<Uri, ConfigProblem> {
    let hint = "write a whole URL, such as \"http://127.0.0.1:9000/mcp\"";
    let problem = || ConfigProblem::new("is no URL", hint);
    let uri: Uri = text.parse().map_err(|_| problem())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(problem());
    };
    if !matches!(scheme, "http" | "https") {
        return Err(ConfigProblem::new("is neither http nor https", hint));
    }
    if authority.as_str().contains('@') {
        let hint = "take them out: Attune passes on the credentials of each caller";
        return Err(ConfigProblem::new("holds credentials", hint));
    }
    if text.contains('#') {
        return Err(ConfigProblem::new("holds a fragment", "take away the # and what follows"));
    }
    self::authority(authority.as_str()).is_some().then_some(uri).ok_or_else(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_addresses_and_says_what_was_meant() {
        assert!(address("127.0.0.1:8808").is_ok() && address("[::1]:0").is_ok());
        for (text, hint) in [
            ("localhost:80", "did you mean \"127.0.0.1:80\"?"),
            (":80", "write \"127.0.0.1:80\" for this machine alone, \"0.0.0.0:80\" for everyone"),
            ("127.0.0.1", "write an IP address and a port, such as \"127.0.0.1:8808\" or \"[::1]:8808\""),
            (":80800", "write an IP address and a port, such as \"127.0.0.1:8808\" or \"[::1]:8808\""),
        ] {
            assert_eq!(address(text).unwrap_err().hint, hint, "{text}");
        }
    }

    #[test]
    fn reads_hosts() {
        for text in ["localhost", "mcp.example.com:8443", "10.0.0.1", "[::1]:80", "a_b"] {
            assert!(host(text).is_ok(), "{text}");
        }
        for text in [
            "",
            " ",
            "http://a",
            "a/b",
            "u@a",
            "*",
            "*.example.com",
            "a:",
            "a:99999",
            "a b",
            "[::1",
            "[a]",
            "é",
        ] {
            assert!(host(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reads_origins_as_browsers_write_them() {
        for (text, written) in [
            ("https://App.example.com", "https://app.example.com"),
            ("https://app.example.com:443", "https://app.example.com"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("http://[::1]:80", "http://[::1]"),
        ] {
            assert_eq!(origin(text).map(|origin| origin.to_string()).as_deref(), Ok(written));
        }
        for text in ["", "null", "*", "app.example.com", "ftp://a", "https://", "https://a/b", "https://u@a"]
        {
            assert_eq!(origin(text).unwrap_err().what, "is no origin", "{text}");
        }
        assert_eq!(origin("https://a/").unwrap_err().what, "ends in a slash");
    }

    #[test]
    fn reads_urls() {
        for text in ["http://127.0.0.1:9000/mcp", "https://mcp.example.com", "http://[::1]:1/a?b=c"] {
            assert!(parse_url(text).is_ok(), "{text}");
        }
        for (text, what) in [
            ("", "is no URL"),
            ("/mcp", "is no URL"),
            ("localhost:9000", "is no URL"),
            ("http://", "is no URL"),
            ("http://a b/", "is no URL"),
            ("http://a:99999/", "is no URL"),
            ("ws://a/mcp", "is neither http nor https"),
            ("file:///etc/passwd", "is no URL"),
            ("http://user:pass@a/", "holds credentials"),
            ("http://a/#b", "holds a fragment"),
        ] {
            assert_eq!(parse_url(text).unwrap_err().what, what, "{text}");
        }
    }
}
