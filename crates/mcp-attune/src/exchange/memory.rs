//! The tools of tasks, remembered where ids stay as they are.

use std::collections::VecDeque;

use mcp_attune_wire::json::{JsonString, SpannedValue};
use mcp_attune_wire::message::Message;

use crate::session::TaskIdPayload;
use crate::task::{TaskTools, created_task_id, ids_named_by_client};

/// How many tasks are remembered.
const MAX_TASKS: usize = 1024;

/// The tools of the tasks that were created last, by their ids.
#[derive(Clone, Debug, Default)]
pub struct TaskMemory(VecDeque<(String, String)>);

impl TaskMemory {
    /// Adds the tools of the tasks that a request names, as far as they are remembered.
    pub(super) fn add_tools_named_in(&self, message: &Message<'_>, tools: &mut TaskTools) {
        if self.0.is_empty() {
            return;
        }
        for id in ids_named_by_client(message).into_iter().filter_map(|id| id.text()?.decode()) {
            if let Some((_, tool)) = self.0.iter().find(|(known, _)| *known == id) {
                tools.add(&id, tool);
            }
        }
    }

    /// Remembers which tool the task is of that an answer creates, if it creates one.
    pub(super) fn remember(&mut self, answer: &Message<'_>, tool: &str) {
        let id = created_task_id(answer).and_then(SpannedValue::text).and_then(JsonString::decode);
        if let Some(kept) = id.and_then(|id| TaskIdPayload::new(&id, tool)) {
            self.0.truncate(MAX_TASKS - 1);
            self.0.push_front((kept.upstream().to_owned(), kept.tool().to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_tasks_are_remembered_than_there_is_room_for() {
        let mut memory = TaskMemory::default();
        for number in 0..MAX_TASKS + 5 {
            let answer =
                format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"task","taskId":"{number}"}}}}"#);
            memory.remember(&Message::parse(answer.as_bytes()).unwrap(), "t");
        }
        assert_eq!(memory.0.len(), MAX_TASKS);
        assert_eq!(memory.0.front().unwrap().0, (MAX_TASKS + 4).to_string());
    }
}
