//! The client half: a connection to any MCP server, over HTTP or to a program.

mod sanitize;

mod profile;
mod trust;

mod error;

mod listing;

mod cache;
mod host;

mod options;
mod target;

mod wire_recorder;

mod handler;
mod sent;

mod http;

mod pipe;

mod listening;

mod connection;

mod unmet;

mod asking;

pub use asking::ProfiledConnection;
pub use cache::AnswerCache;
pub use connection::Connection;
pub use error::ClientError;
pub use host::{ClientHost, ElicitationFuture, WireEvent};
pub use listing::{CompleteListing, DroppedTool};
pub use mcp_attune_process::process::StderrTarget;
pub use options::{ConnectionOptions, CustomHeader, CustomHeaderError, Era, McpVersion, UnknownVersion};
pub use profile::{CallerProfile, ProfileFeatureError};
pub use target::{ServerTarget, ServerTargetError};
pub use trust::{CertificateTrust, ServerCertificateProblem, client_tls_config};
pub use unmet::UnmetPreference;
