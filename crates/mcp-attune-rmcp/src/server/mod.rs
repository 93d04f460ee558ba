//! Who is calling, in the handlers of a server.

mod caller;
mod pipe;

pub use caller::{Caller, TestCallerBuilder, TimeTextError};
pub use pipe::{AttuneTransport, stdio};
