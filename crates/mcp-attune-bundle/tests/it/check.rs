//! Bundles that are judged: each kind of problem, where it is, and what makes a bundle valid.

use std::collections::BTreeMap;

use mcp_attune_bundle::{
    BundleCheckReport, BundleFileError, BundleFileName, BundleFiles, BundleProblem, BundleProblemLevel,
    BundleThresholds, PictureError, PictureFacts, PixelSize, check,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A bundle in memory. A picture is its size and what is special about it: `16x16 opaque pale bright`.
#[derive(Default)]
pub(crate) struct Memory(pub(crate) BTreeMap<String, Vec<u8>>);

impl Memory {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect())
    }
}

impl BundleFiles for Memory {
    fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn read(&self, name: &BundleFileName, most: usize) -> Result<Vec<u8>, BundleFileError> {
        let bytes = self.0.get(name.as_str()).ok_or(BundleFileError::Missing)?;
        if bytes.len() > most { Err(BundleFileError::TooLarge) } else { Ok(bytes.clone()) }
    }

    fn picture(&self, name: &BundleFileName) -> Result<PictureFacts, PictureError> {
        let bytes = self.0.get(name.as_str()).ok_or(PictureError::Missing)?;
        let text = String::from_utf8_lossy(bytes);
        let mut words = text.split(' ');
        let size = words.next().and_then(PixelSize::parse).ok_or(PictureError::NotPng)?;
        let is = |word: &str| text.contains(word);
        if is("broken") {
            return Err(PictureError::Broken);
        }
        let on_light = if is("bright") { 1.2 } else { 8.0 };
        let on_dark = if is("dim") { 1.4 } else { 8.0 };
        let digest = bytes.iter().fold(7, |sum: u64, byte| sum.wrapping_mul(31) + u64::from(*byte));
        Ok(PictureFacts::new(size, !is("opaque"), on_light, on_dark, digest))
    }
}

/// A manifest with nothing wrong, and nothing in it that can be.
fn plain() -> Value {
    json!({
        "manifest_version": "0.3",
        "name": "weather",
        "version": "1.0.0",
        "description": "The weather",
        "author": {"name": "Ann"},
        "server": {"type": "node", "entry_point": "i.js", "mcp_config": {"command": "node", "args": ["${__dirname}/i.js"]}}
    })
}

/// Judges the plain manifest with some members changed.
fn judge(changes: Value, files: &[(&str, &str)]) -> BundleCheckReport {
    let mut manifest = plain();
    merge(&mut manifest, changes);
    let mut memory = Memory::new(files);
    memory.0.entry("i.js".to_owned()).or_default();
    let report = check(manifest.to_string().as_bytes(), &memory, BundleThresholds::default());
    for problem in report.official.iter().chain(&report.ours) {
        assert!(!problem.what.hint().is_empty() && !problem.what.to_string().is_empty(), "{problem:?}");
        let kind = problem.what.kind();
        assert!(kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{kind}");
    }
    report
}

fn merge(into: &mut Value, changes: Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (name, change) in changes {
                if change.is_null() {
                    into.remove(&name);
                } else {
                    merge(into.entry(name).or_insert(Value::Null), change);
                }
            }
        }
        (into, change) => *into = change,
    }
}

/// A problem in short: `error official icon: icon-missing`.
fn short(problem: &BundleProblem) -> String {
    let BundleProblem { file, path, level, by, accepted, .. } = problem;
    let file = if **file == *"manifest.json" { String::new() } else { format!("{file} ") };
    let accepted = if accepted.is_some() { " accepted" } else { "" };
    format!("{}{accepted} {} {file}{path}: {}", level.as_str(), by.as_str(), problem.what.kind())
}

fn shorts(report: &BundleCheckReport) -> Vec<String> {
    report.official.iter().chain(&report.ours).map(short).collect()
}

/// What is found, and with it whether the bundle is valid.
#[track_caller]
fn finds(changes: Value, files: &[(&str, &str)], expected: &[&str]) {
    let report = judge(changes, files);
    assert_eq!(shorts(&report), expected);
    assert_eq!(
        report.valid,
        !expected.iter().any(|it| it.starts_with("error ") && !it.contains(" accepted "))
    );
    assert_eq!(
        report.officially_valid,
        !expected.iter().any(|it| it.starts_with("error") && it.contains(" official "))
    );
}

#[test]
fn a_bundle_in_order_has_no_problems() {
    finds(json!({}), &[], &[]);
    finds(
        json!({"display_name": "W", "localization": {"resources": "l/${locale}.json", "default_locale": "en-US"},
            "icon": "a.png", "icons": [{"src": "l.png", "size": "16x16", "theme": "light"}, {"src": "d.png", "size": "16x16", "theme": "dark"}],
            "screenshots": ["s.png"], "tools": [{"name": "t", "description": "d"}],
            "prompts": [{"name": "p", "arguments": ["a"], "text": "x ${arguments.a}"}],
            "server": {"mcp_config": {"env": {"K": "${user_config.k}${/}", "H": "${HOME}"}}},
            "user_config": {"k": {"type": "number", "title": "K", "description": "k", "default": 2, "min": 1, "max": 3}}}),
        &[
            ("a.png", "512x512"),
            ("l.png", "16x16 dim"),
            ("d.png", "16x16 bright"),
            ("s.png", "9x9"),
            (
                "l/de.json",
                r#"{"display_name": "W", "description": "x", "author": {"name": "A"}, "tools": {"t": {"description": "e"}}}"#,
            ),
            ("l/de-AT.json", "{}"),
            ("l/en-GB.json", "{}"),
        ],
        &[],
    );
}

#[test]
fn a_problem_says_where_it_is_and_what_to_do() {
    let manifest = "{\n  \"manifest_version\": \"0.3\",\n  \"name\": \"ü\", \"nmae\": 7\n}";
    let report = check(manifest.as_bytes(), &Memory::default(), BundleThresholds::default());
    let unknown = report.official.iter().find(|it| it.what.kind() == "unknown-key").unwrap();
    assert_eq!(unknown.to_string(), "manifest.json:3:24: nmae: there is no such key here");
    assert_eq!(unknown.what.hint(), "did you mean name?");
    assert_eq!((unknown.level, unknown.is_blocking()), (BundleProblemLevel::Error, true));
}

#[test]
fn each_version_has_its_own_keys() {
    let privacy = json!({"privacy_policies": ["https://example.com/p"]});
    let with = |version: &str, mut changes: Value| {
        changes["manifest_version"] = version.into();
        shorts(&judge(changes, &[]))
    };
    assert_eq!(with("0.1", privacy.clone()), ["error official privacy_policies: unknown-key"]);
    assert!(with("0.2", privacy).is_empty());
    assert_eq!(with("0.2", json!({"_meta": {}})), ["error official _meta: unknown-key"]);
    assert!(with("0.3", json!({"_meta": {"com.example": {"a": [1]}}})).is_empty());
    assert_eq!(
        with("0.3", json!({"server": {"type": "uv"}})),
        ["error official server.type: no-such-word", "warning attune server: no-project"]
    );
    assert_eq!(with("0.4", json!({"server": {"type": "uv"}})), ["warning attune server: no-project"]);
    assert_eq!(with("0.5", json!({})), ["error official the file: no-version"]);
    let report = judge(json!({"_meta": {}, "manifest_version": "0.2"}), &[]);
    assert_eq!(report.official[0].what.hint(), "write \"manifest_version\": \"0.3\", or take the key out");
}

#[test]
fn the_version_is_that_of_the_manifest_and_else_of_old() {
    finds(json!({"manifest_version": null, "dxt_version": "0.1"}), &[], &[]);
    finds(json!({"dxt_version": "0.3"}), &[], &[]);
    finds(json!({"dxt_version": "0.1"}), &[], &["error official dxt_version: other-version"]);
    finds(
        json!({"manifest_version": "9", "dxt_version": "0.1"}),
        &[],
        &["error official manifest_version: other-version"],
    );
    finds(
        json!({"manifest_version": 3, "dxt_version": "0.1"}),
        &[],
        &["error official manifest_version: wrong-type"],
    );
    finds(json!({"manifest_version": null}), &[], &["error official the file: no-version"]);
}

#[test]
fn the_document_of_the_manifest_allows_more_than_the_official_tool() {
    finds(
        json!({"localization": {}}),
        &[("mcpb-resources/de.json", r#"{"description": "x", "author": {"name": "A"}}"#)],
        &[
            "error accepted official localization.resources: missing",
            "error accepted official localization.default_locale: missing",
            "warning attune localization.resources: default-resources",
            "warning attune localization.default_locale: default-locale",
        ],
    );
    finds(
        json!({"icon": "icon.png", "icons": [{"src": "a.png", "sizes": "16x16 32x32"}]}),
        &[("a.png", "16x16"), ("icon.png", "512x512")],
        &[
            "error accepted official icons.0.size: missing",
            "error accepted official icons.0.sizes: unknown-key",
            "warning attune icons.0.sizes: icon-sizes",
        ],
    );
    finds(
        json!({"icon": "icon.png", "icons": [{"src": "a.png", "sizes": "any"}]}),
        &[("a.png", "16x16"), ("icon.png", "512x512")],
        &["error official icons.0.size: missing", "error official icons.0.sizes: unknown-key"],
    );
    finds(
        json!({"compatibility": {"other_client": ">=1", "platfroms": "x", "number": 7}}),
        &[],
        &[
            "error official compatibility.number: unknown-key",
            "error accepted official compatibility.other_client: unknown-key",
            "error official compatibility.platfroms: unknown-key",
            "warning attune compatibility.other_client: other-client",
        ],
    );
    let uv = json!({"server": {"type": "uv", "mcp_config": null}});
    let mut four = uv.clone();
    four["manifest_version"] = "0.4".into();
    finds(
        four,
        &[("pyproject.toml", "")],
        &[
            "error accepted official server.mcp_config: missing",
            "warning attune server.mcp_config: uv-without-config",
        ],
    );
    finds(
        uv,
        &[("pyproject.toml", "")],
        &["error official server.mcp_config: missing", "error official server.type: no-such-word"],
    );
}

#[test]
fn the_one_icon_is_looked_at_as_the_official_tool_does() {
    let icon = |icon: &str, expected: &[&str]| {
        finds(
            json!({"icon": icon}),
            &[("a.png", "512x512"), ("a.txt", "no"), ("b.png", "16x16 broken")],
            expected,
        );
    };
    icon("", &[]);
    icon("a.png", &[]);
    icon("./a.png", &[]);
    icon("a.png/", &["error official icon: icon-missing"]);
    icon("b.png", &["error attune icon: icon-broken"]);
    icon("c.png", &["error official icon: icon-missing"]);
    icon("../a.png", &["error official icon: icon-missing", "error attune icon: icon-outside"]);
    icon("a.txt", &["error official icon: icon-not-png"]);
    icon("/a.png", &["error official icon: icon-absolute"]);
    icon("${__dirname}/a.png", &["error official icon: icon-variable"]);
    icon("https://example.com/a.png", &["warning official icon: icon-remote"]);
}

#[test]
fn icons_are_there_and_what_they_say() {
    let files = [
        ("a.png", "16x16"),
        ("b.png", "32x16"),
        ("no.txt", "x"),
        ("t.png", "16x16 opaque"),
        ("icon.png", "512x512"),
    ];
    let icons = |icons: Value, expected: &[&str]| {
        finds(json!({"icon": "icon.png", "icons": icons}), &files, expected);
    };
    icons(json!([{"src": "c.png", "size": "16x16"}]), &["error attune icons.0.src: icon-missing"]);
    icons(json!([{"src": "no.txt", "size": "16x16"}]), &["error attune icons.0.src: icon-not-png"]);
    icons(json!([{"src": "../a.png", "size": "16x16"}]), &["error attune icons.0.src: icon-outside"]);
    icons(
        json!([{"src": "https://e.com/a.png", "size": "16x16"}]),
        &["error attune icons.0.src: icon-outside"],
    );
    icons(json!([{"src": "a.png", "size": "16x17"}]), &["error attune icons.0.size: icon-other-size"]);
    icons(
        json!([{"src": "a.png", "size": "99999999999x1"}]),
        &["error attune icons.0.size: icon-no-such-size"],
    );
    icons(json!([{"src": "b.png", "size": "32x16"}]), &["warning attune icons.0.src: icon-not-square"]);
    icons(
        json!([{"src": "t.png", "size": "16x16", "theme": "dark"}]),
        &["warning attune icons.0.src: icon-opaque"],
    );
    icons(json!([{"src": "t.png", "size": "16x16", "theme": "sepia"}]), &[]);
    icons(
        json!([{"src": "a.png", "size": "16x16", "theme": "dark"}, {"src": "a.png", "size": "16x16", "theme": "light"}]),
        &["warning attune icons.1.src: icon-same-picture"],
    );
    icons(
        json!([{"src": "a.png", "size": "16x16"}, {"src": "t.png", "size": "16x16"}]),
        &["warning attune icons.1: icon-repeated"],
    );
    finds(json!({"icons": [{"src": "a.png", "size": "16x16"}]}), &files, &["warning attune icons: no-icon"]);
    finds(json!({"icons": []}), &files, &[]);
    let many: Vec<Value> = (0..70).map(|_| json!({"src": "a.png", "size": "16x16"})).collect();
    let report = judge(json!({"icon": "icon.png", "icons": many}), &files);
    assert_eq!(report.ours.iter().filter(|it| it.what.kind() == "icon-too-many").count(), 1);
}

#[test]
fn the_one_icon_is_large_enough_for_every_host() {
    let files = [("a.png", "511x511"), ("b.png", "512x512"), ("c.png", "1024x1024"), ("d.png", "32x16")];
    let icon = |name: &str, expected: &[&str]| finds(json!({"icon": name}), &files, expected);
    icon("a.png", &["warning attune icon: icon-small"]);
    icon("b.png", &[]);
    icon("c.png", &[]);
    icon("d.png", &["warning attune icon: icon-not-square"]);
    // Beside those for themes too: hosts that know none of them show it.
    let icons = json!({"icon": "a.png", "icons": [{"src": "b.png", "size": "512x512"}]});
    finds(icons, &files, &["warning attune icon: icon-small"]);
}

#[test]
fn icons_can_be_seen_on_their_theme() {
    let files = [
        ("bright.png", "16x16 bright"),
        ("dim.png", "16x16 dim"),
        ("icon.png", "512x512"),
        ("night.png", "512x512 dim"),
    ];
    let seen = |src: &str, theme: &str, expected: &[&str]| {
        let mut icon = json!({"src": src, "size": "16x16"});
        if !theme.is_empty() {
            icon["theme"] = theme.into();
        }
        finds(json!({"icon": "icon.png", "icons": [icon]}), &files, expected);
    };
    let hard = ["warning attune icons.0.src: icon-hard-to-see"];
    seen("bright.png", "light", &hard);
    seen("bright.png", "Light", &hard);
    seen("bright.png", "dark", &[]);
    seen("dim.png", "dark", &hard);
    seen("dim.png", "light", &[]);
    seen("dim.png", "", &hard);
    seen("dim.png", "high-contrast", &[]);
    finds(json!({"icon": "night.png"}), &files, &["warning attune icon: icon-hard-to-see"]);
    let report = judge(json!({"icon": "night.png"}), &files);
    assert_eq!(
        report.ours[0].what.to_string(),
        "hard to see on a dark background: its contrast is 1.4 to 1, and 3.0 to 1 is enough"
    );
}

#[test]
fn files_that_the_manifest_names_are_there() {
    let entry = |name: &str, expected: &[&str]| {
        finds(json!({"server": {"entry_point": name}}), &[("server/main.js", "")], expected);
    };
    entry("server/main.js", &[]);
    entry("server/man.js", &["warning attune server.entry_point: missing-file"]);
    entry("/server/main.js", &["error attune server.entry_point: outside"]);
    entry("a/../../i.js", &["error attune server.entry_point: outside"]);
    let report = judge(json!({"server": {"entry_point": "main.js"}}), &[("server/Main.js", "")]);
    assert_eq!(report.ours[0].what.hint(), "did you mean server/Main.js?");
    let binary = json!({"server": {"type": "binary", "entry_point": "server/tool"}});
    finds(binary.clone(), &[("server/tool.exe", "")], &[]);
    finds(binary, &[("server/tool.sh", "")], &["warning attune server.entry_point: missing-file"]);
    finds(
        json!({"screenshots": ["s.png", "t.png", "https://e.com/u.png", "C:\\v.png"]}),
        &[("s.png", "")],
        &[
            "warning attune screenshots.1: missing-file",
            "warning attune screenshots.2: outside",
            "error attune screenshots.3: outside",
        ],
    );
}

#[test]
fn variables_stand_for_something() {
    let args = |text: &str, expected: &[&str]| {
        finds(
            json!({"server": {"mcp_config": {"args": [text, "${user_config.key}"]}},
                "user_config": {"key": {"type": "string", "title": "t", "description": "d"}}}),
            &[],
            expected,
        );
    };
    args("${__dirname}${/}${pathSeparator}${DOWNLOADS} ${", &[]);
    args("${user_config.kye}", &["error attune server.mcp_config.args.0: unknown-setting"]);
    args("--x=${PATH}", &["error attune server.mcp_config.args.0: unknown-variable"]);
    finds(
        json!({"server": {"mcp_config": {"platform_overrides": {"win32": {"env": {"A": "${user_config.a}${B}"}}}}}}),
        &[],
        &[
            "error attune server.mcp_config.platform_overrides.win32.env.A: unknown-setting",
            "error attune server.mcp_config.platform_overrides.win32.env.A: unknown-variable",
        ],
    );
    finds(
        json!({"user_config": {"key": {"type": "string", "title": "t", "description": "d"}}}),
        &[],
        &["warning attune user_config.key: unused-setting"],
    );
}

#[test]
fn prompts_have_the_arguments_of_their_texts() {
    let prompt = |arguments: Value, text: &str, expected: &[&str]| {
        finds(json!({"prompts": [{"name": "p", "arguments": arguments, "text": text}]}), &[], expected);
    };
    prompt(json!(["a"]), "${arguments.a} ${other}", &[]);
    prompt(json!([]), "${arguments.a}", &["error attune prompts.0.text: unknown-argument"]);
    prompt(json!(["a", "b"]), "${arguments.a}", &["warning attune prompts.0.arguments.1: unused-argument"]);
}

#[test]
fn names_come_once_and_versions_can_be_compared() {
    finds(
        json!({"tools": [{"name": "a"}, {"name": "b"}, {"name": "a"}], "prompts": [{"name": "a", "text": ""}, {"name": "a", "text": ""}]}),
        &[],
        &["error attune prompts.1.name: repeated-name", "error attune tools.2.name: repeated-name"],
    );
    for (version, fine) in
        [("1.0.0", true), ("1.0.0-beta.1+5", true), ("1.0", false), ("v1.0.0", false), ("", false)]
    {
        let expected: &[&str] = if fine { &[] } else { &["warning attune version: not-semver"] };
        finds(json!({"version": version}), &[], expected);
    }
}

#[test]
fn settings_do_not_contradict_themselves() {
    let setting = |setting: Value, expected: &[&str]| {
        let mut whole = json!({"title": "t", "description": "d"});
        merge(&mut whole, setting);
        let expected: Vec<String> = expected.iter().map(|it| it.replace(" .", " user_config.k.")).collect();
        finds(
            json!({"server": {"mcp_config": {"args": ["${user_config.k}"]}}, "user_config": {"k": whole}}),
            &[],
            &expected.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    };
    setting(json!({"type": "directory", "multiple": true, "default": ["${HOME}/a"]}), &[]);
    setting(json!({"type": "string", "sensitive": true, "default": "x"}), &[]);
    setting(json!({"type": "boolean", "default": true, "multiple": false}), &[]);
    setting(json!({"type": "number", "default": "3"}), &["error attune .default: other-default"]);
    setting(json!({"type": "boolean", "default": 1}), &["error attune .default: other-default"]);
    setting(json!({"type": "string", "default": 1}), &["error attune .default: other-default"]);
    setting(json!({"type": "file", "default": ["a"]}), &["error attune .default: several-defaults"]);
    setting(
        json!({"type": "number", "default": 9, "max": 8}),
        &["error attune .default: default-out-of-range"],
    );
    setting(json!({"type": "number", "min": 9, "max": 8}), &["error attune .min: backwards"]);
    setting(json!({"type": "string", "min": 1}), &["warning attune .min: idle"]);
    setting(json!({"type": "number", "sensitive": true}), &["warning attune .sensitive: idle"]);
    setting(json!({"type": "string", "multiple": true}), &["warning attune .multiple: idle"]);
    setting(json!({"type": "string", "default": "${NOPE}"}), &["error attune .default: unknown-variable"]);
}

const FULL: &str = r#"{"description": "x", "author": {"name": "A"}}"#;

fn localized(resources: &str, default: &str) -> Value {
    json!({"localization": {"resources": resources, "default_locale": default}})
}

#[test]
fn locale_files_are_where_the_manifest_says() {
    finds(localized("l/${locale}.json", "en-US"), &[("l/de.json", FULL)], &[]);
    finds(
        localized("l/${LOCALE}.json", "en-US"),
        &[("l/de.json", FULL)],
        &["warning attune localization.resources: placeholder-case"],
    );
    finds(localized("l/x.json", "en-US"), &[], &["error official localization.resources: format"]);
    finds(localized("${locale}/x-${locale}.json", "en"), &[("de/x-de.json", FULL)], &[]);
    finds(
        localized("${locale}/x-${Locale}.json", "en"),
        &[("de/x-de.json", FULL)],
        &["warning attune localization.resources: placeholder-case"],
    );
    for outside in
        ["../${locale}.json", "/l/${locale}.json", "C:\\${locale}.json", "https://e.com/${locale}.json"]
    {
        finds(localized(outside, "en-US"), &[], &["error attune localization.resources: locale-outside"]);
    }
    finds(
        localized("l/${locale}.json", "en_US"),
        &[("l/de.json", FULL)],
        &["error official localization.default_locale: format"],
    );
    finds(
        localized("l/${locale}.json", "12-x"),
        &[("l/de.json", FULL)],
        &["error attune localization.default_locale: no-tag"],
    );
    finds(localized("l/${locale}.json", "en-US"), &[], &["warning attune localization: no-locale-files"]);
    finds(localized("l/${locale}.json", "en-US"), &[("l/en-US.json", "{}")], &[]);
    finds(
        localized("l/${locale}.json", "en-US"),
        &[("l/de.json", FULL), ("l/es_MX.json", FULL), ("l/a b.json", "{}")],
        &[
            "warning attune l/a b.json the file: locale-name",
            "error attune l/es_MX.json the file: locale-name",
        ],
    );
}

#[test]
fn what_is_wrong_with_locale_files_is_told() {
    let file = |text: &str, expected: &[&str]| {
        let mut changes = localized("l/${locale}.json", "en-US");
        changes["tools"] = json!([{"name": "t", "description": "d"}]);
        finds(changes, &[("l/de.json", text)], expected);
    };
    let with = |more: &str| {
        format!(
            r#"{{"description": "x", "author": {{"name": "A"}}, {more}, "tools": {{"t": {{"description": "d"}}}}}}"#
        )
    };
    file("{", &["error attune l/de.json the file: locale-refused"]);
    file("[]", &["error attune l/de.json the file: locale-refused"]);
    file(&with(r#""server": {"title": "S"}"#), &[]);
    file(&with(r#""colour": "red""#), &["warning attune l/de.json colour: locale-unknown-key"]);
    file(&with(r#""keywords": "x""#), &["error attune l/de.json keywords: locale-entry"]);
    file(&with(r#""long_description": "lang""#), &["warning attune l/de.json long_description: surplus"]);
    file(
        &with(r#""prompts": {"p": {"description": "?"}}"#),
        &["warning attune l/de.json prompts.p: not-listed"],
    );
    file(
        r#"{"description": "x", "tools": {"t": {"description": "d", "translated_from": {"description": "old"}}, "tt": {"title": "?"}}}"#,
        &[
            "warning attune l/de.json the file: untranslated",
            "warning attune l/de.json tools.t.description: stale",
            "warning attune l/de.json tools.tt: not-listed",
        ],
    );
    let mut generated = localized("l/${locale}.json", "en-US");
    generated["tools_generated"] = true.into();
    finds(
        generated,
        &[(
            "l/de.json",
            r#"{"description": "x", "author": {"name": "A"}, "tools": {"u": {"description": "d"}}}"#,
        )],
        &[],
    );
}

#[test]
fn coverage_counts_what_relatives_lend_and_names_what_is_missing() {
    let files = [
        ("l/es-MX.json", FULL),
        ("l/es-UY.json", "{}"),
        ("l/fr.json", r#"{"description": "y"}"#),
        ("l/en-GB.json", "{}"),
    ];
    let report = judge(localized("l/${locale}.json", "en-US"), &files);
    assert_eq!(shorts(&report), ["warning attune l/fr.json the file: untranslated"]);
    assert_eq!(
        report.ours[0].what.to_string(),
        "1 of 2 texts translated (50 %, and 100 % is wanted); missing: author.name"
    );
    let percents: Vec<_> =
        report.coverage.iter().map(|it| (it.tag.to_string(), it.coverage.percent())).collect();
    assert_eq!(
        percents,
        [("en-GB".into(), 0), ("es-MX".into(), 100), ("es-UY".into(), 100), ("fr".to_owned(), 50)]
    );
    let mut manifest = plain();
    merge(&mut manifest, localized("l/${locale}.json", "en-US"));
    let mut memory = Memory::new(&files);
    memory.0.insert("i.js".into(), Vec::new());
    let report =
        check(manifest.to_string().as_bytes(), &memory, BundleThresholds::default().with_coverage(50));
    assert_eq!(shorts(&report), [""; 0]);
}

#[test]
fn what_cannot_be_read_in_one_way_is_told_and_the_official_verdict_kept() {
    let verdict = |text: &[u8]| {
        let mut memory = Memory::default();
        memory.0.insert("i.js".into(), Vec::new());
        let report = check(text, &memory, BundleThresholds::default());
        (report.valid, report.officially_valid, shorts(&report))
    };
    let plain = plain().to_string();
    let twice = plain.replacen("\"name\"", "\"name\":7,\"name\"", 1);
    assert_eq!(verdict(twice.as_bytes()), (false, true, vec!["error attune the file: unreadable".into()]));
    let (valid, officially, _) =
        verdict(plain.replacen("\"name\":\"weather\"", "\"name\":\"w\",\"name\":7", 1).as_bytes());
    assert_eq!((valid, officially), (false, false));
    let bytes = plain.replacen("weather", "w~", 1).into_bytes();
    let bytes: Vec<u8> = bytes.into_iter().map(|byte| if byte == b'~' { 0xFF } else { byte }).collect();
    assert_eq!(verdict(&bytes), (false, true, vec!["error attune the file: unreadable".into()]));
    let marked = format!("\u{FEFF}{plain}");
    assert_eq!(
        verdict(marked.as_bytes()),
        (false, false, vec!["error official the file: byte-order-mark".into()])
    );
    for broken in ["", "{", "[]", "7", "{} {}", "{\"a\":1,}"] {
        let (valid, officially, told) = verdict(broken.as_bytes());
        assert_eq!((valid, officially, told.len()), (false, false, 1), "{broken}");
    }
    let deep = plain.replacen(
        '{',
        &format!("{{\"_meta\": {{\"a\": {{\"b\": {}1{}}}}}, ", "[".repeat(200), "]".repeat(200)),
        1,
    );
    assert_eq!(
        verdict(deep.as_bytes()).2,
        ["error official the file: unreadable", "error attune the file: unreadable"]
    );
    let large = format!("{}{plain}", " ".repeat(5 << 20));
    assert_eq!(verdict(large.as_bytes()), (false, false, vec!["error official the file: too-large".into()]));
}

#[test]
fn no_more_is_told_than_anyone_reads() {
    let unknown: String = (0..5000).map(|at| format!("\"k{at}\": 1, ")).collect();
    let clients: Vec<String> = (0..400).map(|at| format!("\"client_{at}\": \"1\"")).collect();
    let text = format!("{{{unknown}\"manifest_version\": \"0.3\"}}");
    let report = check(text.as_bytes(), &Memory::default(), BundleThresholds::default());
    assert_eq!(report.official.len(), BundleCheckReport::MAX_PROBLEMS);
    assert!(report.left_out > 4700 && !report.valid);
    // What is beyond the bound counts all the same.
    let text = plain().to_string();
    let text = text.replacen('{', &format!("{{\"compatibility\": {{{}}}, ", clients.join(",")), 1);
    let judge =
        |text: &str| check(text.as_bytes(), &Memory::new(&[("i.js", "")]), BundleThresholds::default());
    assert!(judge(&text).valid);
    let late = text.replacen("\"client_399\"", "\"platfroms\"", 1);
    let report = judge(&late);
    assert!(!report.valid && report.official.iter().all(|it| !it.is_blocking()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_judged(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0usize..2000, at in 0usize..2000) {
        let memory = Memory::new(&[("l/de.json", FULL), ("a.png", "1x1")]);
        drop(check(&bytes, &memory, BundleThresholds::default()));
        let mut whole = plain().to_string().into_bytes();
        whole.truncate(cut.max(10));
        if let Some(byte) = whole.get_mut(at) {
            *byte = bytes.first().copied().unwrap_or(b'"');
        }
        let report = check(&whole, &memory, BundleThresholds::default());
        prop_assert_eq!(report.valid, !report.official.iter().chain(&report.ours).any(BundleProblem::is_blocking));
        prop_assert!(!report.valid || report.officially_valid || report.official.iter().all(|it| it.accepted.is_some()));
    }
}
