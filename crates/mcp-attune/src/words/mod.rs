//! Attune's own words: what it says to callers itself, when it refuses a request or when a server fails.
//!
//! The code says them in English. Each language has a locale file here, with every sentence as a message, so that
//! translators work on Attune as on any server, and what they have not translated yet stays English.
//!
//! Rules: L7, L10.
//!
//! ```
//! use mcp_attune::{language::AcceptLanguage, words};
//!
//! let reply = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"there are too many connections; try again later"}}"#;
//! let said = words::localize_reply(reply, &AcceptLanguage::parse("de-CH").unwrap());
//! assert_eq!(said.content_language.as_deref(), Some("de"));
//! assert!(String::from_utf8_lossy(&said.text).contains("Verbindungen"));
//! ```

use mcp_attune_wire::protocol::method;
use std::sync::LazyLock;

use jiff::tz::TimeZone;

use crate::catalog::{EmbeddedLocales, LocaleChain, LocaleStore};
use crate::format::Formatters;
use crate::language::{AcceptLanguage, Tag, lookup};
use crate::localize::{LocalizeOptions, LocalizedMessage, RequestSubject, TranslationScope, adapt};

/// The files, by their tags.
pub const FILES: [(&str, &str); 12] = [
    ("ar", include_str!("ar.json")),
    ("de", include_str!("de.json")),
    ("en", include_str!("en.json")),
    ("es", include_str!("es.json")),
    ("fr", include_str!("fr.json")),
    ("hi", include_str!("hi.json")),
    ("it", include_str!("it.json")),
    ("ja", include_str!("ja.json")),
    ("ko", include_str!("ko.json")),
    ("pt-BR", include_str!("pt-BR.json")),
    ("zh-Hans", include_str!("zh-Hans.json")),
    ("zh-Hant", include_str!("zh-Hant.json")),
];

struct BuiltinLocales {
    files: EmbeddedLocales,
    formatters: Formatters,
    english: Tag,
}

static BUILTIN_LOCALES: LazyLock<Option<BuiltinLocales>> = LazyLock::new(|| {
    let english = Tag::parse("en").ok()?;
    let files = EmbeddedLocales::new(english.clone(), &FILES).ok()?;
    Some(BuiltinLocales { files, formatters: Formatters::default(), english })
});

/// An answer of our own, in the language that its caller prefers. Where that is none of ours, it stays as it is.
#[must_use]
pub fn localize_reply<'m>(reply: &'m [u8], preference: &AcceptLanguage) -> LocalizedMessage<'m> {
    let untouched = LocalizedMessage { text: reply.into(), content_language: None };
    let Some(BuiltinLocales { files, formatters, english }) =
        BUILTIN_LOCALES.as_ref().filter(|_| !preference.is_empty())
    else {
        return untouched;
    };
    let catalogs = files.locale_index();
    let chosen = lookup(preference, catalogs.languages()).language.clone();
    let chain = LocaleChain::new(
        &chosen,
        files.load(&chosen),
        formatters,
        formatters.for_locales([&chosen], TimeZone::UTC),
    );
    // What we say in the place of a tool is as much for people as for models.
    let translate = TranslationScope { display: true, model: true, logs: false };
    let asked = RequestSubject::new(method::TOOLS_CALL);
    let how = LocalizeOptions {
        asked: &asked,
        chain: Some(&chain),
        translate,
        default: Some(english),
        spoken: None,
    };
    adapt(reply, &how)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::CompiledLocale;
    use mcp_attune_wire::hop_headers::HopHeaderError;
    use mcp_attune_wire::message::Message;
    use mcp_attune_wire::reply::Reply;

    #[test]
    fn every_file_is_whole_and_has_the_same_messages() {
        let mut counts = Vec::new();
        for (tag, text) in FILES {
            let (locale, findings) = CompiledLocale::read(Tag::parse(tag).unwrap(), text.as_bytes()).unwrap();
            assert!(findings.is_empty(), "{tag}: {findings:?}");
            counts.push(locale.messages().len());
        }
        assert!(counts.iter().all(|count| *count == counts[0] && *count > 80), "{counts:?}");
    }

    /// A sentence as it is sent, in each language: it is another one everywhere, and what varies is still in it.
    #[track_caller]
    fn check(message: &str, kept: &[&str]) {
        let reply = Reply::failed(500, Some("7"), &message);
        let mut said = vec![message.to_owned()];
        for (tag, _) in FILES.iter().filter(|(tag, _)| *tag != "en") {
            let adapted = localize_reply(reply.body.as_bytes(), &AcceptLanguage::parse(tag).unwrap());
            let read: serde_json::Value = serde_json::from_slice(&adapted.text).unwrap();
            assert_eq!(adapted.content_language.as_deref(), Some(*tag), "{message}");
            assert_eq!(
                read["error"]["data"]["_meta"]["io.modelcontextprotocol/contentLanguage"], *tag,
                "{message}"
            );
            assert_eq!((&read["id"], &read["error"]["code"]), (&7.into(), &(-32603).into()));
            let text = read["error"]["message"].as_str().unwrap().to_owned();
            assert!(kept.iter().all(|kept| text.contains(kept)), "{tag}: {text}");
            assert!(!said.contains(&text), "{tag}: {text}");
            said.push(text);
        }
    }

    #[test]
    fn what_is_refused_is_said_in_every_language() {
        check("there are too many connections; try again later", &[]);
        check(
            "Mcp-Param-Region is not what params.arguments.region says; send the two equal",
            &["Mcp-Param-Region", "params.arguments.region"],
        );
        check("the body is over 4194304 bytes, the limit `body`; send a smaller one", &["`body`"]);
        check("the path is another spelling of /mcp; write it exactly so", &["/mcp"]);
        check("this method is not allowed here; use POST, GET, DELETE, OPTIONS, HEAD", &["DELETE"]);
        check(&HopHeaderError::ConnectionNames("mcp-name".into()).to_string(), &["Connection", "mcp-name"]);
        check(&HopHeaderError::Underscore.to_string(), &["Mcp"]);
        check(
            "Mcp-Param-* has an underscore in its name that the tool does not declare; write the name as the tool declares \
             it, or leave the header out",
            &["Mcp-Param-*"],
        );
        check("the address has bytes outside ASCII; percent-encode them", &["ASCII"]);
        check("too many streams are open; try again later", &[]);
        check("too many calls of this caller are running; wait for some of them to end", &[]);
        check("too many streams of this caller are open; close some of them", &[]);
        check("the request's body came too slowly; send it faster, or a smaller one", &[]);
        check(
            "too much is being held back for other calls, the limit `held`; try again in a moment",
            &["`held`"],
        );
        check(
            "as many sessions of one caller are open as may be; end those that are over, or try again later",
            &[],
        );
        let folded = Message::parse(br#"{"Method":1}"#).unwrap().check_case().unwrap_err();
        check(&folded.to_string(), &["MCP"]);
    }

    #[test]
    fn what_nobody_translated_and_what_nobody_prefers_stays() {
        let reply = Reply::failed(500, None, &"no such sentence").body;
        let german = AcceptLanguage::parse("de").unwrap();
        assert_eq!(
            localize_reply(reply.as_bytes(), &german),
            LocalizedMessage { text: reply.as_bytes().into(), content_language: None }
        );
        let reply = Reply::failed(503, None, &"there are too many connections; try again later").body;
        let none = AcceptLanguage::default();
        assert_eq!(localize_reply(reply.as_bytes(), &none).text, reply.as_bytes());
    }
}
