//! Translations on their way through the layer: every caller in their own language, whatever happens meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{fs, io};

use mcp_attune::catalog::EmbeddedLocales;
use mcp_attune::language::Tag;
use mcp_attune_files::{FileWatcher, LocaleFilePattern, LocaleFolder};
use mcp_attune_tower::{AttuneLayer, Body, Settings};
use serde_json::{Value, json};
use tower::{Layer, ServiceExt, service_fn};

use crate::{listing, preference, send, text};

const LANGUAGES: [&str; 8] = ["de", "fr", "it", "es", "ja", "ko", "ar", "rm"];
const KEY: &str = "io.modelcontextprotocol/contentLanguage";

/// A listing whose title says nothing of itself.
const LISTED: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"t","title":"Title","inputSchema":{"type":"object"}}],"ttlMs":1}}"#;

fn file(language: &str, edition: usize) -> String {
    json!({ "tools": { "t": { "title": format!("{language} {edition}") } } }).to_string()
}

fn carried() -> Settings {
    let files: &'static [(&str, &str)] = &[
        (
            "de",
            r#"{"tools":{"t":{"title":"Titel"}},"messages":{"busy":{"source":"Busy for {n} s","text":"Noch { $n } s"}}}"#,
        ),
        ("fr", r#"{"tools":{"t":{"title":"Titre"}}}"#),
    ];
    let mut settings = Settings::default();
    settings.offer.library = Some(Arc::new(EmbeddedLocales::new(Tag::parse("en").unwrap(), files).unwrap()));
    settings
}

#[tokio::test]
async fn each_request_has_its_language_and_the_next_one_does_not() {
    for (wish, title, language) in [
        (Some("de-CH"), "Titel", Some("de")),
        (Some("fr"), "Titre", Some("fr")),
        (Some("ja"), "Title", Some("en")),
        (None, "Title", None),
    ] {
        let meta = wish.map(preference).unwrap_or_default();
        let (response, _) = send(carried(), listing(&meta, &[]), crate::json(LISTED)).await;
        assert_eq!(response.headers().get("content-language").map(|value| value.to_str().unwrap()), language);
        assert_eq!(response.headers()["vary"], "accept-language", "{wish:?}");
        let body = text(response).await;
        if wish.is_none() {
            assert_eq!(body, LISTED, "nobody asked");
        }
        let read: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(read["result"]["tools"][0]["title"], title, "{wish:?}");
        assert_eq!(read["result"]["_meta"][KEY].as_str(), language, "{wish:?}");
        assert_eq!(read["result"]["tools"][0]["name"], "t");
    }
}

#[tokio::test]
async fn an_error_is_said_in_the_callers_language_and_its_code_stays() {
    const BUSY: &str = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32050,"message":"Busy for 30 s"}}"#;
    let (response, _) = send(carried(), listing(&preference("de"), &[]), crate::json(BUSY)).await;
    let read: Value = serde_json::from_str(&text(response).await).unwrap();
    assert_eq!(read["error"]["message"], "Noch 30 s");
    assert_eq!(
        (&read["error"]["code"], &read["error"]["data"]["_meta"][KEY]),
        (&json!(-32050), &json!("de"))
    );
}

#[tokio::test]
async fn an_argument_that_names_a_language_leaves_the_content_to_the_server() {
    const SAID: &str =
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"Busy for 30 s"}]}}"#;
    let mut settings = carried();
    settings.offer.translate.model = true;
    settings.offer.language_arguments = Arc::new([("t".to_owned(), "lang".to_owned())].into());
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "t")];
    for (arguments, expected) in [(r#"{"a":1}"#, "Noch 30 s"), (r#"{"lang":"en"}"#, "Busy for 30 s")] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{arguments},"_meta":{{{}{}}}}}}}"#,
            crate::META,
            preference("de")
        );
        let (response, _) = send(settings.clone(), crate::post(&headers, &body), crate::json(SAID)).await;
        let read: Value = serde_json::from_str(&text(response).await).unwrap();
        assert_eq!(read["result"]["content"][0]["text"], expected, "{arguments}");
    }
}

#[tokio::test]
async fn what_we_refuse_is_said_in_the_callers_language() {
    let request = listing(&preference("fr"), &[("mcp-method", "tools/call")]);
    let (response, seen) = send(Settings::default(), request, crate::json(LISTED)).await;
    assert!(seen.is_empty());
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-language"]),
        (400, &"fr".parse().unwrap())
    );
    let read: Value = serde_json::from_str(&text(response).await).unwrap();
    assert_eq!(
        (&read["error"]["code"], &read["error"]["data"]["_meta"][KEY]),
        (&json!(-32020), &json!("fr"))
    );
    assert!(read["error"]["data"]["mismatches"].is_array(), "{read}");
    let message = read["error"]["message"].as_str().unwrap();
    assert!(message.contains("Mcp-Method") && !message.contains("send"), "{message}");
}

/// What was loaded stays as it is until a watcher looks, whatever happens to the files and however long it takes.
#[tokio::test]
async fn no_request_looks_whether_files_changed() {
    let place = std::env::temp_dir().join(format!("attune-unlooked-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    let german = place.join("de.json");
    fs::write(&german, file("de", 1)).unwrap();
    let pattern = LocaleFilePattern::new(&format!("{}/${{locale}}.json", place.display())).unwrap();
    let folder = Arc::new(LocaleFolder::new(pattern, Tag::parse("en").unwrap()));
    let mut settings = Settings::default();
    settings.offer.library = Some(folder.clone());
    let server = service_fn(|_: http::Request<Body>| async {
        Ok::<_, std::convert::Infallible>(crate::json(LISTED)())
    });
    let service = AttuneLayer::new(settings).layer(server);
    let title = async || {
        let response = service.clone().oneshot(listing(&preference("de"), &[])).await.unwrap();
        let read: Value = serde_json::from_str(&text(response).await).unwrap();
        read["result"]["tools"][0]["title"].as_str().unwrap().to_owned()
    };
    assert_eq!(title().await, "de 1");
    fs::write(&german, file("de", 10)).unwrap();
    // Longer than a watcher waits between two looks: it is no matter of time.
    std::thread::sleep(FileWatcher::INTERVAL + std::time::Duration::from_millis(100));
    for _ in 0..10 {
        assert_eq!(title().await, "de 1", "a request looked at the files");
        // Lets whatever a request might have begun be done.
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let watcher = FileWatcher::new().follow(folder);
    watcher.refresh();
    assert_eq!(title().await, "de 10");
    fs::remove_dir_all(&place).unwrap();
    assert_eq!(title().await, "de 10", "a request looked at the files");
    watcher.refresh();
    assert_eq!(title().await, "Title");
}

/// A thousand callers at once in eight languages, and the files change fifty times meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_one_of_a_hundred_thousand_answers_is_in_a_wrong_language() -> io::Result<()> {
    const CALLERS: usize = 1000;
    const CALLS: usize = 100;
    let place = std::env::temp_dir().join(format!("attune-localized-{}", std::process::id()));
    fs::create_dir_all(&place)?;
    let folder_of_files = place.clone();
    let write = move |edition: usize| {
        LANGUAGES.iter().try_for_each(|language| {
            // Whole or not at all, as an editor saves it.
            let (new, path) = (folder_of_files.join("new"), folder_of_files.join(format!("{language}.json")));
            fs::write(&new, file(language, edition)).and_then(|()| fs::rename(&new, &path))
        })
    };
    write(0)?;
    let pattern = LocaleFilePattern::new(&format!("{}/${{locale}}.json", place.display())).unwrap();
    let folder = Arc::new(LocaleFolder::new(pattern, Tag::parse("en").unwrap()));
    let mut settings = Settings::default();
    settings.offer.library = Some(folder.clone());
    let watcher = FileWatcher::new().follow(folder);
    let server = service_fn(|_: http::Request<Body>| async {
        Ok::<_, std::convert::Infallible>(crate::json(LISTED)())
    });
    let service = AttuneLayer::new(settings).layer(server);
    let (answered, newest) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| {
            let (service, answered, newest) = (service.clone(), answered.clone(), newest.clone());
            tokio::spawn(async move {
                let language = LANGUAGES[number % LANGUAGES.len()];
                let meta = preference(language);
                for _ in 0..CALLS {
                    let response = service.clone().oneshot(listing(&meta, &[])).await.unwrap();
                    assert_eq!(response.headers()["content-language"], language);
                    let body = text(response).await;
                    let start = format!(r#""title":"{language} "#);
                    let edition = body.split(&start).nth(1).unwrap_or_else(|| panic!("{language}: {body}"));
                    let edition: usize = edition.split('"').next().unwrap().parse().unwrap();
                    newest.fetch_max(edition, Ordering::Relaxed);
                    answered.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    let ending = over.clone();
    let editing = tokio::task::spawn_blocking(move || {
        let mut editions = 0;
        while editions < 50 || !ending.load(Ordering::Relaxed) {
            editions += 1;
            write(editions).unwrap();
            watcher.refresh();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        fs::remove_dir_all(&place).unwrap();
        editions
    });
    for caller in callers {
        caller.await.unwrap();
    }
    over.store(true, Ordering::Relaxed);
    assert!(editing.await.unwrap() >= 50);
    assert_eq!(answered.load(Ordering::Relaxed), CALLERS * CALLS);
    assert!(newest.load(Ordering::Relaxed) > 1, "no change was ever seen");
    Ok(())
}
