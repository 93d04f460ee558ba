//! What a host did, held against what it should have done.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::case::{Answer, Event, Outgoing, Request, Step, Told};
use crate::message::{Text, events, write_events};
use crate::suite::Fault;

/// The ids of sessions, events and tasks. Where they are sealed, a case names them, and what stands for a name is
/// what came the first time.
#[derive(Debug)]
pub struct Ids {
    known: BTreeMap<String, String>,
    names: Vec<String>,
    by_value: bool,
}

impl Ids {
    /// The ids of a case. A host that does not seal shows the server's own.
    #[must_use]
    pub fn new(own: &BTreeMap<String, String>, seals: bool) -> Self {
        let known = if seals { BTreeMap::new() } else { own.clone() };
        Self { known, names: own.keys().cloned().collect(), by_value: false }
    }

    /// The same for a host that writes messages anew: texts are the same where they say the same as JSON.
    #[must_use]
    pub fn by_value(self) -> Self {
        Self { by_value: true, ..self }
    }

    /// A text with the ids that are known.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        let known = self.known.iter();
        known.fold(text.to_owned(), |text, (name, id)| text.replace(&format!("{{{name}}}"), id))
    }

    /// Whether a text is the expected one; an id that comes for the first time is kept.
    ///
    /// # Errors
    ///
    /// Both texts, where they differ.
    pub fn same(&mut self, what: &str, expected: &str, got: &str) -> Result<(), Fault> {
        let mut filled = self.fill(expected);
        let mut unknown: Vec<_> =
            self.names.iter().filter_map(|name| Some((filled.find(&format!("{{{name}}}"))?, name))).collect();
        unknown.sort();
        if let Some((place, name)) = unknown.first() {
            let rest = got.get(*place..).filter(|rest| rest.starts_with("attune1."));
            let rest = rest
                .ok_or_else(|| Fault(format!("{what}: no sealed id {{{name}}} at byte {place} of {got}")))?;
            let is_id = |char: char| char.is_ascii_alphanumeric() || ".-_".contains(char);
            let id = rest.split(|char| !is_id(char)).next().unwrap_or_default();
            self.known.insert((*name).clone(), id.to_owned());
            filled = self.fill(&filled);
            return self.same(what, &filled, got);
        }
        if filled == got || self.by_value && is_same_json(&filled, got) {
            Ok(())
        } else {
            Err(Fault(format!("{what}:\n    expected {filled}\n    got      {got}")))
        }
    }
}

/// Whether two messages say the same: members in any order, numbers by their value, and empty `params` like none.
fn is_same_json(one: &str, other: &str) -> bool {
    let read = |text| {
        let mut value: Value = serde_json::from_str(text).ok()?;
        if let Some(message) = value.as_object_mut() {
            message.retain(|name, value| name != "params" || *value != Value::Object(Map::new()));
        }
        Some(value)
    };
    read(one).zip(read(other)).is_some_and(|(one, other)| is_same_value(&one, &other))
}

fn is_same_value(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same_value(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(name, value)| other.get(name).is_some_and(|other| is_same_value(value, other));
            one.len() == other.len() && one.iter().all(same)
        }
        (one, other) => one == other,
    }
}

/// What a caller got.
#[derive(Clone, Debug, Default)]
pub struct Got {
    /// The status; none over pipes.
    pub status: Option<u16>,
    /// The header lines; none over pipes.
    pub headers: Option<Vec<(String, String)>>,
    /// The body as it came.
    pub body: String,
    /// Whether that is a stream.
    pub streams: bool,
    /// Whether events have nothing but messages on the way, as between pipes.
    pub bare: bool,
}

/// The values of a header, as one.
fn value(headers: &[(String, String)], name: &str) -> Option<String> {
    let lines = headers.iter().filter(|(line, _)| line.eq_ignore_ascii_case(name));
    let values: Vec<&str> = lines.map(|(_, value)| value.as_str()).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

fn check_headers(
    what: &str,
    expected: &BTreeMap<String, Option<String>>,
    got: &[(String, String)],
    ids: &mut Ids,
) -> Result<(), Fault> {
    for (name, expected) in expected {
        match (expected, value(got, name)) {
            (None, None) => {}
            (Some(expected), Some(got)) => ids.same(&format!("{what} {name}"), expected, &got)?,
            (expected, got) => {
                return Err(Fault(format!("{what} {name}: expected {expected:?}, got {got:?}")));
            }
        }
    }
    Ok(())
}

/// Whether a request names a session by a sealed id, which no server knows.
#[must_use]
pub fn names_sealed_session(headers: &[(String, String)]) -> bool {
    value(headers, "Mcp-Session-Id").is_some_and(|id| id.contains("attune1."))
}

/// A request as the server got it.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    /// The header lines; none over pipes.
    pub headers: Option<Vec<(String, String)>>,
    /// The body as it came.
    pub body: String,
}

/// What the server was asked in one step.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The listings that the host asked for by itself.
    pub listings: usize,
    /// Everything else.
    pub others: Vec<Arrived>,
}

/// Holds one step against what should have become of it.
///
/// # Errors
///
/// What differs.
pub fn check_step(step: &Step, told: &Told, asked: &Asked, got: &Got, ids: &mut Ids) -> Result<(), Fault> {
    if asked.others.len() > 1 {
        return Err(Fault(format!("the server was asked more than once: {:?}", asked.others)));
    }
    check_outgoing(&step.request, told.outgoing.as_ref(), asked.others.first(), ids)?;
    // Without headers there is nothing that a listing would be needed for.
    let lists = told.lists.filter(|_| got.headers.is_some());
    if let Some(lists) = lists.filter(|lists| *lists != (asked.listings > 0)) {
        return Err(Fault(format!("listings: expected {lists}, got {}", asked.listings)));
    }
    check_answer(step.server.as_ref(), told, got, ids)
}

/// Holds what the server got against what it should get.
fn check_outgoing(
    request: &Request,
    expected: Option<&Outgoing>,
    got: Option<&Arrived>,
    ids: &mut Ids,
) -> Result<(), Fault> {
    let (expected, got) = match (expected, got) {
        (None, None) => return Ok(()),
        (Some(_), None) => return Err(Fault("the server was not asked".to_owned())),
        (None, Some(got)) => return Err(Fault(format!("the server was asked: {}", got.body))),
        (Some(expected), Some(got)) => (expected, got),
    };
    let wanted = expected.body.as_ref().unwrap_or(&request.body);
    ids.same("outgoing body", &wanted.0, &got.body)?;
    got.headers.as_ref().map_or(Ok(()), |headers| check_headers("outgoing", &expected.headers, headers, ids))
}

/// Holds what the caller got against what it should get; `said` is what the server answered.
fn check_answer(said: Option<&Answer>, told: &Told, got: &Got, ids: &mut Ids) -> Result<(), Fault> {
    let (expected, nothing) = (&told.answer, Answer::default());
    let said = said.filter(|_| told.outgoing.is_some()).unwrap_or(&nothing);
    let status = expected.status.or(said.status).unwrap_or(200);
    if got.status.is_some_and(|got| got != status) {
        return Err(Fault(format!("status: expected {status}, got {:?}: {}", got.status, got.body)));
    }
    if let Some(headers) = &got.headers {
        check_headers("answer", &expected.headers, headers, ids)?;
    }
    if let Some(has) = &expected.has {
        let body: Value =
            serde_json::from_str(&got.body).map_err(|why| Fault(format!("{why}: {}", got.body)))?;
        return holds(has, &body, "").map_err(|why| Fault(format!("{why} of {}", got.body)));
    }
    let own = expected.body.is_some() || expected.events.is_some();
    let wanted = if own { expected } else { said };
    if got.bare {
        return check_messages(wanted, got, ids);
    }
    let Some(wanted) = &wanted.events else {
        let body = wanted.body.clone().unwrap_or_else(|| Text(String::new()));
        return ids.same("answer body", &body.0, &got.body);
    };
    let came = events(&got.body);
    if !got.streams || wanted.len() != came.len() {
        let wanted = write_events(wanted);
        return Err(Fault(format!("answer events:\n    expected {wanted:?}\n    got      {:?}", got.body)));
    }
    for (number, (wanted, came)) in wanted.iter().zip(&came).enumerate() {
        let (wanted, came) =
            (write_events(std::slice::from_ref(wanted)), write_events(std::slice::from_ref(came)));
        ids.same(&format!("answer event {number}"), &wanted, &came)?;
    }
    Ok(())
}

/// Holds the messages alone against each other, however they came.
fn check_messages(wanted: &Answer, got: &Got, ids: &mut Ids) -> Result<(), Fault> {
    let of_stream = |events: &[Event]| events.iter().filter_map(|event| event.data.clone()).collect();
    let of_body = |body: &str| (!body.is_empty()).then(|| Text(body.to_owned())).into_iter().collect();
    let body = wanted.body.as_ref().map_or("", |body| &body.0);
    let wanted: Vec<Text> = wanted.events.as_deref().map_or_else(|| of_body(body), of_stream);
    let came: Vec<Text> = if got.streams { of_stream(&events(&got.body)) } else { of_body(&got.body) };
    if wanted.len() != came.len() {
        return Err(Fault(format!("answer messages:\n    expected {wanted:?}\n    got      {came:?}")));
    }
    let mut both = wanted.iter().zip(&came);
    both.try_for_each(|(wanted, came)| ids.same("answer message", &wanted.0, &came.0))
}

/// Whether a value has everything that is asked for: objects may have more, and null means that there is nothing.
fn holds(expected: &Value, got: &Value, place: &str) -> Result<(), String> {
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => expected.iter().try_for_each(|(name, expected)| {
            holds(expected, got.get(name).unwrap_or(&Value::Null), &format!("{place}/{name}"))
        }),
        (Value::Array(expected), Value::Array(got)) if expected.len() == got.len() => expected
            .iter()
            .zip(got)
            .enumerate()
            .try_for_each(|(number, (expected, got))| holds(expected, got, &format!("{place}/{number}"))),
        (expected, got) if expected == got => Ok(()),
        (expected, got) => Err(format!("{place}: expected {expected}, got {got}")),
    }
}
