//! `attune features explain [TAG]`: what a tag does by default.

use std::io::Write;

use mcp_attune::features::TagEffect;
use serde::Serialize;

use crate::exit::{Exit, hinted};
use crate::text::{print_json, quoted, wrap_rule_text};

/// Explain what a feature tag does where the operator wrote no template for it, and which rule says so
///
/// Tags change nothing for a server without content negotiation: in front of one, `[content] enabled = true` turns it on.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune features explain\n  $ attune features explain verbosity=compact\n  $ attune features explain '!human' --json"
)]
pub(super) struct FeaturesExplainArgs {
    /// The tag, such as format=json; without it, all tags are explained
    #[arg(allow_hyphen_values = true)]
    tag: Option<String>,
    /// Print JSON: `tags`, each with `tag`, `does` and `rule`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct FeaturesExplainOutput<'a> {
    tags: Vec<TagExplanation<'a>>,
}

#[derive(Serialize)]
struct TagExplanation<'a> {
    tag: &'a str,
    does: &'static str,
    rule: &'static str,
}

impl FeaturesExplainArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let tags = match &self.tag {
            None => TagEffect::all().map(|effect| entry(effect.tag, effect)).collect(),
            Some(tag) => {
                let effect = TagEffect::of(tag).ok_or_else(|| {
                    let hint =
                        "`attune features explain` lists all tags; one that is not among them is ignored";
                    hinted(format!("{} is no feature tag that means anything", quoted(tag)), hint)
                })?;
                vec![entry(tag, effect)]
            }
        };
        if self.json {
            print_json(out, &FeaturesExplainOutput { tags })?;
            return Ok(Exit::Fine);
        }
        for (at, TagExplanation { tag, does, rule }) in tags.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            writeln!(out, "{tag} ({rule})")?;
            writeln!(out, "{}", wrap_rule_text(does).trim_end())?;
        }
        Ok(Exit::Fine)
    }
}

fn entry<'a>(tag: &'a str, effect: TagEffect) -> TagExplanation<'a> {
    TagExplanation { tag, does: effect.does, rule: effect.rule }
}
