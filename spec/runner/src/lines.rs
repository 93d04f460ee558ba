//! Cases between two pipes, line by line.

use crate::case::{Case, Event, Step, Told};
use crate::compare::{Arrived, Asked, Got, Ids, check_step};
use crate::message::{Text, write_events};
use crate::suite::Fault;

/// A host that stands between a client and a server that speak in lines.
pub trait LineHost {
    /// A line of the client, as the server gets it.
    ///
    /// # Errors
    ///
    /// What it is answered with instead.
    fn onward(&mut self, line: &str) -> Result<String, String>;

    /// A line of the server, as the client gets it, if it does.
    fn back(&mut self, line: &str) -> Option<String>;

    /// Whether it writes messages anew, so that only what they say can be compared.
    fn writes_anew(&self) -> bool {
        false
    }
}

/// Puts a case to a host between pipes.
///
/// # Errors
///
/// What differs, and in which step.
pub fn check_lines(host: &mut impl LineHost, case: &Case) -> Result<(), Fault> {
    let ids = Ids::new(&case.input.sealed, false);
    let mut ids = if host.writes_anew() { ids.by_value() } else { ids };
    for (number, (step, told)) in case.input.steps.iter().zip(&case.expected.steps).enumerate() {
        let wrong = |Fault(why)| Fault(format!("step {number}: {why}"));
        check_line(host, step, told, &mut ids).map_err(wrong)?;
    }
    Ok(())
}

fn check_line(host: &mut impl LineHost, step: &Step, told: &Told, ids: &mut Ids) -> Result<(), Fault> {
    if step.request.method.is_some() {
        return Err(Fault("there are no methods between pipes".to_owned()));
    }
    let (mut asked, mut got) = (Asked::default(), Got { bare: true, ..Got::default() });
    match host.onward(&ids.fill(&step.request.body.0)) {
        Ok(body) => asked.others.push(Arrived { headers: None, body }),
        Err(reply) => {
            got.body = reply;
            return check_step(step, told, &asked, &got, ids);
        }
    }
    let server = step.server.clone().unwrap_or_default();
    if let Some(events) = server.events {
        let adapted = |mut event: Event| {
            event.data = event.data.and_then(|line| host.back(&line.0)).map(Text);
            event
        };
        got.body = write_events(&events.into_iter().map(adapted).collect::<Vec<_>>());
        got.streams = true;
    } else if let Some(body) = &server.body {
        got.body = host.back(&body.0).unwrap_or_default();
    }
    check_step(step, told, &asked, &got, ids)
}
