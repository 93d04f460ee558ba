//! The files of `spec/wire/`, explained in `spec/README.md`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
struct File<C> {
    cases: Vec<C>,
}

/// Bytes: a text whose characters are one byte each, or several with repetitions among them.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Raw {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Part {
    Text(String),
    Repeated { repeat: String, times: usize },
}

impl Raw {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => latin1(text),
            Self::Parts(parts) => parts.iter().flat_map(Part::bytes).collect(),
        }
    }
}

impl Part {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => latin1(text),
            Self::Repeated { repeat, times } => latin1(repeat).repeat(*times),
        }
    }
}

pub(crate) fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
}

/// One item or several.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    pub(crate) fn all(&self) -> &[T] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

/// A status, or a connection that is closed without an answer.
#[derive(Deserialize, PartialEq, Debug)]
#[serde(untagged)]
pub(crate) enum Status {
    Code(u16),
    Closed(String),
}

/// The statuses that are acceptable for one answer.
pub(crate) type Statuses = OneOrMany<Status>;

/// What one caller sends on a connection.
#[derive(Deserialize)]
pub(crate) struct RequestCase {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) gateway: Settings,
    pub(crate) send: Raw,
    status: Option<Statuses>,
    statuses: Option<Vec<Statuses>>,
    /// The requests that reach the server, one for each answer that may be 200.
    pub(crate) upstream: Vec<Reached>,
}

/// How the gateway is configured.
#[derive(Deserialize, Default)]
pub(crate) struct Settings {
    /// The path that it listens at, where that is not `/mcp`.
    pub(crate) mount: Option<String>,
}

impl RequestCase {
    /// What each answer may be, in their order.
    pub(crate) fn answers(&self) -> Vec<&[Status]> {
        match (&self.status, &self.statuses) {
            (Some(one), None) => vec![one.all()],
            (None, Some(several)) => several.iter().map(OneOrMany::all).collect(),
            _ => panic!("{} has `status` and `statuses`, or neither", self.name),
        }
    }
}

/// A request as it reaches the server.
#[derive(Deserialize)]
pub(crate) struct Reached {
    /// Method and target.
    pub(crate) request: Raw,
    pub(crate) body: Option<Raw>,
}

/// What a server answers, and what its caller gets.
#[derive(Deserialize)]
pub(crate) struct AnswerCase {
    pub(crate) name: String,
    pub(crate) request: Option<String>,
    pub(crate) answer: Raw,
    #[serde(default)]
    pub(crate) closes: bool,
    pub(crate) status: Statuses,
    pub(crate) body: Option<Raw>,
    #[serde(default)]
    pub(crate) contains: Vec<Raw>,
    #[serde(default)]
    pub(crate) cut: bool,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, OneOrMany<String>>,
}

/// All cases of a folder in `spec/wire/`, of which there are at least so many, in the order of their files.
pub(crate) fn read<C: DeserializeOwned>(folder: &str, at_least: usize) -> Vec<C> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/wire").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let file: File<C> = serde_json::from_str(&std::fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        cases.extend(file.cases);
    }
    assert!(cases.len() >= at_least, "only {} cases", cases.len());
    cases
}

/// A text that is longer is not split at every byte.
const MAX_SPLIT_BYTES: usize = 3000;

/// The ways in which a text is split: into its bytes, and in two at every byte; a long one in two at some bytes.
pub(crate) fn splits(text: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    let is_long = text.len() > MAX_SPLIT_BYTES;
    let step = if is_long { text.len() / 16 } else { 1 };
    let bytes = (!is_long).then(|| text.chunks(1).collect());
    let halves = (1..text.len()).step_by(step).map(|at| vec![&text[..at], &text[at..]]);
    bytes.into_iter().chain(halves)
}

/// Ends a test with all that failed.
pub(crate) fn conclude(of: usize, failures: &[String]) {
    assert!(failures.is_empty(), "{} of {of} failed:\n{}", failures.len(), failures.join("\n"));
}
