//! The feature tags that a client declares, as it wrote them.

use std::borrow::Cow;

use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, meta};
pub use mcp_attune_wire::protocol::extension::{CONTENT_NEGOTIATION, VIEWS};
use mcp_attune_wire::protocol::method;

use super::fields::{IdPayloadError, IdPayloadReader, put_bytes, utf8_text};
use crate::features::FeaturePreferences;

/// Whether a caller draws views from structured content.
///
/// Rules: F6, F7, F13.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ViewSupport {
    /// Nothing says so.
    #[default]
    None,
    /// Its request carries a key of a vendor that draws the views of tools that have one.
    Vendor,
    /// It declared the extension.
    Declared,
}

/// The tags that a client declared, in their order, and whether it draws views. Tags are not parsed: one may be malformed
/// or unknown.
///
/// Rules: F1, F3, F6.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClientFeatures {
    tags: Vec<String>,
    views: bool,
}

/// In the byte that counts the tags: whether the client draws views.
const VIEWS_FLAG: u8 = 0x80;

/// What a message declares.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeatureDeclaration {
    /// The tags.
    pub features: ClientFeatures,
    /// How many members of the list are not among them: they are no text, too long, too many, or do not fit.
    pub left_out: usize,
}

impl ClientFeatures {
    /// How many tags are read.
    pub const MAX_TAGS: usize = 64;
    /// How many bytes a tag may have.
    pub const MAX_TAG_BYTES: usize = 256;
    /// How many bytes all tags together may have. One that does not fit is left out whole; a shorter one after it may
    /// fit again.
    pub const MAX_TOTAL_BYTES: usize = 1024;

    /// What an `initialize` declares; nothing where it is another message, or where `features` is no list.
    #[must_use]
    pub fn from_initialize(message: &Message<'_>) -> FeatureDeclaration {
        Self::from_initialize_keeping(message, |_| false)
    }

    /// The same; where not all tags fit, those that have a meaning come first, and then those that matter `to_operator`.
    ///
    /// Rules: F3.
    #[must_use]
    pub fn from_initialize_keeping(
        message: &Message<'_>,
        to_operator: impl Fn(&str) -> bool,
    ) -> FeatureDeclaration {
        let begins = message.method().is_some_and(|method| method.is(method::INITIALIZE));
        let capabilities = message.param("capabilities").filter(|_| begins);
        capabilities
            .map(|capabilities| FeatureDeclaration::read(capabilities, to_operator))
            .unwrap_or_default()
    }

    /// What a request of the modern era declares for itself.
    #[must_use]
    pub fn from_request(message: &Message<'_>) -> FeatureDeclaration {
        let capabilities = message.meta(meta::CLIENT_CAPABILITIES);
        capabilities.map(|capabilities| FeatureDeclaration::read(capabilities, |_| false)).unwrap_or_default()
    }

    /// The tags of a list that was read elsewhere.
    #[must_use]
    pub fn from_tags<'t>(tags: impl IntoIterator<Item = &'t str>) -> FeatureDeclaration {
        FeatureDeclaration::choose(tags.into_iter().map(|tag| Some(Cow::Borrowed(tag))), |_| false)
    }

    /// The tags in their order.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().map(String::as_str)
    }

    /// Whether no tag was declared. Without one nothing is shaped, and views need nothing kept for them.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    /// Whether the client declared that it draws views.
    ///
    /// Rules: F6, F7, F13.
    #[must_use]
    pub fn draws_views(&self) -> bool {
        self.views
    }

    /// The same tags, of a client that draws views or does not.
    #[must_use]
    pub fn with_views(self, views: bool) -> Self {
        Self { views, ..self }
    }

    pub(super) fn encode_into(&self, out: &mut Vec<u8>) {
        let count = u8::try_from(self.tags.len()).unwrap_or(!VIEWS_FLAG);
        out.push(count | if self.views { VIEWS_FLAG } else { 0 });
        for tag in &self.tags {
            put_bytes(out, tag.as_bytes());
        }
    }

    pub(super) fn decode_from(reader: &mut IdPayloadReader<'_>) -> Result<Self, IdPayloadError> {
        let first = reader.byte()?;
        let mut features = Self { views: first & VIEWS_FLAG != 0, ..Self::default() };
        for _ in 0..first & !VIEWS_FLAG {
            let tag = utf8_text(reader.bytes(Self::MAX_TAG_BYTES)?)?;
            if !features.add(tag) {
                return Err(IdPayloadError::Long);
            }
        }
        Ok(features)
    }

    /// Adds a tag if there is room for it.
    fn add(&mut self, tag: &str) -> bool {
        let held: usize = self.tags().map(str::len).sum();
        let fits = self.tags.len() < Self::MAX_TAGS
            && (1..=Self::MAX_TAG_BYTES).contains(&tag.len())
            && held + tag.len() <= Self::MAX_TOTAL_BYTES;
        if fits {
            self.tags.push(tag.to_owned());
        }
        fits
    }
}

/// The list in a client's capabilities.
fn tag_list(capabilities: SpannedValue<'_>) -> Option<SpannedValue<'_>> {
    let settings = capabilities.member("extensions")?.member(CONTENT_NEGOTIATION)?;
    settings.member("features").filter(|list| list.kind() == JsonKind::Array)
}

fn read_tags(list: SpannedValue<'_>, to_operator: impl Fn(&str) -> bool) -> FeatureDeclaration {
    let tag = |element: SpannedValue<'_>| {
        // A text of so many bytes in escapes has fewer when they are read, but never fewer than a sixth.
        let short = element.raw().len() <= 6 * ClientFeatures::MAX_TAG_BYTES + 2;
        element.text().filter(|_| short).and_then(JsonString::decode).map(|tag| Cow::Owned(tag.into_owned()))
    };
    FeatureDeclaration::choose(list.elements().map(tag), to_operator)
}

impl FeatureDeclaration {
    /// What a client's capabilities declare.
    fn read(capabilities: SpannedValue<'_>, to_operator: impl Fn(&str) -> bool) -> Self {
        let declared = tag_list(capabilities).map(|list| read_tags(list, to_operator)).unwrap_or_default();
        let views = capabilities.member("extensions").and_then(|extensions| extensions.member(VIEWS));
        let views = views.is_some_and(|settings| settings.kind() == JsonKind::Object);
        Self { features: declared.features.with_views(views), ..declared }
    }

    /// The tags that fit, in the order in which they stand.
    fn choose<'t>(
        tags: impl Iterator<Item = Option<Cow<'t, str>>>,
        to_operator: impl Fn(&str) -> bool,
    ) -> Self {
        let (mut held, mut left_out) = (Vec::new(), 0);
        for (number, tag) in tags.enumerate() {
            match tag.filter(|tag| {
                number < ClientFeatures::MAX_TAGS && (1..=ClientFeatures::MAX_TAG_BYTES).contains(&tag.len())
            }) {
                Some(tag) => held.push((tag, false)),
                None => left_out += 1,
            }
        }
        let total: usize = held.iter().map(|(tag, _)| tag.len()).sum();
        let mut room = ClientFeatures::MAX_TOTAL_BYTES;
        let mut take = |wanted: &dyn Fn(&str) -> bool| {
            for (tag, taken) in held.iter_mut().filter(|(tag, taken)| !taken && wanted(tag)) {
                if let Some(left) = room.checked_sub(tag.len()) {
                    (room, *taken) = (left, true);
                }
            }
        };
        if total > ClientFeatures::MAX_TOTAL_BYTES {
            take(&is_known);
            take(&to_operator);
        }
        take(&|_| true);
        let taken = held.iter().filter(|(_, taken)| *taken).map(|(tag, _)| tag.as_ref().to_owned());
        let features = ClientFeatures { tags: taken.collect(), views: false };
        left_out += held.len() - features.tags.len();
        Self { features, left_out }
    }
}

/// Whether a tag has a meaning for everybody.
fn is_known(tag: &str) -> bool {
    let wanted = FeaturePreferences::read([tag]);
    !wanted.is_nothing() && wanted.vendor_tags().next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is declared by an `initialize` with this under `capabilities`.
    fn check(capabilities: &str, tags: &[&str], left_out: usize) {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"capabilities":{capabilities}}}}}"#
        );
        let declared = ClientFeatures::from_initialize(&Message::parse(body.as_bytes()).unwrap());
        assert_eq!(declared.features.tags().collect::<Vec<_>>(), tags, "{capabilities}");
        assert_eq!(declared.left_out, left_out, "{capabilities}");
        let empty = br#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#;
        assert_eq!(
            ClientFeatures::from_initialize(&Message::parse(empty).unwrap()),
            FeatureDeclaration::default()
        );
        let other = body.replace("initialize", "tools/list");
        let other = ClientFeatures::from_initialize(&Message::parse(other.as_bytes()).unwrap());
        assert_eq!(other, FeatureDeclaration::default(), "only initialize begins a session");
    }

    fn extension(settings: &str) -> String {
        format!(r#"{{"sampling":{{}},"extensions":{{"other":1,"{CONTENT_NEGOTIATION}":{settings}}}}}"#)
    }

    #[test]
    fn reads_tags_as_they_are_declared() {
        let settings = r#"{"version":"1.0","features":["agent","!interactive","format=\u006ason","x-é y"]}"#;
        check(&extension(settings), &["agent", "!interactive", "format=json", "x-é y"], 0);
    }

    #[test]
    fn what_is_no_list_declares_nothing() {
        for settings in ["{}", "[]", "null", r#"{"features":"agent"}"#, r#"{"features":{"0":"agent"}}"#] {
            check(&extension(settings), &[], 0);
        }
        for capabilities in ["7", "{}", r#"{"extensions":[]}"#, r#"{"extensions":{"x":{"features":["a"]}}}"#]
        {
            check(capabilities, &[], 0);
        }
    }

    #[test]
    fn what_is_no_tag_is_left_out() {
        let settings = r#"{"features":["a",1,null,["b"],{"c":"d"},"","\ud83d","e"]}"#;
        check(&extension(settings), &["a", "e"], 6);
    }

    #[test]
    fn tags_that_are_too_long_or_too_many_are_left_out_whole() {
        let settings = |tags: &[String]| {
            let tags: Vec<_> = tags.iter().map(|tag| format!("\"{tag}\"")).collect();
            extension(&format!("{{\"features\":[{}]}}", tags.join(",")))
        };
        let (fits, too_long) = ("a".repeat(256), "b".repeat(257));
        check(&settings(&[too_long, "\\u0062".repeat(257), fits.clone()]), &[&fits], 2);
        check(&settings(&["\\u0061".repeat(256)]), &[&fits], 0);

        let numbers: Vec<String> = (0..70).map(|number| format!("x-{number}")).collect();
        let first: Vec<&str> = numbers.iter().take(64).map(String::as_str).collect();
        check(&settings(&numbers), &first, 6);

        // 1,000 bytes, then 25 that do not fit, then 24 that do.
        let mut tags = vec!["c".repeat(250); 4];
        tags.extend(["d".repeat(25), "e".repeat(24), "f".to_owned()]);
        let expected: Vec<&str> = [0, 1, 2, 3, 5].map(|at| tags[at].as_str()).to_vec();
        check(&settings(&tags), &expected, 2);
    }

    #[test]
    fn where_not_all_fit_what_means_something_comes_first() {
        let long = format!("x-{}", "c".repeat(248));
        let gold = format!("x-acme-{}", "g".repeat(33));
        let tags: Vec<String> =
            (0..5).map(|_| long.clone()).chain([gold.clone(), "format=json".to_owned()]).collect();
        let written: Vec<_> = tags.iter().map(|tag| format!("\"{tag}\"")).collect();
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"capabilities":{}}}}}"#,
            extension(&format!("{{\"features\":[{}]}}", written.join(",")))
        );
        let message = Message::parse(body.as_bytes()).unwrap();
        let kept = |to_operator: &dyn Fn(&str) -> bool| {
            let declared = ClientFeatures::from_initialize_keeping(&message, to_operator);
            assert_eq!(declared.features.tags().count() + declared.left_out, tags.len());
            declared.features.tags().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(kept(&|_| false), [&*long, &*long, &*long, &*long, "format=json"]);
        assert_eq!(kept(&|tag| tag == gold), [&*long, &*long, &*long, &*gold, "format=json"]);
    }
}
