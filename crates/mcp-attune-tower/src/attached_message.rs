//! The parsed message that the layer hands to the service inside, so that the service need not parse it again.

use bytes::Bytes;
use mcp_attune_wire::agree::Era;
use mcp_attune_wire::message::{Message, OwnedMessage};

/// A parsed message with the body that it was parsed from, and its era.
///
/// The layer puts it into the extensions of the request that it forwards if
/// [`Settings::attach_message`](crate::Settings::attach_message) asks for it and the body is forwarded
/// unchanged. The gateway's programs behind pipes use it.
#[derive(Clone, Debug)]
pub struct AttachedMessage {
    message: OwnedMessage<Bytes>,
    era: Era,
}

impl AttachedMessage {
    /// Keeps a message together with its body. Returns `None` if the message was not parsed from these very
    /// bytes.
    #[must_use]
    pub fn new(message: Message<'_>, body: &Bytes, era: Era) -> Option<Self> {
        OwnedMessage::new(message, body.clone()).map(|message| Self { message, era })
    }

    /// Returns the message if it was parsed from `body`, and `None` for any other bytes: something between the
    /// layer and the service may have replaced the body, and the message would then be about another one.
    #[must_use]
    pub fn message_of_body(&self, body: &Bytes) -> Option<Message<'_>> {
        self.message.was_read_from(body).then(|| self.message.message())?
    }

    /// Returns the era of MCP that the request is of.
    #[must_use]
    pub fn era(&self) -> Era {
        self.era
    }
}

/// The body of a request as its caller wrote it.
///
/// The layer puts it into the extensions of a request whose body it changes, if
/// [`Settings::attach_caller_body`](crate::Settings::attach_caller_body) asks for it: for a service that has to
/// know whether two requests of a caller are the same.
#[derive(Clone, Debug)]
pub struct CallerBody(pub Bytes);
