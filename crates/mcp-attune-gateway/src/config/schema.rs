//! The JSON Schema of `attune.toml`, for editors and for programs that write the file. `attune config schema`
//! prints it.
//!
//! It knows the same keys as the parser, which a test makes sure of; a new setting is added in both. What a
//! schema cannot say, such as that two mounts have different paths, only the parser checks. The parser also
//! asks it in which table a misplaced key belongs.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use mcp_attune::clients::{ClientAtlas, ReadField};
use serde_json::{Map, Value, json};

use super::bridge::AnonymousCallers;
use super::callers::ProfileSetting;
use super::choice::KeywordSetting;
use super::context::{ContextFieldSetting, CoordinatesSetting, ForwardPlacementSetting, PastSetting};
use super::headers::{HeaderAgreementSetting, UnknownSchemaSetting};
use super::locales::TranslateSetting;
use super::tools::{BindingSourceSetting, InstantFormatSetting, IntervalEndSetting, IntervalSide};
use super::upstream::{UnknownPaths, UpstreamEra};
use super::{HttpImplementation, LanguageHeaderPolicy, LogFormat, LogLevelSetting, OnMissingParam};

/// The `$id` of the schema.
const SCHEMA_ID: &str = "urn:mcp-attune:attune.toml";

/// Returns the JSON Schema of the configuration, draft 2020-12. Every key has a description, and its default
/// where it has one.
///
/// ```
/// let schema = mcp_attune_gateway::config::schema();
/// assert_eq!(schema["properties"]["server"]["properties"]["listen"]["default"], "127.0.0.1:8808");
/// ```
#[must_use]
pub fn schema() -> Value {
    let mut properties = vec![
        ("default_language", text("The language of what has no translation, a BCP 47 tag.")),
        ("log", choice::<LogLevelSetting>("How much is logged.").default("info")),
        ("server", server()),
        ("limits", limits()),
        ("session", session()),
        ("bridge", bridge()),
    ];
    properties.extend(server_properties());
    properties.extend(settings());
    properties.push(("mounts", mounts()));
    let mut root = table("The configuration of the Attune gateway.", properties);
    let rules = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "attune.toml",
        "not": { "required": ["mounts"], "anyOf": server_properties().map(|(key, _)| json!({ "required": [key] })) },
    });
    root.join(rules);
    root
}

/// Returns the tables at the top of a file in which a key belongs, such as `[server] or [limits]`, for a
/// hint. `None` if no table at the top has such a key. The answer is computed from [`schema`] once.
pub(super) fn top_tables_of_key(key: &str) -> Option<String> {
    static TABLES_BY_KEY: OnceLock<BTreeMap<String, Vec<String>>> = OnceLock::new();
    let homes = TABLES_BY_KEY.get_or_init(|| {
        let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (table, schema) in properties(&schema()) {
            for (key, _) in properties(schema) {
                homes.entry(key.clone()).or_default().push(format!("[{table}]"));
            }
        }
        homes
    });
    homes.get(key).map(|tables| super::choice::join_with_or(tables.iter().cloned()))
}

/// Returns the properties of an object's schema.
fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// `[server]`; the fields are those of `ServerConfig`.
fn server() -> Value {
    let tls = [
        ("cert", path("The chain of certificates, a PEM file.")),
        ("key", path("The private key, a PEM file.")),
    ];
    table(
        "Where the gateway listens, and for whom.",
        [
            ("listen", text("Where callers connect: an IP address and a port.").default("127.0.0.1:8808")),
            ("admin", text("Where metrics and health are.").default("127.0.0.1:8809")),
            (
                "http",
                choice::<HttpImplementation>(
                    "Which implementation of HTTP/1.1 reads requests: Attune's own where they are plain and hyper otherwise, or hyper alone.",
                )
                .default("own"),
            ),
            (
                "allowed_hosts",
                list(&name(), "The values of Host that are answered beside loopback.").default(["localhost"]),
            ),
            ("allowed_origins", list(&name(), "The web pages that may call.").default([""; 0])),
            (
                "trusted_proxies",
                list(&name(), "The proxies whose X-Forwarded-For or Forwarded says where a caller comes from.")
                    .default(["127.0.0.0/8", "::1"]),
            ),
            (
                "shutdown_delay",
                duration("How long it goes on serving after SIGTERM, not ready any more, before it drains.")
                    .default("1 s"),
            ),
            ("access_log", flag("Whether every call is logged, in a line of its own.").default(true)),
            ("log_format", choice::<LogFormat>("How lines of the log are written.").default("text")),
            (
                "tls",
                table("The certificate to answer HTTPS with.", tls).with("required", json!(["cert", "key"])),
            ),
        ],
    )
}

/// `[limits]`; the fields are those of `LimitsConfig`. Bounds of sizes other than 1 byte are not in the
/// schema.
fn limits() -> Value {
    let most = |most: u64, description: &str| json!({ "type": "integer", "minimum": 1, "maximum": most, "description": description });
    table(
        "How much, how many and how long.",
        [
            ("body", size("The body of a request.").default("4 MiB")),
            ("answer", size("An answer that is held back while it is adapted.").default("64 MiB")),
            ("event", size("One event of a stream.").default("8 MiB")),
            ("headers", most(10_000, "The header lines of a request.").default(128)),
            ("header_bytes", size("The header lines of a request, together.").default("64 KiB")),
            ("connections", most(1_000_000, "Connections at one time.").default(10_000)),
            ("calls", most(1_000_000, "Calls at one time.").default(4096)),
            ("streams", most(1_000_000, "Streams that callers listen on, at one time.").default(4096)),
            (
                "share",
                json!({
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "maximum": 1,
                    "description": "The part of calls, streams and legacy sessions that one caller may have.",
                })
                .default(0.25),
            ),
            ("held", size("All that is held back, of requests and answers together.").default("1 GiB")),
            (
                "request_head",
                duration("For a request's head to come, and for a connection to be without one.")
                    .default("60 s"),
            ),
            ("request_pause", duration("How long a request's body may pause.").default("30 s")),
            (
                "request_body",
                duration("How long a request's body may take, beside the time that `request_rate` gives it.")
                    .default("30 s"),
            ),
            ("request_rate", size("So much of a request's body gives it a second more.").default("4 KiB")),
            ("unread", duration("How long a caller may leave unread what waits for it.").default("30 s")),
            ("upstream_first_byte", duration("Until the server behind begins to answer.").default("60 s")),
            ("stream_idle", duration("How long a stream may be silent.").default("5 min")),
            ("drain", duration("For calls to end when the gateway stops.").default("30 s")),
        ],
    )
}

/// `[session]`.
fn session() -> Value {
    let key = json!({ "type": "string", "pattern": "^[A-Za-z0-9+/_-]{43}=?$", "description": "32 bytes in base64." });
    let keys = list(&key, "The first seals, all open. Without keys one is made at each start.");
    table("The keys that seal session ids.", [("keys", keys.with("minItems", json!(1)))])
}

/// `[bridge]`.
fn bridge() -> Value {
    let sessions = json!({
        "type": "integer", "minimum": 1, "maximum": 1_000_000,
        "description": "How many sessions may be open at legacy servers for modern callers.",
    });
    table(
        "Callers of one era of MCP in front of servers of the other.",
        [
            ("sessions", sessions.default(1000)),
            ("session_idle", duration("How long such a session is kept without a call.").default("10 min")),
            ("probe", duration("For a server to say which era it speaks.").default("5 s")),
            ("input_wait", duration("For a caller to answer what it was asked.").default("5 min")),
            (
                "anonymous",
                choice::<AnonymousCallers>("Whether callers without credentials share a session.")
                    .default("share"),
            ),
        ],
    )
}

/// `[upstream]`: either `url` or `command`, and settings of programs only beside `command`.
fn upstream() -> Value {
    let env = json!({
        "type": "object", "additionalProperties": { "type": "string" },
        "description": "What is added to the environment of the command.",
    });
    let command = json!({
        "type": "array", "items": { "type": "string" }, "minItems": 1,
        "description": "A program that speaks MCP on its standard input and output, and its arguments.",
    });
    let children = json!({
        "type": "integer", "minimum": 1, "maximum": 10_000,
        "description": "How many legacy sessions, each with a child of its own, may be open at one time. Modern callers share one more.",
    });
    let url = text("The URL of the server behind.").with("pattern", json!("^[Hh][Tt][Tt][Pp][Ss]?://"));
    let rule = json!({
        "oneOf": [{ "required": ["url"] }, { "required": ["command"] }],
        "dependentRequired": { "env": ["command"], "inherit_env": ["command"], "children": ["command"], "child_idle": ["command"] },
    });
    let mut upstream = table(
        "The server behind: a url or a command.",
        [
            ("url", url),
            ("command", command),
            ("env", env),
            (
                "inherit_env",
                flag("Whether the command gets the environment of the gateway, or only PATH, HOME, LANG, TZ and the like.")
                    .default(true),
            ),
            ("children", children.default(16)),
            ("child_idle", duration("How long a command without work is kept.").default("10 min")),
            (
                "unknown_paths",
                choice::<UnknownPaths>(
                    "Paths beside the endpoint: those of /.well-known pass (GET and HEAD), all, or none.",
                )
                .default("well-known"),
            ),
            ("era", choice::<UpstreamEra>("Which era of MCP it speaks; it is asked, or not.").default("auto")),
        ],
    );
    upstream.join(rule);
    upstream
}

/// The tables that belong to one server: at the top, or in its mount.
fn server_properties() -> [(&'static str, Value); 4] {
    let shaped = |one: &str| {
        let stem = path("The templates of its text, without their suffixes.");
        table(one, [("templates", stem)]).with("required", json!(["templates"]))
    };
    let resources =
        map("The resources that there is something to say about, by URI.", &shaped("One resource."));
    let prompts = map("The prompts that there is something to say about, by name.", &shaped("One prompt."));
    [("upstream", upstream()), ("tools", tools()), ("resources", resources), ("prompts", prompts)]
}

/// The tables that a mount can have of its own or from the top.
fn settings() -> [(&'static str, Value); 6] {
    [
        ("headers", headers()),
        ("locales", locales()),
        ("content", content()),
        ("context", context()),
        ("callers", callers()),
        ("auth", auth()),
    ]
}

/// `[headers]`.
fn headers() -> Value {
    let header = json!({ "type": "string", "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" });
    let identity = list(&header, "The headers that tell callers apart, beside Authorization and Cookie.");
    table(
        "What happens when headers and body disagree, and who a caller is.",
        [
            (
                "agree",
                choice::<HeaderAgreementSetting>("A request whose headers disagree with its body.")
                    .default("enforce"),
            ),
            ("strict", flag("Refuse what is merely careless too.").default(false)),
            (
                "language_header",
                choice::<LanguageHeaderPolicy>("What Accept-Language means.").default("compare"),
            ),
            (
                "on_unknown",
                choice::<UnknownSchemaSetting>("A call whose schema a fault keeps from us.").default("pass"),
            ),
            (
                "on_missing_param",
                choice::<OnMissingParam>("A declared argument without its header.").default("refuse"),
            ),
            ("schema_ttl", duration("How long a schema is kept at least.").default("30 s")),
            ("schema_recheck", duration("How old a schema may be that refuses a request.").default("1 s")),
            ("schema_budget", duration("How long fetching a schema may take.").default("2 s")),
            ("identity_headers", identity.default(["X-Api-Key"])),
            ("identity_query", flag("Tell callers apart by the query string, too.").default(false)),
        ],
    )
}

/// `[locales]`.
fn locales() -> Value {
    let path = path("The file of each locale, with ${locale} where its tag goes.");
    let path = path.with("pattern", json!("\\$\\{locale\\}")).default("locales/${locale}.json");
    let translate = list(&choice::<TranslateSetting>("A kind of text."), "Which texts are translated.");
    table(
        "Where translations are, and what they may replace.",
        [("path", path), ("translate", translate.default(["display"]))],
    )
}

/// `[content]`.
fn content() -> Value {
    table(
        "Whether results are adapted to what callers declare.",
        [
            ("enabled", flag("Adapt results to the features that a caller declares.").default(false)),
            ("announce", flag("Tell callers so.").default(false)),
        ],
    )
}

/// `[context]`.
fn context() -> Value {
    let forward = list(&choice::<ContextFieldSetting>("A field of the context."), "The fields that go on.");
    table(
        "What of a caller's context goes on to the server behind, and how their words for times are read.",
        [
            ("forward", forward.default([""; 0])),
            ("forward_as", choice::<ForwardPlacementSetting>("Where they go.").default("meta")),
            ("coordinates", choice::<CoordinatesSetting>("How exact coordinates may be.").default("off")),
            ("past", choice::<PastSetting>("What `the last week` and its like mean.").default("rolling")),
        ],
    )
}

/// `[callers]`.
fn callers() -> Value {
    let header = |description: &str| json!({ "type": "string", "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", "description": description });
    let headers = [
        ("language", header("The languages, in the form of Accept-Language.")),
        ("timezone", header("The time zone, by its IANA name.")),
        ("locale", header("The locale, a BCP 47 tag.")),
        ("country", header("The country, by ISO 3166-1.")),
        ("region", header("The region.")),
        ("city", header("The city.")),
    ];
    let default = [
        ("language", text("The languages, in the form of Accept-Language.")),
        ("timezone", text("The time zone, by its IANA name.")),
        ("locale", text("The locale, a BCP 47 tag.")),
        ("features", list(&name(), "The feature tags that count as declared.")),
    ];
    let client = [
        (
            "name",
            text(
                "Its name in clientInfo; a `*` at the end stands for anything. Without it, the name of this table.",
            ),
        ),
        ("versions", versions().default("all")),
        ("features", list(&name(), "The feature tags to assume for it; none switch its profile off.")),
        ("reads", choice::<ReadField>("What of a result it hands to its model; the tags follow from it.")),
    ];
    let client = table("One client: `reads` or `features`.", client)
        .with("oneOf", json!([{ "required": ["features"] }, { "required": ["reads"] }]));
    let clients =
        map("What is known of clients, before what is built in; counts with `profile = \"auto\"`.", &client)
            .with("maxProperties", json!(ClientAtlas::MAX_ENTRIES));
    table(
        "What is assumed of callers that do not say it themselves.",
        [
            ("profile", choice::<ProfileSetting>("Whether a client's profile counts.").default("off")),
            ("headers", table("The headers that count, from trusted proxies.", headers)),
            ("forward_assumed", flag("Forward what is assumed as if callers had said it.").default(false)),
            ("default", table("What holds where nothing else says it.", default)),
            ("clients", clients),
        ],
    )
}

/// `[auth]`.
fn auth() -> Value {
    let audience = json!({
        "anyOf": [
            { "type": "string", "minLength": 1 },
            { "type": "array", "items": { "type": "string", "minLength": 1 }, "minItems": 1, "maxItems": 16 },
        ],
        "description": "For whom tokens are issued: one of these must be in their `aud`.",
    });
    table(
        "Whose tokens are verified, for what they say of their callers. It decides nothing about access.",
        [
            ("issuer", text("Who issues the tokens: their `iss`.")),
            ("audience", audience),
            ("jwks", text("Where the public keys of the issuer are, a JWKS document.")),
        ],
    )
}

/// A range of versions: `all`, `>=1.2`, `<2`, or `>=1.2 <2`.
fn versions() -> Value {
    let version = "v?[0-9]+(\\.[0-9]+){0,3}([+-][^ ]*)?";
    let pattern = format!("^(all|>={version}|<{version}|>={version} +<{version})$");
    json!({ "type": "string", "pattern": pattern, "description": "The versions in clientInfo that it is about." })
}

/// `[tools.NAME]`.
fn tools() -> Value {
    let properties = [
        ("templates", path("The templates of its results, without their suffixes.")),
        ("hints", path("The hints for callers that can sample.")),
        ("low_priority", list(&name(), "The fields that a compact result does without.").default([""; 0])),
        ("language_argument", text("The argument that takes the negotiated language.")),
        ("context", map("The arguments that the context fills.", &binding())),
    ];
    map("The tools that there is something to say about, by name.", &table("One tool.", properties))
}

/// `[tools.NAME.context]`: either `from`, or `interval` with `part`; `as` only with an interval or with `from
/// = "now"`.
fn binding() -> Value {
    let default = json!({
        "type": ["string", "number", "boolean"],
        "description": "What the argument is where the context does not say.",
    });
    let mut binding = table(
        "What fills an argument: `from` a field, or an end of an `interval`.",
        [
            ("from", choice::<BindingSourceSetting>("A field of the context.")),
            ("hide", flag("Take the argument out of the schema that callers see.").default(false)),
            ("default", default),
            ("interval", text("The new argument that names the interval.")),
            ("part", choice::<IntervalSide>("Which end of the interval.")),
            ("as", choice::<InstantFormatSetting>("How it is written.").default("date-time")),
            (
                "end",
                choice::<IntervalEndSetting>("Whether the end belongs to the interval.").default("exclusive"),
            ),
        ],
    );
    binding.join(json!({
        "oneOf": [{ "required": ["from"] }, { "required": ["interval", "part"] }],
        "dependentRequired": { "default": ["from"], "part": ["interval"], "end": ["interval"] },
        "if": { "required": ["as"] },
        "then": { "anyOf": [{ "required": ["interval"] }, { "properties": { "from": { "const": "now" } } }] },
    }));
    binding
}

/// `[mounts.NAME]`.
fn mounts() -> Value {
    let path =
        text("Where callers find the server.").with("pattern", json!("^(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+$"));
    let mut properties = vec![("path", path)];
    properties.extend(server_properties());
    properties.extend(settings());
    let mount = table("One of several servers.", properties).with("required", json!(["path", "upstream"]));
    map("Several servers behind one gateway, by name.", &mount)
        .with("minProperties", json!(1))
        .with("propertyNames", json!({ "pattern": "^[A-Za-z0-9_-]{1,64}$" }))
}

/// Returns the schema of a table with these keys and no others.
fn table<'k>(description: &str, properties: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    json!({
        "type": "object", "description": description, "properties": properties, "additionalProperties": false,
    })
}

/// Returns the schema of a table whose names the operator chooses, each with the same value.
fn map(description: &str, each: &Value) -> Value {
    json!({ "type": "object", "description": description, "additionalProperties": each })
}

/// Returns the schema of an array without repetitions.
fn list(each: &Value, description: &str) -> Value {
    json!({ "type": "array", "items": each, "uniqueItems": true, "description": description })
}

/// Returns the schema of a string that is not empty, with a description.
fn text(description: &str) -> Value {
    name().with("description", json!(description))
}

/// Returns the schema of a path in the file system.
fn path(description: &str) -> Value {
    text(description)
}

/// Returns the schema of a string that is not empty.
fn name() -> Value {
    json!({ "type": "string", "minLength": 1 })
}

/// Returns the schema of a boolean.
fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

/// Returns the schema of one of a few words.
fn choice<C: KeywordSetting>(description: &str) -> Value {
    let words: Vec<&str> = C::ALL.iter().map(|(word, _)| *word).collect();
    json!({ "enum": words, "description": description })
}

/// Returns the schema of a duration, such as `"250 ms"`.
fn duration(description: &str) -> Value {
    json!({ "type": "string", "pattern": "^[0-9]+ ?(ms|s|min|h)$", "description": description })
}

/// Returns the schema of a size: bytes, or a string such as `"4 MiB"`.
fn size(description: &str) -> Value {
    json!({
        "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "pattern": "^[0-9]+ ?(B|KiB|MiB|GiB)$" },
        ],
        "description": description,
    })
}

/// Adds keywords to a schema.
trait JsonSchemaExt: Sized {
    /// Sets one keyword, and returns the schema.
    fn with(self, key: &str, value: Value) -> Self;

    /// Adds all keywords of another schema. Those that are there already are replaced.
    fn join(&mut self, more: Value);

    /// Sets the default value.
    fn default(self, value: impl Into<Value>) -> Self {
        self.with("default", value.into())
    }
}

impl JsonSchemaExt for Value {
    fn with(mut self, key: &str, value: Value) -> Self {
        self.join(Value::Object(Map::from_iter([(key.to_owned(), value)])));
        self
    }

    fn join(&mut self, more: Value) {
        if let (Self::Object(schema), Self::Object(mut more)) = (self, more) {
            schema.append(&mut more);
        }
    }
}
