//! Messages as bytes, and streams of them.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;

use crate::case::Event;

/// The bytes of a message: a string in the file is the text itself, anything else its compact form.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Text(pub String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(from)?;
        if raw.get().starts_with('"') {
            return serde_json::from_str(raw.get()).map(Self).map_err(D::Error::custom);
        }
        Ok(Self(compact(raw.get())))
    }
}

/// JSON without the blanks between its parts; members stay in their order.
fn compact(json: &str) -> String {
    let (mut text, mut inside, mut escaped) = (String::new(), false, false);
    for char in json.chars() {
        if inside || !char.is_ascii_whitespace() {
            text.push(char);
        }
        if char == '"' && !escaped {
            inside = !inside;
        }
        escaped = inside && char == '\\' && !escaped;
    }
    text
}

/// A stream as bytes.
#[must_use]
pub fn write_events(events: &[Event]) -> String {
    let line =
        |name: &str, value: Option<&str>| value.map(|value| format!("{name}: {value}\n")).unwrap_or_default();
    let event = |event: &Event| {
        line("", event.comment.as_deref())
            + &line("event", event.event.as_deref())
            + &line("id", event.id.as_deref())
            + &line("data", event.data.as_ref().map(|data| data.0.as_str()))
            + "\n"
    };
    events.iter().map(event).collect()
}

/// The events of a stream.
#[must_use]
pub fn events(stream: &str) -> Vec<Event> {
    let mut events = Vec::new();
    for block in stream.split("\n\n").filter(|block| !block.is_empty()) {
        let mut event = Event::default();
        for line in block.lines() {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match name {
                "" => event.comment = Some(value),
                "event" => event.event = Some(value),
                "id" => event.id = Some(value),
                "data" => match &mut event.data {
                    Some(data) => *data = Text(format!("{}\n{value}", data.0)),
                    data => *data = Some(Text(value)),
                },
                _ => {}
            }
        }
        events.push(event);
    }
    events
}

/// Whether a message asks for a listing of tools.
#[must_use]
pub fn is_listing(message: &[u8]) -> bool {
    let read: Result<serde_json::Value, _> = serde_json::from_slice(message);
    read.is_ok_and(|message| message["method"] == "tools/list")
}
