//! The caller's time and zone.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mcp_attune_wire::message::meta;
use serde_json::Value;

use super::{No, Right};

impl Right {
    /// The context of a request, if it has one that can be read.
    pub(super) fn context(&self, body: &Value) -> Result<Option<Value>, No> {
        let (beside, inside) = (body.get("clientContext"), body["params"]["_meta"].get(meta::CLIENT_CONTEXT));
        let refused = || Err(No(400, -32602, Value::Null));
        let strict = [(beside, "C10/harmless-beside"), (inside, "C10/harmless-in-meta")];
        if strict.iter().any(|(form, flaw)| form.is_some() && self.has(flaw)) {
            return refused();
        }
        let is_bad = |form: Option<&Value>| form.is_some_and(|form| !form.is_object());
        if self.has("C1/no-object") && (is_bad(beside) || is_bad(inside)) {
            return refused();
        }
        let object = |form: Option<&Value>| form.filter(|form| form.is_object()).cloned();
        let context = match (object(beside), object(inside)) {
            (Some(_), Some(_)) if self.has("C1/equal-forms") => return refused(),
            (Some(one), Some(two)) if one != two && !self.has("C1/conflict") => return refused(),
            (one, two) => one.or(two),
        };
        if self.has("C3/nothing-can-be-read")
            && context.as_ref().is_some_and(|context| context["timezone"] == "Mars/Olympus")
        {
            return refused();
        }
        if self.has("C8/not-remembered") {
            let mut memory = self.memory.lock().unwrap();
            memory.context = context.or(memory.context.take());
            return Ok(memory.context.clone());
        }
        Ok(context)
    }

    /// Now, where the caller is.
    pub(super) fn now(&self, context: Option<&Value>) -> String {
        let spoiled = |context: &&Value| !(self.has("C3/costs-only-itself") && context["locale"].is_number());
        let context = context.filter(spoiled).filter(|_| !self.has("claims-nothing"));
        let text = |field: &str| context.and_then(|context| context[field].as_str());
        let exact = |name: &&str| {
            !self.has("C2/zone-in-any-case") || name.starts_with(|first: char| first.is_uppercase())
        };
        let zone = text("timezone").filter(exact).and_then(|name| TimeZone::get(name).ok());
        let zone = if self.has("C4/zone-over-offset")
            && text("currentTimestamp").is_some_and(|text| text.contains('+'))
        {
            None
        } else {
            zone
        };
        let now = text("currentTimestamp").and_then(|text| text.parse().ok());
        // A clock that stands still: what it says is the same each time.
        let now: Timestamp = now.unwrap_or(Timestamp::UNIX_EPOCH);
        now.to_zoned(zone.unwrap_or(TimeZone::UTC)).to_string()
    }
}
