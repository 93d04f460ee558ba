//! The `requestState` of a call that waits for input, and the ids of questions: which call it is, and which replica holds it.
//!
//! Everything else that a state is bound to (identity, request, time, use) is known to the replica that holds the call, so
//! none of it has to travel.
//!
//! Rules: X3, X4.

use crate::exchange::IdSeal;

/// The longest address of a replica that can be carried.
pub const MAX_REPLICA_BYTES: usize = 256;
const CALL_BYTES: usize = 16;

/// A call that waits for input: its number, which nobody can guess, and the address of the replica that holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PendingCallId {
    /// Random bytes.
    pub call: [u8; CALL_BYTES],
    /// Where other replicas reach the one that holds it; empty where the operator names no address.
    pub replica: String,
}

/// A state or an id that looks like one of ours and does not open: it is of other keys, or was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SealedCallError;

impl PendingCallId {
    /// Seals it. `None` where the host has no randomness, or the address is longer than [`MAX_REPLICA_BYTES`].
    #[must_use]
    pub fn seal(&self, seal: &IdSeal) -> Option<String> {
        let fits = self.replica.len() <= MAX_REPLICA_BYTES;
        fits.then(|| seal.seal_pending_call(&[&self.call, self.replica.as_bytes()].concat()))?
    }

    /// Opens what [`seal`](Self::seal) made; `None` where the text is none of ours at all.
    ///
    /// # Errors
    ///
    /// [`SealedCallError`] for one that looks like ours and does not open.
    pub fn open(seal: &IdSeal, text: &str) -> Result<Option<Self>, SealedCallError> {
        let opened = seal.open_pending_call(text.as_bytes(), CALL_BYTES + MAX_REPLICA_BYTES);
        let Some(bytes) = opened.map_err(|_| SealedCallError)? else { return Ok(None) };
        let (call, replica) = bytes.split_first_chunk().ok_or(SealedCallError)?;
        let replica = String::from_utf8(replica.to_vec()).map_err(|_| SealedCallError)?;
        Ok(Some(Self { call: *call, replica }))
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
        for replica in ["", "http://10.0.0.7:8808"] {
            let id = PendingCallId { call: [9; 16], replica: replica.to_owned() };
            let state = id.seal(&seal(1)).unwrap();
            assert_eq!(PendingCallId::open(&seal(1), &state), Ok(Some(id)));
            assert_eq!(PendingCallId::open(&seal(2), &state), Err(SealedCallError));
            let changed = state.replace(state.chars().last().unwrap(), "-");
            assert_eq!(PendingCallId::open(&seal(1), &changed), Err(SealedCallError));
        }
        for other in ["", "state", "attune1.AAAA", "eyJ9"] {
            assert_eq!(PendingCallId::open(&seal(1), other), Ok(None), "{other}");
        }
        let long = PendingCallId { call: [9; 16], replica: "r".repeat(MAX_REPLICA_BYTES + 1) };
        assert_eq!(long.seal(&seal(1)), None);
    }
}
