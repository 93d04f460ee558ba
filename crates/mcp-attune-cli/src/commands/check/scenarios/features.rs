//! F: answers in the form that a caller declares.

use mcp_attune_shape::CompiledSchema;
use mcp_attune_wire::protocol::method;
use serde_json::{Value, json};

use super::super::ask::CheckRequest;
use super::super::facts::SurveyFacts;
use super::super::judge::{
    CheckExchange, ScenarioFault, Verdict, expect_result, expect_served, is_error, rule_broken, shift_fault,
    without_language,
};
use super::super::scenario::Scenario;
use super::super::scenario::ScenarioNeed::{Modern, Negotiation, Resource, Structured};

const IGNORE: &str = "ignore what is no tag, or not known; it is never an error";
const FIRST: &str = "a format that is asked for stands over agent and human, and the first of two stands";

/// The call twice without tags, to see that its results are always the same, and then with these.
fn requests_with_tags(facts: &SurveyFacts, tags: &[&str]) -> Option<Vec<CheckRequest>> {
    requests_changed_by(facts, |ask| ask.with_tags(tags))
}

fn requests_changed_by(
    facts: &SurveyFacts,
    change: impl Fn(CheckRequest) -> CheckRequest,
) -> Option<Vec<CheckRequest>> {
    let call = facts.structured.as_ref()?.to_request(facts);
    Some(vec![call.clone(), call.clone(), change(call)])
}

pub(in super::super) const ALL: &[Scenario] = &[
    Scenario {
        rule: "F1",
        name: "for-one-request",
        title: "a declaration holds for the request that carries it",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| {
            let call = facts.structured.as_ref()?.to_request(facts);
            Some(vec![call.clone(), call.clone(), call.clone().with_tags(&["format=text"]), call])
        },
        judge: |_, seen| expect_unchanged(seen, 3),
        hint: "read the features from each request, and keep nothing of them",
    },
    Scenario {
        rule: "F3",
        name: "bad-tags",
        title: "malformed and unknown tags are ignored",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| {
            requests_with_tags(facts, &["bad tag", "format=", "a=b=c", "format=yaml", "x-attune-nobodys"])
        },
        judge: |_, seen| expect_unchanged(seen, 2),
        hint: IGNORE,
    },
    Scenario {
        rule: "F3",
        name: "beside-good-ones",
        title: "malformed tags do not spoil those beside them",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| requests_with_tags(facts, &["bad tag", "format=json", "format=yaml"]),
        judge: expect_json_form,
        hint: IGNORE,
    },
    Scenario {
        rule: "F3",
        name: "wrong-type",
        title: "features that are no list count as not declared",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| {
            requests_changed_by(facts, |ask| {
                ask.with_negotiation(&json!({ "version": "1.0", "features": "format=text" }))
            })
        },
        judge: |_, seen| expect_unchanged(seen, 2),
        hint: IGNORE,
    },
    Scenario {
        rule: "F3",
        name: "any-version",
        title: "the version of the declaration is not checked",
        own: true,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| {
            requests_changed_by(facts, |ask| {
                ask.with_negotiation(&json!({ "version": 99, "features": ["format=json"] }))
            })
        },
        judge: expect_json_form,
        hint: "nothing depends on the version so far",
    },
    Scenario {
        rule: "F4",
        name: "no-tags",
        title: "a declaration without tags changes nothing",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| requests_with_tags(facts, &[]),
        judge: |_, seen| expect_unchanged(seen, 2),
        hint: "without a usable tag the answer stays as it is, byte for byte",
    },
    Scenario {
        rule: "F5",
        name: "json",
        title: "format=json gives the data in structuredContent, and no text beside it",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| requests_with_tags(facts, &["format=json"]),
        judge: expect_json_form,
        hint: "the same data as text costs a model twice",
    },
    Scenario {
        rule: "F6",
        name: "markdown",
        title: "format=markdown gives text, and no structuredContent",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| requests_with_tags(facts, &["format=markdown"]),
        judge: expect_text_form,
        hint: "whoever asks for Markdown shows it to a person",
    },
    Scenario {
        rule: "F7",
        name: "text",
        title: "format=text gives text without markup, and no structuredContent",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| requests_with_tags(facts, &["format=text"]),
        judge: |facts, seen| {
            expect_text_form(facts, seen)?;
            let text = texts(expect_result(seen, 2)?).join("\n");
            let marked = text.lines().any(|line| line.starts_with("# ") || line.starts_with("## "))
                || text.contains("**");
            if marked {
                Err(rule_broken(2, "text without markup", "text with headings or bold words"))
            } else {
                Ok(())
            }
        },
        hint: "plain text has no headings and no stars",
    },
    Scenario {
        rule: "F9",
        name: "agent",
        title: "agent stands for JSON",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| requests_with_tags(facts, &["agent"]),
        judge: expect_json_form,
        hint: "where no format is asked for, agent means json",
    },
    Scenario {
        rule: "F9",
        name: "human",
        title: "human stands for Markdown",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| requests_with_tags(facts, &["human"]),
        judge: expect_text_form,
        hint: "where no format is asked for, human means markdown",
    },
    Scenario {
        rule: "F9",
        name: "format-first",
        title: "a format that is asked for stands over agent",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| requests_with_tags(facts, &["agent", "format=text"]),
        judge: expect_text_form,
        hint: FIRST,
    },
    Scenario {
        rule: "F9",
        name: "first-of-two",
        title: "of two formats the first stands",
        own: true,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| requests_with_tags(facts, &["format=json", "format=text"]),
        judge: expect_json_form,
        hint: FIRST,
    },
    Scenario {
        rule: "F9",
        name: "excluded",
        title: "where the chosen format is excluded, the answer is not shaped",
        own: true,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| requests_with_tags(facts, &["human", "format!=markdown"]),
        judge: |_, seen| expect_unchanged(seen, 2),
        hint: "a tag with != only excludes",
    },
    Scenario {
        rule: "F11",
        name: "uri-stays",
        title: "a resource in another format has the same URI, and says its type",
        own: false,
        needs: &[Modern, Negotiation, Resource],
        send: |facts| {
            let read = facts.new_request(method::RESOURCES_READ, json!({ "uri": facts.resource.as_ref()? }));
            Some(vec![read.clone(), read.with_tags(&["format=markdown"])])
        },
        judge: same_resource,
        hint: "change the text and mimeType together, and nothing else",
    },
    Scenario {
        rule: "F12",
        name: "same-things",
        title: "tags add and remove no tool, prompt or resource",
        own: false,
        needs: &[Modern, Negotiation],
        send: |facts| {
            let methods = [method::TOOLS_LIST, method::PROMPTS_LIST, method::RESOURCES_LIST];
            let both = methods.map(|method| facts.new_request(method, json!({})));
            Some(
                both.into_iter()
                    .flat_map(|ask| [ask.clone(), ask.with_tags(&["agent", "!interactive", "format=text"])])
                    .collect(),
            )
        },
        judge: same_things,
        hint: "tags decide the form of an answer, never what there is",
    },
    Scenario {
        rule: "F12",
        name: "errors-stay",
        title: "an error stays an error whatever the tags",
        own: false,
        needs: &[Modern, Negotiation],
        send: |facts| {
            let wrong = facts
                .new_request(method::TOOLS_CALL, json!({ "name": "attune-no-such-tool", "arguments": {} }));
            Some(vec![wrong.clone(), wrong.with_tags(&["agent", "format=json"])])
        },
        judge: same_error,
        hint: "errors are not shaped",
    },
    Scenario {
        rule: "F13",
        name: "promises-are-kept",
        title: "structured content is valid against the outputSchema that was shown with the same tags",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| {
            let call = facts.structured.as_ref()?.to_request(facts);
            let asks = [["format=json"], ["format=markdown"]].map(|tags| {
                [
                    facts.new_request(method::TOOLS_LIST, json!({})).with_tags(&tags),
                    call.clone().with_tags(&tags),
                ]
            });
            Some(asks.into_iter().flatten().collect())
        },
        judge: expect_schema_kept,
        hint: "leave outputSchema out of what a caller is shown who will get no structured content",
    },
    Scenario {
        rule: "F14",
        name: "empty-settings",
        title: "the server declares the extension with an object",
        own: false,
        needs: &[Modern, Negotiation],
        send: |_| Some(Vec::new()),
        judge: |facts, _| {
            let declared = facts.negotiation.as_ref().unwrap_or(&Value::Null);
            if declared.is_object() { Ok(()) } else { Err(rule_broken(0, "{}", declared.to_string())) }
        },
        hint: "write {} under the extension's id",
    },
    Scenario {
        rule: "F15",
        name: "exactly",
        title: "tags are compared exactly: Format=JSON is not format=json",
        own: false,
        needs: &[Modern, Negotiation, Structured],
        send: |facts| requests_with_tags(facts, &["Format=text", "format=TEXT", "Human"]),
        judge: |_, seen| expect_unchanged(seen, 2),
        hint: "compare tags with case",
    },
];

/// The first two results are the same, so that the third can be held against them.
fn expect_stable(seen: &[CheckExchange]) -> Verdict {
    let (one, two) = (expect_result(seen, 0)?, expect_result(seen, 1)?);
    let unclear = || ScenarioFault::Unclear("the tool gives another result each time".to_owned());
    if without_language(one) == without_language(two) { Ok(()) } else { Err(unclear()) }
}

/// One result is the first, byte for byte.
fn expect_unchanged(seen: &[CheckExchange], at: usize) -> Verdict {
    expect_stable(seen)?;
    let (before, after) = (expect_result(seen, 0)?, expect_result(seen, at)?);
    let bytes = |at: usize| seen.get(at).and_then(|seen| seen.came.result.as_ref());
    if before != after {
        return Err(rule_broken(at, "the result as without tags", "another result"));
    }
    // A server that writes its members in any order says nothing by it.
    let steady = bytes(0) == bytes(1);
    let same = bytes(0) == bytes(at);
    if same || !steady {
        Ok(())
    } else {
        Err(rule_broken(at, "the same bytes as without tags", "other bytes"))
    }
}

fn blocks(result: &Value) -> impl Iterator<Item = &Value> {
    result["content"].as_array().into_iter().flatten()
}

fn texts(result: &Value) -> Vec<&str> {
    blocks(result)
        .filter(|block| block["type"] == "text")
        .filter_map(|block| block["text"].as_str())
        .collect()
}

/// What is no text is there as it was.
fn expect_other_blocks_kept(before: &Value, after: &Value) -> Verdict {
    let others = |result| blocks(result).filter(|block| block["type"] != "text").cloned().collect::<Vec<_>>();
    let same = others(before) == others(after);
    if same { Ok(()) } else { Err(rule_broken(2, "links, images and resources as without tags", "others")) }
}

fn expect_json_form(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_stable(seen)?;
    let (before, after) = (expect_result(seen, 0)?, expect_result(seen, 2)?);
    if !texts(after).is_empty() {
        return Err(rule_broken(2, "no text beside structuredContent", "text blocks"));
    }
    if after.get("structuredContent") != before.get("structuredContent") {
        return Err(rule_broken(2, "the data in structuredContent", "other data, or none"));
    }
    expect_other_blocks_kept(before, after)
}

fn expect_text_form(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_stable(seen)?;
    let (before, after) = (expect_result(seen, 0)?, expect_result(seen, 2)?);
    if after.get("structuredContent").is_some() {
        return Err(rule_broken(2, "no structuredContent", "structuredContent"));
    }
    if texts(after).iter().all(|text| text.trim().is_empty()) {
        return Err(rule_broken(2, "text", "no text"));
    }
    expect_other_blocks_kept(before, after)
}

fn same_resource(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_served(facts, seen.get(..1).unwrap_or_default())
        .map_err(|_| ScenarioFault::Unclear("the resource cannot be read".to_owned()))?;
    expect_served(facts, seen.get(1..).unwrap_or_default()).map_err(|fault| shift_fault(fault, 1))?;
    let contents = |at| Ok(expect_result(seen, at)?["contents"].as_array().cloned().unwrap_or_default());
    let (before, after): (Vec<Value>, Vec<Value>) = (contents(0)?, contents(1)?);
    for (before, after) in before.iter().zip(&after) {
        if before["uri"] != after["uri"] {
            return Err(rule_broken(
                1,
                format!("the URI {}", before["uri"]),
                format!("the URI {}", after["uri"]),
            ));
        }
        let shaped = before["text"] != after["text"];
        if shaped && before["mimeType"] == "application/json" && after["mimeType"] != "text/markdown" {
            return Err(rule_broken(1, "mimeType text/markdown", format!("mimeType {}", after["mimeType"])));
        }
    }
    let same = before.len() == after.len();
    if same { Ok(()) } else { Err(rule_broken(1, "as many contents", format!("{} contents", after.len()))) }
}

fn same_things(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    for (pair, both) in seen.chunks(2).enumerate() {
        let [before, after] = both else { continue };
        // What a server does not list at all it does not list with tags either.
        let Some(listed) = before.result() else { continue };
        let names = |result: Option<&Value>| {
            let lists = ["tools", "prompts", "resources"].into_iter();
            let items = lists.filter_map(|list| result?.get(list)?.as_array()).flatten();
            items.map(|item| (item["name"].clone(), item["uri"].clone())).collect::<Vec<_>>()
        };
        let (there, now) = (names(Some(listed)), names(after.result()));
        if there != now {
            return Err(rule_broken(
                pair * 2 + 1,
                format!("{} items", there.len()),
                format!("{} items, or others", now.len()),
            ));
        }
    }
    Ok(())
}

fn same_error(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    let [before, after] = seen else { return Ok(()) };
    let fails = |seen: &CheckExchange| (seen.code(), seen.result().is_some_and(is_error));
    if fails(before) == (None, false) {
        return Err(ScenarioFault::Unclear(format!(
            "calling a tool that is not there is no error: {}",
            before.describe_answer()
        )));
    }
    let same = fails(before) == fails(after);
    if same { Ok(()) } else { Err(rule_broken(1, before.describe_answer(), after.describe_answer())) }
}

fn expect_schema_kept(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    let name = facts.structured.as_ref().map(|call| call.name.as_str()).unwrap_or_default();
    for (pair, both) in seen.chunks(2).enumerate() {
        let (listing, called) =
            (expect_result(both, 0).map_err(|fault| shift_fault(fault, pair * 2))?, pair * 2 + 1);
        let result = expect_result(both, 1).map_err(|fault| shift_fault(fault, pair * 2))?;
        let tool = listing["tools"].as_array().into_iter().flatten().find(|tool| tool["name"] == name);
        let schema = tool.and_then(|tool| tool.get("outputSchema"));
        let Some(output) = schema.and_then(|schema| CompiledSchema::read(&schema.to_string())) else {
            continue;
        };
        match result.get("structuredContent") {
            Some(data) if output.is_valid(data) => {}
            Some(_) => {
                return Err(rule_broken(
                    called,
                    "data that is valid against outputSchema",
                    "data that is not",
                ));
            }
            None => return Err(rule_broken(called, "structuredContent, as outputSchema promises", "none")),
        }
    }
    Ok(())
}
