//! Servers behind that are programs: started, spoken to over their standard input and output, and ended.

mod environment;
pub(crate) mod lines;
pub(crate) mod pipe;
pub(crate) mod process;
mod stderr;
pub(crate) mod throttle;
