//! A question of a server, put to a person field by field.
//!
//! 1. The person sees who asks, and can say no to each question (`!decline`) or stop (`!cancel`, or the end of input).
//! 2. A field is asked again until its answer is one that its schema allows; nothing stands for what may be left out, or
//!    for its default.
//! 3. Nothing is sent before the person has seen all of it and said yes.
//! 4. A URL is shown and never opened by us.
//! 5. The words around it are in the language of the person.

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonString, SpannedValue as Written};
use serde_json::{Map, Value, json};

use super::field::FormField;
use super::person::{FormAbortReason, Prompter, read_form_reply};
use super::words::{QuestionTexts, fill_placeholders};
use crate::show::{plain, text_member};

/// How many fields a form may have.
const MAX_FORM_FIELDS: usize = 100;

/// Puts the `params` of an `elicitation/create`, as they came, for its result.
pub(crate) fn ask(params: &str, server: &str, words: &QuestionTexts, person: &mut impl Prompter) -> Value {
    let Ok(params) = Document::parse(params.as_bytes()) else { return json!({ "action": "cancel" }) };
    let question = params.root();
    person.print_line(&fill_placeholders(&words.asks, &[&plain::line(server)]));
    person.print_line(&plain::lines(&text_member(question, "message").unwrap_or_default()));
    let answered = match text_member(question, "mode").as_deref() {
        Some("url") => ask_url(question, words, person).map(|()| None),
        None | Some("form") => ask_form(question, words, person).map(Some),
        Some(_) => Err(FormAbortReason::Declined),
    };
    match answered {
        Ok(Some(content)) => json!({ "action": "accept", "content": content }),
        Ok(None) => json!({ "action": "accept" }),
        Err(FormAbortReason::Declined) => json!({ "action": "decline" }),
        Err(FormAbortReason::Cancelled) => json!({ "action": "cancel" }),
    }
}

fn ask_url(
    question: Written<'_>,
    words: &QuestionTexts,
    person: &mut impl Prompter,
) -> Result<(), FormAbortReason> {
    let url = text_member(question, "url").unwrap_or_default();
    if !["https://", "http://"].iter().any(|scheme| url.starts_with(scheme)) {
        person.print_line(&words.no_address);
        return Err(FormAbortReason::Declined);
    }
    person.print_line(&format!("{}\n  {}", words.go_to, plain::line(&url)));
    person.print_line(&words.open);
    confirm(person, &words.done, false, words)
}

fn ask_form(
    question: Written<'_>,
    words: &QuestionTexts,
    person: &mut impl Prompter,
) -> Result<Value, FormAbortReason> {
    person.print_line(&format!("({})", words.form));
    let mut content = Map::new();
    for (name, field) in form_fields(question) {
        if let Some(value) = field.ask(words, person)? {
            content.insert(name, value);
        }
    }
    let content = Value::Object(content);
    person.print_line(&fill_placeholders(&words.answer, &[&plain::line(&content.to_string())]));
    confirm(person, &words.send, true, words)?;
    Ok(content)
}

/// The fields of a form, in their order, with their names.
pub(super) fn form_fields(question: Written<'_>) -> Vec<(String, FormField)> {
    let schema = question.member("requestedSchema");
    let properties = schema.and_then(|schema| schema.member("properties"));
    let required: Vec<String> = schema
        .and_then(|schema| schema.member("required"))
        .into_iter()
        .flat_map(Written::elements)
        .filter_map(|name| name.text()?.decode().map(std::borrow::Cow::into_owned))
        .collect();
    let field = |(name, schema): (JsonString<'_>, Written<'_>)| {
        let name = name.decode().unwrap_or_default().into_owned();
        let field = FormField::read(&name, schema, required.contains(&name));
        (name, field)
    };
    properties.into_iter().flat_map(Written::members).take(MAX_FORM_FIELDS).map(field).collect()
}

/// Whether the person says yes. `usual` is what an empty line says.
fn confirm(
    person: &mut impl Prompter,
    question: &str,
    usual: bool,
    words: &QuestionTexts,
) -> Result<(), FormAbortReason> {
    let letter = |yes: bool| {
        let letter = words.yes_or_no(yes);
        if yes == usual { letter.to_uppercase() } else { letter.to_owned() }
    };
    let prompt = format!("{question} [{}/{}/!cancel] ", letter(true), letter(false));
    loop {
        let said = read_form_reply(person, &prompt)?;
        match words.parse_yes_or_no(&said) {
            Some(true) => return Ok(()),
            Some(false) => return Err(FormAbortReason::Declined),
            None if said.is_empty() => return if usual { Ok(()) } else { Err(FormAbortReason::Declined) },
            None => person.print_line(&words.neither),
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_attune::language::AcceptLanguage;

    use super::*;

    /// A person who says these lines, and what they were shown.
    struct Script<'l>(std::slice::Iter<'l, &'l str>, String);

    impl Prompter for Script<'_> {
        fn print_line(&mut self, line: &str) {
            self.1 += &format!("{line}\n");
        }

        fn read_reply(&mut self, prompt: &str) -> Option<String> {
            let said = self.0.next().map(|&said| said.to_owned());
            self.1 += &format!("{prompt}{}\n", said.as_deref().unwrap_or("(gone)"));
            said
        }
    }

    fn asked(params: &str, lines: &[&str]) -> (Value, String) {
        asked_in(QuestionTexts::english(), params, lines)
    }

    fn asked_in(words: &QuestionTexts, params: &str, lines: &[&str]) -> (Value, String) {
        let mut person = Script(lines.iter(), String::new());
        let answer = ask(params, "a server", words, &mut person);
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
        (an empty line takes what is in brackets; !decline tells the server no, !cancel that you left)
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
        number [2 Aisle]> 3
        3 is none of them; write a number from 1 to 2.
        number [2 Aisle]> 1
        colors
          1  red
          2  green
        numbers, with commas [leave out]> 1, green
        That does not fit: value has more than 1 item.
        numbers, with commas [leave out]> 2
        news
        y/n [n]> perhaps
        Write y or n.
        y/n [n]> 
        You answer {"age":44,"colors":["green"],"name":"Anna","news":false,"seat":"w"}
        Send it? [Y/n/!cancel] y
        "#);
    }

    #[test]
    fn the_words_around_a_form_are_those_of_the_person() {
        let german = QuestionTexts::for_preference(&AcceptLanguage::parse("de-CH").expect("a preference"));
        let lines = ["", "Anna", "nobody", "", "sieben", "44", "3", "1", "", "ja", "vielleicht", "J"];
        let (answer, shown) = asked_in(&german, FORM, &lines);
        let content = json!({ "name": "Anna", "age": 44, "seat": "w", "news": true });
        assert_eq!(answer, json!({ "action": "accept", "content": content }));
        insta::assert_snapshot!(shown, @r#"
        a server fragt:
        Who \u{1b}[2J are you?
        (eine leere Zeile übernimmt, was in Klammern steht; !decline lehnt ab, !cancel bricht ab)
        Name
        Text> 
        Diese Angabe ist erforderlich.
        Text> Anna
        mail
        E-Mail [weglassen]> nobody
        Bitte eine Adresse eingeben, zum Beispiel a@example.com.
        E-Mail [weglassen]> 
        age
        ganze Zahl> sieben
        Bitte eine ganze Zahl eingeben.
        ganze Zahl> 44
        seat
          1  Window
          2  Aisle
        Nummer [2 Aisle]> 3
        3 steht nicht zur Auswahl; bitte eine Nummer von 1 bis 2 eingeben.
        Nummer [2 Aisle]> 1
        colors
          1  red
          2  green
        Nummern, mit Kommas [weglassen]> 
        news
        j/n [n]> ja
        Ihre Antwort: {"age":44,"name":"Anna","news":true,"seat":"w"}
        Abschicken? [J/n/!cancel] vielleicht
        Das ist weder ja noch nein.
        Abschicken? [J/n/!cancel] J
        "#);
        let url = r#"{"mode":"url","message":"Los","url":"https://example.com/"}"#;
        insta::assert_snapshot!(asked_in(&german, url, &["j"]).1, @r#"
        a server fragt:
        Los
        Diese Seite soll aufgerufen werden:
          https://example.com/
        Öffnen Sie sie im Browser, wenn Sie ihr trauen, und kommen Sie zurück, wenn Sie dort fertig sind.
        Fertig? [j/N/!cancel] j
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
