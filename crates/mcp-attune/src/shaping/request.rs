//! What a request is, as far as the shape of its answer depends on it.

use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::method::{SUBSCRIPTIONS_LISTEN, TOOLS_CALL};

use super::Shaper;
use crate::localize::RequestSubject;
use crate::session::ClientFeatures;
use crate::task::{TaskTools, subscribed_task_ids};

/// A request whose answer may be shaped.
#[derive(Clone, Debug)]
pub struct ShapeRequest {
    /// What was asked.
    pub asked: RequestSubject,
    /// The arguments, as they were written, where something may use them.
    pub arguments: Option<Box<str>>,
    /// Whether it is one of the modern era.
    pub modern: bool,
    /// Whether results of tasks may be in its answer.
    pub about_tasks: bool,
    /// The tools of the tasks that it names, as far as they are known.
    pub tasks: TaskTools,
}

impl ShapeRequest {
    /// Reads what a request asks for, with its arguments where the operator wrote something that may use them.
    #[must_use]
    pub fn of(message: &Message<'_>, modern: bool, shaper: &dyn Shaper) -> Self {
        let asked = RequestSubject::of(message);
        let uses = |name: &&str| shaper.uses_arguments_of(name);
        let arguments = asked.subject().filter(uses).and_then(|_| message.param("arguments"));
        let about_tasks = match asked.method() {
            "tasks/get" | "tasks/result" => true,
            SUBSCRIPTIONS_LISTEN => subscribed_task_ids(message).next().is_some(),
            _ => false,
        };
        let arguments = arguments.map(|arguments| arguments.raw().into());
        Self { asked, arguments, modern, about_tasks, tasks: TaskTools::default() }
    }

    /// The same request, with the tools of the tasks that it names.
    #[must_use]
    pub fn with_tasks(self, tasks: TaskTools) -> Self {
        Self { tasks, ..self }
    }

    /// The tool whose name a task has to carry that this request creates: one that the operator wrote something for, called
    /// by somebody who declared tags.
    ///
    /// Rules: F6, F8, F10.
    #[must_use]
    pub fn tool_for_created_tasks(&self, shaper: &dyn Shaper, features: &ClientFeatures) -> Option<&str> {
        let tool = self.asked.subject().filter(|_| self.asked.method() == TOOLS_CALL)?;
        (!features.is_empty() && shaper.has_form_for(tool)).then_some(tool)
    }

    /// What is known of a request whose stream goes on after it broke off.
    #[must_use]
    pub fn for_resumed_stream() -> Self {
        let (asked, tasks) = (RequestSubject::new(""), TaskTools::default());
        Self { asked, arguments: None, modern: false, about_tasks: false, tasks }
    }
}
