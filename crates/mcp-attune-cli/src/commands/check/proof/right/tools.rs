//! What the server has, and the forms in which it gives it.

use mcp_attune_wire::message::meta;
use serde_json::{Value, json};

use super::{NEGOTIATION, No, Right};

const RESOURCE: &str = "map://valley";

impl Right {
    pub(super) fn tools(&self, language: &str) -> Vec<Value> {
        let german = language == "de";
        let title = if german { "Wetter" } else { "Weather" };
        let place = if german && self.has("L11/names-stay") { "Tal" } else { "valley" };
        let place = json!({ "type": "string", "enum": [place], "default": place });
        let read_only = json!({ "readOnlyHint": true });
        let weather = json!({
            "name": "weather", "title": title, "annotations": read_only,
            "inputSchema": { "type": "object", "properties": { "place": place } },
            "outputSchema": { "type": "object", "required": ["degrees"], "properties": { "degrees": { "type": "number" } } },
        });
        let clock = json!({ "name": "clock", "annotations": read_only, "inputSchema": { "type": "object" } });
        let header = |kind: &str, header: &str, value: Value| json!({ "type": kind, "x-mcp-header": header, "default": value });
        let mut absent = header("string", "Zone", json!("a"));
        absent.as_object_mut().unwrap().remove("default");
        let route = json!({
            "name": "route", "annotations": read_only,
            "inputSchema": {
                "type": "object", "required": ["region", "shard", "dry"],
                "properties": {
                    "region": header("string", "Region", json!("eu")), "shard": header("integer", "Shard", json!(42)),
                    "dry": header("boolean", "Dry", json!(true)), "zone": absent,
                },
            },
        });
        let mut tools = vec![weather, clock];
        if !self.has("claims-nothing") {
            tools.push(route);
        }
        if self.has("H5/annotations-are-valid") {
            let twice =
                json!({ "a": header("string", "A", json!("")), "b": header("string", "a", json!("")) });
            tools.push(json!({ "name": "bad", "inputSchema": { "type": "object", "properties": twice } }));
        }
        tools
    }

    pub(super) fn result(
        &self,
        body: &Value,
        language: Option<&str>,
        context: Option<&Value>,
    ) -> Result<Value, No> {
        let tags = self.tags(body)?;
        let has = |tag: &str| tags.iter().any(|found| found == tag);
        let params = &body["params"];
        let format = self.format(&tags);
        match body["method"].as_str().unwrap_or_default() {
            "server/discover" => Ok(self.introduction()),
            "tools/list" => {
                let mut tools = self.tools(language.unwrap_or("en"));
                if matches!(format, Some("text" | "markdown")) && !self.has("F13/promises-are-kept") {
                    tools
                        .iter_mut()
                        .filter_map(Value::as_object_mut)
                        .for_each(|tool| drop(tool.remove("outputSchema")));
                }
                if self.has("F12/same-things") && has("!interactive") {
                    tools.pop();
                }
                Ok(json!({ "tools": tools }))
            }
            "prompts/list" => Ok(json!({ "prompts": [{ "name": "plan" }] })),
            "resources/list" => Ok(json!({ "resources": [{ "name": "map", "uri": RESOURCE }] })),
            "prompts/get" => Ok(json!({ "messages": [] })),
            "resources/read" => {
                let shaped = format == Some("markdown");
                let text = if shaped { "# Valley" } else { "{}" };
                let kind =
                    if shaped && !self.has("F11/uri-stays") { "text/markdown" } else { "application/json" };
                Ok(json!({ "contents": [{ "uri": RESOURCE, "mimeType": kind, "text": text }] }))
            }
            "tools/call" => self.call(params, format, context, &tags),
            _ if self.has("L10/codes-stay") && language.is_some() => Err(No(404, -32099, Value::Null)),
            _ => Err(No(404, -32601, Value::Null)),
        }
    }

    fn call(
        &self,
        params: &Value,
        format: Option<&str>,
        context: Option<&Value>,
        tags: &[String],
    ) -> Result<Value, No> {
        let data = match params["name"].as_str() {
            Some("weather") => json!({ "degrees": 8.5 }),
            Some("clock") => {
                return Ok(json!({ "content": [{ "type": "text", "text": self.now(context) }] }));
            }
            Some("route") => return Ok(json!({ "content": [{ "type": "text", "text": "routed" }] })),
            _ if self.has("F12/errors-stay") && !tags.is_empty() => return Ok(json!({ "content": [] })),
            _ => return Err(No(400, -32602, Value::Null)),
        };
        let link = json!({ "type": "resource_link", "uri": RESOURCE, "name": "map" });
        let text = |text: &str| json!({ "type": "text", "text": text });
        let shaped =
            |content: Value| if self.has("F5/json") || self.has("F6/markdown") { json!([]) } else { content };
        let both = json!({ "content": [text("8.5 degrees"), link], "structuredContent": data });
        Ok(match format {
            Some("json") => json!({ "content": shaped(json!([link])), "structuredContent": data }),
            Some("markdown") => json!({ "content": shaped(json!([text("## **8.5** degrees"), link])) }),
            Some("text") => {
                let words = if self.has("F7/text") { "## 8.5 degrees" } else { "8.5 degrees" };
                json!({ "content": [text(words), link] })
            }
            Some(_) => both,
            None if self.has("F4/no-tags")
                && params["_meta"].to_string().contains("features")
                && tags.is_empty() =>
            {
                json!({ "content": [link], "structuredContent": data })
            }
            None => both,
        })
    }

    /// The tags of a request that are some.
    fn tags(&self, body: &Value) -> Result<Vec<String>, No> {
        let settings = &body["params"]["_meta"][meta::CLIENT_CAPABILITIES]["extensions"][NEGOTIATION];
        let features = match &settings["features"] {
            Value::String(text) if self.has("F3/wrong-type") => vec![text.clone()],
            Value::Array(all) => all.iter().filter_map(|tag| tag.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
        if self.has("F3/any-version") && settings["version"].is_number() {
            return Ok(Vec::new());
        }
        let is_tag = |tag: &String| !tag.contains(' ') && !tag.ends_with('=') && tag.matches('=').count() < 2;
        let bad = features.iter().any(|tag| !is_tag(tag));
        if bad && self.has("F3/bad-tags") {
            return Err(No(400, -32602, Value::Null));
        }
        if bad && self.has("F3/beside-good-ones") {
            return Ok(Vec::new());
        }
        let mut tags: Vec<String> = features.into_iter().filter(is_tag).collect();
        if self.has("F1/for-one-request") {
            let mut memory = self.memory.lock().unwrap();
            if !tags.is_empty() {
                memory.tags.clone_from(&tags);
            }
            tags.clone_from(&memory.tags);
        }
        if self.has("F15/exactly") {
            tags = tags.into_iter().map(|tag| tag.to_ascii_lowercase()).collect();
        }
        Ok(tags)
    }

    fn format(&self, tags: &[String]) -> Option<&'static str> {
        let known = |tag: &String| match tag.as_str() {
            "format=json" => Some("json"),
            "format=text" => Some("text"),
            "format=markdown" => Some("markdown"),
            _ => None,
        };
        let kind = |tag: &String| match tag.as_str() {
            "agent" if !self.has("F9/agent") => Some("json"),
            "human" if !self.has("F9/human") => Some("markdown"),
            _ => None,
        };
        let mut asked = tags.iter().filter_map(known);
        let asked = if self.has("F9/first-of-two") { asked.next_back() } else { asked.next() };
        let implied = tags.iter().find_map(kind);
        let chosen = if self.has("F9/format-first") { implied.or(asked) } else { asked.or(implied) };
        let excluded =
            |format: &&str| tags.contains(&format!("format!={format}")) && !self.has("F9/excluded");
        chosen.filter(|format| !excluded(format))
    }
}
