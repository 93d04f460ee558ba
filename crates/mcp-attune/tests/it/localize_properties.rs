//! Whatever a server says: nothing but text changes, nothing that no catalog names changes, and what does change is the
//! only difference, byte for byte.
//!
//! In these messages everything that machines read is made of the very texts that the catalog translates. A translation
//! is the text itself between « and », so what was translated can be seen, and undone.

use std::sync::LazyLock;

use mcp_attune::catalog::LocaleChain;
use mcp_attune::localize::{LocalizeOptions, RequestSubject, TranslationScope, adapt};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use super::localize::{KEY, chain, tag};

/// Names, and texts; all of them are sources of messages too.
const WORDS: [&str; 5] = ["a", "b", "Choose {x}", "c d", "é\n"];

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["a", "b", "Choose 7", "c d", "é\n", "unknown"][..])
}

static CHAIN: LazyLock<LocaleChain> = LazyLock::new(translated);

fn translated() -> LocaleChain {
    let mark = |text: &str| format!("«{text}»");
    let things = |inner: &[&str]| -> Value {
        let entry = || {
            let mut entry = json!({"title": "«title»", "description": "«description»"});
            for group in inner {
                entry[group] = WORDS
                    .iter()
                    .map(|name| {
                        ((*name).to_owned(), json!({"title": "«title»", "description": "«description»"}))
                    })
                    .collect();
            }
            entry
        };
        // The last is named by no catalog.
        WORDS.iter().take(4).map(|name| ((*name).to_owned(), entry())).collect()
    };
    let messages: Value = WORDS
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let fluent = text.replace("{x}", "{ TEXT($x) }").replace('\n', "{\"\\u000A\"}");
            (format!("m{at}"), json!({"source": text, "text": mark(&fluent)}))
        })
        .collect();
    chain(&[(
        "de",
        json!({
            "server": {"title": "«title»", "description": "«description»", "instructions": "«instructions»"},
            "tools": things(&["arguments", "output"]),
            "prompts": things(&["arguments"]),
            "resources": things(&[]),
            "resource_templates": things(&[]),
            "messages": messages,
        }),
    )])
}

/// JSON with the member names that mean something, in places where they mean nothing.
fn noise() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        word().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(Value::Null),
        Just(Value::Bool(true)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let name = prop::sample::select(
            &["title", "description", "name", "text", "message", "enum", "const", "a"][..],
        );
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn schema() -> impl Strategy<Value = Value> {
    let property = (word(), word(), noise(), noise()).prop_map(|(title, description, value, constant)| {
        json!({"title": title, "description": description, "enum": [value], "const": constant, "default": value,
            "oneOf": [{"const": title, "title": title}], "items": {"anyOf": [{"const": title, "title": title}], "enum": [title]},
            "enumNames": [title, 7]})
    });
    (prop::collection::vec((word(), property), 0..3), word(), noise()).prop_map(|(properties, title, noise)| {
        let properties: serde_json::Map<_, _> = properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        json!({"type": "object", "title": title, "properties": properties, "required": [title], "examples": noise})
    })
}

/// One thing in a list, its members in any order but for the first: titles that are put in stand before it.
fn thing() -> impl Strategy<Value = Value> {
    let optional = |name: &'static str, value: BoxedStrategy<Value>| {
        prop::option::of(value).prop_map(move |value| value.map(|value| (name.to_owned(), value)))
    };
    let text = || word().prop_map(Value::from).boxed();
    let members = (
        optional("name", text()),
        optional("uri", text()),
        optional("uriTemplate", text()),
        optional("title", prop_oneof![4 => text(), 1 => noise().boxed()].boxed()),
        optional("description", text()),
        optional(
            "annotations",
            (word(), noise())
                .prop_map(|(title, noise)| json!({"audience": title, "title": title, "x": noise}))
                .boxed(),
        ),
        optional("inputSchema", schema().boxed()),
        optional("outputSchema", schema().boxed()),
        optional(
            "arguments",
            prop::collection::vec((word(), word()), 0..3)
                .prop_map(|arguments| {
                    arguments
                        .into_iter()
                        .map(|(name, title)| json!({"name": name, "title": title, "description": title}))
                        .collect()
                })
                .boxed(),
        ),
        optional("x", noise().boxed()),
    );
    let members = members.prop_map(|(a, b, c, d, e, f, g, h, i, j)| {
        [a, b, c, d, e, f, g, h, i, j].into_iter().flatten().collect::<Vec<_>>()
    });
    members
        .prop_shuffle()
        .prop_map(|members| [("first".to_owned(), json!(1))].into_iter().chain(members).collect())
}

fn form() -> impl Strategy<Value = Value> {
    (word(), schema(), noise()).prop_map(|(message, schema, noise)| {
        json!({"message": message, "mode": message, "url": message, "requestedSchema": schema, "x": noise})
    })
}

fn block() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(&["text", "resource_link", "resource", "image", "a"][..]);
    (kind, word(), word(), thing(), noise()).prop_map(|(kind, text, role, thing, noise)| {
        let mut block = thing;
        block["type"] = kind.into();
        block["text"] = text.into();
        block["data"] = text.into();
        block["mimeType"] = text.into();
        block["resource"] = json!({"uri": text, "mimeType": text, "text": text, "blob": text, "x": noise});
        block["role"] = role.into();
        block
    })
}

/// A method and a message of its answer.
fn message() -> impl Strategy<Value = (&'static str, Value)> {
    const LISTS: &[(&str, &str)] = &[
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("unknown/list", "tools"),
    ];
    let list = (prop::sample::select(LISTS), prop::collection::vec(thing(), 0..4), word(), noise()).prop_map(
        |((method, member), things, cursor, noise)| {
            (method, json!({member: things, "nextCursor": cursor, "x": noise}))
        },
    );
    let server = (prop::sample::select(&["initialize", "server/discover", "ping"][..]), thing(), word(), noise()).prop_map(
        |(method, info, text, noise)| {
            (method, json!({"serverInfo": info, "instructions": text, "protocolVersion": text, "capabilities": noise,
                "_meta": {"first": 1, "io.modelcontextprotocol/serverInfo": info, "a": text}}))
        },
    );
    let content = (prop::sample::select(&["tools/call", "prompts/get", "resources/read"][..]), prop::collection::vec(block(), 0..4), word(), noise()).prop_map(
        |(method, blocks, text, noise)| {
            let messages: Vec<_> = blocks.iter().map(|block| json!({"role": text, "content": block})).collect();
            (method, json!({"content": blocks, "messages": messages, "contents": blocks, "structuredContent": noise, "description": text, "isError": true}))
        },
    );
    let required = (form(), form(), word()).prop_map(|(one, other, text)| {
        ("tools/call", json!({"resultType": text, "requestState": text, "inputRequests": {
            text: {"method": "elicitation/create", "params": one}, "other": {"method": "sampling/createMessage", "params": other}}}))
    });
    let result = prop_oneof![list, server, content, required]
        .prop_map(|(method, result)| (method, json!({"jsonrpc": "2.0", "id": "a", "result": result})));
    let error = (word(), prop::option::of(noise())).prop_map(|(text, data)| {
        let mut error = json!({"code": -32602, "message": text});
        if let Some(data) = data {
            error["data"] = data;
        }
        ("tools/call", json!({"jsonrpc": "2.0", "id": "a", "error": error}))
    });
    let question = (
        form(),
        prop::sample::select(
            &[
                "elicitation/create",
                "sampling/createMessage",
                "notifications/progress",
                "notifications/message",
            ][..],
        ),
    )
        .prop_map(|(form, method)| {
            let mut message = json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": form});
            if method == "notifications/message" {
                let said = message["params"]["message"].clone();
                message["params"]["data"] = json!({"message": said, "title": said, "a": {"message": said}});
            }
            if method.starts_with("notifications") {
                message.as_object_mut().unwrap().remove("id");
            }
            ("tools/call", message)
        });
    prop_oneof![6 => result, 1 => error, 2 => question]
}

/// Whether text may stand at this place. Written apart from the code: a path is matched against a list of shapes, in
/// which `*` is any one step.
fn may_change(method: &str, path: &[String]) -> bool {
    let shapes: &[&str] = match method {
        "tools/list" => &[
            "result.tools.*.title",
            "result.tools.*.annotations.title",
            "result.tools.*.description",
            "result.tools.*.inputSchema.properties.*.title",
            "result.tools.*.inputSchema.properties.*.description",
            "result.tools.*.outputSchema.properties.*.title",
            "result.tools.*.outputSchema.properties.*.description",
        ],
        "prompts/list" => &[
            "result.prompts.*.title",
            "result.prompts.*.annotations.title",
            "result.prompts.*.description",
            "result.prompts.*.arguments.*.title",
            "result.prompts.*.arguments.*.description",
        ],
        "resources/list" => &["result.resources.*.title", "result.resources.*.description"],
        "resources/templates/list" => {
            &["result.resourceTemplates.*.title", "result.resourceTemplates.*.description"]
        }
        "initialize" | "server/discover" => {
            &["result.serverInfo.title", "result.serverInfo.description", "result.instructions"]
        }
        "tools/call" => &[
            "result.content.*.text",
            "result.content.*.title",
            "result.content.*.description",
            "result.content.*.resource.text",
            "error.message",
        ],
        "prompts/get" => &[
            "result.description",
            "result.messages.*.content.text",
            "result.messages.*.content.title",
            "result.messages.*.content.description",
            "result.messages.*.content.resource.text",
        ],
        "resources/read" => &["result.contents.*.text"],
        _ => &[],
    };
    let forms = ["params", "result.inputRequests.*.params"].iter().flat_map(|form| {
        [
            "message",
            "requestedSchema.properties.*.title",
            "requestedSchema.properties.*.description",
            "requestedSchema.properties.*.oneOf.*.title",
            "requestedSchema.properties.*.items.anyOf.*.title",
            "requestedSchema.properties.*.enumNames.*",
        ]
        .iter()
        .map(move |text| format!("{form}.{text}"))
    });
    let forms = forms.chain(["params.data".to_owned(), "params.data.message".to_owned()]);
    let server = ["title", "description"]
        .map(|text| format!("result._meta.io/modelcontextprotocol/serverInfo.{text}"));
    let shapes = shapes.iter().map(|shape| (*shape).to_owned()).chain(forms).chain(server);
    // Names with a point would make two steps of one.
    let path: Vec<_> =
        path.iter().map(|step| step.replace("io.modelcontextprotocol", "io/modelcontextprotocol")).collect();
    shapes.into_iter().any(|shape| {
        let shape: Vec<_> = shape.split('.').collect();
        shape.len() == path.len()
            && shape.iter().zip(&path).all(|(shape, step)| *shape == "*" || shape == step)
    })
}

/// The places of everything that was translated.
fn changed(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match value {
        Value::String(text) if text.contains('«') => found.push(path.clone()),
        Value::Array(elements) => {
            for (at, value) in elements.iter().enumerate() {
                path.push(at.to_string());
                changed(value, path, found);
                path.pop();
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                assert!(!name.contains('«'), "{name}");
                path.push(name.clone());
                changed(value, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

/// The text between brackets of the original value at a place.
fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Array(elements) => elements.get(step.parse::<usize>().ok()?),
        value => value.get(step),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, rng_seed: RngSeed::Fixed(2792), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_but_text_is_ever_translated((method, message) in message(), model: bool, pretty: bool) {
        let before = if pretty { serde_json::to_string_pretty(&message) } else { serde_json::to_string(&message) }.unwrap();
        let (english, chain) = (tag("en"), &*CHAIN);
        let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"name":"a"}}}}"#);
        let asked = RequestSubject::of(&mcp_attune_wire::message::Message::parse(request.as_bytes()).unwrap());
        let how = LocalizeOptions { asked: &asked, chain: Some(chain), translate: TranslationScope { display: true, model, logs: model }, default: Some(&english), spoken: None };
        let adapted = adapt(before.as_bytes(), &how);
        let after = std::str::from_utf8(&adapted.text).unwrap();
        let read: Value = serde_json::from_str(after).unwrap();
        let mut places = Vec::new();
        changed(&read, &mut Vec::new(), &mut places);
        // The longest first, so that a text that was put in does not move what is undone later.
        let mut undone = read.clone();
        for place in &places {
            prop_assert!(may_change(method, place), "{place:?} in {after}");
            prop_assert!(model || place.last().unwrap() != "instructions");
            let (name, holder) = place.split_last().unwrap();
            match at(&message, place) {
                Some(original) => {
                    prop_assert!(original.is_string());
                    let slot = holder.iter().fold(&mut undone, |value, step| match value {
                        Value::Array(elements) => &mut elements[step.parse::<usize>().unwrap()],
                        value => &mut value[step],
                    });
                    match slot {
                        Value::Array(elements) => elements[name.parse::<usize>().unwrap()] = original.clone(),
                        slot => slot[name] = original.clone(),
                    }
                }
                None => {
                    prop_assert_eq!(name, "title");
                    let slot = holder.iter().fold(&mut undone, |value, step| match value {
                        Value::Array(elements) => &mut elements[step.parse::<usize>().unwrap()],
                        value => &mut value[step],
                    });
                    slot.as_object_mut().unwrap().remove("title");
                }
            }
        }
        if adapted.content_language.is_some() {
            let (holder, name): (&mut Value, _) = match () {
                () if undone.get("result").is_some() => (&mut undone, "result"),
                () if undone.get("error").is_some() => (&mut undone, "error"),
                () => (&mut undone, "params"),
            };
            let mut holder = &mut holder[name];
            let bare = message["error"].get("data").is_none() && name == "error";
            if bare {
                holder.as_object_mut().unwrap().remove("data");
            } else {
                if name == "error" {
                    holder = &mut holder["data"];
                }
                prop_assert_eq!(holder["_meta"].as_object_mut().unwrap().remove(KEY), Some(if places.is_empty() { "en" } else { "de" }.into()));
                if holder["_meta"].as_object().unwrap().is_empty() {
                    holder.as_object_mut().unwrap().remove("_meta");
                }
            }
        }
        prop_assert_eq!(&undone, &message);
        // And in bytes: what was put in taken out again, nothing else differs.
        let bare = message["error"].get("data").is_none();
        prop_assert_eq!(without(after, bare), without(&before, bare));
        if places.is_empty() && adapted.content_language.is_none() {
            prop_assert_eq!(after, before.as_str());
        }
    }
}

/// A message without the texts that may have been put in or replaced, and without reports; with `bare`, an error had
/// no `data` before.
fn without(message: &str, bare: bool) -> String {
    let mut out = message.to_owned();
    for report in ["de", "en"].map(|language| format!("\"{KEY}\":\"{language}\"")) {
        for form in [
            format!("\"data\":{{\"_meta\":{{{report}}}}},{}", if bare { "" } else { "never" }),
            format!("\"_meta\":{{{report}}},"),
            format!("\"_meta\":{{{report}}}"),
            format!("{report},"),
            report,
        ] {
            out = out.replace(&form, "");
        }
    }
    out = out.replace("\"title\":\"«title»\",", "\"title\":\"\",");
    // A title that was put in stands right after the bracket.
    out = out.replace("{\"title\":\"\",", "{");
    let mut bare = String::new();
    let mut rest = out.as_str();
    // Every string value becomes empty: names of members and everything between strings is what is compared.
    while let Some(start) = rest.find('"') {
        let (before, string) = rest.split_at(start);
        bare.push_str(before);
        let mut escaped = false;
        let end = string.char_indices().skip(1).find(|(_, char)| {
            let ends = *char == '"' && !escaped;
            escaped = *char == '\\' && !escaped;
            ends
        });
        let (string, after) = string.split_at(end.unwrap().0 + 1);
        bare.push_str(if after.trim_start().starts_with(':') { string } else { "\"\"" });
        rest = after;
    }
    bare + rest
}
