//! `attune.toml`: what it can say, and what is found in it.

use std::path::PathBuf;
use std::time::Duration;

use mcp_attune::language::Tag;
use mcp_attune_gateway::config::{
    BindingConfig, BindingSourceSetting, Config, ConfigLoadError, ContextFieldSetting, CoordinatesSetting,
    ForwardPlacementSetting, HeaderAgreementSetting, HttpImplementation, InstantFormatSetting,
    IntervalBindingPart, IntervalEndSetting, LogLevelSetting, TranslateSetting, UnknownPaths,
    UnknownSchemaSetting, UpstreamConfig, UpstreamTarget,
};
use mcp_attune_wire::agree::{LanguageHeaderPolicy, OnMissingParam};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHv8=";

fn parse(text: &str) -> Config {
    Config::parse(text, "attune.toml").unwrap_or_else(|findings| panic!("{findings}"))
}

/// Everything that is found: line, column, what, hint.
fn found(text: &str) -> Vec<(usize, usize, String, String)> {
    let findings = Config::parse(text, "attune.toml").expect_err("nothing was found");
    findings.iter().map(|found| (found.line, found.column, found.what.clone(), found.hint.clone())).collect()
}

/// What is found, by the first words of it.
fn check(text: &str, expected: &[&str]) {
    let found: Vec<String> = found(text).into_iter().map(|(_, _, what, _)| what).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn an_empty_file_says_what_the_default_is() {
    assert_eq!(parse(""), Config::default());
    assert_eq!(parse("\u{feff}# only a comment\n"), Config::default());
    assert_eq!(
        parse(
            "[server]\n[limits]\n[session]\n[headers]\n[locales]\n[content]\n[context]\n[tools]\n[resources]\n[prompts]\n"
        ),
        Config::default()
    );
}

#[test]
fn reads_every_value() {
    let config = parse(&format!(
        r#"
        default_language = "de-CH"
        log = "debug"
        [server]
        listen = "0.0.0.0:80"
        admin = "[::1]:81"
        http = "hyper"
        allowed_hosts = ["mcp.example.com", "mcp.example.com:8443"]
        allowed_origins = ["https://APP.example.com:443"]
        shutdown_delay = "0 s"
        tls = {{ cert = "a.pem", key = "b.pem" }}
        [limits]
        body = "1 KiB"
        answer = 1000
        event = "2 MiB"
        headers = 7
        header_bytes = 8192
        connections = 3
        calls = 0b10
        request_head = "1 s"
        request_pause = "2 s"
        unread = "3 s"
        upstream_first_byte = "250 ms"
        stream_idle = "1 h"
        drain = "0 s"
        [session]
        keys = ["{KEY}"]
        [upstream]
        command = ["npx", "-y", "-y"]
        env = {{ TOKEN = "secret" }}
        children = 2
        child_idle = "3 min"
        unknown_paths = "refuse"
        [headers]
        agree = "report"
        strict = true
        language_header = "ignore-wildcard"
        on_unknown = "refuse"
        on_missing_param = "pass"
        schema_ttl = "1 min"
        schema_recheck = "0 s"
        schema_budget = "4 s"
        identity_headers = ["X-Tenant", "X-Api-Key"]
        [locales]
        path = "l10n/${{locale}}/texts.json"
        translate = ["model", "display", "logs"]
        [content]
        enabled = true
        announce = true
        [context]
        forward = ["timezone", "userLocation"]
        forward_as = "sibling"
        coordinates = "coarse"
        "#
    ));
    assert_eq!(config.default_language, Tag::parse("de-CH").ok());
    assert_eq!(config.log, LogLevelSetting::Debug);
    assert_eq!(config.server.listen.to_string(), "0.0.0.0:80");
    assert_eq!(config.server.admin.to_string(), "[::1]:81");
    assert_eq!(config.server.http, HttpImplementation::Hyper);
    assert_eq!(config.server.allowed_hosts, ["mcp.example.com", "mcp.example.com:8443"]);
    assert_eq!(config.server.allowed_origins[0].as_str(), "https://app.example.com");
    assert_eq!(config.server.shutdown_delay, Duration::ZERO);
    assert_eq!(config.server.tls.as_ref().unwrap().key.to_str(), Some("b.pem"));
    let limits = &config.limits;
    assert_eq!((limits.body, limits.answer, limits.event), (1024, 1000, 2 << 20));
    assert_eq!((limits.headers, limits.header_bytes, limits.connections, limits.calls), (7, 8192, 3, 2));
    let of_callers = (limits.request_head, limits.request_pause, limits.unread);
    assert_eq!(of_callers, (Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(3)));
    assert_eq!(limits.upstream_first_byte, Duration::from_millis(250));
    assert_eq!((limits.stream_idle, limits.drain), (Duration::from_secs(3600), Duration::ZERO));
    assert_eq!(config.session.keys[0].expose()[1], 1);
    let mount = &config.mounts[0];
    let UpstreamConfig { target: UpstreamTarget::Stdio(child), unknown_paths, .. } =
        mount.upstream.as_ref().unwrap()
    else {
        panic!("{mount:?}")
    };
    assert_eq!(*unknown_paths, UnknownPaths::Refuse);
    assert_eq!(
        (child.program.as_str(), child.arguments.as_slice()),
        ("npx", &["-y".to_owned(), "-y".to_owned()][..])
    );
    assert_eq!(child.env.iter().collect::<Vec<_>>(), [("TOKEN", "secret")]);
    assert_eq!((child.children, child.child_idle), (2, Duration::from_secs(180)));
    let headers = &mount.headers;
    assert_eq!((headers.agree, headers.strict), (HeaderAgreementSetting::Report, true));
    assert_eq!(headers.language_header, LanguageHeaderPolicy::IgnoreWildcard);
    assert_eq!(
        (headers.on_unknown, headers.on_missing_param),
        (UnknownSchemaSetting::Refuse, OnMissingParam::Pass)
    );
    assert_eq!(headers.schema_ttl, Duration::from_secs(60));
    assert_eq!((headers.schema_recheck, headers.schema_budget), (Duration::ZERO, Duration::from_secs(4)));
    assert_eq!(headers.identity_headers, ["x-tenant", "x-api-key"]);
    assert_eq!(mount.locales.path.to_string(), "l10n/${locale}/texts.json");
    assert_eq!(
        mount.locales.translate,
        [TranslateSetting::Model, TranslateSetting::Display, TranslateSetting::Logs]
    );
    assert!(mount.content.enabled && mount.content.announce);
    assert_eq!(mount.context.forward, [ContextFieldSetting::Timezone, ContextFieldSetting::UserLocation]);
    assert_eq!(mount.context.forward_as, ForwardPlacementSetting::Sibling);
    assert_eq!(mount.context.coordinates, CoordinatesSetting::Coarse);
}

#[test]
fn the_implementation_of_http_is_one_of_two_words() {
    assert_eq!(parse("[server]\nhttp = 'own'").server.http, HttpImplementation::Own);
    assert_eq!(parse("").server.http, HttpImplementation::Own);
    for (value, what, hint) in [
        ("'hyped'", "`server.http` is none of its 2 values", "did you mean \"hyper\"?"),
        ("'nginx'", "`server.http` is none of its 2 values", "write \"own\" or \"hyper\""),
        ("2", "`server.http` is an integer, not a string", "put it in quotes"),
    ] {
        let found = found(&format!("[server]\nhttp = {value}\n"));
        let [(2, 8, found_what, found_hint)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((found_what.as_str(), found_hint.as_str()), (what, hint), "{value}");
    }
}

#[test]
fn reads_tools_and_what_fills_their_arguments() {
    let config = parse(
        r#"
        [context]
        coordinates = "exact"
        [tools.get_weather]
        templates = "templates/get_weather"
        low_priority = ["source"]
        language_argument = "language"
        [tools.get_weather.context]
        tz = { from = "timezone", hide = true, default = "UTC" }
        lat = { from = "latitude" }
        [tools."sales report".context]
        from = { interval = "period", part = "start", as = "date" }
        to = { interval = "period", part = "end", as = "date", end = "inclusive" }
        until = { interval = "period", part = "end", as = "unix-ms", hide = true }
        at = { from = "now", as = "unix", default = 0 }
        "#,
    );
    let tools = &config.mounts[0].tools;
    let weather = &tools["get_weather"];
    assert_eq!(weather.templates.as_ref().unwrap().to_str(), Some("templates/get_weather"));
    assert_eq!(weather.hints, None);
    assert_eq!(
        (weather.low_priority.as_slice(), weather.language_argument.as_deref()),
        (&["source".to_owned()][..], Some("language"))
    );
    let BindingConfig::Field(tz) = &weather.context["tz"] else { panic!("{weather:?}") };
    assert_eq!(
        (tz.from, tz.hide, tz.default.clone()),
        (BindingSourceSetting::Timezone, true, Some("UTC".into()))
    );
    let BindingConfig::Field(lat) = &weather.context["lat"] else { panic!("{weather:?}") };
    assert_eq!((lat.from, lat.hide, lat.default.clone()), (BindingSourceSetting::Latitude, false, None));
    let part = |name: &str| match &tools["sales report"].context[name] {
        BindingConfig::Interval(binding) => {
            (binding.interval.as_str(), binding.part, binding.written, binding.hide)
        }
        BindingConfig::Field(binding) => panic!("{binding:?}"),
    };
    assert_eq!(part("from"), ("period", IntervalBindingPart::Start, InstantFormatSetting::Date, false));
    assert_eq!(
        part("to"),
        (
            "period",
            IntervalBindingPart::End(IntervalEndSetting::Inclusive),
            InstantFormatSetting::Date,
            false
        )
    );
    assert_eq!(
        part("until"),
        (
            "period",
            IntervalBindingPart::End(IntervalEndSetting::Exclusive),
            InstantFormatSetting::UnixMillis,
            true
        )
    );
    let BindingConfig::Field(at) = &tools["sales report"].context["at"] else { panic!("{tools:?}") };
    assert_eq!(
        (at.from, at.written, at.default.clone()),
        (BindingSourceSetting::Now, InstantFormatSetting::Unix, Some(0.into()))
    );
}

#[test]
fn mounts_begin_with_what_stands_at_the_top_and_may_say_otherwise() {
    let config = parse(
        r#"
        [headers]
        strict = true
        schema_ttl = "9 s"
        [content]
        enabled = true
        [mounts.sales]
        path = "/sales/mcp"
        upstream.command = ["sales"]
        [mounts.weather]
        path = "/weather/mcp"
        upstream = { url = "http://127.0.0.1:9001/mcp" }
        headers = { schema_ttl = "8 s", agree = "report" }
        [mounts.weather.tools.get_weather]
        low_priority = ["source"]
        "#,
    );
    let [sales, weather] = config.mounts.as_slice() else { panic!("{config:?}") };
    assert_eq!((sales.name.as_str(), sales.path.as_str()), ("sales", "/sales/mcp"));
    assert_eq!((weather.name.as_str(), weather.path.as_str()), ("weather", "/weather/mcp"));
    for mount in [sales, weather] {
        assert!(mount.headers.strict && mount.content.enabled && mount.upstream.is_some());
    }
    assert_eq!(
        (sales.headers.agree, sales.headers.schema_ttl),
        (HeaderAgreementSetting::Enforce, Duration::from_secs(9))
    );
    assert_eq!(
        (weather.headers.agree, weather.headers.schema_ttl),
        (HeaderAgreementSetting::Report, Duration::from_secs(8))
    );
    assert!(sales.tools.is_empty() && weather.tools.contains_key("get_weather"));
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let text = r#"defualt_language = "en"
log = "loud"

[server]
listen = "localhost:8808"
admin = 8809
allowed_hosts = ["", "localhost", 7]

[limits]
body = "4 MB"
stream_idle = 300
upstream = "60 s"

[upstream]
url = "ws://127.0.0.1:9000/mcp"
command = ["npx"]
"#;
    insta::assert_snapshot!(Config::parse(text, "conf/attune.toml").unwrap_err(), @r#"
    conf/attune.toml:1:1: there is no key `defualt_language` at the top
      1 | defualt_language = …
        | ^^^^^^^^^^^^^^^^
    hint: did you mean `default_language`?

    conf/attune.toml:2:7: `log` is none of its 6 values
      2 | log = "loud"
        |       ^^^^^^
    hint: write "info", "off", "error", "warn", "debug" or "trace"

    conf/attune.toml:5:10: `server.listen` is no IP address with a port
      5 | listen = "localhost:8808"
        |          ^^^^^^^^^^^^^^^^
    hint: did you mean "127.0.0.1:8808"?

    conf/attune.toml:6:9: `server.admin` is no IP address with a port
      6 | admin = 8809
        |         ^^^^
    hint: write "127.0.0.1:8809" for this machine alone, "0.0.0.0:8809" for everyone

    conf/attune.toml:7:18: `server.allowed_hosts[0]` is empty
      7 | allowed_hosts = ["", "localhost", 7]
        |                  ^^
    hint: write a name, or a name and a port, such as "mcp.example.com" or "mcp.example.com:8443"

    conf/attune.toml:7:35: `server.allowed_hosts[2]` is an integer, not a string
      7 | allowed_hosts = ["", "localhost", 7]
        |                                   ^
    hint: put it in quotes

    conf/attune.toml:10:8: `limits.body` is no size
      10 | body = "4 MB"
         |        ^^^^^^
    hint: units are B, KiB (1024 B), MiB and GiB, such as "4 MiB"

    conf/attune.toml:11:15: `limits.stream_idle` has no unit
      11 | stream_idle = 300
         |               ^^^
    hint: write "300 s", or ms, min or h

    conf/attune.toml:12:1: there is no key `upstream` in [limits]
      12 | upstream = …
         | ^^^^^^^^
    hint: did you mean `streams`?

    conf/attune.toml:15:7: `upstream.url` is neither http nor https
      15 | url = "ws://127.0.0.1:9000/mcp"
         |       ^^^^^^^^^^^^^^^^^^^^^^^^^
    hint: write a whole URL, such as "http://127.0.0.1:9000/mcp"

    conf/attune.toml:16:11: `upstream.command` stands beside `url`
      16 | command = ["npx"]
         |           ^^^^^^^
    hint: keep one of the two
    "#);
}

#[test]
fn contradictions_are_found() {
    for (text, expected) in [
        ("[upstream]\nurl = 'http://a/'\ncommand = ['a']", &["`upstream.command` stands beside `url`"][..]),
        ("[upstream]\nunknown_paths = 'pass'", &["[upstream] names no server"]),
        ("[upstream]\ncommand = []", &["`upstream.command` names no program"]),
        ("[upstream]\ncommand = ['']", &["`upstream.command` names no program"]),
        (
            "[upstream]\nurl = 'http://a/'\nchildren = 3\nenv = {}",
            &[
                "`upstream.children` is for a `command`, and this is a `url`",
                "`upstream.env` is for a `command`, and this is a `url`",
            ],
        ),
        ("[server]\nlisten = '127.0.0.1:8809'", &["`server.listen` is the address of `server.admin` too"]),
        (
            "[server]\nlisten='[::]:1'\nadmin='[::]:1'",
            &["`server.admin` is the address of `server.listen` too"],
        ),
        ("[server]\ntls = { cert = 'a' }", &["[server.tls] has no `key`"]),
        ("[server]\ntls = {}", &["[server.tls] has no `cert`", "[server.tls] has no `key`"]),
        ("[content]\nannounce = true", &["`content.announce` announces what is not enabled"]),
        ("[session]\nkeys = []", &["`session.keys` is empty"]),
        ("[locales]\ntranslate = ['model', 'model']", &["`locales.translate[1]` comes twice"]),
        ("[headers]\nidentity_headers = ['X-A', 'x-a']", &["`headers.identity_headers[1]` comes twice"]),
    ] {
        check(text, expected);
    }
    // A port that the system chooses is another one each time.
    parse("[server]\nlisten = '127.0.0.1:0'\nadmin = '127.0.0.1:0'");
}

#[test]
fn contradictions_of_mounts_are_found() {
    let mount =
        |name: &str, path: &str| format!("[mounts.{name}]\npath = '{path}'\nupstream.url = 'http://a/'\n");
    check(
        &format!("{}{}", mount("a", "/mcp"), mount("b", "/mcp")),
        &["`mounts.b.path` is the path of [mounts.a] too"],
    );
    check(&mount("a", "mcp"), &["`mounts.a.path` does not begin with a slash"]);
    check(&mount("'a b'", "/mcp"), &["[mounts.a b] has a name that no metric can carry"]);
    check(
        &format!("{}[upstream]\nurl = 'http://a/'\n[tools.x]\nhints = 'a'\n", mount("a", "/mcp")),
        &["`upstream` stands beside [mounts]", "`tools` stands beside [mounts]"],
    );
    // What stands in the wrong place is checked all the same.
    check(
        &format!("{}[tools.x]\nhint = 'a'\n", mount("a", "/mcp")),
        &["`tools` stands beside [mounts]", "there is no key `hint` in [tools.x]"],
    );
    check("[mounts.a]", &["[mounts.a] has no `path`", "[mounts.a] has no `upstream`"]);
    check("[mounts]", &["`mounts` names no server"]);
    check("mounts = 3", &["`mounts` is an integer, not a table"]);
    check("[mounts]\na = 3", &["`mounts.a` is an integer, not a table"]);
    check(
        &format!("{}[mounts.a.session]\nkeys = ['{KEY}']", mount("a", "/mcp")),
        &["there is no key `session` in [mounts.a]"],
    );
}

#[test]
fn reads_the_templates_of_tools_resources_and_prompts() {
    let config = parse(
        r#"
        [tools.a]
        templates = "templates/a"
        [resources."weather://stations"]
        templates = "templates/stations"
        [prompts.plan_trip]
        templates = "/srv/plan_trip"
        "#,
    );
    let mount = &config.mounts[0];
    let path = |path: &Option<PathBuf>| path.as_ref().unwrap().to_str().unwrap().to_owned();
    assert_eq!(path(&mount.tools["a"].templates), "templates/a");
    assert_eq!(path(&mount.resources["weather://stations"].templates), "templates/stations");
    assert_eq!(path(&mount.prompts["plan_trip"].templates), "/srv/plan_trip");
    let config = parse("[mounts.a]\npath = '/a'\nupstream.url = 'http://a/'\nprompts.b.templates = 'c'\n");
    assert_eq!(path(&config.mounts[0].prompts["b"].templates), "c");
}

#[test]
fn what_is_wrong_with_templates_is_found() {
    assert_eq!(
        found("[tools.a]\ntemplates = 'templates/a.md'\n"),
        [(
            2,
            13,
            "`tools.a.templates` names one file".to_owned(),
            "write \"templates/a\"; the ends of names tell templates apart".to_owned()
        )]
    );
    check("[resources.'a://b']\ntemplates = 'templates/'\n", &["`resources.a://b.templates` names a folder"]);
    check("[prompts.a]\n", &["[prompts.a] says nothing"]);
    check(
        "[prompts.a]\ntemplate = 'a'\n",
        &["[prompts.a] says nothing", "there is no key `template` in [prompts.a]"],
    );
    check("[prompts.a]\ntemplates = ['a']\n", &["`prompts.a.templates` is an array, not a string"]);
    let mount = "[mounts.a]\npath = '/a'\nupstream.url = 'http://a/'\n";
    check(&format!("{mount}[prompts.a]\ntemplates = 'a'\n"), &["`prompts` stands beside [mounts]"]);
    check(&format!("{mount}[resources.a]\ntemplates = 'a'\n"), &["`resources` stands beside [mounts]"]);
}

#[test]
fn paths_are_relative_to_the_file() {
    let folder = std::env::temp_dir().join(format!("attune-config-paths-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = "[tools.a]\ntemplates = 't/a'\nhints = 't/a.hints'\n[resources.b]\ntemplates = 't/b'\n[prompts.c]\ntemplates = '/c'\n";
    std::fs::write(folder.join("attune.toml"), text).unwrap();
    let config = Config::load(&folder.join("attune.toml")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let mount = &config.mounts[0];
    assert_eq!(mount.tools["a"].templates, Some(folder.join("t/a")));
    assert_eq!(mount.tools["a"].hints, Some(folder.join("t/a.hints")));
    assert_eq!(mount.resources["b"].templates, Some(folder.join("t/b")));
    assert_eq!(mount.prompts["c"].templates, Some(PathBuf::from("/c")));
    assert_eq!(mount.locales.path.folder(), folder.join("locales"));
}

#[test]
fn contradictions_of_tools_are_found() {
    for (binding, expected) in [
        ("{}", &["[tools.x.context.a] binds to nothing"][..]),
        ("'timezone'", &["`tools.x.context.a` is a string, not a table"]),
        ("{ from = 'zone' }", &["`tools.x.context.a.from` is none of its 11 values"]),
        ("{ from = 'now', interval = 'b' }", &["`tools.x.context.a.interval` stands beside `from`"]),
        (
            "{ from = 'now', part = 'end' }",
            &["`tools.x.context.a.part` goes with `interval`, and this is `from`"],
        ),
        (
            "{ interval = 'p', default = true }",
            &[
                "[tools.x.context.a] has no `part`",
                "`tools.x.context.a.default` goes with `from`, and this is `interval`",
            ],
        ),
        (
            "{ interval = 'p', part = 'start', end = 'inclusive' }",
            &["`tools.x.context.a.end` says how an interval ends, and this is its start"],
        ),
        (
            "{ interval = 'a', part = 'start' }",
            &["`tools.x.context` fills `a` from `a`, which is filled itself"],
        ),
        ("{ from = 'today', as = 'unix' }", &["`tools.x.context.a.as` says how an instant is written"]),
        ("{ from = 'timezone', default = 1 }", &["`tools.x.context.a.default` is not a string"]),
        ("{ from = 'timezone', default = 'Zurich' }", &["`tools.x.context.a.default` is not a time zone"]),
        (
            "{ from = 'timezone', default = '+01:00' }",
            &["`tools.x.context.a.default` is an offset and not a time zone"],
        ),
        ("{ from = 'country', default = 'UK' }", &["`tools.x.context.a.default` is not a country"]),
        ("{ from = 'locale', default = 'de_CH' }", &["`tools.x.context.a.default` is not a language tag"]),
        ("{ from = 'now', as = 'unix', default = '0' }", &["`tools.x.context.a.default` is not a number"]),
        ("{ from = 'latitude' }", &["`tools.x.context.a.from` would never be filled: coordinates are off"]),
    ] {
        check(&format!("[tools.x.context]\na = {binding}"), expected);
    }
    check(
        "[tools.x]\nlanguage_argument = 'a'\n[tools.x.context]\na = { from = 'locale' }",
        &["`tools.x.language_argument` is `a`, which `context` fills too"],
    );
}

#[test]
fn a_wrong_type_is_found_at_every_key() {
    for (text, what) in [
        ("default_language = 1", "`default_language` is an integer, not a string"),
        ("log = true", "`log` is a boolean, not a string"),
        ("server = 1.5", "`server` is a float, not a table"),
        ("[[server]]", "`server` is an array, not a table"),
        ("server.listen = 1979-05-27", "`server.listen` is a date or time, not a string"),
        ("server.allowed_hosts = 'a'", "`server.allowed_hosts` is a string, not an array of strings"),
        ("headers.strict = 'yes'", "`headers.strict` is a string, not a boolean"),
        ("limits.calls = '9'", "`limits.calls` is a string, not an integer"),
        ("tools.x = 1", "`tools.x` is an integer, not a table"),
        ("[upstream]\ncommand = ['a', 1]", "`upstream.command[1]` is an integer, not a string"),
        ("[upstream]\ncommand = ['a']\nenv = { A = 1 }", "`upstream.env.A` is an integer, not a string"),
    ] {
        check(text, &[what]);
    }
}

#[test]
fn languages_are_checked_and_the_underscore_is_understood() {
    let (.., what, hint) = found("default_language = 'de_CH'").remove(0);
    assert_eq!((&*what, &*hint), ("`default_language` is not a language tag", "did you mean \"de-CH\"?"));
    let (.., hint) = found("default_language = 'German, please'").remove(0);
    assert_eq!(hint, "write one by BCP 47, such as en, de-CH or zh-Hant-TW");
}

#[test]
fn an_unknown_key_gets_the_hint_that_helps_most() {
    for (text, hint) in [
        ("[server]\nlisten_ = ''", "did you mean `listen`?"),
        ("[server]\nallowed-hosts = []", "did you mean `allowed_hosts`?"),
        ("[Server]", "did you mean `server`?"),
        ("listen = '127.0.0.1:80'", "`listen` belongs in [server]"),
        ("[server]\nurl = 'http://a/'", "`url` belongs in [upstream]"),
        ("[content]\nxyzzy = 1", "the keys here are `enabled`, `announce`"),
    ] {
        assert_eq!(found(text)[0].3, hint, "{text}");
    }
}

#[test]
fn keys_with_strange_names_are_escaped_and_shortened() {
    let long = "x".repeat(5000);
    check(&format!("{long} = 1"), &[&format!("there is no key `{}…` at the top", "x".repeat(40))]);
    check("\"a\\n\\u001b[31m\" = 1", &["there is no key `a\\n\\u{1b}[31m` at the top"]);
}

#[test]
fn what_is_no_toml_is_found_with_its_line() {
    let found = found("log = 'info'\n\n[server\nlisten = 1\nadmin = \n");
    assert!(found.iter().all(|(_, _, what, _)| what.starts_with("this is no TOML: ")), "{found:?}");
    assert_eq!((found[0].0, found[0].1), (3, 8));
    check(
        "log = 'info'\nlog = 'warn'\n[server]\nlisten = ''",
        &["this is no TOML: duplicate key", "`server.listen` is no IP address with a port"],
    );
}

#[test]
fn secrets_are_never_shown() {
    for text in [
        "[session]\nkeys = ['SECRET']",
        "session = { keys = ['SECRET'], x = 1 }",
        "session = ['SECRET']",
        "session = 'SECRET'",
        "[session]\nkyes = ['SECRET']",
        "keys = ['SECRET']",
        "sesion = { keys = ['SECRET'] }",
        "[session]\nkeys = ['SECRET]",
        "[session]\nkeys = [\n'SECRET',\n'SECRET\n]",
        "session.keys = ['SECRET', SECRET]",
        "[upstream]\nurl = 'http://a/'\nenv = { A = 'SECRET' }",
        "upstream = { command = [], env = { A = 'SECRET', B = 1 } }",
        "[upstream]\ncommand = ['a']\nenv.A = ['SECRET']",
        "[upstream]\nenv = { A = 'SECRET }",
        "upstream = { url = 'http://me:SECRET@a/' }",
        "upstream = { env = { A = 'SECRET' } }\n[mounts.a]",
        "[mounts.a]\npath = 1\nupstream = { command = [1], env = { A = 'SECRET' } }",
    ] {
        let findings = Config::parse(text, "attune.toml").unwrap_err();
        assert!(!findings.to_string().contains("SECRET"), "{findings}");
        assert!(!findings.iter().any(|found| format!("{found:?}").contains("SECRET")), "{findings:?}");
    }
    let config =
        parse(&format!("[session]\nkeys = ['{KEY}']\n[upstream]\ncommand = ['a']\nenv.A = 'SECRET'"));
    let printed = format!("{config:?} {config:#?}");
    assert!(
        printed.contains("Key(…)") && !printed.contains("SECRET") && !printed.contains("30, 255"),
        "{printed}"
    );
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let text = "#".repeat(Config::MAX_LEN);
    assert_eq!(parse(&text), Config::default());
    check(&format!("{text}#"), &["the file is larger than 1 MiB"]);
}

#[test]
fn large_files_full_of_mistakes_are_told_in_good_time() {
    let lines: String = (0..10_000).map(|n| format!("key{n} = 1\n")).collect();
    assert_eq!(found(&lines).len(), 10_000);
    let inline: Vec<String> = (0..10_000).map(|n| format!("key{n} = 1")).collect();
    let inline = format!("server = {{ {} }}", inline.join(", "));
    let findings = Config::parse(&inline, "attune.toml").unwrap_err();
    assert_eq!(findings.iter().count(), 10_000);
    assert!(findings.to_string().len() < 10_000 * 450);
    let deep = format!("a = {}1{}", "[".repeat(400_000), "]".repeat(400_000));
    assert!(Config::parse(&deep, "attune.toml").is_err());
    let names = format!(
        "[server]\nallowed_hosts = [{}]",
        (0..20_000).map(|n| format!("'h{n}',")).collect::<String>()
    );
    check(&names, &["`server.allowed_hosts` has more than 1000 entries"]);
}

#[test]
fn files_are_loaded_as_far_as_they_can_be_read() {
    let folder = std::env::temp_dir().join(format!("attune-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let load = |bytes: &[u8]| {
        let path = folder.join("attune.toml");
        std::fs::write(&path, bytes).unwrap();
        Config::load(&path)
    };
    let what = |bytes: &[u8]| match load(bytes) {
        Err(ConfigLoadError::Wrong(findings)) => {
            let found = findings.iter().next().unwrap();
            format!("{}:{}: {}", found.line, found.column, found.what)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(load(b"log = 'warn'").unwrap().log, LogLevelSetting::Warn);
    assert_eq!(what(b"log = 'warn'\n# \xff"), "2:3: this is no UTF-8");
    assert_eq!(what(&vec![b'#'; Config::MAX_LEN + 5000]), "1:1: the file is larger than 1 MiB");
    assert_eq!(what("é".repeat(Config::MAX_LEN).as_bytes()), "1:1: the file is larger than 1 MiB");
    assert!(matches!(Config::load(&folder.join("gone.toml")), Err(ConfigLoadError::Unreadable(_))));
    assert!(matches!(Config::load(&folder), Err(ConfigLoadError::Unreadable(_))));
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = Config::parse(&text, "attune.toml").map_err(|findings| findings.to_string());
    }

    /// The example with one part of it replaced: close enough to a good file to get far.
    #[test]
    fn no_change_of_a_good_file_makes_it_panic(at in 0_usize..6000, length in 0_usize..40, with in "[ -~\n\té€]{0,6}") {
        let text = Config::example();
        let floor = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let (from, to) = (floor(at), floor(at + length));
        let text = format!("{}{with}{}", &text[..from], &text[to..]);
        if let Err(findings) = Config::parse(&text, "attune.toml") {
            let lines = text.lines().count().max(1);
            for found in findings.iter() {
                assert!(found.line <= lines + 1 && !found.what.is_empty() && !found.hint.is_empty(), "{found}");
            }
        }
    }
}
