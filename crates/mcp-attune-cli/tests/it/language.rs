//! `attune language`.

use crate::attune;

#[test]
fn a_well_formed_preference_exits_with_0() {
    insta::assert_snapshot!(attune(&["language", "check", "de-CH, de;Q=0.90, *;q=0"]), @"
    exit: 0
    --- stdout
    well formed
      1      de-CH
      0.9    de
      0      *
    --- stderr
    ");
}

#[test]
fn a_malformed_preference_exits_with_1_and_says_where() {
    insta::assert_snapshot!(attune(&["language", "check", "de, en;q=1.5"]), @"
    exit: 1
    --- stdout
    malformed at byte 9: not a weight; write 0 to 1 with at most three decimals, such as q=0.8
      de, en;q=1.5
               ^
    --- stderr
    ");
}

#[test]
fn an_empty_preference_is_well_formed() {
    insta::assert_snapshot!(attune(&["language", "check", ""]), @"
    exit: 0
    --- stdout
    well formed: no preference
    --- stderr
    ");
}

#[test]
fn checks_as_json() {
    insta::assert_snapshot!(attune(&["language", "check", "--json", "de;q=0.125"]), @r#"
    exit: 0
    --- stdout
    {
      "well_formed": true,
      "ranges": [
        {
          "range": "de",
          "quality": 0.125
        }
      ],
      "at": null,
      "error": null
    }
    --- stderr
    "#);
    insta::assert_snapshot!(attune(&["language", "check", "--json", "-de"]), @r#"
    exit: 1
    --- stdout
    {
      "well_formed": false,
      "ranges": [],
      "at": 0,
      "error": "at byte 0: not a language; write one to eight letters, such as en, or * alone"
    }
    --- stderr
    "#);
}

#[test]
fn prints_the_tag_alone() {
    let arguments = ["language", "negotiate", "--accept", "es-UY", "--available", "en,es-ES,es-MX"];
    insta::assert_snapshot!(attune(&arguments), @"
    exit: 0
    --- stdout
    es-MX
    --- stderr
    ");
}

#[test]
fn says_why_beside_the_tag() {
    for (accept, why) in [
        ("es-MX", "exact: es-MX names this language"),
        ("es", "covered: es stands for every language that begins with it"),
        ("es-MX-x-home", "shortened: es-MX-x-home matches when its last parts are taken off"),
        ("tlh, *", "wildcard: * stands for what no other range covers"),
        ("ja", "default: nothing matches, or nothing was asked for"),
    ] {
        let arguments = ["language", "negotiate", "--explain", "--accept", accept, "--available", "es-MX,fr"];
        assert_eq!(
            attune(&arguments),
            format!("exit: 0\n--- stdout\nes-MX\n--- stderr\n{why}\n"),
            "{accept}"
        );
    }
}

#[test]
fn prints_the_reason_as_json() {
    let negotiate = |accept, available| {
        attune(&["language", "negotiate", "--json", "--accept", accept, "--available", available])
    };
    insta::assert_snapshot!(negotiate("fr;q=0.8, de-CH;q=0.2", "en,fr-CA"), @r#"
    exit: 0
    --- stdout
    {
      "language": "fr-CA",
      "why": "covered",
      "quality": 0.8,
      "range": "fr"
    }
    --- stderr
    "#);
    insta::assert_snapshot!(negotiate("nn", "en,nb"), @r#"
    exit: 0
    --- stdout
    {
      "language": "nb",
      "why": "relative",
      "quality": null,
      "range": null
    }
    --- stderr
    "#);
    insta::assert_snapshot!(negotiate("ja", "en,nb"), @r#"
    exit: 0
    --- stdout
    {
      "language": "en",
      "why": "default",
      "quality": null,
      "range": null
    }
    --- stderr
    "#);
}

#[test]
fn takes_a_default_that_is_not_in_the_list() {
    let arguments = ["language", "negotiate", "--accept", "ja", "--available", "fr,de", "--default", "en"];
    insta::assert_snapshot!(attune(&arguments), @"
    exit: 0
    --- stdout
    en
    --- stderr
    ");
}

#[test]
fn a_malformed_preference_counts_as_absent() {
    let arguments = ["language", "negotiate", "--accept", "fr;q=2", "--available", "en,fr"];
    insta::assert_snapshot!(attune(&arguments), @"
    exit: 0
    --- stdout
    en
    --- stderr
    warning: the preference counts as absent, it is malformed at byte 5: not a weight; write 0 to 1 with at most three decimals, such as q=0.8
    ");
}

#[test]
fn refuses_a_language_that_is_no_tag() {
    let arguments = ["language", "negotiate", "--accept", "fr", "--available", "en,fr_CA"];
    insta::assert_snapshot!(attune(&arguments), @"
    exit: 2
    --- stdout
    --- stderr
    error: fr_CA is not a language tag; write one by BCP 47, such as en, de-CH or zh-Hant-TW
    hint: did you mean fr-CA?
    ");
    let arguments = ["language", "negotiate", "--accept", "fr", "--available", ","];
    insta::assert_snapshot!(attune(&arguments), @"
    exit: 2
    --- stdout
    --- stderr
    error: --available names no language
    hint: separate the tags with commas: --available en,de-CH,zh-Hant
    ");
}
