//! Listings that are kept: whoever gets one from memory gets what they would have got without it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use http_body_util::BodyExt;
use mcp_attune::catalog::{CompiledLocale, EmbeddedLocales, LocaleIndex, LocaleStore};
use mcp_attune::language::Tag;
use mcp_attune::localize::TranslationScope;
use mcp_attune::shaping::{Shaper, ShaperSource};
use mcp_attune_shape::OperatorContent;
use mcp_attune_tower::{AttuneLayer, Body, Settings, full};
use mcp_attune_wire::readings::on_this_thread;
use serde_json::{Value, json};
use tower::{Layer, ServiceExt, service_fn};

use crate::{post, text};

const LANGUAGES: [&str; 5] = ["de", "fr", "it", "ja", "ar"];

/// Locale files that change.
#[derive(Debug)]
struct Changing(Mutex<Arc<EmbeddedLocales>>);

impl Changing {
    fn new() -> Self {
        Self(Mutex::new(Arc::new(files(0))))
    }

    fn now(&self) -> Arc<EmbeddedLocales> {
        self.0.lock().unwrap().clone()
    }

    fn change(&self, edition: usize) {
        *self.0.lock().unwrap() = Arc::new(files(edition));
    }
}

impl LocaleStore for Changing {
    fn locale_index(&self) -> Arc<LocaleIndex> {
        self.now().locale_index()
    }

    fn cached(&self, chosen: &Tag) -> Option<Vec<Arc<CompiledLocale>>> {
        self.now().cached(chosen)
    }

    fn load(&self, chosen: &Tag) -> Vec<Arc<CompiledLocale>> {
        self.now().load(chosen)
    }
}

fn files(edition: usize) -> EmbeddedLocales {
    let file = |language: &str| -> &'static str {
        let title = format!("{language} {edition}");
        let file = json!({
            "server": {"title": title, "instructions": title},
            "tools": {"t": {"title": title, "description": title}},
        });
        Box::leak(file.to_string().into_boxed_str())
    };
    let files: Vec<_> = LANGUAGES.iter().map(|language| (*language, file(language))).collect();
    EmbeddedLocales::new(Tag::parse("en").unwrap(), &files).unwrap()
}

/// What the operator wrote, which changes too.
#[derive(Debug)]
struct Announcing(Mutex<Arc<OperatorContent>>);

impl ShaperSource for Announcing {
    fn current_shaper(&self) -> Arc<dyn Shaper> {
        self.0.lock().unwrap().clone()
    }
}

/// The answer of a server to a request: its listing is the caller's own, and its id stands first or last.
fn answer(request: &Value, tools: &str, first: bool) -> String {
    let id = &request["id"];
    let result = match request["method"].as_str().unwrap() {
        "tools/list" => format!(
            r#"{{"tools":[{{"name":"t","title":"Title","description":"Does {tools}","inputSchema":{{"type":"object"}},"outputSchema":{{"type":"object"}},"_meta":{{"ui":{{"resourceUri":"ui://t"}}}}}}],"cacheScope":"public"}}"#
        ),
        _ => format!(
            r#"{{"supportedVersions":["2026-07-28"],"capabilities":{{}},"serverInfo":{{"name":"{tools}"}},"instructions":"Do"}}"#
        ),
    };
    if first {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
    } else {
        format!(r#"{{"jsonrpc":"2.0","result":{result}, "id" : {id}}}"#)
    }
}

/// The layer around a server that lists for each caller what their `x-tools` header says.
fn layered(
    settings: &Settings,
) -> impl tower::Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone {
    AttuneLayer::new(settings.clone()).layer(service_fn(|request: Request<Body>| async move {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let request: Value = serde_json::from_slice(&body).unwrap();
        let tools = parts.headers["x-tools"].to_str().unwrap();
        let answer = answer(&request, tools, !parts.headers.contains_key("x-id-last"));
        let answer = Response::builder().header("content-type", "application/json").body(full(answer));
        Ok::<_, Infallible>(answer.unwrap())
    }))
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A request that may differ from another one in everything that its answer depends on.
fn request(random: &mut Random) -> (Vec<(&'static str, String)>, String) {
    let method = random.one(&["tools/list", "server/discover"]);
    let id = random.one(&["7", "\"7\"", "-1", "\"a b\"", "12345678901234567890", "\"\\u0041\"", "7.5"]);
    let language = random.one(&["", "de", "de-CH, fr;q=0.5", "fr", "it", "ja", "ar-EG", "tlh"]);
    let tags = random.one(&["", r#""human""#, r#""agent""#, r#""format=text""#, r#""sampling""#]);
    let views = random.one(&["", r#","io.modelcontextprotocol/ui":{}"#]);
    let locale = random.one(&["", "de-CH", "fr"]);
    let zone = random.one(&["", "Europe/Zurich", "Asia/Tokyo"]);
    let mut meta = format!(
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"io.modelcontextprotocol/content-negotiation":{{"features":[{tags}]}}{views}}}}}"#
    );
    let mut headers = vec![
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", method.to_owned()),
        ("x-tools", random.one(&["one", "two", "three"]).to_owned()),
        ("authorization", format!("Bearer {}", random.below(3))),
    ];
    if !language.is_empty() {
        meta += &format!(r#","io.modelcontextprotocol/acceptLanguage":"{language}""#);
        headers.push(("accept-language", language.to_owned()));
    }
    if random.below(2) == 0 {
        headers.push(("x-id-last", "yes".to_owned()));
    }
    let member = |name: &str, value: &str| (!value.is_empty()).then(|| format!("\"{name}\":\"{value}\""));
    let context: Vec<_> =
        [member("locale", locale), member("timezone", zone)].into_iter().flatten().collect();
    let context = context.join(",");
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{meta}}}}},"clientContext":{{{context}}}}}"#
    );
    (headers, body)
}

fn settings() -> (Settings, Arc<Changing>, Arc<Announcing>) {
    let (files, content) = (Arc::new(Changing::new()), Arc::new(Announcing(Mutex::default())));
    let mut settings = Settings::default();
    settings.offer.speaks = false;
    settings.offer.library = Some(files.clone());
    settings.offer.translate = TranslationScope { model: true, ..TranslationScope::default() };
    settings.offer.content = Some(content.clone());
    (settings, files, content)
}

#[tokio::test]
async fn a_listing_from_memory_is_what_it_would_have_been_without() {
    let (settings, files, content) = settings();
    let kept = layered(&settings);
    let mut random = Random(1);
    let mut found = 0;
    for round in 0..3_000 {
        if random.below(100) == 0 {
            files.change(round);
        }
        if random.below(100) == 0 {
            let announce = random.below(2) == 0;
            *content.0.lock().unwrap() = Arc::new(OperatorContent { announce, ..OperatorContent::default() });
        }
        let (headers, body) = request(&mut random);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let before = on_this_thread();
        let one = kept.clone().oneshot(post(&headers, &body)).await.unwrap();
        let (status, lines, one) = (one.status(), one.headers().clone(), text(one).await);
        found += usize::from(on_this_thread() - before == 1);
        let other = layered(&settings).oneshot(post(&headers, &body)).await.unwrap();
        assert_eq!((status, &lines), (other.status(), other.headers()), "{body}");
        assert_eq!(one, text(other).await, "{headers:?} {body}");
    }
    // It was worth it: many were not read.
    assert!(found > 200, "{found}");
}

#[tokio::test]
async fn a_thousand_callers_in_five_languages_never_get_anothers_listing() {
    let (settings, files, _) = settings();
    let kept = layered(&settings);
    let mut random = Random(2);
    let mut edition = 0;
    for round in 0..10_000 {
        if round % 500 == 499 {
            edition = round;
            files.change(edition);
        }
        let (caller, language) = (random.below(1_000), random.one(&LANGUAGES));
        let meta = format!(
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/acceptLanguage":"{language}""#
        );
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{round},"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#
        );
        let (bearer, tools) = (format!("Bearer {caller}"), format!("caller-{caller}"));
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/list"),
            ("authorization", bearer.as_str()),
            ("x-tools", tools.as_str()),
        ];
        let answer = kept.clone().oneshot(post(&headers, &body)).await.unwrap();
        assert_eq!(answer.headers()["content-language"], language);
        let answer: Value = serde_json::from_str(&text(answer).await).unwrap();
        let told = format!("{language} {edition}");
        assert_eq!((&answer["id"], &answer["result"]["tools"][0]["title"]), (&json!(round), &json!(told)));
        assert_eq!(answer["result"]["tools"][0]["description"], told);
    }
}

/// Without translation of what models read, each caller sees what the server said to them.
#[tokio::test]
async fn what_a_server_says_to_one_caller_is_not_said_to_another() {
    let (mut settings, ..) = settings();
    settings.offer.translate = TranslationScope::default();
    let kept = layered(&settings);
    for round in 0..2_000 {
        let tools = format!("caller-{}", round % 700);
        let (bearer, id) = (format!("Bearer {tools}"), round.to_string());
        let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/acceptLanguage":"de""#;
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#);
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/list"),
            ("authorization", bearer.as_str()),
            ("x-tools", tools.as_str()),
        ];
        let answer = kept.clone().oneshot(post(&headers, &body)).await.unwrap();
        let answer: Value = serde_json::from_str(&text(answer).await).unwrap();
        assert_eq!(answer["result"]["tools"][0]["description"], format!("Does {tools}"));
    }
}
