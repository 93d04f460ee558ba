//! Listings whose adapted form is known from before: a hash, a comparison and a copy instead of a reading.
//!
//! 1. Only listings and `server/discover` are kept: everything else is a caller's own data. A host that wants to keep them
//!    asks for the [key](AnswerAdapter::listing_key) of an answer; where there is none, the answer is not kept.
//! 2. The key holds everything that the adapted form depends on but the bytes of the answer. The bytes count as a whole, but
//!    for the id of the request, which differs every time.
//! 3. The id is found without reading the message. That is safe because the rest is compared byte for byte with a message
//!    that was read, in which the id stood in the same place: another id there changes nothing else. Ids that are no plain
//!    number or string are not looked at.
//! 4. The rules hold nothing: the host keeps what it is given here, within a bound of its own.
//!
//! Rules: G4, L7.

use core::hash::{Hash, Hasher};
use core::ops::Range;

use mcp_attune_wire::json::{ByteSpan, SpannedValue};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::method::{
    PROMPTS_LIST, RESOURCES_LIST, RESOURCES_TEMPLATES_LIST, SERVER_DISCOVER, TOOLS_LIST,
};

use super::answering::{AnswerAdapter, AnswerTopic, LearnedFact, MessageRewrite};
use crate::plan::{AdaptedMessage, PlanKey};
use crate::shaping::AdaptEffort;

/// How many bytes an id may have.
const MAX_MEMO_ID_BYTES: usize = 128;
/// How many bytes from the start of an answer its id is looked for, where it does not stand at the end.
const MAX_ID_SCAN_BYTES: usize = 512;

/// Whether the answer to a request of this method is the same for everybody whose plan is the same.
pub(super) fn is_listing(method: &str) -> bool {
    matches!(method, TOOLS_LIST | PROMPTS_LIST | RESOURCES_LIST | RESOURCES_TEMPLATES_LIST | SERVER_DISCOVER)
}

impl AnswerAdapter {
    /// Adapts one message as [`adapt`](Self::adapt) does, and gives beside it what can be kept of it, where `found` is its
    /// id. `None` where more than this effort is needed.
    pub fn adapt_and_memoize(
        &self,
        message: &[u8],
        found: &AnswerWithoutId<'_>,
        effort: AdaptEffort,
        learn: impl FnOnce(LearnedFact<'_, '_>),
    ) -> Option<(MessageRewrite, Option<MemoizedListing>)> {
        let mut kept = None;
        let done = self.adapt_observed(message, effort, learn, |read, done| {
            kept = MemoizedListing::new(read, found, done);
        })?;
        Some((done, kept))
    }

    /// The key by which what becomes of this answer can be kept; `None` where it must not be.
    #[must_use]
    pub fn listing_key(&self) -> Option<ListingKey> {
        if !self.lists || self.tasks.is_some() {
            return None;
        }
        Some(ListingKey { plan: self.plan.listing_key()?, learns: self.learns })
    }
}

/// Everything but the answer's own bytes that its adapted form, and what is learned from it, depend on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ListingKey {
    pub(super) plan: PlanKey,
    pub(super) learns: AnswerTopic,
}

/// An answer without its id.
#[derive(Clone, Copy, Debug)]
pub struct AnswerWithoutId<'m> {
    before: &'m [u8],
    id: &'m [u8],
    after: &'m [u8],
}

impl<'m> AnswerWithoutId<'m> {
    /// Finds the id of an answer; `None` where it is nowhere to be found at once.
    #[must_use]
    pub fn find(answer: &'m [u8]) -> Option<Self> {
        let place = leading_id(answer).or_else(|| trailing_id(answer))?;
        let id = answer.get(place.clone())?;
        is_plain_id(id).then_some(())?;
        Some(Self { before: answer.get(..place.start)?, id, after: answer.get(place.end..)? })
    }

    /// What stands before and after the id in a message that was made of this one. Nothing is changed in front of the id
    /// where that comes first, and nothing behind it where it comes last, so it is still in its place.
    fn around_id(&self, changed: &[u8]) -> Option<AroundId> {
        let first = changed.strip_prefix(self.before).and_then(|rest| rest.strip_prefix(self.id));
        if let Some(after) = first {
            return Some(AroundId { before: self.before.into(), after: after.into() });
        }
        let last = changed.strip_suffix(self.after).and_then(|rest| rest.strip_suffix(self.id));
        last.map(|before| AroundId { before: before.into(), after: self.after.into() })
    }
}

/// The id does not count.
impl Hash for AnswerWithoutId<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.before);
        state.write(self.after);
    }
}

/// The place of an `id` that stands before everything that is no plain value.
fn leading_id(answer: &[u8]) -> Option<Range<usize>> {
    let head = answer.get(..answer.len().min(MAX_ID_SCAN_BYTES))?;
    let mut at = skip_blanks(head, 0);
    if head.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    loop {
        at = skip_blanks(head, at);
        let name = string_end(head, at)?;
        let is_id = head.get(at..name) == Some(b"\"id\"");
        at = skip_blanks(head, name);
        if head.get(at) != Some(&b':') {
            return None;
        }
        at = skip_blanks(head, at + 1);
        let end = scalar_end(head, at)?;
        if is_id {
            return Some(at..end);
        }
        at = skip_blanks(head, end);
        if head.get(at) != Some(&b',') {
            return None;
        }
        at += 1;
    }
}

/// The place of an `id` that stands at the very end.
fn trailing_id(answer: &[u8]) -> Option<Range<usize>> {
    let end = answer.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end();
    let tail = end.get(end.len().saturating_sub(MAX_MEMO_ID_BYTES + 16)..)?;
    let name = memchr::memmem::rfind(tail, b"\"id\"")?;
    let start = end.len() - tail.len() + name + 4;
    let colon = skip_blanks(answer, start);
    if answer.get(colon) != Some(&b':') {
        return None;
    }
    Some(skip_blanks(answer, colon + 1)..end.len())
}

fn skip_blanks(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The end of a string without escapes that begins here.
fn string_end(text: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?.strip_prefix(b"\"")?;
    let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    (rest.get(length) == Some(&b'"')).then_some(from + length + 2)
}

/// The end of a string or number that begins here.
fn scalar_end(text: &[u8], from: usize) -> Option<usize> {
    if text.get(from) == Some(&b'"') {
        return string_end(text, from);
    }
    let rest = text.get(from..)?;
    let length = rest.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'-')).count();
    (length > 0).then_some(from + length)
}

/// Whether bytes are an integer, or a string of printable ASCII without escapes.
fn is_plain_id(id: &[u8]) -> bool {
    if id.len() > MAX_MEMO_ID_BYTES {
        return false;
    }
    match id {
        [b'"', inner @ .., b'"'] => {
            inner.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
        }
        [b'-', digits @ ..] | digits => {
            let is_zero = digits == b"0";
            let is_number = digits.first().is_some_and(|first| *first != b'0');
            (is_zero || is_number) && digits.iter().all(u8::is_ascii_digit)
        }
    }
}

/// The bytes of a message before and after its id.
#[derive(Clone, PartialEq, Eq, Debug)]
struct AroundId {
    before: Box<[u8]>,
    after: Box<[u8]>,
}

/// An answer and what became of it, to be used for the same answer with another id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoizedListing {
    came: AroundId,
    /// What was made of it, where it was changed.
    changed: Option<AroundId>,
    told: Option<Box<AdaptedMessage<'static>>>,
}

impl MemoizedListing {
    /// Keeps an answer with what became of it. `None` where that is not the same every time: a template failed, or the id
    /// is not where it seemed to be.
    pub(super) fn new(
        read: &Message<'_>,
        answer: &AnswerWithoutId<'_>,
        done: &MessageRewrite,
    ) -> Option<Self> {
        let said_once = |told: &AdaptedMessage<'_>| !told.faults.is_empty() || told.unusable.is_some();
        let id = read.id().map(SpannedValue::span).map(ByteSpan::range);
        let is_kept = read.member("result").is_some()
            && id == Some(answer.before.len()..answer.before.len() + answer.id.len())
            && !done.told.as_deref().is_some_and(said_once);
        if !is_kept {
            return None;
        }
        let changed = match &done.changed {
            Some(changed) => Some(answer.around_id(changed)?),
            None => None,
        };
        let came = AroundId { before: answer.before.into(), after: answer.after.into() };
        Some(Self { came, changed, told: done.told.clone() })
    }

    /// What becomes of an answer, if it is the one that was kept.
    #[must_use]
    pub fn apply(&self, answer: &AnswerWithoutId<'_>) -> Option<MessageRewrite> {
        if *self.came.before != *answer.before || *self.came.after != *answer.after {
            return None;
        }
        let with_id = |AroundId { before, after }: &AroundId| [before, answer.id, after].concat();
        let changed = self.changed.as_ref().map(with_id);
        Some(MessageRewrite { changed, told: self.told.clone() })
    }

    /// About how many bytes it takes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let bytes = |around: &AroundId| around.before.len() + around.after.len();
        bytes(&self.came) + self.changed.as_ref().map_or(0, bytes) + size_of::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;
    use crate::caller::Caller;
    use crate::exchange::seal::{IdSeal, SealKeys};
    use crate::exchange::task_ids::TaskIdRewriter;
    use crate::language::Languages;
    use crate::plan::{Offer, negotiate};
    use crate::shaping::{UnusableReason, UnusableSchema, UnusableTemplate};

    const BLANKS: &str = " \t\r\n";

    /// Checks that the id is found where it stands between `«` and `»`, and nowhere if it does not.
    fn check_found(marked: &str) {
        let answer = marked.replace(['«', '»'], "");
        let found = AnswerWithoutId::find(answer.as_bytes());
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let found = found.map(|it| format!("{}«{}»{}", text(it.before), text(it.id), text(it.after)));
        assert_eq!(found, marked.contains('«').then(|| marked.to_owned()), "{marked}");
    }

    /// The same for an id that stands before a result, and for one that stands behind a long one.
    fn check_id(marked: &str) {
        let long = "x".repeat(1000);
        check_found(&format!(r#"{{"jsonrpc":"2.0","id":{marked},"result":{{"a":"{long}"}}}}"#));
        check_found(&format!(r#"{{"jsonrpc":"2.0","result":{{"a":"{long}"}},"id":{marked}}}"#));
    }

    #[test]
    fn finds_an_id_that_is_an_integer_or_a_plain_string() {
        for id in ["7", "-7", "0", "-0", "10", "12345678901234567890", r#""""#, r#""a b~""#, r#""0 7""#] {
            check_id(&format!("«{id}»"));
        }
        for id in ["", "-", "--7", "07", "-07", "00", "null", "true", "[7]", "{}"] {
            check_id(id);
        }
        for id in [r#""\u0041""#, r#""a\"b""#, r#""ä""#, "\"\u{7f}\"", "\"\t\"", "a\""] {
            check_id(id);
        }
    }

    #[test]
    fn an_id_is_no_longer_than_its_bound() {
        let id = |length: usize| format!("\"{}\"", "i".repeat(length - 2));
        check_id(&format!("«{}»", id(MAX_MEMO_ID_BYTES)));
        check_id(&id(MAX_MEMO_ID_BYTES + 1));
        check_id(&"1".repeat(MAX_MEMO_ID_BYTES + 1));
    }

    #[test]
    fn finds_an_id_among_blanks() {
        let b = BLANKS;
        check_found(&format!(
            r#"{b}{{{b}"jsonrpc"{b}:{b}"2.0"{b},{b}"n"{b}:{b}-1{b},{b}"id"{b}:{b}«7»{b},{b}"result":{{}}}}"#
        ));
        check_found(&format!(r#"{{"result":{{}},"id"{b}:{b}«7»{b}}}{b}"#));
        // But not if there are very many of them.
        check_found(&format!(r#"{{"result":{{}},"id":{}7}}"#, " ".repeat(200)));
    }

    #[test]
    fn finds_an_id_behind_plain_values_only() {
        for answer in [
            r#"{"a":1,"b":"2","id":«7»,"result":{}}"#,
            r#"{"a":{},"id":7,"result":{}}"#,
            r#"{"a":true,"id":7,"result":{}}"#,
            r#"{"a":,"id":7,"result":{}}"#,
            r#"{"a\"b":1,"id":7,"result":{}}"#,
            r#"{"\u0069d":7,"result":{}}"#,
            r#"{"a":"\n","id":7,"result":{}}"#,
            r#"{"a":1 "id":7,"result":{}}"#,
            r#"{"a" 1,"id":7,"result":{}}"#,
            r#"{"id" 7,"result":{}}"#,
            r#"["id":7,"result":{}}"#,
            r#""id":7,"result":{}}"#,
            r#"{a:1,"id":7,"result":{}}"#,
            r#"{"result":{},"id" 7}"#,
            r#"{"result":{},"id":7"#,
            r#"{"result":{},"id":"a","b":"c"}"#,
            r#"{"result":{},"id":7.5}"#,
            r#"{"result":{},"id":7e2}"#,
            r#"{"result":{},"id":"a}"#,
            r#"{"result":{},"id":"}"#,
            r#"{"result":{}}"#,
            "{",
            "",
        ] {
            check_found(answer);
        }
    }

    #[test]
    fn an_id_that_stands_first_is_looked_for_at_the_beginning_only() {
        let answer = |padding: usize, id: &str| {
            format!(r#"{{"a":"{}","id":{id},"result":{{}}}}"#, "x".repeat(padding))
        };
        let head = answer(0, "").find(",\"result").unwrap();
        check_found(&answer(MAX_ID_SCAN_BYTES - head - 1, "«7»"));
        check_found(&answer(MAX_ID_SCAN_BYTES - head, "7"));
    }

    fn found(answer: &str) -> AnswerWithoutId<'_> {
        AnswerWithoutId::find(answer.as_bytes()).unwrap()
    }

    #[test]
    fn answers_that_differ_in_their_ids_alone_have_one_hash() {
        let hash = |answer: &str| {
            let mut hasher = DefaultHasher::new();
            found(answer).hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!(hash(r#"{"id":7,"result":{}}"#), hash(r#"{"id":"seven","result":{}}"#));
        assert_ne!(hash(r#"{"id":7,"result":{}}"#), hash(r#"{"id":7,"result":[]}"#));
        assert_ne!(hash(r#"{"id":7,"result":{}}"#), hash(r#"{ "id":7,"result":{}}"#));
    }

    /// What is kept of an answer that became this one.
    fn kept(came: &str, changed: Option<&str>) -> Option<MemoizedListing> {
        keep(came, &found(came), changed, None)
    }

    fn keep(
        came: &str,
        found: &AnswerWithoutId<'_>,
        changed: Option<&str>,
        told: Option<AdaptedMessage<'static>>,
    ) -> Option<MemoizedListing> {
        let done =
            MessageRewrite { changed: changed.map(|it| it.as_bytes().to_vec()), told: told.map(Box::new) };
        MemoizedListing::new(&Message::parse(came.as_bytes()).unwrap(), found, &done)
    }

    #[test]
    fn what_was_kept_is_given_again_with_another_id() {
        let id = "an id that is longer than all that stands before it";
        let long = "x".repeat(1000);
        for (came, changed) in [
            (r#"{"id":ID,"result":{"a":"LONG"}}"#, r#"{"id":ID,"result":{"a":"lang","b":1}}"#),
            (r#"{"result":{"a":"LONG"},"id":ID}"#, r#"{"result":{"a":"lang","b":1},"id":ID}"#),
            (r#"{"result":{"a":"LONG"},"id":ID}"#, r#"{"result":{"a":"LONG"},"id":ID,"b":1}"#),
        ] {
            let [came, changed] = [came, changed].map(|text| text.replace("LONG", &long));
            let with = |text: &str, id: &str| text.replace("ID", &format!("\"{id}\""));
            let kept = kept(&with(&came, id), Some(&with(&changed, id))).unwrap();
            let done = kept.apply(&found(&with(&came, "8"))).unwrap();
            assert_eq!(String::from_utf8(done.changed.unwrap()).unwrap(), with(&changed, "8"), "{came}");
            let bytes = came.len() + changed.len() - 2 * "ID".len();
            assert_eq!(kept.weight(), bytes + size_of::<MemoizedListing>());
        }
        // One in which the id is in no place that is known.
        assert_eq!(kept(r#"{"id":7,"result":{}}"#, Some(r#"{"a":1,"id":7,"result":[]}"#)), None);
    }

    #[test]
    fn what_was_kept_is_for_that_very_answer() {
        let kept = kept(r#"{"id":7,"result":{"a":1}}"#, None).unwrap();
        assert_eq!(kept.apply(&found(r#"{"id":8,"result":{"a":1}}"#)), Some(MessageRewrite::default()));
        assert_eq!(kept.apply(&found(r#"{"id":7,"result":{"a":2}}"#)), None);
        assert_eq!(kept.apply(&found(r#"{ "id":7,"result":{"a":1}}"#)), None);
    }

    #[test]
    fn what_is_not_the_same_every_time_is_not_kept() {
        let listing = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
        let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}"#;
        assert!(kept(listing, None).is_some());
        assert_eq!(kept(error, None), None);
        // What was taken for the id is a part of it, or was none of this message.
        assert_eq!(kept(r#"{"id":7.5,"result":{}}"#, None), None);
        assert_eq!(keep(listing, &found(r#"{"id":7,"result":{}}"#), None, None), None);
        assert_eq!(keep(listing, &found(r#"{"jsonrpc":"2.0","id":71,"result":{}}"#), None, None), None);
        let mut told = AdaptedMessage::untouched(b"");
        told.content_language = Some("de".to_owned());
        let kept = keep(listing, &found(listing), None, Some(told.clone())).unwrap();
        assert_eq!(kept.apply(&found(listing)).unwrap().language(), Some("de"));
        let mut faulty = told.clone();
        faulty.faults.push(UnusableTemplate { template: "t".to_owned(), what: String::new() });
        assert_eq!(keep(listing, &found(listing), None, Some(faulty)), None);
        told.unusable = Some(UnusableSchema { tool: "t".to_owned(), why: UnusableReason::Invalid });
        assert_eq!(keep(listing, &found(listing), None, Some(told)), None);
    }

    /// What becomes of a listing that is to say its language.
    fn adapter() -> AnswerAdapter {
        let offer = Offer { languages: Languages::new("en", []).ok(), ..Offer::default() };
        let plan = negotiate(&Caller::resumed(Some("de")), &offer);
        AnswerAdapter { lists: true, ..AnswerAdapter::new(plan, &offer) }
    }

    #[test]
    fn nothing_but_listings_is_kept() {
        for method in [TOOLS_LIST, PROMPTS_LIST, RESOURCES_LIST, RESOURCES_TEMPLATES_LIST, SERVER_DISCOVER] {
            assert!(is_listing(method), "{method}");
        }
        assert!(!is_listing("tools/call") && !is_listing("initialize"));
        let seal = IdSeal::new(SealKeys::new(&[1; 32], []), "default", |_| Ok(()));
        let tasks = Some(TaskIdRewriter::with_creator(None, &seal, "t").into());
        assert!(adapter().listing_key().is_some());
        assert_eq!(AnswerAdapter { lists: false, ..adapter() }.listing_key(), None);
        assert_eq!(AnswerAdapter { tasks, ..adapter() }.listing_key(), None);
    }

    #[test]
    fn an_answer_is_adapted_and_kept_in_one_reading() {
        let [came, other] = ["7", "8"].map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        let adapter = adapter();
        let adapt = |answer: &str| adapter.adapt(answer.as_bytes(), AdaptEffort::Full, |_| {});
        let (done, kept) =
            adapter.adapt_and_memoize(came.as_bytes(), &found(&came), AdaptEffort::Full, |_| {}).unwrap();
        assert!(done.changed.is_some() && done.language() == Some("en"));
        assert_eq!(adapt(&came), Some(done));
        assert_eq!(kept.unwrap().apply(&found(&other)), adapt(&other));
    }
}
