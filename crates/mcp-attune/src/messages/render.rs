//! A pattern and its variables made into text.

use super::argument::{MessageArgument, MessageArguments};
use super::number::WrittenNumber;
use super::pattern::{
    FluentPattern, PatternFunction, PatternPiece, PatternValue, SelectExpression, SelectKey,
};
use super::set::FluentMessages;
use crate::format::{DecimalNumber, FormatLength, FractionDigits, PluralForm, ValueFormatter};

/// How long a rendered text may be, in bytes.
const MAX_RENDERED_BYTES: usize = 64 * 1024;

/// How many pieces may be put together: references can multiply.
const MAX_PIECES: u32 = 10_000;

/// For whom a text is rendered.
///
/// Rules: C6.
#[derive(Clone, Copy, Debug)]
pub struct MessageFormats<'a> {
    /// The language of the text, which says what its plural forms are.
    pub words: &'a ValueFormatter,
    /// How the reader writes numbers and dates.
    pub values: &'a ValueFormatter,
}

impl FluentMessages {
    /// What the reader gets for what a server says; none where no message fits, or it cannot be rendered.
    ///
    /// Rules: L8.
    #[must_use]
    pub fn translate_source(&self, text: &str, voice: MessageFormats<'_>) -> Option<String> {
        let found = self.matcher.find(text)?;
        let pattern = self.patterns.get(found.message as usize)?;
        let pairs = found.names.iter().zip(found.values);
        let arguments = pairs
            .fold(MessageArguments::new(), |all, (name, value)| all.with(name, MessageArgument::Live(value)));
        MessageRenderer::new(self, &arguments, voice).render(pattern)
    }

    /// The message of a key; none where there is none, or a variable is missing.
    #[must_use]
    pub fn render_key(
        &self,
        key: &str,
        arguments: &MessageArguments<'_>,
        voice: MessageFormats<'_>,
    ) -> Option<String> {
        MessageRenderer::new(self, arguments, voice).render(self.pattern(key)?)
    }
}

struct MessageRenderer<'a> {
    messages: &'a FluentMessages,
    arguments: &'a MessageArguments<'a>,
    voice: MessageFormats<'a>,
    out: String,
    fuel: u32,
}

impl<'a> MessageRenderer<'a> {
    fn new(
        messages: &'a FluentMessages,
        arguments: &'a MessageArguments<'a>,
        voice: MessageFormats<'a>,
    ) -> Self {
        Self { messages, arguments, voice, out: String::new(), fuel: MAX_PIECES }
    }

    fn render(mut self, pattern: &'a FluentPattern) -> Option<String> {
        self.pattern(pattern)?;
        Some(self.out)
    }

    /// References are not endless, and few in a row, which was seen when the messages were read.
    fn pattern(&mut self, pattern: &'a FluentPattern) -> Option<()> {
        for piece in &pattern.0 {
            self.fuel = self.fuel.checked_sub(1)?;
            match piece {
                PatternPiece::Text(text) => self.push(text)?,
                PatternPiece::Value(value) => self.value(value)?,
                PatternPiece::Select(select) => self.pattern(self.variant(select)?)?,
            }
        }
        Some(())
    }

    fn push(&mut self, text: &str) -> Option<()> {
        self.out.push_str(text);
        (self.out.len() <= MAX_RENDERED_BYTES).then_some(())
    }

    fn value(&mut self, value: &'a PatternValue) -> Option<()> {
        match value {
            PatternValue::Text(text) => self.push(text),
            PatternValue::Number(number) => {
                let written = MessageArgument::Number((**number).clone()).as_number()?;
                self.push(&self.number(&written, None, None))
            }
            PatternValue::Variable(name) => self.push(&self.argument(self.arguments.get(name)?)),
            PatternValue::Message(key) => self.pattern(self.messages.pattern(key)?),
            PatternValue::Call(name, call) => self.push(&self.call(self.arguments.get(name)?, **call)?),
        }
    }

    fn argument(&self, argument: &MessageArgument<'_>) -> String {
        let format = self.voice.values;
        match argument {
            MessageArgument::Text(text) => text.to_string(),
            MessageArgument::Date(date) => format.date(*date, FormatLength::Medium),
            MessageArgument::DateTime(civil) => format.date_time(*civil, FormatLength::Medium),
            MessageArgument::Instant(instant) => format.zoned(*instant, FormatLength::Medium),
            MessageArgument::Number(_) | MessageArgument::Live(_) => match (argument.as_number(), argument) {
                (Some(written), _) => self.number(&written, None, None),
                (None, MessageArgument::Live(text)) => (*text).to_owned(),
                (None, _) => String::new(),
            },
        }
    }

    fn number(
        &self,
        written: &WrittenNumber,
        digits: Option<FractionDigits>,
        grouped: Option<bool>,
    ) -> String {
        let digits = digits.unwrap_or(written.digits);
        if grouped.unwrap_or(written.grouped) {
            self.voice.values.number(&written.number, digits)
        } else {
            self.voice.values.ungrouped(&written.number, digits)
        }
    }

    fn call(&self, argument: &MessageArgument<'_>, call: PatternFunction) -> Option<String> {
        let format = self.voice.values;
        match call {
            PatternFunction::Text => match argument {
                MessageArgument::Live(text) => Some((*text).to_owned()),
                MessageArgument::Number(number) => Some(number.to_string()),
                other => Some(self.argument(other)),
            },
            PatternFunction::DateTime { date, time } => render_moment(format, argument, date, time),
            PatternFunction::Number { digits, grouped } => {
                Some(self.number(&argument.as_number()?, digits, grouped))
            }
            PatternFunction::Percent { digits } => Some(
                format.percent(&argument.as_number()?.number, digits.unwrap_or(FractionDigits::up_to(0))),
            ),
            PatternFunction::Currency(currency) => {
                Some(format.currency(&argument.as_number()?.number, currency))
            }
        }
    }

    fn variant(&self, select: &'a SelectExpression) -> Option<&'a FluentPattern> {
        let text;
        let (number, word) = match &select.on {
            PatternValue::Text(text) => (None, Some(&**text)),
            PatternValue::Number(number) => (MessageArgument::Number((**number).clone()).as_number(), None),
            PatternValue::Message(_) => (None, None),
            PatternValue::Variable(name) | PatternValue::Call(name, _) => {
                let argument = self.arguments.get(name)?;
                let as_text =
                    matches!(&select.on, PatternValue::Call(_, call) if **call == PatternFunction::Text);
                text = match argument {
                    MessageArgument::Text(text) => Some(&**text),
                    MessageArgument::Live(text) => Some(*text),
                    _ => None,
                };
                (argument.as_number().filter(|_| !as_text), text)
            }
        };
        let plural = number.as_ref().map(|written| plural_name(self.voice.words.plural(&written.number)));
        let fits = |key: &SelectKey| match key {
            SelectKey::Word(key) => word == Some(&**key) || plural == Some(&**key),
            SelectKey::Number(key) => {
                number.as_ref().is_some_and(|written| is_same_number(key, &written.number))
            }
        };
        let by_number =
            select.variants.iter().find(|(key, _)| matches!(key, SelectKey::Number(_)) && fits(key));
        let found = by_number.or_else(|| select.variants.iter().find(|(key, _)| fits(key)));
        found.or_else(|| select.variants.get(select.default)).map(|(_, pattern)| pattern)
    }
}

/// Whether two numbers are one, however many zeros they end in.
fn is_same_number(one: &DecimalNumber, other: &DecimalNumber) -> bool {
    let bare = |number: &DecimalNumber| {
        let text = number.to_string();
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    };
    one == other || bare(one) == bare(other)
}

fn plural_name(plural: PluralForm) -> &'static str {
    match plural {
        PluralForm::Zero => "zero",
        PluralForm::One => "one",
        PluralForm::Two => "two",
        PluralForm::Few => "few",
        PluralForm::Many => "many",
        PluralForm::Other => "other",
    }
}

/// A date, a time or both; what a server wrote may be a date or an instant as RFC 3339 has them.
fn render_moment(
    format: &ValueFormatter,
    argument: &MessageArgument<'_>,
    date: Option<FormatLength>,
    time: Option<FormatLength>,
) -> Option<String> {
    let civil = match argument {
        MessageArgument::Date(day) => return Some(format.date(*day, date.or(time)?)),
        MessageArgument::DateTime(civil) => *civil,
        MessageArgument::Instant(instant) => instant.to_zoned(format.zone().clone()).datetime(),
        MessageArgument::Live(text) => {
            if let Ok(day) = text.parse::<jiff::civil::Date>()
                && text.len() == 10
            {
                return Some(format.date(day, date.or(time)?));
            }
            text.parse::<jiff::Timestamp>().ok()?.to_zoned(format.zone().clone()).datetime()
        }
        MessageArgument::Text(_) | MessageArgument::Number(_) => return None,
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
