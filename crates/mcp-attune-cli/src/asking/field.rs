//! One field of a form that a server wants to have filled in.

use mcp_attune::context::Rfc3339Instant;
use mcp_attune_shape::CompiledSchema;
use mcp_attune_wire::json::SpannedValue as Written;
use serde_json::Value;

use super::person::{FormAbortReason, Prompter, read_form_reply};
use super::words::{QuestionTexts, fill_placeholders};
use crate::show::plain;
use crate::show::text_member;
use crate::text::quoted;

/// A field of a form.
pub(super) struct FormField {
    title: String,
    description: Option<String>,
    kind: String,
    format: Option<String>,
    pub(super) required: bool,
    pub(super) default: Option<Value>,
    /// Values to choose from, and what they are called.
    choices: Vec<(Value, String)>,
    schema: Option<CompiledSchema>,
}

impl FormField {
    pub(super) fn read(name: &str, schema: Written<'_>, required: bool) -> Self {
        let value = |written: Written<'_>| serde_json::from_str::<Value>(written.raw()).ok();
        let kind = text_member(schema, "type").unwrap_or_else(|| "string".to_owned());
        let chosen = if kind == "array" { schema.member("items").unwrap_or(schema) } else { schema };
        Self {
            title: plain::line(&text_member(schema, "title").unwrap_or_else(|| name.to_owned())),
            description: text_member(schema, "description").map(|text| plain::line(&text)),
            format: text_member(schema, "format"),
            required,
            default: schema.member("default").and_then(value).filter(|default| !default.is_null()),
            choices: choices(chosen),
            schema: CompiledSchema::read(schema.raw()),
            kind,
        }
    }

    /// Asks until the answer fits; none where it is left out.
    pub(super) fn ask(
        &self,
        words: &QuestionTexts,
        person: &mut impl Prompter,
    ) -> Result<Option<Value>, FormAbortReason> {
        let about = self.description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        person.print_line(&format!("{}{about}", self.title));
        for (number, (_, called)) in self.choices.iter().enumerate() {
            person.print_line(&format!("  {}  {called}", number + 1));
        }
        let prompt = format!("{}> ", self.prompt_label(words));
        loop {
            let said = read_form_reply(person, &prompt)?;
            if said.is_empty() {
                match (&self.default, self.required) {
                    (Some(default), _) => return Ok(Some(default.clone())),
                    (None, false) => return Ok(None),
                    (None, true) => {
                        person.print_line(&words.required);
                        continue;
                    }
                }
            }
            match self.read_answer(&said, words) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => person.print_line(&why),
            }
        }
    }

    /// What it takes, in a sentence.
    pub(super) fn expected_values(&self) -> String {
        let named: Vec<_> = self.choices.iter().take(20).map(|(_, called)| called.as_str()).collect();
        match (named.is_empty(), self.kind.as_str()) {
            (false, _) => format!("it is one of {}", named.join(", ")),
            (true, "boolean") => "it is y or n".to_owned(),
            (true, "integer") => "it is a whole number".to_owned(),
            (true, "number") => "it is a number".to_owned(),
            (true, _) => format!("it is {}", plain::line(self.format.as_deref().unwrap_or("text"))),
        }
    }

    /// What is asked for, in a word, and what an empty line stands for.
    fn prompt_label(&self, words: &QuestionTexts) -> String {
        let kind = match self.kind.as_str() {
            "array" => &words.choices,
            _ if !self.choices.is_empty() => &words.choice,
            "boolean" => &format!("{}/{}", words.yes_or_no(true), words.yes_or_no(false)),
            "integer" => &words.whole_number,
            "number" => &words.number,
            _ => match self.format.as_deref() {
                None => &words.text,
                Some("email") => &words.email,
                Some("uri") => &words.uri,
                Some("date") => &words.date,
                Some("date-time") => &words.date_time,
                Some(other) => &plain::line(other),
            },
        };
        match (&self.default, self.required) {
            (Some(default), _) => format!("{kind} [{}]", self.value_label(default, words)),
            (None, false) => format!("{kind} [{}]", words.leave_out),
            (None, true) => kind.clone(),
        }
    }

    /// A value as its choice is shown, or as a person would write it.
    fn value_label(&self, value: &Value, words: &QuestionTexts) -> String {
        let one = |value: &Value| {
            let chosen = self.choices.iter().enumerate().find(|(_, (choice, _))| choice == value);
            match (chosen, value) {
                (Some((number, (_, called))), _) => format!("{} {called}", number + 1),
                (None, Value::Bool(yes)) => words.yes_or_no(*yes).to_owned(),
                (None, Value::String(text)) => plain::line(text),
                (None, value) => plain::line(&value.to_string()),
            }
        };
        match value {
            Value::Array(values) => values.iter().map(one).collect::<Vec<_>>().join(", "),
            value => one(value),
        }
    }

    /// What an answer stands for, or why it is none.
    pub(super) fn read_answer(&self, said: &str, words: &QuestionTexts) -> Result<Value, String> {
        let value = match self.kind.as_str() {
            "array" => {
                let parts = said.split(',').map(str::trim).filter(|part| !part.is_empty());
                Value::Array(parts.map(|part| self.choice(part, words)).collect::<Result<_, _>>()?)
            }
            _ if !self.choices.is_empty() => self.choice(said, words)?,
            "boolean" => Value::Bool(words.parse_yes_or_no(said).ok_or(&*words.write_yes_or_no)?),
            "integer" => Value::from(said.parse::<i64>().map_err(|_| &*words.write_whole_number)?),
            "number" => {
                let number = said.parse().ok().and_then(serde_json::Number::from_f64);
                Value::Number(number.ok_or(&*words.write_number)?)
            }
            _ => Value::from(self.check_format(said, words)?),
        };
        let breaches =
            self.schema.as_ref().and_then(|schema| schema.violations(&value, 3)).unwrap_or_default();
        match breaches.first() {
            None => Ok(value),
            Some(breach) => Err(fill_placeholders(&words.misfit, &[&plain::line(&breach.why)])),
        }
    }

    /// One of the choices, by its number, its value or its name.
    fn choice(&self, said: &str, words: &QuestionTexts) -> Result<Value, String> {
        let by_number = || self.choices.get(said.parse::<usize>().ok()?.checked_sub(1)?);
        let is = |(value, called): &&(Value, String)| value == said || called.eq_ignore_ascii_case(said);
        let chosen = self.choices.iter().find(is).or_else(by_number);
        let none = || match self.choices.len() {
            0 => words.no_choices.clone(),
            most => fill_placeholders(&words.no_such_choice, &[&quoted(said).to_string(), &most.to_string()]),
        };
        chosen.map(|(value, _)| value.clone()).ok_or_else(none)
    }

    fn check_format<'s>(&self, said: &'s str, words: &'s QuestionTexts) -> Result<&'s str, &'s str> {
        let (fits, why) = match self.format.as_deref() {
            Some("email") => (
                said.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.')),
                &*words.write_email,
            ),
            Some("uri") => {
                (said.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some()), &*words.write_uri)
            }
            Some("date") => (said.parse::<jiff::civil::Date>().is_ok(), &*words.write_date),
            Some("date-time") => (Rfc3339Instant::parse(said).is_ok(), &*words.write_date_time),
            _ => (true, ""),
        };
        if fits { Ok(said) } else { Err(why) }
    }
}

/// What there is to choose from: `enum` with `enumNames`, or `const` and `title` of each of `oneOf` or `anyOf`.
fn choices(schema: Written<'_>) -> Vec<(Value, String)> {
    let value = |written: Written<'_>| serde_json::from_str::<Value>(written.raw()).ok();
    let elements = |member: &str| schema.member(member).into_iter().flat_map(Written::elements);
    let called = |value: &Value, title: Option<String>| {
        let own = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        plain::line(&title.unwrap_or_else(own))
    };
    let titled = elements("oneOf").chain(elements("anyOf")).filter_map(|choice| {
        let value = value(choice.member("const")?)?;
        let called = called(&value, text_member(choice, "title"));
        Some((value, called))
    });
    let mut names = elements("enumNames").map(|name| name.text()?.decode().map(std::borrow::Cow::into_owned));
    let plain = elements("enum").filter_map(value).map(|value| {
        let called = called(&value, names.next().flatten());
        (value, called)
    });
    titled.chain(plain).collect()
}
