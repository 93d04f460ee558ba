//! `attune context resolve EXPRESSION`: the interval that a relative expression names for a caller.

use std::io::Write;

use jiff::Timestamp;
use mcp_attune::when::{
    self, EXPRESSION_HELP, ExpressionLanguage, Interval, ReferenceTime, TimeExpressionError, When,
};
use serde::Serialize;

use super::options::{ContextValueArgs, now};
use crate::exit::{Exit, hinted};
use crate::text::{print_json, quoted};

/// See which interval an expression such as `last week` names for a caller
#[derive(clap::Args)]
#[command(after_help = help())]
pub(super) struct ContextResolveArgs {
    /// The expression, in English or in the language of --locale; words may stand apart by blanks, _ or -
    #[arg(required = true, value_name = "EXPRESSION")]
    expression: Vec<String>,
    #[command(flatten)]
    options: ContextValueArgs,
    /// What `the last week`, `past month` and their like mean
    #[arg(long, value_enum, default_value_t)]
    past: PastOption,
    /// Print JSON: `start`, `end`, `start_utc`, `end_utc`
    #[arg(long)]
    json: bool,
}

/// What can mean the calendar unit before this one or the time up to now.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum PastOption {
    /// From the same local time one unit earlier to now
    #[default]
    Rolling,
    /// The calendar unit before this one, as `last week`
    Calendar,
    /// Nothing: such an expression is refused
    Refuse,
}

impl PastOption {
    fn to_rule(self) -> when::PastPhrasePolicy {
        match self {
            Self::Rolling => when::PastPhrasePolicy::Rolling,
            Self::Calendar => when::PastPhrasePolicy::Calendar,
            Self::Refuse => when::PastPhrasePolicy::Refuse,
        }
    }
}

fn help() -> String {
    format!(
        "Expressions, also in {}:\n{EXPRESSION_HELP}\n\
         The start is in the interval, the end is not.\n\n\
         Examples:\n  \
         $ attune context resolve last week --now 2026-11-12T14:23:00+01:00 --timezone Europe/Zurich --locale de-CH\n  \
         $ attune context resolve vor drei Tagen --timezone Europe/Zurich --locale de-CH --json\n  \
         $ attune context resolve the last week --past calendar --timezone Europe/Zurich",
        ExpressionLanguage::enumerated("and")
    )
}

#[derive(Serialize)]
struct ContextResolveOutput {
    start: String,
    end: String,
    start_utc: String,
    end_utc: String,
}

impl ContextResolveArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let text = self.expression.join(" ");
        let context = self.options.context()?;
        let language = context.locale().map_or(ExpressionLanguage::English, ExpressionLanguage::of);
        let when = When::parse(&text, language)
            .and_then(|when| when.with_past_policy(self.past.to_rule()))
            .map_err(|why| hinted(format!("{} is {why}", quoted(&text)), hint(why, language)))?;
        let now = ReferenceTime::of(now(&context), context.locale());
        let Interval { start, end } = when.resolve(&now).map_err(|unresolvable| {
            hinted(
                format!("{} is {unresolvable}", quoted(&text)),
                "`attune context resolve --help` lists what can be read",
            )
        })?;
        let local = |instant: Timestamp| instant.display_with_offset(now.zone.to_offset(instant)).to_string();
        let resolved = ContextResolveOutput {
            start: local(start),
            end: local(end),
            start_utc: start.to_string(),
            end_utc: end.to_string(),
        };
        if self.json {
            print_json(out, &resolved)?;
        } else {
            writeln!(out, "{}/{}", resolved.start, resolved.end)?;
        }
        Ok(Exit::Fine)
    }
}

/// What else can be said, or which languages were tried.
fn hint(why: TimeExpressionError, language: ExpressionLanguage) -> String {
    match language {
        _ if why == TimeExpressionError::Ambiguous => {
            "--past rolling or --past calendar says what it means".to_owned()
        }
        ExpressionLanguage::English => {
            "--locale names the language of other expressions, such as --locale de-CH".to_owned()
        }
        other => format!("the expression was read as {} and as English", other.name()),
    }
}
