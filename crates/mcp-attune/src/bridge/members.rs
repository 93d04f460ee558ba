//! Edits of the members of an object: some go, some come.

use std::borrow::Cow;

use mcp_attune_wire::json::{JsonString, SpannedValue};

use crate::edits::MessageEdit;

/// Takes members out of an object and puts others in front of those that stay. `added` is written as in JSON, without a
/// comma at its end; empty where nothing comes.
pub(super) fn edit_members<'t>(
    object: SpannedValue<'_>,
    mut goes: impl FnMut(JsonString<'_>) -> bool,
    added: impl Into<Cow<'t, str>>,
) -> Vec<MessageEdit<'t>> {
    let stays = object.members().filter(|(name, _)| !goes(*name)).count();
    let cuts = object.cut_members(goes).into_iter().map(|span| (span, Cow::Borrowed("")));
    let added = added.into();
    let added = match (added.is_empty(), stays) {
        (true, _) => None,
        (false, 0) => Some(added),
        (false, _) => Some(Cow::Owned(format!("{added},"))),
    };
    let insertion = added.map(|added| (object.opening(), added));
    insertion.into_iter().chain(cuts).collect()
}

/// Returns one member as it is written in JSON. `value` is JSON.
pub(super) fn member(name: &str, value: &str) -> String {
    format!("{}:{value}", mcp_attune_wire::json::JsonQuoted(name))
}

/// Returns members as they are written in JSON, with commas between them. Those that are empty are left out.
pub(super) fn joined<'m>(members: impl IntoIterator<Item = &'m str>) -> String {
    members.into_iter().filter(|member| !member.is_empty()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::MessageEdits;
    use mcp_attune_wire::message::Message;

    fn edited(text: &str, goes: &[&str], added: &str) -> String {
        let message = Message::parse(text.as_bytes()).unwrap();
        let mut edits = MessageEdits::default();
        edits.add_step(edit_members(message.body(), |name| goes.iter().any(|gone| name.is(gone)), added));
        edits.apply(&message).unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn members_go_and_come_and_the_object_stays_one() {
        for (text, goes, added, expected) in [
            (r#"{"a":1,"b":2}"#, &[][..], "", r#"{"a":1,"b":2}"#),
            (r#"{"a":1,"b":2}"#, &["a"], "", r#"{"b":2}"#),
            (r#"{"a":1,"b":2}"#, &["b"], r#""c":3"#, r#"{"c":3,"a":1}"#),
            (r#"{"a":1,"b":2}"#, &["a", "b"], r#""c":3"#, r#"{"c":3}"#),
            (r#"{"a":1}"#, &["a"], "", "{}"),
            ("{}", &[], r#""c":3"#, r#"{"c":3}"#),
            ("{ }", &[], r#""c":3"#, r#"{"c":3 }"#),
        ] {
            assert_eq!(edited(text, goes, added), expected, "{text} {goes:?} {added}");
        }
    }
}
