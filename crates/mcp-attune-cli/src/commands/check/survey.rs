//! Looks at a server before it is judged: what it has, what may be called, and what it claims to support.

use std::time::Duration;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::listing::{Pages, Turn};
use mcp_attune_wire::protocol::code::INVALID_PARAMS;
use mcp_attune_wire::protocol::extension::CONTENT_NEGOTIATION;
use mcp_attune_wire::protocol::header::CONTENT_LANGUAGE;
use mcp_attune_wire::protocol::method::{self, TOOLS_LIST};
use mcp_attune_wire::schema::Declared;
use serde_json::{Value, json};

use super::ask::{Ask, EAST, WEST, at};
use super::asker::Asker;
use super::facts::{Call, Facts, Languages, Place};
use super::judge::{Seen, is_error, plain};
use crate::arguments::{self, Left, Named, choose};
use crate::exit::hinted;
use crate::progress;
use crate::server::{endless, endless_listing};
use crate::text::quoted;
use crate::tool::Tool;

/// How many tools are called to see what they give.
const MAX_TRIED_TOOLS: usize = 16;

/// A language that no server has, to see what it falls back to.
const NOBODYS: &str = "tlh";
/// Languages that are asked for until two are known.
const ASKED_FOR: [&str; 12] = ["de", "fr", "es", "it", "ja", "zh", "pt", "ar", "ru", "ko", "nl", "en"];

/// For what tools are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    /// Nothing depends on them.
    None,
    /// Languages, where the listing reports none.
    ForLanguages,
    Always,
}

/// What is known. Tools are called only where something depends on it, and again only those that answer within `slow` or
/// are named.
pub(super) async fn survey(
    asker: &mut Asker,
    place: Place,
    introduction: &Value,
    named: &[Named],
    calls_for: Calls,
    slow: Duration,
) -> anyhow::Result<Facts> {
    let mut facts = Facts {
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
        facts.listing = listing(asker, &facts).await?;
    }
    facts.prompt = first(asker, &facts, method::PROMPTS_LIST, "/prompts/0/name").await;
    facts.resource = first(asker, &facts, method::RESOURCES_LIST, "/resources/0/uri").await;
    progress::show("asking for languages");
    facts.languages = languages(asker, &|language| facts.list().prefers(language)).await;
    let for_languages = calls_for == Calls::ForLanguages && facts.languages.is_none();
    if calls_for == Calls::Always || for_languages {
        let tools = calls(asker, &mut facts, named, slow).await?;
        if calls_for == Calls::Always {
            fill(asker, &mut facts, &tools).await;
        }
        if facts.languages.is_none() {
            languages_of_tools(asker, &mut facts, tools).await;
        }
    }
    progress::show("asking with two contexts");
    let conflict = facts.list().beside("clientContext", at(EAST)).context(at(WEST));
    // Whoever refuses the two together, and not each of them, has read them.
    let alone = facts.list().beside("clientContext", at(EAST)).context(at(EAST));
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
async fn tools(asker: &mut Asker, facts: &Facts) -> anyhow::Result<Vec<Value>> {
    let mut tools = Vec::new();
    let mut pages = Pages::new(TOOLS_LIST);
    loop {
        let params = serde_json::from_str(&pages.params()).unwrap_or_default();
        let seen = asker.ask(&facts.ask(TOOLS_LIST, params)).await;
        if let Some(why) = seen.came.trouble {
            return Err(hinted(format!("the tools are not listed: {why}"), "is the server in order?"));
        }
        let Some(result) = seen.result() else { return Ok(tools) };
        tools.extend(result["tools"].as_array().into_iter().flatten().cloned());
        let text = result.to_string();
        match Document::parse(text.as_bytes()).map(|result| pages.take(result.root())) {
            Ok(Turn::Next) => {}
            Ok(Turn::Done) | Err(_) => return Ok(tools),
            Ok(Turn::Endless(why)) => {
                let too_large = || endless(&format!("{why} of `{TOOLS_LIST}`, all pages together"));
                return Err(endless_listing(TOOLS_LIST, why).unwrap_or_else(too_large));
            }
        }
    }
}

/// A method that only reads, of a server that may have no tools.
async fn listing(asker: &mut Asker, facts: &Facts) -> anyhow::Result<String> {
    let introduces = if facts.is_modern() { method::SERVER_DISCOVER } else { method::PING };
    for method in [TOOLS_LIST, method::RESOURCES_LIST, method::PROMPTS_LIST, introduces] {
        if asker.ask(&facts.ask(method, json!({}))).await.result().is_some() {
            return Ok(method.to_owned());
        }
    }
    Err(hinted("the server lists nothing, neither tools nor resources nor prompts", "is it an MCP server?"))
}

/// The first item of a listing.
async fn first(asker: &mut Asker, facts: &Facts, method: &str, pointer: &str) -> Option<String> {
    let seen = asker.ask(&facts.ask(method, json!({}))).await;
    Some(seen.result()?.pointer(pointer)?.as_str()?.to_owned())
}

/// Calls what may be called, once. Returns what gave a result: first what the user names, as they named it, then the
/// others, the fastest first.
async fn calls(
    asker: &mut Asker,
    facts: &mut Facts,
    named: &[Named],
    slow: Duration,
) -> anyhow::Result<Vec<Call>> {
    let tools: Vec<Tool> = facts.tools.iter().filter_map(read).collect();
    for name in named.iter().map(Named::name) {
        let tool = facts.tools.iter().find(|tool| tool["name"] == name);
        if tool.is_some_and(|tool| tool.pointer("/annotations/destructiveHint") == Some(&json!(true))) {
            let what =
                format!("the tool `{}` says that it may destroy something, and is not called", quoted(name));
            return Err(hinted(what, "name another one with --call: it is called many times"));
        }
    }
    let (mut chosen, left) = choose(&tools, named)?;
    facts.left_out = left;
    let is_named = |call: &arguments::Call<'_>| named.iter().any(|named| named.name() == call.tool.name);
    chosen.sort_by_key(|call| !is_named(call));
    let mut found = Vec::new();
    for (number, call) in chosen.iter().enumerate() {
        let name = &call.tool.name;
        let is_named = is_named(call);
        let tried = if number < MAX_TRIED_TOOLS || is_named {
            progress::show(&format!("calling {}", quoted(name)));
            tried(asker, facts, call, (!is_named).then_some(slow)).await?
        } else {
            Err(format!("{MAX_TRIED_TOOLS} other tools were tried"))
        };
        match tried {
            Ok((call, took)) => found.push((if is_named { Duration::ZERO } else { took }, !is_named, call)),
            Err(why) => {
                let add = format!("--call '{}'", quoted(name));
                facts.left_out.push(Left { tool: name.clone(), why, add });
            }
        }
    }
    found.sort_by_key(|(took, others, _)| (*others, *took));
    Ok(found.into_iter().map(|(.., call)| call).collect())
}

/// Finds the first tool that is good for each thing.
async fn fill(asker: &mut Asker, facts: &mut Facts, tools: &[Call]) {
    for call in tools {
        let varies = facts.zoned.is_none() && varies(asker, facts, call).await;
        let mirrors = |call: &Call| {
            call.declared
                .as_ref()
                .is_some_and(|all| all.iter().any(|one| call.argument(one.path()).is_some()))
        };
        let kept = |slot: &mut Option<Call>, fits: bool| {
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
async fn languages_of_tools(asker: &mut Asker, facts: &mut Facts, tools: Vec<Call>) {
    for call in tools {
        progress::show(&format!("calling {} in several languages", quoted(&call.name)));
        let prefers = |language: &str| call.ask(facts).prefers(language);
        // Whoever reports a language does so for the first that is asked for.
        if reported(&asker.ask(&prefers(NOBODYS)).await).is_none()
            && reported(&asker.ask(&prefers(ASKED_FOR[0])).await).is_none()
        {
            continue;
        }
        facts.languages = languages(asker, &prefers).await;
        if facts.languages.is_some() {
            facts.spoken = Some(call);
            return;
        }
    }
}

fn read(tool: &Value) -> Option<Tool> {
    let text = tool.to_string();
    Tool::read(Document::parse(text.as_bytes()).ok()?.root())
}

/// Calls a tool once: with its result and how long that took, or why it is of no use. The inner error is the reason, the
/// outer one says that the server is gone.
async fn tried(
    asker: &mut Asker,
    facts: &mut Facts,
    call: &arguments::Call<'_>,
    slow: Option<Duration>,
) -> anyhow::Result<Result<(Call, Duration), String>> {
    let name = call.tool.name.clone();
    let schema = facts.tools.iter().find(|tool| tool["name"] == name.as_str());
    let schema = schema.map(|tool| tool["inputSchema"].to_string()).unwrap_or_default();
    let declared = Declared::read(schema.as_bytes()).ok().filter(|declared| !declared.is_empty());
    let call = Call { name, arguments: call.arguments.clone(), declared, result: Value::Null };
    let ask = call.ask(facts);
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
        asker.give_up(seen.id, &facts.list()).await?;
        facts.manner = asker.manner.clone();
        return Ok(Err(why));
    }
    let result = seen.result().filter(|result| !is_error(result) && is_complete(result)).map(plain);
    Ok(match result {
        Some(result) => Ok((Call { result, ..call }, seen.took)),
        None => Err(format!("it gave no result to work with ({})", seen.told())),
    })
}

/// Whether a result is one, and not a question.
fn is_complete(result: &Value) -> bool {
    result.get("resultType").is_none_or(|kind| kind == "complete")
}

/// Whether a tool gives another result in the east than in the west, and in the east always the same.
async fn varies(asker: &mut Asker, facts: &Facts, call: &Call) -> bool {
    let mut results = Vec::new();
    progress::show(&format!("calling {} in two time zones", quoted(&call.name)));
    for zone in [EAST, WEST, EAST] {
        let seen = asker.ask(&call.ask(facts).context(at(zone))).await;
        results.push(seen.result().filter(|result| !is_error(result)).map(plain));
    }
    matches!(results.as_slice(), [Some(east), Some(west), Some(again)] if east != west && east == again)
}

/// The languages that a server reports in answer to some request, if it reports any there.
async fn languages(asker: &mut Asker, prefers: &(dyn Fn(&str) -> Ask + Sync)) -> Option<Languages> {
    let nobodys = reported(&asker.ask(&prefers(NOBODYS)).await);
    let mut found: Vec<(String, bool)> = Vec::new();
    for language in ASKED_FOR {
        if let Some(reported) = reported(&asker.ask(&prefers(language)).await) {
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
    Some(Languages { default, other: other.map(|(language, _)| language) })
}

fn primary(tag: &str) -> &str {
    tag.split('-').next().unwrap_or_default()
}

/// The language that an answer reports, in its body or beside it.
fn reported(seen: &Seen) -> Option<String> {
    let beside = || seen.came.lines(CONTENT_LANGUAGE).next();
    seen.language().or_else(beside).map(str::to_owned)
}
