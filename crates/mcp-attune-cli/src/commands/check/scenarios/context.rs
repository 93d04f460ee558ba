//! C: the caller's time, place and locale.

use mcp_attune_wire::protocol::code::INVALID_PARAMS;
use serde_json::{Value, json};

use super::super::ask::{CheckRequest, EAST, WEST, context_at};
use super::super::facts::SurveyFacts;
use super::super::judge::{
    CheckExchange, Verdict, expect_refused, expect_result, expect_served, rule_broken, shift_fault,
    without_language,
};
use super::super::scenario::Scenario;
use super::super::scenario::ScenarioNeed::{Context, Languages, Zoned};

const BESIDE: &str = "clientContext";
const HARMLESS: &str = "a server that does not know the context ignores it";
const ITSELF: &str = "ignore a field that cannot be read, and keep the others";

/// A tool that knows its caller's zone, in the east and with another context.
fn zoned_requests(facts: &SurveyFacts, context: Value) -> Option<Vec<CheckRequest>> {
    let call = facts.zoned.as_ref()?.to_request(facts);
    Some(vec![call.clone().with_context(context_at(EAST)), call.with_context(context)])
}

/// The second result is the first.
fn expect_same_result(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    let (east, other) = (expect_result(seen, 0)?, expect_result(seen, 1)?);
    let same = without_language(east) == without_language(other);
    if same { Ok(()) } else { Err(rule_broken(1, "the result of a caller in the east", "another result")) }
}

fn expect_language(seen: &[CheckExchange], wanted: &str) -> Verdict {
    for (at, seen) in seen.iter().enumerate() {
        let primary = |tag: &str| tag.split('-').next().unwrap_or_default().to_ascii_lowercase();
        if seen.language().map(primary) != Some(primary(wanted)) {
            let came = seen
                .language()
                .map_or_else(|| seen.describe_answer(), |language| format!("an answer in {language}"));
            return Err(rule_broken(at, format!("an answer in {wanted}"), came));
        }
    }
    Ok(())
}

fn expect_second_language(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_language(seen, facts.other_language().unwrap_or_default())
}

pub(in super::super) const ALL: &[Scenario] = &[
    Scenario {
        rule: "C1",
        name: "conflict",
        title: "two contexts that are not equal are 400 and -32602",
        own: true,
        needs: &[Context],
        send: |facts| {
            Some(vec![
                facts
                    .listing_request()
                    .with_message_member(BESIDE, context_at(EAST))
                    .with_context(context_at(WEST)),
                facts.listing_request(),
            ])
        },
        judge: |facts, seen| {
            let Some((first, others)) = seen.split_first() else { return Ok(()) };
            expect_served(facts, others).map_err(|fault| shift_fault(fault, 1))?;
            expect_refused(std::slice::from_ref(first), 400, INVALID_PARAMS)
        },
        hint: "a message that can be read in two ways is refused",
    },
    Scenario {
        rule: "C1",
        name: "equal-forms",
        title: "the same context beside params and in _meta is no conflict",
        own: true,
        needs: &[Context],
        send: |facts| {
            Some(vec![
                facts
                    .listing_request()
                    .with_message_member(BESIDE, context_at(EAST))
                    .with_context(context_at(EAST)),
            ])
        },
        judge: expect_served,
        hint: "compare the two as JSON values",
    },
    Scenario {
        rule: "C1",
        name: "no-object",
        title: "a context that is no object counts as absent",
        own: true,
        needs: &[],
        send: |facts| {
            Some(vec![
                facts.listing_request().with_context(json!("Europe/Vienna")),
                facts.listing_request().with_context(json!(null)),
            ])
        },
        judge: expect_served,
        hint: HARMLESS,
    },
    Scenario {
        rule: "C2",
        name: "zone-in-any-case",
        title: "the case of a time zone does not matter",
        own: true,
        needs: &[Zoned],
        send: |facts| zoned_requests(facts, context_at(&EAST.to_lowercase())),
        judge: expect_same_result,
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
            Some(vec![facts.listing_request().with_context(bad)])
        },
        judge: expect_served,
        hint: ITSELF,
    },
    Scenario {
        rule: "C3",
        name: "costs-only-itself",
        title: "a field that cannot be read does not spoil the others",
        own: true,
        needs: &[Zoned],
        send: |facts| {
            let mut context = context_at(EAST);
            context["locale"] = json!(5);
            context["userLocation"] = json!({ "country": "nowhere" });
            zoned_requests(facts, context)
        },
        judge: expect_same_result,
        hint: ITSELF,
    },
    Scenario {
        rule: "C4",
        name: "zone-over-offset",
        title: "the zone says where now is read, whatever the offset of the timestamp",
        own: false,
        needs: &[Zoned],
        send: |facts| {
            zoned_requests(
                facts,
                json!({ "timezone": EAST, "currentTimestamp": "2026-01-01T12:30:00+02:00" }),
            )
        },
        judge: expect_same_result,
        hint: "the timestamp is an instant, the zone a place",
    },
    Scenario {
        rule: "C7",
        name: "locale-stands-in",
        title: "without a preference, the locale says the language",
        own: false,
        needs: &[Context, Languages],
        send: |facts| {
            Some(vec![facts.localized_request().with_context(json!({ "locale": facts.other_language()? }))])
        },
        judge: expect_second_language,
        hint: "take the locale where acceptLanguage is absent",
    },
    Scenario {
        rule: "C7",
        name: "preference-first",
        title: "with a preference, the locale has no say in the language",
        own: false,
        needs: &[Context, Languages],
        send: |facts| {
            let (default, other) = facts.two_languages()?;
            Some(vec![
                facts.localized_request().with_preference(other).with_context(json!({ "locale": default })),
            ])
        },
        judge: expect_second_language,
        hint: "the locale is for dates and numbers then",
    },
    Scenario {
        rule: "C8",
        name: "not-remembered",
        title: "a context is not remembered for the next call",
        own: false,
        needs: &[Zoned],
        send: |facts| {
            let call = facts.zoned.as_ref()?.to_request(facts);
            Some(vec![call.clone().with_context(context_at(EAST)), call])
        },
        judge: |_, seen| {
            let (with, without) = (expect_result(seen, 0)?, expect_result(seen, 1)?);
            let differs = without_language(with) != without_language(without);
            if differs {
                Ok(())
            } else {
                Err(rule_broken(1, "another result than in that context", "the same result"))
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
        send: |facts| Some(vec![facts.listing_request().with_message_member(BESIDE, context_at(EAST))]),
        judge: expect_served,
        hint: HARMLESS,
    },
    Scenario {
        rule: "C10",
        name: "harmless-in-meta",
        title: "a context in _meta changes nothing for a server that does not know it",
        own: false,
        needs: &[],
        send: |facts| Some(vec![facts.listing_request().with_context(context_at(EAST))]),
        judge: expect_served,
        hint: HARMLESS,
    },
    Scenario {
        rule: "C11",
        name: "vendors-locale",
        title: "a locale under openai/locale is understood",
        own: true,
        needs: &[Context, Languages],
        send: |facts| {
            Some(vec![facts.localized_request().with_meta("openai/locale", json!(facts.other_language()?))])
        },
        judge: expect_second_language,
        hint: "clients in use send it",
    },
];
