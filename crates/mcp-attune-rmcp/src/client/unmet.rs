//! The preferences of a caller that an answer did not honour.
//!
//! No answer is refused for it: most servers negotiate nothing, and their answers are read as they are.
//!
//! Rules: F16.

use std::fmt;

use mcp_attune::features::{ContentFormat, FeaturePreferences};
use mcp_attune::language::{AcceptLanguage, ContentLanguage, Languages, Tag, Why, lookup};
use mcp_attune::session::CONTENT_NEGOTIATION;
use mcp_attune_wire::message::meta;
use serde_json::Value;

use super::connection::Connection;
use super::options::Era;
use super::profile::CallerProfile;
use super::sanitize::sanitized;

/// A preference that was not honoured, for the user to be told. `Display` is a sentence.
///
/// Rules: F16.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UnmetPreference {
    /// The server does not negotiate content, so feature tags mean nothing to it.
    Features {
        /// The tags that were asked for.
        tags: Vec<String>,
    },
    /// A legacy session keeps the features that it began with, and these were not among them.
    Session {
        /// The tags that it does not have.
        tags: Vec<String>,
    },
    /// The answer does not have the format that was asked for.
    Format(ContentFormat),
    /// A language was asked for, and the answer does not say its own.
    NoLanguage {
        /// The preference.
        wanted: String,
    },
    /// The answer says that it is in none of the languages that were asked for.
    Language {
        /// The preference.
        wanted: String,
        /// The languages that the answer says it is in, as the server wrote them.
        given: String,
        /// Whether it is text that was written for a person: then dates, numbers and money may be in the
        /// language that was asked for all the same, because writing them needs no translation.
        written: bool,
    },
}

impl fmt::Display for UnmetPreference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Features { tags } => {
                write!(f, "the server does not negotiate content: {} may have no effect", QuotedTags(tags))
            }
            Self::Session { tags } => {
                write!(
                    f,
                    "this session began without {}, and keeps what it began with; begin another",
                    QuotedTags(tags)
                )
            }
            Self::Format(format) => write!(f, "the answer is not in the format `{format}`"),
            Self::NoLanguage { wanted } => {
                write!(f, "the answer does not say its language; `{wanted}` may have had no effect")
            }
            Self::Language { wanted, given, written } => {
                write!(
                    f,
                    "the words of the answer are in `{}`, and none were found in `{wanted}`",
                    sanitized(given)
                )?;
                if *written {
                    f.write_str("; dates, numbers and money may be written for the reader all the same")?;
                }
                Ok(())
            }
        }
    }
}

/// Displays tags, each in backquotes.
struct QuotedTags<'t>(&'t [String]);

impl fmt::Display for QuotedTags<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, tag) in self.0.iter().enumerate() {
            write!(f, "{}`{tag}`", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Returns what of a profile a result does not honour.
pub(crate) fn find_unmet(
    connection: &Connection,
    profile: &CallerProfile,
    result: &Value,
) -> Vec<UnmetPreference> {
    let mut unmet = Vec::new();
    let format = FeaturePreferences::read(profile.requested_tags()).format();
    let negotiates = |id: &_| connection.info().capabilities.extensions.as_ref()?.get(id).map(|_| ());
    let tags: Vec<_> = profile.requested_tags().map(str::to_owned).collect();
    if negotiates(CONTENT_NEGOTIATION).is_none() {
        if !tags.is_empty() {
            unmet.push(UnmetPreference::Features { tags });
        }
    } else {
        let began = connection.default_profile();
        let missing: Vec<_> =
            profile.requested_tags().filter(|&tag| began.tags().all(|had| had != tag)).collect();
        if connection.era() == Era::Legacy && !missing.is_empty() {
            unmet.push(UnmetPreference::Session { tags: missing.into_iter().map(str::to_owned).collect() });
        }
        let text_only = result.get("structuredContent").is_none() && result.get("content").is_some();
        unmet
            .extend(format.filter(|format| format.is_structured() && text_only).map(UnmetPreference::Format));
    }
    let asks_for_text = format.is_some_and(|format| !format.is_structured());
    let written = asks_for_text && negotiates(CONTENT_NEGOTIATION).is_some();
    let wanted = profile.accept_language().filter(|wanted| !wanted.is_empty());
    unmet.extend(wanted.and_then(|wanted| unmet_language(wanted, result, written)));
    unmet
}

fn unmet_language(wanted: &AcceptLanguage, result: &Value, written: bool) -> Option<UnmetPreference> {
    let given = result.get("_meta").and_then(|meta| meta.get(meta::CONTENT_LANGUAGE)).and_then(Value::as_str);
    let text = wanted.as_str().to_owned();
    let Some(given) = given else { return Some(UnmetPreference::NoLanguage { wanted: text }) };
    let is_wanted = |tag: &Tag| {
        let languages = Languages::new(tag.clone(), []);
        languages.is_ok_and(|languages| lookup(wanted, &languages).why != Why::Default)
    };
    let read = ContentLanguage::parse(given);
    let met = read.is_ok_and(|given| given.tags().any(is_wanted));
    (!met).then(|| UnmetPreference::Language { wanted: text, given: given.to_owned(), written })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tells_a_language_that_was_not_wanted_from_one_that_was() {
        let check = |wanted: &str, given: &Value, expected: Option<UnmetPreference>| {
            let result = json!({ "_meta": { meta::CONTENT_LANGUAGE: given } });
            assert_eq!(unmet_language(&AcceptLanguage::parse(wanted).unwrap(), &result, false), expected);
        };
        for (wanted, given) in
            [("de-CH", "de"), ("de", "de-CH"), ("fr, *;q=0.1", "en"), ("nn", "nb"), ("de", "en, de")]
        {
            check(wanted, &given.into(), None);
        }
        let other = |wanted: &str, given: &str| {
            let (wanted, given) = (wanted.to_owned(), given.to_owned());
            Some(UnmetPreference::Language { wanted, given, written: false })
        };
        check("de", &"en".into(), other("de", "en"));
        check("de, en;q=0", &"en".into(), other("de, en;q=0", "en"));
        check("de", &"no tag".into(), other("de", "no tag"));
        check("de", &7.into(), Some(UnmetPreference::NoLanguage { wanted: "de".to_owned() }));
    }
}
