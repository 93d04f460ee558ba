//! Headers as the rules see them, whatever a host keeps them in: lines that can be looked at, and changes to be made.

use std::borrow::Cow;

use mcp_attune_wire::protocol::header::ACCEPT_LANGUAGE;

use crate::language::{AcceptLanguage, read_preference};

/// The lines of a message of HTTP. Names are compared without case.
pub trait HeaderLines<'h>: Copy {
    /// All lines, in their order.
    fn all(self) -> impl Iterator<Item = (&'h str, &'h [u8])>;

    /// The lines of one name.
    fn named(self, name: &str) -> impl Iterator<Item = &'h [u8]> {
        self.all().filter(move |(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl<'h> HeaderLines<'h> for &'h [(&'h str, &'h [u8])] {
    fn all(self) -> impl Iterator<Item = (&'h str, &'h [u8])> {
        self.iter().copied()
    }
}

/// The lines of one name that are text.
pub(super) fn text_values<'h>(headers: impl HeaderLines<'h>, name: &str) -> impl Iterator<Item = &'h str> {
    headers.named(name).filter_map(|value| core::str::from_utf8(value).ok())
}

/// What the headers of a request say that its caller prefers, where its message was not read.
pub fn mirrored_preference<'h>(headers: impl HeaderLines<'h>) -> AcceptLanguage {
    let mut lines = text_values(headers, ACCEPT_LANGUAGE);
    let first = lines.next();
    // Two lines are no mirror of one string, and a browser's own header is as good as any other here.
    read_preference(first.filter(|_| lines.next().is_none())).0
}

/// A change to the headers of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeaderChange {
    /// All lines of this name go.
    Remove(Cow<'static, str>),
    /// All lines whose name begins with `Mcp-Param-` go.
    RemoveParams,
    /// All lines of this name go, and this one comes.
    Set(Cow<'static, str>, Vec<u8>),
    /// This line comes.
    Append(Cow<'static, str>, Vec<u8>),
    /// What described the bytes of a body that is another now goes: digests and validators, and their announcements, as
    /// [`is_stale_after_edit`](mcp_attune_wire::reply::is_stale_after_edit) and
    /// [`trailer_after_edit`](mcp_attune_wire::reply::trailer_after_edit) say. Rules: L17.
    ForgetOldBytes,
}

impl HeaderChange {
    pub(super) fn set(name: impl Into<Cow<'static, str>>, value: impl Into<Vec<u8>>) -> Self {
        Self::Set(name.into(), value.into())
    }

    pub(super) fn remove(name: impl Into<Cow<'static, str>>) -> Self {
        Self::Remove(name.into())
    }
}
