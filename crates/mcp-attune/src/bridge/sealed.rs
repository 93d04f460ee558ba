//! The `requestState` of a call that waits for input, and the ids of questions: which call it is.
//!
//! Everything else that a state is bound to (identity, request, time, use) is known to whoever holds the call, so none of it
//! has to travel.
//!
//! Rules: X3, X4.

use crate::exchange::IdSeal;

const CALL_BYTES: usize = 16;

/// A call that waits for input, by random bytes that nobody can guess.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingCallId(pub [u8; CALL_BYTES]);

/// A state or an id that looks like one of ours and does not open: it is of other keys, or was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SealedCallError;

impl PendingCallId {
    /// Seals it. `None` where the host has no randomness.
    #[must_use]
    pub fn seal(self, seal: &IdSeal) -> Option<String> {
        seal.seal_pending_call(&self.0)
    }

    /// Opens what [`seal`](Self::seal) made; `None` where the text is none of ours at all.
    ///
    /// # Errors
    ///
    /// [`SealedCallError`] for one that looks like ours and does not open.
    pub fn open(seal: &IdSeal, text: &str) -> Result<Option<Self>, SealedCallError> {
        let opened = seal.open_pending_call(text.as_bytes(), CALL_BYTES).map_err(|_| SealedCallError)?;
        opened.map(|bytes| bytes.try_into().map(Self).map_err(|_| SealedCallError)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::SealKeys;

    fn seal(key: u8) -> IdSeal {
        IdSeal::new(SealKeys::new(&[key; 32], []), "default", |bytes| {
            bytes.fill(7);
            Ok(())
        })
    }

    #[test]
    fn a_state_opens_with_its_keys_and_unchanged_only() {
        let id = PendingCallId([9; 16]);
        let state = id.seal(&seal(1)).unwrap();
        assert_eq!(PendingCallId::open(&seal(1), &state), Ok(Some(id)));
        assert_eq!(PendingCallId::open(&seal(2), &state), Err(SealedCallError));
        let mut changed = state.clone().into_bytes();
        let last = changed.len() - 2;
        changed[last] = if changed[last] == b'A' { b'B' } else { b'A' };
        assert_eq!(
            PendingCallId::open(&seal(1), std::str::from_utf8(&changed).unwrap()),
            Err(SealedCallError)
        );
        for other in ["", "state", "attune1.AAAA", "eyJ9"] {
            assert_eq!(PendingCallId::open(&seal(1), other), Ok(None), "{other}");
        }
    }
}
