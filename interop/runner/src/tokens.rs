//! Access tokens of an OpenID provider of other people, before a gateway that verifies them. What a verified token says
//! of its caller fills what a request leaves open: its zone a bound argument, its locale the language.
//!
//! 1. Two providers run, alike but for their keys and addresses; the gateway knows one of them.
//! 2. A token that cannot be verified says nothing, and takes nothing away: the request passes, and is answered as if it had none.
//! 3. The tokens that must not count differ from one that does in one thing each. Made again by the same means with nothing
//!    changed, it does count.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::cell::{Cell, Shared};
use super::http::{HttpAnswer, call_tool, list_tools, post};
use super::install::{self, Unavailable};
use super::packages;
use super::servers::Ours;
use kit::running::Running;
use kit::server::Server;

const PATIENCE: Duration = Duration::from_secs(30);
const TOOL: &str = "get_current_time";
const GERMAN: &str = r#"{ "tools": { "get_current_time": { "title": "Die Uhrzeit" } } }"#;
/// What tokens are for, as the gateway and the provider call it.
const AUDIENCE: &str = "https://mcp.example.com/mcp";
const OTHER_AUDIENCE: &str = "https://other.example.com/mcp";
/// Longer ago than a token lives and clocks may differ.
const LONG_AGO: &str = "-3600";

/// Two providers, and the gateway in front of a server.
struct TokensSetup {
    tokens: Tokens,
    gateway: Server,
    without: Seen,
    _providers: [Server; 2],
}

impl TokensSetup {
    fn new() -> Result<Self> {
        let time = install::pypi("mcp-server-time==2026.10.19", "mcp-server-time")?;
        let scripts = install::folder().join("clients/node");
        packages::node(&scripts).context(Unavailable)?;
        let folder = install::folder().join("seen/tokens");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("locales"))?;
        let script =
            Script { node: install::node()?, file: scripts.join("provider.mjs"), folder: folder.clone() };
        let providers = [script.serve("known")?, script.serve("other")?];
        let config = folder.join("attune.toml");
        fs::write(&config, configuration(&providers[0].url))?;
        fs::write(folder.join("locales/de.json"), GERMAN)?;
        let words = ["--config", &config.to_string_lossy(), "--", &time.to_string_lossy()];
        let gateway = Ours::get()?.gateway(&words, "tokens-gateway")?;
        let tokens = Tokens::new(&script, &providers)?;
        let without = Seen::of(&gateway.url, "")?;
        Ok(Self { tokens, gateway, without, _providers: providers })
    }
}

fn configuration(issuer: &str) -> String {
    format!(
        r#"default_language = "en"

[auth]
issuer = "{issuer}"
audience = "{AUDIENCE}"
jwks = "{issuer}/jwks"

[locales]
path = "locales/${{locale}}.json"

[tools.{TOOL}.context]
timezone = {{ from = "timezone", default = "UTC", hide = true }}
"#
    )
}

/// `interop/node/provider.mjs`.
struct Script {
    node: PathBuf,
    file: PathBuf,
    folder: PathBuf,
}

impl Script {
    fn command(&self, word: &str, name: &str) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(&self.file).arg(word).arg(self.folder.join(format!("{name}.json")));
        command
    }

    /// Starts a provider with a key of that name.
    fn serve(&self, name: &str) -> Result<Server> {
        Server::start(&mut self.command("serve", name), &format!("tokens-{name}")).context("the provider")
    }

    /// The claims of a token, moved by so many seconds and signed with the key of that name.
    fn sign(&self, name: &str, token: &str, seconds: &str) -> Result<String> {
        let output = Running::to_its_end(self.command("sign", name).args([token, seconds]), PATIENCE)?;
        ensure!(output.status.success(), "no token: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

/// A token that counts, that token made again, and each token that must not count.
struct Tokens {
    good: String,
    signed_again: String,
    bad: Vec<(&'static str, String)>,
}

impl Tokens {
    fn new(script: &Script, [known, other]: &[Server; 2]) -> Result<Self> {
        let good = issue(&known.url, AUDIENCE)?;
        let bad = vec![
            (CHANGED, with_another_signature(&good)?),
            (OTHERS_AUDIENCE, issue(&known.url, OTHER_AUDIENCE)?),
            (OTHERS_ISSUER, issue(&other.url, AUDIENCE)?),
            (OTHERS_KEY, script.sign("other", &good, "0")?),
            (EXPIRED, script.sign("known", &good, LONG_AGO)?),
            (NO_TOKEN, "not.a.token".to_owned()),
        ];
        Ok(Self { signed_again: script.sign("known", &good, "0")?, good, bad })
    }
}

const CHANGED: &str = "a token with another signature says nothing";
const OTHERS_AUDIENCE: &str = "a token for somebody else says nothing";
const OTHERS_ISSUER: &str = "a token of another provider says nothing";
const OTHERS_KEY: &str = "a token signed with another provider's key says nothing";
const EXPIRED: &str = "a token that has expired says nothing";
const NO_TOKEN: &str = "what is no token says nothing";

/// Asks a provider for a token.
fn issue(provider: &str, audience: &str) -> Result<String> {
    let form = "application/x-www-form-urlencoded";
    let body = format!(
        "client_id=interop&client_secret=only-for-tests&grant_type=client_credentials&resource={audience}"
    );
    let answer = post(&format!("{provider}/token"), &[("Content-Type", form)], &body)?;
    let answer = answer.json();
    let token = answer["access_token"].as_str().with_context(|| format!("no token: {answer}"))?;
    Ok(token.to_owned())
}

/// The same token, with the first letter of its signature changed.
fn with_another_signature(token: &str) -> Result<String> {
    let (signed, signature) = token.rsplit_once('.').context("a token without a signature")?;
    let rest = signature.get(1..).context("a token with an empty signature")?;
    let first = if signature.starts_with('A') { 'B' } else { 'A' };
    Ok(format!("{signed}.{first}{rest}"))
}

/// What counts of a call and a listing. Only the time itself may differ.
#[derive(PartialEq, Debug)]
struct Seen {
    zone: Value,
    call: Headers,
    language: Headers,
    listing: Value,
}

type Headers = (u16, [String; 3]);

impl Seen {
    /// Calls the tool and lists it, with a token unless that is empty.
    fn of(url: &str, token: &str) -> Result<Self> {
        let value = format!("Bearer {token}");
        let headers = if token.is_empty() { vec![] } else { vec![("Authorization", &*value)] };
        let (call, listing) = (call_tool(url, TOOL, &headers)?, list_tools(url, &headers)?);
        Ok(Self {
            zone: call.json()["result"]["structuredContent"]["timezone"].clone(),
            call: shown(&call),
            language: shown(&listing),
            listing: listing.json()["result"].clone(),
        })
    }

    /// The title of the tool.
    fn title(&self) -> Option<&Value> {
        self.listing["tools"].as_array()?.iter().find(|tool| tool["name"] == TOOL)?.get("title")
    }
}

fn shown(answer: &HttpAnswer) -> Headers {
    (answer.status, ["content-language", "vary", "cache-control"].map(|name| answer.header(name)))
}

pub(crate) fn cells(_quick: bool) -> Result<Vec<Cell>> {
    let setup = Arc::new(Shared::new(TokensSetup::new));
    let cell = |name: &'static str, test: fn(&TokensSetup, &str) -> Result<Vec<String>>| {
        let setup = setup.clone();
        Cell::new(name, move || {
            let faults = test(setup.get()?, name)?;
            Ok(faults.into_iter().map(|fault| format!("tokens: {fault}")).collect())
        })
    };
    let mut cells = vec![
        cell("without a token nothing is known", |setup, _| Ok(unknown(&setup.without))),
        cell("a token says zone and language", |setup, _| known(setup, &setup.tokens.good)),
        cell("a token that is signed again says the same", |setup, _| {
            known(setup, &setup.tokens.signed_again)
        }),
    ];
    let bad = [CHANGED, OTHERS_AUDIENCE, OTHERS_ISSUER, OTHERS_KEY, EXPIRED, NO_TOKEN];
    cells.extend(bad.map(|name| cell(name, says_nothing)));
    Ok(cells)
}

fn unknown(seen: &Seen) -> Vec<String> {
    let right = seen.zone == "UTC" && seen.language.0 == 200 && seen.title().is_none();
    (!right).then(|| format!("nobody is answered with {seen:?}")).into_iter().collect()
}

fn known(setup: &TokensSetup, token: &str) -> Result<Vec<String>> {
    let seen = Seen::of(&setup.gateway.url, token)?;
    let (status, [language, _, cache]) = &seen.language;
    let mut faults = Vec::new();
    if seen.zone != "Asia/Kathmandu" {
        faults.push(format!("the zone of a token is bound as {}: {:?}", seen.zone, seen.call));
    }
    if *status != 200 || language != "de" || seen.title() != Some(&json!("Die Uhrzeit")) {
        faults.push(format!("the tool is titled {:?}: {:?}", seen.title(), seen.language));
    }
    if !cache.contains("private") || !seen.call.1[2].contains("private") {
        faults.push(format!("others may keep the answers: {:?} and {:?}", seen.call, seen.language));
    }
    Ok(faults)
}

fn says_nothing(setup: &TokensSetup, name: &str) -> Result<Vec<String>> {
    let token = setup.tokens.bad.iter().find(|(bad, _)| *bad == name).context("there is no such token")?;
    let seen = Seen::of(&setup.gateway.url, &token.1)?;
    let same = seen == setup.without;
    Ok((!same).then(|| format!("{name}: {seen:?} and not {:?}", setup.without)).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_changed_in_one_letter() {
        assert_eq!(with_another_signature("h.c.Axy").unwrap(), "h.c.Bxy");
        assert_eq!(with_another_signature("h.c.xyz").unwrap(), "h.c.Ayz");
        assert!(with_another_signature("h.c.").is_err() && with_another_signature("none").is_err());
    }

    #[test]
    fn an_answer_in_another_zone_is_found() {
        let headers = (200, ["", "", ""].map(str::to_owned));
        let seen = |zone: &str| Seen {
            zone: json!(zone),
            call: headers.clone(),
            language: headers.clone(),
            listing: json!({ "tools": [{ "name": TOOL }] }),
        };
        assert_eq!(unknown(&seen("UTC")), [""; 0]);
        assert_eq!(unknown(&seen("Asia/Kathmandu")).len(), 1);
    }
}
