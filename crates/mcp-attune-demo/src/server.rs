//! The rmcp handler: which request goes where.

use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use mcp_attune_rmcp::Caller;
use mcp_attune_wire::protocol::meta::SERVER_INFO;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, DiscoverResult, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, MetaObject, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use crate::era::is_modern;
use crate::{prompts, resources, tools};

/// How long a client may keep a listing. The lists never change; an hour is enough to see that they are kept.
const LISTING_TTL_MS: u64 = 3_600_000;

/// The travel service: an rmcp server handler, cheap to clone.
///
/// It does not implement `get_tool`. With it rmcp would compare `Mcp-Param-*` headers by itself, and nobody could see
/// what a gateway in front adds.
#[derive(Debug, Clone)]
pub struct TravelServer {
    step_delay: Duration,
    now: Option<Timestamp>,
}

impl TravelServer {
    /// A travel service whose `build_report` takes `step_delay` for each page.
    pub fn new(step_delay: Duration) -> Self {
        Self { step_delay, now: None }
    }

    /// The same service with its clock stopped at this moment; `None` lets it run.
    #[must_use]
    pub fn with_stopped_clock(self, now: Option<Timestamp>) -> Self {
        Self { now, ..self }
    }

    fn now(&self) -> Timestamp {
        // Answers are written to the second.
        let whole = |now: Timestamp| Timestamp::from_second(now.as_second()).unwrap_or(now);
        self.now.unwrap_or_else(|| whole(Timestamp::now()))
    }
}

impl ServerHandler for TravelServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities).with_server_info(identity()).with_instructions(
            "Travel in Switzerland: weather, train connections, seats and maps. All data are samples.",
        )
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(LISTING_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let ResultEnvelope { ttl_ms, cache_scope, meta } = ResultEnvelope::of(&context);
        Ok(ListToolsResult { tools: tools::list(), ttl_ms, cache_scope, meta, ..Default::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let now = self.now();
        let caller = Caller::of(&context).with_clock(now);
        let mut response = tools::call(request, &context, &caller, now, self.step_delay).await?;
        match &mut response {
            CallToolResponse::Complete(result) => {
                result.meta =
                    ResultEnvelope::of(&context).with_server_title(tools::service_title(&caller)).meta;
                caller.report(&mut result.meta);
            }
            CallToolResponse::InputRequired(result) => result.meta = ResultEnvelope::of(&context).meta,
            _ => {}
        }
        Ok(response)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let ResultEnvelope { ttl_ms, cache_scope, meta } = ResultEnvelope::of(&context);
        let resources = resources::list();
        Ok(ListResourcesResult { resources, ttl_ms, cache_scope, meta, ..Default::default() })
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let ResultEnvelope { ttl_ms, cache_scope, meta } = ResultEnvelope::of(&context);
        let resource_templates = resources::templates();
        Ok(ListResourceTemplatesResult {
            resource_templates,
            ttl_ms,
            cache_scope,
            meta,
            ..Default::default()
        })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let mut result = resources::read(&request.uri)?;
        ResultEnvelope { ttl_ms: result.ttl_ms, cache_scope: result.cache_scope, meta: result.meta } =
            ResultEnvelope::of(&context);
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let ResultEnvelope { ttl_ms, cache_scope, meta } = ResultEnvelope::of(&context);
        Ok(ListPromptsResult { prompts: prompts::list(), ttl_ms, cache_scope, meta, ..Default::default() })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut result = prompts::get(&request.name, &request.arguments.unwrap_or_default())?;
        result.meta = ResultEnvelope::of(&context).meta;
        Ok(result.into())
    }
}

/// What a modern answer says about itself, and a legacy one does not: how long it holds, and who answered.
#[derive(Default)]
struct ResultEnvelope {
    ttl_ms: Option<u64>,
    cache_scope: Option<CacheScope>,
    meta: Option<MetaObject>,
}

impl ResultEnvelope {
    fn of(context: &RequestContext<RoleServer>) -> Self {
        static META: LazyLock<MetaObject> = LazyLock::new(|| {
            let mut meta = MetaObject::default();
            if let Ok(identity) = serde_json::to_value(identity()) {
                meta.insert(SERVER_INFO.to_owned(), identity);
            }
            meta
        });
        if !is_modern(context) {
            return Self::default();
        }
        Self { ttl_ms: Some(LISTING_TTL_MS), cache_scope: Some(CacheScope::Public), meta: Some(META.clone()) }
    }

    /// An answer whose language the service chose itself calls the service as that language does.
    fn with_server_title(mut self, title: Option<String>) -> Self {
        let info = self.meta.as_mut().and_then(|meta| meta.get_mut(SERVER_INFO));
        if let (Some(info), Some(title)) = (info.and_then(Value::as_object_mut), title) {
            info.insert("title".to_owned(), title.into());
        }
        self
    }
}

fn identity() -> Implementation {
    Implementation::new("swiss-travel", env!("CARGO_PKG_VERSION"))
        .with_title("Swiss travel service")
        .with_description("Weather, train connections, seats and maps, with sample data")
}
