//! Which source wins, and what says nothing.

use super::*;
use crate::language::AcceptLanguage;
use crate::session::ClientFeatures;

fn all_headers() -> TrustedHeaders {
    let name = |name: &str| Some(Arc::from(name));
    TrustedHeaders {
        language: name("accept-language"),
        timezone: name("cf-timezone"),
        locale: name("x-locale"),
        country: name("cf-ipcountry"),
        region: name("cf-region"),
        city: name("cf-ipcity"),
    }
}

/// What trusted headers alone come to, as `field=value` for the fields that are there.
fn headers(sent: &[(&str, &[u8])]) -> CallerValues {
    all_headers()
        .read(&|name| sent.iter().filter(|(other, _)| *other == name).map(|(_, value)| *value).collect())
}

#[derive(Debug)]
struct EveryClient;

impl ClientProfiles for EveryClient {
    fn find(&self, client: &ClientImplementation) -> Option<ClientProfile> {
        match client.name() {
            "acme" => Some(ClientProfile::new("acme-1", ["agent", "format=text"])),
            "plain" => Some(ClientProfile::new("plain-1", [])),
            _ => None,
        }
    }
}

fn values(language: &str, zone: &str) -> CallerValues {
    CallerValues {
        language: AcceptLanguage::parse(language).ok(),
        timezone: IanaTimeZone::parse(zone).ok(),
        ..CallerValues::default()
    }
}

fn everything() -> (CallerAssumptions, CallerEvidence) {
    let features = Some(ClientFeatures::from_tags(["human"]).features);
    let assumptions = CallerAssumptions {
        headers: all_headers(),
        profiles: Some(Arc::new(EveryClient)),
        default: CallerValues { features, ..values("it", "Europe/Rome") },
        forward_assumed: false,
    };
    let claims = VerifiedClaims { locale: Some("en_US".into()), zoneinfo: Some("America/New_York".into()) };
    let evidence = CallerEvidence {
        claims: Some(claims),
        trusts_headers: true,
        system: Some(values("pt", "America/Lima")),
    };
    (assumptions, evidence)
}

fn gathered(assumptions: &CallerAssumptions, evidence: &CallerEvidence, client: &str) -> String {
    let client = ClientImplementation::new(client, "1");
    let lines = |name: &str| match name {
        "accept-language" => vec![&b"fr-CA, fr;q=0.5"[..]],
        "cf-timezone" => vec![&b"America/Toronto"[..]],
        "cf-ipcountry" => vec![&b"ca"[..]],
        _ => Vec::new(),
    };
    let assumed = assumptions.gather(evidence, client.as_ref(), &lines);
    let language =
        assumed.language.as_ref().map(|(language, from)| format!("{} {from}", language.preference.as_str()));
    let zone = assumed.timezone.as_ref().map(|(zone, from)| format!("{} {from}", zone.name()));
    let tags = assumed
        .features
        .as_ref()
        .map(|(features, from)| format!("{} {from}", features.tags().collect::<Vec<_>>().join("+")));
    [language, zone, tags].map(Option::unwrap_or_default).join(", ")
}

#[test]
fn each_source_is_asked_for_every_field_before_the_next_one_is() {
    let (mut assumptions, mut evidence) = everything();
    let check = |assumptions: &CallerAssumptions, evidence: &CallerEvidence, expected: &str| {
        assert_eq!(gathered(assumptions, evidence, "acme"), expected);
    };
    check(&assumptions, &evidence, "en-US claim, America/New_York claim, agent+format=text profile:acme-1");
    evidence.claims = None;
    let header = "fr-CA, fr;q=0.5 header:accept-language, America/Toronto header:cf-timezone";
    check(&assumptions, &evidence, &format!("{header}, agent+format=text profile:acme-1"));
    evidence.trusts_headers = false;
    check(&assumptions, &evidence, "it default, Europe/Rome default, agent+format=text profile:acme-1");
    // A profile without tags says nothing.
    assert_eq!(gathered(&assumptions, &evidence, "plain"), "it default, Europe/Rome default, human default");
    assumptions.profiles = None;
    check(&assumptions, &evidence, "it default, Europe/Rome default, human default");
    assumptions.default = CallerValues::default();
    check(&assumptions, &evidence, "pt system, America/Lima system, ");
    evidence.system = None;
    check(&assumptions, &evidence, ", , ");
    assert!(!assumptions.may_assume(&evidence));
}

#[test]
fn a_malformed_claim_leaves_its_field_to_the_next_source() {
    let (assumptions, mut evidence) = everything();
    for (locale, zone) in [("not a locale", "Mars/Olympus"), ("", "+01:00"), (&*"x".repeat(70_000), "")] {
        evidence.claims = Some(VerifiedClaims { locale: Some(locale.into()), zoneinfo: Some(zone.into()) });
        let got = gathered(&assumptions, &evidence, "acme");
        assert!(got.starts_with("fr-CA, fr;q=0.5 header:accept-language, America/Toronto header"), "{got}");
    }
}

#[test]
fn the_locale_of_a_source_is_its_language_too() {
    let read = headers(&[("x-locale", b"de-CH-u-fw-sun"), ("cf-timezone", b"europe/zurich")]);
    let mut assumed = AssumedValues::default();
    assumed.ask(read, |field| all_headers().source(field));
    assumed.ask(values("it", "Europe/Rome"), |_| CallerSource::Default);
    let (language, source) = assumed.language.unwrap();
    assert_eq!((language.preference.as_str(), language.is_locale), ("de-CH", true));
    assert_eq!(source.to_string(), "header:x-locale");
    assert_eq!(assumed.timezone.unwrap().0.name(), "Europe/Zurich");
}

#[test]
fn absurd_headers_say_nothing() {
    let huge = vec![b'a'; 64 << 10];
    let many: Vec<u8> = b"de, ".repeat(5000);
    for value in [&b""[..], b" ", b"*", b"\xff\xfe", b"de\x00", b"de;q=7", b"\n", &huge, &many] {
        assert_eq!(headers(&[("accept-language", value)]), CallerValues::default());
    }
    for value in
        [&b""[..], b"Mars/Olympus", b"+05:45", b"../../etc/passwd", b"Europe/Vienna\x00", b"\xff", &huge]
    {
        assert_eq!(headers(&[("cf-timezone", value)]), CallerValues::default());
    }
    // What a content network writes for a country that it does not know, and for Tor.
    for value in [&b"XX"[..], b"T1", b"", b"Austria", b"\x1b[31m", &huge] {
        assert_eq!(headers(&[("cf-ipcountry", value)]), CallerValues::default());
    }
    for value in [&b""[..], b"\x07", b"\xff", &huge] {
        assert_eq!(headers(&[("cf-ipcity", value), ("cf-region", value)]), CallerValues::default());
        assert_eq!(headers(&[("x-locale", value)]), CallerValues::default());
    }
}

#[test]
fn a_header_that_comes_twice_says_nothing_but_languages_are_one_list() {
    let twice = headers(&[
        ("cf-timezone", b"Asia/Tokyo"),
        ("cf-timezone", b"Asia/Tokyo"),
        ("x-locale", b"de"),
        ("x-locale", b"fr"),
    ]);
    assert_eq!(twice, CallerValues::default());
    let list = headers(&[("accept-language", b"de"), ("accept-language", b"fr;q=0.5")]);
    assert_eq!(list.language.unwrap().as_str(), "de, fr;q=0.5");
}

#[test]
fn one_bad_part_of_a_place_takes_no_other_with_it() {
    let read =
        headers(&[("cf-ipcountry", b"np"), ("cf-ipcity", b"\x07"), ("cf-region", "Bāgmatī".as_bytes())]);
    let place = read.place.unwrap();
    assert_eq!(
        (place.city(), place.region(), place.country().map(|it| it.as_str().to_owned())),
        (None, Some("Bāgmatī"), Some("NP".to_owned()))
    );
}

#[test]
fn debug_shows_where_values_come_from_and_none_of_them() {
    let (assumptions, evidence) = everything();
    let client = ClientImplementation::new("acme", "1");
    let assumed = assumptions.gather(&evidence, client.as_ref(), &|_| Vec::new());
    let shown = format!("{assumptions:?} {evidence:?} {assumed:?}");
    for value in ["Rome", "New_York", "Lima", "en_US", "en-US", "\"it\"", "\"pt\""] {
        assert!(!shown.contains(value), "{value} in {shown}");
    }
    assert!(shown.contains(r#""language": Claim"#), "{shown}");
}
