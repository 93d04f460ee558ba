//! The cases of `spec/cases/exchange.json`: read, set up, and held against what a host did.
//!
//! A host's test gives [`run`] a function that puts one case to the host; everything else is here, so that all hosts
//! understand the cases in the same way. `CASE=NAME` in the environment runs one case alone.
//!
//! Rules: G17.

mod case;
mod compare;
mod lines;
mod memory;
mod message;
mod setup;
mod suite;

pub use case::{Answer, Case, Cases, Event, Expected, Input, Outgoing, Request, Step, Told};
pub use compare::{Arrived, Asked, Got, Ids, check_step, names_sealed_session};
pub use lines::{LineHost, check_lines};
pub use message::{Text, events, is_listing, write_events};
pub use setup::{Setup, Workplace};
pub use suite::{Fault, Host, run};
