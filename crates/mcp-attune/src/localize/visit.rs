//! Every position of a message where text stands, and who it is for. What is not here is never translated.
//!
//! Rules: L8, L9, L11.

use std::borrow::Cow;

use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonString, JsonWalker, SpannedValue};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::meta::SERVER_INFO;

use super::request_subject::RequestSubject;
use super::schema;
use crate::catalog::{LocaleField, TextSlot};
use crate::task::is_created_task;

/// Who a text is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TextAudience {
    /// People.
    Display,
    /// A model.
    Model,
    /// Whoever reads the log of a client.
    Log,
}

impl TextAudience {
    /// Titles are for people, but for those in schemas, which only models are sure to read.
    pub(super) fn of(slot: TextSlot<'_>) -> Self {
        match slot {
            TextSlot::Argument { .. } | TextSlot::Output { .. } => Self::Model,
            TextSlot::Server(field)
            | TextSlot::Tool(_, field)
            | TextSlot::Prompt(_, field)
            | TextSlot::PromptArgument { field, .. }
            | TextSlot::Resource(_, field)
            | TextSlot::ResourceTemplate(_, field) => match field {
                LocaleField::Title | LocaleField::Invoking | LocaleField::Invoked => Self::Display,
                LocaleField::Description | LocaleField::Instructions => Self::Model,
            },
        }
    }
}

/// Whoever is shown the texts.
pub(super) trait TextSink {
    /// Whether text for these is of interest at all.
    fn wants(&self, audience: TextAudience) -> bool;
    /// A text that has a name.
    fn named_text(&mut self, slot: TextSlot<'_>, there: SpannedValue<'_>);
    /// A title that is not there, and where it could be put as a first member.
    fn missing_title(&mut self, slot: TextSlot<'_>, opening: ByteSpan);
    /// A text that goes by what it says.
    fn unnamed_text(&mut self, audience: TextAudience, there: SpannedValue<'_>);
}

/// Visits the result of an answer; tells whether it has members, and its `_meta`.
pub(super) fn result<'a>(
    answer: &Message<'a>,
    asked: &RequestSubject,
    sink: &mut impl TextSink,
) -> (bool, Option<SpannedValue<'a>>) {
    let (mut filled, mut held) = (false, None);
    for (name, value) in answer.result_members() {
        filled = true;
        // Decoded: a `_meta` that was overlooked would be put in a second time.
        let Some(name) = name.decode() else { continue };
        let walk = &mut value.walk();
        match (asked.method(), &*name) {
            (_, "_meta") => held = Some(value),
            ("tools/list", "tools") => walk.elements(|walk| tool(walk, sink)),
            ("prompts/list", "prompts") => walk.elements(|walk| prompt(walk, sink)),
            ("resources/list", "resources") => walk.elements(|walk| resource(walk, sink)),
            ("resources/templates/list", "resourceTemplates") => walk.elements(|walk| template(walk, sink)),
            ("initialize" | "server/discover", "serverInfo") => server(value, sink),
            ("initialize" | "server/discover", "instructions") => {
                sink.named_text(TextSlot::Server(LocaleField::Instructions), value);
            }
            (_, "inputRequests") => walk.members(|_, walk| input_request(walk.value(), sink)),
            ("tools/call", "statusMessage") if answer.member("result").is_some_and(is_created_task) => {
                sink.unnamed_text(TextAudience::Display, value);
            }
            ("tools/call", "task") => status(value, sink),
            ("tasks/list", "tasks") => walk.elements(|walk| status(walk.value(), sink)),
            ("tasks/get" | "tasks/cancel" | "tasks/update", name) => task_member(name, value, sink),
            // An explicit language argument has selected the content.
            _ if asked.language_chosen() => {}
            ("tools/call" | "tasks/result", "content") => {
                answer.result_content().for_each(|it| block(it, sink));
            }
            ("prompts/get", "messages") => walk.elements(|walk| prompt_message(walk.value(), sink)),
            ("prompts/get", "description") => {
                if let Some(prompt) = asked.subject() {
                    sink.named_text(TextSlot::Prompt(prompt, LocaleField::Description), value);
                }
            }
            ("resources/read", "contents") => walk.elements(|walk| contents(walk.value(), sink)),
            _ => {}
        }
    }
    if let Some(info) = held.and_then(|meta| meta.member(SERVER_INFO)) {
        server(info, sink);
    }
    (filled, held)
}

/// Visits the parameters of an elicitation, form or URL.
pub(super) fn elicitation(params: &mut JsonWalker<'_>, sink: &mut impl TextSink) {
    if !sink.wants(TextAudience::Display) {
        return;
    }
    params.members(|name, walk| match name.decode().as_deref() {
        Some("message") => sink.unnamed_text(TextAudience::Display, walk.value()),
        Some("requestedSchema") => walk.members(|name, walk| {
            if name.is("properties") {
                walk.members(|_, walk| property(walk, sink));
            }
        }),
        _ => {}
    });
}

/// Visits the parameters of a log message: its data is a text, or has one in `message`.
pub(super) fn log(params: SpannedValue<'_>, sink: &mut impl TextSink) {
    let Some(data) = params.member("data") else { return };
    let text = if data.kind() == JsonKind::Object { data.member("message") } else { Some(data) };
    if let Some(text) = text {
        sink.unnamed_text(TextAudience::Log, text);
    }
}

/// Visits a task with what it carries, as a notification has it.
pub(super) fn task(task: SpannedValue<'_>, sink: &mut impl TextSink) {
    for (name, value) in task.members() {
        match name.decode().as_deref() {
            Some("inputRequests") => value.members().for_each(|(_, request)| input_request(request, sink)),
            Some(name) => task_member(name, value, sink),
            None => {}
        }
    }
}

/// A member of a task: what became of it, and the result or the error that it ended with.
fn task_member(name: &str, value: SpannedValue<'_>, sink: &mut impl TextSink) {
    match name {
        "statusMessage" => sink.unnamed_text(TextAudience::Display, value),
        "result" => {
            value
                .member("content")
                .into_iter()
                .flat_map(SpannedValue::elements)
                .for_each(|it| block(it, sink));
        }
        "error" => {
            if let Some(message) = value.member("message") {
                sink.unnamed_text(TextAudience::Display, message);
            }
        }
        _ => {}
    }
}

/// A task without what it carries.
fn status(task: SpannedValue<'_>, sink: &mut impl TextSink) {
    if let Some(message) = task.member("statusMessage").filter(|_| task.member("taskId").is_some()) {
        sink.unnamed_text(TextAudience::Display, message);
    }
}

fn property(walk: &mut JsonWalker<'_>, sink: &mut impl TextSink) {
    walk.members(|name, walk| match name.decode().as_deref() {
        Some("title" | "description") => sink.unnamed_text(TextAudience::Display, walk.value()),
        Some("oneOf" | "anyOf" | "enumNames") => choices(walk, sink),
        // Where several can be chosen, the choices are those of the items.
        Some("items") => walk.members(|name, walk| {
            if name.is("oneOf") || name.is("anyOf") || name.is("enumNames") {
                choices(walk, sink);
            }
        }),
        _ => {}
    });
}

fn choices(walk: &mut JsonWalker<'_>, sink: &mut impl TextSink) {
    walk.elements(|walk| match walk.kind() {
        JsonKind::String => sink.unnamed_text(TextAudience::Display, walk.value()),
        _ => walk.members(|name, walk| {
            if name.is("title") {
                sink.unnamed_text(TextAudience::Display, walk.value());
            }
        }),
    });
}

fn input_request(request: SpannedValue<'_>, sink: &mut impl TextSink) {
    let is_elicitation = request
        .member("method")
        .and_then(SpannedValue::text)
        .is_some_and(|method| method.is("elicitation/create"));
    if let Some(params) = request.member("params").filter(|_| is_elicitation) {
        elicitation(&mut params.walk(), sink);
    }
}

/// What is common to everything that has a name.
#[derive(Default)]
struct VisitedItem<'a> {
    opening: Option<ByteSpan>,
    name: Option<Cow<'a, str>>,
    title: Option<SpannedValue<'a>>,
    description: Option<SpannedValue<'a>>,
    /// The title of earlier protocol versions.
    hint: Option<SpannedValue<'a>>,
    input: Option<SpannedValue<'a>>,
    output: Option<SpannedValue<'a>>,
    arguments: Option<SpannedValue<'a>>,
    meta: Option<SpannedValue<'a>>,
}

impl<'a> VisitedItem<'a> {
    /// Goes over a thing that is called by this member, in one pass: the name may come last.
    fn read(walk: &mut JsonWalker<'a>, key: &str, wants: impl Fn(TextAudience) -> bool) -> Self {
        let mut thing =
            Self { opening: (walk.kind() == JsonKind::Object).then(|| walk.opening()), ..Self::default() };
        let model = wants(TextAudience::Model);
        // Decoded: a title that was overlooked would be put in a second time.
        walk.members(|name, walk| match name.decode().as_deref() {
            Some(name) if name == key => thing.name = walk.value().text().and_then(JsonString::decode),
            Some("title") => thing.title = Some(walk.value()),
            Some("description") if model => thing.description = Some(walk.value()),
            Some("annotations") => thing.hint = walk.value().member("title"),
            Some("inputSchema") if model => thing.input = Some(walk.value()),
            Some("outputSchema") if model => thing.output = Some(walk.value()),
            Some("arguments") => thing.arguments = Some(walk.value()),
            Some("_meta") => thing.meta = Some(walk.value()),
            _ => {}
        });
        thing
    }

    fn texts<'s>(&self, slot: impl Fn(LocaleField) -> TextSlot<'s>, sink: &mut impl TextSink) {
        match (self.title, self.opening) {
            (Some(title), _) => sink.named_text(slot(LocaleField::Title), title),
            (None, Some(opening)) if self.hint.is_none() => {
                sink.missing_title(slot(LocaleField::Title), opening);
            }
            _ => {}
        }
        if let Some(hint) = self.hint {
            sink.named_text(slot(LocaleField::Title), hint);
        }
        if let Some(description) = self.description {
            sink.named_text(slot(LocaleField::Description), description);
        }
    }
}

/// What ChatGPT shows while a tool runs, and when it is done.
const INVOCATION_KEYS: [(&str, LocaleField); 2] = [
    ("openai/toolInvocation/invoking", LocaleField::Invoking),
    ("openai/toolInvocation/invoked", LocaleField::Invoked),
];

fn tool(walk: &mut JsonWalker<'_>, sink: &mut impl TextSink) {
    let thing = VisitedItem::read(walk, "name", |audience| sink.wants(audience));
    let Some(tool) = thing.name.as_deref() else { return };
    thing.texts(|field| TextSlot::Tool(tool, field), sink);
    for (key, field) in INVOCATION_KEYS {
        if let Some(there) = thing.meta.and_then(|meta| meta.member(key)) {
            sink.named_text(TextSlot::Tool(tool, field), there);
        }
    }
    if let Some(input) = thing.input {
        schema::visit_titles_and_descriptions(input, |path, field, there| {
            sink.named_text(TextSlot::Argument { tool, path, field }, there);
        });
    }
    if let Some(output) = thing.output {
        schema::visit_titles_and_descriptions(output, |path, field, there| {
            sink.named_text(TextSlot::Output { tool, path, field }, there);
        });
    }
}

fn prompt(walk: &mut JsonWalker<'_>, sink: &mut impl TextSink) {
    let thing = VisitedItem::read(walk, "name", |audience| sink.wants(audience));
    let Some(prompt) = thing.name.as_deref() else { return };
    thing.texts(|field| TextSlot::Prompt(prompt, field), sink);
    for argument in thing.arguments.into_iter().flat_map(SpannedValue::elements) {
        let thing = VisitedItem::read(&mut argument.walk(), "name", |audience| sink.wants(audience));
        let Some(argument) = thing.name.as_deref() else { continue };
        thing.texts(|field| TextSlot::PromptArgument { prompt, argument, field }, sink);
    }
}

fn resource(walk: &mut JsonWalker<'_>, sink: &mut impl TextSink) {
    let thing = VisitedItem::read(walk, "uri", |audience| sink.wants(audience));
    let thing = VisitedItem { hint: None, ..thing };
    if let Some(uri) = thing.name.as_deref() {
        thing.texts(|field| TextSlot::Resource(uri, field), sink);
    }
}

fn template(walk: &mut JsonWalker<'_>, sink: &mut impl TextSink) {
    let thing = VisitedItem::read(walk, "uriTemplate", |audience| sink.wants(audience));
    let thing = VisitedItem { hint: None, ..thing };
    if let Some(template) = thing.name.as_deref() {
        thing.texts(|field| TextSlot::ResourceTemplate(template, field), sink);
    }
}

fn server(info: SpannedValue<'_>, sink: &mut impl TextSink) {
    let thing = VisitedItem::read(&mut info.walk(), "name", |audience| sink.wants(audience));
    // Whatever its name: there is one server.
    if thing.name.is_some() {
        VisitedItem { hint: None, ..thing }.texts(TextSlot::Server, sink);
    }
}

/// A block of content: what it is decides where its text stands.
fn block(block: SpannedValue<'_>, sink: &mut impl TextSink) {
    let Some(kind) = block.member("type").and_then(SpannedValue::text) else { return };
    if kind.is("resource_link") {
        resource(&mut block.walk(), sink);
    } else if kind.is("text") && sink.wants(TextAudience::Model) {
        if let Some(text) = block.member("text") {
            sink.unnamed_text(TextAudience::Model, text);
        }
    } else if kind.is("resource")
        && let Some(embedded) = block.member("resource")
    {
        contents(embedded, sink);
    }
}

fn prompt_message(message: SpannedValue<'_>, sink: &mut impl TextSink) {
    match message.member("content") {
        Some(content) if content.kind() == JsonKind::Array => {
            content.elements().for_each(|it| block(it, sink));
        }
        Some(content) => block(content, sink),
        None => {}
    }
}

/// The contents of a resource; text that is data (`application/json`) is no sentence of a catalog, and stays.
fn contents(contents: SpannedValue<'_>, sink: &mut impl TextSink) {
    if let Some(text) = contents.member("text").filter(|_| sink.wants(TextAudience::Model)) {
        sink.unnamed_text(TextAudience::Model, text);
    }
}
