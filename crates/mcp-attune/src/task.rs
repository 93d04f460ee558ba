//! Where the ids of tasks stand in messages, in both eras, and the tools that the tasks are of.
//!
//! 1. A task is created by the answer to a call: in the modern era the result is the task (`resultType` is `task`), in the
//!    legacy era it has one in `task`.
//! 2. A client names tasks in `tasks/get` and its siblings, in the `taskIds` of `subscriptions/listen`, and in the legacy
//!    era in the `_meta` of what it says about one.
//! 3. A server names them in results, in `notifications/tasks` and `notifications/tasks/status`, in the acknowledgement of a
//!    subscription, and in `_meta`. A request of a server names tasks of the *client* in its `taskId`: those are not ours.
//!
//! Rules: F5–F13.

use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonQuoted, JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, MessageKind, meta};
use mcp_attune_wire::protocol::method;

/// Where a message of a client names tasks of its server.
#[must_use]
pub fn ids_named_by_client<'m>(message: &Message<'m>) -> Vec<SpannedValue<'m>> {
    let mut places = Vec::new();
    if message.kind() == MessageKind::Request {
        match message.method().and_then(JsonString::decode).as_deref() {
            Some(method::SUBSCRIPTIONS_LISTEN) => places.extend(subscribed_task_ids(message)),
            Some(method) if method.starts_with("tasks/") => places.extend(message.param("taskId")),
            _ => {}
        }
    }
    places.extend(
        ["params", "result"].into_iter().filter_map(|member| related_task_id(message.member(member)?)),
    );
    places.retain(|place| place.kind() == JsonKind::String);
    places
}

/// Where a message of a server names its tasks.
#[must_use]
pub fn ids_named_by_server<'m>(message: &Message<'m>) -> Vec<SpannedValue<'m>> {
    let mut places = Vec::new();
    match message.kind() {
        MessageKind::Answer => {
            if let Some(result) = message.member("result") {
                places.extend(result.member("taskId"));
                places.extend(result.member("task").and_then(|task| task.member("taskId")));
                let all = result.member("tasks").into_iter().flat_map(SpannedValue::elements);
                places.extend(all.filter_map(|task| task.member("taskId")));
                places.extend(result.member("result").and_then(related_task_id));
                places.extend(related_task_id(result));
            }
        }
        MessageKind::Notification => {
            places.extend(message.member("params").and_then(related_task_id));
            match message.method().and_then(JsonString::decode).as_deref() {
                Some(method::TASKS | method::TASKS_STATUS) => {
                    places.extend(message.param("taskId"));
                    places.extend(message.param("result").and_then(related_task_id));
                }
                Some(method::SUBSCRIPTIONS_ACKNOWLEDGED) => places.extend(subscribed_task_ids(message)),
                _ => {}
            }
        }
        MessageKind::Request => places.extend(message.member("params").and_then(related_task_id)),
        MessageKind::Batch | MessageKind::Other => {}
    }
    places.retain(|place| place.kind() == JsonKind::String);
    places
}

/// The id of the task that an answer creates.
///
/// ```
/// use mcp_attune::task::created_task_id;
/// use mcp_attune_wire::message::Message;
///
/// let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"7","status":"working"}}"#;
/// assert_eq!(created_task_id(&Message::parse(answer)?).unwrap().raw(), "\"7\"");
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
#[must_use]
pub fn created_task_id<'m>(answer: &Message<'m>) -> Option<SpannedValue<'m>> {
    let result = answer.member("result").filter(|_| answer.kind() == MessageKind::Answer)?;
    let task = if is_created_task(result) { result } else { result.member("task")? };
    task.member("taskId").filter(|id| id.kind() == JsonKind::String)
}

/// Whether a result is a task that was created.
pub(crate) fn is_created_task(result: SpannedValue<'_>) -> bool {
    result.member("resultType").and_then(SpannedValue::text).is_some_and(|kind| kind.is("task"))
}

/// The tasks that a subscription is about.
pub(crate) fn subscribed_task_ids<'m>(message: &Message<'m>) -> impl Iterator<Item = SpannedValue<'m>> {
    let ids = message.param("notifications").and_then(|filter| filter.member("taskIds"));
    ids.into_iter().flat_map(SpannedValue::elements)
}

/// The task that a message of the legacy era is about.
fn related_task_id(holder: SpannedValue<'_>) -> Option<SpannedValue<'_>> {
    holder.member("_meta")?.member(meta::RELATED_TASK)?.member("taskId")
}

/// The edits that put other ids in these places. An id for which there is no other stays.
pub fn rename_id_edits(
    places: &[SpannedValue<'_>],
    mut rename: impl FnMut(&str) -> Option<String>,
) -> Vec<(ByteSpan, String)> {
    let edit = |place: &SpannedValue<'_>| {
        let name = rename(&place.text().and_then(JsonString::decode)?)?;
        Some((place.span(), JsonQuoted(&name).to_string()))
    };
    places.iter().filter_map(edit).collect()
}

/// The tools that created tasks, by the server's own ids, as far as they are known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TaskTools(Vec<(Box<str>, Box<str>)>);

impl TaskTools {
    /// Adds a task, and the tool that created it.
    pub fn add(&mut self, id: &str, tool: &str) {
        self.0.push((id.into(), tool.into()));
    }

    /// The tool of a task.
    #[must_use]
    pub fn tool_of(&self, id: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| **known == *id).map(|(_, tool)| &**tool)
    }

    /// The tool, where there is one task.
    #[must_use]
    pub fn only_tool(&self) -> Option<&str> {
        match self.0.as_slice() {
            [(_, tool)] => Some(tool),
            _ => None,
        }
    }

    /// The tools.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(_, tool)| &**tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `"own"` in a message is found, and nothing else.
    #[track_caller]
    fn check(client: bool, message: &str) {
        let read = Message::parse(message.as_bytes()).unwrap();
        let places = if client { ids_named_by_client(&read) } else { ids_named_by_server(&read) };
        assert_eq!(places.len(), message.matches("\"own\"").count(), "{message}");
        let edits = rename_id_edits(&places, |id| (id == "own").then(|| "*".to_owned()));
        let edits: Vec<_> = edits.iter().map(|(place, text)| (*place, text.as_str())).collect();
        assert_eq!(read.splice(&edits).unwrap(), message.replace("\"own\"", "\"*\""));
    }

    #[test]
    fn every_id_that_a_client_names_is_found() {
        for method in ["tasks/get", "tasks/update", "tasks/cancel", "tasks/result"] {
            let params = r#"{"taskId":"own","x":"o"}"#;
            check(true, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#));
        }
        check(
            true,
            r#"{"jsonrpc":"2.0","id":"o","method":"subscriptions/listen","params":{"notifications":{"taskIds":["own",7,"own"]}}}"#,
        );
        let related = r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"own"}}}"#;
        check(true, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{related}}}"#));
        check(true, &format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{related}}}"#));
        // Those are tasks of the client, or no tasks at all.
        for other in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"taskId":"o"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"o"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"taskId":"o","arguments":{"taskId":"o"}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":7}}"#,
        ] {
            check(true, other);
        }
    }

    #[test]
    fn every_id_that_a_server_names_is_found() {
        let related = r#""_meta":{"io.modelcontextprotocol/related-task":{"taskId":"own"}}"#;
        for result in [
            r#"{"resultType":"task","taskId":"own"}"#,
            r#"{"task":{"taskId":"own"}}"#,
            r#"{"tasks":[{"taskId":"own"},{"taskId":"own"}]}"#,
            &format!(r#"{{"taskId":"own","result":{{"taskId":"o",{related}}}}}"#),
            &format!("{{{related}}}"),
        ] {
            check(false, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#));
        }
        for (method, params) in [
            ("notifications/tasks", r#"{"taskId":"own"}"#),
            ("notifications/tasks/status", r#"{"taskId":"own"}"#),
            ("notifications/subscriptions/acknowledged", r#"{"notifications":{"taskIds":["own"]}}"#),
            ("notifications/progress", &format!(r#"{{"taskId":"o",{related}}}"#)),
        ] {
            check(false, &format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
        }
        // A question names the task that it is for; a `taskId` beside it is one of the client's.
        let question =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{{{related}}}}}"#);
        check(false, &question);
        check(false, r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"o"}}"#);
    }

    #[test]
    fn a_task_is_created_in_two_ways() {
        for (result, created) in [
            (r#"{"resultType":"task","taskId":"7"}"#, Some("\"7\"")),
            (r#"{"task":{"taskId":"7"}}"#, Some("\"7\"")),
            (r#"{"resultType":"complete","taskId":"7"}"#, None),
            (r#"{"resultType":"task","taskId":7}"#, None),
            (r#"{"task":7}"#, None),
        ] {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            let answer = Message::parse(answer.as_bytes()).unwrap();
            assert_eq!(created_task_id(&answer).map(SpannedValue::raw), created, "{result}");
        }
    }
}
