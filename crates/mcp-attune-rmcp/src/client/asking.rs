//! What a server can be asked, in the name of one caller.
//!
//! 1. If the answer may be kept and is, fresh, in the cache of the connection, nothing is sent.
//! 2. A call over HTTP in the modern era needs headers that the schema of its tool declares, so the tools are
//!    listed first, once. A tool whose annotations are invalid is not called.
//! 3. If such a call is refused for headers that mirror parameters, the tools are listed again, and the call is
//!    repeated: once, and it had not begun.
//!
//! Rules: G3, H5, H12, L18.

use std::sync::Arc;
use std::time::Instant;

use mcp_attune::cache::{self, CacheHint};
use mcp_attune_wire::document::Document;
use mcp_attune_wire::header;
use mcp_attune_wire::listing::ListingStep;
use mcp_attune_wire::protocol::code::HEADER_MISMATCH;
use mcp_attune_wire::protocol::method;
use rmcp::model::{ClientRequest, CustomRequest};
use rmcp::service::PeerRequestOptions;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::cache::{AnswerCache, AnswerCacheQuery, CachedAnswer};
use super::connection::Connection;
use super::error::ClientError;
use super::listing::CompleteListing;
use super::profile::CallerProfile;
use super::unmet::{UnmetPreference, find_unmet};
use super::wire_recorder::AnswerSlot;

/// The parameters that stand for all pages of a listing in a cache. No request has them, because they are not
/// an object.
const ALL_PAGES: &str = "all";

/// A connection in the name of one caller: cheap to make, for one request or for many.
#[derive(Clone, Debug)]
pub struct ProfiledConnection<'c> {
    connection: &'c Connection,
    profile: CallerProfile,
}

/// The method that asks for a listing, and the member of its results that holds the items.
#[derive(Clone, Copy)]
struct ListMethod {
    method: &'static str,
    member: &'static str,
}

const TOOLS: ListMethod = ListMethod { method: method::TOOLS_LIST, member: "tools" };
const PROMPTS: ListMethod = ListMethod { method: method::PROMPTS_LIST, member: "prompts" };
const RESOURCES: ListMethod = ListMethod { method: method::RESOURCES_LIST, member: "resources" };
const TEMPLATES: ListMethod =
    ListMethod { method: method::RESOURCES_TEMPLATES_LIST, member: "resourceTemplates" };

/// Requests in the name of the connection's own profile.
impl Connection {
    /// Returns the same connection in the name of another caller, for one request or for many. Nothing is
    /// connected anew.
    ///
    /// In the legacy era the language and the context are those of the profile, and the features stay those
    /// that the session began with.
    #[must_use]
    pub fn with_profile(&self, profile: &CallerProfile) -> ProfiledConnection<'_> {
        ProfiledConnection::new(self, profile.clone())
    }

    fn with_default_profile(&self) -> ProfiledConnection<'_> {
        self.with_profile(&self.options.profile)
    }

    /// Lists all tools that can be used, from the cache if that is fresh. [`CompleteListing::dropped`] has the
    /// others.
    pub async fn tools(&self) -> Result<Arc<CompleteListing>, ClientError> {
        self.with_default_profile().tools().await
    }

    /// Lists all prompts.
    pub async fn prompts(&self) -> Result<Arc<CompleteListing>, ClientError> {
        self.with_default_profile().prompts().await
    }

    /// Lists all resources.
    pub async fn resources(&self) -> Result<Arc<CompleteListing>, ClientError> {
        self.with_default_profile().resources().await
    }

    /// Lists all templates of resources.
    pub async fn templates(&self) -> Result<Arc<CompleteListing>, ClientError> {
        self.with_default_profile().templates().await
    }

    /// Calls a tool and returns its result. If arguments are mirrored in headers, the tools are listed first,
    /// once. A result with `isError` is not an error here.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Value, ClientError> {
        self.with_default_profile().call(tool, arguments).await
    }

    /// Calls a tool and returns the result as it was written.
    pub async fn call_raw(&self, tool: &str, arguments: Value) -> Result<Box<RawValue>, ClientError> {
        self.with_default_profile().call_raw(tool, arguments).await
    }

    /// Reads a resource.
    pub async fn read(&self, uri: &str) -> Result<Value, ClientError> {
        self.with_default_profile().read(uri).await
    }

    /// Gets a prompt.
    pub async fn prompt(&self, name: &str, arguments: Value) -> Result<Value, ClientError> {
        self.with_default_profile().prompt(name, arguments).await
    }

    /// Sends any request and returns its result. What the modern era wants in `_meta` is added, and what the
    /// profile says; what else `params` has there stays.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        self.with_default_profile().request(method, params).await
    }

    /// Sends any request and returns the result as it was written, with its order, spaces and numbers of any
    /// size.
    pub async fn request_raw(&self, method: &str, params: Value) -> Result<Box<RawValue>, ClientError> {
        self.with_default_profile().request_raw(method, params).await
    }
}

impl<'c> ProfiledConnection<'c> {
    fn new(connection: &'c Connection, profile: CallerProfile) -> Self {
        Self { connection, profile }
    }

    /// Returns who asks.
    #[must_use]
    pub fn profile(&self) -> &CallerProfile {
        &self.profile
    }

    /// Lists all tools that can be used, from the cache if that is fresh. [`CompleteListing::dropped`] has the
    /// others.
    pub async fn tools(&self) -> Result<Arc<CompleteListing>, ClientError> {
        let listing = self.list(TOOLS, true).await?;
        if self.connection.mirrors {
            self.connection.learned.learn(listing.tool_headers());
        }
        Ok(listing)
    }

    /// Lists all prompts.
    pub async fn prompts(&self) -> Result<Arc<CompleteListing>, ClientError> {
        self.list(PROMPTS, true).await
    }

    /// Lists all resources.
    pub async fn resources(&self) -> Result<Arc<CompleteListing>, ClientError> {
        self.list(RESOURCES, true).await
    }

    /// Lists all templates of resources.
    pub async fn templates(&self) -> Result<Arc<CompleteListing>, ClientError> {
        self.list(TEMPLATES, true).await
    }

    /// Calls a tool and returns its result. If arguments are mirrored in headers, the tools are listed first,
    /// once. A result with `isError` is not an error here.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Value, ClientError> {
        self.request(method::TOOLS_CALL, json!({ "name": tool, "arguments": arguments })).await
    }

    /// Calls a tool and returns the result as it was written.
    pub async fn call_raw(&self, tool: &str, arguments: Value) -> Result<Box<RawValue>, ClientError> {
        self.request_raw(method::TOOLS_CALL, json!({ "name": tool, "arguments": arguments })).await
    }

    /// Reads a resource.
    pub async fn read(&self, uri: &str) -> Result<Value, ClientError> {
        self.request(method::RESOURCES_READ, json!({ "uri": uri })).await
    }

    /// Gets a prompt.
    pub async fn prompt(&self, name: &str, arguments: Value) -> Result<Value, ClientError> {
        self.request(method::PROMPTS_GET, json!({ "name": name, "arguments": arguments })).await
    }

    /// Sends any request and returns its result. What the modern era wants in `_meta` is added, and what the
    /// profile says; what else `params` has there stays.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, ClientError> {
        let raw = self.request_raw(method, params).await?;
        self.read_result(method, &raw)
    }

    /// Sends any request and returns the result as it was written, with its order, spaces and numbers of any
    /// size.
    pub async fn request_raw(&self, method: &str, params: Value) -> Result<Box<RawValue>, ClientError> {
        let params = if params.is_null() { Value::Object(Map::new()) } else { params };
        match self.connection.cache() {
            Some(cache) if cache::is_cacheable(method) => self.request_cached(cache, method, params).await,
            _ if method == method::TOOLS_CALL && self.connection.mirrors => self.call_mirrored(params).await,
            _ => self.send(method, params).await,
        }
    }

    /// Returns what of the profile a result did not honour, for the user to be told.
    ///
    /// Rules: F16.
    #[must_use]
    pub fn unmet_preferences(&self, result: &Value) -> Vec<UnmetPreference> {
        find_unmet(self.connection, &self.profile, result)
    }

    fn cache_query<'q>(
        &'q self,
        cache: &AnswerCache,
        method: &'q str,
        params: &'q str,
    ) -> AnswerCacheQuery<'q> {
        let Connection { server, .. } = self.connection;
        let identity = self.connection.identity(cache);
        AnswerCacheQuery { server, method, params, caller: self.profile.cache_key(), identity }
    }

    /// Returns a result from the cache, or sends the request and keeps its result if the server allows it.
    async fn request_cached(
        &self,
        cache: &AnswerCache,
        method: &str,
        params: Value,
    ) -> Result<Box<RawValue>, ClientError> {
        let text = params.to_string();
        let asked = self.cache_query(cache, method, &text);
        if let Some(CachedAnswer::Result(raw)) = cache.find(&asked, Instant::now()) {
            return Ok((*raw).to_owned());
        }
        let changes = cache.change_count();
        let raw = self.send(method, params).await?;
        if let Some(hint) = cache::hint(method, &text, raw.get()) {
            let answer = CachedAnswer::Result(raw.clone().into());
            cache.keep(&asked, answer, raw.get().len(), hint, (changes, Instant::now()));
        }
        Ok(raw)
    }

    /// Returns a complete listing, from the cache if `kept` allows that, else from the server.
    async fn list(&self, kind: ListMethod, kept: bool) -> Result<Arc<CompleteListing>, ClientError> {
        let Some(cache) = self.connection.cache() else { return Ok(self.fetch_all_pages(kind).await?.0) };
        let asked = self.cache_query(cache, kind.method, ALL_PAGES);
        if kept && let Some(CachedAnswer::Listing(listing)) = cache.find(&asked, Instant::now()) {
            return Ok(listing);
        }
        let changes = cache.change_count();
        let (listing, hint, bytes) = self.fetch_all_pages(kind).await?;
        if let Some(hint) = hint {
            let answer = CachedAnswer::Listing(listing.clone());
            cache.keep(&asked, answer, bytes, hint, (changes, Instant::now()));
        }
        Ok(listing)
    }

    /// Asks for all pages of a listing, within the bounds of the options. Returns the listing, how long all
    /// pages together may be kept, and their bytes.
    async fn fetch_all_pages(
        &self,
        kind: ListMethod,
    ) -> Result<(Arc<CompleteListing>, Option<CacheHint>, usize), ClientError> {
        let ListMethod { method, member } = kind;
        let (mut all, mut hint) = (Vec::new(), None);
        let mut pages = self.connection.pages(method);
        loop {
            let first = pages.page_number() == 1;
            let raw = self.send(method, self.connection.page_params(method, &pages)?).await?;
            let mut page = self.read_result(method, &raw)?;
            let of_page = cache::hint(method, "{}", raw.get());
            hint = if first {
                of_page
            } else {
                hint.zip(of_page).map(|(one, two): (CacheHint, _)| one.combine(two))
            };
            let Some(Value::Array(items)) = page.get_mut(member).map(Value::take) else {
                return Err(self.connection.not_mcp(method, &format!("an answer without `{member}`")));
            };
            let next = page.get("nextCursor").map(Value::to_string);
            let next = next.as_deref().and_then(|next| Document::parse(next.as_bytes()).ok());
            let turn = pages.advance(items.len(), raw.get().len(), next.map(|next| next.root()));
            all.extend(items);
            match turn {
                ListingStep::Next => {}
                ListingStep::Done => {
                    return Ok((Arc::new(self.build_listing(kind, all)), hint, pages.bytes_so_far()));
                }
                ListingStep::Endless(why) => return Err(self.connection.endless_listing_error(method, why)),
            }
        }
    }

    /// Makes a listing of items. Tools that cannot be called are left out of it and logged, where calls mirror
    /// arguments.
    fn build_listing(&self, kind: ListMethod, items: Vec<Value>) -> CompleteListing {
        if kind.method != TOOLS.method || !self.connection.mirrors {
            return CompleteListing::of_items(items);
        }
        let listing = CompleteListing::of_tools(items);
        for dropped in listing.dropped() {
            tracing::warn!(tool = ?dropped.name(), why = %dropped.why, "a tool is left out");
        }
        listing
    }

    /// Calls a tool by rules 2 and 3.
    async fn call_mirrored(&self, params: Value) -> Result<Box<RawValue>, ClientError> {
        let learned = &self.connection.learned;
        if !learned.is_known() {
            match self.tools().await {
                Ok(_) => {}
                Err(too_large @ ClientError::ListingTooLarge { .. }) => return Err(too_large),
                // A server that cannot list its tools may still be called.
                Err(_) => learned.give_up(),
            }
        }
        self.check_callable(&params)?;
        match self.send(method::TOOLS_CALL, params.clone()).await {
            Err(ClientError::Refused { code: HEADER_MISMATCH, message, data, .. })
                if is_about_params(&message, data.as_ref()) =>
            {
                tracing::debug!("headers are refused; the tools are listed again");
                learned.learn(self.list(TOOLS, false).await?.tool_headers());
                self.check_callable(&params)?;
                self.send(method::TOOLS_CALL, params).await
            }
            called => called,
        }
    }

    /// Refuses to call a tool whose header declarations are invalid.
    fn check_callable(&self, params: &Value) -> Result<(), ClientError> {
        let Some(tool) = params.get("name").and_then(Value::as_str) else { return Ok(()) };
        match self.connection.learned.declared_by(tool) {
            Some(Err(why)) => Err(ClientError::Dropped { tool: tool.to_owned(), why }),
            _ => Ok(()),
        }
    }

    /// Sends a request past the cache, and waits for its answer. What the transport recorded for it counts more
    /// than what rmcp says of it.
    async fn send(&self, method: &str, params: Value) -> Result<Box<RawValue>, ClientError> {
        let connection = self.connection;
        let slot = AnswerSlot::default();
        let mut request = CustomRequest::new(method, Some(params));
        request.extensions.insert(slot.clone());
        request.extensions.insert(self.profile.clone());
        let options = PeerRequestOptions::with_timeout(connection.options.answer);
        let asked =
            connection.service.send_request_with_option(ClientRequest::CustomRequest(request), options);
        let answered = match asked.await {
            Ok(asked) => asked.await_response().await,
            Err(error) => Err(error),
        };
        match (slot.get(), answered) {
            (Some(Err(error)), _) => Err(error.clone()),
            (_, Err(error)) => Err(connection.service_error(method, error)),
            (Some(Ok(raw)), Ok(_)) => Ok(raw.clone()),
            (None, Ok(_)) => Err(connection.not_mcp(method, "an answer without a result")),
        }
    }

    fn read_result(&self, method: &str, raw: &RawValue) -> Result<Value, ClientError> {
        serde_json::from_str(raw.get()).map_err(|error| self.connection.not_mcp(method, &error.to_string()))
    }
}

/// Returns whether a refusal of headers is about those that mirror parameters: it names one, or none of the
/// other headers.
fn is_about_params(message: &str, data: Option<&Value>) -> bool {
    let said = format!("{message} {}", data.unwrap_or(&Value::Null)).to_ascii_lowercase();
    let names = |name: &str| said.contains(&name.to_ascii_lowercase());
    let others = [header::METHOD, header::NAME, header::PROTOCOL_VERSION, header::ACCEPT_LANGUAGE];
    names(header::PARAM_PREFIX) || !others.into_iter().any(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_refusals_of_parameters_from_others() {
        let data = json!({ "mismatches": [{ "header": "mcp-param-zone" }] });
        for (message, data) in [
            ("missing Mcp-Param-Region header for `region`", None),
            ("headers do not match", Some(&data)),
            ("Header mismatch", None),
            ("Mcp-Name and Mcp-Param-Zone differ", None),
        ] {
            assert!(is_about_params(message, data), "{message}");
        }
        for message in ["Mcp-Name header `a` does not match", "missing required Mcp-Method header"] {
            assert!(!is_about_params(message, None), "{message}");
        }
    }
}
