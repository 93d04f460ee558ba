//! rmcp as a client and as a server, for `cargo xtask interop`, and what no SDK's client would do.
//!
//! - `server` offers the small set, and prints where.
//! - `client SERVER ERA [--token TOKEN] [--only CHECKS]` asks for everything in it; with `--script FILE` it does the steps
//!   of that file instead. The server is a URL, or a command as a list in JSON.
//! - `ours URL ERA` asks with Attune's own client.
//! - `by-hand URL ERA` hangs up in the middle of calls.
//! - `oauth DIRECT THROUGH` compares what strangers are told.
//! - `calls DIRECT THROUGH GOOD BAD SECONDS` makes many calls, and counts what they cost.
//!
//! All but the first print one line of JSON a check.
#![expect(deprecated, reason = "sampling is what legacy servers ask for")]

mod by_hand;
mod calls;
mod client;
mod oauth;
mod ours;
mod server;
mod steps;

use anyhow::{Result, bail};

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["server"] => server::run().await,
        ["client", server, era, options @ ..] => client::run(server, era, options).await,
        ["ours", url, era] => ours::run(url, era).await,
        ["by-hand", url, era] => by_hand::run(url, era).await,
        ["oauth", direct, through] => oauth::run(direct, through).await,
        ["calls", direct, through, good, bad, seconds] => {
            calls::run(direct, through, good.parse()?, bad.parse()?, seconds.parse()?).await
        }
        _ => bail!("the documentation of this crate says what it takes"),
    }
}
