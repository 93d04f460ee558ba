//! The client atlas: what clients make of tool results, as it was measured.
//!
//! 1. A client is known by the name in its `clientInfo`. A name of an entry that ends with `*` stands for all names that begin so.
//! 2. An entry holds for a range of versions. A version that cannot be compared is in no range but that of all versions.
//! 3. Entries that an operator adds come before those that were built in; of several that fit, the first counts.
//! 4. An entry says which tags to assume for a client; they decide the form of results and nothing else. It assumes none for a name that
//!    programs of different makers share, because nobody knows what those do.
//! 5. Everything is bounded: a longer name is nobody's.
//!
//! The built-in entries are `spec/clients.toml`, as a table that is generated, so that nothing has to be read at run time.

mod version;

mod entry;

mod table;

pub use self::entry::{AtlasEntry, AtlasEntryError, AtlasMeasurement, ReadField, ResultForm};
pub use self::version::{ClientVersion, VersionRange};

use crate::assume::{ClientProfile, ClientProfiles};
use crate::session::ClientImplementation;

/// What is known of clients: the entries of an operator, and then those that were built in.
///
/// ```
/// use mcp_attune::clients::{ClientAtlas, ReadField, ResultForm};
///
/// let atlas = ClientAtlas::built_in();
/// let codex = atlas.profile("codex-mcp-client", "0.200.1").unwrap();
/// assert_eq!(codex.reads, Some(ReadField::StructuredContent));
/// assert_eq!(codex.result_form(), ResultForm::StructuredContent);
/// assert!(atlas.profile("somebody", "1.0.0").is_none());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ClientAtlas {
    added: Vec<AtlasEntry>,
    built_in: &'static [AtlasEntry],
}

impl ClientAtlas {
    /// No more entries can be added.
    pub const MAX_ENTRIES: usize = AtlasEntry::MAX_ENTRIES;

    /// Returns the atlas that the library carries.
    #[must_use]
    pub fn built_in() -> Self {
        Self { added: Vec::new(), built_in: table::ENTRIES }
    }

    /// Adds entries that come before all that are there.
    ///
    /// # Errors
    /// Returns which entry is at fault, by its place, and why.
    pub fn with(mut self, mut entries: Vec<AtlasEntry>) -> Result<Self, (usize, AtlasEntryError)> {
        for (at, entry) in entries.iter().enumerate() {
            entry.check().map_err(|error| (at, error))?;
        }
        if entries.len().saturating_add(self.added.len()) > Self::MAX_ENTRIES {
            return Err((Self::MAX_ENTRIES, AtlasEntryError::TooMany));
        }
        entries.append(&mut self.added);
        self.added = entries;
        Ok(self)
    }

    /// Returns the entry for a client by what its `clientInfo` says; `None` where nothing is known of it.
    #[must_use]
    pub fn profile(&self, name: &str, version: &str) -> Option<&AtlasEntry> {
        self.entries().find(|entry| entry.is_of(name) && entry.versions.contains(version))
    }

    /// Returns the entries that were added to the built-in ones, in the order in which they are asked.
    #[must_use]
    pub fn added(&self) -> &[AtlasEntry] {
        &self.added
    }

    /// Returns all entries, in the order in which they are asked.
    pub fn entries(&self) -> impl Iterator<Item = &AtlasEntry> {
        self.added.iter().chain(self.built_in)
    }
}

/// The profile of a client is the entry for it, where that has tags to assume.
///
/// Rules: A5.
impl ClientProfiles for ClientAtlas {
    fn find(&self, client: &ClientImplementation) -> Option<ClientProfile> {
        let entry = self.profile(client.name(), client.version()).filter(|entry| !entry.tags.is_empty())?;
        Some(ClientProfile::new(&entry.product, entry.tags.iter().map(|tag| &**tag)))
    }
}

impl Default for ClientAtlas {
    fn default() -> Self {
        Self::built_in()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &'static str, from: &str, product: &'static str) -> AtlasEntry {
        let versions = VersionRange { from: ClientVersion::parse(from), before: None };
        AtlasEntry { versions, ..AtlasEntry::new(product, [name]) }
    }

    #[test]
    fn finds_an_entry_by_name_and_version_only() {
        let atlas = ClientAtlas::built_in();
        let found = |name, version| atlas.profile(name, version).map(|entry| &*entry.product);
        assert_eq!(found("opencode", "1.18.33"), Some("OpenCode"));
        assert_eq!(found("opencode", "1.99.0"), Some("OpenCode"));
        assert_eq!(found("opencode", "0.1.0"), None, "older than what was measured");
        assert_eq!(found("opencode", "dev"), None);
        assert_eq!(found("OpenCode", "1.18.33"), None);
        assert_eq!(found("qwen-cli-mcp-client-weather", "0.0.1"), Some("Qwen Code"));
        assert_eq!(found("qwen-cli-mcp-client", "0.0.1"), None);
        assert_eq!(found("", ""), None);
    }

    #[test]
    fn an_added_entry_comes_before_the_built_in_one() {
        let atlas = ClientAtlas::built_in().with(vec![entry("opencode", "1.50", "Ours")]).expect("valid");
        let found = |version| atlas.profile("opencode", version).map(|entry| &*entry.product);
        assert_eq!(found("1.49.0"), Some("OpenCode"));
        assert_eq!(found("1.50.0"), Some("Ours"));
        let atlas = atlas.with(vec![entry("opencode", "1.60", "Later")]).expect("valid");
        assert_eq!(atlas.profile("opencode", "1.60").map(|entry| &*entry.product), Some("Later"));
        assert_eq!(atlas.profile("opencode", "1.50").map(|entry| &*entry.product), Some("Ours"));
    }

    #[test]
    fn a_profile_is_an_entry_with_tags() {
        let found = |name, version| {
            let client = ClientImplementation::new(name, version).expect("a client");
            let profile = ClientAtlas::built_in().find(&client)?;
            Some((profile.name.to_string(), profile.features == ClientProfile::new("", ["agent"]).features))
        };
        assert_eq!(found("codex-mcp-client", "0.200.1"), Some(("Codex".to_owned(), true)));
        assert_eq!(found("gemini-cli-mcp-client", "0.61.0"), Some(("Gemini CLI".to_owned(), false)));
        assert_eq!(found("mcp", "0.1.0"), None, "a name that many share");
        assert_eq!(found("somebody", "1"), None);
    }

    #[test]
    fn an_entry_at_fault_is_refused_by_its_place() {
        let bad = AtlasEntry::new("Bad", ["a*b"]);
        let refused = ClientAtlas::built_in().with(vec![entry("fine", "1", "Fine"), bad]);
        assert_eq!(refused.err(), Some((1, AtlasEntryError::Name)));
        let many = vec![entry("fine", "1", "Fine"); ClientAtlas::MAX_ENTRIES + 1];
        assert_eq!(
            ClientAtlas::built_in().with(many).err(),
            Some((ClientAtlas::MAX_ENTRIES, AtlasEntryError::TooMany))
        );
    }

    #[test]
    fn every_built_in_entry_is_valid() {
        for entry in ClientAtlas::built_in().entries() {
            assert_eq!(entry.check(), Ok(()), "{}", entry.product);
            assert!(entry.measured.is_some(), "{}", entry.product);
        }
    }

    #[test]
    fn what_a_client_hands_on_decides_its_tags() {
        for entry in ClientAtlas::built_in().entries().filter(|entry| !entry.tags.is_empty()) {
            assert_eq!(entry.reads.map(ReadField::tags), Some(&*entry.tags), "{}", entry.product);
        }
    }

    #[test]
    fn an_added_entry_without_tags_switches_the_profile_off() {
        let client = ClientImplementation::new("codex-mcp-client", "0.200.1").expect("a client");
        let off = AtlasEntry::new("off", ["codex-mcp-client"]);
        let atlas = ClientAtlas::built_in();
        assert!(atlas.find(&client).is_some() && atlas.added().is_empty());
        let atlas = atlas.with(vec![off]).expect("valid");
        assert_eq!((atlas.find(&client), atlas.added().len()), (None, 1));
    }

    /// A client that reads one field would see nothing of a result that comes in the other one.
    #[test]
    fn no_built_in_entry_hides_results_from_its_client() {
        for entry in ClientAtlas::built_in().entries() {
            let fits = match (entry.result_form(), entry.reads) {
                (ResultForm::AsItCame, _) => true,
                (ResultForm::Content, reads) => {
                    reads == Some(ReadField::Content) || reads == Some(ReadField::Both)
                }
                (ResultForm::StructuredContent, reads) => {
                    reads == Some(ReadField::StructuredContent) || reads == Some(ReadField::Both)
                }
            };
            assert!(fits, "{} reads {:?} and gets {:?}", entry.product, entry.reads, entry.result_form());
        }
    }
}
