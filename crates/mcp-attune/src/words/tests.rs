use std::collections::BTreeSet;

use super::*;
use crate::catalog::CompiledLocale;
use serde_json::Value;

/// Sentences that are the same in a language as in English.
const SAME_AS_ENGLISH: [(&str, &str); 2] = [("es", "page-no"), ("it", "page-no")];

fn tag(tag: &str) -> Tag {
    Tag::parse(tag).unwrap()
}

fn chain(language: &str) -> LocaleChain {
    BUILTIN_LOCALES.as_ref().unwrap().chain(&tag(language))
}

fn is_same_as_english(language: &str, id: &str) -> bool {
    language == "en" || SAME_AS_ENGLISH.contains(&(language, id))
}

/// The messages that a file must have: whatever is said, and how its parts are joined.
fn expected_messages() -> BTreeSet<String> {
    let notices = Notice::samples();
    let sentences = notices.iter().flat_map(|notice| {
        let id = notice.id().unwrap();
        [Some(id.to_owned()), notice.hint().map(|_| format!("{id}-hint"))]
    });
    let words = PageWord::ALL.iter().map(|word| word.id());
    let joiners = [WITH_HINT, LIST_OR, LIST_OR_LAST];
    sentences.flatten().chain(words.chain(joiners).map(str::to_owned)).collect()
}

#[test]
fn every_file_has_the_messages_that_are_said_and_no_other() {
    let expected = expected_messages();
    for (language, text) in FILES {
        let (_, findings) = CompiledLocale::read(tag(language), text.as_bytes()).unwrap();
        assert!(findings.is_empty(), "{language}: {findings:?}");
        let file: Value = serde_json::from_str(text).unwrap();
        // A term is for the other messages of its file.
        let keys = file["messages"].as_object().unwrap().keys().filter(|key| !key.starts_with('-'));
        let keys: BTreeSet<String> = keys.cloned().collect();
        let missing: Vec<_> = expected.difference(&keys).collect();
        let unknown: Vec<_> = keys.difference(&expected).collect();
        assert!(missing.is_empty() && unknown.is_empty(), "{language}: {missing:?} {unknown:?}");
        assert_eq!(file.as_object().unwrap().len(), 1, "{language}");
    }
}

#[test]
fn english_is_the_same_in_the_file_and_in_the_table() {
    let english = chain("en");
    for notice in Notice::samples() {
        assert_eq!(render(&notice, &english), Some(notice.to_string()));
        if let Some(hint) = notice.hint() {
            assert_eq!(notice.to_string(), format!("{}; {hint}", notice.what()));
        }
    }
}

#[test]
fn every_notice_is_said_in_every_language_with_all_its_arguments() {
    for (language, _) in FILES {
        let chain = chain(language);
        for notice in Notice::samples() {
            let id = notice.id().unwrap();
            let said = render(&notice, &chain).unwrap_or_else(|| panic!("{language}: {id}"));
            assert_eq!(said == notice.to_string(), is_same_as_english(language, id), "{language}: {said}");
            for (name, argument) in notice.arguments() {
                let shown = match argument {
                    NoticeArgument::Text(text) => vec![text.to_owned()],
                    NoticeArgument::Number(number) => vec![number.to_string()],
                    NoticeArgument::Alternatives(values) => values.to_vec(),
                    NoticeArgument::Notice(inner) => vec![render(inner, &chain).unwrap()],
                };
                assert!(
                    shown.iter().all(|shown| said.contains(shown)),
                    "{language}: {id} has no {name}: {said}"
                );
            }
        }
    }
}

#[test]
fn what_stays_in_every_language_is_in_every_file() {
    let [english, others] = [true, false].map(|is_english| {
        FILES
            .iter()
            .filter(move |(tag, _)| (*tag == "en") == is_english)
            .map(|(tag, text)| (*tag, serde_json::from_str::<Value>(text).unwrap()["messages"].clone()))
    });
    let english = english.map(|(_, messages)| messages).next().unwrap();
    for (language, messages) in others {
        for (key, message) in english.as_object().unwrap() {
            let text = messages[key]["text"].as_str().unwrap();
            // Names of settings and methods stand in backticks, and names of headers have hyphens.
            let source = message["text"].as_str().unwrap();
            let settings = source.split('`').skip(1).step_by(2).filter(|name| !name.contains(' '));
            for name in settings {
                assert!(text.contains(&format!("`{name}`")), "{language}: {key} has no `{name}`");
            }
        }
    }
}

#[test]
fn what_is_refused_is_said_in_every_language() {
    let notice = Notice::AndMore {
        first: Box::new(Notice::HeaderDifferent {
            header: "Mcp-Param-Region".into(),
            argument: "params.arguments.region".into(),
        }),
        more: 2,
    };
    let replies =
        [Reply::failed(503, Some("7"), notice.clone()), Reply::tool_failed(Some("7"), true, notice)];
    for reply in replies {
        let mut said = BTreeSet::new();
        for (tag, _) in FILES {
            let adapted = localize_reply(&reply, &AcceptLanguage::parse(tag).unwrap());
            assert_eq!(adapted.content_language.as_deref(), Some(tag));
            let read: Value = serde_json::from_slice(&adapted.text).unwrap();
            assert_eq!(read["id"], 7);
            let (text, reported) = match read.get("error") {
                Some(error) => {
                    assert_eq!(error["code"], -32603);
                    (&error["message"], &error["data"]["_meta"])
                }
                None => (&read["result"]["content"][0]["text"], &read["result"]["_meta"]),
            };
            assert_eq!(reported["io.modelcontextprotocol/contentLanguage"], tag);
            let text = text.as_str().unwrap();
            assert!(text.contains("Mcp-Param-Region") && text.contains("params.arguments.region"), "{text}");
            assert!(said.insert(text.to_owned()), "{tag}: {text}");
        }
    }
}

#[test]
fn a_plural_form_is_the_one_of_the_number() {
    let said = |more| {
        let first = Box::new(Notice::HeaderRepeated { header: "Mcp-Name".into() });
        render(&Notice::AndMore { first, more }, &chain("de")).unwrap()
    };
    assert!(said(1).ends_with("(und eine weitere Abweichung, siehe data.mismatches)"), "{}", said(1));
    assert!(said(2).ends_with("(und 2 weitere Abweichungen, siehe data.mismatches)"), "{}", said(2));
}

#[test]
fn words_of_others_and_what_nobody_prefers_stay() {
    let untouched = |reply: &Reply, preference: &AcceptLanguage| {
        let localized = localize_reply(reply, preference);
        assert_eq!((&*localized.text, localized.content_language), (reply.body.as_bytes(), None));
    };
    let german = AcceptLanguage::parse("de").unwrap();
    untouched(&Reply::failed(500, None, "no such sentence".into()), &german);
    // It says the same as one of ours, and is not recognized.
    let same = Notice::ConnectionsTooMany.to_string();
    untouched(&Reply::failed(503, None, same.into()), &german);
    untouched(&Reply::failed(503, None, Notice::ConnectionsTooMany), &AcceptLanguage::default());
}

#[test]
fn every_language_has_every_word_of_a_page() {
    let english = PageWords::in_language("en");
    for (language, _) in FILES {
        for word in PageWord::ALL {
            let said = PageWords::in_language(language).get(word);
            assert!(!said.is_empty(), "{language} {word:?}");
            assert_eq!(
                said == english.get(word),
                is_same_as_english(language, word.id()),
                "{language} {said}"
            );
        }
    }
}

#[test]
fn the_words_of_a_page_are_those_of_the_nearest_language() {
    for (language, expected) in [
        ("zh", "无"),
        ("zh-CN", "无"),
        ("zh-Hant", "無"),
        ("zh-TW", "無"),
        ("zh-HK", "無"),
        ("zh-Hant-MO", "無"),
        ("pt", "não informado"),
        ("pt-PT", "não informado"),
        ("de-CH", "keine Angabe"),
        ("es-419", "sin datos"),
        ("tlh", "none"),
        ("not a tag", "none"),
    ] {
        assert_eq!(PageWords::in_language(language).get(PageWord::None), expected, "{language}");
    }
}
