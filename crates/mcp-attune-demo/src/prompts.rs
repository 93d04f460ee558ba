//! The prompt `plan_trip`.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use crate::data;

const NAME: &str = "plan_trip";
const MAX_DAYS: u32 = 14;

pub(crate) fn list() -> Vec<Prompt> {
    let arguments = vec![
        PromptArgument::new("city")
            .with_title("City")
            .with_description("The city to travel to, for example Bern")
            .with_required(true),
        PromptArgument::new("days")
            .with_title("Days")
            .with_description("How many days the trip takes, from 1 to 14; 3 if left out")
            .with_required(false),
    ];
    vec![
        Prompt::new(NAME, Some("Plan a trip to a Swiss city, with weather and trains"), Some(arguments))
            .with_title("Plan a trip"),
    ]
}

pub(crate) fn get(name: &str, arguments: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    if name != NAME {
        return Err(ErrorData::invalid_params("Unknown prompt", None));
    }
    let city = arguments
        .get("city")
        .and_then(Value::as_str)
        .ok_or_else(|| ErrorData::invalid_params("The argument `city` is missing", None))?;
    let city = data::city(city)
        .ok_or_else(|| ErrorData::invalid_params("The argument `city` is no city of this service", None))?
        .name;
    let days = days(arguments.get("days"))?;
    let unit = if days == 1 { "day" } else { "days" };
    let text = format!(
        "Plan a trip of {days} {unit} to {city}. Look at the weather first, then find a connection for the way there \
         and one for the way back. Propose one thing to see for each day, and say what to pack."
    );
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
        .with_description(format!("A trip of {days} {unit} to {city}")))
}

/// Prompt arguments are strings on the wire; some clients send numbers all the same.
fn days(argument: Option<&Value>) -> Result<u32, ErrorData> {
    let days = match argument {
        None | Some(Value::Null) => Some(3),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(other) => other.as_u64().and_then(|days| u32::try_from(days).ok()),
    };
    days.filter(|days| (1..=MAX_DAYS).contains(days))
        .ok_or_else(|| ErrorData::invalid_params("The argument `days` is not a number from 1 to 14", None))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn days_are_a_small_number_in_either_spelling() {
        for (argument, expected) in [(json!("3"), Some(3)), (json!(1), Some(1)), (json!(null), Some(3))] {
            assert_eq!(days(Some(&argument)).ok(), expected);
        }
        for refused in [json!("0"), json!(15), json!("three"), json!(-1), json!(1.5)] {
            assert!(days(Some(&refused)).is_err(), "{refused}");
        }
    }
}
