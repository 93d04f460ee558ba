//! What can go wrong between us and a server: what it was, where, and what to do about it.

use std::fmt;
use std::time::Duration;

use mcp_attune_wire::listing::EndlessListingError;
use mcp_attune_wire::protocol::code::INTERNAL_ERROR;
use mcp_attune_wire::schema::HeaderDeclarationError;
use serde_json::Value;

use super::trust::ServerCertificateProblem;

/// Why there is no connection, or no answer.
///
/// `Display` says what was wrong and where, and after a semicolon what to do. Words of the server in it are
/// shortened and made safe for a terminal; the fields of [`Refused`](Self::Refused) are as they came.
///
/// [`ClientError::is_refusal`] tells the server's own "no" from everything else: a command ends with 1 for the
/// first and with 2 for the second.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ClientError {
    /// A program could not be started.
    NotStarted {
        /// What is wrong with it.
        why: String,
        /// What to look at, where there is something to say.
        hint: Option<&'static str>,
    },
    /// A program ended, or closed its output, before it answered.
    Ended {
        /// The command.
        at: String,
        /// How it ended, where that is known, such as `with exit code 1`.
        status: Option<String>,
        /// The first line that it wrote to its standard output and that is not a message, which often tells
        /// why.
        stray: Option<String>,
    },
    /// Headers were given for a program; over pipes there are none.
    Headers {
        /// The command.
        at: String,
    },
    /// No answer over HTTP: no connection, or one that broke off.
    Unreachable {
        /// The URL.
        at: String,
        /// What the system says.
        why: String,
    },
    /// The certificate of a server cannot be accepted.
    Certificate {
        /// The URL.
        at: String,
        /// What is wrong with it.
        problem: ServerCertificateProblem,
    },
    /// The URL begins with `https://`, but what answers does not speak TLS.
    NoTls {
        /// The URL.
        at: String,
    },
    /// The URL begins with `http://`, but what answers does not speak HTTP.
    NoHttp {
        /// The URL.
        at: String,
    },
    /// A status of HTTP that says that the request was not served: without a JSON-RPC error that says why, or
    /// 401 or 403.
    Status {
        /// The URL.
        at: String,
        /// The HTTP status.
        status: u16,
        /// What came with it, safe to show: the value of `WWW-Authenticate` or `Location`, else the start of
        /// the body.
        said: String,
    },
    /// What came is not MCP, such as a web page.
    NotMcp {
        /// The URL or the command.
        at: String,
        /// What came.
        why: String,
    },
    /// The server speaks no version of MCP that we speak.
    NoSharedVersion {
        /// The URL or the command.
        at: String,
        /// The versions that it speaks, separated by commas.
        theirs: String,
    },
    /// No answer came in time.
    NoAnswer {
        /// The URL or the command.
        at: String,
        /// What was asked.
        method: String,
        /// How long was waited.
        within: Duration,
        /// The first thing that a program wrote to its standard output and that is not a message.
        stray: Option<String>,
    },
    /// An answer contradicts itself: its `Content-Language` and its `_meta` name different languages.
    Malformed {
        /// The URL.
        at: String,
        /// What the two places say.
        why: String,
    },
    /// The tool cannot be called, because its schema declares headers in an invalid way.
    Dropped {
        /// Its name.
        tool: String,
        /// What is wrong with its schema, and where.
        why: HeaderDeclarationError,
    },
    /// The server sent more bytes in one answer than the options allow.
    TooMuch {
        /// The URL or the command.
        at: String,
        /// What there was too much of, and the bound.
        what: String,
    },
    /// A listing has more bytes than the options allow, all its pages together.
    ListingTooLarge {
        /// The URL or the command.
        at: String,
        /// What was asked.
        method: String,
        /// How many bytes it may have.
        limit: usize,
    },
    /// A listing does not come to an end: too many pages or items, or a cursor that came before.
    EndlessListing {
        /// The URL or the command.
        at: String,
        /// What was asked.
        method: String,
        /// Which sign of that there is.
        why: EndlessListingError,
    },
    /// The server answered with a JSON-RPC error.
    Refused {
        /// What was asked.
        method: String,
        /// The code of the error.
        code: i32,
        /// The error's message as it came, which may be anything: make it safe before showing it.
        message: String,
        /// The error's `data`, where there is one.
        data: Option<Value>,
    },
}

impl ClientError {
    /// Returns whether the server understood the request and answered with an error. Everything else means that
    /// there is no connection, that it is broken, or that what came over it cannot be used.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

/// Says what was wrong and where, and after a semicolon what to do.
impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_without_advice(f)?;
        if let Some(advice) = self.advice() {
            write!(f, "; {advice}")?;
        }
        self.stray_sentence().map_or(Ok(()), |stray| write!(f, ". {stray}"))
    }
}

/// Displays a [`ClientError`] without its advice.
struct ErrorWithoutAdvice<'e>(&'e ClientError);

impl fmt::Display for ErrorWithoutAdvice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_without_advice(f)?;
        self.0.stray_sentence().map_or(Ok(()), |stray| write!(f, ". {stray}"))
    }
}

impl ClientError {
    /// Returns what was wrong and where, without the [advice](Self::advice), for those who show the two apart.
    #[must_use]
    pub fn without_advice(&self) -> String {
        ErrorWithoutAdvice(self).to_string()
    }

    fn write_without_advice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted { why, .. } => f.write_str(why),
            Self::Ended { at, status, .. } => {
                let how = status.as_ref().map(|status| format!(" {status}")).unwrap_or_default();
                write!(f, "`{at}` ended{how} before it answered")
            }
            Self::Headers { at } => write!(f, "`{at}` is a program and takes no headers"),
            Self::Unreachable { at, why } => write!(f, "nobody answers at {at}: {why}"),
            Self::Certificate { at, problem } => write!(f, "the certificate of {at} {problem}"),
            Self::NoTls { at } => write!(f, "there is no TLS at {at}"),
            Self::NoHttp { at } => write!(f, "what answers at {at} is not HTTP"),
            Self::Status { at, status, said } => write!(f, "{at} answers {status}{}", ColonPrefixed(said)),
            Self::NotMcp { at, why } => write!(f, "{at} does not speak MCP: {why}"),
            Self::NoSharedVersion { at, theirs } => write!(f, "{at} speaks {theirs} only, and we do not"),
            Self::NoAnswer { at, method, within, .. } => {
                write!(f, "{at} did not answer `{method}` within {within:?}")
            }
            Self::Malformed { at, why } => write!(f, "{at} gives an answer that contradicts itself: {why}"),
            Self::Dropped { tool, why } => {
                let tool = super::sanitize::sanitized(tool);
                write!(f, "the tool `{tool}` cannot be called, because its schema is invalid: {why}")
            }
            Self::TooMuch { at, what } => write!(f, "{at} sends {what}"),
            Self::ListingTooLarge { at, method, limit } => {
                write!(f, "{at} sends more than {limit} bytes of `{method}`, all pages together")
            }
            Self::EndlessListing { at, method, why } => write!(f, "{at} answers `{method}` with {why}"),
            // Not the server's no, but a fault in it or on the way to it.
            Self::Refused { method, code: INTERNAL_ERROR, message, .. } => {
                write!(
                    f,
                    "the server could not answer `{method}`: {} ({INTERNAL_ERROR})",
                    super::sanitize::sanitized(message)
                )
            }
            Self::Refused { method, code, message, .. } => {
                write!(f, "the server refuses `{method}`: {} ({code})", super::sanitize::sanitized(message))
            }
        }
    }

    /// Returns what to do about it. `None` if there is nothing to say, as for an error of the server's own.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        Some(match self {
            Self::NotStarted { hint, .. } => return *hint,
            Self::Ended { .. } => "what it says on its standard error may tell why",
            Self::Headers { .. } => "leave them out, or give a URL",
            Self::Unreachable { .. } => "is the server running, and the address right?",
            Self::Certificate { problem: ServerCertificateProblem::Untrusted, .. } => "name its authority",
            Self::Certificate { problem: ServerCertificateProblem::OtherName { .. }, .. } => {
                "use a name that it is for, or see whether it is the right server"
            }
            Self::Certificate { .. } => "its server needs another, unless the clock of this system is wrong",
            Self::NoTls { .. } => "write http://",
            Self::NoHttp { .. } => "write https:// if it speaks TLS",
            Self::Status { status, .. } => status_advice(*status),
            Self::NotMcp { .. } => "is it the right server?",
            Self::NoSharedVersion { .. } => "a newer or older release of either may help",
            Self::NoAnswer { .. } => "allow it more time, or see what it waits for",
            Self::Malformed { .. } => "somebody on the way may have changed it",
            Self::Dropped { .. } => "its server has to mend it",
            Self::TooMuch { .. } => "raise the bound if that is right",
            Self::ListingTooLarge { .. } | Self::EndlessListing { .. } => {
                "see whether it gives the same pages again and again, or let it list less"
            }
            Self::Refused { .. } => return None,
        })
    }

    /// Returns a sentence about what a program wrote that is not a message.
    fn stray_sentence(&self) -> Option<String> {
        let (Self::Ended { stray: Some(stray), .. } | Self::NoAnswer { stray: Some(stray), .. }) = self
        else {
            return None;
        };
        Some(format!("It wrote `{stray}`, which is no message: only messages may go to the standard output"))
    }
}

impl std::error::Error for ClientError {}

/// `: text`, where there is one.
struct ColonPrefixed<'a>(&'a str);

impl fmt::Display for ColonPrefixed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ": {}", self.0) }
    }
}

fn status_advice(status: u16) -> &'static str {
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
