//! A message together with the bytes that it was read from.

use alloc::vec::Vec;

use super::{JsonRpcMembers, MemberRanges, Message, MessageKind, MessageMember};
use crate::json::ByteSpan;

/// A message with its bytes, to be passed on to whoever would read it again.
///
/// ```
/// use mcp_attune_wire::message::{Message, OwnedMessage};
///
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// let owned = OwnedMessage::new(Message::parse(body)?, body).unwrap();
/// assert!(owned.message().unwrap().method().unwrap().is("ping"));
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OwnedMessage<B> {
    body: B,
    kind: MessageKind,
    members: Vec<MessageMember>,
    within: MemberRanges,
    content: Vec<ByteSpan>,
    known: JsonRpcMembers,
}

impl<B: AsRef<[u8]>> OwnedMessage<B> {
    /// Keeps a message with the bytes that it was read from. Returns `None` where it was read from others: equal bytes at
    /// another place do not count.
    #[must_use]
    pub fn new(message: Message<'_>, body: B) -> Option<Self> {
        if !core::ptr::eq(message.text.as_bytes(), body.as_ref()) {
            return None;
        }
        let Message { text: _, kind, members, within, content, known } = message;
        Some(Self { body, kind, members, within, content, known })
    }

    /// The message. Returns `None` only where the owner of the bytes gives others than before.
    #[must_use]
    pub fn message(&self) -> Option<Message<'_>> {
        let text = core::str::from_utf8(self.body.as_ref()).ok()?;
        let Self { body: _, kind, members, within, content, known } = self;
        let (members, within, content) = (members.clone(), within.clone(), content.clone());
        Some(Message { text, kind: *kind, members, within, content, known: *known })
    }

    /// Whether the message was read from these bytes, and not from equal ones at another place.
    #[must_use]
    pub fn was_read_from(&self, body: &[u8]) -> bool {
        core::ptr::eq(self.body.as_ref(), body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] =
        br#" {"jsonrpc":"2.0","id":"7","method":"tools/call","params":{"name":"a","_meta":{"m":1},"arguments":{"x":2}}}"#;

    #[test]
    fn a_message_that_is_passed_on_says_what_the_one_that_was_read_says() {
        let read = Message::parse(BODY).unwrap();
        let owned = OwnedMessage::new(read.clone(), BODY).unwrap();
        let passed = owned.message().unwrap();
        assert_eq!((passed.text(), passed.kind()), (read.text(), MessageKind::Request));
        assert_eq!(passed.id().unwrap().raw(), "\"7\"");
        assert_eq!(passed.known_method(), Some("tools/call"));
        assert!(passed.param("name").unwrap().text().unwrap().is("a"));
        assert_eq!(passed.meta("m").unwrap().raw(), "1");
        assert_eq!(passed.arguments().count(), 1);
        let spliced = passed.splice(&[(passed.id().unwrap().span(), "9")]).unwrap();
        assert!(Message::parse(spliced.as_bytes()).unwrap().id().unwrap().raw() == "9");
    }

    #[test]
    fn a_message_is_not_kept_with_bytes_that_it_was_not_read_from() {
        let copy = BODY.to_vec();
        let read = Message::parse(BODY).unwrap();
        assert!(OwnedMessage::new(read.clone(), &copy).is_none());
        assert!(OwnedMessage::new(read.clone(), &BODY[..BODY.len() - 1]).is_none());
        let owned = OwnedMessage::new(read, BODY).unwrap();
        assert!(owned.was_read_from(BODY) && !owned.was_read_from(&copy));
    }
}
