//! The files of `spec/wire/`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<C> {
    about: String,
    cases: Vec<C>,
}

/// Bytes: a text whose characters are one byte each, or several with repetitions among them.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub(crate) enum Raw {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub(crate) enum Part {
    Text(String),
    Repeated { repeat: String, times: usize },
}

impl Raw {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => latin1(text),
            Self::Parts(parts) => parts
                .iter()
                .flat_map(|part| match part {
                    Part::Text(text) => latin1(text),
                    Part::Repeated { repeat, times } => latin1(repeat).repeat(*times),
                })
                .collect(),
        }
    }
}

fn latin1(text: &str) -> Vec<u8> {
    let byte =
        |c: char| u8::try_from(u32::from(c)).unwrap_or_else(|_| panic!("{c:?} in {text:?} is no byte"));
    text.chars().map(byte).collect()
}

/// One raw request, or several on one connection.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestCase {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) why: String,
    #[serde(default)]
    pub(crate) gateway: Settings,
    pub(crate) send: Raw,
    status: Option<Statuses>,
    statuses: Option<Vec<Statuses>>,
    /// Headers that the last answer has.
    #[serde(default)]
    pub(crate) answer_headers: Vec<String>,
    /// The code of the JSON-RPC error in the last answer.
    pub(crate) code: Option<i64>,
    /// One for each answer that may be 200, in their order.
    pub(crate) upstream: Vec<Reached>,
}

/// How the gateway is configured.
#[derive(Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// `/mcp` where none is named.
    pub(crate) mount: Option<String>,
    /// The default where none is named; `any` stands for all of them.
    pub(crate) unknown_paths: Option<String>,
}

#[derive(Deserialize, Clone)]
#[serde(untagged)]
pub(crate) enum Statuses {
    One(Status),
    Any(Vec<Status>),
}

#[derive(Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(untagged)]
pub(crate) enum Status {
    Code(u16),
    Word(Closed),
}

#[derive(Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Closed {
    Closed,
}

pub(crate) const CLOSED: Status = Status::Word(Closed::Closed);

impl Statuses {
    pub(crate) fn all(&self) -> Vec<Status> {
        match self {
            Self::One(one) => vec![*one],
            Self::Any(any) => any.clone(),
        }
    }
}

impl RequestCase {
    /// What each answer may be, in their order.
    pub(crate) fn answers(&self) -> Vec<Vec<Status>> {
        match (&self.status, &self.statuses) {
            (Some(one), None) => vec![one.all()],
            (None, Some(several)) => several.iter().map(Statuses::all).collect(),
            _ => panic!("{} has `status` and `statuses`, or neither", self.name),
        }
    }
}

/// A request as it has to reach the server behind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reached {
    /// Method and target.
    pub(crate) request: Raw,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Lines>,
    #[serde(default)]
    pub(crate) without: Vec<String>,
    pub(crate) body: Option<Raw>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Lines {
    One(String),
    Several(Vec<String>),
}

impl Lines {
    pub(crate) fn values(&self) -> Vec<Vec<u8>> {
        match self {
            Self::One(one) => vec![latin1(one)],
            Self::Several(several) => several.iter().map(|one| latin1(one)).collect(),
        }
    }
}

/// One raw answer of a server, and what its caller gets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerCase {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) why: String,
    /// What is asked: a method; a call where none is named.
    pub(crate) request: Option<String>,
    pub(crate) answer: Raw,
    /// Whether the server then closes the connection.
    #[serde(default)]
    pub(crate) closes: bool,
    pub(crate) status: Statuses,
    /// The whole body, where the status is the server's.
    pub(crate) body: Option<Raw>,
    /// What the body contains, where the status is the server's.
    #[serde(default)]
    pub(crate) contains: Vec<Raw>,
    /// Whether the answer breaks off, where the status is the server's.
    #[serde(default)]
    pub(crate) cut: bool,
    /// Headers that the caller gets, where the status is the server's.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, Lines>,
    #[serde(default)]
    pub(crate) without: Vec<String>,
}

/// A case with a name.
pub(crate) trait Named {
    fn name(&self) -> &str;
    fn why(&self) -> &str;
}

impl Named for RequestCase {
    fn name(&self) -> &str {
        &self.name
    }

    fn why(&self) -> &str {
        &self.why
    }
}

impl Named for AnswerCase {
    fn name(&self) -> &str {
        &self.name
    }

    fn why(&self) -> &str {
        &self.why
    }
}

/// All cases of a folder in `spec/wire/`, of which there are at least so many.
pub(crate) fn read<C: DeserializeOwned + Named>(folder: &str, at_least: usize) -> Vec<C> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/wire").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut cases: Vec<C> = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let file: File<C> =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!file.about.is_empty(), "{}", path.display());
        cases.extend(file.cases);
    }
    assert!(cases.len() >= at_least, "only {} cases", cases.len());
    let mut names = BTreeSet::new();
    for case in &cases {
        assert!(names.insert(case.name().to_owned()), "{} comes twice", case.name());
    }
    if let Ok(wanted) = std::env::var("WIRE") {
        cases.retain(|case| case.name().contains(&wanted));
    }
    cases
}

/// Bytes as they are printed.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let end = bytes.len().min(1500);
    let more = if end < bytes.len() { "…" } else { "" };
    format!("{}{more}", bytes[..end].escape_ascii())
}

/// Ends a test with all that failed.
pub(crate) fn conclude(of: usize, failures: &[String]) {
    assert!(failures.is_empty(), "{} of {of} failed:\n{}", failures.len(), failures.join("\n"));
}
