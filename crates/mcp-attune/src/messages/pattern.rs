//! Fluent patterns, read by `fluent-syntax` and made ready for rendering.

use fluent_syntax::ast::{
    CallArguments, Entry, Expression, InlineExpression, Pattern as Ast, PatternElement, VariantKey,
};
use fluent_syntax::parser;
use fluent_syntax::unicode::unescape_unicode_to_string;

use super::error::MessageDefinitionError;
use crate::format::{Currency, DecimalNumber, FormatLength, FractionDigits};

/// How deep braces and brackets may stand inside each other; the parser calls itself for each.
const MAX_NESTING: usize = 16;

/// Writes text without variables as a Fluent pattern that renders to it. The text stands on one line.
///
/// ```
/// use mcp_attune::messages::literal_pattern;
///
/// assert_eq!(literal_pattern("{id} is taken"), r#"{"{"}id{"}"} is taken"#);
/// ```
#[must_use]
pub fn literal_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '{' => pattern.push_str(r#"{"{"}"#),
            '}' => pattern.push_str(r#"{"}"}"#),
            _ => pattern.push(char),
        }
    }
    pattern
}

/// A pattern that can be rendered.
#[derive(Clone, Debug, Default)]
pub(super) struct FluentPattern(pub(super) Box<[PatternPiece]>);

#[derive(Clone, Debug)]
pub(super) enum PatternPiece {
    Text(Box<str>),
    Value(PatternValue),
    Select(Box<SelectExpression>),
}

/// What has a value: it is shown, or it selects.
#[derive(Clone, Debug)]
pub(super) enum PatternValue {
    Text(Box<str>),
    Number(Box<DecimalNumber>),
    Variable(Box<str>),
    /// A message, by its key until it is known where it stands.
    Message(Box<str>),
    Call(Box<str>, Box<PatternFunction>),
}

#[derive(Clone, Debug)]
pub(super) struct SelectExpression {
    pub(super) on: PatternValue,
    pub(super) variants: Box<[(SelectKey, FluentPattern)]>,
    pub(super) default: usize,
}

#[derive(Clone, Debug)]
pub(super) enum SelectKey {
    Word(Box<str>),
    Number(DecimalNumber),
}

/// The functions that a pattern can apply to a variable.
///
/// `NUMBER($n, minimumFractionDigits: 2, maximumFractionDigits: 2, useGrouping: 0, style: "percent")`; with
/// `currency: "CHF"` it is money. `DATETIME($d, dateStyle: "long", timeStyle: "short")`, where `none` leaves one of the
/// two out. `TEXT($v)` carries over what the server wrote, also where it reads as a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternFunction {
    /// A number with these digits, in groups or not.
    Number {
        /// How many digits behind the point; none: as many as the number has.
        digits: Option<FractionDigits>,
        /// Whether digits are grouped; none: as the number was written.
        grouped: Option<bool>,
    },
    /// A ratio in hundredths.
    Percent {
        /// How many digits behind the point.
        digits: Option<FractionDigits>,
    },
    /// An amount of money.
    Currency(Currency),
    /// A date, a time, or both.
    DateTime {
        /// How long the date is; none: left out.
        date: Option<FormatLength>,
        /// How long the time is; none: left out.
        time: Option<FormatLength>,
    },
    /// As it was written.
    Text,
}

impl FluentPattern {
    /// Reads a pattern; `text` is what stands behind the `=` of a Fluent message.
    pub(super) fn read(text: &str) -> Result<Self, MessageDefinitionError> {
        if depth(text) > MAX_NESTING {
            return Err(MessageDefinitionError::TooDeep);
        }
        // Lines after the first belong to a message when they are indented.
        let resource = format!("m = {}\n", text.replace('\n', "\n "));
        let read = match parser::parse(resource.as_str()) {
            Ok(read) => read,
            Err((_, errors)) => {
                let first = errors.first().map(|error| error.kind.to_string()).unwrap_or_default();
                return Err(MessageDefinitionError::Syntax(first.into()));
            }
        };
        match read.body.as_slice() {
            [Entry::Message(message)] if !message.attributes.is_empty() => {
                Err(MessageDefinitionError::Attribute)
            }
            [Entry::Message(message)] => message
                .value
                .as_ref()
                .map_or_else(|| Err(MessageDefinitionError::Syntax("no text".into())), pattern),
            _ => Err(MessageDefinitionError::Syntax("more than one message".into())),
        }
    }

    /// Every value in it, in whatever variant.
    pub(super) fn for_each_value(&self, seen: &mut impl FnMut(&PatternValue)) {
        for piece in &self.0 {
            match piece {
                PatternPiece::Text(_) => {}
                PatternPiece::Value(value) => seen(value),
                PatternPiece::Select(select) => {
                    seen(&select.on);
                    for (_, pattern) in &select.variants {
                        pattern.for_each_value(seen);
                    }
                }
            }
        }
    }
}

impl PatternValue {
    /// The variable that it needs.
    pub(super) fn variable(&self) -> Option<&str> {
        match self {
            Self::Variable(name) | Self::Call(name, _) => Some(name),
            Self::Text(_) | Self::Number(_) | Self::Message(_) => None,
        }
    }
}

/// How deep braces and brackets stand inside each other, those in quotes left out.
fn depth(text: &str) -> usize {
    let (mut open, mut deepest, mut quoted, mut escaped) = (0usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            b'\n' => (quoted, escaped) = (false, false),
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' if open > 0 => quoted = !quoted,
            _ if quoted => {}
            b'{' => open += 1,
            b'(' if open > 0 => open += 1,
            b'}' | b')' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

fn pattern(ast: &Ast<&str>) -> Result<FluentPattern, MessageDefinitionError> {
    let mut pieces = Vec::new();
    for element in &ast.elements {
        let expression = match element {
            PatternElement::TextElement { value } => {
                // The parser gives each line by itself.
                match pieces.last_mut() {
                    Some(PatternPiece::Text(before)) => *before = format!("{before}{value}").into(),
                    _ => pieces.push(PatternPiece::Text((*value).into())),
                }
                continue;
            }
            PatternElement::Placeable { expression } => expression,
        };
        pieces.push(piece(expression)?);
    }
    Ok(FluentPattern(pieces.into()))
}

fn piece(expression: &Expression<&str>) -> Result<PatternPiece, MessageDefinitionError> {
    match expression {
        // Braces in braces mean no more than one pair.
        Expression::Inline(InlineExpression::Placeable { expression }) => piece(expression),
        Expression::Inline(inline) => value(inline).map(PatternPiece::Value),
        Expression::Select { selector, variants } => {
            let default = variants.iter().position(|variant| variant.default).unwrap_or_default();
            let read = variants.iter().map(|variant| {
                let key = match variant.key {
                    VariantKey::Identifier { name } => SelectKey::Word(name.into()),
                    VariantKey::NumberLiteral { value } => SelectKey::Number(number(value)?),
                };
                Ok((key, pattern(&variant.value)?))
            });
            let variants = read.collect::<Result<_, MessageDefinitionError>>()?;
            Ok(PatternPiece::Select(Box::new(SelectExpression { on: value(selector)?, variants, default })))
        }
    }
}

fn value(inline: &InlineExpression<&str>) -> Result<PatternValue, MessageDefinitionError> {
    match inline {
        InlineExpression::StringLiteral { value } => {
            Ok(PatternValue::Text(unescape_unicode_to_string(value).into()))
        }
        InlineExpression::NumberLiteral { value } => Ok(PatternValue::Number(Box::new(number(value)?))),
        InlineExpression::VariableReference { id } => Ok(PatternValue::Variable(id.name.into())),
        InlineExpression::MessageReference { id, attribute: None } => {
            Ok(PatternValue::Message(id.name.into()))
        }
        InlineExpression::TermReference { id, attribute: None, arguments: None } => {
            Ok(PatternValue::Message(format!("-{}", id.name).into()))
        }
        InlineExpression::FunctionReference { id, arguments } => call(id.name, arguments),
        InlineExpression::TermReference { attribute: None, .. } => {
            Err(MessageDefinitionError::Syntax("terms take no arguments here".into()))
        }
        InlineExpression::MessageReference { .. } | InlineExpression::TermReference { .. } => {
            Err(MessageDefinitionError::Attribute)
        }
        InlineExpression::Placeable { .. } => Err(MessageDefinitionError::Syntax("braces in braces".into())),
    }
}

fn number(text: &str) -> Result<DecimalNumber, MessageDefinitionError> {
    DecimalNumber::parse(text).map_err(|wrong| MessageDefinitionError::Syntax(wrong.to_string().into()))
}

fn call(function: &str, arguments: &CallArguments<&str>) -> Result<PatternValue, MessageDefinitionError> {
    let [InlineExpression::VariableReference { id }] = arguments.positional.as_slice() else {
        return Err(MessageDefinitionError::BadArgument("a variable".into()));
    };
    let named = NamedCallArguments(arguments);
    let call = match function {
        "NUMBER" => {
            named.reject_unknown(&[
                "minimumFractionDigits",
                "maximumFractionDigits",
                "useGrouping",
                "style",
                "currency",
            ])?;
            named.number_style()?
        }
        "DATETIME" => {
            named.reject_unknown(&["dateStyle", "timeStyle"])?;
            named.date_style()?
        }
        "TEXT" => {
            named.reject_unknown(&[])?;
            PatternFunction::Text
        }
        other => return Err(MessageDefinitionError::UnknownFunction(other.into())),
    };
    Ok(PatternValue::Call(id.name.into(), Box::new(call)))
}

/// The named arguments of a call.
struct NamedCallArguments<'a>(&'a CallArguments<&'a str>);

impl<'a> NamedCallArguments<'a> {
    fn reject_unknown(&self, known: &[&str]) -> Result<(), MessageDefinitionError> {
        let unknown = self.0.named.iter().find(|argument| !known.contains(&argument.name.name));
        unknown.map_or(Ok(()), |argument| Err(MessageDefinitionError::BadArgument(argument.name.name.into())))
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let argument = self.0.named.iter().find(|argument| argument.name.name == name)?;
        match argument.value {
            InlineExpression::StringLiteral { value } | InlineExpression::NumberLiteral { value } => {
                Some(value)
            }
            _ => None,
        }
    }

    fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, MessageDefinitionError> {
        self.get(name)
            .map(|text| read(text).ok_or_else(|| MessageDefinitionError::BadArgument(name.into())))
            .transpose()
    }

    fn number_style(&self) -> Result<PatternFunction, MessageDefinitionError> {
        let least = self.read("minimumFractionDigits", |text| text.parse().ok())?;
        let most = self.read("maximumFractionDigits", |text| text.parse().ok())?;
        let digits = match (least, most) {
            (None, None) => None,
            (Some(least), None) => Some(FractionDigits::between(least, 3)),
            (least, Some(most)) => Some(FractionDigits::between(least.unwrap_or(0), most)),
        };
        let grouped = self.read("useGrouping", |text| match text {
            "0" | "false" => Some(false),
            "1" | "true" => Some(true),
            _ => None,
        })?;
        let currency = self.read("currency", |code| Currency::parse(code).ok())?;
        match (self.get("style").unwrap_or("decimal"), currency) {
            ("decimal", None) => Ok(PatternFunction::Number { digits, grouped }),
            ("percent", None) => Ok(PatternFunction::Percent { digits }),
            ("decimal" | "currency", Some(currency)) => Ok(PatternFunction::Currency(currency)),
            ("percent" | "currency", _) => Err(MessageDefinitionError::BadArgument("currency".into())),
            _ => Err(MessageDefinitionError::BadArgument("style".into())),
        }
    }

    fn date_style(&self) -> Result<PatternFunction, MessageDefinitionError> {
        let style =
            |text: &str| if text == "none" { Some(None) } else { FormatLength::named(text).map(Some) };
        let (date, time) = (self.read("dateStyle", style)?, self.read("timeStyle", style)?);
        Ok(match (date, time) {
            (None, None) => PatternFunction::DateTime {
                date: Some(FormatLength::Medium),
                time: Some(FormatLength::Medium),
            },
            (date, time) => PatternFunction::DateTime { date: date.flatten(), time: time.flatten() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_patterns_as_they_stand_in_a_json_string() {
        for text in [
            "plain",
            "two\nlines",
            "{ $count ->\n    [one] Eine Seite\n   *[other] { $count } Seiten\n}",
            "{$a ->\n[0] none\n*[other] {\"{\"}x{\"}\"}\n} and more",
            "{ NUMBER($n, minimumFractionDigits: 2) } { DATETIME($d, dateStyle: \"long\") } { TEXT($v) } { other } { -brand }",
            "{{ $a }}",
        ] {
            assert!(FluentPattern::read(text).is_ok(), "{text}: {:?}", FluentPattern::read(text).err());
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, wrong) in [
            ("{ $count", "no Fluent pattern"),
            ("a }", "no Fluent pattern"),
            ("{ $a ->\n [one] x\n}", "no Fluent pattern"),
            ("", "no Fluent pattern"),
            (" \n ", "no Fluent pattern"),
            ("{ UPPER($x) }", "there is no function UPPER"),
            ("{ NUMBER(1) }", "the argument a variable"),
            ("{ NUMBER($x, color: 1) }", "the argument color"),
            ("{ NUMBER($x, style: \"currency\") }", "the argument currency"),
            ("{ NUMBER($x, currency: \"francs\") }", "the argument currency"),
            ("{ DATETIME($x, dateStyle: \"huge\") }", "the argument dateStyle"),
            ("{ message.title }", "messages have no attributes"),
            ("x\n.title = y", "messages have no attributes"),
            ("{ -brand(case: \"x\") }", "no Fluent pattern: terms"),
        ] {
            let found = FluentPattern::read(text).unwrap_err().to_string();
            assert!(found.starts_with(wrong), "{text}: {found}");
        }
    }

    #[test]
    fn counts_braces_before_the_parser_calls_itself() {
        for deep in [
            format!("{}1{}", "{".repeat(100_000), "}".repeat(100_000)),
            format!("{{{}", "A(".repeat(100_000)),
        ] {
            assert_eq!(FluentPattern::read(&deep).unwrap_err(), MessageDefinitionError::TooDeep);
        }
        assert!(FluentPattern::read(&"{\"{\"}".repeat(1000)).is_ok());
        assert_eq!(depth("(((({ $a } \")\" (("), 1);
    }
}
