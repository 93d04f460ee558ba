//! The server half: who is calling, in the handlers of an rmcp server.

mod caller;
mod pipe;

pub use caller::{Caller, TestCallerBuilder, TimeTextError};
pub use pipe::{AttuneTransport, stdio};
