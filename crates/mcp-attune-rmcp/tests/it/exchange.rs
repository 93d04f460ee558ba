//! The cases of `spec/cases/exchange.json` through the transport of an rmcp server.
//!
//! rmcp reads messages into types of its own and writes them anew, so what messages say is compared, not their bytes.

use std::time::Duration;

use exchange_cases::{Case, Fault, Host, LineHost, check_lines, run};
use mcp_attune_rmcp::{AttuneTransport, Settings};
use rmcp::RoleServer;
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::runtime::Runtime;
use tokio::time::timeout;

const TRANSPORT: Host = Host {
    name: "the transport of rmcp",
    lacks: &[
        ("http", "pipes have neither headers, nor statuses, nor methods"),
        ("listing", "nothing between pipes sends requests of its own"),
        ("any-bytes", "rmcp sends messages only"),
    ],
    except: &[
        ("c10-or-beside-params-modern", BESIDE),
        ("c10-or-beside-params-legacy", BESIDE),
        ("f5-a-question-is-not-shaped", OWN_TYPES),
        ("f12-images-audio-and-resources-survive", OWN_TYPES),
        ("g3-what-was-shaped-is-no-longer-for-everybody", OWN_TYPES),
        ("l7-the-report-goes-first-into-a-result-with-a-meta-of-its-own", OWN_TYPES),
        ("l7-the-report-goes-first-into-a-result-with-an-empty-meta", OWN_TYPES),
        ("l8-the-title-of-a-modern-server", OWN_TYPES),
        ("l13-a-subscription-has-the-language-that-opened-it", OWN_TYPES),
        ("g1-odd-spellings-pass-nothing", UNREAD),
        ("g1-odd-spellings-pass-english", UNREAD),
        ("g1-odd-spellings-pass-translated", UNREAD),
        ("g1-odd-spellings-pass-shaped", UNREAD),
        ("g1-odd-spellings-pass-bound", UNREAD),
        ("h13-a-legacy-batch-passes", UNREAD),
        ("h17-a-body-that-cannot-be-read-passes-where-it-is-only-reported", UNREAD),
    ],
    seals: false,
};

const BESIDE: &str = "rmcp drops what stands beside params; handlers get the context with their caller";
const OWN_TYPES: &str =
    "rmcp takes a message for one of its own types, and drops members that it does not have";
const UNREAD: &str = "rmcp does not read it";

/// How long is waited for what is not expected to come.
const IMPATIENCE: Duration = Duration::from_millis(50);

#[test]
fn every_exchange_through_a_transport_of_rmcp() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    run(&TRANSPORT, |case| through_rmcp(&runtime, case));
}

fn through_rmcp(runtime: &Runtime, case: &Case) -> Result<(), Fault> {
    let mut settings = Settings::default();
    settings.offer = case.setup.offer();
    settings.policy = case.setup.policy();
    settings.report_only = case.setup.report_only();
    let (ours, theirs) = duplex(1 << 20);
    let (read, write) = split(ours);
    let (answers, requests) = split(theirs);
    let pipe = AttuneTransport::new(read, write, settings);
    check_lines(&mut Transported { runtime, pipe, requests, answers: BufReader::new(answers) }, case)
}

/// A transport, and the client at the other end of it.
struct Transported<'r> {
    runtime: &'r Runtime,
    pipe: AttuneTransport<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>,
    requests: WriteHalf<DuplexStream>,
    answers: BufReader<ReadHalf<DuplexStream>>,
}

impl Transported<'_> {
    /// The next line that the client gets, if one comes.
    async fn line(answers: &mut BufReader<ReadHalf<DuplexStream>>) -> Option<String> {
        let mut line = String::new();
        timeout(IMPATIENCE, answers.read_line(&mut line)).await.ok()?.unwrap();
        Some(line.trim_end().to_owned())
    }
}

impl LineHost for Transported<'_> {
    fn onward(&mut self, line: &str) -> Result<String, String> {
        let Self { runtime, pipe, requests, answers } = self;
        runtime.block_on(async {
            requests.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            tokio::select! {
                message = pipe.receive() => Ok(serde_json::to_string(&message.unwrap()).unwrap()),
                answer = Self::line(answers) => Err(answer.unwrap_or_default()),
            }
        })
    }

    fn back(&mut self, line: &str) -> Option<String> {
        let Self { runtime, pipe, answers, .. } = self;
        let message: TxJsonRpcMessage<RoleServer> = serde_json::from_str(line).ok()?;
        runtime.block_on(async {
            pipe.send(message).await.unwrap();
            Self::line(answers).await
        })
    }

    fn writes_anew(&self) -> bool {
        true
    }
}
