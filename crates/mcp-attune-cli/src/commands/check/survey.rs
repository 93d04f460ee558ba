//! Looks at a server before it is judged: what it has, what may be called, and what it claims to support.

use std::time::Duration;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::listing::{ListingStep, Pages};
use mcp_attune_wire::protocol::code::INVALID_PARAMS;
use mcp_attune_wire::protocol::extension::CONTENT_NEGOTIATION;
use mcp_attune_wire::protocol::header::CONTENT_LANGUAGE;
use mcp_attune_wire::protocol::method::{self, TOOLS_LIST};
use mcp_attune_wire::schema::DeclaredHeaders;
use serde_json::{Value, json};

use super::ask::{CheckRequest, EAST, WEST, context_at};
use super::client::CheckClient;
use super::facts::{CheckTransport, SampleCall, SurveyFacts, SurveyedLanguages};
use super::judge::{CheckExchange, is_error, without_language};
use crate::call_plan::{self, SkippedTool, ToolCallOption, plan_calls};
use crate::exit::hinted;
use crate::progress;
use crate::server::{endless_error, endless_listing_error};
use crate::text::quoted;
use crate::tool::CallableTool;

/// How many tools are called to see what they give.
const MAX_TRIED_TOOLS: usize = 16;

/// A language that no server has, to see what it falls back to.
const UNKNOWN_LANGUAGE: &str = "tlh";
/// Languages that are asked for until two are known.
const TRIED_LANGUAGES: [&str; 12] = ["de", "fr", "es", "it", "ja", "zh", "pt", "ar", "ru", "ko", "nl", "en"];

/// For what tools are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SurveyCalls {
    /// Nothing depends on them.
    None,
    /// Languages, where the listing reports none.
    ForLanguages,
    Always,
}

/// What is known. Tools are called only where something depends on it, and again only those that answer within `slow` or
/// are named.
pub(super) async fn survey(
    asker: &mut CheckClient,
    place: CheckTransport,
    introduction: &Value,
    named: &[ToolCallOption],
    calls_for: SurveyCalls,
    slow: Duration,
) -> anyhow::Result<SurveyFacts> {
    let mut facts = SurveyFacts {
        manner: asker.manner.clone(),
        place,
        listing: TOOLS_LIST.to_owned(),
        tools: Vec::new(),
        call: None,
        mirrored: None,
        structured: None,
        zoned: None,
        spoken: None,
        left_out: Vec::new(),
        prompt: None,
        resource: None,
        languages: None,
        negotiation: negotiation(introduction).cloned(),
        reads_context: false,
    };
    progress::show("listing");
    facts.tools = tools(asker, &facts).await?;
    if facts.tools.is_empty() {
        facts.listing = find_listing_method(asker, &facts).await?;
    }
    facts.prompt = first_item(asker, &facts, method::PROMPTS_LIST, "/prompts/0/name").await;
    facts.resource = first_item(asker, &facts, method::RESOURCES_LIST, "/resources/0/uri").await;
    progress::show("asking for languages");
    facts.languages =
        find_languages(asker, &|language| facts.listing_request().with_preference(language)).await;
    let for_languages = calls_for == SurveyCalls::ForLanguages && facts.languages.is_none();
    if calls_for == SurveyCalls::Always || for_languages {
        let tools = call_tools(asker, &mut facts, named, slow).await?;
        if calls_for == SurveyCalls::Always {
            assign_sample_calls(asker, &mut facts, &tools).await;
        }
        if facts.languages.is_none() {
            find_tool_languages(asker, &mut facts, tools).await;
        }
    }
    progress::show("asking with two contexts");
    let conflict = facts
        .listing_request()
        .with_message_member("clientContext", context_at(EAST))
        .with_context(context_at(WEST));
    // Whoever refuses the two together, and not each of them, has read them.
    let alone = facts
        .listing_request()
        .with_message_member("clientContext", context_at(EAST))
        .with_context(context_at(EAST));
    let reads = asker.ask(&conflict).await.code() == Some(INVALID_PARAMS.into())
        && asker.ask(&alone).await.result().is_some();
    facts.reads_context = facts.zoned.is_some() || reads;
    Ok(facts)
}

/// What a server declares of content negotiation.
pub(super) fn negotiation(introduction: &Value) -> Option<&Value> {
    introduction.pointer("/capabilities/extensions")?.get(CONTENT_NEGOTIATION)
}

/// All tools.
async fn tools(asker: &mut CheckClient, facts: &SurveyFacts) -> anyhow::Result<Vec<Value>> {
    let mut tools = Vec::new();
    let mut pages = Pages::new(TOOLS_LIST);
    loop {
        let params = serde_json::from_str(&pages.params()).unwrap_or_default();
        let seen = asker.ask(&facts.new_request(TOOLS_LIST, params)).await;
        if let Some(why) = seen.came.trouble {
            return Err(hinted(format!("the tools are not listed: {why}"), "is the server in order?"));
        }
        let Some(result) = seen.result() else { return Ok(tools) };
        tools.extend(result["tools"].as_array().into_iter().flatten().cloned());
        let text = result.to_string();
        match Document::parse(text.as_bytes()).map(|result| pages.take_result(result.root())) {
            Ok(ListingStep::Next) => {}
            Ok(ListingStep::Done) | Err(_) => return Ok(tools),
            Ok(ListingStep::Endless(why)) => {
                let too_large = || endless_error(&format!("{why} of `{TOOLS_LIST}`, all pages together"));
                return Err(endless_listing_error(TOOLS_LIST, why).unwrap_or_else(too_large));
            }
        }
    }
}

/// A method that only reads, of a server that may have no tools.
async fn find_listing_method(asker: &mut CheckClient, facts: &SurveyFacts) -> anyhow::Result<String> {
    let introduces = if facts.is_modern() { method::SERVER_DISCOVER } else { method::PING };
    for method in [TOOLS_LIST, method::RESOURCES_LIST, method::PROMPTS_LIST, introduces] {
        if asker.ask(&facts.new_request(method, json!({}))).await.result().is_some() {
            return Ok(method.to_owned());
        }
    }
    Err(hinted("the server lists nothing, neither tools nor resources nor prompts", "is it an MCP server?"))
}

/// The first item of a listing.
async fn first_item(
    asker: &mut CheckClient,
    facts: &SurveyFacts,
    method: &str,
    pointer: &str,
) -> Option<String> {
    let seen = asker.ask(&facts.new_request(method, json!({}))).await;
    Some(seen.result()?.pointer(pointer)?.as_str()?.to_owned())
}

/// Calls what may be called, once. Returns what gave a result: first what the user names, as they named it, then the
/// others, the fastest first.
async fn call_tools(
    asker: &mut CheckClient,
    facts: &mut SurveyFacts,
    named: &[ToolCallOption],
    slow: Duration,
) -> anyhow::Result<Vec<SampleCall>> {
    let tools: Vec<CallableTool> = facts.tools.iter().filter_map(read).collect();
    for name in named.iter().map(ToolCallOption::name) {
        let tool = facts.tools.iter().find(|tool| tool["name"] == name);
        if tool.is_some_and(|tool| tool.pointer("/annotations/destructiveHint") == Some(&json!(true))) {
            let what =
                format!("the tool `{}` says that it may destroy something, and is not called", quoted(name));
            return Err(hinted(what, "name another one with --call: it is called many times"));
        }
    }
    let (mut chosen, left) = plan_calls(&tools, named)?;
    facts.left_out = left;
    let is_named =
        |call: &call_plan::PlannedCall<'_>| named.iter().any(|named| named.name() == call.tool.name);
    chosen.sort_by_key(|call| !is_named(call));
    let mut found = Vec::new();
    for (number, call) in chosen.iter().enumerate() {
        let name = &call.tool.name;
        let is_named = is_named(call);
        let tried = if number < MAX_TRIED_TOOLS || is_named {
            progress::show(&format!("calling {}", quoted(name)));
            try_call(asker, facts, call, (!is_named).then_some(slow)).await?
        } else {
            Err(format!("{MAX_TRIED_TOOLS} other tools were tried"))
        };
        match tried {
            Ok((call, took)) => found.push((if is_named { Duration::ZERO } else { took }, !is_named, call)),
            Err(why) => {
                let add = format!("--call '{}'", quoted(name));
                facts.left_out.push(SkippedTool { tool: name.clone(), why, add });
            }
        }
    }
    found.sort_by_key(|(took, others, _)| (*others, *took));
    Ok(found.into_iter().map(|(.., call)| call).collect())
}

/// Finds the first tool that is good for each thing.
async fn assign_sample_calls(asker: &mut CheckClient, facts: &mut SurveyFacts, tools: &[SampleCall]) {
    for call in tools {
        let varies = facts.zoned.is_none() && depends_on_zone(asker, facts, call).await;
        let mirrors = |call: &SampleCall| {
            call.declared
                .as_ref()
                .is_some_and(|all| all.iter().any(|one| call.argument(one.path()).is_some()))
        };
        let kept = |slot: &mut Option<SampleCall>, fits: bool| {
            if fits && slot.is_none() {
                *slot = Some(call.clone());
            }
        };
        kept(&mut facts.zoned, varies);
        kept(&mut facts.mirrored, mirrors(call));
        kept(&mut facts.structured, call.result.get("structuredContent").is_some());
        kept(&mut facts.call, true);
    }
}

/// Finds a tool whose result reports its language.
async fn find_tool_languages(asker: &mut CheckClient, facts: &mut SurveyFacts, tools: Vec<SampleCall>) {
    for call in tools {
        progress::show(&format!("calling {} in several languages", quoted(&call.name)));
        let prefers = |language: &str| call.to_request(facts).with_preference(language);
        // Whoever reports a language does so for the first that is asked for.
        if reported_language(&asker.ask(&prefers(UNKNOWN_LANGUAGE)).await).is_none()
            && reported_language(&asker.ask(&prefers(TRIED_LANGUAGES[0])).await).is_none()
        {
            continue;
        }
        facts.languages = find_languages(asker, &prefers).await;
        if facts.languages.is_some() {
            facts.spoken = Some(call);
            return;
        }
    }
}

fn read(tool: &Value) -> Option<CallableTool> {
    let text = tool.to_string();
    CallableTool::read(Document::parse(text.as_bytes()).ok()?.root())
}

/// Calls a tool once: with its result and how long that took, or why it is of no use. The inner error is the reason, the
/// outer one says that the server is gone.
async fn try_call(
    asker: &mut CheckClient,
    facts: &mut SurveyFacts,
    call: &call_plan::PlannedCall<'_>,
    slow: Option<Duration>,
) -> anyhow::Result<Result<(SampleCall, Duration), String>> {
    let name = call.tool.name.clone();
    let schema = facts.tools.iter().find(|tool| tool["name"] == name.as_str());
    let schema = schema.map(|tool| tool["inputSchema"].to_string()).unwrap_or_default();
    let declared = DeclaredHeaders::read(schema.as_bytes()).ok().filter(|declared| !declared.is_empty());
    let call = SampleCall { name, arguments: call.arguments.clone(), declared, result: Value::Null };
    let ask = call.to_request(facts);
    let seen = match slow {
        Some(slow) => asker.ask_within(&ask, slow).await,
        None => asker.ask(&ask).await,
    };
    if let Some(why) = &seen.came.trouble {
        let why = match slow {
            Some(slow) if seen.took >= slow => {
                format!("it gave no result within {} s", slow.as_secs_f64())
            }
            _ => why.clone(),
        };
        asker.cancel(seen.id, &facts.listing_request()).await?;
        facts.manner = asker.manner.clone();
        return Ok(Err(why));
    }
    let result =
        seen.result().filter(|result| !is_error(result) && is_complete(result)).map(without_language);
    Ok(match result {
        Some(result) => Ok((SampleCall { result, ..call }, seen.took)),
        None => Err(format!("it gave no result to work with ({})", seen.describe_answer())),
    })
}

/// Whether a result is one, and not a question.
fn is_complete(result: &Value) -> bool {
    result.get("resultType").is_none_or(|kind| kind == "complete")
}

/// Whether a tool gives another result in the east than in the west, and in the east always the same.
async fn depends_on_zone(asker: &mut CheckClient, facts: &SurveyFacts, call: &SampleCall) -> bool {
    let mut results = Vec::new();
    progress::show(&format!("calling {} in two time zones", quoted(&call.name)));
    for zone in [EAST, WEST, EAST] {
        let seen = asker.ask(&call.to_request(facts).with_context(context_at(zone))).await;
        results.push(seen.result().filter(|result| !is_error(result)).map(without_language));
    }
    matches!(results.as_slice(), [Some(east), Some(west), Some(again)] if east != west && east == again)
}

/// The languages that a server reports in answer to some request, if it reports any there.
async fn find_languages(
    asker: &mut CheckClient,
    prefers: &(dyn Fn(&str) -> CheckRequest + Sync),
) -> Option<SurveyedLanguages> {
    let nobodys = reported_language(&asker.ask(&prefers(UNKNOWN_LANGUAGE)).await);
    let mut found: Vec<(String, bool)> = Vec::new();
    for language in TRIED_LANGUAGES {
        if let Some(reported) = reported_language(&asker.ask(&prefers(language)).await) {
            let fits = primary(&reported).eq_ignore_ascii_case(language);
            found.push((reported, fits));
        }
        let other = |(language, fits): &&(String, bool)| *fits && Some(language) != nobodys.as_ref();
        if nobodys.is_some() && found.iter().any(|one| other(&one)) {
            break;
        }
    }
    let first = found.first().map(|(language, _)| language.clone());
    let default =
        nobodys.or_else(|| found.iter().rev().map(|(language, _)| language.clone()).next()).or(first)?;
    let other = found.into_iter().find(|(language, fits)| *fits && *language != default);
    Some(SurveyedLanguages { default, other: other.map(|(language, _)| language) })
}

fn primary(tag: &str) -> &str {
    tag.split('-').next().unwrap_or_default()
}

/// The language that an answer reports, in its body or beside it.
fn reported_language(seen: &CheckExchange) -> Option<String> {
    let beside = || seen.came.header_values(CONTENT_LANGUAGE).next();
    seen.language().or_else(beside).map(str::to_owned)
}
