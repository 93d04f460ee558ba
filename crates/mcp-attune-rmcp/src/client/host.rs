//! Whoever asks through a connection: they may look at the wire, and a server may ask them back.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use ::http::HeaderMap;
use rmcp::model::{
    ClientConfig, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult, ElicitationAction,
    ErrorData, RequestId,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::kept::{ELICITATION, Kept};

/// What a person answered: a future result of `elicitation/create`.
pub type Answered<'a> = Pin<Box<dyn Future<Output = Value> + Send + 'a>>;

/// Whoever asks through a [`Connection`](crate::Connection).
///
/// Nothing has to be implemented. Servers ask those who declare `elicitation` in their
/// [profile](crate::CallerProfile::capabilities); those that ask somebody else are told that the person declines.
pub trait Host: fmt::Debug + Send + Sync {
    /// Something goes over the wire. Called where messages pass, so it should not take long.
    fn sees(&self, wire: &Wire<'_>) {
        let _ = wire;
    }

    /// Whether there is a person to ask.
    fn can_answer(&self) -> bool {
        false
    }

    /// A question of a legacy server, the `params` of its `elicitation/create` as they came. A modern server asks with
    /// the result `input_required`, which is for the one who called.
    fn answer<'a>(&'a self, question: &'a RawValue) -> Answered<'a> {
        let _ = question;
        Box::pin(std::future::ready(serde_json::json!({ "action": "decline" })))
    }
}

/// What goes over the wire, as it does.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Wire<'a> {
    /// A request leaves over HTTP. Its headers may hold secrets.
    Request {
        /// The method of HTTP.
        method: &'a str,
        /// The whole URL.
        url: &'a str,
        /// All headers that we set.
        headers: &'a HeaderMap,
        /// The body.
        body: &'a [u8],
    },
    /// The head of an answer over HTTP. Its body comes after it.
    Response {
        /// The status.
        status: u16,
        /// The headers.
        headers: &'a HeaderMap,
    },
    /// A line leaves for a program.
    Line(&'a [u8]),
    /// Something came: a body, the data of an event, or a line of a program. It may be anything.
    Came(&'a [u8]),
    /// A program says something on its standard error, where that is [piped](crate::Stderr::Piped). One line.
    Said(&'a [u8]),
}

/// How we introduce ourselves to a server, and what it gets when it asks.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    config: ClientConfig,
    host: Option<Arc<dyn Host>>,
    kept: Arc<Kept>,
}

impl Handler {
    pub(crate) fn new(config: ClientConfig, host: Option<Arc<dyn Host>>, kept: Arc<Kept>) -> Self {
        Self { config, host, kept }
    }

    /// Puts a question to the host. `read` is what rmcp made of it, should its text not be there.
    async fn asked(&self, id: &RequestId, read: impl FnOnce() -> Option<Box<RawValue>>) -> Value {
        let question = self.kept.question(id).or_else(read);
        match (&self.host, question) {
            (Some(host), Some(question)) if host.can_answer() => host.answer(&question).await,
            _ => serde_json::json!({ "action": "decline" }),
        }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = self.asked(&context.id, || to_raw_value(&request).ok()).await;
        Ok(serde_json::from_value(answer).unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Decline)))
    }

    /// A question that rmcp cannot read is one all the same.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != ELICITATION {
            return Err(ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        let read = || to_raw_value(&request.params).ok();
        Ok(CustomResult::new(self.asked(&context.id, read).await))
    }
}
