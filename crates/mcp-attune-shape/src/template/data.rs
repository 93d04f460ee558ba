//! Data as templates see it: members in their order, numbers as they were written.
//!
//! 1. Whole numbers are exact up to 38 digits. Numbers with a point or an exponent are floats where a float
//!    says the same; what neither can say exactly stays as it was written: it can be printed and formatted,
//!    not calculated with.
//! 2. Half a character (an unpaired surrogate), which JSON can write and text cannot hold, is U+FFFD.
//! 3. A string is what the server wrote, so that comparing means what it says. What people read in its place,
//!    where the caller's locale files have something else, is kept [beside](LocalizedStrings) and used where
//!    it is printed.

use core::fmt;
use std::collections::HashMap;
use std::sync::Arc;

use mcp_attune_wire::json::{self, JsonKind, JsonString, JsonWalker};
use minijinja::value::{Enumerator, Object, ObjectExt as _, ObjectRepr, Value};

use crate::compiled_schema::Subschema;
use crate::render::ResultLocation;
use mcp_attune::catalog::LocaleChain;

/// The translations of strings in the data, by the address of the string in memory.
///
/// A minijinja [`Value`] that is copied shares its text with the original, so a string from the data is
/// recognized wherever a template prints it, in loops and macros too. What a filter or an operator makes of
/// it is another text, and is not translated.
///
/// Rules: L22.
#[derive(Default)]
pub(super) struct LocalizedStrings(HashMap<usize, (Arc<str>, Box<str>)>);

impl LocalizedStrings {
    /// Returns what people read in the place of a value, or `None` if it is no string of the data that has a
    /// translation.
    pub(super) fn get(&self, value: &Value) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&value.as_str()?.as_ptr().addr()).map(|(_, told)| &**told)
    }

    /// Adds a string and its translation, and returns the value that is recognized by [`get`](Self::get). The
    /// string is held here, so that no other string can come to stand at its address.
    fn put(&mut self, text: &str, told: String) -> Value {
        let held: Arc<str> = text.into();
        self.0.insert(held.as_ptr().addr(), (held.clone(), told.into()));
        Value::from(held)
    }
}

/// Where translations of the strings of a result are looked up.
pub(super) struct TranslationSource<'a> {
    /// The tool that the result is of.
    pub(super) tool: &'a str,
    /// The caller's locale files.
    pub(super) chain: &'a LocaleChain,
    /// The schema of the result, which gives the path of fields inside of definitions.
    pub(super) output: Option<Subschema<'a>>,
}

/// Converts JSON to a minijinja value. It recurses as deep as the JSON is nested, which was bounded when that
/// was read.
pub(super) fn value(value: json::SpannedValue<'_>) -> Value {
    value_from_walk(&mut value.walk(), None, &mut LocalizedStrings::default())
}

/// Converts JSON like [`value`], and looks up a translation for each string in it.
pub(super) fn localized_value(
    value: json::SpannedValue<'_>,
    lookup: &TranslationSource<'_>,
) -> (Value, LocalizedStrings) {
    let mut found = LocalizedStrings::default();
    let value =
        value_from_walk(&mut value.walk(), Some((lookup, &ResultLocation::root(lookup.output))), &mut found);
    (value, found)
}

/// Converts the value that a walk stands at, so that every byte is gone over once. `place` says where
/// translations are looked up and where in the result the value stands; without it nothing is looked up.
/// Translations go into `found`.
fn value_from_walk(
    walk: &mut JsonWalker<'_>,
    place: Option<(&TranslationSource<'_>, &ResultLocation<'_>)>,
    found: &mut LocalizedStrings,
) -> Value {
    match walk.kind() {
        JsonKind::Object => {
            let mut members = Vec::new();
            walk.members(|name, walk| {
                let name = text(name);
                let member =
                    place.map(|(lookup, place)| (lookup, place.member(name.as_str().unwrap_or_default())));
                let value =
                    value_from_walk(walk, member.as_ref().map(|(lookup, place)| (*lookup, place)), found);
                members.push((name, value));
            });
            Value::from_object(OrderedMembers::new(members))
        }
        JsonKind::Array => {
            let items = place.map(|(lookup, place)| (lookup, place.items()));
            let items = items.as_ref().map(|(lookup, place)| (*lookup, place));
            let mut elements = Vec::new();
            walk.elements(|walk| elements.push(value_from_walk(walk, items, found)));
            Value::from(elements)
        }
        JsonKind::String => {
            let value = walk.value().text().map_or(Value::UNDEFINED, text);
            let told = place.zip(value.as_str()).and_then(|((lookup, place), text)| {
                let told = place.find_value(|path| lookup.chain.translate_value(lookup.tool, path, text))?;
                Some(found.put(text, told))
            });
            told.unwrap_or(value)
        }
        JsonKind::Number => number(walk.value().raw()),
        JsonKind::Boolean => Value::from(walk.value().raw() == "true"),
        JsonKind::Null => {
            walk.value();
            Value::from(())
        }
    }
}

fn text(text: JsonString<'_>) -> Value {
    match text.as_plain_str() {
        Some(plain) => Value::from(plain),
        None => Value::from(
            text.chars().map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>(),
        ),
    }
}

/// Converts a number: to an integer, to a float that says the same, or else to an [`ExactNumber`].
fn number(raw: &str) -> Value {
    if !raw.contains(['.', 'e', 'E']) {
        // `-0` is not 0 to whoever wrote it.
        return match raw.parse::<i64>() {
            Ok(small) if raw != "-0" => Value::from(small),
            _ => raw
                .parse::<i128>()
                .ok()
                .filter(|_| raw != "-0")
                .map_or_else(|| exact_number(raw), Value::from),
        };
    }
    match raw.parse::<f64>() {
        Ok(float) if is_exact_float(float, raw) => Value::from(float),
        _ => exact_number(raw),
    }
}

fn exact_number(raw: &str) -> Value {
    Value::from_object(ExactNumber(raw.into()))
}

/// Returns whether a float says the same as the text that it was parsed from: whether its shortest text has
/// the same digits, apart from zeros at either end.
fn is_exact_float(float: f64, raw: &str) -> bool {
    let digits = |text: &str| {
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        digits.trim_matches('0').to_owned()
    };
    let significant = raw.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).count();
    // Fifteen digits survive in every float of ordinary size.
    let ordinary = float == 0.0 || (1e-300..1e300).contains(&float.abs());
    if ordinary && significant <= 15 {
        return float != 0.0 || digits(raw).is_empty();
    }
    float.is_finite() && digits(&format!("{float:e}")) == digits(raw)
}

/// A number that no integer or float here can hold, as its digits. Templates can print and format it;
/// arithmetic with it fails.
#[derive(Debug)]
pub(super) struct ExactNumber(pub(super) Box<str>);

impl Object for ExactNumber {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A JSON object for templates, which iterates over its members in the order in which they were written.
#[derive(Debug)]
struct OrderedMembers {
    /// Names and values, in the order of the text.
    all: Vec<(Value, Value)>,
    /// Indexes into `all`, sorted by name; empty if there are so few members that they are searched one by
    /// one.
    sorted: Vec<u32>,
}

impl OrderedMembers {
    /// Up to this many members are faster searched one by one.
    const MAX_LINEAR_SEARCH: usize = 16;

    fn new(all: Vec<(Value, Value)>) -> Self {
        let mut sorted = Vec::new();
        if all.len() > Self::MAX_LINEAR_SEARCH {
            sorted.extend(0..u32::try_from(all.len()).unwrap_or(u32::MAX));
            let name = |index: &u32| all.get(*index as usize).and_then(|(name, _)| name.as_str());
            sorted.sort_unstable_by(|one, other| name(one).cmp(&name(other)));
        }
        Self { all, sorted }
    }

    fn find(&self, name: &str) -> Option<&Value> {
        if self.sorted.is_empty() {
            return self.all.iter().find(|(held, _)| held.as_str() == Some(name)).map(|(_, value)| value);
        }
        let held = |index: &u32| self.all.get(*index as usize).and_then(|(name, _)| name.as_str());
        let at = self.sorted.binary_search_by(|index| held(index).cmp(&Some(name))).ok()?;
        self.all.get(*self.sorted.get(at)? as usize).map(|(_, value)| value)
    }
}

impl Object for OrderedMembers {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.find(key.as_str()?).cloned()
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.find(key).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_key_value_enumerator(|this| Box::new(this.all.iter().cloned()))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.all.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::print;
    use mcp_attune_wire::message::Message;

    fn read(json: &str) -> Value {
        value(Message::parse(json.as_bytes()).unwrap().body())
    }

    #[test]
    fn numbers_say_what_was_written() {
        for (raw, printed) in [
            ("7", "7"),
            ("-9223372036854775809", "-9223372036854775809"),
            ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
            ("170141183460469231731687303715884105728", "170141183460469231731687303715884105728"),
            ("-0", "-0"),
            ("0.1", "0.1"),
            ("1.50", "1.5"),
            ("8.0", "8.0"),
            ("0.12345678901234567890", "0.12345678901234567890"),
            ("1e400", "1e400"),
            ("1e-400", "1e-400"),
            ("123456789012345678.5", "123456789012345678.5"),
        ] {
            assert_eq!(print::plain(&read(raw)).unwrap(), printed, "{raw}");
        }
    }

    #[test]
    fn members_keep_their_order_and_are_found_however_many_there_are() {
        for count in [0, 3, 16, 17, 1000] {
            let members: Vec<_> =
                (0..count).map(|number| format!("\"m{}\":{number}", count - number)).collect();
            let object = read(&format!("{{{}}}", members.join(",")));
            assert_eq!(object.len(), Some(count));
            let names: Vec<_> = object.try_iter().unwrap().map(|name| name.to_string()).collect();
            assert_eq!(names, (0..count).map(|number| format!("m{}", count - number)).collect::<Vec<_>>());
            for number in 0..count {
                let name = format!("m{}", count - number);
                assert_eq!(object.get_attr(&name).unwrap(), Value::from(number), "{name} of {count}");
            }
            assert!(object.get_attr("none").unwrap().is_undefined());
        }
    }

    #[test]
    fn half_a_character_is_a_mark() {
        assert_eq!(read(r#""a\ud83db""#).as_str(), Some("a\u{fffd}b"));
        assert_eq!(read(r#""\ud83d\ude00""#).as_str(), Some("😀"));
    }
}
