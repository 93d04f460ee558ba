//! L: answers in the caller's language.

use mcp_attune_wire::protocol::method;
use mcp_attune_wire::protocol::{header, meta};
use serde_json::{Value, json};

use super::super::ask::CheckRequest;
use super::super::facts::SurveyFacts;
use super::super::judge::{
    CheckExchange, ScenarioFault, Verdict, expect_result, expect_served, first_refused_others_served,
    rule_broken, without_language,
};
use super::super::scenario::Scenario;
use super::super::scenario::ScenarioNeed::{Call, Http, Language, Languages, ListedLanguage, Pipe};

const ABSENT: &str = "a preference that cannot be read counts as absent, and costs nobody the call";
const RANK: &str = "rank languages by weight, as RFC 9110 and RFC 4647 say";

/// A request with a preference made of the default language and another one.
fn prefers(facts: &SurveyFacts, preference: impl Fn(&str, &str) -> String) -> Option<Vec<CheckRequest>> {
    let (default, other) = facts.two_languages()?;
    Some(vec![facts.localized_request().with_preference(&preference(default, other))])
}

fn primary(tag: &str) -> String {
    tag.split('-').next().unwrap_or_default().to_ascii_lowercase()
}

/// Every answer is in the other language.
fn expect_other_language(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    let wanted = facts.other_language().unwrap_or_default();
    for (at, seen) in seen.iter().enumerate() {
        if seen.language().map(primary) != Some(primary(wanted)) {
            return Err(rule_broken(at, format!("an answer in {wanted}"), in_language(seen)));
        }
    }
    Ok(())
}

/// No answer is in the other language, and each is a result.
fn expect_not_other_language(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_served(facts, seen)?;
    let unwanted = facts.other_language().unwrap_or_default();
    for (at, seen) in seen.iter().enumerate() {
        if seen.language().map(primary) == Some(primary(unwanted)) {
            return Err(rule_broken(at, format!("an answer that is not in {unwanted}"), in_language(seen)));
        }
    }
    Ok(())
}

fn expect_default_language(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    let wanted = facts.languages.as_ref().map(|all| all.default.as_str()).unwrap_or_default();
    for (at, seen) in seen.iter().enumerate() {
        if seen.language() != Some(wanted) {
            return Err(rule_broken(at, format!("an answer in {wanted}"), in_language(seen)));
        }
    }
    Ok(())
}

/// Every answer reports a language.
fn expect_reported_language(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    for (at, seen) in seen.iter().enumerate() {
        if seen.language().is_none() {
            return Err(rule_broken(at, "a result with contentLanguage in its _meta", in_language(seen)));
        }
    }
    Ok(())
}

fn in_language(seen: &CheckExchange) -> String {
    match seen.language() {
        Some(language) => format!("an answer in {language}"),
        None => format!("{}, without a language", seen.describe_answer()),
    }
}

pub(in super::super) const ALL: &[Scenario] = &[
    Scenario {
        rule: "L1",
        name: "odd-but-legal",
        title: "empty members, blanks around the semicolon and a capital Q are read",
        own: false,
        needs: &[Languages],
        send: |facts| prefers(facts, |default, other| format!("{default};q=0.5,, {other} ; Q=0.900")),
        judge: expect_other_language,
        hint: "read the whole grammar of Accept-Language",
    },
    Scenario {
        rule: "L1",
        name: "weight-without-a-whole-part",
        title: "a weight such as .9 is malformed",
        own: false,
        needs: &[Languages],
        send: |facts| prefers(facts, |_, other| format!("{other};q=.9")),
        judge: expect_not_other_language,
        hint: "a weight is 0 or 1 with at most three decimals",
    },
    Scenario {
        rule: "L1",
        name: "blank-at-the-edge",
        title: "a preference that begins with a blank is malformed",
        own: false,
        needs: &[Languages],
        send: |facts| prefers(facts, |_, other| format!(" {other}")),
        judge: expect_not_other_language,
        hint: "the string in _meta has no blanks around it",
    },
    Scenario {
        rule: "L2",
        name: "malformed",
        title: "a malformed preference counts as absent",
        own: true,
        needs: &[Languages],
        send: |facts| prefers(facts, |_, other| format!("{other};q=2")),
        judge: expect_not_other_language,
        hint: ABSENT,
    },
    Scenario {
        rule: "L2",
        name: "no-string",
        title: "a preference that is no string counts as absent",
        own: true,
        needs: &[Languages],
        send: |facts| {
            Some(vec![
                facts.localized_request().with_meta(meta::ACCEPT_LANGUAGE, json!([facts.other_language()?])),
            ])
        },
        judge: expect_not_other_language,
        hint: ABSENT,
    },
    Scenario {
        rule: "L3",
        name: "not-remembered",
        title: "a preference is not remembered for the next request",
        own: false,
        needs: &[Languages],
        send: |facts| {
            Some(vec![
                facts.localized_request(),
                facts.localized_request().with_preference(facts.other_language()?),
                facts.localized_request(),
            ])
        },
        judge: not_remembered,
        hint: "read the preference from each request, and keep nothing of it",
    },
    Scenario {
        rule: "L4",
        name: "weights-decide",
        title: "the language with the higher weight wins, wherever it stands",
        own: false,
        needs: &[Languages],
        send: |facts| prefers(facts, |default, other| format!("{default};q=0.1, {other};q=0.9")),
        judge: expect_other_language,
        hint: RANK,
    },
    Scenario {
        rule: "L4",
        name: "zero-excludes",
        title: "a language with the weight 0 is excluded",
        own: false,
        needs: &[Languages],
        send: |facts| prefers(facts, |_, other| format!("{other};q=0, *;q=0.5")),
        judge: expect_not_other_language,
        hint: RANK,
    },
    Scenario {
        rule: "L4",
        name: "case",
        title: "the case of a tag does not matter",
        own: false,
        needs: &[Languages],
        send: |facts| prefers(facts, |_, other| swap_case(other)),
        judge: expect_other_language,
        hint: "compare tags without case, and answer in the server's own spelling",
    },
    Scenario {
        rule: "L4",
        name: "shortened",
        title: "a narrower range finds its language",
        own: false,
        needs: &[Languages],
        send: |facts| prefers(facts, |default, other| format!("{}-ZZ, {default};q=0.1", primary(other))),
        judge: expect_other_language,
        hint: "take subtags off a range, as RFC 4647 lookup does",
    },
    Scenario {
        rule: "L4",
        name: "wildcard",
        title: "* is a preference that every language satisfies",
        own: false,
        needs: &[Language],
        send: |facts| Some(vec![facts.localized_request().with_preference("*")]),
        judge: expect_reported_language,
        hint: "* covers what no other range covers",
    },
    Scenario {
        rule: "L6",
        name: "no-match",
        title: "a preference that nothing matches gets the default language",
        own: false,
        needs: &[Language],
        send: |facts| Some(vec![facts.localized_request().with_preference("tlh")]),
        judge: expect_default_language,
        hint: "no match is no error: answer in the default language, and say so",
    },
    Scenario {
        rule: "L6",
        name: "all-excluded",
        title: "a preference that excludes everything is no error",
        own: false,
        needs: &[Language],
        send: |facts| Some(vec![facts.localized_request().with_preference("tlh, *;q=0")]),
        judge: expect_served,
        hint: "the default language stands even where it is excluded",
    },
    Scenario {
        rule: "L7",
        name: "listings",
        title: "a listing to a preference reports its language",
        own: false,
        needs: &[ListedLanguage],
        send: |facts| Some(vec![facts.listing_request().with_preference(&facts.languages.as_ref()?.default)]),
        judge: expect_reported_language,
        hint: "put contentLanguage into result._meta",
    },
    Scenario {
        rule: "L7",
        name: "calls",
        title: "the result of a tool to a preference reports its language",
        own: false,
        needs: &[Language, Call],
        send: |facts| {
            let default = &facts.languages.as_ref()?.default;
            let call = facts.spoken.as_ref().or(facts.call.as_ref())?;
            Some(vec![call.to_request(facts).with_preference(default)])
        },
        judge: expect_reported_language,
        hint: "put contentLanguage into result._meta",
    },
    Scenario {
        rule: "L10",
        name: "codes-stay",
        title: "the code of an error is the same in every language",
        own: false,
        needs: &[Languages],
        send: |facts| {
            let wrong = facts.new_request("attune/no-such-method", json!({}));
            Some(vec![wrong.clone(), wrong.with_preference(facts.other_language()?)])
        },
        judge: same_code,
        hint: "translate the message of an error, never its code",
    },
    Scenario {
        rule: "L11",
        name: "names-stay",
        title: "names, keys, choices and URIs are the same in every language",
        own: false,
        needs: &[Languages],
        send: |facts| {
            let methods = [facts.listing.as_str()].into_iter();
            let methods = methods.chain(facts.prompt.as_ref().map(|_| method::PROMPTS_LIST));
            let methods = methods.chain(facts.resource.as_ref().map(|_| method::RESOURCES_LIST));
            let other = facts.other_language()?;
            let both = methods.map(|method| facts.new_request(method, json!({})));
            Some(both.flat_map(|ask| [ask.clone(), ask.with_preference(other)]).collect())
        },
        judge: same_names,
        hint: "translate titles, and nothing that programs read",
    },
    Scenario {
        rule: "L14",
        name: "header-differs",
        title: "an Accept-Language that is not the preference in _meta is refused",
        own: false,
        needs: &[Http, Languages],
        send: |facts| {
            let (default, other) = facts.two_languages()?;
            Some(vec![
                facts
                    .localized_request()
                    .with_preference(other)
                    .with_header(header::ACCEPT_LANGUAGE, default),
                facts.localized_request().with_preference(other),
            ])
        },
        judge: first_refused_others_served,
        hint: "compare all Accept-Language lines, joined, with the string in _meta",
    },
    Scenario {
        rule: "L14",
        name: "one-blank",
        title: "an Accept-Language that differs by a blank is refused",
        own: false,
        needs: &[Http, Languages],
        send: |facts| {
            let (default, other) = facts.two_languages()?;
            let spaced = facts.localized_request().with_preference(&format!("{other}, {default};q=0.5"));
            Some(vec![
                spaced.clone().with_header(header::ACCEPT_LANGUAGE, format!("{other},{default};q=0.5")),
                spaced,
            ])
        },
        judge: first_refused_others_served,
        hint: "compare character by character, before anything looks at the grammar",
    },
    Scenario {
        rule: "L14",
        name: "lines-are-joined",
        title: "Accept-Language lines are joined before they are compared",
        own: false,
        needs: &[Http, Languages],
        send: |facts| {
            let (default, other) = facts.two_languages()?;
            let ask = facts.localized_request().with_preference(&format!("{other}, {default};q=0.5"));
            Some(vec![
                ask.with_header(header::ACCEPT_LANGUAGE, other)
                    .with_added_header(header::ACCEPT_LANGUAGE, format!("{default};q=0.5")),
            ])
        },
        judge: expect_other_language,
        hint: "join the lines with a comma and a blank, in their order",
    },
    Scenario {
        rule: "L14",
        name: "header-missing",
        title: "a preference in _meta counts without the header",
        own: false,
        needs: &[Http, Languages],
        send: |facts| {
            Some(vec![
                facts
                    .localized_request()
                    .with_preference(facts.other_language()?)
                    .without_header(header::ACCEPT_LANGUAGE),
            ])
        },
        judge: expect_other_language,
        hint: "_meta is what counts; the header is a copy of it",
    },
    Scenario {
        rule: "L14",
        name: "header-alone",
        title: "an Accept-Language without a preference in _meta is none",
        own: false,
        needs: &[Http, Languages],
        send: |facts| {
            Some(vec![
                facts.localized_request().with_header(header::ACCEPT_LANGUAGE, facts.other_language()?),
            ])
        },
        judge: expect_not_other_language,
        hint: "HTTP libraries send this header by themselves; _meta is what counts",
    },
    Scenario {
        rule: "L15",
        name: "header-repeats",
        title: "Content-Language stands once, and says what the body says",
        own: false,
        needs: &[Http, Language],
        send: |facts| {
            let languages = facts.languages.as_ref()?;
            let all = [Some(&languages.default), languages.other.as_ref()].into_iter().flatten();
            Some(all.map(|language| facts.localized_request().with_preference(language)).collect())
        },
        judge: header_repeats,
        hint: "write the header from what the body reports",
    },
    Scenario {
        rule: "L17",
        name: "varies",
        title: "Vary names Accept-Language, with a preference and without",
        own: false,
        needs: &[Http, Languages],
        send: |facts| {
            Some(vec![
                facts.localized_request().with_preference(facts.other_language()?),
                facts.localized_request(),
            ])
        },
        judge: varies,
        hint: "a shared cache would give one caller's language to the next",
    },
    Scenario {
        rule: "L17",
        name: "private-without-the-header",
        title: "an answer to a preference that is in _meta alone is private",
        own: false,
        needs: &[Http, Languages],
        send: |facts| {
            Some(vec![
                facts
                    .localized_request()
                    .with_preference(facts.other_language()?)
                    .without_header(header::ACCEPT_LANGUAGE),
            ])
        },
        judge: is_private,
        hint: "a cache cannot see the preference: Cache-Control: private",
    },
    Scenario {
        rule: "L20",
        name: "over-pipes",
        title: "over pipes a preference in _meta works as it does over HTTP",
        own: false,
        needs: &[Pipe, Languages],
        send: |facts| prefers(facts, |default, other| format!("{default};q=0.1, {other}")),
        judge: expect_other_language,
        hint: "headers are copies: what stands in _meta is enough",
    },
];

/// The same tag in other letters.
fn swap_case(tag: &str) -> String {
    let swap = |char: char| {
        if char.is_ascii_uppercase() { char.to_ascii_lowercase() } else { char.to_ascii_uppercase() }
    };
    tag.chars().map(swap).collect()
}

fn not_remembered(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_other_language(facts, seen.get(1..2).unwrap_or_default())
        .map_err(|_| ScenarioFault::Unclear("the preference was not honoured to begin with".to_owned()))?;
    let (before, after) = (expect_result(seen, 0)?, expect_result(seen, 2)?);
    let wanted = facts.other_language().unwrap_or_default();
    let told = seen.get(2).map(in_language).unwrap_or_default();
    if seen.get(2).and_then(CheckExchange::language) == Some(wanted) {
        return Err(rule_broken(2, "an answer as to nobody's preference", told));
    }
    match without_language(before) == without_language(after) {
        true => Ok(()),
        false if facts.spoken.is_some() => {
            Err(ScenarioFault::Unclear("the tool gives another result each time".to_owned()))
        }
        false => Err(rule_broken(2, "the answer of before the preference", "another answer")),
    }
}

fn same_code(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    let [plain, translated] = seen else { return Ok(()) };
    let Some(code) = plain.code() else {
        return Err(ScenarioFault::Unclear(format!(
            "an unknown method is no error: {}",
            plain.describe_answer()
        )));
    };
    let same = translated.code() == Some(code);
    if same { Ok(()) } else { Err(rule_broken(1, format!("error {code}"), translated.describe_answer())) }
}

fn same_names(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    for (pair, both) in seen.chunks(2).enumerate() {
        let [before, after] = both else { continue };
        let (Some(before), Some(after)) = (before.result(), after.result()) else {
            return Err(rule_broken(pair * 2 + 1, "two listings", after.describe_answer()));
        };
        if machine_readable(before) != machine_readable(after) {
            let came =
                difference(&machine_readable(before), &machine_readable(after), "").unwrap_or_default();
            return Err(rule_broken(pair * 2 + 1, "what programs read as it was", came));
        }
    }
    Ok(())
}

/// A listing without what people and models read.
fn machine_readable(value: &Value) -> Value {
    const READ: [&str; 7] =
        ["title", "description", "message", "instructions", "enumNames", "_meta", "icons"];
    match value {
        Value::Object(all) => {
            // A property may be called `title`: then its value is a schema, and stays.
            let text = |(key, value): &(&String, &Value)| {
                READ.contains(&key.as_str()) && (!value.is_object() || *key == "_meta")
            };
            Value::Object(
                all.iter()
                    .filter(|entry| !text(entry))
                    .map(|(key, value)| (key.clone(), machine_readable(value)))
                    .collect(),
            )
        }
        Value::Array(all) => Value::Array(all.iter().map(machine_readable).collect()),
        other => other.clone(),
    }
}

/// Where two values differ first.
fn difference(before: &Value, after: &Value, at: &str) -> Option<String> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let gone = before.iter().find_map(|(key, value)| match after.get(key) {
                Some(other) => difference(value, other, &format!("{at}/{key}")),
                None => Some(format!("{at}/{key} is gone")),
            });
            gone.or_else(|| {
                after.keys().find(|key| !before.contains_key(*key)).map(|key| format!("{at}/{key} is new"))
            })
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            let mut pairs = one.iter().zip(two).enumerate();
            pairs.find_map(|(place, (one, two))| difference(one, two, &format!("{at}/{place}")))
        }
        _ if before == after => None,
        _ => Some(format!("another value at {at}")),
    }
}

fn header_repeats(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    for (at, seen) in seen.iter().enumerate() {
        let Some(language) = seen.language() else {
            return Err(rule_broken(at, "a result with contentLanguage in its _meta", in_language(seen)));
        };
        let lines: Vec<_> = seen.came.header_values(header::CONTENT_LANGUAGE).collect();
        // A stream says it in its messages alone, unless one value holds for all.
        if lines != [language] && (seen.came.is_json() || !lines.is_empty()) {
            return Err(rule_broken(
                at,
                format!("one line, Content-Language: {language}"),
                format!("the lines {lines:?}"),
            ));
        }
    }
    Ok(())
}

fn members(seen: &CheckExchange, header: &str) -> Vec<String> {
    let lines = seen.came.header_values(header).flat_map(|line| line.split(','));
    lines.map(|member| member.trim().to_ascii_lowercase()).collect()
}

fn varies(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_served(facts, seen)?;
    for (at, seen) in seen.iter().enumerate() {
        let vary = members(seen, "vary");
        if !vary.iter().any(|member| member == header::lowercase::ACCEPT_LANGUAGE || member == "*") {
            return Err(rule_broken(at, "Vary: Accept-Language", format!("Vary: {}", vary.join(", "))));
        }
    }
    Ok(())
}

fn is_private(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_served(facts, seen)?;
    for (at, seen) in seen.iter().enumerate() {
        let directives = members(seen, "cache-control");
        if !directives.iter().any(|directive| directive == "private" || directive == "no-store") {
            return Err(rule_broken(
                at,
                "Cache-Control: private",
                format!("Cache-Control: {}", directives.join(", ")),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_read_may_differ_and_nothing_else() {
        let tool = |title: &str, key: &str, choice: &str| {
            let inner = json!({ "type": "string", "title": title, "enum": [choice] });
            json!({ "tools": [{ "name": "a", "title": title, "inputSchema": { "properties": { key: inner } } }] })
        };
        let before = machine_readable(&tool("Weather", "title", "window"));
        assert_eq!(before, machine_readable(&tool("Wetter", "title", "window")));
        let changed = machine_readable(&tool("Wetter", "title", "Fenster"));
        let at = "another value at /tools/0/inputSchema/properties/title/enum/0";
        assert_eq!(difference(&before, &changed, "").as_deref(), Some(at));
        let renamed = machine_readable(&tool("Wetter", "titel", "window"));
        assert_eq!(
            difference(&before, &renamed, "").as_deref(),
            Some("/tools/0/inputSchema/properties/title is gone")
        );
    }
}
