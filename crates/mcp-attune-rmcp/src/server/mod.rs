//! Who is calling, in the handlers of a server.

mod caller;
mod pipe;

pub use caller::{Caller, ForTest, Unclear};
pub use pipe::{Pipe, stdio};
