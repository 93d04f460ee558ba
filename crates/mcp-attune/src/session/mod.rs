//! What the ids of legacy sessions, of events and of tasks carry, so that nothing has to be remembered for them.
//!
//! 1. A [`Session`] has the id that the server behind gave, if it gave one, and the [`Features`] that its client
//!    declared in `initialize`; with them whether it draws views.
//! 2. An [`Event`] has the id that the server behind gave, and the language preference of the request that the stream
//!    answers: a stream that is resumed goes on as it began.
//! 3. A [`Task`] has the id that the server behind gave, and the tool that created it.
//! 4. All are written as bytes, and each value in one way only. What is not written so is [`Broken`]: a version that
//!    is not known, a length that is too large, bytes that are missing or too many.
//! 5. Tags are carried as they were declared. What they mean is read elsewhere.
//!
//! Caveat: bytes are no secret and prove nothing. Whoever hands them to clients seals them first.
//!
//! ```
//! use mcp_attune::session::{Features, Session};
//! use mcp_attune_wire::message::Message;
//!
//! let initialize = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"extensions":{
//!     "io.modelcontextprotocol/content-negotiation":{"version":"1.0","features":["agent","format=json"]}}}}}"#;
//! let declared = Features::declared(&Message::parse(initialize)?);
//! let session = Session::new(Some(b"1868a90c"), declared.features).unwrap();
//! let opened = Session::decode(&session.encode())?;
//! assert_eq!(opened.upstream(), Some(&b"1868a90c"[..]));
//! assert!(opened.features().tags().eq(["agent", "format=json"]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rules: F1, F3, G8, L13.

mod fields;
mod features;
mod task;

pub use features::{CONTENT_NEGOTIATION, Declared, Features, VIEWS, ViewSupport};
pub use fields::Broken;
pub use task::Task;

use crate::language::AcceptLanguage;
use fields::{Reader, put, put_optional};

/// The longest id of a server that can be carried.
pub const MAX_UPSTREAM: usize = 4096;

/// The encoding that is written.
const VERSION: u8 = 1;

/// What the id of a session carries.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Session {
    upstream: Option<Vec<u8>>,
    features: Features,
}

impl Session {
    /// As many bytes as an encoded session can have.
    pub const MAX_LEN: usize = 1 + 1 + 2 + MAX_UPSTREAM + 1 + 2 * Features::MAX_TAGS + Features::MAX_LEN;

    /// A session, unless the server's id is longer than [`MAX_UPSTREAM`].
    #[must_use]
    pub fn new(upstream: Option<&[u8]>, features: Features) -> Option<Self> {
        let fits = upstream.is_none_or(|id| id.len() <= MAX_UPSTREAM);
        fits.then(|| Self { upstream: upstream.map(<[u8]>::to_vec), features })
    }

    /// The id that the server behind gave, if it gave one.
    #[must_use]
    pub fn upstream(&self) -> Option<&[u8]> {
        self.upstream.as_deref()
    }

    /// What the client declared.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The session as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        put_optional(&mut out, self.upstream());
        self.features.put(&mut out);
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`Broken`], where it did not write that.
    pub fn decode(bytes: &[u8]) -> Result<Self, Broken> {
        let mut reader = Reader::new(bytes);
        reader.version(VERSION)?;
        let upstream = reader.optional(MAX_UPSTREAM)?.map(<[u8]>::to_vec);
        let features = Features::take(&mut reader)?;
        reader.end()?;
        Ok(Self { upstream, features })
    }
}

/// What the id of an event carries.
///
/// ```
/// use mcp_attune::session::Event;
///
/// let event = Event::new(b"3/7", Some("de-CH, en;q=0.5")).unwrap();
/// assert_eq!(Event::decode(&event.encode()), Ok(event));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    upstream: Vec<u8>,
    preference: Option<String>,
}

impl Event {
    /// As many bytes as an encoded event can have.
    pub const MAX_LEN: usize = 1 + 2 + MAX_UPSTREAM + 1 + 2 + AcceptLanguage::MAX_LEN;

    /// An event, unless the server's id is longer than [`MAX_UPSTREAM`] or the preference than one can be.
    #[must_use]
    pub fn new(upstream: &[u8], preference: Option<&str>) -> Option<Self> {
        let fits = upstream.len() <= MAX_UPSTREAM
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
        put(&mut out, &self.upstream);
        put_optional(&mut out, self.preference().map(str::as_bytes));
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`Broken`], where it did not write that.
    pub fn decode(bytes: &[u8]) -> Result<Self, Broken> {
        let mut reader = Reader::new(bytes);
        reader.version(VERSION)?;
        let upstream = reader.bytes(MAX_UPSTREAM)?.to_vec();
        let preference = reader.optional(AcceptLanguage::MAX_LEN)?.map(fields::text).transpose()?;
        reader.end()?;
        Ok(Self { upstream, preference: preference.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune_wire::message::Message;

    fn features(tags: &str) -> Features {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"capabilities":{{"extensions":{{
                "{CONTENT_NEGOTIATION}":{{"features":{tags}}}}}}}}}}}"#
        );
        Features::declared(&Message::parse(body.as_bytes()).unwrap()).features
    }

    #[test]
    fn a_session_is_written_in_few_bytes() {
        let session = Session::new(Some(b"abc"), features(r#"["agent","x"]"#)).unwrap();
        assert_eq!(session.encode(), b"\x01\x01\x00\x03abc\x02\x00\x05agent\x00\x01x");
        assert_eq!(Session::default().encode(), b"\x01\x00\x00");
    }

    #[test]
    fn whether_views_are_drawn_is_kept_with_the_tags() {
        for tags in ["[]", r#"["agent","x"]"#, &full()] {
            for views in [false, true] {
                let session = Session::new(Some(b"abc"), features(tags).with_views(views)).unwrap();
                assert_eq!(Session::decode(&session.encode()).as_ref(), Ok(&session), "{tags}");
                assert!(session.encode().len() <= Session::MAX_LEN);
            }
        }
        // What declares none is written as it was before there were views.
        assert_eq!(Session::default().encode(), b"\x01\x00\x00");
    }

    #[test]
    fn an_event_is_written_in_few_bytes() {
        let event = |preference| Event::new(b"3/7", preference).unwrap().encode();
        assert_eq!(event(Some("de")), b"\x01\x00\x033/7\x01\x00\x02de");
        assert_eq!(event(None), b"\x01\x00\x033/7\x00");
    }

    #[test]
    fn what_is_not_written_so_is_broken() {
        for (bytes, broken) in [
            (&b""[..], Broken::Short),
            (b"\x02\x00\x00", Broken::Version),
            (b"\x01", Broken::Short),
            (b"\x01\x02\x00\x00", Broken::Flag),
            (b"\x01\x01\x00\x03ab", Broken::Short),
            (b"\x01\x01\x10\x01", Broken::Long),
            (b"\x01\x00\x01", Broken::Short),
            (b"\x01\x00\x01\x01\x01", Broken::Long),
            (b"\x01\x00\x01\x00\x00", Broken::Long),
            (&[&b"\x01\x00\x41"[..], &b"\x00\x01x".repeat(65)].concat(), Broken::Long),
            (
                &[&b"\x01\x00\x05"[..], &[b"\x01\x00", &[b'x'; 256][..]].concat().repeat(5)].concat(),
                Broken::Long,
            ),
            (b"\x01\x00\x01\x00\x01\xff", Broken::Text),
            (b"\x01\x00\x00\x00", Broken::Rest),
        ] {
            assert_eq!(Session::decode(bytes), Err(broken), "{bytes:?}");
        }
        for (bytes, broken) in [
            (&b"\x01\x00\x01a"[..], Broken::Short),
            (b"\x01\x00\x01a\x01\x00\x01\xff", Broken::Text),
            (b"\x01\x00\x01a\x01\x10\x01", Broken::Long),
            (b"\x01\x00\x01a\x00x", Broken::Rest),
        ] {
            assert_eq!(Event::decode(bytes), Err(broken), "{bytes:?}");
        }
    }

    #[test]
    fn an_id_that_is_too_long_is_not_carried() {
        let longest = vec![b'a'; MAX_UPSTREAM];
        let session = Session::new(Some(&longest), features(&full())).unwrap();
        assert_eq!(Session::decode(&session.encode()), Ok(session));
        let preference = "a".repeat(AcceptLanguage::MAX_LEN);
        let event = Event::new(&longest, Some(&preference)).unwrap();
        assert_eq!(event.encode().len(), Event::MAX_LEN);
        assert_eq!(Event::decode(&event.encode()), Ok(event));

        let longer = vec![b'a'; MAX_UPSTREAM + 1];
        assert_eq!(Session::new(Some(&longer), Features::default()), None);
        assert_eq!(Event::new(&longer, None), None);
        assert_eq!(Event::new(b"", Some(&format!("{preference}a"))), None);
    }

    /// As many tags as there can be, of as many bytes as there can be.
    fn full() -> String {
        format!("[{}]", vec![format!("\"{}\"", "x".repeat(16)); Features::MAX_TAGS].join(","))
    }

    #[test]
    fn the_longest_session_has_as_many_bytes_as_it_says() {
        let session = Session::new(Some(&vec![b'a'; MAX_UPSTREAM]), features(&full())).unwrap();
        assert_eq!(session.features().tags().count(), Features::MAX_TAGS);
        assert_eq!(session.encode().len(), Session::MAX_LEN);
    }
}
