//! Servers and callers that `bench` measures with and `release` trains with.

pub(crate) mod http;
pub(crate) mod process;
pub(crate) mod spread;

pub(crate) mod load;

pub(crate) mod servers;

pub(crate) mod pipe;
pub(crate) mod streams;

use http::Call;

/// The call that is measured: `execute_sql` with three declared arguments.
pub(crate) fn call() -> Call {
    let arguments = r#""query":"SELECT * FROM bookings","region":"eu-west1","shard":7,"dry_run":false"#;
    Call::modern("tools/call", &format!(r#""name":"execute_sql","arguments":{{{arguments}}}"#))
        .with("Mcp-Name", "execute_sql")
        .with("Mcp-Param-Region", "eu-west1")
        .with("Mcp-Param-Shard", "7")
        .with("Mcp-Param-Dry-Run", "false")
}
