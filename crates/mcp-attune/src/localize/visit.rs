//! Every position of a message where text stands, and who it is for. What is not here is never translated.
//!
//! Rules: L8, L9, L11.

use std::borrow::Cow;

use mcp_attune_wire::json::{Span, Text, Type, Value, Walk};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::meta::SERVER_INFO;

use super::asked::Asked;
use super::schema;
use crate::catalog::{Field, Slot};
use crate::task::is_created;

/// Who a text is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Audience {
    /// People.
    Display,
    /// A model.
    Model,
    /// Whoever reads the log of a client.
    Log,
}

impl Audience {
    /// Titles are for people, but for those in schemas, which only models are sure to read.
    pub(super) fn of(slot: Slot<'_>) -> Self {
        match slot {
            Slot::Argument { .. } | Slot::Output { .. } => Self::Model,
            Slot::Server(field)
            | Slot::Tool(_, field)
            | Slot::Prompt(_, field)
            | Slot::PromptArgument { field, .. }
            | Slot::Resource(_, field)
            | Slot::ResourceTemplate(_, field) => match field {
                Field::Title | Field::Invoking | Field::Invoked => Self::Display,
                Field::Description | Field::Instructions => Self::Model,
            },
        }
    }
}

/// Whoever is shown the texts.
pub(super) trait Sink {
    /// Whether text for these is of interest at all.
    fn wants(&self, audience: Audience) -> bool;
    /// A text that has a name.
    fn named(&mut self, slot: Slot<'_>, there: Value<'_>);
    /// A title that is not there, and where it could be put as a first member.
    fn absent(&mut self, slot: Slot<'_>, opening: Span);
    /// A text that goes by what it says.
    fn live(&mut self, audience: Audience, there: Value<'_>);
}

/// Visits the result of an answer; tells whether it has members, and its `_meta`.
pub(super) fn result<'a>(
    answer: &Message<'a>,
    asked: &Asked,
    sink: &mut impl Sink,
) -> (bool, Option<Value<'a>>) {
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
                sink.named(Slot::Server(Field::Instructions), value);
            }
            (_, "inputRequests") => walk.members(|_, walk| input_request(walk.value(), sink)),
            ("tools/call", "statusMessage") if answer.member("result").is_some_and(is_created) => {
                sink.live(Audience::Display, value);
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
                    sink.named(Slot::Prompt(prompt, Field::Description), value);
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
pub(super) fn elicitation(params: &mut Walk<'_>, sink: &mut impl Sink) {
    if !sink.wants(Audience::Display) {
        return;
    }
    params.members(|name, walk| match name.decode().as_deref() {
        Some("message") => sink.live(Audience::Display, walk.value()),
        Some("requestedSchema") => walk.members(|name, walk| {
            if name.is("properties") {
                walk.members(|_, walk| property(walk, sink));
            }
        }),
        _ => {}
    });
}

/// Visits the parameters of a log message: its data is a text, or has one in `message`.
pub(super) fn log(params: Value<'_>, sink: &mut impl Sink) {
    let Some(data) = params.member("data") else { return };
    let text = if data.kind() == Type::Object { data.member("message") } else { Some(data) };
    if let Some(text) = text {
        sink.live(Audience::Log, text);
    }
}

/// Visits a task with what it carries, as a notification has it.
pub(super) fn task(task: Value<'_>, sink: &mut impl Sink) {
    for (name, value) in task.members() {
        match name.decode().as_deref() {
            Some("inputRequests") => value.members().for_each(|(_, request)| input_request(request, sink)),
            Some(name) => task_member(name, value, sink),
            None => {}
        }
    }
}

/// A member of a task: what became of it, and the result or the error that it ended with.
fn task_member(name: &str, value: Value<'_>, sink: &mut impl Sink) {
    match name {
        "statusMessage" => sink.live(Audience::Display, value),
        "result" => {
            value.member("content").into_iter().flat_map(Value::elements).for_each(|it| block(it, sink));
        }
        "error" => {
            if let Some(message) = value.member("message") {
                sink.live(Audience::Display, message);
            }
        }
        _ => {}
    }
}

/// A task without what it carries.
fn status(task: Value<'_>, sink: &mut impl Sink) {
    if let Some(message) = task.member("statusMessage").filter(|_| task.member("taskId").is_some()) {
        sink.live(Audience::Display, message);
    }
}

fn property(walk: &mut Walk<'_>, sink: &mut impl Sink) {
    walk.members(|name, walk| match name.decode().as_deref() {
        Some("title" | "description") => sink.live(Audience::Display, walk.value()),
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

fn choices(walk: &mut Walk<'_>, sink: &mut impl Sink) {
    walk.elements(|walk| match walk.kind() {
        Type::String => sink.live(Audience::Display, walk.value()),
        _ => walk.members(|name, walk| {
            if name.is("title") {
                sink.live(Audience::Display, walk.value());
            }
        }),
    });
}

fn input_request(request: Value<'_>, sink: &mut impl Sink) {
    let is_elicitation =
        request.member("method").and_then(Value::text).is_some_and(|method| method.is("elicitation/create"));
    if let Some(params) = request.member("params").filter(|_| is_elicitation) {
        elicitation(&mut params.walk(), sink);
    }
}

/// What is common to everything that has a name.
#[derive(Default)]
struct Thing<'a> {
    opening: Option<Span>,
    name: Option<Cow<'a, str>>,
    title: Option<Value<'a>>,
    description: Option<Value<'a>>,
    /// The title of earlier protocol versions.
    hint: Option<Value<'a>>,
    input: Option<Value<'a>>,
    output: Option<Value<'a>>,
    arguments: Option<Value<'a>>,
    meta: Option<Value<'a>>,
}

impl<'a> Thing<'a> {
    /// Goes over a thing that is called by this member, in one pass: the name may come last.
    fn read(walk: &mut Walk<'a>, key: &str, wants: impl Fn(Audience) -> bool) -> Self {
        let mut thing =
            Self { opening: (walk.kind() == Type::Object).then(|| walk.opening()), ..Self::default() };
        let model = wants(Audience::Model);
        // Decoded: a title that was overlooked would be put in a second time.
        walk.members(|name, walk| match name.decode().as_deref() {
            Some(name) if name == key => thing.name = walk.value().text().and_then(Text::decode),
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

    fn texts<'s>(&self, slot: impl Fn(Field) -> Slot<'s>, sink: &mut impl Sink) {
        match (self.title, self.opening) {
            (Some(title), _) => sink.named(slot(Field::Title), title),
            (None, Some(opening)) if self.hint.is_none() => sink.absent(slot(Field::Title), opening),
            _ => {}
        }
        if let Some(hint) = self.hint {
            sink.named(slot(Field::Title), hint);
        }
        if let Some(description) = self.description {
            sink.named(slot(Field::Description), description);
        }
    }
}

/// What ChatGPT shows while a tool runs, and when it is done.
const INVOCATION: [(&str, Field); 2] =
    [("openai/toolInvocation/invoking", Field::Invoking), ("openai/toolInvocation/invoked", Field::Invoked)];

fn tool(walk: &mut Walk<'_>, sink: &mut impl Sink) {
    let thing = Thing::read(walk, "name", |audience| sink.wants(audience));
    let Some(tool) = thing.name.as_deref() else { return };
    thing.texts(|field| Slot::Tool(tool, field), sink);
    for (key, field) in INVOCATION {
        if let Some(there) = thing.meta.and_then(|meta| meta.member(key)) {
            sink.named(Slot::Tool(tool, field), there);
        }
    }
    if let Some(input) = thing.input {
        schema::each(input, |path, field, there| sink.named(Slot::Argument { tool, path, field }, there));
    }
    if let Some(output) = thing.output {
        schema::each(output, |path, field, there| sink.named(Slot::Output { tool, path, field }, there));
    }
}

fn prompt(walk: &mut Walk<'_>, sink: &mut impl Sink) {
    let thing = Thing::read(walk, "name", |audience| sink.wants(audience));
    let Some(prompt) = thing.name.as_deref() else { return };
    thing.texts(|field| Slot::Prompt(prompt, field), sink);
    for argument in thing.arguments.into_iter().flat_map(Value::elements) {
        let thing = Thing::read(&mut argument.walk(), "name", |audience| sink.wants(audience));
        let Some(argument) = thing.name.as_deref() else { continue };
        thing.texts(|field| Slot::PromptArgument { prompt, argument, field }, sink);
    }
}

fn resource(walk: &mut Walk<'_>, sink: &mut impl Sink) {
    let thing = Thing::read(walk, "uri", |audience| sink.wants(audience));
    let thing = Thing { hint: None, ..thing };
    if let Some(uri) = thing.name.as_deref() {
        thing.texts(|field| Slot::Resource(uri, field), sink);
    }
}

fn template(walk: &mut Walk<'_>, sink: &mut impl Sink) {
    let thing = Thing::read(walk, "uriTemplate", |audience| sink.wants(audience));
    let thing = Thing { hint: None, ..thing };
    if let Some(template) = thing.name.as_deref() {
        thing.texts(|field| Slot::ResourceTemplate(template, field), sink);
    }
}

fn server(info: Value<'_>, sink: &mut impl Sink) {
    let thing = Thing::read(&mut info.walk(), "name", |audience| sink.wants(audience));
    // Whatever its name: there is one server.
    if thing.name.is_some() {
        Thing { hint: None, ..thing }.texts(Slot::Server, sink);
    }
}

/// A block of content: what it is decides where its text stands.
fn block(block: Value<'_>, sink: &mut impl Sink) {
    let Some(kind) = block.member("type").and_then(Value::text) else { return };
    if kind.is("resource_link") {
        resource(&mut block.walk(), sink);
    } else if kind.is("text") && sink.wants(Audience::Model) {
        if let Some(text) = block.member("text") {
            sink.live(Audience::Model, text);
        }
    } else if kind.is("resource")
        && let Some(embedded) = block.member("resource")
    {
        contents(embedded, sink);
    }
}

fn prompt_message(message: Value<'_>, sink: &mut impl Sink) {
    match message.member("content") {
        Some(content) if content.kind() == Type::Array => content.elements().for_each(|it| block(it, sink)),
        Some(content) => block(content, sink),
        None => {}
    }
}

/// The contents of a resource; text that is data (`application/json`) is no sentence of a catalog, and stays.
fn contents(contents: Value<'_>, sink: &mut impl Sink) {
    if let Some(text) = contents.member("text").filter(|_| sink.wants(Audience::Model)) {
        sink.live(Audience::Model, text);
    }
}
