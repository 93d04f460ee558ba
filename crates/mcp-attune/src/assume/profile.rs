//! What is known of a client by its name, made by measurement and handed in by the host.

use core::fmt;
use std::sync::Arc;

use crate::session::{ClientFeatures, ClientImplementation};

/// The profile of a client: its name in the data, and the tags to assume for it.
///
/// Rules: A5.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClientProfile {
    /// The name of the profile, for logs.
    pub name: Arc<str>,
    /// The tags that count as declared.
    pub features: ClientFeatures,
}

impl ClientProfile {
    /// A profile with these tags. Those that are too long or too many are left out, as with tags that are declared.
    #[must_use]
    pub fn new<'t>(name: &str, tags: impl IntoIterator<Item = &'t str>) -> Self {
        Self { name: name.into(), features: ClientFeatures::from_tags(tags).features }
    }
}

/// Finds the profile of a client. Clients report their names themselves, so nothing but the form of results may depend
/// on it.
///
/// ```
/// use mcp_attune::assume::{ClientProfile, ClientProfiles};
/// use mcp_attune::session::ClientImplementation;
///
/// #[derive(Debug)]
/// struct OneProfile(ClientProfile);
///
/// impl ClientProfiles for OneProfile {
///     fn find(&self, client: &ClientImplementation) -> Option<ClientProfile> {
///         (client.name() == "acme-agent").then(|| self.0.clone())
///     }
/// }
///
/// let profiles = OneProfile(ClientProfile::new("acme-agent 2", ["agent", "format=text"]));
/// let client = ClientImplementation::new("acme-agent", "2.1.0").unwrap();
/// assert_eq!(&*profiles.find(&client).unwrap().name, "acme-agent 2");
/// ```
///
/// Rules: A5.
pub trait ClientProfiles: fmt::Debug + Send + Sync {
    /// The profile of a client; none where there is none for its name and version.
    fn find(&self, client: &ClientImplementation) -> Option<ClientProfile>;
}
