//! `[bridge]`: callers of one era of MCP in front of servers of the other.

use std::time::Duration;

use super::choice::choices;
use super::limits::{parse_count, parse_nonzero_time};
use super::reader::ConfigTableReader;

/// `[bridge]`: callers of one era of MCP in front of servers of the other. Rules: X1–X4.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct BridgeConfig {
    /// Maximum of sessions that are open at legacy servers for modern callers; beyond it 503. Default: 1000.
    pub sessions: usize,
    /// How long such a session is kept without a call. Default: 10 min.
    pub session_idle: Duration,
    /// How long a server may take to say which era it speaks. Default: 5 s.
    pub probe: Duration,
    /// How long a call waits for what its caller was asked. Default: 5 min.
    pub input_wait: Duration,
    /// Whether modern callers without credentials share a session. Default: they do.
    pub anonymous: AnonymousCallers,
}

choices! {
    /// What modern callers without credentials share at a legacy server.
    pub AnonymousCallers {
        /// A session for all that declare the same.
        Share = "share",
        /// Nothing: each call has a session of its own.
        Apart = "apart",
    }
}

impl Default for BridgeConfig {
    fn default() -> Self {
        Self {
            sessions: 1000,
            session_idle: Duration::from_secs(10 * 60),
            probe: Duration::from_secs(5),
            input_wait: Duration::from_secs(5 * 60),
            anonymous: AnonymousCallers::default(),
        }
    }
}

impl BridgeConfig {
    /// Reads the table. Absent keys keep the values of `base`.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &Self) -> Self {
        Self {
            sessions: reader.read("sessions", base.sessions, |value| parse_count(value, 1_000_000)),
            session_idle: reader.read("session_idle", base.session_idle, parse_nonzero_time),
            probe: reader.read("probe", base.probe, parse_nonzero_time),
            input_wait: reader.read("input_wait", base.input_wait, parse_nonzero_time),
            anonymous: reader.choice("anonymous", base.anonymous),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn each_value_is_read_and_a_bad_one_says_what_to_write() {
        let file = "[bridge]\nsessions = 7\nsession_idle = '1 min'\nprobe = '2 s'\ninput_wait = '30 s'\nanonymous = 'apart'\n";
        let bridge = Config::parse(file, "x").unwrap().bridge;
        assert_eq!((bridge.sessions, bridge.anonymous), (7, AnonymousCallers::Apart));
        let times = [bridge.session_idle, bridge.probe, bridge.input_wait].map(|time| time.as_secs());
        assert_eq!(times, [60, 2, 30]);
        for (line, what) in [
            ("sessions = 0", "`bridge.sessions`"),
            ("probe = '0 s'", "`bridge.probe`"),
            ("anonymous = 'none'", "`bridge.anonymous` is none of its 2 values"),
            ("session = 7", "there is no key `session` in [bridge]"),
        ] {
            let found = Config::parse(&format!("[bridge]\n{line}\n"), "x").unwrap_err().to_string();
            assert!(found.contains(what), "{line}\n{found}");
        }
        for (era, expected) in [("auto", "Auto"), ("modern", "Modern"), ("legacy", "Legacy")] {
            let file = format!("[upstream]\nurl = 'http://a/'\nera = '{era}'\n");
            let config = Config::parse(&file, "x").unwrap();
            assert_eq!(format!("{:?}", config.mounts[0].upstream.as_ref().unwrap().era), expected);
        }
    }
}
