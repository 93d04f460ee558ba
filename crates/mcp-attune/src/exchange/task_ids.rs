//! The ids of tasks on their way through.
//!
//! 1. An id is sealed when it has something to carry: the tool, where the operator wrote something for its results and the
//!    caller declared tags. Any other id stays the server's own.
//! 2. The server sees its own ids only, wherever a caller names a task. The caller sees the id that it named, or that was
//!    made for it.
//! 3. An id that looks sealed and does not open goes on as it came: one that another gateway behind sealed, or one that
//!    nobody knows, which is for the server to say.
//! 4. An id is bound to its purpose and its mount, as those of sessions are, and not to credentials: they are renewed while
//!    a task runs. Whose task it is the server decides, which gets its own id and the credentials of whoever asks.
//!
//! Rules: F5–F13, G8.

use std::collections::HashMap;

use mcp_attune_wire::json::{ByteSpan, JsonString, SpannedValue};
use mcp_attune_wire::message::Message;

use super::seal::IdSeal;
use crate::session::TaskIdPayload;
use crate::task::{TaskTools, created_task_id, ids_named_by_client, ids_named_by_server, rename_id_edits};

/// The tasks that a request names or creates.
#[derive(Clone, Debug)]
pub(super) struct TaskIdRewriter {
    seal: IdSeal,
    /// The tasks that were opened, by the ids that their caller names. A message may name one many times.
    opened: HashMap<String, TaskIdPayload>,
    /// The ids that their caller names, by the server's own.
    shown: HashMap<String, String>,
    /// The tool that the request calls, where a task that it creates is to carry it.
    creator: Option<String>,
}

impl TaskIdRewriter {
    /// Opens the ids that a message of a caller names; None where there is none to open.
    pub(super) fn unseal_tasks(seal: Option<&IdSeal>, message: &Message<'_>) -> Option<Self> {
        let seal = seal?;
        let open = |place: SpannedValue<'_>| {
            let shown = place.text().and_then(JsonString::decode)?;
            let task = seal.open_task(shown.as_bytes()).ok()??;
            Some((shown.into_owned(), task))
        };
        let opened: HashMap<_, _> = ids_named_by_client(message).into_iter().filter_map(open).collect();
        let shown = opened.iter().map(|(shown, task)| (task.upstream().to_owned(), shown.clone())).collect();
        (!opened.is_empty()).then(|| Self { seal: seal.clone(), opened, shown, creator: None })
    }

    /// The same, where a task that is created is to carry this tool.
    pub(super) fn with_creator(entered: Option<Self>, seal: &IdSeal, tool: &str) -> Self {
        let nothing = || {
            let (opened, shown) = Default::default();
            Self { seal: seal.clone(), opened, shown, creator: None }
        };
        Self { creator: Some(tool.to_owned()), ..entered.unwrap_or_else(nothing) }
    }

    /// The tools of the tasks, by the server's own ids.
    pub(super) fn tools(&self) -> TaskTools {
        let mut tools = TaskTools::default();
        for task in self.opened.values() {
            tools.add(task.upstream(), task.tool());
        }
        tools
    }

    /// What changes in a message for the server.
    pub(super) fn edits_for_server(&self, message: &Message<'_>) -> Vec<(ByteSpan, String)> {
        let own = |id: &str| self.opened.get(id).map(|task| task.upstream().to_owned());
        rename_id_edits(&ids_named_by_client(message), own)
    }

    /// What changes in a message for the caller.
    pub(super) fn edits_for_caller(&self, message: &Message<'_>) -> Vec<(ByteSpan, String)> {
        let places = ids_named_by_server(message);
        // Most messages name no task.
        if places.is_empty() {
            return Vec::new();
        }
        let created = created_task_id(message).and_then(SpannedValue::text).and_then(JsonString::decode);
        let created = created.zip(self.creator.as_deref()).and_then(|(id, tool)| {
            let shown = self.seal.seal_task(&TaskIdPayload::new(&id, tool)?)?;
            Some((id, shown))
        });
        let shown = |id: &str| match &created {
            Some((own, shown)) if *own == *id => Some(shown.clone()),
            _ => self.shown.get(id).cloned(),
        };
        rename_id_edits(&places, shown)
    }
}
