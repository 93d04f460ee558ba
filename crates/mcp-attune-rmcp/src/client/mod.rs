//! A connection to any server.

mod shown;

mod options;
mod target;

mod error;

mod kept;

mod http;
mod pipe;

mod connection;

pub use connection::{Connection, Era};
pub use error::Error;
pub use http::tls;
pub use mcp_attune_process::process::Stderr;
pub use options::{BadHeader, Header, Options};
pub use target::{BadTarget, Target};
