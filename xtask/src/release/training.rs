//! What a build is trained with: callers of all kinds, most of them plain.

use std::net::SocketAddr;
use std::thread;

use anyhow::{Context, Result, bail};

use crate::rig::http::{Call, Connection, Told};
use crate::rig::pipe::Pipe;
use crate::rig::servers::Bench;
use crate::rig::{call, streams};

const CONNECTIONS: usize = 16;
/// How often each of them asks for everything.
const TURNS: usize = 40;
/// Plain calls between two others.
const PLAIN: usize = 8;
/// Calls over pipes.
const PIPED: usize = 5000;

/// Lets a build be called in every way that it is meant for, and ends it in order, because it tells its counts last.
pub(crate) fn train(bench: &Bench) -> Result<()> {
    asked(bench, TURNS, PIPED)
}

/// Once each, to see that everything is answered.
pub(crate) fn show(bench: &Bench) -> Result<()> {
    asked(bench, 1, 1)
}

fn asked(bench: &Bench, turns: usize, piped: usize) -> Result<()> {
    let (demo, whole, program) = (bench.demo()?, bench.whole_demo()?, bench.attune_before_program()?);
    let before = bench.attune(&demo)?;
    for server in [&before, &whole, &program] {
        load(server.address, turns)?;
    }
    let streaming = bench.many_tools(1)?;
    let events = bench.attune(&streaming)?;
    streams::times(events.address)?;
    let mut pipe = Pipe::through(bench)?;
    pipe.times(piped, &call())?;
    pipe.end()?;
    for server in [before, whole, program, events, demo] {
        server.end()?;
    }
    Ok(())
}

/// Callers on several connections at a time; some of them send their heads and bodies apart, some have a session.
fn load(address: SocketAddr, turns: usize) -> Result<()> {
    let caller = |number: usize| {
        let mut connection = Connection::open(address)?.parted(number % 4 == 3);
        let kinds = if number % 4 == 2 { in_session(&mut connection)? } else { kinds() };
        for _ in 0..turns {
            for (kind, expected) in &kinds {
                for _ in 0..PLAIN {
                    ask(&mut connection, &call(), 200)?;
                }
                ask(&mut connection, kind, *expected)?;
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CONNECTIONS).map(|number| scope.spawn(move || caller(number))).collect();
        callers.into_iter().try_for_each(|caller| caller.join().unwrap_or_else(|_| bail!("a caller gave up")))
    })
}

fn ask(connection: &mut Connection, call: &Call, expected: u16) -> Result<Option<String>> {
    let (head, body) = connection.ask(call).with_context(|| format!("no answer to {}", call.body))?;
    let body = String::from_utf8_lossy(&body);
    let done = body.contains("\"result\"") && !body.contains("\"isError\":true");
    if head.status != expected || done != (expected == 200) {
        bail!("{} where {expected} was expected: {body}\nin answer to {}", head.status, call.body);
    }
    Ok(head.session)
}

/// What callers ask for beside the plain call, and the status that it is answered with.
fn kinds() -> Vec<(Call, u16)> {
    let german =
        Told { meta: r#","io.modelcontextprotocol/acceptLanguage":"de-CH, en;q=0.5""#, ..Told::default() };
    let english = Told { meta: r#","io.modelcontextprotocol/acceptLanguage":"en-GB""#, ..Told::default() };
    let vienna = Told {
        beside: r#","clientContext":{"timezone":"Europe/Vienna","locale":"de-AT"}"#,
        ..Told::default()
    };
    let person = Told { capabilities: &features("human"), ..german };
    let agent = Told { capabilities: &features("agent"), ..Told::default() };
    let tool = |name: &'static str, arguments: &str, told: &Told| {
        let params = format!(r#""name":"{name}","arguments":{{{arguments}}}"#);
        Call::telling("tools/call", &params, told).with("Mcp-Name", name)
    };
    let weather = r#""location":"Bern""#;
    let resource = "map://features/alpine-valley-1";
    let fine = [
        Call::modern("server/discover", ""),
        Call::modern("tools/list", ""),
        Call::telling("tools/list", "", &german),
        Call::modern("resources/list", ""),
        Call::modern("prompts/list", ""),
        Call::modern("prompts/get", r#""name":"plan_trip","arguments":{"city":"Bern"}"#)
            .with("Mcp-Name", "plan_trip"),
        Call::modern("resources/read", &format!(r#""uri":"{resource}""#)).with("Mcp-Name", resource),
        tool("find_connections", r#""from":"Bern","to":"Zürich""#, &english),
        tool("get_weather", weather, &german),
        tool("get_weather", weather, &person),
        tool("get_weather", weather, &agent),
        tool("query_sales", r#""query":"sales this month""#, &vienna),
        tool("local_time", r#""tz":"Asia/Kathmandu""#, &Told::default()),
    ];
    let lie = call().with("Mcp-Param-Region", "us-west1");
    fine.into_iter().map(|call| (call, 200)).chain([(lie, 400)]).collect()
}

fn features(tag: &str) -> String {
    format!(
        r#""extensions":{{"io.modelcontextprotocol/content-negotiation":{{"version":"1.0","features":["{tag}"]}}}}"#
    )
}

/// Opens a session, and gives what is asked for in it.
fn in_session(connection: &mut Connection) -> Result<Vec<(Call, u16)>> {
    let client =
        r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"trainer","version":"1"}"#;
    let session = ask(connection, &Call::legacy(r#""id":1,"#, "initialize", client), 200)?;
    let in_session = |id: &str, method: &str, params: &str| {
        let call = Call::legacy(id, method, params).with("MCP-Protocol-Version", "2025-11-25");
        match &session {
            Some(session) => call.with("Mcp-Session-Id", session),
            None => call,
        }
    };
    ask(connection, &in_session("", "notifications/initialized", ""), 202)?;
    let called = r#""name":"get_weather","arguments":{"location":"Bern"}"#;
    let [list, call] = [("tools/list", ""), ("tools/call", called)]
        .map(|(method, params)| in_session(r#""id":2,"#, method, params));
    Ok(vec![(list, 200), (call.clone(), 200), (call, 200)])
}
