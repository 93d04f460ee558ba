//! What the ids of legacy sessions, of events and of tasks carry, so that nothing has to be remembered for them.
//!
//! 1. A [`SessionIdPayload`] has the id that the server behind gave, if it gave one, and the [`SessionFacts`] of the
//!    `initialize` that began it: the [`ClientFeatures`] that its client declared, with them whether it draws views, the locale
//!    that a vendor's key named, and who the client is, where that matters.
//! 2. An [`EventIdPayload`] has the id that the server behind gave, and the language preference of the request that the stream
//!    answers: a stream that is resumed goes on as it began.
//! 3. A [`TaskIdPayload`] has the id that the server behind gave, and the tool that created it.
//! 4. All are written as bytes, and each value in one way only. What is not written so is [`IdPayloadError`]: a version that
//!    is not known, a length that is too large, bytes that are missing or too many.
//! 5. Tags are carried as they were declared. What they mean is read elsewhere.
//!
//! Caveat: bytes are no secret and prove nothing. Whoever hands them to clients seals them first.
//!
//! ```
//! use mcp_attune::session::{ClientFeatures, SessionIdPayload};
//! use mcp_attune_wire::message::Message;
//!
//! let initialize = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"extensions":{
//!     "io.modelcontextprotocol/content-negotiation":{"version":"1.0","features":["agent","format=json"]}}}}}"#;
//! let declared = ClientFeatures::from_initialize(&Message::parse(initialize)?);
//! let session = SessionIdPayload::new(Some(b"1868a90c"), declared.features.into()).unwrap();
//! let opened = SessionIdPayload::decode(&session.encode())?;
//! assert_eq!(opened.upstream(), Some(&b"1868a90c"[..]));
//! assert!(opened.features().tags().eq(["agent", "format=json"]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rules: A6, C11, F1, F3, G8, L13.

mod fields;
mod features;
mod implementation;
mod facts;
mod task;

pub use facts::SessionFacts;
pub use features::{CONTENT_NEGOTIATION, ClientFeatures, FeatureDeclaration, VIEWS, ViewSupport};
pub use fields::IdPayloadError;
pub use implementation::ClientImplementation;
pub use task::TaskIdPayload;

use crate::language::AcceptLanguage;
use fields::{IdPayloadReader, put_bytes, put_optional};

/// The longest id of a server that can be carried.
pub const MAX_UPSTREAM_ID_BYTES: usize = 4096;

/// The encoding that is written.
const VERSION: u8 = 1;

/// The encoding of a session that carries more than features.
const VERSION_WITH_FACTS: u8 = 2;

/// What the id of a session carries.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionIdPayload {
    upstream: Option<Vec<u8>>,
    facts: SessionFacts,
}

impl SessionIdPayload {
    /// As many bytes as an encoded session can have.
    pub const MAX_LEN: usize = 1
        + 1
        + 2
        + MAX_UPSTREAM_ID_BYTES
        + 1
        + 2 * ClientFeatures::MAX_TAGS
        + ClientFeatures::MAX_TOTAL_BYTES
        + SessionFacts::MAX_OTHER_BYTES;

    /// A session, unless the server's id is longer than [`MAX_UPSTREAM_ID_BYTES`].
    #[must_use]
    pub fn new(upstream: Option<&[u8]>, facts: SessionFacts) -> Option<Self> {
        let fits = upstream.is_none_or(|id| id.len() <= MAX_UPSTREAM_ID_BYTES);
        fits.then(|| Self { upstream: upstream.map(<[u8]>::to_vec), facts })
    }

    /// The id that the server behind gave, if it gave one.
    #[must_use]
    pub fn upstream(&self) -> Option<&[u8]> {
        self.upstream.as_deref()
    }

    /// What the client declared.
    #[must_use]
    pub fn features(&self) -> &ClientFeatures {
        &self.facts.features
    }

    /// All that the session began with.
    #[must_use]
    pub fn facts(&self) -> &SessionFacts {
        &self.facts
    }

    /// The session as bytes. One that carries features alone is written as it was before there was more to carry.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let more = self.facts.has_more_than_features();
        let mut out = vec![if more { VERSION_WITH_FACTS } else { VERSION }];
        put_optional(&mut out, self.upstream());
        self.facts.features.encode_into(&mut out);
        if more {
            self.facts.encode_others_into(&mut out);
        }
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`IdPayloadError`], where it did not write that.
    pub fn decode(bytes: &[u8]) -> Result<Self, IdPayloadError> {
        let mut reader = IdPayloadReader::new(bytes);
        let version = reader.byte()?;
        if version != VERSION && version != VERSION_WITH_FACTS {
            return Err(IdPayloadError::Version);
        }
        let upstream = reader.optional(MAX_UPSTREAM_ID_BYTES)?.map(<[u8]>::to_vec);
        let mut facts = SessionFacts::from(ClientFeatures::decode_from(&mut reader)?);
        if version == VERSION_WITH_FACTS {
            facts.decode_others_from(&mut reader)?;
        }
        reader.end()?;
        Ok(Self { upstream, facts })
    }
}

/// What the id of an event carries.
///
/// ```
/// use mcp_attune::session::EventIdPayload;
///
/// let event = EventIdPayload::new(b"3/7", Some("de-CH, en;q=0.5")).unwrap();
/// assert_eq!(EventIdPayload::decode(&event.encode()), Ok(event));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventIdPayload {
    upstream: Vec<u8>,
    preference: Option<String>,
}

impl EventIdPayload {
    /// As many bytes as an encoded event can have.
    pub const MAX_LEN: usize = 1 + 2 + MAX_UPSTREAM_ID_BYTES + 1 + 2 + AcceptLanguage::MAX_LEN;

    /// An event, unless the server's id is longer than [`MAX_UPSTREAM_ID_BYTES`] or the preference than one can be.
    #[must_use]
    pub fn new(upstream: &[u8], preference: Option<&str>) -> Option<Self> {
        let fits = upstream.len() <= MAX_UPSTREAM_ID_BYTES
            && preference.is_none_or(|text| text.len() <= AcceptLanguage::MAX_LEN);
        fits.then(|| Self { upstream: upstream.to_vec(), preference: preference.map(str::to_owned) })
    }

    /// The id that the server behind gave.
    #[must_use]
    pub fn upstream(&self) -> &[u8] {
        &self.upstream
    }

    /// The preference of the request that the stream answers, as it was written.
    #[must_use]
    pub fn preference(&self) -> Option<&str> {
        self.preference.as_deref()
    }

    /// The event as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        put_bytes(&mut out, &self.upstream);
        put_optional(&mut out, self.preference().map(str::as_bytes));
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`IdPayloadError`], where it did not write that.
    pub fn decode(bytes: &[u8]) -> Result<Self, IdPayloadError> {
        let mut reader = IdPayloadReader::new(bytes);
        reader.version(VERSION)?;
        let upstream = reader.bytes(MAX_UPSTREAM_ID_BYTES)?.to_vec();
        let preference = reader.optional(AcceptLanguage::MAX_LEN)?.map(fields::utf8_text).transpose()?;
        reader.end()?;
        Ok(Self { upstream, preference: preference.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Tag;
    use mcp_attune_wire::message::Message;

    fn features(tags: &str) -> ClientFeatures {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"capabilities":{{"extensions":{{
                "{CONTENT_NEGOTIATION}":{{"features":{tags}}}}}}}}}}}"#
        );
        ClientFeatures::from_initialize(&Message::parse(body.as_bytes()).unwrap()).features
    }

    #[test]
    fn a_session_is_written_in_few_bytes() {
        let session = SessionIdPayload::new(Some(b"abc"), features(r#"["agent","x"]"#).into()).unwrap();
        assert_eq!(session.encode(), b"\x01\x01\x00\x03abc\x02\x00\x05agent\x00\x01x");
        assert_eq!(SessionIdPayload::default().encode(), b"\x01\x00\x00");
    }

    #[test]
    fn whether_views_are_drawn_is_kept_with_the_tags() {
        for tags in ["[]", r#"["agent","x"]"#, &full()] {
            for views in [false, true] {
                let session =
                    SessionIdPayload::new(Some(b"abc"), features(tags).with_views(views).into()).unwrap();
                assert_eq!(SessionIdPayload::decode(&session.encode()).as_ref(), Ok(&session), "{tags}");
                assert!(session.encode().len() <= SessionIdPayload::MAX_LEN);
            }
        }
        // What declares none is written as it was before there were views.
        assert_eq!(SessionIdPayload::default().encode(), b"\x01\x00\x00");
    }

    #[test]
    fn the_locale_of_a_vendor_and_the_client_are_kept_with_the_tags() {
        let locale = Tag::parse("de-CH").ok();
        let client = ClientImplementation::new("acme", "2");
        for (locale, client) in [(locale.clone(), None), (None, client.clone()), (locale, client)] {
            let facts = SessionFacts { features: features(r#"["agent"]"#), locale, client };
            let session = SessionIdPayload::new(None, facts).unwrap();
            assert_eq!(SessionIdPayload::decode(&session.encode()), Ok(session));
        }
        let locale = SessionFacts { locale: Tag::parse("de").ok(), ..SessionFacts::default() };
        let session = SessionIdPayload::new(None, locale).unwrap();
        assert_eq!(session.encode(), b"\x02\x00\x00\x01\x00\x02de\x00");
    }

    #[test]
    fn an_event_is_written_in_few_bytes() {
        let event = |preference| EventIdPayload::new(b"3/7", preference).unwrap().encode();
        assert_eq!(event(Some("de")), b"\x01\x00\x033/7\x01\x00\x02de");
        assert_eq!(event(None), b"\x01\x00\x033/7\x00");
    }

    #[test]
    fn what_is_not_written_so_is_broken() {
        for (bytes, broken) in [
            (&b""[..], IdPayloadError::Short),
            (b"\x03\x00\x00", IdPayloadError::Version),
            // More than features is promised, and there is nothing more.
            (b"\x02\x00\x00\x00\x00", IdPayloadError::Version),
            (b"\x02\x00\x00", IdPayloadError::Short),
            (b"\x02\x00\x00\x01\x00\x02d_\x00", IdPayloadError::Text),
            (b"\x02\x00\x00\x02", IdPayloadError::Flag),
            (b"\x02\x00\x00\x00\x01\x00\x00\x00\x00", IdPayloadError::Short),
            (b"\x01", IdPayloadError::Short),
            (b"\x01\x02\x00\x00", IdPayloadError::Flag),
            (b"\x01\x01\x00\x03ab", IdPayloadError::Short),
            (b"\x01\x01\x10\x01", IdPayloadError::Long),
            (b"\x01\x00\x01", IdPayloadError::Short),
            (b"\x01\x00\x01\x01\x01", IdPayloadError::Long),
            (b"\x01\x00\x01\x00\x00", IdPayloadError::Long),
            (&[&b"\x01\x00\x41"[..], &b"\x00\x01x".repeat(65)].concat(), IdPayloadError::Long),
            (
                &[&b"\x01\x00\x05"[..], &[b"\x01\x00", &[b'x'; 256][..]].concat().repeat(5)].concat(),
                IdPayloadError::Long,
            ),
            (b"\x01\x00\x01\x00\x01\xff", IdPayloadError::Text),
            (b"\x01\x00\x00\x00", IdPayloadError::Rest),
        ] {
            assert_eq!(SessionIdPayload::decode(bytes), Err(broken), "{bytes:?}");
        }
        for (bytes, broken) in [
            (&b"\x01\x00\x01a"[..], IdPayloadError::Short),
            (b"\x01\x00\x01a\x01\x00\x01\xff", IdPayloadError::Text),
            (b"\x01\x00\x01a\x01\x10\x01", IdPayloadError::Long),
            (b"\x01\x00\x01a\x00x", IdPayloadError::Rest),
        ] {
            assert_eq!(EventIdPayload::decode(bytes), Err(broken), "{bytes:?}");
        }
    }

    #[test]
    fn an_id_that_is_too_long_is_not_carried() {
        let longest = vec![b'a'; MAX_UPSTREAM_ID_BYTES];
        let session = SessionIdPayload::new(Some(&longest), features(&full()).into()).unwrap();
        assert_eq!(SessionIdPayload::decode(&session.encode()), Ok(session));
        let preference = "a".repeat(AcceptLanguage::MAX_LEN);
        let event = EventIdPayload::new(&longest, Some(&preference)).unwrap();
        assert_eq!(event.encode().len(), EventIdPayload::MAX_LEN);
        assert_eq!(EventIdPayload::decode(&event.encode()), Ok(event));

        let longer = vec![b'a'; MAX_UPSTREAM_ID_BYTES + 1];
        assert_eq!(SessionIdPayload::new(Some(&longer), SessionFacts::default()), None);
        assert_eq!(EventIdPayload::new(&longer, None), None);
        assert_eq!(EventIdPayload::new(b"", Some(&format!("{preference}a"))), None);
    }

    /// As many tags as there can be, of as many bytes as there can be.
    fn full() -> String {
        format!("[{}]", vec![format!("\"{}\"", "x".repeat(16)); ClientFeatures::MAX_TAGS].join(","))
    }

    #[test]
    fn the_longest_session_has_as_many_bytes_as_it_says() {
        let session =
            SessionIdPayload::new(Some(&vec![b'a'; MAX_UPSTREAM_ID_BYTES]), features(&full()).into())
                .unwrap();
        assert_eq!(session.features().tags().count(), ClientFeatures::MAX_TAGS);
        let mut facts = session.facts().clone();
        facts.locale = Some(Tag::parse(&format!("x{}", "-abcdefgh".repeat(28))).unwrap());
        facts.client = ClientImplementation::new(&"n".repeat(128), &"v".repeat(64));
        let longest = SessionIdPayload::new(session.upstream(), facts).unwrap();
        assert_eq!(longest.encode().len(), SessionIdPayload::MAX_LEN - (Tag::MAX_LEN - 253));
        assert_eq!(SessionIdPayload::decode(&longest.encode()), Ok(longest));
    }
}
