//! What a client says of its caller, in both eras and over both transports, and what it tells of what came of it.

use mcp_attune_rmcp::context::{ClientContext, Country, IanaTimeZone, UserLocation};
use mcp_attune_rmcp::language::AcceptLanguage;
use mcp_attune_rmcp::{CallerProfile, Connection, UnmetPreference};
use serde_json::{Value, json};

use crate::support::{Asked, demo, legacy, modern, options};

const EXTENSION: &str = "io.modelcontextprotocol/content-negotiation";

fn accept(text: &str) -> AcceptLanguage {
    AcceptLanguage::parse(text).unwrap()
}

fn swiss() -> CallerProfile {
    let zurich = UserLocation::named(Some("Zürich"), None, Country::parse("ch").ok()).unwrap();
    CallerProfile::default()
        .language(accept("de-CH, en;q=0.5"))
        .context(
            ClientContext::from_parts(IanaTimeZone::parse("Europe/Zurich").ok(), None, None)
                .with_user_location(zurich),
        )
        .features(["agent", "format=json"])
        .unwrap()
}

fn anything(asked: &Asked) -> String {
    asked.result(r#"{"resultType":"complete","tools":[],"prompts":[],"content":[]}"#)
}

#[tokio::test]
async fn says_who_is_calling_with_every_modern_request() {
    let (target, heard) = modern("{}", anything).await;
    let mut options = options();
    options.profile = swiss();
    let connection = Connection::open(&target, &options).await.unwrap();
    connection.tools().await.unwrap();
    connection.call("x", json!({})).await.unwrap();
    connection.request("vendor/anything", Value::Null).await.unwrap();
    let all = heard.take();
    assert_eq!(all.len(), 4);
    for asked in all {
        let method = asked.method();
        assert_eq!(asked.meta("acceptLanguage"), "de-CH, en;q=0.5", "{method}");
        assert_eq!(asked.lines("accept-language"), ["de-ch, en;q=0.5"], "{method}");
        let context =
            json!({ "timezone": "Europe/Zurich", "userLocation": { "city": "Zürich", "country": "CH" } });
        assert_eq!(*asked.meta("clientContext"), context, "{method}");
        assert_eq!(asked.body.get("clientContext"), None, "{method}");
        let settings = &asked.meta("clientCapabilities")["extensions"][EXTENSION];
        assert_eq!(*settings, json!({ "version": "1.0", "features": ["agent", "format=json"] }), "{method}");
    }
}

#[tokio::test]
async fn says_nothing_unless_it_is_told_to() {
    for (target, heard) in [modern("{}", anything).await, legacy("{}", anything).await] {
        let connection = Connection::open(&target, &options()).await.unwrap();
        connection.call("x", json!({})).await.unwrap();
        for asked in heard.take() {
            let (method, meta) = (asked.method(), &asked.body["params"]["_meta"]);
            for key in ["acceptLanguage", "clientContext"] {
                assert_eq!(meta.get(format!("io.modelcontextprotocol/{key}")), None, "{method}");
            }
            assert!(!asked.body.to_string().contains(EXTENSION), "{method}");
            assert!(asked.lines("accept-language").is_empty(), "{method}");
        }
    }
}

#[tokio::test]
async fn a_legacy_session_declares_features_once_and_language_and_context_with_each_request() {
    let (target, heard) = legacy("{}", anything).await;
    let mut options = options();
    options.profile = swiss();
    let connection = Connection::open(&target, &options).await.unwrap();
    connection.call("x", json!({})).await.unwrap();
    let french = swiss().language(accept("fr"));
    connection.with_profile(&french).call("x", json!({})).await.unwrap();
    let heard = heard.take();
    let [_, initialize, initialized, one, two] = &heard[..] else { panic!("{}", heard.len()) };
    let declared = &initialize.body["params"]["capabilities"]["extensions"][EXTENSION]["features"];
    assert_eq!(*declared, json!(["agent", "format=json"]));
    assert_eq!(initialize.lines("accept-language"), ["de-ch, en;q=0.5"]);
    assert!(initialized.lines("accept-language").is_empty(), "a notification prefers nothing");
    for (asked, language) in [(one, "de-CH, en;q=0.5"), (two, "fr")] {
        assert_eq!(asked.meta("acceptLanguage"), language);
        assert_eq!(asked.lines("accept-language"), [language.to_ascii_lowercase()]);
        assert_eq!(asked.meta("clientContext")["timezone"], "Europe/Zurich");
        assert_eq!(*asked.meta("clientCapabilities"), Value::Null);
    }
}

#[tokio::test]
async fn each_request_can_have_another_caller_on_one_connection() {
    let (target, heard) = modern("{}", anything).await;
    let mut options = options();
    options.profile = swiss();
    options.headers = vec!["Accept-Language: it".parse().unwrap()];
    let connection = Connection::open(&target, &options).await.unwrap();
    heard.take();
    let asked = async |profile: &CallerProfile| {
        connection.with_profile(profile).request("ping", Value::Null).await.unwrap();
        heard.take().pop().unwrap()
    };
    let coarse = asked(&swiss().coarse()).await;
    assert_eq!(
        (coarse.meta("acceptLanguage"), &coarse.lines("accept-language")[..]),
        (&json!("de, en;q=0.5"), &["de, en;q=0.5"][..])
    );
    let nobody = asked(&CallerProfile::default()).await;
    assert_eq!(*nobody.meta("acceptLanguage"), Value::Null);
    assert_eq!(nobody.lines("accept-language"), ["it"], "what was chosen for the connection");
    assert_eq!(*nobody.meta("clientCapabilities"), json!({}));
    let human = asked(&swiss().features(["human"]).unwrap()).await;
    assert_eq!(human.meta("clientCapabilities")["extensions"][EXTENSION]["features"], json!(["human"]));
    connection.request("ping", Value::Null).await.unwrap();
    assert_eq!(
        heard.take().pop().unwrap().meta("acceptLanguage"),
        "de-CH, en;q=0.5",
        "nothing is remembered"
    );
}

#[tokio::test]
async fn the_context_stands_beside_the_params_of_a_call_where_that_is_asked_for() {
    let (target, heard) = modern("{}", anything).await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    let beside = connection.with_profile(&swiss().context_beside_params()).clone();
    heard.take();
    beside.tools().await.unwrap();
    beside.call("x", json!({ "n": 1 })).await.unwrap();
    let heard = heard.take();
    let [list, call] = &heard[..] else { panic!("{}", heard.len()) };
    assert_eq!(list.meta("clientContext")["timezone"], "Europe/Zurich");
    assert_eq!(list.body.get("clientContext"), None);
    assert_eq!(call.body["clientContext"]["timezone"], "Europe/Zurich");
    assert_eq!(*call.meta("clientContext"), Value::Null);
    assert_eq!(call.body["params"]["arguments"], json!({ "n": 1 }));
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_is_told_the_same_without_headers() {
    // It answers every line with the line itself, as its result.
    let script = r#"while IFS= read -r line; do
        id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
        case "$line" in
        *server/discover*) printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}}\n' "$id";;
        *) printf '{"jsonrpc":"2.0","id":%s,"result":{"heard":%s}}\n' "$id" "$line";;
        esac
    done"#;
    let command = ["sh", "-c", script].map(str::to_owned);
    let target = mcp_attune_rmcp::ServerTarget::new(None, &command).unwrap();
    let connection = Connection::open(&target, &options()).await.unwrap();
    let heard = connection.with_profile(&swiss().context_beside_params()).call("x", json!({})).await.unwrap()
        ["heard"]
        .take();
    let meta = &heard["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/acceptLanguage"], "de-CH, en;q=0.5");
    assert_eq!(heard["clientContext"]["userLocation"]["city"], "Zürich");
    let declared = &meta["io.modelcontextprotocol/clientCapabilities"]["extensions"][EXTENSION];
    assert_eq!(declared["features"], json!(["agent", "format=json"]));
    connection.close().await;
}

#[tokio::test]
async fn reads_any_answer_and_tells_what_was_not_honoured() {
    let text = |asked: &Asked| {
        match asked.body["params"]["name"].as_str() {
        Some("english") => asked.result(
            r#"{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/contentLanguage":"en"}}"#,
        ),
        Some("data") => asked.result(
            r#"{"content":[],"structuredContent":{},"_meta":{"io.modelcontextprotocol/contentLanguage":"de"}}"#,
        ),
        _ => asked.result(r#"{"resultType":"complete","content":[{"type":"text","text":"prose"}]}"#),
    }
    };
    let plain = modern("{}", text).await.0;
    let negotiates =
        modern(r#"{"extensions":{"io.modelcontextprotocol/content-negotiation":{}}}"#, text).await.0;
    let old = legacy(r#"{"extensions":{"io.modelcontextprotocol/content-negotiation":{}}}"#, text).await.0;
    let german = swiss().language(accept("de"));
    let unmet = async |target, tool| {
        let connection = Connection::open(target, &options()).await.unwrap();
        let asking = connection.with_profile(&german);
        let result = asking.call(tool, json!({})).await.unwrap();
        asking.unmet_preferences(&result).iter().map(UnmetPreference::to_string).collect::<Vec<_>>()
    };
    let (silent, format) = (
        "the answer does not say its language; `de` may have had no effect",
        "the answer is not in the format `json`",
    );
    let nothing = "the server does not negotiate content: `agent`, `format=json` may have no effect";
    assert_eq!(unmet(&plain, "prose").await, [nothing, silent]);
    assert_eq!(unmet(&negotiates, "prose").await, [format, silent]);
    assert_eq!(
        unmet(&negotiates, "english").await,
        [format, "the words of the answer are in `en`, and none were found in `de`"]
    );
    assert_eq!(unmet(&negotiates, "data").await, [""; 0]);
    let session =
        "this session began without `agent`, `format=json`, and keeps what it began with; begin another";
    assert_eq!(unmet(&old, "data").await, [session]);
}

#[tokio::test]
async fn nothing_is_unmet_of_a_caller_who_asks_for_nothing() {
    let connection = Connection::open(&demo().await, &options()).await.unwrap();
    let asking = connection.with_profile(&CallerProfile::default());
    let result = asking.call("get_weather", json!({ "location": "Bern" })).await.unwrap();
    assert_eq!(asking.unmet_preferences(&result), []);
}
