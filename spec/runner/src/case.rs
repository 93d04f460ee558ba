//! The file as it is written; see `spec/README.md`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::compare::Ids;
use crate::message::{Text, write_events};
use crate::setup::Setup;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cases {
    #[serde(rename = "about")]
    _about: String,
    #[serde(rename = "rules")]
    _rules: Vec<String>,
    /// What several cases are set up with, by name.
    pub setups: BTreeMap<String, Setup>,
    /// The cases.
    pub cases: Vec<Case>,
}

impl Cases {
    /// Reads the file of this repository.
    ///
    /// # Panics
    ///
    /// Where the file cannot be read, or is not as `spec/README.md` says.
    #[must_use]
    pub fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../cases/exchange.json");
        let text = std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{path}: {why}"));
        let mut file: Self = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{path}: {why}"));
        for case in &mut file.cases {
            let Input { setup, now, settings, files, .. } = case.input.clone();
            let named = setup.map(|name| match file.setups.get(&name) {
                Some(setup) => setup.clone(),
                None => panic!("{}: there is no setup `{name}`", case.name),
            });
            case.setup = named.unwrap_or_default().with(Setup { now, settings, files });
        }
        file
    }
}

/// One case: a caller, a host that is set up in some way, and a server behind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name, unique in the file.
    pub name: String,
    /// The rule that it shows.
    pub rule: String,
    #[serde(rename = "source")]
    _source: String,
    /// What a host must be able to do, or it is skipped there.
    #[serde(default)]
    pub needs: Vec<String>,
    /// What goes in.
    pub input: Input,
    /// What comes out.
    pub expected: Expected,
    /// How the host is set up: the named setup, and what the case adds to it.
    #[serde(skip)]
    pub setup: Setup,
}

/// What goes in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    setup: Option<String>,
    now: Option<String>,
    #[serde(default)]
    settings: Map<String, Value>,
    #[serde(default)]
    files: BTreeMap<String, Text>,
    /// What the server answers to a `tools/list` that the host sends by itself.
    pub listing: Option<Text>,
    /// The server's own ids, by the names under which sealed ones stand in the case.
    #[serde(default)]
    pub sealed: BTreeMap<String, String>,
    /// What the caller asks, one after the other, and what the server says to it.
    pub steps: Vec<Step>,
}

/// One request of the caller, and what the server answers where it gets there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The request.
    pub request: Request,
    /// The server's answer.
    pub server: Option<Answer>,
}

/// A request of the caller.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `POST` where it is left out.
    pub method: Option<String>,
    /// The lines in their order.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The message.
    #[serde(default)]
    pub body: Text,
}

impl Request {
    /// The header lines as a runner sends them: those of the case, and the usual ones where the case has none.
    #[must_use]
    pub fn lines(&self, ids: &Ids) -> Vec<(String, String)> {
        let usual = [
            ("Host", "localhost"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let has = |name: &str| self.headers.iter().any(|(line, _)| line.eq_ignore_ascii_case(name));
        let usual = usual.iter().filter(|(name, _)| !has(name));
        let usual = usual.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        usual.chain(self.headers.iter().map(|(name, value)| (name.clone(), ids.fill(value)))).collect()
    }
}

impl Case {
    /// The message that the server gets in a step, if it gets any.
    #[must_use]
    pub fn outgoing(&self, step: usize) -> Option<&Text> {
        let (asked, told) = (self.input.steps.get(step)?, self.expected.steps.get(step)?);
        told.outgoing.as_ref().map(|outgoing| outgoing.body.as_ref().unwrap_or(&asked.request.body))
    }
}

impl Answer {
    /// What a server answers that lists nothing.
    #[must_use]
    pub fn no_listing() -> Self {
        let body = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}"#;
        Self { status: Some(404), body: Some(Text(body.to_owned())), ..Self::default() }
    }

    /// The header lines of a server's answer.
    #[must_use]
    pub fn lines(&self) -> Vec<(String, String)> {
        let kind = if self.events.is_some() { "text/event-stream" } else { "application/json" };
        let has = self.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"));
        let usual = (!has).then(|| ("Content-Type".to_owned(), kind.to_owned()));
        let lines = self.headers.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
        usual.into_iter().chain(lines).collect()
    }

    /// The bytes of a server's answer.
    #[must_use]
    pub fn bytes(&self) -> String {
        let body = self.body.clone().unwrap_or_default().0;
        self.events.as_deref().map_or(body, write_events)
    }
}

/// An answer: of the server, or as the caller gets it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// 200 where the server leaves it out; what the server answered with where the caller's does.
    pub status: Option<u16>,
    /// By their names; null where there is none.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    /// The message.
    pub body: Option<Text>,
    /// The events of a stream.
    pub events: Option<Vec<Event>>,
    /// What the body has, among others: for what the host says in its own words.
    pub has: Option<Value>,
}

/// One event of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// A comment, such as a keep-alive.
    pub comment: Option<String>,
    /// Its kind.
    pub event: Option<String>,
    /// Its id.
    pub id: Option<String>,
    /// The message.
    pub data: Option<Text>,
}

/// What comes out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// As many as were put in.
    pub steps: Vec<Told>,
}

/// What became of one request.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// What the server gets; none where nothing may reach it.
    pub outgoing: Option<Outgoing>,
    /// Whether the host asks for a listing first.
    pub lists: Option<bool>,
    /// What the caller gets.
    pub answer: Answer,
}

/// A request as the server gets it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outgoing {
    /// By their names; null where there is none.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    /// The message; the bytes that the caller sent where it is left out.
    pub body: Option<Text>,
}
