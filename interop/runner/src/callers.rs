//! Callers whose clients say nothing, behind nginx, which says it for them. A server of other people tells the time in the
//! zone of `X-Timezone`, and is listed in the language of `Accept-Language`.
//!
//! 1. nginx reaches the gateway from an address that is trusted; a caller that reaches it directly comes from another one.
//! 2. Each port of nginx stands for a place: it writes the zone of that place, or none, over whatever a caller sent.
//! 3. nginx keeps all answers that it may, and knows them by the body of the request alone.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::cell::{Cell, Shared};
use super::http::{HttpAnswer, authority, call_tool, list_tools};
use super::install;
use super::nginx::{self, Nginx, free_port};
use super::servers::Ours;
use kit::server::Server;

const CONFIG: &str = r#"default_language = "en"

[server]
trusted_proxies = ["127.0.0.2/32"]

[callers]
headers = { timezone = "X-Timezone", language = "Accept-Language" }

[locales]
path = "locales/${locale}.json"

[tools.get_current_time.context]
timezone = { from = "timezone", default = "UTC", hide = true }
"#;

const GERMAN: &str = r#"{ "tools": { "get_current_time": { "title": "Die Uhrzeit" } } }"#;

/// The places, and how the time there ends all year. Nothing is known of the last one, so the default of the binding holds.
const PLACES: [(&str, &str); 3] =
    [("Asia/Kathmandu", "+05:45"), ("America/Bogota", "-05:00"), ("", "+00:00")];
/// What a caller would like to be.
const SPOOFED: &str = "Pacific/Apia";

const TOOL: &str = "get_current_time";
const LOG: &str = "callers-gateway";
const IGNORED: &str = "the header x-timezone is ignored, because it does not come from a trusted proxy";

/// A server, the gateway in front of it, and nginx in front of that.
struct CallersSetup {
    /// Where nginx stands for each place.
    places: Vec<String>,
    gateway: Server,
    _nginx: Nginx,
}

impl CallersSetup {
    fn new() -> Result<Self> {
        nginx::require()?;
        let time = install::pypi("mcp-server-time==2026.10.19", "mcp-server-time")?;
        let folder = install::folder().join("seen/callers");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("locales"))?;
        let config = folder.join("attune.toml");
        fs::write(&config, CONFIG)?;
        fs::write(folder.join("locales/de.json"), GERMAN)?;
        let words = ["--config", &config.to_string_lossy(), "--", &time.to_string_lossy()];
        let gateway = Ours::get()?.gateway(&words, LOG)?;
        let ports = [free_port()?, free_port()?, free_port()?];
        let text = configuration(&folder.display().to_string(), authority(&gateway.url), ports);
        let nginx = Nginx::start(&folder, &text, ports[0])?;
        let places = ports.iter().map(|port| format!("http://127.0.0.1:{port}/mcp")).collect();
        Ok(Self { places, gateway, _nginx: nginx })
    }

    /// Calls the tool through nginx in each place.
    fn call_everywhere(&self, headers: &[(&str, &str)]) -> Result<Vec<Seen>> {
        self.places.iter().map(|url| Ok(Seen::of(&call_tool(url, TOOL, headers)?))).collect()
    }
}

fn configuration(folder: &str, gateway: &str, ports: [u16; 3]) -> String {
    let zones: String =
        ports.iter().zip(PLACES).map(|(port, (zone, _))| format!("{port} \"{zone}\";\n")).collect();
    let listen: String = ports.iter().map(|port| format!("listen 127.0.0.1:{port};\n")).collect();
    format!(
        r#"map $server_port $zone {{
{zones}}}
proxy_cache_path {folder}/cache keys_zone=answers:1m;
server {{
{listen}location / {{
    proxy_pass http://{gateway};
    proxy_bind 127.0.0.2;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header X-Timezone $zone;
    proxy_cache answers;
    proxy_cache_methods POST;
    proxy_cache_key $request_body;
    proxy_cache_valid 200 1m;
    add_header X-Cache $upstream_cache_status always;
}}
}}
"#
    )
}

pub(crate) fn cells(_quick: bool) -> Result<Vec<Cell>> {
    let setup = Arc::new(Shared::new(CallersSetup::new));
    let cell = |name: &str, test: fn(&CallersSetup) -> Result<Vec<String>>| {
        let setup = setup.clone();
        Cell::new(name, move || {
            let faults = test(setup.get()?)?;
            Ok(faults.into_iter().map(|fault| format!("callers: {fault}")).collect())
        })
    };
    Ok(vec![
        cell("the zone that nginx says is bound", is_bound),
        cell("a zone that a caller says is overwritten", is_overwritten),
        cell("the language goes through", goes_through),
        cell("nobody gets what nginx kept for another", is_not_kept),
        cell("a header from anybody else is ignored", is_ignored),
    ])
}

/// What counts of an answer to a call.
#[derive(PartialEq, Debug)]
struct Seen {
    status: u16,
    zone: String,
    /// The offset from UTC.
    offset: String,
    vary: String,
    cache: String,
}

impl Seen {
    fn of(answer: &HttpAnswer) -> Self {
        let result = &answer.json()["result"]["structuredContent"];
        let text = |name: &str| result[name].as_str().unwrap_or_default().to_owned();
        let time = text("datetime");
        Self {
            status: answer.status,
            zone: text("timezone"),
            offset: time.get(time.len().saturating_sub(6)..).unwrap_or_default().to_owned(),
            vary: answer.header("vary").to_ascii_lowercase(),
            cache: answer.header("cache-control"),
        }
    }

    /// What is wrong with what somebody in this place got through nginx.
    fn faults(&self, zone: &str, offset: &str) -> Vec<String> {
        let expected = if zone.is_empty() { "UTC" } else { zone };
        let mut faults = Vec::new();
        if (self.status, &*self.zone, &*self.offset) != (200, expected, offset) {
            faults.push(format!("in {expected} a call is answered with {self:?}"));
        }
        if !zone.is_empty() && !self.vary.split(", ").any(|name| name == "x-timezone") {
            faults.push(format!("in {expected} Vary does not name X-Timezone: {}", self.vary));
        }
        if self.cache != "private" {
            faults.push(format!("in {expected} others may keep the answer: {}", self.cache));
        }
        faults
    }
}

fn is_bound(setup: &CallersSetup) -> Result<Vec<String>> {
    Ok(compared(&setup.call_everywhere(&[])?))
}

/// Nothing that a caller sends is better than saying nothing: not another zone, and not two of them.
fn is_overwritten(setup: &CallersSetup) -> Result<Vec<String>> {
    let spoofed = [("X-Timezone", SPOOFED), ("x-timezone", "Asia/Tokyo"), ("X-Forwarded-For", "127.0.0.2")];
    Ok([compared(&setup.call_everywhere(&spoofed[..1])?), compared(&setup.call_everywhere(&spoofed)?)]
        .concat())
}

fn compared(seen: &[Seen]) -> Vec<String> {
    seen.iter().zip(PLACES).flat_map(|(seen, (zone, offset))| seen.faults(zone, offset)).collect()
}

/// The tools are listed in the language of the caller, and in the server's where it has none of theirs.
fn goes_through(setup: &CallersSetup) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for (accepted, language, title) in
        [("de-CH, en;q=0.5", "de", Some("Die Uhrzeit")), ("fr", "en", None), ("*", "", None)]
    {
        let answer = list_tools(&setup.places[0], &[("Accept-Language", accepted)])?;
        let seen = title_of(&answer);
        if answer.status != 200 || answer.header("content-language") != language || seen.as_deref() != title {
            let (status, said) = (answer.status, answer.header("content-language"));
            faults.push(format!("`{accepted}` is answered with {status} in `{said}`, titled {seen:?}"));
        }
    }
    Ok(faults)
}

/// The title of the tool in a listing.
fn title_of(listing: &HttpAnswer) -> Option<String> {
    let listing = listing.json();
    let tools = listing["result"]["tools"].as_array()?;
    Some(tools.iter().find(|tool| tool["name"] == TOOL)?["title"].as_str()?.to_owned())
}

/// One body, three places: nginx, which would keep any answer that it may, keeps none.
fn is_not_kept(setup: &CallersSetup) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for url in setup.places.iter().chain(&setup.places) {
        let kept = call_tool(url, TOOL, &[])?.header("x-cache");
        if kept != "MISS" {
            faults.push(format!("nginx has an answer for somebody at {url}: {kept:?}"));
        }
    }
    Ok(faults)
}

/// Somebody who is not the proxy says what only the proxy may: nothing comes of it, and the log tells it once.
fn is_ignored(setup: &CallersSetup) -> Result<Vec<String>> {
    let url = &setup.gateway.url;
    let spoofed = [("X-Timezone", SPOOFED), ("X-Forwarded-For", "127.0.0.2")];
    let mut faults = Vec::new();
    for _ in 0..4 {
        let seen = Seen::of(&call_tool(url, TOOL, &spoofed)?);
        if (seen.status, &*seen.zone) != (200, "UTC") || seen.vary.contains("x-timezone") {
            faults.push(format!("who is not trusted is answered with {seen:?}"));
        }
    }
    let answer = list_tools(url, &[("Accept-Language", "de")])?;
    if answer.status != 200 || title_of(&answer).is_some() {
        faults.push(format!("who is not trusted is answered in a language: {}", answer.head));
    }
    let told = told()?;
    if told != 1 {
        faults.push(format!("the log tells {told} times that a header is ignored"));
    }
    Ok(faults)
}

/// How often the log tells that the header is ignored. Lines may come a little after their answers.
fn told() -> Result<usize> {
    thread::sleep(Duration::from_millis(300));
    let log: PathBuf = install::folder().join("seen/logs").join(format!("{LOG}.log"));
    Ok(fs::read_to_string(log)?.matches(IGNORED).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(head: &str, zone: &str, time: &str) -> Seen {
        let body =
            format!(r#"{{"result":{{"structuredContent":{{"timezone":"{zone}","datetime":"{time}"}}}}}}"#);
        Seen::of(&HttpAnswer { status: 200, head: head.to_owned(), body })
    }

    #[test]
    fn what_is_not_as_it_should_be_is_found() {
        let head = "HTTP/1.1 200 OK\r\nVary: Accept-Language, X-Timezone\r\nCache-Control: private";
        let seen = answer(head, "Asia/Kathmandu", "2026-11-12T17:43:30+05:45");
        assert_eq!(seen.faults("Asia/Kathmandu", "+05:45"), [""; 0]);
        assert_eq!(seen.faults("", "+00:00").len(), 1);
        let bare = answer("HTTP/1.1 200 OK\r\nVary: X-Timezone-Other", "Asia/Kathmandu", "");
        assert_eq!(bare.faults("Asia/Kathmandu", "+05:45").len(), 3);
    }
}
