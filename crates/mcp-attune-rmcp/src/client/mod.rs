//! A connection to any server.

mod shown;

mod profile;
mod trust;

mod error;

mod listing;

mod cache;
mod host;

mod options;
mod target;

mod kept;

mod handler;
mod sent;

mod http;

mod pipe;

mod listening;

mod connection;

mod unmet;

mod asking;

pub use asking::Asking;
pub use cache::Cache;
pub use connection::Connection;
pub use error::Error;
pub use host::{Answered, Host, Wire};
pub use listing::{Dropped, Listing};
pub use mcp_attune_process::process::Stderr;
pub use options::{BadHeader, Era, Header, Options, UnknownVersion, Version};
pub use profile::{BadFeature, CallerProfile};
pub use target::{BadTarget, Target};
pub use trust::{BadCertificate, Trust, tls};
pub use unmet::Unmet;
