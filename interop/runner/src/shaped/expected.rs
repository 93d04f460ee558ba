//! What a caller has to get, made from what the server says without Attune.

use serde_json::{Value, json};

use super::{EXTENSION, Outcomes};

/// What becomes of answers.
pub(super) struct Gets {
    pub(super) form: Form,
    /// The weather has hints.
    pub(super) hints: bool,
    /// The weather has only what somebody who can ask nobody needs.
    pub(super) briefly: bool,
    /// How the prompt begins, where it is another than the server's.
    pub(super) prompt: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Json,
    Markdown,
    Text,
}

impl Gets {
    pub(super) const PLAIN: Self = Self::form(Form::Plain);
    pub(super) const JSON: Self = Self::form(Form::Json);
    pub(super) const MARKDOWN: Self = Self::form(Form::Markdown);
    pub(super) const TEXT: Self = Self::form(Form::Text);

    const fn form(form: Form) -> Self {
        Self { form, hints: false, briefly: false, prompt: None }
    }

    /// Whether answers are written for people.
    fn prose(&self) -> bool {
        matches!(self.form, Form::Markdown | Form::Text)
    }
}

/// What has to stand in what people read: data in the format of its reader, and how Markdown begins.
const FACTS: [(&str, &[&str], &str); 5] = [
    ("get_weather", &["Bern", "72%", "Feb"], "## Current weather in Bern\n"),
    ("find_connections", &["IC 1", "56", "51.00"], "## Connections\n"),
    ("sales_report", &["3,818", "89,532.10", "Feb 3, 2026"], "- **Currency:** CHF\n"),
    ("local_time", &["Asia/Tokyo", "Sunday", "5:30"], "- **Local time:** "),
    ("resource", &["Alpine Valley", "3,200", "4.2"], "# Alpine Valley\n"),
];

/// What the operator of the demo tells those who reason.
const HINTS: [&str; 3] = [
    "8 °C is cold: warm clothes are useful",
    "30% chance of precipitation: an umbrella is useful",
    "The UV index is low (2): no sunscreen is needed",
];

/// What is not as it has to be, a line each.
pub(super) fn wrong(gets: &Gets, plain: &Outcomes, came: &Outcomes) -> Vec<String> {
    let mut faults = Vec::new();
    for (step, plain) in plain {
        let Some(plain) = plain.get("result") else {
            faults.push(format!("{step} fails without Attune: {plain}"));
            continue;
        };
        let came = came.get(step).unwrap_or(&Value::Null);
        // What the client throws is an error: a result that breaks the schema that it was shown, above all.
        let Some(came) = came.get("result") else {
            faults.push(format!("{step}: {came}"));
            continue;
        };
        let expected = expected(gets, step, plain, came, &mut faults);
        faults.extend(difference(step, came, &expected));
    }
    faults
}

/// The first place where two values differ; a listing as a whole says nothing to anybody.
fn difference(place: &str, came: &Value, expected: &Value) -> Option<String> {
    if came == expected {
        return None;
    }
    let within = match (came, expected) {
        (Value::Object(one), Value::Object(other)) => one.keys().chain(other.keys()).find_map(|name| {
            let [one, other] = [one, other].map(|object| object.get(name).unwrap_or(&Value::Null));
            difference(&format!("{place}.{name}"), one, other)
        }),
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs.into_iter().find_map(|(at, (one, other))| difference(&format!("{place}[{at}]"), one, other))
        }
        _ => None,
    };
    Some(within.unwrap_or_else(|| format!("{place}: {came} instead of {expected}")))
}

/// What a step has to give. Texts that Attune writes are taken from what came, and looked at by themselves.
fn expected(gets: &Gets, step: &str, plain: &Value, came: &Value, faults: &mut Vec<String>) -> Value {
    let mut expected = plain.clone();
    let mut varied = false;
    match step {
        "begins" => expected["capabilities"]["extensions"] = json!({ EXTENSION: {} }),
        "lists" => {
            let tools = expected["tools"]["tools"].as_array_mut();
            for tool in tools.into_iter().flatten() {
                let shown = tool.get("outputSchema").is_some();
                if !shown && FACTS.iter().any(|(step, ..)| tool["name"] == *step) {
                    faults.push(format!(
                        "lists: {} has no outputSchema, so clients check nothing",
                        tool["name"]
                    ));
                }
                if gets.prose() {
                    drop(tool.as_object_mut().and_then(|tool| tool.remove("outputSchema")));
                }
            }
            keep(&mut expected["tools"], gets.prose());
        }
        "prompt" => {
            if let Some(start) = gets.prompt {
                let text = &came["messages"][0]["content"]["text"];
                if !text.as_str().is_some_and(|text| text.starts_with(start)) {
                    faults.push(format!("{step}: does not begin with {start:?}"));
                }
                expected["messages"][0]["content"]["text"] = text.clone();
                varied = true;
            }
        }
        "fails" => {}
        _ if gets.form == Form::Plain => {}
        "resource" => {
            if gets.prose() {
                let mime = if gets.form == Form::Markdown { "text/markdown" } else { "text/plain" };
                let text = &came["contents"][0]["text"];
                faults.extend(misread(gets.form, step, text));
                (expected["contents"][0]["mimeType"], expected["contents"][0]["text"]) =
                    (mime.into(), text.clone());
                varied = true;
            }
        }
        _ if gets.prose() => {
            let text = &came["content"][0]["text"];
            faults.extend(misread(gets.form, step, text));
            expected["content"] = json!([{ "type": "text", "text": text }]);
            drop(expected.as_object_mut().and_then(|result| result.remove("structuredContent")));
        }
        _ => {
            expected["content"] = json!([]);
            if step == "get_weather" {
                let data = expected["structuredContent"].take();
                expected["structuredContent"] = weather(gets, data);
            }
        }
    }
    keep(&mut expected, varied);
    expected
}

/// What was made for one caller is not for others, where the server says that it is.
fn keep(result: &mut Value, varied: bool) {
    if varied && result.get("cacheScope").is_some() {
        result["cacheScope"] = "private".into();
    }
}

/// The data about the weather, as the operator of the demo wrote it for agents.
fn weather(gets: &Gets, mut data: Value) -> Value {
    if gets.briefly {
        data = json!({
            "location": data["location"], "temperature_c": data["temperature_c"], "conditions": data["conditions"],
            "humidity_percent": data["humidity_percent"],
            "precipitation_probability": data["precipitation_probability"], "status": "success",
        });
    }
    if gets.hints {
        data["hints"] = json!(HINTS);
    }
    data
}

/// What is wrong with a text that is for people.
fn misread(form: Form, step: &str, text: &Value) -> Option<String> {
    let text = text.as_str().unwrap_or_default();
    let (_, facts, start) = FACTS.iter().find(|(known, ..)| *known == step)?;
    if let Some(missing) = facts.iter().find(|fact| !text.contains(**fact)) {
        return Some(format!("{step}: {missing:?} is not in {text:?}"));
    }
    match form {
        Form::Markdown if !text.starts_with(start) => {
            Some(format!("{step}: {text:?} does not begin with {start:?}"))
        }
        Form::Text if text.contains(['#', '*', '|', '`']) => {
            Some(format!("{step}: there is markup in {text:?}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(step: &str, result: &Value) -> Outcomes {
        [(step.to_owned(), json!({ "result": result }))].into()
    }

    fn call(text: &str, data: &Value) -> Value {
        json!({ "content": [{ "type": "text", "text": text }], "structuredContent": data, "isError": false })
    }

    #[track_caller]
    fn check(gets: &Gets, step: &str, came: &Value, fits: bool) {
        let plain = call("Sunday in Asia/Tokyo", &json!({ "weekday": "Sunday" }));
        let wrong = wrong(gets, &outcomes(step, &plain), &outcomes(step, came));
        assert_eq!(wrong.is_empty(), fits, "{wrong:?}");
    }

    #[test]
    fn each_form_is_told_from_the_others() {
        let data = json!({ "weekday": "Sunday" });
        let plain = call("Sunday in Asia/Tokyo", &data);
        let data_only = json!({ "content": [], "structuredContent": data, "isError": false });
        let said = |text: &str| json!({ "content": [{ "type": "text", "text": text }], "isError": false });
        let markdown = said("- **Local time:** 5:30\n- **Weekday:** Sunday\n- **Timezone:** Asia/Tokyo");
        let text = said("Local time: 5:30\nWeekday: Sunday\nTimezone: Asia/Tokyo");
        let forms = [Gets::PLAIN, Gets::JSON, Gets::MARKDOWN, Gets::TEXT];
        for (place, gets) in forms.iter().enumerate() {
            for (came, form) in [&plain, &data_only, &markdown, &text].into_iter().zip(0..) {
                check(gets, "local_time", came, place == form);
            }
        }
        check(&Gets::TEXT, "local_time", &said("Sunday"), false);
        check(&Gets::JSON, "fails", &data_only, false);
    }

    #[test]
    fn what_a_client_throws_is_a_fault() {
        let thrown =
            [("local_time".to_owned(), json!({ "error": { "message": "no structured content" } }))].into();
        let plain = outcomes("local_time", &call("", &json!({})));
        assert_eq!(wrong(&Gets::PLAIN, &plain, &thrown).len(), 1);
        assert_eq!(wrong(&Gets::PLAIN, &plain, &Outcomes::new()).len(), 1, "a step that was not taken");
    }

    #[test]
    fn a_schema_that_nobody_gets_data_for_may_not_be_shown() {
        let listed = |tool: Value| json!({ "tools": { "tools": [tool] } });
        let with = listed(json!({ "name": "get_weather", "outputSchema": {} }));
        let without = listed(json!({ "name": "get_weather" }));
        for (gets, came, fits) in [
            (Gets::MARKDOWN, &without, true),
            (Gets::MARKDOWN, &with, false),
            (Gets::JSON, &with, true),
            (Gets::JSON, &without, false),
        ] {
            assert_eq!(wrong(&gets, &outcomes("lists", &with), &outcomes("lists", came)).is_empty(), fits);
        }
        let told = wrong(&Gets::JSON, &outcomes("lists", &with), &outcomes("lists", &without));
        assert_eq!(told, ["lists.tools.tools[0].outputSchema: null instead of {}"]);
        let null = listed(json!({ "name": "get_weather", "outputSchema": null }));
        assert_eq!(
            difference("lists", &null, &without).as_deref(),
            Some(&*format!(
                "lists.tools.tools[0]: {} instead of {}",
                null["tools"]["tools"][0], without["tools"]["tools"][0]
            ))
        );
    }
}
