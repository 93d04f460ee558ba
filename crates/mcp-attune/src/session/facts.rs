//! What a legacy session began with, and holds for all its requests.

use super::features::ClientFeatures;
use super::fields::{IdPayloadError, IdPayloadReader, put_optional, utf8_text};
use super::implementation::ClientImplementation;
use crate::language::Tag;

/// What `initialize` says that later requests of its session do not repeat.
///
/// Rules: A6, C11, F1.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionFacts {
    /// The tags that the client declared, and whether it draws views.
    pub features: ClientFeatures,
    /// The locale that a key of a vendor names.
    pub locale: Option<Tag>,
    /// Who the client is, where there is a profile of it.
    pub client: Option<ClientImplementation>,
}

impl SessionFacts {
    /// As many bytes as all but the features can have.
    pub(super) const MAX_OTHER_BYTES: usize = 1
        + 2
        + Tag::MAX_LEN
        + 1
        + 2
        + ClientImplementation::MAX_NAME_BYTES
        + 2
        + ClientImplementation::MAX_VERSION_BYTES;

    /// Whether there is nothing that would have to be remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.features.is_empty() && !self.has_more_than_features()
    }

    pub(super) fn has_more_than_features(&self) -> bool {
        self.locale.is_some() || self.client.is_some()
    }

    pub(super) fn encode_others_into(&self, out: &mut Vec<u8>) {
        put_optional(out, self.locale.as_ref().map(|locale| locale.as_str().as_bytes()));
        out.push(self.client.is_some().into());
        if let Some(client) = &self.client {
            client.encode_into(out);
        }
    }

    pub(super) fn decode_others_from(
        &mut self,
        reader: &mut IdPayloadReader<'_>,
    ) -> Result<(), IdPayloadError> {
        let locale = reader.optional(Tag::MAX_LEN)?.map(utf8_text).transpose()?;
        self.locale = locale.map(Tag::parse).transpose().map_err(|_| IdPayloadError::Text)?;
        self.client = match reader.byte()? {
            0 => None,
            1 => Some(ClientImplementation::decode_from(reader)?),
            _ => return Err(IdPayloadError::Flag),
        };
        // Features alone are written in the other version.
        if self.has_more_than_features() { Ok(()) } else { Err(IdPayloadError::Version) }
    }
}

impl From<ClientFeatures> for SessionFacts {
    fn from(features: ClientFeatures) -> Self {
        Self { features, ..Self::default() }
    }
}
