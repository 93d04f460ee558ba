//! A message as the layer read it, for a service inside that would have to read it again.

use bytes::Bytes;
use mcp_attune_wire::agree::Era;
use mcp_attune_wire::message::{Message, OwnedMessage};

/// A message that the layer read, in the extensions of the request that goes on, where
/// [`Settings::attach_message`](crate::Settings::attach_message) asks for it. It is not there where what goes on is not what came.
#[derive(Clone, Debug)]
pub struct AttachedMessage {
    message: OwnedMessage<Bytes>,
    era: Era,
}

impl AttachedMessage {
    /// Keeps a message with the body that it was read from. Returns `None` where it was read from another.
    #[must_use]
    pub fn new(message: Message<'_>, body: &Bytes, era: Era) -> Option<Self> {
        OwnedMessage::new(message, body.clone()).map(|message| Self { message, era })
    }

    /// The message, where it was read from this body.
    #[must_use]
    pub fn message_of_body(&self, body: &Bytes) -> Option<Message<'_>> {
        self.message.was_read_from(body).then(|| self.message.message())?
    }

    /// The era of the request.
    #[must_use]
    pub fn era(&self) -> Era {
        self.era
    }
}
