//! Raw requests and raw answers, from `spec/wire/`, against the whole gateway over real sockets.
//!
//! 1. A request that the data refuses is answered as it says, and not one byte of it reaches the server behind.
//! 2. A request that passes reaches the server as the data says, once, and can be read in one way only: the server of these
//!    tests reads with a strict parser of its own ([`strict`]) and takes nothing else.
//! 3. How a request is cut into segments changes nothing: each is sent in one piece, byte by byte, and in two pieces.
//! 4. An answer that has one reading is passed on. Any other is an error or is cut off, never something that looks whole, and
//!    the next call works.
//! 5. Whatever bytes are sent, no more requests reach the server than answers reach the caller.
//!
//!
//! All of it runs twice: with Attune's own reading of plain requests, and with hyper reading all of them (`[server] http`). The
//! expectations are the same for both; there is no case in which they differ.
//!
//! The data is explained in `spec/README.md`; a new case in a file is run without further ado. A failure lists every case that
//! failed with what was expected and what came. `WIRE=NAME` in the environment runs only the cases whose names contain it.

mod answers;
mod data;
mod mutated;
mod requests;
mod scripted;
mod strict;

use mcp_attune_gateway::config::HttpImplementation::{Hyper, Own};

#[tokio::test(flavor = "multi_thread")]
async fn requests() {
    requests::check_all(Own, requests::whole).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_hyper() {
    requests::check_all(Hyper, requests::whole).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_mean_the_same_however_they_are_split() {
    requests::check_all(Own, requests::split).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_mean_the_same_however_they_are_split_with_hyper() {
    requests::check_all(Hyper, requests::split).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers() {
    answers::check_all(Own).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_with_hyper() {
    answers::check_all(Hyper).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_sent_no_more_reaches_the_server_than_is_answered() {
    mutated::check_all(Own).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_sent_no_more_reaches_the_server_than_is_answered_with_hyper() {
    mutated::check_all(Hyper).await;
}
