//! `cargo xtask soak [--calls N] [--seed S]`: many calls with random faults on both sides of the gateway, and nobody gets
//! another's answer.
//!
//! 1. Each call has a token of its own, in a header and in its arguments, and the server behind answers with it. A caller that
//!    sees another token, or bytes that it did not ask for, is a failure.
//! 2. What goes wrong with a call follows from its token and the seed: the server ([`upstream`]) and the callers ([`caller`])
//!    decide by it, so that a run can be repeated. Calls with which nothing goes wrong are answered, but for a few where the
//!    machine is too busy.
//! 3. The configuration is written anew while calls run.
//! 4. Afterwards the next call works, the gateway holds about as much memory as after a tenth of the calls, and as many
//!    file descriptors as at the start.

mod random;
mod upstream;
mod caller;
mod process;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use caller::Caller;
use kit::report::hinted;
use kit::server::Server;
use kit::shell;
use process::Process;
use upstream::Upstream;

const CALLS: u64 = 1_000_000;
const SEED: u64 = 1;
/// Callers at one time.
const CALLERS: u64 = 48;
/// How many of a thousand calls, with which nothing went wrong, may stay unanswered on a busy machine.
const UNANSWERED: u64 = 5;
/// What memory may grow to, from what it is after a tenth of the calls.
const GROWTH: (u64, u64) = (3, 2);
const GROWTH_MIB: u64 = 32;
/// How long connections may take to be given back.
const SETTLING: Duration = Duration::from_secs(60);
const RELOAD_EVERY: Duration = Duration::from_millis(1500);

/// What can be chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Options {
    pub(crate) calls: u64,
    pub(crate) seed: u64,
}

impl Options {
    /// Reads `--calls N` and `--seed S`, in any order.
    pub(crate) fn parse(words: &[&str]) -> Option<Self> {
        let mut options = Self { calls: CALLS, seed: SEED };
        for pair in words.chunks(2) {
            match pair {
                ["--calls", calls] => options.calls = calls.parse().ok().filter(|calls| *calls >= 1000)?,
                ["--seed", seed] => options.seed = seed.parse().ok()?,
                _ => return None,
            }
        }
        Some(options)
    }
}

/// The short one, for CI.
pub(crate) fn short() -> Result<()> {
    soak(Options { calls: 20_000, seed: SEED })
}

/// As the command line says.
pub(crate) fn run() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    soak(Options::parse(&words).context("the options are --calls N and --seed S")?)
}

fn soak(options: Options) -> Result<()> {
    let attune = shell::built("build -p mcp-attune-cli --bin attune")?;
    let folder = shell::root().join("target/soak");
    fs::create_dir_all(&folder)?;
    let config = folder.join("attune.toml");
    let upstream = Upstream::start(options.seed)?;
    configure(&config, upstream.address, 0)?;
    let mut command = Command::new(attune);
    command.args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--config"]).arg(&config);
    let gateway = Server::start(&mut command, "soak").context("the gateway")?;
    let address = address(&gateway)?;
    let process = Process::of(gateway.id());
    let at_rest = process.descriptors();

    let begun = Instant::now();
    let Outcome { seen, memory } = call_all(options, address, &config, &upstream, &process)?;
    let spent = begun.elapsed().as_secs_f64();
    for (outcome, count) in &seen.outcomes {
        println!("    {count:>9}  {outcome}");
    }
    #[expect(clippy::cast_precision_loss, reason = "a rate for people to read")]
    let rate = seen.calls as f64 / spent;
    println!("    {:>9}  calls in {spent:.1} s, {rate:.0} a second, seed {}", seen.calls, options.seed);

    println!(
        "    {:>9}  of {} with which nothing went wrong without an answer",
        seen.unanswered, seen.healthy
    );

    let mut faults = seen.violations.clone();
    let unanswered = seen.unanswered * 1000;
    if unanswered > seen.healthy * UNANSWERED {
        faults.push(format!(
            "{} of {} calls with which nothing went wrong got no answer",
            seen.unanswered, seen.healthy
        ));
    }
    faults.extend(grown(&memory));
    let mut last = Caller::new(u64::MAX, options.seed, address);
    if !last.plain_call() || !last.plain_call() {
        faults.push("the next call does not work".to_owned());
    }
    drop(last);
    upstream.stop();
    faults.extend(held(&process, at_rest));
    if faults.is_empty() {
        return Ok(());
    }
    let count = faults.len();
    for fault in faults.iter().take(20) {
        println!("{fault}");
    }
    let again =
        format!("the same again: `cargo xtask soak --calls {} --seed {}`", options.calls, options.seed);
    Err(hinted(format!("soak: {count} faults"), again))
}

/// What callers saw, all together.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) calls: u64,
    /// Calls with which nothing went wrong.
    pub(crate) healthy: u64,
    /// Those of them that got no answer.
    pub(crate) unanswered: u64,
    pub(crate) outcomes: BTreeMap<String, u64>,
    pub(crate) violations: Vec<String>,
}

impl Seen {
    pub(crate) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.healthy += other.healthy;
        self.unanswered += other.unanswered;
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        self.violations.extend(other.violations);
    }

    pub(crate) fn count(&mut self, outcome: &str) {
        match self.outcomes.get_mut(outcome) {
            Some(count) => *count += 1,
            None => drop(self.outcomes.insert(outcome.to_owned(), 1)),
        }
    }
}

struct Outcome {
    seen: Seen,
    /// Kilobytes after a tenth, a half and all of the calls.
    memory: [Option<u64>; 3],
}

/// Lets all callers call, writes the configuration anew meanwhile, and looks at the gateway.
fn call_all(
    options: Options,
    address: SocketAddr,
    config: &Path,
    upstream: &Upstream,
    process: &Process,
) -> Result<Outcome> {
    let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let calling: Vec<_> = (0..CALLERS)
            .map(|number| {
                let done = &done;
                let count = options.calls / CALLERS + u64::from(number < options.calls % CALLERS);
                scope.spawn(move || Caller::new(number, options.seed, address).call(count, done))
            })
            .collect();
        let reloading = scope.spawn(|| {
            let mut count = 0;
            while !over.load(Ordering::Relaxed) {
                thread::sleep(RELOAD_EVERY);
                count += 1;
                configure(config, upstream.address, count)?;
            }
            Ok::<_, anyhow::Error>(count)
        });
        let mut memory = [None; 3];
        for (place, share) in [10, 50, 100].into_iter().enumerate() {
            while done.load(Ordering::Relaxed) * 100 < options.calls * share
                && !calling.iter().all(thread::ScopedJoinHandle::is_finished)
            {
                thread::sleep(Duration::from_millis(20));
            }
            memory[place] = process.memory();
            if let Some(kilobytes) = memory[place] {
                println!(
                    "    {share:>3} %: {} MiB, {} descriptors",
                    kilobytes / 1024,
                    process.descriptors().unwrap_or(0)
                );
            }
        }
        let mut seen = Seen::default();
        for caller in calling {
            seen.add(caller.join().map_err(|_| anyhow::anyhow!("a caller ended early"))?);
        }
        over.store(true, Ordering::Relaxed);
        let reloads = reloading.join().map_err(|_| anyhow::anyhow!("a thread ended early"))??;
        println!("    {reloads:>9}  changes of the configuration");
        Ok(Outcome { seen, memory })
    })
}

/// Writes the configuration as a whole; each number makes another one.
fn configure(path: &Path, upstream: SocketAddr, number: u64) -> Result<()> {
    let calls = 4000 + number % 2;
    let language = if number % 4 < 2 { "en" } else { "de" };
    let text = format!(
        "default_language = '{language}'\nlog = 'error'\n[upstream]\nurl = 'http://{upstream}/mcp'\n[limits]\ncalls = {calls}\n\
         upstream_first_byte = '500 ms'\nrequest_head = '3 s'\nrequest_pause = '3 s'\nunread = '3 s'\nstream_idle = '3 s'\n"
    );
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    fs::rename(&new, path).context("could not write the configuration")
}

fn address(server: &Server) -> Result<SocketAddr> {
    let authority = server.url.trim_start_matches("http://").split('/').next().unwrap_or_default();
    authority.parse().with_context(|| format!("{} has no address", server.url))
}

/// Whether memory grew with the number of calls.
fn grown(memory: &[Option<u64>; 3]) -> Option<String> {
    let [Some(first), _, Some(last)] = *memory else {
        println!("    NOTICE: MEMORY IS NOT LOOKED AT: this system has no /proc");
        return None;
    };
    let most = first * GROWTH.0 / GROWTH.1 + GROWTH_MIB * 1024;
    (last > most).then(|| format!("the gateway holds {last} KiB, {first} KiB after a tenth of the calls"))
}

/// Whether descriptors are not given back.
fn held(process: &Process, at_rest: Option<usize>) -> Option<String> {
    let at_rest = at_rest?;
    let begun = Instant::now();
    loop {
        let now = process.descriptors()?;
        if now <= at_rest {
            println!("    {now:>9}  descriptors at the end, {at_rest} at the start");
            return None;
        }
        if begun.elapsed() > SETTLING {
            return Some(format!("the gateway holds {now} descriptors, {at_rest} at the start"));
        }
        thread::sleep(Duration::from_millis(100));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_in_any_order_or_not_at_all() {
        assert_eq!(Options::parse(&[]), Some(Options { calls: CALLS, seed: SEED }));
        let both = Some(Options { calls: 5000, seed: 7 });
        assert_eq!(Options::parse(&["--seed", "7", "--calls", "5000"]), both);
        for wrong in [&["--calls"][..], &["--calls", "many"], &["--calls", "0"], &["7"], &["--seeds", "7"]] {
            assert_eq!(Options::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn memory_that_grows_is_found() {
        let mib = |mib: u64| Some(mib * 1024);
        assert!(grown(&[mib(20), mib(40), mib(62)]).is_none());
        assert!(grown(&[mib(20), mib(40), mib(63)]).is_some());
    }
}
