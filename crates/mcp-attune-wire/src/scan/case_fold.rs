//! Member names that parsers which ignore case take for one another.
//!
//! Go's `encoding/json` reads `"Name"` into the field for `name`, and of several spellings the last one counts; Jackson, Gson
//! and .NET can be told to do the same. A name is folded as coarsely as any of them does it: by Unicode's simple case
//! folding (C and S of `CaseFolding.txt`), and by the upper case of each character where that is coarser (`ı` and `İ` are
//! an `i` to Java).
//!
//! 1. Two names of one object that are equal after folding are a fault.
//! 2. So is a name that is equal to a known one after folding and is not that name.
//!
//! Up to [`MAX_LINEAR_NAMES`] names, written in ASCII and without escapes, are compared by their marks, which costs a few
//! instructions a pair. All others are folded once and sorted.
//!
//! Rules: H18.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use super::name::mark;
use super::{JsonFault, JsonParseError, MAX_LINEAR_NAMES, ScannedName};
use crate::json::{JsonString, push_code_point};

/// A name that the rules look for, made ready to be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KnownName {
    name: Cow<'static, str>,
    mark: u64,
}

impl KnownName {
    /// A name that is known when this is compiled.
    pub(crate) const fn from_static(name: &'static str) -> Self {
        let bytes = name.as_bytes();
        let word = match bytes.last_chunk() {
            Some(tail) => u64::from_le_bytes(*tail),
            None => {
                let (mut word, mut rest) = (0, bytes);
                while let [before @ .., last] = rest {
                    word = (word << 8) | *last as u64;
                    rest = before;
                }
                word
            }
        };
        Self { name: Cow::Borrowed(name), mark: word ^ (bytes.len() as u64).rotate_right(16) }
    }

    pub(crate) fn new(name: &str) -> Self {
        Self { name: Cow::Owned(name.into()), mark: mark(name.as_bytes(), 0, name.len()) }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.name
    }

    #[inline]
    pub(crate) fn is(&self, found: &LocatedName<'_>) -> bool {
        // A mark holds all of a name of up to eight bytes, but for its length.
        let is_whole = self.name.len() <= 8 && found.name.is_plain_with_len(self.name.len());
        self.mark == found.name.mark && (is_whole || found.is(&self.name))
    }
}

/// A mark that is the same for two ASCII names that differ in case alone.
const fn caseless_mark(mark: u64) -> u64 {
    mark | 0x2020_2020_2020_2020
}

/// A member name and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct LocatedName<'a> {
    name: ScannedName,
    /// What the name stands in.
    text: &'a str,
    /// Where that begins in the body.
    base: usize,
}

impl<'a> LocatedName<'a> {
    #[inline]
    pub(crate) fn new(name: ScannedName, body: &'a str) -> Self {
        Self { name, text: body, base: 0 }
    }

    /// A name of an object that was read before, and where it stands in the body without its quote.
    pub(crate) fn at_offset(base: usize, name: JsonString<'a>) -> Self {
        let text = name.as_written();
        let name = match name.as_plain_str() {
            Some(plain) => ScannedName::from_plain(plain, 0, plain.len()),
            None => ScannedName::from_escaped(text, 0, text.len(), &mut Vec::new()),
        };
        Self { name, text, base }
    }

    pub(crate) fn text(&self) -> JsonString<'a> {
        self.name.text(self.text)
    }

    /// The offset of its opening quote.
    fn quote_offset(&self) -> usize {
        (self.base + self.name.start()).saturating_sub(1)
    }

    fn is(&self, other: &str) -> bool {
        if self.name.is_escaped() { self.text().is(other) } else { self.text().as_written() == other }
    }

    fn is_plain_ascii(&self) -> bool {
        !self.name.is_escaped() && self.text().as_written().is_ascii()
    }

    /// Whether an ASCII name is another one but for its case.
    fn eq_ignoring_case(&self, other: &str) -> bool {
        self.text().as_written().eq_ignore_ascii_case(other)
    }

    fn case_error(&self) -> JsonParseError {
        JsonParseError { fault: JsonFault::NameDiffersInCase, at: self.quote_offset() }
    }
}

/// Looks for the two faults above among the names of one object, and reports the first that stands in it. The known
/// names must be ASCII, and no two of them equal after folding; `is_known` says whether a name is one of them.
#[inline]
pub(crate) fn check<'a, 'k>(
    names: impl Iterator<Item = LocatedName<'a>> + Clone,
    known: &(impl Iterator<Item = &'k KnownName> + Clone),
    is_known: impl Fn(&LocatedName<'a>) -> bool,
) -> Result<(), JsonParseError> {
    let mut marks = [0; MAX_LINEAR_NAMES];
    // Most names are known, and there is nothing else to ask then.
    let others = names.clone().filter(|found| !is_known(found));
    for (count, found) in others.enumerate() {
        let (before, free) = marks.split_at_mut_checked(count).unwrap_or_default();
        let (Some(free), true) = (free.first_mut(), found.is_plain_ascii()) else {
            return check_folded(names, known);
        };
        let case_mark = caseless_mark(found.name.mark);
        let is_like_known = {
            let mut alike = known.clone().filter(|known| caseless_mark(known.mark) == case_mark);
            alike.any(|known| found.eq_ignoring_case(&known.name))
        };
        let is_like_other = before.contains(&case_mark) && {
            let mut before = names.clone().take_while(|other| other.quote_offset() < found.quote_offset());
            before.any(|other| found.eq_ignoring_case(other.text().as_written()))
        };
        if is_like_known || is_like_other {
            return Err(found.case_error());
        }
        *free = case_mark;
    }
    Ok(())
}

/// The same for any names, and for any number of them.
#[cold]
#[inline(never)]
pub(crate) fn check_folded<'a, 'k>(
    names: impl Iterator<Item = LocatedName<'a>>,
    known: &(impl Iterator<Item = &'k KnownName> + Clone),
) -> Result<(), JsonParseError> {
    let mut folder = CaseFolder::default();
    let mut entries: Vec<_> = names.map(|found| (folder.add(&found), found)).collect();
    entries.sort_unstable_by(|(one, first), (other, second)| {
        folder.order(one, other).then_with(|| first.quote_offset().cmp(&second.quote_offset()))
    });

    let pairs = entries.windows(2).filter_map(|pair| match pair {
        [(one, _), (other, second)] if folder.order(one, other).is_eq() => Some(*second),
        _ => None,
    });
    let first_pair = pairs.min_by_key(LocatedName::quote_offset);
    let is_known = |found: &LocatedName<'_>| known.clone().any(|known| known.is(found));
    let spelled_otherwise = known.clone().filter_map(|known| {
        let wanted = folder.add(&LocatedName::at_offset(0, JsonString::new(&known.name)));
        let at = entries.partition_point(|(entry, _)| folder.order(entry, &wanted).is_lt());
        // Of names that are equal after folding the first is enough: the others are pairs.
        let alike = entries.get(at).filter(|(entry, _)| folder.order(entry, &wanted).is_eq());
        alike.map(|(_, found)| *found).filter(|found| !known.is(found) && !is_known(found))
    });
    match spelled_otherwise.chain(first_pair).min_by_key(LocatedName::quote_offset) {
        Some(found) => Err(found.case_error()),
        None => Ok(()),
    }
}

/// Names that were folded, each once.
#[derive(Default)]
struct CaseFolder {
    /// All of them, one after the other, as UTF-8.
    folded: Vec<u8>,
}

/// One of them: its mark, which tells most apart, and where it stands.
struct FoldedName {
    mark: u64,
    range: Range<usize>,
}

impl CaseFolder {
    fn add(&mut self, found: &LocatedName<'_>) -> FoldedName {
        let start = self.folded.len();
        if found.is_plain_ascii() {
            self.folded.extend(found.text().as_written().bytes().map(|byte| byte.to_ascii_lowercase()));
        } else {
            for code in found.text().code_points() {
                // Half a surrogate pair stays what it is.
                push_code_point(
                    char::from_u32(code).map_or(code, |char| u32::from(fold_char(char))),
                    &mut self.folded,
                );
            }
        }
        let range = start..self.folded.len();
        FoldedName { mark: mark(&self.folded, range.start, range.end), range }
    }

    fn order(&self, one: &FoldedName, other: &FoldedName) -> Ordering {
        let text = |name: &FoldedName| self.folded.get(name.range.clone()).unwrap_or_default();
        one.mark.cmp(&other.mark).then_with(|| text(one).cmp(text(other)))
    }
}

/// One character for all those that a parser could take for it.
fn fold_char(char: char) -> char {
    match char {
        '\0'..='\x7f' => char.to_ascii_lowercase(),
        // Their other cases are longer than one character, and simple folding knows them all the same.
        '\u{130}' => 'i',
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        // Neither Chinese, Japanese nor Korean has cases.
        '\u{2e80}'..='\u{a63f}' | '\u{ac00}'..='\u{d7ff}' => char,
        _ => {
            let upper = single_char(char.to_uppercase()).unwrap_or(char);
            single_char(upper.to_lowercase()).unwrap_or(upper)
        }
    }
}

fn single_char(mut chars: impl ExactSizeIterator<Item = char>) -> Option<char> {
    if chars.len() == 1 { chars.next() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agree::{self, HeaderPolicy};
    use crate::message::Message;
    use alloc::format;
    use alloc::string::String;
    use icu_casemap::CaseMapper;

    /// The offset of the name that is refused.
    #[track_caller]
    fn check(body: &str, expected: Option<usize>) {
        let message = Message::parse(body.as_bytes()).unwrap();
        let refused = agree::check_without_headers(message, &HeaderPolicy::default()).err();
        let at = refused.map(|refusal| match refusal.refused {
            agree::MessageRefusalReason::Unreadable(JsonParseError {
                fault: JsonFault::NameDiffersInCase,
                at,
            }) => at,
            other => panic!("{other:?}"),
        });
        assert_eq!(at, expected, "{body}");
    }

    /// The characters that have another case, by Unicode's simple folding or by Rust's tables. ICU may know a later version of
    /// Unicode than the compiler, to which the letters of that version are none yet.
    fn cased() -> impl Iterator<Item = char> {
        let has_case = |char: &char| {
            let mapper = CaseMapper::new();
            let one = mapper.simple_fold(*char) != *char || fold_char(*char) != *char;
            one || mapper.simple_lowercase(*char) != *char || mapper.simple_uppercase(*char) != *char
        };
        ('\0'..=char::MAX).filter(|char| char.is_alphabetic()).filter(has_case)
    }

    #[test]
    fn folds_at_least_what_unicode_folds_simply() {
        let mapper = CaseMapper::new();
        assert!(cased().count() > 2800);
        for char in cased() {
            let simple = mapper.simple_fold(char);
            assert_eq!(fold_char(char), fold_char(simple), "U+{:04X}", u32::from(char));
            // As Java compares: by the upper case of each character, then by the lower case of that.
            let java = mapper.simple_lowercase(mapper.simple_uppercase(char));
            assert_eq!(fold_char(char), fold_char(java), "U+{:04X}", u32::from(char));
        }
    }

    #[test]
    fn folds_no_more_than_that_but_for_the_two_odd_letters_i() {
        let mapper = CaseMapper::new();
        for char in cased() {
            let is_odd = matches!(char, '\u{130}' | '\u{131}');
            let (ours, theirs) = (mapper.simple_fold(fold_char(char)), mapper.simple_fold(char));
            assert_eq!(ours, if is_odd { 'i' } else { theirs }, "U+{:04X}", u32::from(char));
        }
    }

    #[test]
    fn a_fixed_name_has_the_mark_of_the_name_that_is_read() {
        for name in
            ["", "i", "id", "_meta", "clientContext", "12345678", "io.modelcontextprotocol/clientInfo"]
        {
            assert_eq!(KnownName::from_static(name), KnownName::new(name));
        }
    }

    #[test]
    fn refuses_a_known_name_in_another_case() {
        for (body, at) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#, 40),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","Params":{}}"#, 40),
            (r#"{"JSONRPC":"2.0","id":1,"method":"ping"}"#, 1),
            (r#"{"Method":"ping","method":"ping"}"#, 1),
            (r#"{"ClientContext":{}}"#, 1),
            (r#"{"params":{"name":"sql","Name":"evil"}}"#, 24),
            (r#"{"params":{"name":"sql","\u004eame":"evil"}}"#, 24),
            (r#"{"params":{"argument\u017f":{}}}"#, 11),
            ("{\"params\":{\"argument\u{17f}\":{}}}", 11),
            ("{\"params\":{\"tas\u{212a}Id\":1}}", 11),
            ("{\"params\":{\"ur\u{131}\":1}}", 11),
            (r#"{"params":{"taskid":1}}"#, 11),
            (r#"{"params":{"_Meta":{}}}"#, 11),
            (r#"{"params":{"_meta":{"ProgressToken":1}}}"#, 20),
            (r#"{"params":{"_meta":{"IO.modelcontextprotocol/clientInfo":1}}}"#, 20),
            (r#"{"params":{"_meta":{"io.modelcontextprotocol/ClientInfo":1}}}"#, 20),
        ] {
            check(body, Some(at));
        }
    }

    #[test]
    fn refuses_two_names_that_differ_only_in_case() {
        for (body, at) in [
            (r#"{"vendor":1,"Vendor":2}"#, 12),
            (r#"{"params":{"Straße":1,"STRAßE":2}}"#, 23),
            (r#"{"params":{"\u00e9":1,"É":2}}"#, 22),
            (r#"{"params":{"_meta":{"x/A":1,"x/b":2,"x/a":3}}}"#, 36),
        ] {
            check(body, Some(at));
        }
        let many: String = (0..40).map(|index| format!("\"k{index}\":0,")).collect();
        check(&format!("{{{many}\"K7\":0}}"), Some(many.len() + 1));
        check(&format!("{{{many}\"Method\":0}}"), Some(many.len() + 1));
        check(&format!("{{{many}\"z\":0,\"method\":0}}"), None);
    }

    #[test]
    fn other_objects_are_not_looked_at() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1,"A":2,"Name":3,"x":{"b":1,"B":2}}}}"#,
            r#"{"clientContext":{"locale":"de","Locale":"fr"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"id":1,"ID":2,"Method":3}}"#,
            r#"{"params":{"_meta":{"vendor/x":{"a":1,"A":2}},"ref":{"type":1,"Type":2}}}"#,
            r#"[{"jsonrpc":"2.0","id":1,"ID":2,"method":"ping"}]"#,
            r#"{"params":["name","Name"]}"#,
            r#"{"params":{"st":1,"ﬆ":2,"ss":3,"ß":4,"\ud83d":5,"\ud83e":6}}"#,
        ] {
            check(body, None);
        }
    }
}
