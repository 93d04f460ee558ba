//! One thing, so many times: for counting instructions under callgrind. `cargo xtask count` runs it.
//!
//! Arguments: the name of what to run and how often. Two runs with different counts give the cost of one.

use std::hint::black_box;

use mcp_attune::language::{AcceptLanguage, lookup};
use mcp_attune_wire::agree::{self, HeaderAgreement, HeaderPolicy};
use mcp_attune_wire::header::MirroredHeaders;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::schema::DeclaredHeaders;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (Some(what), Some(times)) = (arguments.next(), arguments.next().and_then(|times| times.parse().ok()))
    else {
        return;
    };
    let (name, size) = match what.rsplit_once('/') {
        Some((name, kib)) if kib.parse::<usize>().is_ok() => (name, kib.parse().unwrap_or(1) * 1024),
        _ => (what.as_str(), 1024),
    };
    match name {
        "read/rows/attune" => attune(&benches::rows(size), times),
        "read/rows/serde_json" => serde(&benches::rows(size), times),
        "read/prose/attune" => attune(&benches::prose(size), times),
        "read/prose/serde_json" => serde(&benches::prose(size), times),
        "agree/three" => agree(Some(&benches::declared()), times),
        "agree/none" => agree(None, times),
        "negotiate/usual" => negotiate(0, times),
        "negotiate/tie" => negotiate(1, times),
        "negotiate/relative" => negotiate(2, times),
        other => eprintln!("there is nothing called {other} to count"),
    }
}

fn attune(body: &[u8], times: usize) {
    for _ in 0..times {
        black_box(Message::parse(black_box(body)).is_ok());
    }
}

fn serde(body: &[u8], times: usize) {
    for _ in 0..times {
        black_box(serde_json::from_slice::<benches::Plain<'_>>(black_box(body)).is_ok());
    }
}

fn agree(declared: Option<&DeclaredHeaders>, times: usize) {
    let body = benches::rows(1024);
    let policy = HeaderPolicy::default();
    for _ in 0..times {
        let message = Message::parse(&body).unwrap();
        let headers = MirroredHeaders::new(black_box(benches::HEADERS));
        let Ok(HeaderAgreement::NeedsSchema(open)) = agree::begin(&headers, message, &policy) else { return };
        black_box(open.finish_with_schema(declared).is_ok());
    }
}

fn negotiate(which: usize, times: usize) {
    let languages = benches::languages();
    let accept = AcceptLanguage::parse(benches::PREFERENCES[which].1).unwrap();
    for _ in 0..times {
        black_box(lookup(black_box(&accept), &languages));
    }
}
