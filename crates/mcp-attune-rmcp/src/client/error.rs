//! What can go wrong between us and a server: what it was, where, and what to do.

use std::fmt;
use std::time::Duration;

use mcp_attune_wire::schema::Invalid;
use serde_json::Value;

/// Why there is no connection, or no answer.
///
/// [`Error::is_refusal`] tells the server's own "no" from everything else: a command ends with 1 for the first and
/// with 2 for the second.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A program does not start.
    NotStarted {
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// A program ended, or closed its output.
    Ended {
        /// The command.
        at: String,
        /// How it ended, where that is known.
        status: Option<String>,
        /// What it wrote that is no message.
        stray: Option<String>,
    },
    /// Headers for a program, which has none.
    Headers {
        /// The command.
        at: String,
    },
    /// Nobody answers at a URL.
    Unreachable {
        /// The URL.
        at: String,
        /// What the system says.
        why: String,
    },
    /// A URL answers, but not as an MCP server does to somebody who is welcome.
    Status {
        /// The URL.
        at: String,
        /// The HTTP status.
        status: u16,
        /// What came with it: a challenge, a new place, or the beginning of the text.
        said: String,
    },
    /// What came is not MCP.
    NotMcp {
        /// The URL or the command.
        at: String,
        /// What came.
        why: String,
    },
    /// The server speaks no version that we do.
    NoSharedVersion {
        /// The URL or the command.
        at: String,
        /// What it speaks.
        theirs: String,
    },
    /// Nothing came in time.
    NoAnswer {
        /// The URL or the command.
        at: String,
        /// What was asked.
        method: String,
        /// How long was waited.
        within: Duration,
        /// What came that is no message.
        stray: Option<String>,
    },
    /// An answer contradicts itself.
    Malformed {
        /// The URL.
        at: String,
        /// What says one thing, and what another.
        why: String,
    },
    /// A tool whose headers cannot be known, and that is therefore not called.
    Dropped {
        /// Its name.
        tool: String,
        /// What is wrong with its schema, and where.
        why: Invalid,
    },
    /// More came than is borne.
    TooMuch {
        /// The URL or the command.
        at: String,
        /// What there was too much of, and the bound.
        what: String,
    },
    /// A listing that is too large, all its pages together.
    ListingTooLarge {
        /// The URL or the command.
        at: String,
        /// What was asked.
        method: String,
        /// How many bytes it may have.
        limit: usize,
    },
    /// The server said no.
    Refused {
        /// What was asked.
        method: String,
        /// The code of the error.
        code: i32,
        /// The server's words.
        message: String,
        /// What else the server says about it.
        data: Option<Value>,
    },
}

impl Error {
    /// Whether the server understood, and refused. Everything else means that there is no connection, or none any more.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted { why } => f.write_str(why),
            Self::Ended { at, status, stray } => {
                let how = status.as_ref().map(|status| format!(" ({status})")).unwrap_or_default();
                write!(
                    f,
                    "`{at}` ended before it answered{how}; what it says on its standard error may tell why"
                )?;
                write_stray(f, stray)
            }
            Self::Headers { at } => {
                write!(f, "`{at}` is a program and takes no headers; leave them out, or give a URL")
            }
            Self::Unreachable { at, why } => {
                write!(f, "nobody answers at {at}: {why}; is the server running, and the address right?")
            }
            Self::Status { at, status, said } => {
                write!(f, "{at} answers {status}{}; {}", Colon(said), advice(*status))
            }
            Self::NotMcp { at, why } => write!(f, "{at} does not speak MCP: {why}; is it the right server?"),
            Self::NoSharedVersion { at, theirs } => {
                write!(
                    f,
                    "{at} speaks {theirs} only, and we do not; a newer or older release of either may help"
                )
            }
            Self::NoAnswer { at, method, within, stray } => {
                write!(
                    f,
                    "{at} did not answer `{method}` within {within:?}; allow it more time, or see what it waits for"
                )?;
                write_stray(f, stray)
            }
            Self::Malformed { at, why } => {
                write!(
                    f,
                    "{at} gives an answer that contradicts itself: {why}; somebody on the way may have changed it"
                )
            }
            Self::Dropped { tool, why } => write!(
                f,
                "the tool `{}` cannot be called, because its schema is invalid: {why}; its server has to mend it",
                super::shown::shown(tool)
            ),
            Self::TooMuch { at, what } => write!(f, "{at} sends {what}; raise the bound if that is right"),
            Self::ListingTooLarge { at, method, limit } => write!(
                f,
                "{at} sends more than {limit} bytes of `{method}`, all pages together; see whether it gives the same pages \
                 again and again, or let it list less"
            ),
            Self::Refused { method, code, message, .. } => {
                write!(f, "the server refuses `{method}`: {} ({code})", super::shown::shown(message))
            }
        }
    }
}

impl std::error::Error for Error {}

fn write_stray(f: &mut fmt::Formatter<'_>, stray: &Option<String>) -> fmt::Result {
    match stray {
        None => Ok(()),
        Some(stray) => write!(
            f,
            ". It wrote `{stray}`, which is no message: only messages may go to the standard output"
        ),
    }
}

/// `: text`, where there is one.
struct Colon<'a>(&'a str);

impl fmt::Display for Colon<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {}", self.0) }
    }
}

fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => "redirects are not followed, so give the URL that it leads to",
        401 => "send who you are in a header `Authorization`",
        403 => "who you are, or where you come from, is not allowed there",
        404 | 405 => "is its path right? Many servers are at `/mcp`",
        429 => "wait, and ask again",
        500..=599 => "the server, or something in front of it, has a fault; its own log may tell",
        _ => "is it an MCP server?",
    }
}
