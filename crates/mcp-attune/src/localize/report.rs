//! Where a message says its language: in the `_meta` of an object.

use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonString, SpannedValue};
use mcp_attune_wire::message::meta::CONTENT_LANGUAGE;

/// The place of a report.
pub(super) enum LanguageReportSlot {
    /// There is one.
    Reported(String),
    /// There is no room: something stands there that is no object, or no report.
    NoRoom,
    /// It can be put here, between these two.
    Open(ByteSpan, &'static str, &'static str),
}

impl LanguageReportSlot {
    /// The place in an object.
    pub(super) fn find(holder: SpannedValue<'_>) -> Self {
        Self::of(holder, (holder.members().next().is_some(), holder.member("_meta")))
    }

    /// The same, where it is known already whether it has members, and its `_meta`.
    pub(super) fn of(holder: SpannedValue<'_>, (filled, meta): (bool, Option<SpannedValue<'_>>)) -> Self {
        match meta {
            _ if holder.kind() != JsonKind::Object => Self::NoRoom,
            None => Self::Open(holder.opening(), "\"_meta\":{", if filled { "}," } else { "}" }),
            Some(meta) if meta.kind() != JsonKind::Object => Self::NoRoom,
            Some(meta) => match meta.member(CONTENT_LANGUAGE) {
                Some(there) => match there.text().and_then(JsonString::decode) {
                    Some(language) => Self::Reported(language.into_owned()),
                    None => Self::NoRoom,
                },
                None => {
                    let comma = if meta.members().next().is_some() { "," } else { "" };
                    Self::Open(meta.opening(), "", comma)
                }
            },
        }
    }

    /// The place in a member of an object, which may be absent.
    pub(super) fn in_member(object: SpannedValue<'_>, member: &str) -> Self {
        match object.member(member) {
            Some(there) => Self::find(there),
            None if object.kind() != JsonKind::Object => Self::NoRoom,
            // An error has a code, so something follows; one that has nothing has no message to translate.
            None => Self::Open(object.opening(), "\"data\":{\"_meta\":{", "}},"),
        }
    }

    /// The report of what a task carries, where that reports its language itself.
    pub(super) fn in_carried_result(task: SpannedValue<'_>) -> Option<Self> {
        let data = task.member("error").and_then(|error| error.member("data"));
        let parts = [task.member("result"), data];
        parts.into_iter().flatten().map(Self::find).find(|report| matches!(report, Self::Reported(_)))
    }

    /// Whether nothing may be translated beside it.
    pub(super) fn is_taken(&self) -> bool {
        !matches!(self, Self::Open(..))
    }

    pub(super) fn reported(self) -> Option<String> {
        match self {
            Self::Reported(language) => Some(language),
            Self::NoRoom | Self::Open(..) => None,
        }
    }

    /// The edit that puts a report there, or what is there already. `followed` says whether something else is inserted
    /// behind it at the same place.
    pub(super) fn into_edit(
        self,
        language: &str,
        followed: impl FnOnce(ByteSpan) -> bool,
    ) -> Result<(ByteSpan, String), Self> {
        match self {
            Self::Open(place, before, after) => {
                let comma = if !after.ends_with(',') && followed(place) { "," } else { "" };
                Ok((place, format!("{before}\"{CONTENT_LANGUAGE}\":\"{language}\"{after}{comma}")))
            }
            other => Err(other),
        }
    }
}
