//! The request that is answered, as far as its answer depends on it.

use mcp_attune_wire::json::{JsonKind, SpannedValue};
use mcp_attune_wire::message::Message;

/// What was asked: the method, and of what.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RequestSubject {
    method: Box<str>,
    subject: Option<Box<str>>,
    language_chosen: bool,
}

impl RequestSubject {
    /// A request with this method.
    #[must_use]
    pub fn new(method: &str) -> Self {
        Self { method: method.into(), subject: None, language_chosen: false }
    }

    /// What a request asks.
    ///
    /// ```
    /// use mcp_attune::localize::RequestSubject;
    /// use mcp_attune_wire::message::Message;
    ///
    /// let body = br#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"plan_trip"}}"#;
    /// let asked = RequestSubject::of(&Message::parse(body)?);
    /// assert_eq!((asked.method(), asked.subject()), ("prompts/get", Some("plan_trip")));
    /// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
    /// ```
    #[must_use]
    pub fn of(request: &Message<'_>) -> Self {
        let text = |value: SpannedValue<'_>| Some(value.text()?.decode()?.into());
        let method = request.method().and_then(|method| Some(method.decode()?.into())).unwrap_or_default();
        let subject = request.param("name").or_else(|| request.param("uri")).and_then(text);
        Self { method, subject, language_chosen: false }
    }

    /// The same, with the tool's or prompt's argument that names a language taken into account: where the request has it,
    /// the content that it selects is left to the server.
    ///
    /// Rules: L12.
    #[must_use]
    pub fn with_language_argument(mut self, request: &Message<'_>, argument: &str) -> Self {
        self.language_chosen = request
            .arguments()
            .any(|(name, value)| name.is(argument) && !matches!(value.kind(), JsonKind::Null));
        self
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The name or URI of what was asked for.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// Whether the request names the language of its content itself.
    #[must_use]
    pub fn language_chosen(&self) -> bool {
        self.language_chosen
    }
}
