//! `book_seat`: cannot be done without asking.
//!
//! A modern caller gets an `input_required` result with the question and calls again with the answer. A legacy caller
//! gets the question as an `elicitation/create` request while the call is open.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequiredResult, JsonObject, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, object};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{TravelToolError, answer, arguments};
use crate::data::{self, TrainConnection};
use crate::era::is_modern;

pub(crate) const NAME: &str = "book_seat";
const TITLE: &str = "Book a seat";
/// The one question, by the name that the answer carries too.
const QUESTION: &str = "seat";
const ELICITATION_TIMEOUT: Duration = Duration::from_secs(300);

pub(crate) fn definition() -> Tool {
    let input = object!({
        "type": "object",
        "properties": {
            "connection": {
                "type": "string",
                "title": "Connection",
                "description": "The id of a connection, from find_connections"
            }
        },
        "required": ["connection"]
    });
    let output = object!({
        "type": "object",
        "properties": {
            "booking": { "type": "string", "title": "Booking", "description": "The booking code" },
            "connection": { "type": "string", "title": "Connection" },
            "travel_class": { "type": "string", "title": "Travel class", "enum": ["first", "second"] },
            "position": { "type": "string", "title": "Position", "enum": ["window", "aisle"] },
            "coach": { "type": "integer", "title": "Coach" },
            "seat": { "type": "string", "title": "Seat" }
        },
        "required": ["booking", "connection", "travel_class", "position", "coach", "seat"]
    });
    Tool::new(NAME, "Books a seat on a train. Asks the user for the class, and for window or aisle", input)
        .with_title(TITLE)
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(ToolAnnotations::with_title(TITLE).destructive(false).open_world(false))
}

#[derive(Deserialize)]
struct BookSeatArguments {
    connection: String,
}

pub(crate) async fn call(
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let connection = match requested_connection(request.arguments.unwrap_or_default()) {
        Ok(connection) => connection,
        Err(problem) => return Ok(CallToolResult::from(problem).into()),
    };
    let reply = match (is_modern(context), takes_forms(context)) {
        (true, true) => {
            let reply = request.input_responses.and_then(|mut replies| replies.remove(QUESTION));
            let Some(reply) = reply else { return ask_and_end(&connection) };
            // What was asked about must be what is booked now. A state that somebody made up fails here, no more.
            if request.request_state.as_deref() != Some(state(&connection).as_str()) {
                return Err(ErrorData::invalid_params("The requestState is not of this call", None));
            }
            serde_json::from_value(reply).map_err(|_| TravelToolError::Answer)
        }
        (true, false) => {
            let needed = ClientCapabilities::builder().enable_elicitation().build();
            return Err(ErrorData::missing_required_client_capability(needed));
        }
        (false, true) => ask_and_wait(&connection, context).await?,
        (false, false) => Err(TravelToolError::CannotAsk),
    };
    let result = reply.and_then(|reply| book(&connection, reply));
    Ok(result.unwrap_or_else(CallToolResult::from).into())
}

/// A client that names no kind of elicitation takes forms.
fn takes_forms(context: &RequestContext<RoleServer>) -> bool {
    let elicitation = context.client_capabilities().and_then(|client| client.elicitation);
    elicitation.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

fn requested_connection(given: JsonObject) -> Result<TrainConnection, TravelToolError> {
    let BookSeatArguments { connection: id } = arguments(given)?;
    data::connection(&id).ok_or(TravelToolError::UnknownConnection(id))
}

fn ask_and_end(connection: &TrainConnection) -> Result<CallToolResponse, ErrorData> {
    let question = InputRequest::Elicitation(ElicitRequest::new(form(connection)?));
    let questions = BTreeMap::from([(QUESTION.to_owned(), question)]);
    Ok(InputRequiredResult::new(Some(questions), Some(state(connection))).into())
}

async fn ask_and_wait(
    connection: &TrainConnection,
    context: &RequestContext<RoleServer>,
) -> Result<Result<ElicitResult, TravelToolError>, ErrorData> {
    tokio::select! {
        () = context.ct.cancelled() => Err(ErrorData::internal_error("Cancelled", None)),
        reply = context.peer.create_elicitation_with_timeout(form(connection)?, Some(ELICITATION_TIMEOUT)) => {
            Ok(reply.map_err(|_| TravelToolError::Declined))
        }
    }
}

fn form(connection: &TrainConnection) -> Result<ElicitRequestParams, ErrorData> {
    let schema = object!({
        "type": "object",
        "properties": {
            "travel_class": {
                "type": "string",
                "title": "Class",
                "description": "First class has wider seats",
                "oneOf": [
                    { "const": "first", "title": "First class" },
                    { "const": "second", "title": "Second class" }
                ]
            },
            "position": {
                "type": "string",
                "title": "Position",
                "description": "Where the seat is in its row",
                "oneOf": [{ "const": "window", "title": "Window" }, { "const": "aisle", "title": "Aisle" }]
            }
        },
        "required": ["travel_class", "position"]
    });
    let requested_schema = ElicitationSchema::from_json_schema(schema)
        .map_err(|_| ErrorData::internal_error("The form could not be built", None))?;
    let TrainConnection { train, from, to, .. } = connection;
    let message = format!("Which seat would you like on {train} from {from} to {to}?");
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// What the client gives back with the answer: it ties the answer to the connection that was asked about.
fn state(connection: &TrainConnection) -> String {
    format!("seat:{}", connection.id)
}

#[derive(Deserialize)]
struct SeatChoice {
    travel_class: TravelClass,
    position: SeatPosition,
}

#[derive(Deserialize, Serialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum TravelClass {
    First,
    Second,
}

#[derive(Deserialize, Serialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum SeatPosition {
    Window,
    Aisle,
}

fn book(connection: &TrainConnection, reply: ElicitResult) -> Result<CallToolResult, TravelToolError> {
    if reply.action != ElicitationAction::Accept {
        return Err(TravelToolError::Declined);
    }
    let SeatChoice { travel_class, position } =
        serde_json::from_value(reply.content.unwrap_or(Value::Null)).map_err(|_| TravelToolError::Answer)?;
    let coach = match travel_class {
        TravelClass::First => 3,
        TravelClass::Second => 7,
    };
    let seat = match position {
        SeatPosition::Window => "42A",
        SeatPosition::Aisle => "42B",
    };
    answer(&json!({
        "booking": code(connection),
        "connection": connection.id,
        "travel_class": travel_class,
        "position": position,
        "coach": coach,
        "seat": seat,
    }))
}

/// The same code for the same connection, every time.
fn code(connection: &TrainConnection) -> String {
    let sum = connection.id.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    format!("CH-{:06X}", sum & 0x00FF_FFFF)
}
