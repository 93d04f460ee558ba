//! A question of a server, put to a person field by field.
//!
//! 1. The person sees who asks, and can say no to each question (`!decline`) or stop (`!cancel`, or the end of input).
//! 2. A field is asked again until its answer is one that its schema allows; nothing stands for what may be left out, or
//!    for its default.
//! 3. Nothing is sent before the person has seen all of it and said yes.
//! 4. A URL is shown and never opened by us.

use std::io::{self, BufRead, Write};

use mcp_attune::context::Instant;
use mcp_attune::shape::Output;
use mcp_attune_wire::json::Value as Written;
use mcp_attune_wire::message::Message;
use serde_json::{Map, Value, json};

use crate::server::framed;
use crate::show::content::text;
use crate::show::plain;
use crate::text::quoted;

/// How many fields a form may have.
const MOST_FIELDS: usize = 100;

/// Where questions are shown and answers come from.
pub(crate) trait Person {
    fn tell(&mut self, line: &str);
    /// A line of theirs; none when they are gone.
    fn hear(&mut self, prompt: &str) -> Option<String>;
}

/// The person at this terminal.
pub(crate) struct Terminal;

impl Person for Terminal {
    fn tell(&mut self, line: &str) {
        eprintln!("{line}");
    }

    fn hear(&mut self, prompt: &str) -> Option<String> {
        eprint!("{prompt}");
        let _ = io::stderr().flush();
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(read) if read > 0 => Some(line.trim().to_owned()),
            _ => None,
        }
    }
}

/// Why a form was not filled in.
enum Left {
    Declined,
    Cancelled,
}

/// Puts the `params` of an `elicitation/create`, as they came, for its result.
pub(crate) fn ask(params: &str, server: &str, person: &mut impl Person) -> Value {
    let framed = framed(params);
    let Some(message) = Message::parse(framed.as_bytes()).ok() else { return json!({ "action": "cancel" }) };
    let Some(question) = message.member("result") else { return json!({ "action": "cancel" }) };
    person.tell(&format!("{} asks:", plain::line(server)));
    person.tell(&plain::lines(&text(question, "message").unwrap_or_default()));
    let answered = match text(question, "mode").as_deref() {
        Some("url") => url(question, person).map(|()| None),
        None | Some("form") => form(question, person).map(Some),
        Some(_) => Err(Left::Declined),
    };
    match answered {
        Ok(Some(content)) => json!({ "action": "accept", "content": content }),
        Ok(None) => json!({ "action": "accept" }),
        Err(Left::Declined) => json!({ "action": "decline" }),
        Err(Left::Cancelled) => json!({ "action": "cancel" }),
    }
}

fn url(question: Written<'_>, person: &mut impl Person) -> Result<(), Left> {
    let url = text(question, "url").unwrap_or_default();
    if !["https://", "http://"].iter().any(|scheme| url.starts_with(scheme)) {
        person.tell("It names no address of the web to go to, so the answer is no.");
        return Err(Left::Declined);
    }
    person.tell(&format!("It wants you to go to\n  {}", plain::line(&url)));
    person.tell("Open it in a browser if you trust it, and come back when you are done there.");
    agreed(person, "Done? [y/N/!cancel] ", false)
}

fn form(question: Written<'_>, person: &mut impl Person) -> Result<Value, Left> {
    let schema = question.member("requestedSchema");
    let properties = schema.and_then(|schema| schema.member("properties"));
    let required: Vec<String> = schema
        .and_then(|schema| schema.member("required"))
        .into_iter()
        .flat_map(Written::elements)
        .filter_map(|name| name.text()?.decode().map(std::borrow::Cow::into_owned))
        .collect();
    person.tell("(!decline says no, !cancel stops; an empty line takes what is in brackets)");
    let mut content = Map::new();
    for (name, schema) in properties.into_iter().flat_map(Written::members).take(MOST_FIELDS) {
        let name = name.decode().unwrap_or_default().into_owned();
        let field = Field::read(&name, schema, required.contains(&name));
        if let Some(value) = field.ask(person)? {
            content.insert(name, value);
        }
    }
    let content = Value::Object(content);
    person.tell(&format!("You answer {}", plain::line(&content.to_string())));
    agreed(person, "Send it? [Y/n/!cancel] ", true)?;
    Ok(content)
}

/// Whether the person says yes. `usual` is what an empty line says.
fn agreed(person: &mut impl Person, prompt: &str, usual: bool) -> Result<(), Left> {
    loop {
        let said = heard(person, prompt)?;
        match truth(&said) {
            Some(true) => return Ok(()),
            Some(false) => return Err(Left::Declined),
            None if said.is_empty() => return if usual { Ok(()) } else { Err(Left::Declined) },
            None => person.tell("That is neither yes nor no."),
        }
    }
}

fn heard(person: &mut impl Person, prompt: &str) -> Result<String, Left> {
    match person.hear(prompt) {
        Some(said) if said == "!decline" => Err(Left::Declined),
        Some(said) if said != "!cancel" => Ok(said),
        _ => Err(Left::Cancelled),
    }
}

fn truth(said: &str) -> Option<bool> {
    match said.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// A field of a form.
struct Field {
    title: String,
    description: Option<String>,
    kind: String,
    format: Option<String>,
    required: bool,
    default: Option<Value>,
    /// Values to choose from, and what they are called.
    choices: Vec<(Value, String)>,
    schema: Option<Output>,
}

impl Field {
    fn read(name: &str, schema: Written<'_>, required: bool) -> Self {
        let value = |written: Written<'_>| serde_json::from_str::<Value>(written.raw()).ok();
        let kind = text(schema, "type").unwrap_or_else(|| "string".to_owned());
        let chosen = if kind == "array" { schema.member("items").unwrap_or(schema) } else { schema };
        Self {
            title: plain::line(&text(schema, "title").unwrap_or_else(|| name.to_owned())),
            description: text(schema, "description").map(|text| plain::line(&text)),
            format: text(schema, "format"),
            required,
            default: schema.member("default").and_then(value).filter(|default| !default.is_null()),
            choices: choices(chosen),
            schema: Output::read(schema.raw()),
            kind,
        }
    }

    /// Asks until the answer fits; none where it is left out.
    fn ask(&self, person: &mut impl Person) -> Result<Option<Value>, Left> {
        let about = self.description.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        person.tell(&format!("{}{about}", self.title));
        for (number, (_, called)) in self.choices.iter().enumerate() {
            person.tell(&format!("  {}  {called}", number + 1));
        }
        let prompt = format!("{}> ", self.expected());
        loop {
            let said = heard(person, &prompt)?;
            if said.is_empty() {
                match (&self.default, self.required) {
                    (Some(default), _) => return Ok(Some(default.clone())),
                    (None, false) => return Ok(None),
                    (None, true) => {
                        person.tell("This cannot be left out.");
                        continue;
                    }
                }
            }
            match self.read_answer(&said) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => person.tell(&why),
            }
        }
    }

    /// What is asked for, in a word, and what an empty line stands for.
    fn expected(&self) -> String {
        let kind = match self.kind.as_str() {
            "array" => "numbers, with commas",
            _ if !self.choices.is_empty() => "number",
            "boolean" => "y/n",
            "integer" => "whole number",
            "number" => "number",
            _ => self.format.as_deref().unwrap_or("text"),
        };
        let usual = match (&self.default, self.required) {
            (Some(Value::String(text)), _) => format!(" [{}]", plain::line(text)),
            (Some(default), _) => format!(" [{}]", plain::line(&default.to_string())),
            (None, false) => " [leave out]".to_owned(),
            (None, true) => String::new(),
        };
        format!("{}{usual}", plain::line(kind))
    }

    fn read_answer(&self, said: &str) -> Result<Value, String> {
        let value = match self.kind.as_str() {
            "array" => {
                let parts = said.split(',').map(str::trim).filter(|part| !part.is_empty());
                Value::Array(parts.map(|part| self.choice(part)).collect::<Result<_, _>>()?)
            }
            _ if !self.choices.is_empty() => self.choice(said)?,
            "boolean" => Value::Bool(truth(said).ok_or("Write y or n.")?),
            "integer" => Value::from(said.parse::<i64>().map_err(|_| "Write a whole number.")?),
            "number" => {
                let number = said.parse().ok().and_then(serde_json::Number::from_f64);
                Value::Number(number.ok_or("Write a number, such as 2.5.")?)
            }
            _ => Value::from(self.formatted(said)?),
        };
        let breaches = self.schema.as_ref().and_then(|schema| schema.breaches(&value, 3)).unwrap_or_default();
        match breaches.first() {
            None => Ok(value),
            Some(breach) => Err(format!("That does not fit: {}.", plain::line(&breach.why))),
        }
    }

    /// One of the choices, by its number, its value or its name.
    fn choice(&self, said: &str) -> Result<Value, String> {
        let by_number = || self.choices.get(said.parse::<usize>().ok()?.checked_sub(1)?);
        let is = |(value, called): &&(Value, String)| value == said || called.eq_ignore_ascii_case(said);
        let chosen = self.choices.iter().find(is).or_else(by_number);
        let none = || match self.choices.len() {
            0 => "There is nothing to choose from.".to_owned(),
            most => format!("{} is none of them; write a number from 1 to {most}.", quoted(said)),
        };
        chosen.map(|(value, _)| value.clone()).ok_or_else(none)
    }

    fn formatted<'s>(&self, said: &'s str) -> Result<&'s str, &'static str> {
        let (fits, why) = match self.format.as_deref() {
            Some("email") => (
                said.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.')),
                "Write an address, such as a@example.com.",
            ),
            Some("uri") => (
                said.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some()),
                "Write a URI, such as https://example.com/.",
            ),
            Some("date") => (said.parse::<jiff::civil::Date>().is_ok(), "Write a date, such as 2026-11-12."),
            Some("date-time") => (
                Instant::parse(said).is_ok(),
                "Write a time with its offset, such as 2026-11-12T14:23:00+01:00.",
            ),
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
        let called = called(&value, text(choice, "title"));
        Some((value, called))
    });
    let mut names = elements("enumNames").map(|name| name.text()?.decode().map(std::borrow::Cow::into_owned));
    let plain = elements("enum").filter_map(value).map(|value| {
        let called = called(&value, names.next().flatten());
        (value, called)
    });
    titled.chain(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A person who says these lines, and what they were shown.
    struct Script<'l>(std::slice::Iter<'l, &'l str>, String);

    impl Person for Script<'_> {
        fn tell(&mut self, line: &str) {
            self.1 += &format!("{line}\n");
        }

        fn hear(&mut self, prompt: &str) -> Option<String> {
            let said = self.0.next().map(|&said| said.to_owned());
            self.1 += &format!("{prompt}{}\n", said.as_deref().unwrap_or("(gone)"));
            said
        }
    }

    fn asked(params: &str, lines: &[&str]) -> (Value, String) {
        let mut person = Script(lines.iter(), String::new());
        let answer = ask(params, "a server", &mut person);
        assert_eq!(person.0.next(), None, "{}", person.1);
        (answer, person.1)
    }

    const FORM: &str = r#"{"message":"Who \u001b[2J are you?","requestedSchema":{"type":"object","properties":{
        "name":{"type":"string","title":"Name","minLength":2},
        "mail":{"type":"string","format":"email"},
        "age":{"type":"integer","minimum":18,"maximum":120},
        "seat":{"type":"string","oneOf":[{"const":"w","title":"Window"},{"const":"a","title":"Aisle"}],"default":"a"},
        "colors":{"type":"array","items":{"type":"string","enum":["red","green"]},"maxItems":1},
        "news":{"type":"boolean","default":false}},"required":["name","age"]}}"#;

    #[test]
    fn a_form_is_asked_field_by_field_until_every_answer_fits() {
        let lines = [
            "", "x", "Anna", "nobody", "", "seven", "7", "44", "3", "1", "1, green", "2", "perhaps", "", "y",
        ];
        let (answer, shown) = asked(FORM, &lines);
        let content = json!({ "name": "Anna", "age": 44, "seat": "w", "colors": ["green"], "news": false });
        assert_eq!(answer, json!({ "action": "accept", "content": content }));
        insta::assert_snapshot!(shown, @r#"
        a server asks:
        Who \u{1b}[2J are you?
        (!decline says no, !cancel stops; an empty line takes what is in brackets)
        Name
        text> 
        This cannot be left out.
        text> x
        That does not fit: value is shorter than 2 characters.
        text> Anna
        mail
        email [leave out]> nobody
        Write an address, such as a@example.com.
        email [leave out]> 
        age
        whole number> seven
        Write a whole number.
        whole number> 7
        That does not fit: value is less than the minimum of 18.
        whole number> 44
        seat
          1  Window
          2  Aisle
        number [a]> 3
        3 is none of them; write a number from 1 to 2.
        number [a]> 1
        colors
          1  red
          2  green
        numbers, with commas [leave out]> 1, green
        That does not fit: value has more than 1 item.
        numbers, with commas [leave out]> 2
        news
        y/n [false]> perhaps
        Write y or n.
        y/n [false]> 
        You answer {"age":44,"colors":["green"],"name":"Anna","news":false,"seat":"w"}
        Send it? [Y/n/!cancel] y
        "#);
    }

    #[test]
    fn a_person_can_say_no_stop_and_go_away() {
        let action = |lines: &[&str]| asked(FORM, lines).0;
        assert_eq!(action(&["!decline"]), json!({ "action": "decline" }));
        assert_eq!(action(&["Anna", "!cancel"]), json!({ "action": "cancel" }));
        assert_eq!(action(&["Anna"]), json!({ "action": "cancel" }));
        let all = ["Anna", "", "44", "", "", "", "n"];
        assert_eq!(action(&all), json!({ "action": "decline" }));
    }

    #[test]
    fn a_url_is_shown_and_only_one_of_the_web() {
        let url = r#"{"mode":"url","message":"Go","url":"https://example.com/\u0007pay"}"#;
        let (answer, shown) = asked(url, &["y"]);
        assert_eq!(answer, json!({ "action": "accept" }));
        assert!(shown.contains("  https://example.com/\\u{7}pay\n"), "{shown}");
        assert_eq!(asked(url, &[""]).0, json!({ "action": "decline" }));
        let (answer, _) = asked(r#"{"mode":"url","message":"Go","url":"file:///etc/passwd"}"#, &[]);
        assert_eq!(answer, json!({ "action": "decline" }));
        assert_eq!(asked(r#"{"mode":"mindreading","message":"?"}"#, &[]).0, json!({ "action": "decline" }));
        assert_eq!(asked("[", &[]).0, json!({ "action": "cancel" }));
    }
}
