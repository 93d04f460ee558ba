//! What a server gets when it asks the client something.

use std::sync::Arc;

use rmcp::model::{
    ClientConfig, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult, ElicitationAction,
    ErrorData, RequestId,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::host::ClientHost;
use super::wire_recorder::{ELICITATION_METHOD, WireRecorder};

/// The client side of rmcp's protocol: how we introduce ourselves to a server, and how its requests are
/// answered. Questions to a person go to the host; everything else is left to rmcp's defaults.
#[derive(Clone, Debug)]
pub(crate) struct ServerRequestHandler {
    /// Our name, version and capabilities.
    config: ClientConfig,
    host: Option<Arc<dyn ClientHost>>,
    /// Has the text of questions as they came.
    kept: Arc<WireRecorder>,
}

impl ServerRequestHandler {
    pub(crate) fn new(
        config: ClientConfig,
        host: Option<Arc<dyn ClientHost>>,
        kept: Arc<WireRecorder>,
    ) -> Self {
        Self { config, host, kept }
    }

    /// Puts a question to the host, in the text in which it came, or as `read` has it from rmcp if that was not
    /// kept. Without a host that can answer, the person declines.
    async fn ask_host(&self, id: &RequestId, read: impl FnOnce() -> Option<Box<RawValue>>) -> Value {
        let question = self.kept.take_question(id).or_else(read);
        match (&self.host, question) {
            (Some(host), Some(question)) if host.can_answer() => host.answer_elicitation(&question).await,
            _ => serde_json::json!({ "action": "decline" }),
        }
    }
}

impl ClientHandler for ServerRequestHandler {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = self.ask_host(&context.id, || to_raw_value(&request).ok()).await;
        Ok(serde_json::from_value(answer).unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Decline)))
    }

    /// Handles requests that rmcp has no type for. An `elicitation/create` that rmcp cannot parse comes here,
    /// and is put to the host like any other.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != ELICITATION_METHOD {
            return Err(ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        let read = || to_raw_value(&request.params).ok();
        Ok(CustomResult::new(self.ask_host(&context.id, read).await))
    }
}
