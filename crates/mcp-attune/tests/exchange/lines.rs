//! Every case without headers, line by line.

use exchange_cases::{Case, Fault, Host, LineHost, check_lines, run};
use jiff::Timestamp;
use mcp_attune::assume::CallerEvidence;
use mcp_attune::exchange::localize_reply;
use mcp_attune::exchange::pipe::{PipeExchange, ReturnedLine};

const PIPE: Host = Host {
    name: "the exchange between pipes",
    lacks: &[
        ("http", "pipes have neither headers, nor statuses, nor methods"),
        ("listing", "nothing between pipes sends requests of its own"),
        ("any-bytes", "what is no message stays away from a client that reads lines"),
    ],
    except: &[],
    seals: false,
};

#[test]
fn every_exchange_line_by_line() {
    run(&PIPE, between_pipes);
}

fn between_pipes(case: &Case) -> Result<(), Fault> {
    let setup = &case.setup;
    let now = setup.now.as_deref().unwrap_or("2026-11-12T13:23:00Z").parse().unwrap();
    let pipe = PipeExchange::new(setup.offer(), setup.policy(), setup.report_only(), 64);
    check_lines(&mut Played { pipe, now }, case)
}

struct Played {
    pipe: PipeExchange,
    now: Timestamp,
}

impl LineHost for Played {
    fn onward(&mut self, line: &str) -> Result<String, String> {
        match self.pipe.forward_line(line.as_bytes(), CallerEvidence::default(), self.now) {
            Ok(sent) => Ok(String::from_utf8(sent.line.into_owned()).unwrap()),
            Err(rejected) => Err(localize_reply(rejected.reply, &rejected.preference).0.body),
        }
    }

    fn back(&mut self, line: &str) -> Option<String> {
        match self.pipe.return_line(line.as_bytes(), |_| {}, |_| {}) {
            ReturnedLine::Send(back) => Some(String::from_utf8(back.into_owned()).unwrap()),
            ReturnedLine::Drop => None,
        }
    }
}
