//! Connections to real servers, over HTTP and over pipes, and to whatever else may be at the other end; and handlers
//! that know their caller; and clients that say who is calling.

#[allow(dead_code, reason = "the example's own main is not called")]
#[path = "../../examples/clock.rs"]
mod clock;
#[allow(dead_code, reason = "the example's own main is not called")]
#[path = "../../examples/greeter/main.rs"]
mod greeter;
mod support;

mod answers;
mod cached;
mod callers;
mod exchange;
mod guide;
mod host;
mod http;
mod http_faults;
mod mirrored;
mod profiles;
#[cfg(unix)]
mod programs;
#[cfg(unix)]
mod programs_faults;
mod tasks;
