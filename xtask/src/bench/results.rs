//! `cargo xtask bench results`: answers that are changed on their way, beside nginx, which passes the same ones.
//!
//! 1. The server behind gives results of some 8 KB, the data as structured content and again as text, and listings of a
//!    hundred tools. Every request has an id of its own and every result other data, so that nothing can be kept from one
//!    to the next but what is the same for all.
//! 2. Attune has a German locale file for every tool, and is otherwise as it comes.
//! 3. Before anything is measured, each kind of answer is looked at: what is to be changed is changed, for one caller as for
//!    the next, and nginx changes nothing.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;

use anyhow::{Context, Result, bail};

use super::page::{Bound, Table, Targets};
use super::{USUAL, column, compared, rounds};
use crate::rig::http::{Call, Told, send};
use crate::rig::load::{Load, Slice, Subject};
use crate::rig::servers::{Bench, Server, workers};
use crate::rig::spread::Spread;

const TOOLS: usize = 100;
const CONFIG: &str =
    "default_language = \"en\"\n[locales]\npath = \"locales/${locale}.json\"\n[content]\nenabled = true\n";
const GERMAN: Told<'static> =
    Told { meta: r#","io.modelcontextprotocol/acceptLanguage":"de""#, capabilities: "", beside: "" };

/// One kind of answer.
struct Kind {
    name: &'static str,
    /// What its load script is called.
    file: &'static str,
    call: Call,
    /// What the answer has when it comes from Attune, and not when it comes from nginx.
    has: Option<&'static str>,
    /// What it no longer has.
    lacks: Option<&'static str>,
    /// How much of nginx's CPU it may take.
    bound: Option<f64>,
}

fn kinds() -> [Kind; 6] {
    let agent = features(r#""agent","verbosity=compact""#);
    let person = features(r#""human""#);
    let call = |told: &Told<'_>| {
        let params = r#""name":"find_trains","arguments":{"from":"Bern","to":"Locarno"}"#;
        Call::telling("tools/call", params, told).with("Mcp-Name", "find_trains")
    };
    let list = |told: &Told<'_>| Call::telling("tools/list", "", told);
    let plain = Told::default();
    let twice = r#"\"trains\""#;
    [
        Kind {
            name: "a result, no preference",
            file: "result",
            call: call(&plain),
            has: None,
            lacks: None,
            bound: None,
        },
        Kind {
            name: "a result in German",
            file: "result-german",
            call: call(&GERMAN),
            has: Some("Fahrplan"),
            lacks: Some("Timetable"),
            bound: Some(1.6),
        },
        Kind {
            name: "a result for an agent, compact",
            file: "result-agent",
            call: call(&Told { capabilities: &agent, ..plain }),
            has: None,
            lacks: Some(twice),
            bound: Some(2.0),
        },
        Kind {
            name: "a result for a person",
            file: "result-person",
            call: call(&Told { capabilities: &person, ..plain }),
            has: Some("| Train |"),
            lacks: Some(twice),
            bound: Some(3.5),
        },
        Kind {
            name: "a listing, no preference",
            file: "listing",
            call: list(&plain),
            has: None,
            lacks: None,
            bound: Some(1.3),
        },
        Kind {
            name: "a listing in German",
            file: "listing-german",
            call: list(&GERMAN),
            has: Some("Arbeit Nummer 99"),
            lacks: Some("Work number 99"),
            bound: Some(1.5),
        },
    ]
}

fn features(tags: &str) -> String {
    format!(
        r#""extensions":{{"io.modelcontextprotocol/content-negotiation":{{"version":"1.0","features":[{tags}]}}}}"#
    )
}

/// Measures, and gives the tables.
pub(crate) fn run(bench: &Bench, count: usize) -> Result<String> {
    let behind = bench.results(TOOLS)?;
    write_locale(bench)?;
    let nginx = bench.nginx(&behind)?;
    let trained = bench.before(&bench.attune, &behind, CONFIG)?;
    let plain =
        (bench.plain != bench.attune).then(|| bench.before(&bench.plain, &behind, CONFIG)).transpose()?;
    let mut subjects = vec![workers(&nginx)?, trained.subject()];
    subjects.extend(plain.as_ref().map(Server::subject));
    let mut targets = Targets::new();
    let mut table = Table::new(&[
        "answer",
        "bytes",
        "bytes from Attune",
        "nginx",
        "Attune",
        "of nginx",
        "plain build, of nginx",
    ]);
    for kind in kinds() {
        println!("{USUAL} connections, {}: nginx; Attune", kind.name);
        let sizes = check(&kind, &subjects)?;
        let load = Load::numbered(&bench.folder, kind.file, &kind.call)?;
        let rounds = rounds(&load, &subjects, USUAL, count)?;
        row(&mut table, &kind, &sizes, &rounds);
        aim(&mut targets, &kind, &rounds);
    }
    Ok([targets.text(), table.text()].join("\n"))
}

/// How large an answer is from the server, and from Attune.
struct Sizes {
    passed: usize,
    changed: usize,
}

/// Looks at two answers of each subject, which must not be the same.
fn check(kind: &Kind, subjects: &[Subject]) -> Result<Sizes> {
    let [nginx, attunes @ ..] = subjects else { bail!("there is nobody to ask") };
    let passed = answer(nginx.address, &kind.call)?;
    let mut changed = 0;
    for attune in attunes {
        let [first, second] = [answer(attune.address, &kind.call)?, answer(attune.address, &kind.call)?];
        changed = first.len();
        for text in [&first, &second] {
            let is_as_wanted = kind.has.is_none_or(|has| text.contains(has) && !passed.contains(has))
                && kind.lacks.is_none_or(|lacks| !text.contains(lacks) && passed.contains(lacks));
            if !is_as_wanted {
                bail!("{}: not as it should be: {}", kind.name, begun(text));
            }
        }
        if kind.call.body.contains("tools/call") && first == second {
            bail!("{}: two answers are the same: {}", kind.name, begun(&first));
        }
    }
    Ok(Sizes { passed: passed.len(), changed })
}

fn answer(address: SocketAddr, call: &Call) -> Result<String> {
    let answer = send(address, call)?;
    let status = answer.head.status;
    let body = String::from_utf8(answer.whole()?).context("an answer is not UTF-8")?;
    if status != 200 || !body.contains("\"result\"") {
        bail!("{address} answered {status}: {}", begun(&body));
    }
    Ok(body)
}

/// As much of an answer as a message has room for.
fn begun(text: &str) -> String {
    text.chars().take(1000).collect()
}

fn row(table: &mut Table, kind: &Kind, sizes: &Sizes, rounds: &[Vec<Slice>]) {
    let cpu =
        |index: usize| format!("{:.0} µs", Spread::of(column(rounds, index).map(|slice| slice.cpu)).median());
    let beside = |index: usize| {
        let ratio = compared(rounds, index, 0, |slice| slice.cpu);
        if ratio.median().is_nan() { String::new() } else { ratio.to_string() }
    };
    let Sizes { passed, changed } = sizes;
    let name = kind.name.to_owned();
    table.row(&[name, passed.to_string(), changed.to_string(), cpu(0), cpu(1), beside(1), beside(2)]);
}

fn aim(targets: &mut Targets, kind: &Kind, rounds: &[Vec<Slice>]) {
    let Some(bound) = kind.bound else { return };
    for (index, whose) in [(1, ""), (2, " (plain build)")] {
        let ratio = compared(rounds, index, 0, |slice| slice.cpu);
        if !ratio.median().is_nan() {
            let what = format!("CPU of {}, of nginx{whose}", kind.name);
            targets.add(&what, Bound::AtMost(bound), ratio.median(), ratio.to_string());
        }
    }
}

/// The locale file: a title and a description for every tool, and what results link to.
fn write_locale(bench: &Bench) -> Result<()> {
    let mut tools =
        r#""find_trains":{"title":"Züge finden","description":"Züge zwischen zwei Bahnhöfen"}"#.to_owned();
    for number in 1..TOOLS {
        let _ = write!(
            tools,
            r#","tool_{number}":{{"title":"Arbeit Nummer {number}","description":"Erledigt die Arbeit Nummer {number} in einer Region"}}"#
        );
    }
    let file = format!(r#"{{"tools":{{{tools}}},"resources":{{"timetable://all":{{"title":"Fahrplan"}}}}}}"#);
    let folder = bench.folder.join("locales");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("de.json"), file).context("could not write the locale file")
}
