//! Ids that carry something, and that only their maker can read or change.
//!
//! 1. A sealed id is [`SEALED_PREFIX`] (those of the bridge [`BRIDGE_PREFIX`]) and base64url without padding: a random nonce, then the bytes and their tag,
//!    by XChaCha20-Poly1305. A nonce of 24 bytes can be drawn at random for every event of every stream.
//! 2. What it is for (a session, an event or a task) and the name of the mount are bound to it: it opens nowhere else.
//! 3. The first key seals and all open, so that keys can be changed while sessions go on.
//! 4. An id is bounded before anything is computed from it. Why one does not open is not told.
//!
//! Rules: G8.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use zeroize::Zeroizing;

use crate::session::{EventIdPayload, SessionIdPayload, TaskIdPayload};

/// What a sealed id begins with, and no other should.
pub(crate) const SEALED_PREFIX: &[u8] = b"attune1.";

/// What a sealed id of the bridge begins with. It stands where a server's own id stands, and may be sealed once more.
pub(crate) const BRIDGE_PREFIX: &[u8] = b"attune-bridge1.";

const NONCE_BYTES: usize = 24;
const AUTH_TAG_BYTES: usize = 16;

/// The keys that seal and open ids. They are wiped when the last clone goes, and never printed.
#[derive(Clone)]
pub struct SealKeys(Arc<[XChaCha20Poly1305]>);

impl SealKeys {
    /// The first seals; it and all others open. Replicas that are to serve each other's sessions need the same.
    #[must_use]
    pub fn new<'k>(first: &'k [u8; 32], others: impl IntoIterator<Item = &'k [u8; 32]>) -> Self {
        let all = std::iter::once(first).chain(others);
        Self(all.map(|key| XChaCha20Poly1305::new(key.into())).collect())
    }

    /// One key that nobody else has. What it seals ends with the process.
    ///
    /// # Errors
    ///
    /// [`NoRandomness`], where the host gives none.
    pub fn generate(random: RandomFill) -> Result<Self, NoRandomness> {
        let mut key = Zeroizing::new([0; 32]);
        random(&mut *key)?;
        Ok(Self::new(&key, []))
    }

    /// These keys, which also open what the others sealed.
    #[must_use]
    pub fn also_opening(&self, others: &Self) -> Self {
        Self(self.0.iter().chain(others.0.iter()).cloned().collect())
    }
}

impl fmt::Debug for SealKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKeys(…)")
    }
}

/// Fills bytes with randomness, which only a host has: keys and nonces are made of it.
pub type RandomFill = fn(&mut [u8]) -> Result<(), NoRandomness>;

/// The system gives no random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRandomness;

impl fmt::Display for NoRandomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the system gives no random bytes, and keys and nonces are made of them")
    }
}

impl std::error::Error for NoRandomness {}

/// An id that looks sealed, and was not sealed here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UnsealError;

/// Seals and opens the ids of one mount.
#[derive(Clone)]
pub struct IdSeal {
    keys: SealKeys,
    mount: Arc<str>,
    random: RandomFill,
}

impl fmt::Debug for IdSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdSeal").field("keys", &self.keys).field("mount", &self.mount).finish()
    }
}

#[derive(Clone, Copy, Debug)]
enum SealPurpose {
    Session,
    Event,
    Task,
    /// A legacy session in front of a modern server.
    BridgedSession,
    /// A call that waits for input.
    PendingCall,
}

impl SealPurpose {
    fn prefix(self) -> &'static [u8] {
        match self {
            Self::Session | Self::Event | Self::Task => SEALED_PREFIX,
            Self::BridgedSession | Self::PendingCall => BRIDGE_PREFIX,
        }
    }
}

impl IdSeal {
    /// A seal for the mount of this name. Replicas that are to serve each other's sessions need the same name.
    #[must_use]
    pub fn new(keys: SealKeys, mount: &str, random: RandomFill) -> Self {
        Self { keys, mount: mount.into(), random }
    }

    pub(crate) fn seal_session(&self, session: &SessionIdPayload) -> Option<String> {
        self.seal(SealPurpose::Session, &session.encode())
    }

    /// What a session id carries; none where it is not sealed at all.
    pub(crate) fn open_session(&self, id: &[u8]) -> Result<Option<SessionIdPayload>, UnsealError> {
        let opened = self.open(SealPurpose::Session, id, SessionIdPayload::MAX_LEN)?;
        opened.map(|bytes| SessionIdPayload::decode(&bytes).map_err(|_| UnsealError)).transpose()
    }

    pub(crate) fn seal_event(&self, event: &EventIdPayload) -> Option<String> {
        self.seal(SealPurpose::Event, &event.encode())
    }

    /// What an event id carries; none where it is not sealed at all.
    pub(crate) fn open_event(&self, id: &[u8]) -> Result<Option<EventIdPayload>, UnsealError> {
        let opened = self.open(SealPurpose::Event, id, EventIdPayload::MAX_LEN)?;
        opened.map(|bytes| EventIdPayload::decode(&bytes).map_err(|_| UnsealError)).transpose()
    }

    pub(crate) fn seal_task(&self, task: &TaskIdPayload) -> Option<String> {
        self.seal(SealPurpose::Task, &task.encode())
    }

    /// What the id of a task carries; none where it is not sealed at all.
    pub(crate) fn open_task(&self, id: &[u8]) -> Result<Option<TaskIdPayload>, UnsealError> {
        let opened = self.open(SealPurpose::Task, id, TaskIdPayload::MAX_LEN)?;
        opened.map(|bytes| TaskIdPayload::decode(&bytes).map_err(|_| UnsealError)).transpose()
    }

    pub(crate) fn seal_bridged_session(&self, session: &[u8]) -> Option<String> {
        self.seal(SealPurpose::BridgedSession, session)
    }

    /// What the id of a bridged session carries, of at most `most` bytes; none where it is not sealed at all.
    pub(crate) fn open_bridged_session(
        &self,
        id: &[u8],
        most: usize,
    ) -> Result<Option<Vec<u8>>, UnsealError> {
        self.open(SealPurpose::BridgedSession, id, most)
    }

    pub(crate) fn seal_pending_call(&self, call: &[u8]) -> Option<String> {
        self.seal(SealPurpose::PendingCall, call)
    }

    /// What the state of a call that waits for input carries, of at most `most` bytes; none where it is not sealed at all.
    pub(crate) fn open_pending_call(
        &self,
        state: &[u8],
        most: usize,
    ) -> Result<Option<Vec<u8>>, UnsealError> {
        self.open(SealPurpose::PendingCall, state, most)
    }

    fn seal(&self, purpose: SealPurpose, bytes: &[u8]) -> Option<String> {
        let mut nonce = XNonce::default();
        (self.random)(&mut nonce).ok()?;
        let aad = self.associated_data(purpose);
        let sealed = self.keys.0.first()?.encrypt(&nonce, Payload { msg: bytes, aad: &aad }).ok()?;
        let mut id = String::from_utf8_lossy(purpose.prefix()).into_owned();
        URL_SAFE_NO_PAD.encode_string([nonce.as_slice(), &sealed].concat(), &mut id);
        Some(id)
    }

    fn open(&self, purpose: SealPurpose, id: &[u8], most: usize) -> Result<Option<Vec<u8>>, UnsealError> {
        let Some(text) = id.strip_prefix(purpose.prefix()) else { return Ok(None) };
        if text.len() > (NONCE_BYTES + most + AUTH_TAG_BYTES).div_ceil(3) * 4 {
            return Err(UnsealError);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| UnsealError)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>().ok_or(UnsealError)?;
        let (nonce, aad) = (nonce.into(), self.associated_data(purpose));
        let mut opened = self.keys.0.iter().map(|key| key.decrypt(nonce, Payload { msg: sealed, aad: &aad }));
        opened.find_map(Result::ok).map(Some).ok_or(UnsealError)
    }

    fn associated_data(&self, purpose: SealPurpose) -> Vec<u8> {
        let purpose: &[u8] = match purpose {
            SealPurpose::Session => b"attune session\0",
            SealPurpose::Event => b"attune event\0",
            SealPurpose::Task => b"attune task\0",
            SealPurpose::BridgedSession => b"attune bridged session\0",
            SealPurpose::PendingCall => b"attune pending call\0",
        };
        [purpose, self.mount.as_bytes()].concat()
    }
}

/// Whether an id would be taken for a sealed one.
pub(crate) fn looks_sealed(id: &[u8]) -> bool {
    id.starts_with(SEALED_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU8, Ordering};

    use crate::session::{MAX_UPSTREAM_ID_BYTES, SessionFacts};

    /// Other bytes each time, which is all that these tests need.
    fn random(bytes: &mut [u8]) -> Result<(), NoRandomness> {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        bytes.fill_with(|| NEXT.fetch_add(1, Ordering::Relaxed));
        Ok(())
    }

    fn keys(bytes: &[u8]) -> SealKeys {
        let keys: Vec<[u8; 32]> = bytes.iter().map(|byte| [*byte; 32]).collect();
        SealKeys::new(&keys[0], &keys[1..])
    }

    fn seal(bytes: &[u8]) -> IdSeal {
        IdSeal::new(keys(bytes), "default", random)
    }

    fn session(upstream: &[u8]) -> SessionIdPayload {
        SessionIdPayload::new(Some(upstream), SessionFacts::default()).unwrap()
    }

    #[test]
    fn an_id_is_text_that_a_header_and_an_event_can_hold() {
        for length in 0..40 {
            let session = session(&vec![0xff; length]);
            let id = seal(&[1]).seal_session(&session).unwrap();
            assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
            assert_eq!(seal(&[1]).open_session(id.as_bytes()), Ok(Some(session)));
        }
        let event = EventIdPayload::new(b"3/7", Some("de-CH")).unwrap();
        let id = seal(&[1]).seal_event(&event).unwrap();
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert_eq!(seal(&[1]).open_event(id.as_bytes()), Ok(Some(event)));
    }

    #[test]
    fn the_longest_ids_open() {
        let longest = vec![b'a'; MAX_UPSTREAM_ID_BYTES];
        let id = seal(&[1]).seal_session(&session(&longest)).unwrap();
        assert!(seal(&[1]).open_session(id.as_bytes()).unwrap().is_some());
        let preference = "a".repeat(crate::language::AcceptLanguage::MAX_LEN);
        let id = seal(&[1]).seal_event(&EventIdPayload::new(&longest, Some(&preference)).unwrap()).unwrap();
        assert!(seal(&[1]).open_event(id.as_bytes()).unwrap().is_some());
    }

    #[test]
    fn one_thing_is_sealed_in_another_way_each_time_and_shows_nothing() {
        let (one, two) =
            (seal(&[1]).seal_session(&session(b"secret")), seal(&[1]).seal_session(&session(b"secret")));
        assert_ne!(one, two);
        let bytes = URL_SAFE_NO_PAD.decode(&one.unwrap()[SEALED_PREFIX.len()..]).unwrap();
        assert!(!bytes.windows(6).any(|window| window == b"secret"));
    }

    #[test]
    fn an_id_that_is_not_sealed_is_told_apart() {
        for id in ["", "1868a90c", "attune", "attune1", "Attune1.abc", "attune2.abc"] {
            assert_eq!(seal(&[1]).open_session(id.as_bytes()), Ok(None), "{id}");
            assert_eq!(seal(&[1]).open_event(id.as_bytes()), Ok(None), "{id}");
        }
    }

    #[test]
    fn a_key_that_was_replaced_still_opens_and_one_that_is_gone_does_not() {
        let old = seal(&[1]).seal_session(&session(b"a")).unwrap();
        assert!(seal(&[2, 1]).open_session(old.as_bytes()).unwrap().is_some());
        assert_eq!(seal(&[2]).open_session(old.as_bytes()), Err(UnsealError));
        // The first seals.
        let new = seal(&[2, 1]).seal_session(&session(b"a")).unwrap();
        assert!(seal(&[2]).open_session(new.as_bytes()).unwrap().is_some());
        assert_eq!(seal(&[1]).open_session(new.as_bytes()), Err(UnsealError));
        // And keys of one's own can stand behind.
        let own = SealKeys::generate(random).unwrap();
        let made = IdSeal::new(own.clone(), "default", random).seal_session(&session(b"a")).unwrap();
        let both = IdSeal::new(keys(&[1]).also_opening(&own), "default", random);
        assert!(both.open_session(made.as_bytes()).unwrap().is_some());
        assert!(both.open_session(old.as_bytes()).unwrap().is_some());
        assert!(seal(&[1]).open_session(both.seal_session(&session(b"a")).unwrap().as_bytes()).is_ok());
    }

    #[test]
    fn an_id_opens_for_its_mount_and_its_purpose_only() {
        let id = seal(&[1]).seal_session(&session(b"a")).unwrap();
        let event = seal(&[1]).seal_event(&EventIdPayload::new(b"a", None).unwrap()).unwrap();
        let task = seal(&[1]).seal_task(&TaskIdPayload::new("a", "t").unwrap()).unwrap();
        assert!(seal(&[1]).open_task(task.as_bytes()).unwrap().is_some());
        for mount in ["", "other", "defaul", "default\0"] {
            let other = IdSeal::new(keys(&[1]), mount, random);
            assert_eq!(other.open_task(task.as_bytes()), Err(UnsealError), "{mount:?}");
            assert_eq!(other.open_session(id.as_bytes()), Err(UnsealError), "{mount:?}");
            assert_eq!(other.open_event(event.as_bytes()), Err(UnsealError), "{mount:?}");
        }
        // Whatever bytes they are, so that nothing rests on one being unreadable as the other.
        for (made_for, asked_for) in [
            (SealPurpose::Session, SealPurpose::Event),
            (SealPurpose::Event, SealPurpose::Session),
            (SealPurpose::Task, SealPurpose::Session),
            (SealPurpose::Session, SealPurpose::Task),
            (SealPurpose::BridgedSession, SealPurpose::PendingCall),
            (SealPurpose::PendingCall, SealPurpose::BridgedSession),
        ] {
            let id = seal(&[1]).seal(made_for, b"any").unwrap();
            assert_eq!(seal(&[1]).open(made_for, id.as_bytes(), 9), Ok(Some(b"any".to_vec())));
            assert_eq!(seal(&[1]).open(asked_for, id.as_bytes(), 9), Err(UnsealError));
        }
    }

    #[test]
    fn an_id_that_was_changed_or_cut_does_not_open() {
        let id = seal(&[1]).seal_session(&session(b"upstream")).unwrap();
        for at in SEALED_PREFIX.len()..id.len() {
            let mut changed = id.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(seal(&[1]).open_session(&changed), Err(UnsealError), "{at}");
            assert_eq!(seal(&[1]).open_session(&id.as_bytes()[..at]), Err(UnsealError), "{at}");
        }
        for more in ["A", "=", "AAAA", " ", "\0", "\n"] {
            assert_eq!(seal(&[1]).open_session(format!("{id}{more}").as_bytes()), Err(UnsealError));
        }
        assert_eq!(seal(&[1]).open_session(b"attune1.\xff\xfe"), Err(UnsealError));
    }

    #[test]
    fn an_id_over_its_bound_is_not_looked_into() {
        // One that any key would open, so that only its length can be what is wrong with it.
        let long = vec![b'a'; SessionIdPayload::MAX_LEN + 3];
        let id = seal(&[1]).seal(SealPurpose::Session, &long).unwrap();
        let opened = |most| seal(&[1]).open(SealPurpose::Session, id.as_bytes(), most);
        assert_eq!(opened(SessionIdPayload::MAX_LEN), Err(UnsealError));
        assert_eq!(opened(SessionIdPayload::MAX_LEN + 3), Ok(Some(long)));
        let huge = [SEALED_PREFIX, &vec![b'A'; 1 << 20]].concat();
        assert_eq!(seal(&[1]).open_session(&huge), Err(UnsealError));
    }

    #[test]
    fn what_is_sealed_and_makes_no_sense_does_not_open() {
        let id = seal(&[1]).seal(SealPurpose::Session, b"\x07nonsense").unwrap();
        assert_eq!(seal(&[1]).open_session(id.as_bytes()), Err(UnsealError));
        let id = seal(&[1]).seal(SealPurpose::Event, b"").unwrap();
        assert_eq!(seal(&[1]).open_event(id.as_bytes()), Err(UnsealError));
    }

    #[test]
    fn without_randomness_nothing_is_sealed() {
        let none: RandomFill = |_| Err(NoRandomness);
        let told = SealKeys::generate(none).unwrap_err().to_string();
        assert!(told.contains("no random bytes"), "{told}");
        assert_eq!(IdSeal::new(keys(&[1]), "default", none).seal_session(&session(b"a")), None);
    }

    #[test]
    fn keys_are_never_printed() {
        assert_eq!(format!("{:?}", seal(&[7])), "IdSeal { keys: SealKeys(…), mount: \"default\" }");
    }
}
