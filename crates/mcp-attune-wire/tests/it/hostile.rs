//! Bad input is normal input: bounded work, a clear refusal, never a panic.

use mcp_attune_wire::agree::{self, HeaderAgreement, HeaderPolicy, MessageRefusalReason};
use mcp_attune_wire::context;
use mcp_attune_wire::header::MirroredHeaders;
use mcp_attune_wire::message::{JsonFault, JsonParseError, Message};
use mcp_attune_wire::reply::Reply;
use mcp_attune_wire::schema::{DeclaredHeaders, HeaderDeclarationFault, MAX_DECLARED};

fn fault(body: &str) -> JsonFault {
    Message::parse(body.as_bytes()).unwrap_err().fault
}

#[test]
fn refuses_100_000_nested_brackets() {
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        assert_eq!(fault(&open.repeat(100_000)), JsonFault::TooDeep);
        let inside =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{}"#, open.repeat(100_000));
        assert_eq!(fault(&inside), JsonFault::TooDeep);
    }
}

/// A megabyte of names in one object would take minutes if each were compared with all before it.
#[test]
fn reads_megabytes_of_names_without_comparing_each_with_each() {
    let mut names = [
        String::new(), // short names
        String::new(), // names that end alike, so that their marks are equal
        String::new(), // names written with escapes
    ];
    for index in 0..50_000 {
        names[0] += &format!("\"{index:x}\":0,");
        names[1] += &format!("\"{index:x} the same end\":0,");
        names[2] += &format!("\"\\u0061{index:x}\\u0062\":0,");
    }
    for names in names {
        for place in ["{NAMES}", r#"{"params":{NAMES}}"#, r#"{"params":{"arguments":{NAMES}}}"#] {
            let fine = place.replace("NAMES", &format!("{names}\"z\":0"));
            assert!(Message::parse(fine.as_bytes()).is_ok());
            let first = &names[..names.find(':').unwrap()];
            let twice = place.replace("NAMES", &format!("{names}{first}:0"));
            assert_eq!(fault(&twice), JsonFault::RepeatedName);
        }
    }
}

/// The same for names that are compared without their case.
#[test]
fn folds_megabytes_of_names_without_comparing_each_with_each() {
    for name in ["INDEX Name", "the same Beginning INDEX and end", "ÉÖŽ INDEX", "\\u00c9 INDEX"] {
        let names: String = (0..20_000)
            .map(|index| format!("\"{}\":0,", name.replace("INDEX", &format!("{index:x}"))))
            .collect();
        let again = name.replace("INDEX", "4e1f").replace("\\u00c9", "É").to_lowercase();
        for place in ["{NAMES}", r#"{"params":{NAMES}}"#, r#"{"params":{"_meta":{NAMES}}}"#] {
            let fine = place.replace("NAMES", &format!("{names}\"z\":0"));
            assert!(Message::parse(fine.as_bytes()).unwrap().check_case().is_ok());
            for last in [again.as_str(), "METHOD", "NAME", "PROGRESSTOKEN"] {
                let other = place.replace("NAMES", &format!("{names}\"{last}\":0"));
                let known = match last {
                    "METHOD" => !place.contains("params"),
                    "NAME" => place.contains("params") && !place.contains("_meta"),
                    "PROGRESSTOKEN" => place.contains("params"),
                    _ => true,
                };
                let checked = Message::parse(other.as_bytes()).unwrap().check_case();
                let at = other.rfind(&format!("\"{last}\"")).unwrap();
                let expected = JsonParseError { fault: JsonFault::NameDiffersInCase, at };
                assert_eq!(checked.err(), known.then_some(expected), "{last} in {place}");
            }
        }
    }
}

#[test]
fn reads_long_strings_and_numbers() {
    for long in [
        format!("\"{}\"", "x".repeat(10_000_000)),
        format!("\"{}\"", "\\u0041".repeat(1_000_000)),
        "9".repeat(10_000_000),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{long},"method":"m"}}"#);
        assert_eq!(Message::parse(body.as_bytes()).unwrap().id().unwrap().raw(), long);
    }
}

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

const ROUTED: [(&str, &[u8]); 3] =
    [("MCP-Protocol-Version", b"2026-07-28"), ("Mcp-Method", b"tools/call"), ("Mcp-Name", b"t")];

fn call(arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments},{META}}}}}"#
    )
}

fn mismatches(headers: &MirroredHeaders<'_>, body: &str, declared: &DeclaredHeaders) -> usize {
    let policy = HeaderPolicy::default();
    let message = Message::parse(body.as_bytes()).unwrap();
    let HeaderAgreement::NeedsSchema(open) = agree::begin(headers, message, &policy).unwrap() else {
        panic!()
    };
    match open.finish_with_schema(Some(declared)) {
        Ok(_) => 0,
        Err(refusal) => {
            assert!(Reply::from(&refusal).body.len() < 1_000_000);
            let MessageRefusalReason::Mismatch(mismatches) = refusal.refused else { panic!() };
            mismatches.len()
        }
    }
}

#[test]
fn checks_10_000_headers_against_many_declarations_and_arguments() {
    let annotate = |index: usize| format!(r#""p{index}":{{"type":"integer","x-mcp-header":"P{index}"}}"#);
    let properties: Vec<_> = (0..MAX_DECLARED).map(annotate).collect();
    let declared =
        DeclaredHeaders::read(format!(r#"{{"properties":{{{}}}}}"#, properties.join(",")).as_bytes())
            .unwrap();
    let arguments: Vec<_> = (0..100_000).map(|index| format!("\"p{index}\":{index}")).collect();
    let body = call(&format!("{{{}}}", arguments.join(",")));
    let lines: Vec<_> = (0..10_000).map(|index| (format!("mcp-param-p{index}"), index.to_string())).collect();
    let lines = lines.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    assert_eq!(
        mismatches(&MirroredHeaders::new(ROUTED.into_iter().chain(lines.clone())), &body, &declared),
        0
    );
    assert_eq!(mismatches(&MirroredHeaders::new(ROUTED), &body, &declared), MAX_DECLARED);
    let twice = ROUTED.into_iter().chain(lines.clone()).chain(lines);
    assert_eq!(mismatches(&MirroredHeaders::new(twice), &body, &declared), MAX_DECLARED);
    // One of them in another case, among all the others.
    let body = body.replacen("\"p99999\"", "\"P77\"", 1);
    let policy = HeaderPolicy::default();
    let message = Message::parse(body.as_bytes()).unwrap();
    let Ok(HeaderAgreement::NeedsSchema(open)) =
        agree::begin(&MirroredHeaders::new(ROUTED), message, &policy)
    else {
        panic!()
    };
    assert_eq!(open.finish_with_schema(Some(&declared)).unwrap_err().refused.rules(), ["H18"]);
}

#[test]
fn takes_10_000_lines_of_one_header() {
    let lines = std::iter::repeat_n(("Accept-Language", &b"de"[..]), 10_000);
    let headers = MirroredHeaders::new(ROUTED.into_iter().chain(lines));
    assert_eq!(headers.accept_language().joined().unwrap().len(), 10_000 * 4 - 2);
    let twice = std::iter::repeat_n(("Mcp-Name", &b"t"[..]), 10_000);
    let headers = MirroredHeaders::new(ROUTED.into_iter().chain(twice));
    let refusal =
        agree::begin(&headers, Message::parse(call("{}").as_bytes()).unwrap(), &HeaderPolicy::default())
            .unwrap_err();
    assert!(Reply::from(&refusal).body.len() < 1_000);
}

#[test]
fn refuses_a_schema_10_000_levels_deep() {
    for step in [r#"{"properties":{"a":"#, r#"{"items":"#, r#"{"allOf":["#] {
        let HeaderDeclarationFault::Unreadable(unreadable) =
            DeclaredHeaders::read(step.repeat(10_000).as_bytes()).unwrap_err().why
        else {
            panic!()
        };
        assert_eq!(unreadable.fault, JsonFault::TooDeep);
    }
}

#[test]
fn refuses_10_000_annotations() {
    let annotate = |index: usize| format!(r#""p{index}":{{"type":"string","x-mcp-header":"P{index}"}}"#);
    let properties: Vec<_> = (0..10_000).map(annotate).collect();
    let schema = format!(r#"{{"properties":{{{}}}}}"#, properties.join(","));
    assert_eq!(DeclaredHeaders::read(schema.as_bytes()).unwrap_err().why, HeaderDeclarationFault::TooMany);
}

#[test]
fn reads_a_schema_as_deep_as_a_message_may_be() {
    let deep = format!(
        r#"{}{{"type":"string","x-mcp-header":"Deep"}}{}"#,
        r#"{"properties":{"a":"#.repeat(63),
        "}}".repeat(63)
    );
    let declared = DeclaredHeaders::read(deep.as_bytes()).unwrap();
    assert_eq!(declared.iter().next().unwrap().path().count(), 63);
    let arguments = format!("{}\"x\"{}", "{\"a\":".repeat(63), "}".repeat(63));
    assert_eq!(mismatches(&MirroredHeaders::new(ROUTED), &call(&arguments), &declared), 1);
}

#[test]
fn shortens_what_it_quotes() {
    let long = "x-".repeat(1_000_000);
    let meta = META.replace("{}", &format!(r#"{{}},"io.modelcontextprotocol/acceptLanguage":"{long}""#));
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{{meta}}}}}"#);
    let header = "y\u{7}".repeat(100_000);
    let headers = MirroredHeaders::new([
        ("MCP-Protocol-Version", &b"2026-07-28"[..]),
        ("Mcp-Method", b"ping"),
        ("Accept-Language", header.as_bytes()),
    ]);
    let refusal = agree::begin(&headers, Message::parse(body.as_bytes()).unwrap(), &HeaderPolicy::default())
        .unwrap_err();
    let reply = Reply::from(&refusal);
    assert!(reply.body.len() < 1_500, "{}", reply.body.len());
    serde_json::from_str::<serde_json::Value>(&reply.body).unwrap();
}

#[test]
fn compares_two_deep_contexts_with_their_members_turned_round() {
    let nest = |open: &str, close: &str| format!("{}{}{}", open.repeat(120), "1", close.repeat(120));
    let (one, other) = (nest(r#"{"b":0,"a":"#, "}"), nest(r#"{"a":"#, r#","b":0}"#));
    for (other, differ) in [(other.clone(), false), (other.replace('1', "2"), true)] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","clientContext":{one},"params":{{"_meta":{{"io.modelcontextprotocol/clientContext":{other}}}}}}}"#
        );
        assert_eq!(context::has_conflicting_contexts(&Message::parse(body.as_bytes()).unwrap()), differ);
    }
    // Thousands of members: sorted, not each compared with each.
    let many =
        |from: u32| (0..8000).map(|n| format!("\"{}\":0", from.abs_diff(n))).collect::<Vec<_>>().join(",");
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","clientContext":{{{}}},"params":{{"_meta":{{"io.modelcontextprotocol/clientContext":{{{}}}}}}}}}"#,
        many(0),
        many(7999),
    );
    assert!(
        body.len() > 120_000 && !context::has_conflicting_contexts(&Message::parse(body.as_bytes()).unwrap())
    );
}
