//! Scenarios: a rule, what it takes to see it, what is sent, and who judges.

use super::ask::CheckRequest;
use super::facts::{CheckTransport, SurveyFacts};
use super::judge::Judge;

/// One thing that a rule asks, and that can be seen from outside.
pub(super) struct Scenario {
    /// The id of the rule.
    pub(super) rule: &'static str,
    /// Its name within the rule.
    pub(super) name: &'static str,
    /// What has to be so, as a sentence.
    pub(super) title: &'static str,
    /// Whether no document asks for it: it is Attune's reading of what they leave open.
    pub(super) own: bool,
    pub(super) needs: &'static [ScenarioNeed],
    /// What is sent; none where the server has nothing to show it on.
    pub(super) send: fn(&SurveyFacts) -> Option<Vec<CheckRequest>>,
    pub(super) judge: Judge,
    /// What to do about a failure.
    pub(super) hint: &'static str,
}

impl Scenario {
    /// `H1/name-differs`
    pub(super) fn id(&self) -> String {
        format!("{}/{}", self.rule, self.name)
    }
}

/// What a server must have, or claim, for a scenario to say something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScenarioNeed {
    Http,
    Pipe,
    Loopback,
    Modern,
    /// A tool that may be called.
    Call,
    /// One that mirrors arguments in headers.
    Mirrored,
    /// One with structured content.
    Structured,
    /// One whose result depends on the caller's zone.
    Zoned,
    Prompt,
    Resource,
    /// The server reports languages.
    Language,
    /// Its listing does.
    ListedLanguage,
    /// It has more than one.
    Languages,
    /// It declares content negotiation.
    Negotiation,
    /// It was seen to read the caller's context.
    Context,
}

impl ScenarioNeed {
    /// Whether tools are called to see if it is there.
    pub(super) fn needs_calls(self) -> bool {
        matches!(self, Self::Call | Self::Mirrored | Self::Structured | Self::Zoned | Self::Context)
    }

    /// Whether tools are called to see if it is there where the listing does not show it.
    pub(super) fn may_need_calls(self) -> bool {
        matches!(self, Self::Language | Self::Languages)
    }

    /// Why a scenario says nothing about a server; none where it does.
    pub(super) fn unmet_reason(self, facts: &SurveyFacts) -> Option<&'static str> {
        let http = matches!(facts.place, CheckTransport::Http { .. });
        let languages = facts.languages.as_ref();
        let (there, why) = match self {
            Self::Http => (http, "it is about HTTP"),
            Self::Pipe => (!http, "it is about pipes"),
            Self::Loopback => {
                (facts.place == CheckTransport::Http { loopback: true }, "the server is not on this machine")
            }
            Self::Modern => (facts.is_modern(), "the server speaks no version from 2026-07-28 on"),
            Self::Call => (
                facts.call.is_some(),
                "no tool is marked as read-only and gives a result; name one with --call",
            ),
            Self::Mirrored => (
                facts.mirrored.is_some(),
                "no tool with x-mcp-header may be called with a value for it; name one with --call",
            ),
            Self::Structured => (
                facts.structured.is_some(),
                "no tool that may be called gives structured content; name one with --call",
            ),
            Self::Zoned => (
                facts.zoned.is_some(),
                "no tool that may be called depends on the caller's time zone; name one with --call",
            ),
            Self::Prompt => (facts.prompt.is_some(), "the server lists no prompt"),
            Self::Resource => (facts.resource.is_some(), "the server lists no resource"),
            Self::Language => (languages.is_some(), "the server reports no language"),
            Self::ListedLanguage => {
                (languages.is_some() && facts.spoken.is_none(), "the server's listing reports no language")
            }
            Self::Languages if languages.is_none() => (false, "the server reports no language"),
            Self::Languages => (facts.other_language().is_some(), "the server reports no second language"),
            Self::Negotiation => {
                (facts.negotiation.is_some(), "the server does not declare content negotiation")
            }
            Self::Context => (facts.reads_context, "the server was not seen to read the caller's context"),
        };
        (!there).then_some(why)
    }
}
