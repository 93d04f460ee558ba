//! What is refused, and in which words.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::header::{self, HeaderDecodeError};
use crate::message::{JsonParseError, Message, MessageKind};
use crate::notice::{Alternatives, Notice, NoticeText};
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

impl HeaderMismatch {
    /// What a caller is told of it.
    #[must_use]
    pub fn notice(&self) -> Notice {
        let header = self.header.clone();
        let argument = self.argument.clone().map_or(NoticeText::Borrowed("the body"), NoticeText::Owned);
        if let Some((said, meant)) = self.values.clone() {
            return Notice::LanguageDiffers { said: said.into(), argument, meant: meant.into() };
        }
        match self.wrong {
            HeaderFault::Missing => Notice::HeaderMissing { header, argument },
            HeaderFault::Unexpected => Notice::HeaderUnexpected { header, argument },
            HeaderFault::Different => Notice::HeaderDifferent { header, argument },
            HeaderFault::Undecodable(undecodable) => undecodable.notice(header),
            HeaderFault::Repeated => Notice::HeaderRepeated { header },
            HeaderFault::NotHere => Notice::HeaderNotHere { header },
            HeaderFault::UnsafeInteger => Notice::IntegerUnsafe { argument },
            HeaderFault::Unchecked => Notice::HeaderUnchecked { header, version: version::MODERN.into() },
            HeaderFault::Underscore => Notice::HeaderUnderscore { header },
        }
    }
}

impl fmt::Display for HeaderMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notice().fmt(f)
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

impl MessageRefusalReason {
    /// What a caller is told of it.
    #[must_use]
    pub fn notice(&self) -> Notice {
        match self {
            Self::Unreadable(unreadable) => unreadable.notice(),
            Self::NotARequest(MessageKind::Batch) => Notice::NotABatch,
            Self::NotARequest(MessageKind::Answer) => Notice::NotAnAnswer,
            Self::NotARequest(MessageKind::Request | MessageKind::Notification | MessageKind::Other) => {
                Notice::NoRequest
            }
            Self::EnvelopeMissing(keys) => match *keys.as_slice() {
                [key, other, ..] => Notice::EnvelopeMissingTwo { key: key.into(), other: other.into() },
                [key] => Notice::EnvelopeMissingOne { key: key.into() },
                [] => Notice::EnvelopeMissingOne { key: meta::PROTOCOL_VERSION.into() },
            },
            Self::VersionNotText => Notice::VersionNotText {
                argument: meta::path::PROTOCOL_VERSION.into(),
                version: version::MODERN.into(),
            },
            Self::Mismatch(mismatches) => match mismatches.as_slice() {
                [] => Notice::HeadersDisagree,
                [only] => only.notice(),
                [first, rest @ ..] => Notice::AndMore { first: Box::new(first.notice()), more: rest.len() },
            },
            Self::Version { requested, supported } => Notice::VersionNotSpoken {
                requested: shortened(requested).into(),
                supported: Alternatives(supported.clone()),
            },
            Self::TwoContexts => Notice::TwoContexts { argument: meta::path::CLIENT_CONTEXT.into() },
        }
    }
}

impl fmt::Display for MessageRefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notice().fmt(f)
    }
}

impl core::error::Error for MessageRefusal {}
