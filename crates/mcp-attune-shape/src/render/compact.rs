//! Removes members that carry no information from JSON data, for callers with `verbosity=compact`.
//!
//! 1. Members go that are `null`, an empty list or an empty object, or become one; and those that the
//!    operator called unimportant, by name (`wind`) or by path (`forecast.wind`). Elements of lists
//!    stay: their number and place may mean something.
//! 2. What the schema requires stays.
//! 3. What goes on as JSON is valid against the schema. Where taking out all makes it invalid, as much
//!    is taken out as it can stand, one top member after another. Data that cannot be made valid so
//!    stay as they are.

use std::borrow::Cow;

use mcp_attune_wire::json::{ByteSpan, JsonKind, SpannedValue};
use memchr::{memchr2_iter, memmem};

use crate::compiled_schema::{CompiledSchema, Subschema};
use crate::cost::StepBudget;

/// How many top members are tried one by one where removing everything would make the data invalid.
///
/// Each try validates the whole data once more, so this bounds the work. Top members beyond it keep all
/// that they hold.
const MAX_TRIES: usize = 16;

/// JSON data after compacting, and how many members that cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompactedJson<'a> {
    /// The data as JSON. What is left has the bytes that the server wrote, white space included; the
    /// text is borrowed if nothing was removed.
    pub text: Cow<'a, str>,
    /// Number of members that were removed. Members inside a removed one are not counted by themselves.
    pub left_out: usize,
}

/// Removes null, empty and unimportant members from data, and keeps the data valid against the schema.
///
/// Used for `format=json` with `verbosity=compact`. `low_priority` has names and dotted paths, as
/// [`RenderOptions::low_priority`](crate::render::RenderOptions::low_priority) has. Without a schema
/// everything goes that carries no information. With one, required members stay, and the result is
/// validated; if it is invalid, as many top members are compacted as the schema permits. Data that do
/// not match their schema in the first place, or whose schema cannot be checked, are returned unchanged
/// unless compacting happens to make them valid.
///
/// Rules: F8.
///
/// ```
/// use mcp_attune_shape::{CompiledSchema, render};
/// use mcp_attune_wire::message::Message;
///
/// let data = Message::parse(br#"{"city":"Bern","wind":7,"notes":null,"alerts":[]}"#)?;
/// let output = CompiledSchema::read(r#"{"required":["notes"]}"#);
/// let compacted = render::compact(data.body(), output.as_ref(), &["wind".to_owned()]);
/// assert_eq!(compacted.text, r#"{"city":"Bern","notes":null}"#);
/// assert_eq!(compacted.left_out, 2);
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
#[must_use]
pub fn compact<'a>(
    data: SpannedValue<'a>,
    output: Option<&CompiledSchema>,
    low_priority: &[String],
) -> CompactedJson<'a> {
    compact_within(data, output, low_priority, &StepBudget::full())
}

/// Does the same as [`compact`], with schema checks that are paid from a budget of steps which other
/// checks of the message share.
///
/// A check that the budget does not suffice for counts as failed, so that members stay in rather than
/// go unchecked.
pub(crate) fn compact_within<'a>(
    data: SpannedValue<'a>,
    output: Option<&CompiledSchema>,
    low_priority: &[String],
    budget: &StepBudget,
) -> CompactedJson<'a> {
    let Some(output) = output else { return compact_unchecked(data, None, low_priority, None) };
    let valid = |text: &str| output.is_valid_text(text, budget);
    let cut = |only: Option<&[usize]>| compact_unchecked(data, Some(output.root()), low_priority, only);
    let cuts = find_cuts(data, Some(output.root()), low_priority, None);
    let all = splice_cuts(data, &cuts);
    if all.left_out == 0 || valid(&all.text) {
        return all;
    }
    let mut best = CompactedJson { text: Cow::Borrowed(data.raw()), left_out: 0 };
    if !valid(data.raw()) {
        return best;
    }
    let mut only = Vec::new();
    for top in tops_with_cuts(data, &cuts).into_iter().take(MAX_TRIES) {
        only.push(top);
        let tried = cut(Some(&only));
        if valid(&tried.text) {
            best = tried;
        } else {
            only.pop();
        }
    }
    best
}

/// Returns the positions of the top members or elements that something is cut out of, in their order.
///
/// `cuts` must be sorted. A cut that begins before the end of a value belongs to that value, because it
/// begins with the comma or the name before it.
fn tops_with_cuts(data: SpannedValue<'_>, cuts: &[ByteSpan]) -> Vec<usize> {
    let ends = data.members().map(|(_, value)| value.span().end());
    let ends = ends.chain(data.elements().map(|element| element.span().end()));
    let mut cuts = cuts.iter().peekable();
    let mut tops = Vec::new();
    for (top, end) in ends.enumerate() {
        let mut any = false;
        while cuts.next_if(|cut| cut.start() < end).is_some() {
            any = true;
        }
        if any {
            tops.push(top);
        }
    }
    tops
}

/// Removes members without validating the result. Members that the schema requires stay.
///
/// Where `only` is given, nothing is removed outside of the top members or elements at these positions.
/// Pages call it directly, because nobody validates them, and [`compact_within`] calls it for each try.
pub(super) fn compact_unchecked<'a>(
    data: SpannedValue<'a>,
    part: Option<Subschema<'_>>,
    low_priority: &[String],
    only: Option<&[usize]>,
) -> CompactedJson<'a> {
    splice_cuts(data, &find_cuts(data, part, low_priority, only))
}

/// Returns `false` if no member of the data can be null or empty, from one scan of the text for `null`
/// and for brackets with nothing between them.
///
/// `true` may be a false alarm, such as a `null` inside a string, and then costs a walk that finds
/// nothing. Most data have neither, and are not walked at all.
fn may_have_empty_members(raw: &str) -> bool {
    let bytes = raw.as_bytes();
    let is_empty = |close: usize| {
        let before = bytes.get(..close).unwrap_or_default().trim_ascii_end();
        matches!(before.last(), Some(b'[' | b'{'))
    };
    memmem::find(bytes, b"null").is_some() || memchr2_iter(b']', b'}', bytes).any(is_empty)
}

/// Returns the spans that have to be removed, in the order of the text and none inside of another.
fn find_cuts(
    data: SpannedValue<'_>,
    part: Option<Subschema<'_>>,
    low_priority: &[String],
    only: Option<&[usize]>,
) -> Vec<ByteSpan> {
    if low_priority.is_empty() && !may_have_empty_members(data.raw()) {
        return Vec::new();
    }
    let mut finder = CutFinder { low_priority, only, path: String::new(), cuts: Vec::new() };
    finder.find(data, part, 0);
    finder.cuts.sort_unstable();
    finder.cuts
}

/// Copies the data without the cuts, whose offsets are those of the whole message around the data.
fn splice_cuts<'a>(data: SpannedValue<'a>, cuts: &[ByteSpan]) -> CompactedJson<'a> {
    if cuts.is_empty() {
        return CompactedJson { text: Cow::Borrowed(data.raw()), left_out: 0 };
    }
    let (raw, base) = (data.raw(), data.span().start());
    let mut text = String::with_capacity(raw.len());
    let mut at = 0;
    for cut in cuts {
        text.push_str(raw.get(at..cut.start() - base).unwrap_or_default());
        at = cut.end() - base;
    }
    text.push_str(raw.get(at..).unwrap_or_default());
    CompactedJson { text: Cow::Owned(text), left_out: cuts.len() }
}

/// One walk over the data that collects what has to be removed.
struct CutFinder<'a> {
    low_priority: &'a [String],
    /// Positions of the top members or elements that may be changed; `None` if all may.
    only: Option<&'a [usize]>,
    /// Path to the member that is looked at: names joined by dots. Lists are no step.
    path: String,
    /// Spans found so far. None lies inside of another: where a member goes as a whole, those inside of
    /// it are dropped.
    cuts: Vec<ByteSpan>,
}

impl CutFinder<'_> {
    /// Collects the cuts inside of a value. Returns whether anything is left of it: `false` for `null`,
    /// for an empty list or object, and for an object that loses every member.
    ///
    /// Recurses as deep as the data are nested, which the JSON scanner limited before.
    fn find(&mut self, value: SpannedValue<'_>, part: Option<Subschema<'_>>, depth: usize) -> bool {
        match value.kind() {
            JsonKind::Null => false,
            JsonKind::Array => {
                let items = part.and_then(Subschema::items);
                let mut any = false;
                for (at, element) in value.elements().enumerate() {
                    any = true;
                    if depth > 0 || self.may_cut(at) {
                        self.find(element, items, depth + 1);
                    }
                }
                any
            }
            JsonKind::Object => self.members(value, part, depth),
            _ => true,
        }
    }

    fn may_cut(&self, top: usize) -> bool {
        self.only.is_none_or(|only| only.contains(&top))
    }

    /// Collects the cuts of an object and inside of its members. Returns whether a member is left.
    fn members(&mut self, object: SpannedValue<'_>, part: Option<Subschema<'_>>, depth: usize) -> bool {
        let mut going = Vec::new();
        for (at, (name, value)) in object.members().enumerate() {
            let untouched = depth == 0 && !self.may_cut(at);
            // A name that is no text is in no schema and on no list.
            going.push(
                !untouched && name.decode().is_some_and(|key| self.should_cut(&key, value, part, depth)),
            );
        }
        let mut goes = going.iter();
        self.cuts.extend(object.cut_members(|_| goes.next().is_some_and(|goes| *goes)));
        going.contains(&false)
    }

    /// Decides whether a member goes: it is not required, and is either of low priority or empty after
    /// its own cuts.
    ///
    /// Cuts inside of a member that stays are kept; those inside of a member that goes are discarded.
    fn should_cut(
        &mut self,
        key: &str,
        value: SpannedValue<'_>,
        part: Option<Subschema<'_>>,
        depth: usize,
    ) -> bool {
        let (length, first) = (self.path.len(), self.cuts.len());
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        let required = part.is_some_and(|part| part.requires(key));
        let low = self.low_priority.iter().any(|low| *low == *key || *low == self.path);
        let inner = part.and_then(|part| part.property(key).or_else(|| part.additional_properties()));
        let goes = !required && (low || !self.find(value, inner, depth + 1));
        if required {
            self.find(value, inner, depth + 1);
        }
        self.path.truncate(length);
        if goes {
            self.cuts.truncate(first);
        }
        goes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune_wire::message::Message;

    #[track_caller]
    fn check(data: &str, schema: Option<&str>, low: &[&str], expected: &str, left_out: usize) {
        let body = format!(r#"{{"around": {data} }}"#);
        let message = Message::parse(body.as_bytes()).unwrap();
        let output = schema.map(|schema| CompiledSchema::read(schema).unwrap());
        let low: Vec<_> = low.iter().map(|low| (*low).to_owned()).collect();
        let compacted = compact(message.member("around").unwrap(), output.as_ref(), &low);
        assert_eq!((&*compacted.text, compacted.left_out), (expected, left_out), "{data}");
    }

    #[test]
    fn what_says_nothing_goes() {
        check(r#"{"a":1}"#, None, &[], r#"{"a":1}"#, 0);
        check(
            r#"{"a":null, "b":[], "c":{}, "d":"", "e":0, "f":false}"#,
            None,
            &[],
            r#"{"d":"", "e":0, "f":false}"#,
            3,
        );
        check(r#"{"a":{"b":{"c":null}},"d":[null,{"e":null}]}"#, None, &[], r#"{"d":[null,{}]}"#, 2);
        check(r#"{"a":{"b":null,"c":1},"d":null}"#, None, &[], r#"{"a":{"c":1}}"#, 2);
        check("[null,[],{}]", None, &[], "[null,[],{}]", 0);
        check("null", None, &[], "null", 0);
    }

    #[test]
    fn what_the_operator_called_unimportant_goes() {
        let data = r#"{"wind":1,"days":[{"wind":2,"max":3}],"x":{"max":4}}"#;
        check(data, None, &["wind"], r#"{"days":[{"max":3}],"x":{"max":4}}"#, 2);
        check(data, None, &["days.max"], r#"{"wind":1,"days":[{"wind":2}],"x":{"max":4}}"#, 1);
        check(data, None, &["x"], r#"{"wind":1,"days":[{"wind":2,"max":3}]}"#, 1);
    }

    #[test]
    fn what_the_schema_requires_stays() {
        let schema = r##"{"required":["a","x"],"properties":{"x":{"required":["y"]},"l":{"items":{"$ref":"#/$defs/L"}}},
            "$defs":{"L":{"required":["m"]}}}"##;
        let data = r#"{"a":null,"b":null,"x":{"y":[],"z":[]},"l":[{"m":null,"n":null}]}"#;
        check(data, Some(schema), &["a", "y", "m"], r#"{"a":null,"x":{"y":[]},"l":[{"m":null}]}"#, 3);
    }

    #[test]
    fn what_would_be_invalid_is_left_in() {
        let data = r#"{"a":null,"b":{"c":null,"d":1},"e":null}"#;
        let schema = r#"{"properties":{"b":{"minProperties":2}}}"#;
        check(data, Some(schema), &[], r#"{"b":{"c":null,"d":1}}"#, 2);
        check(data, Some(r#"{"minProperties":3}"#), &[], r#"{"a":null,"b":{"d":1},"e":null}"#, 1);
        check(data, Some(r#"{"maxProperties":1}"#), &[], r#"{"b":{"d":1}}"#, 3);
        check(data, Some(r#"{"type":"array"}"#), &[], data, 0);
        check(data, Some(r#"{"pattern":7}"#), &[], data, 0);
    }
}
