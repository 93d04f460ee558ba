//! The changes of one message: what each step wants to change, put together and applied in one pass.
//!
//! 1. Steps are added in the order in which they count. What a later step would change in a place that an earlier one has
//!    changed is left out, because what stood there is gone.
//! 2. Where two steps insert at one place, what the later one inserts stands first, as if each step had been applied to what
//!    the one before it made.
//! 3. A message is read once and written once, however many steps there are.

use std::borrow::Cow;

use mcp_attune_wire::json::ByteSpan;
use mcp_attune_wire::message::Message;

/// One edit: the text that replaces this place.
pub type MessageEdit<'t> = (ByteSpan, Cow<'t, str>);

/// All changes of one message, in the order of their places. No two overlap.
#[derive(Debug, Default)]
pub struct MessageEdits<'t>(Vec<MessageEdit<'t>>);

impl<'t> MessageEdits<'t> {
    /// Adds the edits of a later step.
    pub fn add_step(&mut self, mut step: Vec<MessageEdit<'t>>) {
        if !self.0.is_empty() {
            step.retain(|(place, _)| self.is_free(*place));
        }
        step.append(&mut self.0);
        // Stable: the later step was put first.
        step.sort_by_key(|(place, _)| *place);
        self.0 = step;
    }

    /// Whether no earlier step has changed anything in a place.
    #[must_use]
    pub fn is_free(&self, place: ByteSpan) -> bool {
        let next = self.0.partition_point(|(edited, _)| edited.end() <= place.start());
        // Of an insertion at the end of the place, or at its start, it is no part.
        self.0.get(next).is_none_or(|(edited, _)| edited.start() >= place.end())
    }

    /// Whether an earlier step inserts something at the very place where a later one would.
    #[must_use]
    pub fn inserts_at(&self, place: ByteSpan) -> bool {
        self.0.binary_search_by_key(&place, |(edited, _)| *edited).is_ok()
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The message with all edits; `None` where nothing changes.
    #[must_use]
    pub fn apply(&self, message: &Message<'_>) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let edits: Vec<_> = self.0.iter().map(|(place, text)| (*place, &**text)).collect();
        message.splice(&edits).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune_wire::json::SpannedValue;

    const BODY: &str = r#"{"id":1,"result":{"a":"one","b":{}}}"#;

    type Step<'s> = &'s dyn Fn(SpannedValue<'_>) -> Vec<MessageEdit<'static>>;

    /// The message after these steps, each made from the result.
    fn applied(steps: &[Step<'_>]) -> Option<String> {
        let message = Message::parse(BODY.as_bytes()).unwrap();
        let mut edits = MessageEdits::default();
        for step in steps {
            edits.add_step(step(message.member("result").unwrap()));
        }
        edits.apply(&message)
    }

    fn text(result: SpannedValue<'_>, new: &'static str) -> Vec<MessageEdit<'static>> {
        vec![(result.member("a").unwrap().span(), new.into())]
    }

    /// Takes `a` out.
    fn cut(result: SpannedValue<'_>) -> Vec<MessageEdit<'static>> {
        result.cut_members(|name| name.is("a")).into_iter().map(|place| (place, "".into())).collect()
    }

    fn first(holder: SpannedValue<'_>, new: &'static str) -> Vec<MessageEdit<'static>> {
        vec![(holder.opening(), new.into())]
    }

    #[test]
    fn all_steps_are_one_pass() {
        assert_eq!(applied(&[]), None);
        assert_eq!(applied(&[&|_| vec![], &|_| vec![]]), None);
        let done = applied(&[&|result| text(result, "2"), &|result| first(result, "\"z\":0,")]);
        assert_eq!(done.as_deref(), Some(r#"{"id":1,"result":{"z":0,"a":2,"b":{}}}"#));
    }

    #[test]
    fn what_an_earlier_step_changed_a_later_one_leaves_alone() {
        let gone = r#"{"id":1,"result":{"b":{}}}"#;
        assert_eq!(applied(&[&cut, &|result| text(result, "2")]).as_deref(), Some(gone));
        assert_eq!(applied(&[&cut, &cut]).as_deref(), Some(gone));
        let once = applied(&[&|result| text(result, "1"), &|result| text(result, "2")]);
        assert_eq!(once.as_deref(), Some(r#"{"id":1,"result":{"a":1,"b":{}}}"#));
        let empty =
            |result: SpannedValue<'_>| vec![(result.member("b").unwrap().span(), Cow::Borrowed("[]"))];
        let inside = |result: SpannedValue<'_>| first(result.member("b").unwrap(), "\"x\":1");
        assert_eq!(applied(&[&empty, &inside]).as_deref(), Some(r#"{"id":1,"result":{"a":"one","b":[]}}"#));
        // Beside it there is room.
        let beside = applied(&[&cut, &|result| first(result, "\"z\":0,"), &inside]);
        assert_eq!(beside.as_deref(), Some(r#"{"id":1,"result":{"z":0,"b":{"x":1}}}"#));
    }

    #[test]
    fn of_two_insertions_at_one_place_the_later_step_stands_first() {
        let done = applied(&[&|result| first(result, "\"x\":1,"), &|result| first(result, "\"y\":2,")]);
        assert_eq!(done.as_deref(), Some(r#"{"id":1,"result":{"y":2,"x":1,"a":"one","b":{}}}"#));
    }

    #[test]
    fn an_insertion_at_one_place_is_seen() {
        let message = Message::parse(BODY.as_bytes()).unwrap();
        let result = message.member("result").unwrap();
        let mut edits = MessageEdits::default();
        edits.add_step(first(result, "\"x\":1,"));
        edits.add_step(cut(result));
        assert!(edits.inserts_at(result.opening()));
        assert!(!edits.inserts_at(result.member("b").unwrap().opening()));
        assert!(edits.is_free(result.opening()));
        assert!(!edits.is_free(result.member("a").unwrap().span()) && !edits.is_free(result.span()));
    }
}
