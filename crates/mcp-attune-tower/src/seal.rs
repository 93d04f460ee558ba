//! Keys and seals with the randomness of this system.

use mcp_attune::exchange::{IdSeal, NoRandomness, SealKeys};

fn random(bytes: &mut [u8]) -> Result<(), NoRandomness> {
    getrandom::fill(bytes).map_err(|_| NoRandomness)
}

/// One key that nobody else has. What it seals ends with the process.
///
/// # Errors
///
/// [`NoRandomness`], where the system gives none.
pub fn random_keys() -> Result<SealKeys, NoRandomness> {
    SealKeys::generate(random)
}

/// A seal for the mount of this name. Replicas that are to serve each other's sessions need the same name and the same keys.
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
