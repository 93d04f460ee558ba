//! What a server says of itself and of what it has.

use std::cell::Cell;

use anyhow::Context as _;
use mcp_attune::catalog::{LocaleFileDraft, ParsedLocaleFile};
use mcp_attune::language::Tag;
use mcp_attune::localize::{RequestSubject, visit_listed_values, visit_named_texts};
use mcp_attune_rmcp::{Connection, Era};
use mcp_attune_shape::ResultSchema;
use mcp_attune_shape::render::visit_translatable;
use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, meta::CONTENT_LANGUAGE};
use mcp_attune_wire::protocol::method;

use crate::call_plan::{ToolCallOption, plan_named_calls};
use crate::server::{endless_error, for_each_page, read_result, wrap_in_answer};
use crate::text::quoted;
use crate::tool::CallableTool;

/// All texts of a server.
#[derive(Default)]
pub(in crate::commands) struct CollectedTexts {
    pub(in crate::commands) draft: LocaleFileDraft,
    /// The language that the server says they are in.
    pub(in crate::commands) language: Option<Tag>,
    /// How many came, and how many of them are too long for a locale file.
    pub(in crate::commands) count: usize,
    pub(in crate::commands) too_long: usize,
    /// The tools, where some are called.
    tools: Vec<CallableTool>,
}

/// Asks a server for all that it lists, page by page, and calls the tools that are named for the words in their results.
/// `progress` is told the method, the page, and how many texts there are.
pub(in crate::commands) async fn collect_texts(
    connection: &Connection,
    named: &[ToolCallOption],
    progress: impl Fn(&str, usize, usize),
) -> anyhow::Result<CollectedTexts> {
    let mut all = CollectedTexts::default();
    let method = if connection.era() == Era::Modern { method::SERVER_DISCOVER } else { method::INITIALIZE };
    if let Some(raw) = connection.introduction() {
        all.take_listing(method, read_result(method, raw.get())?.root())?;
    }
    let can = &connection.info().capabilities;
    for (method, can) in [
        (method::TOOLS_LIST, can.tools.is_some()),
        (method::PROMPTS_LIST, can.prompts.is_some()),
        (method::RESOURCES_LIST, can.resources.is_some()),
        (method::RESOURCES_TEMPLATES_LIST, can.resources.is_some()),
    ] {
        if can {
            let so_far = Cell::new(all.count);
            let turn = |page| progress(method, page, so_far.get());
            let take = |result: SpannedValue<'_>| {
                let taken = all.take_listing(method, result);
                so_far.set(all.count);
                taken
            };
            for_each_page(connection, method, turn, take).await?;
        }
    }
    let tools = std::mem::take(&mut all.tools);
    for (number, call) in plan_named_calls(&tools, named)?.into_iter().enumerate() {
        progress(method::TOOLS_CALL, number + 1, all.count);
        let name = quoted(&call.tool.name);
        match connection.call_raw(&call.tool.name, call.arguments.into()).await {
            Ok(raw) => {
                if !all.take_result(call.tool, read_result(method::TOOLS_CALL, raw.get())?.root()) {
                    eprintln!("warning: `{name}` gave no data, so that no values were taken from it");
                }
            }
            // One tool that fails is no reason to lose what the others say.
            Err(why) => eprintln!("warning: `{name}` could not be called: {why}"),
        }
    }
    Ok(all)
}

impl CollectedTexts {
    fn take_value(&mut self, tool: &str, field: &str, value: &str) {
        self.count += usize::from(self.draft.add_value(tool, field, value));
    }

    /// Takes the words of a result: of its structured content, or of the text that is JSON. Says whether there was any.
    fn take_result(&mut self, tool: &CallableTool, result: SpannedValue<'_>) -> bool {
        let failed = result.member("isError").is_some_and(|error| error.raw() == "true");
        let output = match &tool.output {
            ResultSchema::Known(output) => Some(output.root()),
            _ => None,
        };
        let mut take = |data: SpannedValue<'_>| {
            visit_translatable(data, output, &mut |field, value| self.take_value(&tool.name, field, value));
        };
        if let Some(data) = result.member("structuredContent").filter(|_| !failed) {
            take(data);
            return true;
        }
        let mut blocks = result.member("content").into_iter().flat_map(SpannedValue::elements);
        let text = blocks.find_map(|block| block.member("text")?.text()?.decode()).filter(|_| !failed);
        let read = text.as_deref().and_then(|text| Document::parse(text.as_bytes()).ok());
        let data = read
            .as_ref()
            .map(Document::root)
            .filter(|data| matches!(data.kind(), JsonKind::Object | JsonKind::Array));
        data.map(take).is_some()
    }

    /// Takes the texts of a result.
    fn take_listing(&mut self, method: &str, result: SpannedValue<'_>) -> anyhow::Result<()> {
        let answer = wrap_in_answer(result.raw());
        let answer = Message::parse(answer.as_bytes()).context("a result that was read can be read again")?;
        visit_named_texts(&answer, &RequestSubject::new(method), |slot, text| {
            self.count += 1;
            if !self.draft.add(slot, text) && !text.trim().is_empty() {
                self.too_long += 1;
            }
        });
        if method == method::TOOLS_LIST {
            visit_listed_values(&answer, |tool, field, value| self.take_value(tool, field, value));
            let listed = result.member("tools");
            self.tools
                .extend(listed.into_iter().flat_map(SpannedValue::elements).filter_map(CallableTool::read));
        }
        if self.count > ParsedLocaleFile::MAX_TEXTS {
            return Err(endless_error(&format!("more than {} texts", ParsedLocaleFile::MAX_TEXTS)));
        }
        let said = result.member("_meta").and_then(|meta| meta.member(CONTENT_LANGUAGE));
        if let Some(said) =
            said.and_then(SpannedValue::text).and_then(JsonString::decode).filter(|_| self.language.is_none())
        {
            self.language = said.split(',').next().and_then(|tag| Tag::parse(tag.trim()).ok());
        }
        Ok(())
    }
}
