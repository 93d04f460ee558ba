//! The messages of one language.

use std::collections::HashMap;

use super::matcher::Matcher;
use super::pattern::{Pattern, Value};
use super::source::{Source, is_name};
use super::wrong::{Part, Wrong};

/// How many references in a row may lead from one message to another.
const REFERENCES: u8 = 8;

/// A message as it stands in a locale file.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// What it is called; a term, which only other messages use, begins with `-`.
    pub key: &'a str,
    /// What the server says, where the message is recognized in its text.
    pub source: Option<&'a str>,
    /// What the reader gets: a Fluent pattern.
    pub text: &'a str,
}

/// Messages that can be recognized and rendered.
///
/// Rules: L8, L10.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    keys: HashMap<Box<str>, u32>,
    pub(super) patterns: Box<[Pattern]>,
    pub(super) matcher: Matcher,
}

impl Messages {
    /// Reads messages; those that are wrong are left out, and told by their keys.
    #[must_use]
    pub fn new<'a>(entries: impl IntoIterator<Item = Entry<'a>>) -> (Self, Vec<(Box<str>, Wrong, Part)>) {
        let mut wrong = Vec::new();
        let mut read = Vec::new();
        let mut sources = HashMap::new();
        for entry in entries {
            match Read::new(entry, &mut sources) {
                Ok(message) => read.push(message),
                Err((what, part)) => wrong.push((entry.key.into(), what, part)),
            }
        }
        let unusable = unusable(&read);
        let mut messages = Self::default();
        let (mut patterns, mut live) = (Vec::new(), Vec::new());
        for (message, unusable) in read.into_iter().zip(unusable) {
            if let Some(what) = unusable {
                wrong.push((message.key, what, Part::Text));
                continue;
            }
            let number = u32::try_from(patterns.len()).unwrap_or(u32::MAX);
            live.extend(message.source.map(|source| (number, source)));
            messages.keys.insert(message.key, number);
            patterns.push(message.pattern);
        }
        messages.patterns = patterns.into();
        let (matcher, left_out) = Matcher::new(live);
        messages.matcher = matcher;
        let mut alike: Vec<_> =
            messages.keys.iter().filter(|(_, number)| left_out.binary_search(number).is_ok()).collect();
        alike.sort_unstable_by_key(|(_, number)| **number);
        wrong.extend(alike.into_iter().map(|(key, _)| (key.clone(), Wrong::TooAlike, Part::Source)));
        (messages, wrong)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether a message fits what a server says.
    #[must_use]
    pub fn fits(&self, text: &str) -> bool {
        self.matcher.find(text).is_some()
    }

    pub(super) fn pattern(&self, key: &str) -> Option<&Pattern> {
        self.patterns.get(*self.keys.get(key)? as usize)
    }
}

/// A message that is in order by itself.
struct Read {
    key: Box<str>,
    source: Option<Source>,
    pattern: Pattern,
    /// The keys that it refers to.
    refers: Vec<Box<str>>,
}

impl Read {
    fn new(entry: Entry<'_>, sources: &mut HashMap<Box<str>, Box<str>>) -> Result<Self, (Wrong, Part)> {
        if !is_name(entry.key.strip_prefix('-').unwrap_or(entry.key)) {
            return Err((Wrong::Key, Part::Key));
        }
        let source = entry.source.map(Source::read).transpose().map_err(|wrong| (wrong, Part::Source))?;
        let pattern = Pattern::read(entry.text).map_err(|wrong| (wrong, Part::Text))?;
        let (mut refers, mut unknown) = (Vec::new(), None);
        pattern.each(&mut |value| {
            if let Value::Message(key) = value {
                refers.push(key.clone());
            }
            let has = |name: &str| {
                source.as_ref().is_none_or(|source| source.names().iter().any(|it| **it == *name))
            };
            unknown = unknown.take().or_else(|| value.variable().filter(|name| !has(name)).map(Into::into));
        });
        if let Some(name) = unknown {
            return Err((Wrong::UnknownVariable(name), Part::Text));
        }
        if let Some(text) = entry.source
            && let Some(first) = sources.insert(text.into(), entry.key.into())
        {
            sources.insert(text.into(), first.clone());
            return Err((Wrong::RepeatedSource(first), Part::Source));
        }
        refers.sort_unstable();
        refers.dedup();
        Ok(Self { key: entry.key.into(), source, pattern, refers })
    }
}

/// What keeps each message from being used: references that lead nowhere, back, or too far.
///
/// Messages are settled from those without references on; what is never settled goes round in a circle, or refers
/// to what does.
fn unusable(read: &[Read]) -> Vec<Option<Wrong>> {
    let index: HashMap<&str, usize> = (0..).zip(read).map(|(at, message)| (&*message.key, at)).collect();
    let mut users = vec![Vec::new(); read.len()];
    let mut open: Vec<usize> = read.iter().map(|message| message.refers.len()).collect();
    let mut depth = vec![0u8; read.len()];
    let mut outcome: Vec<Option<Wrong>> = vec![Some(Wrong::Endless); read.len()];
    for (at, message) in (0..).zip(read) {
        for key in &message.refers {
            let slot = index.get(&**key).and_then(|used| users.get_mut(*used));
            if let Some(slot) = slot {
                slot.push(at);
            }
        }
    }
    let missing = |message: &Read| message.refers.iter().find(|key| !index.contains_key(&***key)).cloned();
    let mut settled: Vec<usize> = Vec::new();
    for ((at, message), outcome) in (0..).zip(read).zip(&mut outcome) {
        if let Some(key) = missing(message) {
            *outcome = Some(Wrong::UnknownMessage(key));
        } else if message.refers.is_empty() {
            *outcome = None;
            settled.push(at);
        }
    }
    while let Some(at) = settled.pop() {
        let below = depth.get(at).copied().unwrap_or_default();
        let usable = outcome.get(at).is_some_and(Option::is_none);
        let key = read.get(at).map(|message| message.key.clone()).unwrap_or_default();
        for &user in users.get(at).map(Vec::as_slice).unwrap_or_default() {
            let (Some(open), Some(depth), Some(outcome)) =
                (open.get_mut(user), depth.get_mut(user), outcome.get_mut(user))
            else {
                continue;
            };
            *open = open.saturating_sub(1);
            *depth = (*depth).max(below.saturating_add(1));
            if !usable && matches!(outcome, Some(Wrong::Endless)) {
                *outcome = Some(Wrong::UnknownMessage(key.clone()));
            }
            if *open == 0 {
                if matches!(outcome, Some(Wrong::Endless)) {
                    *outcome = (*depth > REFERENCES).then_some(Wrong::TooManyReferences);
                }
                settled.push(user);
            }
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::super::argument::Arguments;
    use super::super::render::Voice;
    use super::*;
    use crate::format::{Format, Formatters, Number};
    use crate::language::Tag;
    use jiff::tz::TimeZone;

    fn format(tag: &str) -> Format {
        Formatters::new(&Tag::parse(tag).unwrap()).format([], TimeZone::get("Europe/Zurich").unwrap())
    }

    fn messages(entries: &[(&str, &str, &str)]) -> Messages {
        let source = |text| (!str::is_empty(text)).then_some(text);
        let entries = entries.iter().map(|(key, text, said)| Entry { key, source: source(said), text });
        let (messages, wrong) = Messages::new(entries);
        assert_eq!(wrong, []);
        messages
    }

    #[track_caller]
    fn check(tag: &str, source: &str, text: &str, said: &str, expected: Option<&str>) {
        let format = format(tag);
        let messages = messages(&[("m", text, source)]);
        let live = messages.live(said, Voice { words: &format, values: &format });
        assert_eq!(live.as_deref(), expected, "{said}");
    }

    #[test]
    fn numbers_are_read_from_the_source_and_written_for_the_reader() {
        let (source, text) = ("{n} rows", "{ $n } Zeilen");
        check("de", source, text, "1,234.50 rows", Some("1.234,50 Zeilen"));
        // What the server did not group may be a year or a port.
        check("de", source, text, "12345 rows", Some("12345 Zeilen"));
        check("de", source, text, "-0.5 rows", Some("-0,5 Zeilen"));
        check("de", source, text, "007 rows", Some("007 Zeilen"));
        check("de", source, text, "many rows", Some("many Zeilen"));
        check("ar-EG", source, "{ $n }", "12 rows", Some("١٢"));
        check("de", source, "{ TEXT($n) }", "1,234.5 rows", Some("1,234.5"));
        check(
            "de",
            source,
            "{ NUMBER($n, useGrouping: 1, maximumFractionDigits: 0) }",
            "1234.5 rows",
            Some("1.235"),
        );
        check("de", source, "{ NUMBER($n, style: \"percent\") }", "0.5 rows", Some("50\u{a0}%"));
        check("de", source, "{ NUMBER($n, currency: \"CHF\") }", "7 rows", Some("7,00\u{a0}CHF"));
        check("de", source, "{ NUMBER($n) }", "many rows", None);
    }

    #[test]
    fn dates_are_written_for_the_reader() {
        let source = "Due {d}";
        check(
            "de",
            source,
            "bis { DATETIME($d, dateStyle: \"long\") }",
            "Due 2024-09-10",
            Some("bis 10. September 2024"),
        );
        let both = "{ DATETIME($d, dateStyle: \"short\", timeStyle: \"short\") }";
        check("de", source, both, "Due 2024-09-10T21:37:20Z", Some("10.09.24, 23:37"));
        check(
            "de",
            source,
            "{ DATETIME($d, timeStyle: \"short\") }",
            "Due 2024-09-10T21:37:20Z",
            Some("23:37"),
        );
        check("de", source, "{ DATETIME($d) }", "Due soon", None);
    }

    #[test]
    fn selects_by_plural_by_number_and_by_word() {
        let text = "{ $n ->\n [0] nic\n [one] { $n } strona\n [few] { $n } strony\n *[many] { $n } stron\n}";
        for (said, expected) in
            [("0", "nic"), ("1", "1 strona"), ("3", "3 strony"), ("5", "5 stron"), ("0.0", "nic")]
        {
            check("pl", "{n} pages", text, &format!("{said} pages"), Some(expected));
        }
        let text = "{ $state ->\n [open] offen\n [one] eins\n *[other] zu\n}";
        check("de", "It is {state}", text, "It is open", Some("offen"));
        check("de", "It is {state}", text, "It is shut", Some("zu"));
        check("de", "It is {state}", text, "It is 1", Some("eins"));
    }

    #[test]
    fn plural_forms_follow_the_text_and_numbers_the_reader() {
        let (german, french) = (format("de"), format("fr"));
        let text = "{ $n ->\n [one] { $n } Seite\n *[other] { $n } Seiten\n}";
        let messages = messages(&[("m", text, "{n} pages")]);
        // Zero is singular in French.
        let voice = Voice { words: &german, values: &french };
        assert_eq!(messages.live("0 pages", voice).unwrap(), "0 Seiten");
        assert_eq!(messages.live("1,234.5 pages", voice).unwrap(), "1\u{202f}234,5 Seiten");
    }

    #[test]
    fn messages_are_rendered_by_key_with_arguments() {
        let format = format("de");
        let messages = messages(&[
            (
                "seats",
                "{ $n ->\n [one] ein Platz\n *[other] { $n } Plätze\n} nach { $city } am { $day }, { -brand }",
                "",
            ),
            ("-brand", "Attune", ""),
        ]);
        let voice = Voice { words: &format, values: &format };
        let day = jiff::civil::date(2024, 9, 10);
        let arguments = Arguments::new().number("n", 2_000).text("city", "Bern").date("day", day);
        assert_eq!(
            messages.text("seats", &arguments, voice).unwrap(),
            "2.000 Plätze nach Bern am 10.09.2024, Attune"
        );
        assert_eq!(messages.text("seats", &Arguments::new(), voice), None);
        assert_eq!(messages.text("nothing", &arguments, voice), None);
        let half =
            Arguments::new().number("n", Number::parse("1.0").unwrap()).text("city", "x").date("day", day);
        assert!(messages.text("seats", &half, voice).unwrap().starts_with("1,0 Plätze"));
        let sum = Number::try_from(0.1 + 0.2).unwrap();
        let sum = Arguments::new().number("n", sum).text("city", "x").date("day", day);
        assert!(messages.text("seats", &sum, voice).unwrap().starts_with("0,3 Plätze"));
    }

    fn faults(entries: &[(&str, &str, &str)]) -> Vec<(String, Wrong)> {
        let source = |text| (!str::is_empty(text)).then_some(text);
        let entries = entries.iter().map(|(key, text, said)| Entry { key, source: source(said), text });
        let (_, wrong) = Messages::new(entries);
        wrong.into_iter().map(|(key, wrong, _)| (key.into(), wrong)).collect()
    }

    #[test]
    fn references_that_lead_nowhere_back_or_too_far_are_told() {
        assert_eq!(faults(&[("a", "{ a }", "")]), [("a".to_owned(), Wrong::Endless)]);
        let circle = [("a", "{ b }", ""), ("b", "{ -c }", ""), ("-c", "{ a } x", ""), ("fine", "x", "")];
        assert_eq!(faults(&circle).len(), 3);
        assert!(faults(&circle).iter().all(|(_, wrong)| *wrong == Wrong::Endless));
        let nowhere = [("a", "{ b }", ""), ("b", "{ gone }", "")];
        assert!(faults(&nowhere).contains(&("b".to_owned(), Wrong::UnknownMessage("gone".into()))));
        assert_eq!(faults(&nowhere).len(), 2);
        let row: Vec<_> = (0..12).map(|n| (format!("m{n}"), format!("{{ m{} }}", n + 1))).collect();
        let mut row: Vec<_> = row.iter().map(|(key, text)| (key.as_str(), text.as_str(), "")).collect();
        row.push(("m12", "end", ""));
        let faults = faults(&row);
        assert!(faults.contains(&("m3".to_owned(), Wrong::TooManyReferences)), "{faults:?}");
        assert_eq!(faults.len(), 4, "{faults:?}");
    }

    #[test]
    fn what_is_wrong_is_left_out_and_the_rest_stands() {
        let format = format("de");
        let entries = [
            ("a", "{ $x }", "say {y}"),
            ("b", "gut", "good"),
            ("c", "besser", "good"),
            ("d e", "x", ""),
            ("f", "{", ""),
        ];
        let source = |text| (!str::is_empty(text)).then_some(text);
        let entries = entries.iter().map(|(key, text, said)| Entry { key, source: source(said), text });
        let (messages, wrong) = Messages::new(entries);
        let parts: Vec<_> = wrong.iter().map(|(key, _, part)| (&**key, *part)).collect();
        assert_eq!(parts, [("a", Part::Text), ("c", Part::Source), ("d e", Part::Key), ("f", Part::Text)]);
        let voice = Voice { words: &format, values: &format };
        assert_eq!(messages.live("good", voice).unwrap(), "gut");
        assert_eq!((messages.len(), messages.is_empty()), (1, false));
    }

    #[test]
    fn text_that_multiplies_is_given_up() {
        let format = format("de");
        let many = "{ a }".repeat(2_000);
        let next = "{ b }".repeat(2_000);
        let messages = messages(&[("a", "{\"\"}", ""), ("b", &many, ""), ("c", &next, "go")]);
        let voice = Voice { words: &format, values: &format };
        assert_eq!(messages.live("go", voice), None);
        let long = "x".repeat(60_000);
        let messages = self::messages(&[("a", &long, ""), ("b", "{ a }{ a }", "go")]);
        assert_eq!(messages.live("go", voice), None);
    }
}
