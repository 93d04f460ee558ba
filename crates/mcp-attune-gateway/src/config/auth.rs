//! `[auth]`: whose tokens are verified, for what they say of their callers.

use std::net::IpAddr;

use http::Uri;
use toml::de::DeValue;

use super::findings::ConfigProblem;
use super::reader::{ConfigTableReader, TomlValue, parse_nonempty, text, type_problem};
use super::server::parse_url;

/// How many audiences may be named.
const MAX_AUDIENCES: usize = 16;

/// The keys of the table, each with the hint where it is missing.
const KEYS: [(&str, &str); 3] = [
    ("issuer", "add the `iss` of its tokens: issuer = \"https://id.example.com\""),
    ("audience", "add the `aud` of its tokens: audience = \"https://mcp.example.com/mcp\""),
    ("jwks", "add the `jwks_uri` that stands in ISSUER/.well-known/openid-configuration"),
];

/// `[auth]`: whose tokens are verified, for what they say of their callers (`locale`, `zoneinfo`).
///
/// It decides nothing about access: a token that does not pass says nothing, and the upstream gets it as it came.
/// Rules: A1, A7.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AuthConfig {
    /// Who issues the tokens: their `iss`, character by character.
    pub issuer: String,
    /// For whom they are issued: one of these must be in their `aud`.
    pub audience: Vec<String>,
    /// Where the issuer's public keys are, a JWKS document.
    pub jwks: Uri,
}

impl AuthConfig {
    /// Reads the table. Absent keys keep the values of `base`; all three are needed, or none.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &Option<Self>) -> Option<Self> {
        // Credentials in a URL are refused, and not shown either.
        reader.mask_where("jwks", |url| url.contains('@'));
        let base = base.as_ref();
        let issuer = reader
            .optional("issuer", |value| parse_nonempty(text(value)?))
            .or_else(|| base.map(|base| base.issuer.clone()));
        let audience =
            reader.optional("audience", parse_audience).or_else(|| base.map(|base| base.audience.clone()));
        let jwks = reader
            .optional("jwks", |value| parse_jwks_url(text(value)?))
            .or_else(|| base.map(|base| base.jwks.clone()));
        let is_begun = KEYS.iter().any(|(key, _)| reader.has(key));
        for (key, hint) in KEYS {
            if base.is_none() && is_begun && !reader.has(key) {
                reader.report_table(format!("has no `{key}`"), hint);
            }
        }
        Some(Self { issuer: issuer?, audience: audience?, jwks: jwks? })
    }
}

/// Parses one audience, or an array of them.
fn parse_audience(value: &TomlValue<'_>) -> Result<Vec<String>, ConfigProblem> {
    let audience: Vec<String> = match value {
        DeValue::Array(entries) => {
            entries.iter().map(|entry| parse_nonempty(text(entry.get_ref())?)).collect::<Result<_, _>>()?
        }
        DeValue::String(one) => vec![parse_nonempty(one)?],
        _ => return Err(type_problem(value, "a string or an array of strings")),
    };
    match audience.len() {
        0 => Err(ConfigProblem::new("names nobody", "write the `aud` that tokens for this server have")),
        1..=MAX_AUDIENCES => Ok(audience),
        _ => Err(ConfigProblem::new("names more than 16 audiences", "take some of them out")),
    }
}

/// Parses the URL of the keys. It is `https`, unless the keys come from this machine: keys that travel unprotected can be
/// replaced on the way.
fn parse_jwks_url(text: &str) -> Result<Uri, ConfigProblem> {
    let url = parse_url(text)?;
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let is_local = host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if url.scheme_str() != Some("https") && !is_local {
        let hint = "write it with https://, so that nobody on the way can replace the keys";
        return Err(ConfigProblem::new("is not https", hint));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const AUTH: &str =
        "[auth]\nissuer = 'https://id.example'\naudience = 'me'\njwks = 'https://id.example/jwks'\n";

    fn findings(file: &str) -> String {
        Config::parse(file, "attune.toml").err().map(|findings| findings.to_string()).unwrap_or_default()
    }

    #[test]
    fn each_bad_value_is_a_finding_that_says_what_to_write() {
        let many = format!("audience = [{}]", "'me',".repeat(MAX_AUDIENCES + 1));
        for (auth, what, hint) in [
            ("issuer = 'a'\naudience = 'b'", "[auth] has no `jwks`", "openid-configuration"),
            ("issuer = 'a'\njwks = 'https://a/k'", "[auth] has no `audience`", "the `aud` of its tokens"),
            ("jwks = 'https://a/k'\naudience = 'b'", "[auth] has no `issuer`", "the `iss` of its tokens"),
            ("audience = []", "`auth.audience` names nobody", "`aud`"),
            ("audience = 7", "is an integer, not a string or an array of strings", ""),
            ("audience = ['a', 7]", "is an integer, not a string", ""),
            ("audience = ''", "`auth.audience` is empty", ""),
            (&*many, "`auth.audience` names more than 16 audiences", "take some of them out"),
            ("jwks = 'http://id.example/jwks'", "`auth.jwks` is not https", "replace the keys"),
            ("jwks = 'http://192.0.2.1/jwks'", "`auth.jwks` is not https", "replace the keys"),
            ("jwks = 'https://me:secret@id.example/jwks'", "holds credentials", ""),
            ("jwks = '/jwks'", "`auth.jwks` is no URL", "write a whole URL"),
            ("jwk = 'https://a/k'", "there is no key `jwk` in [auth]", "jwks"),
        ] {
            let found = findings(&format!("[auth]\n{auth}\n"));
            assert!(found.contains(what) && found.contains(hint), "{auth}\n{found}");
            assert!(!found.contains("secret"), "{found}");
        }
        for local in ["http://127.0.0.1:9000/jwks", "http://localhost/jwks", "http://[::1]:80/jwks"] {
            assert!(parse_jwks_url(local).is_ok(), "{local}");
        }
    }

    #[test]
    fn a_mount_begins_with_what_the_top_says() {
        let mounts = "[mounts.a]\npath = '/a'\nupstream = { url = 'http://127.0.0.1:1/mcp' }\n\
                      [mounts.b]\npath = '/b'\nupstream = { url = 'http://127.0.0.1:1/mcp' }\nauth = { audience = ['b', 'c'] }\n";
        let config = Config::parse(&format!("{AUTH}{mounts}"), "attune.toml").unwrap();
        let audiences: Vec<_> =
            config.mounts.iter().map(|mount| mount.auth.as_ref().unwrap().audience.join(" ")).collect();
        assert_eq!(audiences, ["me", "b c"]);
        assert!(Config::default().mounts.iter().all(|mount| mount.auth.is_none()));
    }
}
