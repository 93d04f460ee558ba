//! What is known of a server before it is judged.

use mcp_attune_wire::protocol::method;
use mcp_attune_wire::schema::DeclaredHeaders;
use serde_json::{Map, Value, json};

use super::ask::{CheckProtocol, CheckRequest};
use crate::call_plan::SkippedTool;

/// What a server is, says and has.
#[derive(Clone, Debug)]
pub(super) struct SurveyFacts {
    pub(super) manner: CheckProtocol,
    /// Whether it is asked over HTTP, and there whether it is on this machine.
    pub(super) place: CheckTransport,
    /// The method that every scenario can ask: it only reads.
    pub(super) listing: String,
    pub(super) tools: Vec<Value>,
    /// A tool that may be called, and gave a result.
    pub(super) call: Option<SampleCall>,
    /// One that mirrors arguments in headers.
    pub(super) mirrored: Option<SampleCall>,
    /// One that gives structured content.
    pub(super) structured: Option<SampleCall>,
    /// One whose result depends on the caller's time zone.
    pub(super) zoned: Option<SampleCall>,
    /// One whose result reports its language, where the listing does not.
    pub(super) spoken: Option<SampleCall>,
    /// The tools that are not called, or not again, and why.
    pub(super) left_out: Vec<SkippedTool>,
    pub(super) prompt: Option<String>,
    pub(super) resource: Option<String>,
    pub(super) languages: Option<SurveyedLanguages>,
    /// What the server declares of content negotiation.
    pub(super) negotiation: Option<Value>,
    /// Whether it was seen to read the caller's context.
    pub(super) reads_context: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckTransport {
    Http { loopback: bool },
    Pipe,
}

/// A tool with arguments that it takes, and what it gave for them.
#[derive(Clone, Debug)]
pub(super) struct SampleCall {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) declared: Option<DeclaredHeaders>,
    pub(super) result: Value,
}

/// What a server answers in.
#[derive(Clone, Debug)]
pub(super) struct SurveyedLanguages {
    /// What it reports where nothing matches.
    pub(super) default: String,
    /// Another one that it reported.
    pub(super) other: Option<String>,
}

impl SurveyFacts {
    /// A request that is right.
    pub(super) fn new_request(&self, method: &str, params: Value) -> CheckRequest {
        CheckRequest::new(&self.manner, method, params)
    }

    /// The listing that every server has.
    pub(super) fn listing_request(&self) -> CheckRequest {
        self.new_request(&self.listing, json!({}))
    }

    /// A request whose answer reports its language, if the server reports any: the listing, or a tool.
    pub(super) fn localized_request(&self) -> CheckRequest {
        self.spoken.as_ref().map_or_else(|| self.listing_request(), |call| call.to_request(self))
    }

    /// Whether a rule belongs to the protocol, or to a proposal that the server claims to follow.
    pub(super) fn claims(&self, rule: &str) -> bool {
        match rule.chars().next() {
            Some('L') => self.languages.is_some(),
            Some('F') => self.negotiation.is_some(),
            Some('C') => self.reads_context,
            _ => true,
        }
    }

    pub(super) fn is_modern(&self) -> bool {
        matches!(self.manner, CheckProtocol::Modern(_))
    }

    /// A language that is not the default.
    pub(super) fn other_language(&self) -> Option<&str> {
        self.languages.as_ref()?.other.as_deref()
    }

    /// The default and another language.
    pub(super) fn two_languages(&self) -> Option<(&str, &str)> {
        Some((self.languages.as_ref()?.default.as_str(), self.other_language()?))
    }
}

impl SampleCall {
    /// The call with its headers.
    pub(super) fn to_request(&self, facts: &SurveyFacts) -> CheckRequest {
        let params = json!({ "name": self.name, "arguments": self.arguments });
        facts.new_request(method::TOOLS_CALL, params).with_declared_headers(self.declared.as_ref())
    }

    /// The value of an argument.
    pub(super) fn argument<'a>(&self, path: impl Iterator<Item = &'a str>) -> Option<&Value> {
        let mut path = path;
        let first = self.arguments.get(path.next()?)?;
        path.try_fold(first, |value, name| value.get(name))
    }
}
