//! What holds for every input.

use mcp_attune::language::{AcceptLanguage, ContentLanguage, LanguageRange, Languages, Tag, Why, lookup};
use mcp_attune::session::{
    CONTENT_NEGOTIATION, ClientFeatures, ClientImplementation, EventIdPayload, SessionFacts, SessionIdPayload,
};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::quality::Quality;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Few languages that go by one name only, so that ranges and tags often have to do with each other.
fn plain_language() -> impl Strategy<Value = String> {
    let language = prop::sample::select(vec!["en", "de", "es", "zh", "ca", "gsw", "hi", "fr", "ht", "qaa"]);
    let script = prop::sample::select(vec!["", "", "", "-Latn", "-Hant", "-Cyrl"]);
    let region = prop::sample::select(vec!["", "", "-US", "-419", "-TW", "-CH", "-ME", "-IN", "-MX"]);
    let rest = prop::sample::select(vec!["", "", "", "-1996", "-x-a", "-u-ca-gregory"]);
    (language, script, region, rest).prop_map(|(a, b, c, d)| format!("{a}{b}{c}{d}"))
}

/// The same, and some that go by several names.
fn language() -> impl Strategy<Value = String> {
    let alias = prop::sample::select(vec![
        "sr",
        "sh",
        "iw",
        "he",
        "no",
        "nb",
        "nn",
        "no-NO",
        "i-klingon",
        "tlh",
        "zh-yue",
        "yue",
        "x-a-b",
        "x-a",
        "en-GB-oed",
        "en-UK",
        "en-GB",
        "sh-ME",
        "sr-Latn",
    ]);
    prop_oneof![2 => plain_language(), 1 => alias.prop_map(str::to_owned)]
}

fn plain_range() -> impl Strategy<Value = String> {
    prop_oneof![8 => plain_language(), 1 => Just("*".to_owned())]
}

fn range() -> impl Strategy<Value = String> {
    prop_oneof![8 => language(), 1 => Just("*".to_owned()), 1 => "[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8}){0,3}"]
}

/// Few weights, so that they are often equal and often 0.
fn weight() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", ";q=1", ";q=0.9", ";q=0.5", " ; Q=0.50", ";q=0.", ";q=0", ";q=0.001"])
}

fn preference() -> impl Strategy<Value = String> {
    preference_of(range())
}

fn preference_of(range: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let separator = prop::sample::select(vec![",", ", ", " ,\t", ",,"]);
    vec((range, weight(), separator), 0..6).prop_map(|members| {
        let mut text = String::new();
        for (range, weight, separator) in members {
            if !text.is_empty() {
                text.push_str(separator);
            }
            text.push_str(&range);
            text.push_str(weight);
        }
        text
    })
}

fn offer() -> impl Strategy<Value = Vec<String>> {
    vec(language(), 1..8)
}

fn offered(tags: &[String]) -> Languages {
    Languages::new(tags[0].as_str(), tags[1..].iter().map(String::as_str)).unwrap()
}

/// The weight that a tag has by rule L4 as text, aliases aside: what covers, then what reaches, then `*`. A range that is
/// listed with weight 0 too is excluded.
fn weight_by_the_book(accept: &AcceptLanguage, tag: &str) -> Option<Quality> {
    let begins = |tag: &str, range: &str| {
        let (tag, range) = (tag.to_ascii_lowercase() + "-", range.to_ascii_lowercase() + "-");
        tag.starts_with(&range)
    };
    let listed: Vec<_> = accept.ranges().map(|(range, quality)| (range.as_str(), quality)).collect();
    let excluded = |range: &str| {
        listed.iter().any(|(other, quality)| quality.is_zero() && other.eq_ignore_ascii_case(range))
    };
    let weight = |range: &str, quality| if excluded(range) { Quality::ZERO } else { quality };
    let ranges: Vec<_> = listed.iter().map(|(range, quality)| (*range, weight(range, *quality))).collect();
    let covering = ranges.iter().filter(|(range, _)| begins(tag, range));
    if let Some((_, quality)) = covering.max_by_key(|(range, quality)| (range.len(), *quality)) {
        return Some(*quality);
    }
    let reaching = ranges.iter().filter(|(range, quality)| {
        !quality.is_zero()
            && std::iter::successors(shortened(range), |it| shortened(it)).any(|it| begins(tag, it))
    });
    if let Some(quality) = reaching.map(|(_, quality)| *quality).max() {
        return Some(quality);
    }
    ranges.iter().filter(|(range, _)| *range == "*").map(|(_, quality)| *quality).max()
}

/// One step of RFC 4647 §3.4.
fn shortened(range: &str) -> Option<&str> {
    let (mut shorter, _) = range.rsplit_once('-')?;
    while let Some((before, last)) = shorter.rsplit_once('-')
        && last.len() == 1
    {
        shorter = before;
    }
    (shorter.len() > 1).then_some(shorter)
}

proptest! {
    // The same inputs every time, so that a build says the same twice; new ones are the fuzz targets' work.
    #![proptest_config(ProptestConfig { cases: 2000, rng_seed: RngSeed::Fixed(2792), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_lookup_remembers_nothing_of_those_before_it(
        texts in vec(preference(), 1..4), last in preference(), tags in offer(),
    ) {
        let languages = offered(&tags);
        let choose = |text: &str| lookup(&AcceptLanguage::parse(text).unwrap(), &languages).language.to_string();
        let alone = choose(&last);
        for text in &texts {
            choose(text);
        }
        prop_assert_eq!(choose(&last), alone);
    }

    #[test]
    fn printing_a_preference_gives_back_its_text(text in preference()) {
        let accept = AcceptLanguage::parse(&text).unwrap();
        prop_assert_eq!(accept.to_string(), text.as_str());
        prop_assert_eq!(AcceptLanguage::parse(&accept.to_string()).unwrap(), accept);
    }

    #[test]
    fn printing_a_tag_gives_back_its_text(text in language()) {
        prop_assert_eq!(Tag::parse(&text).unwrap().to_string(), text);
    }

    #[test]
    fn reading_never_panics(text in any::<String>()) {
        for text in [text.as_str(), &text.replace(|letter: char| !letter.is_ascii(), ",")] {
            let accept = AcceptLanguage::parse(text).unwrap_or_default();
            let _ = (Tag::parse(text), ContentLanguage::parse(text), LanguageRange::parse(text), accept.coarse());
        }
    }

    #[test]
    fn reading_near_misses_never_panics(text in "[a-z*;q=0-9., \t-]{0,40}") {
        let languages = Languages::new("en", ["de", "zh-Hant"]).unwrap();
        match AcceptLanguage::parse(&text) {
            Ok(accept) => drop(lookup(&accept, &languages)),
            Err(fault) => prop_assert!(fault.at() <= text.len()),
        }
    }

    #[test]
    fn what_is_built_reads_the_same(members in vec((range(), 0..=1000_u16), 0..6)) {
        let weighted = |(range, thousandths): &(String, u16)| {
            let weight = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
            (range.clone(), Quality::parse(&weight).unwrap())
        };
        let members: Vec<_> = members.iter().map(weighted).collect();
        let ranges = members.iter().map(|(range, quality)| (LanguageRange::parse(range).unwrap(), *quality));
        let built = AcceptLanguage::from_ranges(ranges).unwrap();
        let read = AcceptLanguage::parse(built.as_str()).unwrap();
        let read: Vec<_> = read.ranges().map(|(range, quality)| (range.to_string(), quality)).collect();
        prop_assert_eq!(read, members);
    }

    #[test]
    fn content_language_reads_what_it_prints(tags in vec(language(), 1..5)) {
        let read = ContentLanguage::parse(&tags.join(", ")).unwrap();
        prop_assert_eq!(read.to_string(), tags.join(", "));
    }

    #[test]
    fn lookup_returns_an_offered_tag(text in preference(), tags in offer()) {
        let (accept, languages) = (AcceptLanguage::parse(&text).unwrap(), offered(&tags));
        let choice = lookup(&accept, &languages);
        prop_assert!(tags.iter().any(|tag| tag == choice.language.as_str()));
        let said = !matches!(choice.why, Why::Relative | Why::Default);
        prop_assert_eq!((choice.quality.is_some(), choice.range.is_some()), (said, said));
        prop_assert!(choice.why != Why::Default || choice.language == languages.default_language());
    }

    #[test]
    fn lookup_ignores_case(text in preference(), tags in offer()) {
        let accept = AcceptLanguage::parse(&text).unwrap();
        let loud = AcceptLanguage::parse(&text.to_ascii_uppercase()).unwrap();
        let shouted: Vec<_> = tags.iter().map(|tag| tag.to_ascii_uppercase()).collect();
        let (languages, other) = (offered(&tags), offered(&shouted));
        let (one, two) = (lookup(&accept, &languages), lookup(&loud, &other));
        prop_assert_eq!((one.language, one.why, one.quality), (two.language, two.why, two.quality));
    }

    #[test]
    fn an_excluded_language_is_only_ever_chosen_as_the_default(
        text in preference_of(plain_range()),
        tags in vec(plain_language(), 1..8),
    ) {
        let (accept, languages) = (AcceptLanguage::parse(&text).unwrap(), offered(&tags));
        let choice = lookup(&accept, &languages);
        if weight_by_the_book(&accept, choice.language.as_str()) == Some(Quality::ZERO) {
            prop_assert_eq!(choice.why, Why::Default);
        }
    }

    #[test]
    fn the_choice_has_the_highest_weight_by_the_book(
        text in preference_of(plain_range()),
        tags in vec(plain_language(), 1..8),
    ) {
        let (accept, languages) = (AcceptLanguage::parse(&text).unwrap(), offered(&tags));
        let weights = tags.iter().filter_map(|tag| weight_by_the_book(&accept, tag));
        let best = weights.filter(|quality| !quality.is_zero()).max();
        let choice = lookup(&accept, &languages);
        prop_assert_eq!(choice.quality, best);
        if best.is_some() {
            prop_assert_eq!(weight_by_the_book(&accept, choice.language.as_str()), best);
        }
    }

    #[test]
    fn coarse_says_only_languages(text in preference()) {
        let coarse = AcceptLanguage::parse(&text).unwrap().coarse();
        let ranges: Vec<_> = coarse.ranges().map(|(range, _)| range.as_str().to_ascii_lowercase()).collect();
        prop_assert!(ranges.iter().all(|range| !range.contains('-')));
        prop_assert!(ranges.iter().collect::<std::collections::BTreeSet<_>>().len() == ranges.len());
        prop_assert_eq!(coarse.coarse(), coarse);
    }

    #[test]
    fn what_an_id_carries_comes_back_as_it_went_in(
        upstream in prop::option::of(vec(any::<u8>(), 0..300)), tags in vec("[!-~é]{0,40}", 0..70),
        preference in prop::option::of(".{0,60}"), locale in prop::option::of("[a-z]{2,3}(-[A-Z]{2})?"),
        client in prop::option::of((".{1,30}", ".{0,15}")),
    ) {
        let client = client.and_then(|(name, version)| ClientImplementation::new(&name, &version));
        let locale = locale.map(|locale| Tag::parse(&locale).unwrap());
        let facts = SessionFacts { features: features(&tags), locale, client };
        let session = SessionIdPayload::new(upstream.as_deref(), facts).unwrap();
        prop_assert!(session.encode().len() <= SessionIdPayload::MAX_LEN);
        prop_assert_eq!(SessionIdPayload::decode(&session.encode()).unwrap(), session);
        let event = EventIdPayload::new(&upstream.unwrap_or_default(), preference.as_deref()).unwrap();
        prop_assert_eq!(EventIdPayload::decode(&event.encode()).unwrap(), event);
    }

    #[test]
    fn what_is_read_from_any_bytes_was_written_so(
        bytes in vec(prop_oneof![Just(0_u8), Just(1), Just(2), any::<u8>()], 0..60), cut in any::<prop::sample::Index>(),
        tags in vec("[a-z]{1,9}", 0..4), changed in any::<u8>(),
    ) {
        let mut near = SessionIdPayload::new(Some(&bytes), features(&tags).into()).unwrap().encode();
        let at = cut.index(near.len());
        near[at] = changed;
        for bytes in [&bytes[..], &near, &near[..at]] {
            if let Ok(session) = SessionIdPayload::decode(bytes) {
                prop_assert_eq!(session.encode(), bytes);
            }
            if let Ok(event) = EventIdPayload::decode(bytes) {
                prop_assert_eq!(event.encode(), bytes);
            }
        }
    }
}

/// What a client declares with these tags.
fn features(tags: &[String]) -> ClientFeatures {
    let tags = serde_json::json!({ CONTENT_NEGOTIATION: { "features": tags } });
    let body = serde_json::json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "capabilities": { "extensions": tags }}})
    .to_string();
    ClientFeatures::from_initialize(&Message::parse(body.as_bytes()).unwrap()).features
}
