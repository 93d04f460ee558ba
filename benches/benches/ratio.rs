//! Attune's reader against serde_json's plainest borrowed reading, in turn and in short slices, so that a busy
//! machine slows both alike: the ratio of the medians is what counts.

use std::hint::black_box;
use std::time::{Duration, Instant};

use mcp_attune_wire::message::Message;

const SLICES: usize = 301;
const SLICE: Duration = Duration::from_millis(1);

fn main() {
    // `cargo test --benches` runs this too; there is nothing to test.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    println!("| body | bytes | Attune | serde_json | ratio |\n|---|---:|---:|---:|---:|");
    for (shape, make) in [("rows", benches::rows as fn(usize) -> Vec<u8>), ("prose", benches::prose)] {
        for kib in [1, 16, 256] {
            let body = make(kib * 1024);
            let ours = || {
                black_box(Message::parse(black_box(&body)).unwrap());
            };
            let theirs = || {
                black_box(serde_json::from_slice::<benches::Plain<'_>>(black_box(&body)).unwrap());
            };
            let (ours, theirs) = medians(ours, theirs);
            let ratio = ours / theirs;
            println!("| {shape} {kib} KiB | {} | {ours:.0} ns | {theirs:.0} ns | {ratio:.2} |", body.len());
        }
    }
}

/// The median time of one round of each, in nanoseconds, measured in turn.
fn medians(one: impl Fn(), other: impl Fn()) -> (f64, f64) {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..SLICES {
        ones.push(slice(&one));
        others.push(slice(&other));
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    (median(ones), median(others))
}

fn slice(run: &impl Fn()) -> f64 {
    let start = Instant::now();
    let mut rounds = 0u32;
    while start.elapsed() < SLICE {
        for _ in 0..8 {
            run();
        }
        rounds += 8;
    }
    start.elapsed().as_nanos() as f64 / f64::from(rounds)
}
