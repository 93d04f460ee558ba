//! Taking members out of an object, or values out of an array, and leaving the rest whole.

use alloc::vec::Vec;

use super::{ByteSpan, JsonString, SpannedValue};

impl<'a> SpannedValue<'a> {
    /// The places that take these members out of an object when they are replaced by nothing, commas and all.
    ///
    /// ```
    /// use mcp_attune_wire::message::Message;
    ///
    /// let body = br#"{"jsonrpc":"2.0","method":"x","params":{"a":1, "b":2,"c":3}}"#;
    /// let message = Message::parse(body)?;
    /// let cuts = message.member("params").unwrap().cut_members(|name| !name.is("b"));
    /// let edits: Vec<_> = cuts.into_iter().map(|cut| (cut, "")).collect();
    /// assert_eq!(message.splice(&edits)?, r#"{"jsonrpc":"2.0","method":"x","params":{"b":2}}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cut_members(self, mut goes: impl FnMut(JsonString<'a>) -> bool) -> Vec<ByteSpan> {
        let mut members = self.members();
        cuts(core::iter::from_fn(|| {
            let (at, name, value) = members.next_entry()?;
            Some((ByteSpan::new(at, value.span().end()), goes(name)))
        }))
    }

    /// The same for the values of an array.
    #[must_use]
    pub fn cut_elements(self, mut goes: impl FnMut(Self) -> bool) -> Vec<ByteSpan> {
        cuts(self.elements().map(|value| (value.span(), goes(value))))
    }

    /// Where the name of a member stands, between its quotes.
    #[must_use]
    pub fn name_span(self, name: &str) -> Option<ByteSpan> {
        let mut members = self.members();
        let mut entries = core::iter::from_fn(|| members.next_entry());
        let (at, found, _) = entries.find(|(_, found, _)| found.is(name))?;
        Some(ByteSpan::new(at + 1, at + 1 + found.as_written().len()))
    }
}

/// The places that take some of these parts out, in their order. A removed part takes the comma before it; if none that
/// stays precedes it, the following one.
pub(crate) fn cuts(parts: impl Iterator<Item = (ByteSpan, bool)>) -> Vec<ByteSpan> {
    let mut cuts = Vec::new();
    let mut before: Option<ByteSpan> = None;
    let mut stays = false;
    let mut open: Option<usize> = None;
    for (part, goes) in parts {
        if let Some(start) = open.take() {
            cuts.push(ByteSpan::new(start, part.start()));
        }
        match (goes, stays, before) {
            (true, true, Some(before)) => cuts.push(ByteSpan::new(before.end(), part.end())),
            (true, ..) => open = Some(part.start()),
            (false, ..) => stays = true,
        }
        before = Some(part);
    }
    if let (Some(start), Some(last)) = (open, before) {
        cuts.push(ByteSpan::new(start, last.end()));
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use alloc::format;
    use alloc::string::String;

    fn without(value: &str, goes: &[&str]) -> String {
        let body = format!(r#"{{"x":{value}}}"#);
        let message = Message::parse(body.as_bytes()).unwrap();
        let value = message.member("x").unwrap();
        let goes = |text: JsonString<'_>| goes.iter().any(|name| text.is(name));
        let mut cuts = value.cut_members(goes);
        cuts.extend(value.cut_elements(|element| element.text().is_some_and(goes)));
        let edits: Vec<_> = cuts.into_iter().map(|cut| (cut, "")).collect();
        let spliced = message.splice(&edits).unwrap();
        Message::parse(spliced.as_bytes()).unwrap();
        spliced.strip_prefix(r#"{"x":"#).unwrap().strip_suffix('}').unwrap().into()
    }

    #[test]
    fn takes_out_any_of_the_members_and_leaves_the_rest_whole() {
        let object = r#"{ "a" : 1 , "b":[2,","],"\u0063":{} }"#;
        for (goes, left) in [
            (&[][..], object),
            (&["a"], r#"{ "b":[2,","],"\u0063":{} }"#),
            (&["b"], r#"{ "a" : 1,"\u0063":{} }"#),
            (&["c"], r#"{ "a" : 1 , "b":[2,","] }"#),
            (&["a", "b"], r#"{ "\u0063":{} }"#),
            (&["a", "c"], r#"{ "b":[2,","] }"#),
            (&["b", "c"], r#"{ "a" : 1 }"#),
            (&["a", "b", "c"], "{  }"),
            (&["d"], object),
        ] {
            assert_eq!(without(object, goes), left, "{goes:?}");
        }
    }

    #[test]
    fn takes_out_any_of_the_values() {
        for (goes, left) in [
            (&["a"][..], r#"["b", "c"]"#),
            (&["b"], r#"["a", "c"]"#),
            (&["c"], r#"["a", "b"]"#),
            (&["a", "b", "c"], "[]"),
        ] {
            assert_eq!(without(r#"["a", "b", "c"]"#, goes), left, "{goes:?}");
        }
        assert_eq!(without("[]", &["a"]), "[]");
        assert_eq!(without("{}", &["a"]), "{}");
        assert_eq!(without("7", &["a"]), "7");
    }

    #[test]
    fn finds_where_a_name_stands() {
        let body = br#"{"jsonrpc":"2.0","params":{"a":1, "one\u004ff":[]}}"#;
        let params = Message::parse(body).unwrap().member("params").unwrap();
        assert_eq!(&body[params.name_span("oneOf").unwrap().range()], br"one\u004ff");
        assert_eq!(params.name_span("b"), None);
    }
}
