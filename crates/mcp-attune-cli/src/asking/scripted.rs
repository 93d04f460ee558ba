//! What `--answer` says to the questions of a server, where nobody is asked.
//!
//! 1. `KEY=VALUE` fills in the field KEY of every form that has one; a field that takes several values may be named several
//!    times. Values are read as those that a person types: a choice by its name, its number or its value.
//! 2. A field that is not named has its default, or is left out; one that must be there is an error.
//! 3. `decline` says no to every question, `cancel` leaves every one of them.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use mcp_attune_wire::document::Document;
use serde_json::{Map, Value, json};

use super::question::form_fields;
use super::words::QuestionTexts;
use crate::exit::hinted;
use crate::show::text_member;
use crate::text::quoted;

/// What `--answer` says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScriptedAnswers {
    Decline,
    Cancel,
    Fields(Vec<(String, String)>),
}

impl ScriptedAnswers {
    /// Reads `--answer`, however often it was given.
    pub(crate) fn read(texts: &[String]) -> anyhow::Result<Option<Self>> {
        match texts {
            [] => Ok(None),
            [one] if one == "decline" => Ok(Some(Self::Decline)),
            [one] if one == "cancel" => Ok(Some(Self::Cancel)),
            texts => texts
                .iter()
                .map(|text| parse_pair(text))
                .collect::<Result<_, _>>()
                .map(|all| Some(Self::Fields(all))),
        }
    }
}

fn parse_pair(text: &str) -> anyhow::Result<(String, String)> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => {
            let hint = "write --answer KEY=VALUE for each field, or once --answer decline or --answer cancel";
            Err(hinted(format!("--answer {} is no answer", quoted(text)), hint))
        }
    }
}

/// Answers questions, and remembers what could not be answered.
#[derive(Debug)]
pub(crate) struct AnswerScript {
    answers: ScriptedAnswers,
    used: Mutex<HashSet<String>>,
    fault: Mutex<Option<ScriptedAnswerError>>,
}

/// What could not be answered, and what to do.
#[derive(Clone, Debug)]
struct ScriptedAnswerError {
    what: String,
    hint: String,
}

impl AnswerScript {
    pub(crate) fn new(answers: ScriptedAnswers) -> Self {
        Self { answers, used: Mutex::default(), fault: Mutex::default() }
    }

    /// The result of an `elicitation/create` with these `params`. What cannot be answered is left.
    pub(crate) fn answer(&self, params: &str) -> Value {
        match self.try_answer(params) {
            Ok(answer) => answer,
            Err(fault) => {
                *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
                json!({ "action": "cancel" })
            }
        }
    }

    /// Why a question could not be answered.
    pub(crate) fn fault(&self) -> Option<anyhow::Error> {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone();
        fault.map(|fault| hinted(fault.what, fault.hint))
    }

    /// The keys that no question asked for.
    pub(crate) fn unused_keys(&self) -> Vec<String> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.answers {
            ScriptedAnswers::Fields(pairs) => {
                pairs.iter().map(|(key, _)| key).filter(|key| !used.contains(*key)).cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    fn try_answer(&self, params: &str) -> Result<Value, ScriptedAnswerError> {
        let pairs = match &self.answers {
            ScriptedAnswers::Decline => return Ok(json!({ "action": "decline" })),
            ScriptedAnswers::Cancel => return Ok(json!({ "action": "cancel" })),
            ScriptedAnswers::Fields(pairs) => pairs,
        };
        let Ok(params) = Document::parse(params.as_bytes()) else {
            return Ok(json!({ "action": "cancel" }));
        };
        let question = params.root();
        if text_member(question, "mode").is_some_and(|mode| mode != "form") {
            return Err(ScriptedAnswerError {
                what: "the server wants you to go to an address, which no --answer does".to_owned(),
                hint: "run the command on a terminal, or write --answer decline".to_owned(),
            });
        }
        let mut content = Map::new();
        for (name, field) in form_fields(question) {
            let given: Vec<_> =
                pairs.iter().filter(|(key, _)| *key == name).map(|(_, value)| value.as_str()).collect();
            if !given.is_empty() {
                self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
                let value = field.read_answer(&given.join(","), QuestionTexts::english()).map_err(|why| {
                    ScriptedAnswerError {
                        what: format!("--answer {}={}: {why}", quoted(&name), quoted(&given.join(","))),
                        hint: field.expected_values(),
                    }
                })?;
                content.insert(name, value);
            } else if let Some(default) = &field.default {
                content.insert(name, default.clone());
            } else if field.required {
                return Err(ScriptedAnswerError {
                    what: format!("the server asks for `{}`, and no --answer names it", quoted(&name)),
                    hint: format!("add --answer {}=…; {}", quoted(&name), field.expected_values()),
                });
            }
        }
        Ok(json!({ "action": "accept", "content": content }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{
        "name":{"type":"string","minLength":2},
        "seat":{"type":"string","oneOf":[{"const":"w","title":"Window"},{"const":"a","title":"Aisle"}]},
        "tags":{"type":"array","items":{"type":"string","enum":["red","green"]}},
        "news":{"type":"boolean","default":false}},"required":["name"]}}"#;

    fn scripted(texts: &[&str]) -> AnswerScript {
        let texts: Vec<_> = texts.iter().map(|&text| text.to_owned()).collect();
        AnswerScript::new(ScriptedAnswers::read(&texts).unwrap().unwrap())
    }

    #[test]
    fn fields_are_filled_in_by_name() {
        let script = scripted(&["name=Anna", "seat=window", "tags=red", "tags=2", "other=x"]);
        let content = json!({ "name": "Anna", "seat": "w", "tags": ["red", "green"], "news": false });
        assert_eq!(script.answer(FORM), json!({ "action": "accept", "content": content }));
        assert!(script.fault().is_none());
        assert_eq!(script.unused_keys(), ["other"]);
    }

    #[test]
    fn what_is_missing_or_does_not_fit_is_told() {
        let check = |texts: &[&str], expected: &str| {
            let script = scripted(texts);
            assert_eq!(script.answer(FORM), json!({ "action": "cancel" }));
            assert_eq!(script.fault().unwrap().to_string(), expected);
        };
        check(&["seat=w"], "the server asks for `name`, and no --answer names it");
        check(&["name=x"], "--answer name=x: That does not fit: value is shorter than 2 characters.");
        check(&["name=Anna", "seat=3"], "--answer seat=3: 3 is none of them; write a number from 1 to 2.");
        let url = scripted(&["name=Anna"]);
        url.answer(r#"{"mode":"url","message":"Go","url":"https://example.com/"}"#);
        assert!(url.fault().unwrap().to_string().contains("go to an address"));
    }

    #[test]
    fn every_question_can_be_declined_or_left() {
        assert_eq!(scripted(&["decline"]).answer(FORM), json!({ "action": "decline" }));
        assert_eq!(scripted(&["cancel"]).answer(FORM), json!({ "action": "cancel" }));
        assert!(ScriptedAnswers::read(&["decline".to_owned(), "a=b".to_owned()]).is_err());
        assert!(ScriptedAnswers::read(&["accept".to_owned()]).is_err());
        assert_eq!(ScriptedAnswers::read(&[]).unwrap(), None);
    }
}
