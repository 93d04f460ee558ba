//! `[headers]`: what happens when headers and body disagree, and which headers tell callers apart.

use std::time::Duration;

use http::HeaderName;
use mcp_attune_wire::agree::{HeaderPolicy, LanguageHeaderPolicy, OnMissingParam};

use super::choice::{KeywordSetting, choices};
use super::findings::ConfigProblem;
use super::limits::{parse_nonzero_time, parse_time};
use super::reader::{ConfigTableReader, flag};

/// `[headers]`: what happens when headers and body disagree, and which headers tell callers apart.
///
/// A modern MCP request repeats parts of its body in headers (`Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`), by
/// which proxies route and authorize. The gateway checks that they agree; for `Mcp-Param-*` it needs the
/// schema of the called tool, which it gets by listing the tools in the caller's name.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HeadersConfig {
    /// Whether a request whose headers disagree with its body is refused, or only reported.
    pub agree: HeaderAgreementSetting,
    /// Whether careless requests are refused too: `Mcp-Name` where none belongs, integers that JSON cannot
    /// carry safely, routing headers on legacy requests. Default: false.
    pub strict: bool,
    /// What an `Accept-Language` header means beside the preference in `_meta`. Default: it must be the same.
    pub language_header: LanguageHeaderPolicy,
    /// What happens to a call whose schema could not be fetched because of a fault.
    pub on_unknown: UnknownSchemaSetting,
    /// What happens to a call whose argument is declared for a header (`x-mcp-header`) and comes without that
    /// header. Default: it is refused.
    pub on_missing_param: OnMissingParam,
    /// How long a schema is kept at least. Default: 30 s.
    pub schema_ttl: Duration,
    /// The age above which a schema is fetched again before a request is refused because of it. Default: 1 s.
    pub schema_recheck: Duration,
    /// How long fetching a schema may take, before it counts as a fault. Default: 2 s.
    pub schema_budget: Duration,
    /// The headers that, beside `Authorization` and `Cookie`, tell one caller from another: for schemas, and
    /// for the share of permits. Default: `X-Api-Key`.
    pub identity_headers: Vec<HeaderName>,
    /// Whether the query string tells callers apart, too; for servers that take a key from it. Default:
    /// false.
    pub identity_query: bool,
}

choices! {
    /// What happens to a request whose headers disagree with its body. Rules: H1.
    pub HeaderAgreementSetting {
        /// It is refused.
        Enforce = "enforce",
        /// It goes on, and is logged and counted (`attune_refusals_total{enforced="false"}`).
        Report = "report",
    }
}

choices! {
    /// What happens to a call whose schema could not be had because of a fault. Rules: H10.
    pub UnknownSchemaSetting {
        /// It goes on unchecked, and is counted (`attune_unchecked_total`).
        Pass = "pass",
        /// It is refused.
        Refuse = "refuse",
    }
}

impl KeywordSetting for LanguageHeaderPolicy {
    const ALL: &'static [(&'static str, Self)] = &[
        ("compare", Self::Compare),
        ("ignore-wildcard", Self::IgnoreWildcard),
        ("ignore", Self::Ignore),
        ("promote", Self::Promote),
    ];
}

impl KeywordSetting for OnMissingParam {
    const ALL: &'static [(&'static str, Self)] = &[("refuse", Self::Refuse), ("pass", Self::Pass)];
}

impl Default for HeadersConfig {
    fn default() -> Self {
        Self {
            agree: HeaderAgreementSetting::default(),
            strict: false,
            language_header: LanguageHeaderPolicy::default(),
            on_unknown: UnknownSchemaSetting::default(),
            on_missing_param: OnMissingParam::default(),
            schema_ttl: Duration::from_secs(30),
            schema_recheck: Duration::from_secs(1),
            schema_budget: Duration::from_secs(2),
            identity_headers: vec![HeaderName::from_static("x-api-key")],
            identity_query: false,
        }
    }
}

impl HeadersConfig {
    /// Returns the part of this that the header checks need.
    ///
    /// ```
    /// use mcp_attune_gateway::config::HeadersConfig;
    ///
    /// assert!(!HeadersConfig::default().policy().strict);
    /// ```
    #[must_use]
    pub fn policy(&self) -> HeaderPolicy {
        let mut policy = HeaderPolicy::default();
        policy.strict = self.strict;
        policy.language_header = self.language_header;
        policy.on_missing_param = self.on_missing_param;
        policy
    }

    /// Reads the table. Absent keys keep the values of `base`.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &Self) -> Self {
        Self {
            agree: reader.choice("agree", base.agree),
            strict: reader.read("strict", base.strict, flag),
            language_header: reader.choice("language_header", base.language_header),
            on_unknown: reader.choice("on_unknown", base.on_unknown),
            on_missing_param: reader.choice("on_missing_param", base.on_missing_param),
            schema_ttl: reader.read("schema_ttl", base.schema_ttl, parse_time),
            schema_recheck: reader.read("schema_recheck", base.schema_recheck, parse_time),
            schema_budget: reader.read("schema_budget", base.schema_budget, parse_nonzero_time),
            identity_headers: reader.list("identity_headers", &base.identity_headers, header_name),
            identity_query: reader.read("identity_query", base.identity_query, flag),
        }
    }
}

/// Parses the name of a header.
pub(super) fn header_name(text: &str) -> Result<HeaderName, ConfigProblem> {
    let hint = "write letters, digits and hyphens, such as \"X-Api-Key\"";
    HeaderName::from_bytes(text.as_bytes()).map_err(|_| ConfigProblem::new("is no name of a header", hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_names_are_tokens() {
        for text in ["X-Api-Key", "x", "a!#$%&'*+-.^_`|~9"] {
            assert!(header_name(text).is_ok(), "{text}");
        }
        for text in ["", "X Api", "X:Y", "é", "a\n", "(a)", "\"a\""] {
            assert_eq!(header_name(text).unwrap_err().what, "is no name of a header", "{text}");
        }
        assert!(header_name(&"a".repeat(99_999)).is_err());
    }

    #[test]
    fn the_policy_is_what_was_configured() {
        let headers = HeadersConfig {
            strict: true,
            language_header: LanguageHeaderPolicy::Promote,
            on_missing_param: OnMissingParam::Pass,
            ..HeadersConfig::default()
        };
        let policy = headers.policy();
        assert!(policy.strict);
        assert_eq!(policy.language_header, LanguageHeaderPolicy::Promote);
        assert_eq!(policy.on_missing_param, OnMissingParam::Pass);
    }
}
