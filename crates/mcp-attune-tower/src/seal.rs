//! Seals and keys that use the randomness of this system, which the rules themselves have no access to.

use mcp_attune::exchange::{IdSeal, NoRandomness, SealKeys};

fn random(bytes: &mut [u8]) -> Result<(), NoRandomness> {
    getrandom::fill(bytes).map_err(|_| NoRandomness)
}

/// Makes one random key. Ids that are sealed with it cannot be opened by other replicas, nor after a restart.
///
/// # Errors
///
/// [`NoRandomness`], if the system gives no random bytes.
pub fn random_keys() -> Result<SealKeys, NoRandomness> {
    SealKeys::generate(random)
}

/// Makes the seal for the ids of the mount of this name, for [`Settings::seal`](crate::Settings::seal).
/// Replicas that are to serve each other's sessions need the same name and the same keys; an id of another
/// mount does not open.
///
/// ```
/// use mcp_attune_tower::{Settings, random_keys, seal};
///
/// let mut settings = Settings::default();
/// settings.seal = Some(seal(random_keys()?, "weather"));
/// # Ok::<(), mcp_attune_tower::NoRandomness>(())
/// ```
#[must_use]
pub fn seal(keys: SealKeys, mount: &str) -> IdSeal {
    IdSeal::new(keys, mount, random)
}
