//! What a host logs of an exchange. No value of a caller is in it.

use core::fmt;
use std::sync::Arc;

/// Something that an operator may want to know.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExchangeNotice {
    /// The server's session id has no room for what its client declared.
    SessionIdTooLong,
    /// An event's id has no room for the preference that its stream is adapted to.
    EventIdTooLong,
    /// A header that the operator trusts came from somebody who is not trusted, and is ignored.
    UntrustedHeader(Arc<str>),
    /// So many declared tags are no text, or do not fit.
    FeaturesLeftOut(usize),
    /// A tool's `inputSchema` declares headers in a way that cannot be followed.
    NoHeadersDeclared {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        why: String,
    },
    /// The answer is encoded although that was not asked for.
    Encoded,
    /// The server's `Content-Language` is not what its message says.
    OtherContentLanguage(String),
}

impl fmt::Display for ExchangeNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SessionIdTooLong => f.write_str(
                "the server's session id is too long to be sealed; what was declared is forgotten",
            ),
            Self::EventIdTooLong => f.write_str(
                "an event's id is too long to be sealed; a stream resumed after it is not adapted",
            ),
            Self::UntrustedHeader(name) => write!(
                f,
                "the header {name} is ignored, because it does not come from a trusted proxy; if it should count, name the proxy in `[server] trusted_proxies`"
            ),
            Self::FeaturesLeftOut(tags) => {
                write!(f, "declared features that are no text or do not fit are left out: {tags}")
            }
            Self::NoHeadersDeclared { tool, why } => write!(f, "the tool {tool} declares no headers: {why}"),
            Self::Encoded => {
                f.write_str("the answer is encoded although that was not asked for; it passes untouched")
            }
            Self::OtherContentLanguage(language) => write!(
                f,
                "the server's Content-Language is not what its message says ({language}); the message counts"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_it_is_about() {
        let undeclared = ExchangeNotice::NoHeadersDeclared { tool: "t".to_owned(), why: "twice".to_owned() };
        for (notice, expected) in [
            (ExchangeNotice::SessionIdTooLong, "session id is too long"),
            (ExchangeNotice::EventIdTooLong, "event's id is too long"),
            (ExchangeNotice::UntrustedHeader("x-zone".into()), "the header x-zone is ignored"),
            (ExchangeNotice::FeaturesLeftOut(3), "left out: 3"),
            (undeclared, "the tool t declares no headers: twice"),
            (ExchangeNotice::Encoded, "the answer is encoded"),
            (ExchangeNotice::OtherContentLanguage("de".to_owned()), "(de)"),
        ] {
            assert!(notice.to_string().contains(expected), "{notice}");
        }
    }
}
