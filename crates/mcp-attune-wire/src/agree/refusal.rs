//! What is refused, and in which words.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::header::{self, HeaderDecodeError};
use crate::message::{JsonParseError, Message, MessageKind};
use crate::protocol::{meta, version};

/// One header that does not say what the body says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderMismatch {
    /// The header, as the rules spell it.
    pub header: Cow<'static, str>,
    /// The place in the body that it mirrors, where there is one.
    pub argument: Option<String>,
    /// What is wrong.
    pub wrong: HeaderFault,
    /// Both language preferences, shortened: the one case in which values are told (L14).
    values: Option<(String, String)>,
}

/// What is wrong with a header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum HeaderFault {
    /// The body has a value and the header is not there.
    Missing,
    /// The header is there and the body has no value that it could mirror.
    Unexpected,
    /// Both are there and differ.
    Different,
    /// The header says nothing that could be compared.
    Undecodable(HeaderDecodeError),
    /// The header is there twice.
    Repeated,
    /// The header does not belong to this method (`strict`).
    NotHere,
    /// An integer that not every reader keeps exactly (`strict`).
    UnsafeInteger,
    /// A routing header on a request that names no modern version (`strict`).
    Unchecked,
    /// A parameter's header with an underscore that no declaration has.
    Underscore,
}

impl HeaderFault {
    /// The rule that asks for it.
    #[must_use]
    pub fn rule(self, header: &str) -> &'static str {
        let language = header == header::ACCEPT_LANGUAGE;
        let param = header.starts_with(header::PARAM_PREFIX);
        match self {
            _ if language => "L14",
            Self::Repeated => "H2",
            Self::Undecodable(_) => "H4",
            Self::UnsafeInteger => "H7",
            Self::Unchecked => "H16",
            Self::Underscore => "H20",
            Self::Missing | Self::Unexpected | Self::Different if param => "H6",
            Self::Different if header == header::PROTOCOL_VERSION => "H16",
            Self::Missing | Self::Unexpected | Self::Different | Self::NotHere => "H1",
        }
    }
}

impl HeaderMismatch {
    #[cold]
    pub(crate) fn new(
        header: impl Into<Cow<'static, str>>,
        argument: Option<String>,
        wrong: HeaderFault,
    ) -> Self {
        Self { header: header.into(), argument, wrong, values: None }
    }

    pub(crate) fn language(header: &str, body: &str) -> Self {
        let values = Some((shortened(header), shortened(body)));
        Self {
            header: header::ACCEPT_LANGUAGE.into(),
            argument: Some(meta::path::ACCEPT_LANGUAGE.into()),
            wrong: HeaderFault::Different,
            values,
        }
    }

    /// The rule that asks for it: `H6`.
    #[must_use]
    pub fn rule(&self) -> &'static str {
        self.wrong.rule(&self.header)
    }
}

/// Values quoted in messages are escaped and shortened.
fn shortened(value: &str) -> String {
    const MAX_QUOTED_BYTES: usize = 80;
    let mut shown = String::new();
    for char in value.chars() {
        if shown.len() >= MAX_QUOTED_BYTES {
            shown.push('…');
            break;
        }
        shown.extend(char.escape_debug());
    }
    shown
}

impl fmt::Display for HeaderMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = &self.header;
        let argument = self.argument.as_deref().unwrap_or("the body");
        if let Some((said, meant)) = &self.values {
            return write!(
                f,
                "{header} says \"{said}\" and {argument} says \"{meant}\"; send the header equal to _meta to the \
                 letter, or leave the header out; a proxy or CDN in between may have rewritten it"
            );
        }
        match self.wrong {
            HeaderFault::Missing => write!(f, "{header} is missing; send it with what {argument} says"),
            HeaderFault::Unexpected => {
                write!(
                    f,
                    "{header} is there, but {argument} has no value that it could mirror; leave the header out"
                )
            }
            HeaderFault::Different => write!(f, "{header} is not what {argument} says; send the two equal"),
            HeaderFault::Undecodable(undecodable) => write!(f, "{header} {undecodable}"),
            HeaderFault::Repeated => write!(f, "{header} is there more than once; send it once"),
            HeaderFault::NotHere => {
                write!(f, "{header} does not belong to this method; leave the header out")
            }
            HeaderFault::UnsafeInteger => {
                write!(
                    f,
                    "{argument} is an integer outside ±(2^53−1), which not every reader keeps; send a smaller one"
                )
            }
            HeaderFault::Unchecked => write!(
                f,
                "{header} is there, but the request names no protocol version that has it; \
                 send {}: {} and the same in _meta, or leave the header out",
                header::PROTOCOL_VERSION,
                version::MODERN,
            ),
            HeaderFault::Underscore => write!(
                f,
                "{header} has an underscore in its name that the tool does not declare; write the name as the tool \
                 declares it, or leave the header out"
            ),
        }
    }
}

/// A request that is not let through, and the id that its answer carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageRefusal {
    /// The request's id as written, where it has one.
    pub id: Option<String>,
    /// Why.
    pub refused: MessageRefusalReason,
}

/// Why a request is not let through.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MessageRefusalReason {
    /// A body with a name that not every reader tells from another (H18). Its answer carries no id, as that of a body
    /// which cannot be read at all.
    Unreadable(JsonParseError),
    /// A modern body that is neither a request nor a notification (H13).
    NotARequest(MessageKind),
    /// A modern request without these keys in its `_meta` (H14).
    EnvelopeMissing(Vec<&'static str>),
    /// A modern request whose version is no string (H14).
    VersionNotText,
    /// Headers that do not agree, all of them, at least one (H1, H2, H4–H7, H16, L14).
    Mismatch(Vec<HeaderMismatch>),
    /// A version that is not spoken here (H14).
    Version {
        /// What the request asked for.
        requested: String,
        /// What is spoken.
        supported: Vec<String>,
    },
    /// Two contexts that are not equal (C1).
    TwoContexts,
}

impl MessageRefusalReason {
    /// The rules that the request broke, each once.
    #[must_use]
    pub fn rules(&self) -> Vec<&'static str> {
        let mut rules = Vec::new();
        match self {
            Self::Unreadable(unreadable) => rules.push(unreadable.fault.rule()),
            Self::NotARequest(_) => rules.push("H13"),
            Self::EnvelopeMissing(_) | Self::VersionNotText | Self::Version { .. } => rules.push("H14"),
            Self::TwoContexts => rules.push("C1"),
            Self::Mismatch(mismatches) => {
                for rule in mismatches.iter().map(HeaderMismatch::rule) {
                    if !rules.contains(&rule) {
                        rules.push(rule);
                    }
                }
            }
        }
        rules
    }
}

impl MessageRefusal {
    #[cold]
    pub(crate) fn new(message: &Message<'_>, refused: MessageRefusalReason) -> Self {
        let id = if message.kind() == MessageKind::Request { message.id() } else { None };
        Self { id: id.map(|id| id.raw().into()), refused }
    }
}

impl From<JsonParseError> for MessageRefusal {
    #[cold]
    fn from(unreadable: JsonParseError) -> Self {
        Self { id: None, refused: MessageRefusalReason::Unreadable(unreadable) }
    }
}

impl fmt::Display for MessageRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refused.fmt(f)
    }
}

impl fmt::Display for MessageRefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(unreadable) => unreadable.fmt(f),
            Self::NotARequest(kind) => f.write_str(match kind {
                MessageKind::Batch => "a batch is not allowed; send each message in a request of its own",
                MessageKind::Answer => "an answer is not allowed here; send requests and notifications",
                MessageKind::Request | MessageKind::Notification | MessageKind::Other => {
                    "this is no JSON-RPC 2.0 request or notification; send \"jsonrpc\": \"2.0\" and a \"method\", \
                     and for a request an \"id\" that is a string or a number"
                }
            }),
            Self::EnvelopeMissing(keys) => {
                f.write_str("params._meta is missing ")?;
                for (index, key) in keys.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { " and " })?;
                    f.write_str(key)?;
                }
                f.write_str("; every request carries them")
            }
            Self::VersionNotText => {
                let (path, version) = (meta::path::PROTOCOL_VERSION, version::MODERN);
                write!(f, "{path} is not a string; send one such as \"{version}\"")
            }
            Self::Mismatch(mismatches) => match mismatches.as_slice() {
                [] => f.write_str("the headers do not agree with the body"),
                [only] => only.fmt(f),
                [first, rest @ ..] => write!(f, "{first} (and {} more, see data.mismatches)", rest.len()),
            },
            Self::Version { requested, supported } => {
                write!(f, "version \"{}\" is not spoken here; use ", shortened(requested))?;
                for (index, version) in supported.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { " or " })?;
                    f.write_str(version)?;
                }
                Ok(())
            }
            Self::TwoContexts => write!(
                f,
                "clientContext and {} are not equal; send one of them, or the same in both",
                meta::path::CLIENT_CONTEXT
            ),
        }
    }
}

impl core::error::Error for MessageRefusal {}
