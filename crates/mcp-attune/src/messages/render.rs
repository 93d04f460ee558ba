//! A pattern and its variables made into text.

use super::argument::{Argument, Arguments};
use super::number::Written;
use super::pattern::{Call, Key, Pattern, Piece, Select, Value};
use super::set::Messages;
use crate::format::{Digits, Format, Length, Number, Plural};

/// How long a rendered text may be, in bytes.
const LONGEST: usize = 64 * 1024;

/// How many pieces may be put together: references can multiply.
const FUEL: u32 = 10_000;

/// For whom a text is rendered.
///
/// Rules: C6.
#[derive(Clone, Copy, Debug)]
pub struct Voice<'a> {
    /// The language of the text, which says what its plural forms are.
    pub words: &'a Format,
    /// How the reader writes numbers and dates.
    pub values: &'a Format,
}

impl Messages {
    /// What the reader gets for what a server says; none where no message fits, or it cannot be rendered.
    ///
    /// Rules: L8.
    #[must_use]
    pub fn live(&self, text: &str, voice: Voice<'_>) -> Option<String> {
        let found = self.matcher.find(text)?;
        let pattern = self.patterns.get(found.message as usize)?;
        let pairs = found.names.iter().zip(found.values);
        let arguments =
            pairs.fold(Arguments::new(), |all, (name, value)| all.with(name, Argument::Live(value)));
        Render::new(self, &arguments, voice).text(pattern)
    }

    /// The message of a key; none where there is none, or a variable is missing.
    #[must_use]
    pub fn text(&self, key: &str, arguments: &Arguments<'_>, voice: Voice<'_>) -> Option<String> {
        Render::new(self, arguments, voice).text(self.pattern(key)?)
    }
}

struct Render<'a> {
    messages: &'a Messages,
    arguments: &'a Arguments<'a>,
    voice: Voice<'a>,
    out: String,
    fuel: u32,
}

impl<'a> Render<'a> {
    fn new(messages: &'a Messages, arguments: &'a Arguments<'a>, voice: Voice<'a>) -> Self {
        Self { messages, arguments, voice, out: String::new(), fuel: FUEL }
    }

    fn text(mut self, pattern: &'a Pattern) -> Option<String> {
        self.pattern(pattern)?;
        Some(self.out)
    }

    /// References are not endless, and few in a row, which was seen when the messages were read.
    fn pattern(&mut self, pattern: &'a Pattern) -> Option<()> {
        for piece in &pattern.0 {
            self.fuel = self.fuel.checked_sub(1)?;
            match piece {
                Piece::Text(text) => self.push(text)?,
                Piece::Value(value) => self.value(value)?,
                Piece::Select(select) => self.pattern(self.variant(select)?)?,
            }
        }
        Some(())
    }

    fn push(&mut self, text: &str) -> Option<()> {
        self.out.push_str(text);
        (self.out.len() <= LONGEST).then_some(())
    }

    fn value(&mut self, value: &'a Value) -> Option<()> {
        match value {
            Value::Text(text) => self.push(text),
            Value::Number(number) => {
                let written = Argument::Number((**number).clone()).number()?;
                self.push(&self.number(&written, None, None))
            }
            Value::Variable(name) => self.push(&self.argument(self.arguments.get(name)?)),
            Value::Message(key) => self.pattern(self.messages.pattern(key)?),
            Value::Call(name, call) => self.push(&self.call(self.arguments.get(name)?, **call)?),
        }
    }

    fn argument(&self, argument: &Argument<'_>) -> String {
        let format = self.voice.values;
        match argument {
            Argument::Text(text) => text.to_string(),
            Argument::Date(date) => format.date(*date, Length::Medium),
            Argument::DateTime(civil) => format.date_time(*civil, Length::Medium),
            Argument::Instant(instant) => format.zoned(*instant, Length::Medium),
            Argument::Number(_) | Argument::Live(_) => match (argument.number(), argument) {
                (Some(written), _) => self.number(&written, None, None),
                (None, Argument::Live(text)) => (*text).to_owned(),
                (None, _) => String::new(),
            },
        }
    }

    fn number(&self, written: &Written, digits: Option<Digits>, grouped: Option<bool>) -> String {
        let digits = digits.unwrap_or(written.digits);
        if grouped.unwrap_or(written.grouped) {
            self.voice.values.number(&written.number, digits)
        } else {
            self.voice.values.ungrouped(&written.number, digits)
        }
    }

    fn call(&self, argument: &Argument<'_>, call: Call) -> Option<String> {
        let format = self.voice.values;
        match call {
            Call::Text => match argument {
                Argument::Live(text) => Some((*text).to_owned()),
                Argument::Number(number) => Some(number.to_string()),
                other => Some(self.argument(other)),
            },
            Call::DateTime { date, time } => moment(format, argument, date, time),
            Call::Number { digits, grouped } => Some(self.number(&argument.number()?, digits, grouped)),
            Call::Percent { digits } => {
                Some(format.percent(&argument.number()?.number, digits.unwrap_or(Digits::up_to(0))))
            }
            Call::Currency(currency) => Some(format.currency(&argument.number()?.number, currency)),
        }
    }

    fn variant(&self, select: &'a Select) -> Option<&'a Pattern> {
        let text;
        let (number, word) = match &select.on {
            Value::Text(text) => (None, Some(&**text)),
            Value::Number(number) => (Argument::Number((**number).clone()).number(), None),
            Value::Message(_) => (None, None),
            Value::Variable(name) | Value::Call(name, _) => {
                let argument = self.arguments.get(name)?;
                let as_text = matches!(&select.on, Value::Call(_, call) if **call == Call::Text);
                text = match argument {
                    Argument::Text(text) => Some(&**text),
                    Argument::Live(text) => Some(*text),
                    _ => None,
                };
                (argument.number().filter(|_| !as_text), text)
            }
        };
        let plural = number.as_ref().map(|written| name(self.voice.words.plural(&written.number)));
        let fits = |key: &Key| match key {
            Key::Word(key) => word == Some(&**key) || plural == Some(&**key),
            Key::Number(key) => number.as_ref().is_some_and(|written| equal(key, &written.number)),
        };
        let by_number = select.variants.iter().find(|(key, _)| matches!(key, Key::Number(_)) && fits(key));
        let found = by_number.or_else(|| select.variants.iter().find(|(key, _)| fits(key)));
        found.or_else(|| select.variants.get(select.default)).map(|(_, pattern)| pattern)
    }
}

/// Whether two numbers are one, however many zeros they end in.
fn equal(one: &Number, other: &Number) -> bool {
    let bare = |number: &Number| {
        let text = number.to_string();
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    };
    one == other || bare(one) == bare(other)
}

fn name(plural: Plural) -> &'static str {
    match plural {
        Plural::Zero => "zero",
        Plural::One => "one",
        Plural::Two => "two",
        Plural::Few => "few",
        Plural::Many => "many",
        Plural::Other => "other",
    }
}

/// A date, a time or both; what a server wrote may be a date or an instant as RFC 3339 has them.
fn moment(
    format: &Format,
    argument: &Argument<'_>,
    date: Option<Length>,
    time: Option<Length>,
) -> Option<String> {
    let civil = match argument {
        Argument::Date(day) => return Some(format.date(*day, date.or(time)?)),
        Argument::DateTime(civil) => *civil,
        Argument::Instant(instant) => instant.to_zoned(format.zone().clone()).datetime(),
        Argument::Live(text) => {
            if let Ok(day) = text.parse::<jiff::civil::Date>()
                && text.len() == 10
            {
                return Some(format.date(day, date.or(time)?));
            }
            text.parse::<jiff::Timestamp>().ok()?.to_zoned(format.zone().clone()).datetime()
        }
        Argument::Text(_) | Argument::Number(_) => return None,
    };
    match (date, time) {
        (Some(date), Some(time)) if date == time => Some(format.date_time(civil, date)),
        (Some(date), Some(time)) => {
            Some(format!("{}, {}", format.date(civil.date(), date), format.time(civil.time(), time)))
        }
        (Some(date), None) => Some(format.date(civil.date(), date)),
        (None, Some(time)) => Some(format.time(civil.time(), time)),
        (None, None) => None,
    }
}
