//! Calls that wait for input of their caller.
//!
//! 1. A call is known by random bytes, which travel sealed in the `requestState`.
//! 2. It is given to whoever has the same identity and repeats the same request, once.
//! 3. After `input_wait` nobody gets it any more, and its questions are answered with a cancellation.
//!
//! Rules: X3.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::legacy_call_driver::LegacyCallDriver;

/// The number of a call that waits.
pub(super) type PendingNumber = [u8; 16];

/// Calls that wait for input.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingCalls(Arc<Mutex<HashMap<PendingNumber, PendingCall>>>);

#[derive(Debug)]
struct PendingCall {
    driver: LegacyCallDriver,
    identity: Option<u64>,
    digest: u64,
}

impl PendingCalls {
    fn lock(&self) -> MutexGuard<'_, HashMap<PendingNumber, PendingCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a call until its caller comes back with this identity and a request of this digest, or until the time is up.
    pub(super) fn keep(
        &self,
        number: PendingNumber,
        driver: LegacyCallDriver,
        identity: Option<u64>,
        digest: u64,
        wait: Duration,
    ) {
        self.lock().insert(number, PendingCall { driver, identity, digest });
        let pending = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            // Dropped without the lock: a call that is given up is cancelled at the server.
            let expired = pending.lock().remove(&number);
            drop(expired);
        });
    }

    /// Takes a call out. `None` where it is over, was taken before, or belongs to somebody else.
    pub(super) fn take(
        &self,
        number: PendingNumber,
        identity: Option<u64>,
        digest: u64,
    ) -> Option<LegacyCallDriver> {
        let mut pending = self.lock();
        let call = pending.get(&number)?;
        if call.identity != identity || call.digest != digest {
            return None;
        }
        pending.remove(&number).map(|call| call.driver)
    }
}
