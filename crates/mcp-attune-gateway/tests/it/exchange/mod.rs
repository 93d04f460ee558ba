//! The cases of `spec/cases/exchange.json` through the gateway, over real connections, with a server behind that plays the
//! case.

mod program;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use exchange_cases::{
    Answer, Arrived, Asked, Case, Fault, Got, Host, Ids, Request, Step, Text, Workplace, check_step,
    is_listing, names_sealed_session, run,
};
use mcp_attune_gateway::config::Config;
use mcp_attune_gateway::gateway::Gateway;
use mcp_attune_gateway::listen::DrainOutcome;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::support::{behind, message, soon};
use crate::whole::unchunked;

const GATEWAY: Host = Host {
    name: "the gateway",
    lacks: &[("unsealed", "the gateway makes keys where it is given none")],
    except: &[],
    seals: true,
};

/// A header that every request of a caller has here, and none that the gateway sends on its own.
const MARK: &str = "X-Case";

#[test]
fn every_exchange_through_the_gateway() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    run(&GATEWAY, |case| runtime.block_on(through_the_gateway(case)));
}

/// The server of a case, in one of its steps.
#[derive(Clone, Default)]
struct Played {
    listing: Option<Text>,
    step: Arc<Mutex<Option<Step>>>,
    asked: Arc<Mutex<Asked>>,
}

impl Played {
    /// Answers what comes on one connection, in HTTP.
    async fn serve(self, mut tcp: TcpStream) {
        loop {
            let came = message(&mut tcp).await;
            let Some((head, body)) = came.split_once("\r\n\r\n") else { return };
            let answer = self.answer(head, body);
            let (status, bytes) = (answer.status.unwrap_or(200), answer.bytes());
            let mut said = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n", bytes.len());
            for (name, value) in answer.lines() {
                said += &format!("{name}: {value}\r\n");
            }
            let bytes = if status == 204 { String::new() } else { bytes };
            if tcp.write_all(format!("{said}\r\n{bytes}").as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn answer(&self, head: &str, body: &str) -> Answer {
        let step = self.step.lock().unwrap().clone();
        let headers = lines(head);
        let marked = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(MARK));
        let step = step.filter(|_| marked);
        let own = step.as_ref().is_none_or(|step| !is_listing(step.request.body.0.as_bytes()));
        let mut asked = self.asked.lock().unwrap();
        if is_listing(body.as_bytes()) && own {
            asked.listings += usize::from(step.is_some());
            let listing = self.listing.clone().filter(|_| !names_sealed_session(&headers));
            let listing = listing.map(|listing| Answer { body: Some(listing), ..Answer::default() });
            return listing.unwrap_or_else(Answer::no_listing);
        }
        let Some(step) = step else { return Answer::no_listing() };
        asked.others.push(Arrived { headers: Some(headers), body: body.to_owned() });
        step.server.unwrap_or_default()
    }
}

/// The header lines of a head.
fn lines(head: &str) -> Vec<(String, String)> {
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

/// A gateway that serves one case, and ends with it.
struct Running {
    address: SocketAddr,
    task: JoinHandle<DrainOutcome>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts a gateway for a case; `upstream` is that table of its configuration.
async fn start(case: &Case, folder: &Workplace, upstream: &str) -> Result<Running, Fault> {
    let file = folder.path().join("attune.toml");
    std::fs::write(&file, format!("{}upstream = {upstream}\n", case.setup.toml())).unwrap();
    let mut config = Config::load(&file).map_err(|why| Fault(why.to_string()))?;
    config.server.listen.set_port(0);
    config.server.admin.set_port(0);
    let gateway = Gateway::bind(config).await.unwrap();
    let address = gateway.address().unwrap();
    Ok(Running { address, task: tokio::spawn(gateway.run(None, std::future::pending())) })
}

async fn through_the_gateway(case: &Case) -> Result<(), Fault> {
    let folder = Workplace::new(&case.setup);
    let played = Played { listing: case.input.listing.clone(), ..Played::default() };
    let server = {
        let played = played.clone();
        behind(move |_, tcp| played.clone().serve(tcp)).await
    };
    let running = start(case, &folder, &format!("{{ url = 'http://{server}/mcp', era = 'modern' }}")).await?;
    let mut ids = Ids::new(&case.input.sealed, GATEWAY.seals);
    let mut outcome = Ok(());
    for (number, (step, told)) in case.input.steps.iter().zip(&case.expected.steps).enumerate() {
        *played.step.lock().unwrap() = Some(step.clone());
        let got = ask(running.address, &step.request, &ids).await;
        let asked = std::mem::take(&mut *played.asked.lock().unwrap());
        let wrong = |Fault(why)| Fault(format!("step {number}: {why}"));
        outcome = outcome.and_then(|()| check_step(step, told, &asked, &got, &mut ids).map_err(wrong));
    }
    outcome
}

/// Sends a request on a connection of its own, and reads the answer to its end.
async fn ask(address: SocketAddr, request: &Request, ids: &Ids) -> Got {
    let method = request.method.as_deref().unwrap_or("POST");
    let body = ids.fill(&request.body.0);
    let mut said = format!(
        "{method} /mcp HTTP/1.1\r\n{MARK}: 1\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in request.lines(ids) {
        said += &format!("{name}: {value}\r\n");
    }
    let mut tcp = TcpStream::connect(address).await.unwrap();
    tcp.write_all(format!("{said}\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    soon(tcp.read_to_end(&mut answer)).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines(head);
    let has = |name: &str, value: &str| headers.iter().any(|line| line.0 == name && line.1 == value);
    let streams = has("content-type", "text/event-stream");
    let body = if has("transfer-encoding", "chunked") { unchunked(body) } else { body.to_owned() };
    Got { status: Some(status), headers: Some(headers), body, streams, bare: false }
}
