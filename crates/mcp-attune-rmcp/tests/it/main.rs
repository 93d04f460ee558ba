//! Connections to real servers, over HTTP and over pipes, and to whatever else may be at the other end.

mod support;

mod http;
mod http_faults;
#[cfg(unix)]
mod programs;
#[cfg(unix)]
mod programs_faults;
