//! A result taken apart once.

use alloc::vec::Vec;

use crate::json::{ByteSpan, JsonKind, JsonString, SpannedValue, cuts};

/// The members of a result and the blocks of its `content`. Looking into them does not go over the result again.
///
/// ```
/// use mcp_attune_wire::message::Message;
///
/// let body = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text"}],"isError":false}}"#;
/// let message = Message::parse(body)?;
/// let parts = message.result_parts().unwrap();
/// assert_eq!(parts.member("isError").unwrap().raw(), "false");
/// assert_eq!(parts.content().len(), 1);
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ResultParts<'a> {
    result: SpannedValue<'a>,
    members: Vec<ResultMember<'a>>,
    content: Vec<SpannedValue<'a>>,
}

#[derive(Clone, Debug)]
pub(super) struct ResultMember<'a> {
    /// The offset of its name, after the quote.
    pub(super) start: usize,
    pub(super) name: JsonString<'a>,
    pub(super) value: SpannedValue<'a>,
}

impl<'a> ResultParts<'a> {
    pub(super) fn new(
        result: SpannedValue<'a>,
        members: Vec<ResultMember<'a>>,
        content: Vec<SpannedValue<'a>>,
    ) -> Self {
        Self { result, members, content }
    }

    /// Takes a result apart that stands inside of something else, such as a task. What is no object has no parts.
    #[must_use]
    pub fn from_value(result: SpannedValue<'a>) -> Self {
        let mut entries = result.members();
        let members = core::iter::from_fn(|| entries.next_entry());
        let members: Vec<_> =
            members.map(|(at, name, value)| ResultMember { start: at + 1, name, value }).collect();
        let content = members.iter().find(|member| member.name.is("content"));
        let content = content.into_iter().flat_map(|member| member.value.elements()).collect();
        Self { result, members, content }
    }

    /// The result as a whole.
    #[must_use]
    pub fn result(&self) -> SpannedValue<'a> {
        self.result
    }

    /// Whether it is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.result.kind() == JsonKind::Object
    }

    /// The members, in the order they stand in.
    pub fn members(&self) -> impl Iterator<Item = (JsonString<'a>, SpannedValue<'a>)> {
        self.members.iter().map(|member| (member.name, member.value))
    }

    /// A member by its name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<SpannedValue<'a>> {
        self.members.iter().find(|member| member.name.is(name)).map(|member| member.value)
    }

    /// The elements of `content`; none where it is no array.
    #[must_use]
    pub fn content(&self) -> &[SpannedValue<'a>] {
        &self.content
    }

    /// The places that take these members out: see [`SpannedValue::cut_members`].
    #[must_use]
    pub fn cut_members(&self, mut goes: impl FnMut(JsonString<'a>) -> bool) -> Vec<ByteSpan> {
        let whole = |member: &ResultMember<'a>| ByteSpan::new(member.start - 1, member.value.span().end());
        cuts(self.members.iter().map(|member| (whole(member), goes(member.name))))
    }

    /// The places that take these elements of `content` out: see [`SpannedValue::cut_elements`].
    #[must_use]
    pub fn cut_content(&self, mut goes: impl FnMut(SpannedValue<'a>) -> bool) -> Vec<ByteSpan> {
        cuts(self.content.iter().map(|block| (block.span(), goes(*block))))
    }

    /// Where the name of a member stands, between its quotes.
    #[must_use]
    pub fn name_span(&self, name: &str) -> Option<ByteSpan> {
        let member = self.members.iter().find(|member| member.name.is(name))?;
        Some(ByteSpan::new(member.start, member.start + member.name.as_written().len()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Message;
    use super::*;
    use alloc::format;

    /// What was found while a message was read is what going over the result again finds.
    #[test]
    fn parts_of_a_message_are_those_of_its_result() {
        for result in [
            "{}",
            "7",
            "[]",
            r#"{"content":[]}"#,
            r#"{ "a" : 1 , "content" : [ {"type":"text","text":"]"} , 7, [1] ] , "structuredContent":{"content":[1]} }"#,
            r#"{"cont\u0065nt":[1],"isError":false}"#,
            r#"{"content":{"a":1}}"#,
            r#"{"content":"[1]"}"#,
        ] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            let message = Message::parse(body.as_bytes()).unwrap();
            let (read, again) =
                (message.result_parts().unwrap(), ResultParts::from_value(message.member("result").unwrap()));
            assert_eq!(format!("{read:?}"), format!("{again:?}"));
            let found: Vec<_> =
                message.result_members().map(|(name, value)| (name.as_written(), value.raw())).collect();
            let again: Vec<_> =
                again.members().map(|(name, value)| (name.as_written(), value.raw())).collect();
            assert_eq!(found, again);
            for goes in ["content", "a", "isError"] {
                let value = message.member("result").unwrap();
                assert_eq!(read.cut_members(|name| name.is(goes)), value.cut_members(|name| name.is(goes)));
                assert_eq!(read.name_span(goes), value.name_span(goes));
            }
            let blocks =
                read.member("content").into_iter().flat_map(|it| it.cut_elements(|block| block.raw() != "7"));
            assert_eq!(read.cut_content(|block| block.raw() != "7"), blocks.collect::<Vec<_>>());
        }
    }
}
