//! One entry of the atlas: whom it is about, what was seen, and what follows from it.

use std::borrow::Cow;
use std::fmt;

use mcp_attune_wire::agree::Era;
use mcp_attune_wire::text::is_deceptive;

use super::version::VersionRange;
use crate::features::{ContentFormat, FeaturePreferences};
use crate::session::ClientFeatures;

/// Which part of a tool's result a client hands to its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadField {
    /// The content blocks.
    Content,
    /// The structured content, where there is any; else the content blocks.
    StructuredContent,
    /// Both: what comes twice costs twice.
    Both,
}

impl ReadField {
    /// Returns its name, as MCP writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::StructuredContent => "structuredContent",
            Self::Both => "both",
        }
    }

    /// Returns the field of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Content, Self::StructuredContent, Self::Both].into_iter().find(|field| field.name() == name)
    }

    /// Returns the tags with which a client that hands this to its model gets each result once, in a field that it reads.
    ///
    /// Rules: A5, F5, F6.
    #[must_use]
    pub fn tags(self) -> &'static [Cow<'static, str>] {
        match self {
            Self::Content => &[Cow::Borrowed("agent"), Cow::Borrowed("format=markdown")],
            Self::StructuredContent | Self::Both => &[Cow::Borrowed("agent")],
        }
    }
}

/// The form in which a client gets results when an entry's tags are assumed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultForm {
    /// Once, as text; structured content is left out.
    Content,
    /// Once, as structured content; text is left out.
    StructuredContent,
    /// As the server sent it.
    AsItCame,
}

impl ResultForm {
    /// Returns its name, for people and for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::StructuredContent => "structuredContent",
            Self::AsItCame => "as it came",
        }
    }
}

/// What was measured, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtlasMeasurement {
    /// The day, as `2026-11-18`.
    pub date: Cow<'static, str>,
    /// The package and its version, as `opencode-ai 1.18.33`.
    pub package: Cow<'static, str>,
}

/// What is known of one client, in a range of its versions.
///
/// ```
/// use mcp_attune::clients::{AtlasEntry, ReadField, ResultForm};
///
/// let mut entry = AtlasEntry::new("Acme Desktop", ["acme-desktop"]);
/// entry.reads = Some(ReadField::StructuredContent);
/// entry.tags = vec!["agent".into()].into();
/// assert_eq!(entry.check(), Ok(()));
/// assert_eq!(entry.result_form(), ResultForm::StructuredContent);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtlasEntry {
    /// What people call the client.
    pub product: Cow<'static, str>,
    /// Its names in `clientInfo`; one that ends with `*` stands for all that begin so.
    pub names: Cow<'static, [Cow<'static, str>]>,
    /// The versions in `clientInfo` that the entry holds for.
    pub versions: VersionRange,
    /// The era that it speaks with a server that speaks both; `None` where it is not known.
    pub era: Option<Era>,
    /// The client capabilities and extensions that it declares.
    pub declares: Cow<'static, [Cow<'static, str>]>,
    /// What of a result it hands to its model; `None` where it is not known or there is no model.
    pub reads: Option<ReadField>,
    /// Whether it takes the other field where the one that it reads is empty.
    pub falls_back: bool,
    /// Whether it refuses structured content that breaks the tool's `outputSchema`.
    pub validates: Option<bool>,
    /// Whether titles of tools reach its model, or what it prints.
    pub shows_titles: Option<bool>,
    /// The longest result that reaches its model whole, in characters; `None` where no limit was seen.
    pub limit_characters: Option<u32>,
    /// The feature tags to assume for it.
    pub tags: Cow<'static, [Cow<'static, str>]>,
    /// When and with which package this was measured; `None` for what an operator says.
    pub measured: Option<AtlasMeasurement>,
    /// What else there is to know.
    pub note: Cow<'static, str>,
}

impl AtlasEntry {
    /// An entry has no more names.
    pub const MAX_NAMES: usize = 16;
    /// A longer name is no client's.
    pub const MAX_NAME_BYTES: usize = 256;
    /// No atlas has more entries that were added.
    pub(super) const MAX_ENTRIES: usize = 256;
    /// What stands before a `*` at least, so that one entry is not about everybody.
    const MIN_PREFIX_BYTES: usize = 3;

    /// Makes an entry that knows nothing yet but its names.
    #[must_use]
    pub fn new(
        product: impl Into<Cow<'static, str>>,
        names: impl IntoIterator<Item = impl Into<Cow<'static, str>>>,
    ) -> Self {
        Self {
            product: product.into(),
            names: names.into_iter().map(Into::into).collect(),
            versions: VersionRange::default(),
            era: None,
            declares: Cow::Borrowed(&[]),
            reads: None,
            falls_back: false,
            validates: None,
            shows_titles: None,
            limit_characters: None,
            tags: Cow::Borrowed(&[]),
            measured: None,
            note: Cow::Borrowed(""),
        }
    }

    /// Returns whether the entry is about clients of this name.
    #[must_use]
    pub fn is_of(&self, name: &str) -> bool {
        let is = |known: &str| match known.strip_suffix('*') {
            Some(prefix) => name.len() > prefix.len() && name.starts_with(prefix),
            None => name == known,
        };
        name.len() <= Self::MAX_NAME_BYTES && self.names.iter().any(|known| is(known))
    }

    /// Returns what a client gets for whom the tags of this entry are assumed.
    #[must_use]
    pub fn result_form(&self) -> ResultForm {
        match self.preferences().format() {
            Some(ContentFormat::Json) => ResultForm::StructuredContent,
            Some(ContentFormat::Text | ContentFormat::Markdown) => ResultForm::Content,
            None => ResultForm::AsItCame,
        }
    }

    /// Checks an entry that somebody wrote.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn check(&self) -> Result<(), AtlasEntryError> {
        let named = |name: &Cow<'static, str>| {
            let prefix = name.strip_suffix('*');
            let long_enough = prefix.is_none_or(|prefix| prefix.len() >= Self::MIN_PREFIX_BYTES);
            let plain = !prefix.unwrap_or(name).contains('*') && !name.chars().any(is_deceptive);
            !name.is_empty() && name.len() <= Self::MAX_NAME_BYTES && long_enough && plain
        };
        if self.names.is_empty() || self.names.len() > Self::MAX_NAMES || !self.names.iter().all(named) {
            return Err(AtlasEntryError::Name);
        }
        if self.versions.is_empty() {
            return Err(AtlasEntryError::Versions);
        }
        let too_long = |tag: &Cow<'static, str>| tag.len() > ClientFeatures::MAX_TAG_BYTES;
        if self.tags.len() > ClientFeatures::MAX_TAGS || self.tags.iter().any(too_long) {
            return Err(AtlasEntryError::Tag(self.tags.len().min(ClientFeatures::MAX_TAGS)));
        }
        let wanted = self.preferences();
        match wanted.ignored().next() {
            Some((bad, _)) => {
                Err(AtlasEntryError::Tag(self.tags.iter().position(|tag| tag == bad).unwrap_or_default()))
            }
            None => Ok(()),
        }
    }

    fn preferences(&self) -> FeaturePreferences {
        FeaturePreferences::read(self.tags.iter().map(AsRef::as_ref))
    }
}

/// What is wrong with an entry that somebody wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AtlasEntryError {
    /// It has no name, too many or too long ones, or a `*` that is not at the end of at least three bytes.
    Name,
    /// `before` is not later than `from`, so that no version is between them.
    Versions,
    /// The tag at this place is malformed, unknown, too long, one too many, or contradicts another.
    Tag(usize),
    /// There are too many entries.
    TooMany,
}

impl fmt::Display for AtlasEntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => write!(
                f,
                "`names` has 1 to {} names of up to {} bytes each; a `*` may stand at the end of at least {} bytes",
                AtlasEntry::MAX_NAMES,
                AtlasEntry::MAX_NAME_BYTES,
                AtlasEntry::MIN_PREFIX_BYTES
            ),
            Self::Versions => f.write_str("`before` is not later than `from`: no version is between them"),
            Self::Tag(at) => {
                write!(
                    f,
                    "tag {} of `tags` is malformed, unknown, or contradicts one before it",
                    at.saturating_add(1)
                )
            }
            Self::TooMany => write!(f, "there are more than {} entries", AtlasEntry::MAX_ENTRIES),
        }
    }
}

impl std::error::Error for AtlasEntryError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(tags: &[&'static str]) -> AtlasEntry {
        let tags = tags.iter().map(|tag| Cow::Borrowed(*tag)).collect();
        AtlasEntry { tags, ..AtlasEntry::new("It", ["it"]) }
    }

    #[test]
    fn tags_decide_the_form() {
        for (tags, form) in [
            (&["agent"][..], ResultForm::StructuredContent),
            (&["agent", "format=markdown"], ResultForm::Content),
            (&["human"], ResultForm::Content),
            (&["format=text"], ResultForm::Content),
            (&["agent", "format!=json"], ResultForm::AsItCame),
            (&[], ResultForm::AsItCame),
        ] {
            assert_eq!(tagged(tags).result_form(), form, "{tags:?}");
        }
    }

    #[test]
    fn refuses_tags_that_mean_nothing() {
        assert_eq!(tagged(&["agent", "x-acme=1"]).check(), Ok(()));
        for (tags, at) in
            [(&["agent", "loud"][..], 1), (&["a b"], 0), (&["agent", "human"], 1), (&["format=yaml"], 0)]
        {
            assert_eq!(tagged(tags).check(), Err(AtlasEntryError::Tag(at)), "{tags:?}");
        }
        let many = AtlasEntry { tags: vec!["agent".into(); 65].into(), ..AtlasEntry::new("It", ["it"]) };
        assert_eq!(many.check(), Err(AtlasEntryError::Tag(64)));
    }

    #[test]
    fn refuses_names_that_are_about_everybody_or_nobody() {
        let check = |name: &str| AtlasEntry::new("It", [name.to_owned()]).check();
        for fine in ["a", "abc*", "@cline/core"] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        for bad in ["", "*", "ab*", "a*bcd", "abc**", "a\nb", &"n".repeat(257)] {
            assert_eq!(check(bad), Err(AtlasEntryError::Name), "{bad}");
        }
        let none: [&str; 0] = [];
        assert_eq!(AtlasEntry::new("It", none).check(), Err(AtlasEntryError::Name));
    }

    #[test]
    fn refuses_a_range_without_versions() {
        use super::super::version::ClientVersion;
        let (from, before) = (ClientVersion::parse("2.0"), ClientVersion::parse("2"));
        let entry = AtlasEntry { versions: VersionRange { from, before }, ..AtlasEntry::new("It", ["it"]) };
        assert_eq!(entry.check(), Err(AtlasEntryError::Versions));
    }

    #[test]
    fn a_prefix_needs_something_behind_it_and_a_long_name_is_nobodys() {
        let entry = AtlasEntry::new("It", ["client-*"]);
        assert!(entry.is_of("client-a"));
        assert!(!entry.is_of("client-"));
        assert!(!entry.is_of("my-client-a"));
        assert!(!entry.is_of(&format!("client-{}", "a".repeat(250))));
    }
}
