//! What the tools of a server cost in every conversation, before any of them is called.
//!
//! Counted is what clients give a model of each tool: its name, its description and its input schema. Titles, annotations and output
//! schemas are for the client itself.

use std::collections::BTreeMap;

use mcp_attune::bind::{ArgumentFill, Binding, Bindings};
use mcp_attune_wire::json::{JsonString, SpannedValue};
use mcp_attune_wire::message::Message;
use serde::Serialize;

use super::tokens::{self, AuditTokenCost};
use crate::commands::init::context_source;
use crate::text::quoted;

/// How many arguments are named that can be hidden.
const MAX_HIDEABLE_NAMES: usize = 10;

/// What all tools cost, and each of them.
#[derive(Debug, Default, Serialize)]
pub(super) struct ListingCost {
    #[serde(flatten)]
    pub(super) total: AuditTokenCost,
    /// How many tokens are not there where every argument of `can_hide` is hidden.
    pub(super) can_save: usize,
    /// The most expensive first.
    pub(super) tools: Vec<ToolCost>,
}

/// What one tool costs.
#[derive(Debug, Serialize)]
pub(super) struct ToolCost {
    pub(super) tool: String,
    #[serde(flatten)]
    pub(super) cost: AuditTokenCost,
    /// Arguments that the caller's context can fill, so that models need not see them.
    pub(super) can_hide: Vec<String>,
}

impl ListingCost {
    /// Counts the pages of a listing.
    pub(super) fn of(pages: &[String]) -> Self {
        let mut costs = Self::default();
        for page in pages.iter().filter_map(|page| Message::parse(page.as_bytes()).ok()) {
            costs.add(&page);
        }
        costs.tools.sort_by_key(|tool| std::cmp::Reverse(tool.cost.tokens));
        costs
    }

    fn add(&mut self, page: &Message<'_>) {
        let mut bound = BTreeMap::new();
        for tool in listed(page) {
            let Some(name) = name(tool) else { continue };
            let can_hide = hideable(tool);
            let cost = cost(tool);
            self.total = self.total.plus(cost);
            bound.extend((!can_hide.is_empty()).then(|| (name.clone(), can_hide.clone())));
            let can_hide = can_hide.into_keys().collect();
            self.tools.push(ToolCost { tool: name, cost, can_hide });
        }
        if !bound.is_empty() {
            self.can_save += saved(page, bound);
        }
    }

    /// The arguments that can be hidden, as `tool.argument`; of many only the first.
    pub(super) fn can_hide(&self) -> Vec<String> {
        let all = self.tools.iter().flat_map(|tool| tool.can_hide.iter().map(move |name| (&tool.tool, name)));
        all.take(MAX_HIDEABLE_NAMES)
            .map(|(tool, name)| format!("{}.{}", quoted(tool), quoted(name)))
            .collect()
    }
}

fn listed<'a>(page: &Message<'a>) -> impl Iterator<Item = SpannedValue<'a>> + use<'a> {
    page.member("result")
        .and_then(|result| result.member("tools"))
        .into_iter()
        .flat_map(SpannedValue::elements)
}

fn name(tool: SpannedValue<'_>) -> Option<String> {
    tool.member("name").and_then(SpannedValue::text).and_then(JsonString::decode).map(Into::into)
}

fn cost(tool: SpannedValue<'_>) -> AuditTokenCost {
    let text = |member: &str| tool.member(member).and_then(SpannedValue::text).and_then(JsonString::decode);
    let schema = tool.member("inputSchema").map(|schema| schema.raw().into());
    let counted = [text("name"), text("description"), schema].into_iter().flatten();
    let costs = counted.map(|text| AuditTokenCost { bytes: text.len(), tokens: tokens::count(&text) });
    costs.fold(AuditTokenCost::default(), AuditTokenCost::plus)
}

/// The arguments of a tool that the caller's context can fill, by their names, hidden.
fn hideable(tool: SpannedValue<'_>) -> BTreeMap<String, Binding> {
    let properties = tool.member("inputSchema").and_then(|schema| schema.member("properties"));
    let named = properties.into_iter().flat_map(SpannedValue::members).filter_map(|(name, schema)| {
        let name = name.decode()?.into_owned();
        let schema = serde_json::from_str(schema.raw()).ok()?;
        let fills = ArgumentFill::Context { from: context_source(&name, &schema)?, default: None };
        Some((name, Binding { fills, hide: true }))
    });
    named.collect()
}

/// How many tokens of a page are not there any more for callers who do not see these arguments.
fn saved(page: &Message<'_>, bound: BTreeMap<String, BTreeMap<String, Binding>>) -> usize {
    let bindings = Bindings::new(bound, Default::default());
    let edits = bindings.edits_for_listing(page);
    let edits: Vec<_> = edits.iter().map(|(span, text)| (*span, text.as_str())).collect();
    let all = |page: &Message<'_>| listed(page).map(|tool| cost(tool).tokens).sum::<usize>();
    let shown = page.splice(&edits).ok();
    let shown = shown.as_ref().and_then(|text| Message::parse(text.as_bytes()).ok());
    shown.map_or(0, |shown| all(page).saturating_sub(all(&shown)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_models_are_given_is_counted_and_what_they_need_not_see() {
        let tz = r#""tz":{"type":"string","description":"An IANA time zone, such as Europe/Zurich"}"#;
        let page = |schema: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"a","title":"not counted"}},
                {{"name":"clock","description":"Tells the time","inputSchema":{{"type":"object","properties":{{{schema}}}}},
                "outputSchema":{{"type":"object","description":"not counted"}}}}]}}}}"#
            )
        };
        let count = |text: &str| ListingCost::of(&[text.to_owned()]);
        let (with, without) = (count(&page(tz)), count(&page("")));
        assert_eq!(with.tools.iter().map(|tool| tool.tool.as_str()).collect::<Vec<_>>(), ["clock", "a"]);
        assert_eq!(
            (&*with.tools[0].can_hide, with.tools[1].cost),
            (&["tz".to_owned()][..], AuditTokenCost { bytes: 1, tokens: 1 })
        );
        assert!(with.can_save >= 10, "{with:?}");
        assert_eq!((with.total.tokens - with.can_save, without.can_save), (without.total.tokens, 0));
    }
}
