//! C: the caller's time, place and locale.

use mcp_attune_wire::protocol::code::INVALID_PARAMS;
use serde_json::{Value, json};

use super::super::ask::{Ask, EAST, WEST, at};
use super::super::facts::Facts;
use super::super::judge::{Seen, Verdict, broken, later, plain, refused, result, served};
use super::super::scenario::Need::{Context, Languages, Zoned};
use super::super::scenario::Scenario;

const BESIDE: &str = "clientContext";
const HARMLESS: &str = "a server that does not know the context ignores it";
const ITSELF: &str = "ignore a field that cannot be read, and keep the others";

/// A tool that knows its caller's zone, in the east and with another context.
fn zoned(facts: &Facts, context: Value) -> Option<Vec<Ask>> {
    let call = facts.zoned.as_ref()?.ask(facts);
    Some(vec![call.clone().context(at(EAST)), call.context(context)])
}

/// The second result is the first.
fn same(_: &Facts, seen: &[Seen]) -> Verdict {
    let (east, other) = (result(seen, 0)?, result(seen, 1)?);
    let same = plain(east) == plain(other);
    if same { Ok(()) } else { Err(broken(1, "the result of a caller in the east", "another result")) }
}

fn language(seen: &[Seen], wanted: &str) -> Verdict {
    for (at, seen) in seen.iter().enumerate() {
        let primary = |tag: &str| tag.split('-').next().unwrap_or_default().to_ascii_lowercase();
        if seen.language().map(primary) != Some(primary(wanted)) {
            let came =
                seen.language().map_or_else(|| seen.told(), |language| format!("an answer in {language}"));
            return Err(broken(at, format!("an answer in {wanted}"), came));
        }
    }
    Ok(())
}

fn other_language(facts: &Facts, seen: &[Seen]) -> Verdict {
    language(seen, facts.other().unwrap_or_default())
}

pub(in super::super) const ALL: &[Scenario] = &[
    Scenario {
        rule: "C1",
        name: "conflict",
        title: "two contexts that are not equal are 400 and -32602",
        own: true,
        needs: &[Context],
        send: |facts| Some(vec![facts.list().beside(BESIDE, at(EAST)).context(at(WEST)), facts.list()]),
        judge: |facts, seen| {
            let Some((first, others)) = seen.split_first() else { return Ok(()) };
            served(facts, others).map_err(|fault| later(fault, 1))?;
            refused(std::slice::from_ref(first), 400, INVALID_PARAMS)
        },
        hint: "a message that can be read in two ways is refused",
    },
    Scenario {
        rule: "C1",
        name: "equal-forms",
        title: "the same context beside params and in _meta is no conflict",
        own: true,
        needs: &[Context],
        send: |facts| Some(vec![facts.list().beside(BESIDE, at(EAST)).context(at(EAST))]),
        judge: served,
        hint: "compare the two as JSON values",
    },
    Scenario {
        rule: "C1",
        name: "no-object",
        title: "a context that is no object counts as absent",
        own: true,
        needs: &[],
        send: |facts| {
            Some(vec![facts.list().context(json!("Europe/Vienna")), facts.list().context(json!(null))])
        },
        judge: served,
        hint: HARMLESS,
    },
    Scenario {
        rule: "C2",
        name: "zone-in-any-case",
        title: "the case of a time zone does not matter",
        own: true,
        needs: &[Zoned],
        send: |facts| zoned(facts, at(&EAST.to_lowercase())),
        judge: same,
        hint: "look zones up without case",
    },
    Scenario {
        rule: "C3",
        name: "nothing-can-be-read",
        title: "a context of which nothing can be read costs nobody the call",
        own: true,
        needs: &[],
        send: |facts| {
            let bad = json!({ "timezone": "Mars/Olympus", "currentTimestamp": "soon", "locale": "!", "userLocation": 5 });
            Some(vec![facts.list().context(bad)])
        },
        judge: served,
        hint: ITSELF,
    },
    Scenario {
        rule: "C3",
        name: "costs-only-itself",
        title: "a field that cannot be read does not spoil the others",
        own: true,
        needs: &[Zoned],
        send: |facts| {
            let mut context = at(EAST);
            context["locale"] = json!(5);
            context["userLocation"] = json!({ "country": "nowhere" });
            zoned(facts, context)
        },
        judge: same,
        hint: ITSELF,
    },
    Scenario {
        rule: "C4",
        name: "zone-over-offset",
        title: "the zone says where now is read, whatever the offset of the timestamp",
        own: false,
        needs: &[Zoned],
        send: |facts| {
            zoned(facts, json!({ "timezone": EAST, "currentTimestamp": "2026-01-01T12:30:00+02:00" }))
        },
        judge: same,
        hint: "the timestamp is an instant, the zone a place",
    },
    Scenario {
        rule: "C7",
        name: "locale-stands-in",
        title: "without a preference, the locale says the language",
        own: false,
        needs: &[Context, Languages],
        send: |facts| Some(vec![facts.localized().context(json!({ "locale": facts.other()? }))]),
        judge: other_language,
        hint: "take the locale where acceptLanguage is absent",
    },
    Scenario {
        rule: "C7",
        name: "preference-first",
        title: "with a preference, the locale has no say in the language",
        own: false,
        needs: &[Context, Languages],
        send: |facts| {
            let (default, other) = facts.two()?;
            Some(vec![facts.localized().prefers(other).context(json!({ "locale": default }))])
        },
        judge: other_language,
        hint: "the locale is for dates and numbers then",
    },
    Scenario {
        rule: "C8",
        name: "not-remembered",
        title: "a context is not remembered for the next call",
        own: false,
        needs: &[Zoned],
        send: |facts| {
            let call = facts.zoned.as_ref()?.ask(facts);
            Some(vec![call.clone().context(at(EAST)), call])
        },
        judge: |_, seen| {
            let (with, without) = (result(seen, 0)?, result(seen, 1)?);
            let differs = plain(with) != plain(without);
            if differs {
                Ok(())
            } else {
                Err(broken(1, "another result than in that context", "the same result"))
            }
        },
        hint: "read the context from each call, and keep nothing of it",
    },
    Scenario {
        rule: "C10",
        name: "harmless-beside",
        title: "a context beside params changes nothing for a server that does not know it",
        own: false,
        needs: &[],
        send: |facts| Some(vec![facts.list().beside(BESIDE, at(EAST))]),
        judge: served,
        hint: HARMLESS,
    },
    Scenario {
        rule: "C10",
        name: "harmless-in-meta",
        title: "a context in _meta changes nothing for a server that does not know it",
        own: false,
        needs: &[],
        send: |facts| Some(vec![facts.list().context(at(EAST))]),
        judge: served,
        hint: HARMLESS,
    },
    Scenario {
        rule: "C11",
        name: "vendors-locale",
        title: "a locale under openai/locale is understood",
        own: true,
        needs: &[Context, Languages],
        send: |facts| Some(vec![facts.localized().meta("openai/locale", json!(facts.other()?))]),
        judge: other_language,
        hint: "clients in use send it",
    },
];
