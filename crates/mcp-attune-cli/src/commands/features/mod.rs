//! `attune features`: what feature tags ask for, and what they do.

mod describe;
mod explain;

use std::io::{Read, Write};

use anyhow::Context;
use mcp_attune::features::{ContentFormat, FeaturePreferences, IgnoredTagReason, Verbosity};
use mcp_attune::session::ClientFeatures as Declared;
use serde::Serialize;
use serde_json::Value;

use crate::exit::{Exit, hinted};
use crate::text::{print_json, quoted};

/// More than any client declares, and little enough to be read at once.
const MAX_INPUT_BYTES: u64 = 1 << 20;

/// See what feature tags ask for, and what they do
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ echo '[\"agent\", \"verbosity=compact\", \"!elicitation\"]' | attune features parse\n  $ attune features explain verbosity=compact\n  $ attune features describe -- attune demo --bare --stdio"
)]
pub(crate) struct FeaturesArgs {
    #[command(subcommand)]
    command: FeaturesCommand,
}

#[derive(clap::Subcommand)]
enum FeaturesCommand {
    Parse(FeaturesParseArgs),
    Explain(explain::FeaturesExplainArgs),
    Describe(describe::FeaturesDescribeArgs),
}

impl FeaturesArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            FeaturesCommand::Parse(parse) => parse.run(out),
            FeaturesCommand::Explain(explain) => explain.run(out),
            FeaturesCommand::Describe(describe) => describe.run(out),
        }
    }
}

/// Read a JSON array of tags from standard input, and see what they ask for
///
/// No tag is an error: one that is malformed, or that says something else than a tag before it, is ignored with a
/// warning, and one that nobody knows is ignored without.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ echo '[\"human\", \"format=text\", \"x-acme-wide\"]' | attune features parse\n  $ echo '[\"format=json\", \"format=text\", \"no space\"]' | attune features parse --json"
)]
struct FeaturesParseArgs {
    /// Print JSON: `valid`, `ignored`, `unknown`, `warnings`, `format`, `effective_format`, `verbosity`, one member for
    /// each flag, and `custom`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct FeaturesParseOutput {
    /// The tags that count, those of vendors among them.
    valid: Vec<String>,
    /// The tags that are malformed, or say something else than a tag before them.
    ignored: Vec<String>,
    /// The tags that are well formed and mean nothing here.
    unknown: Vec<String>,
    /// Why each of `ignored` is ignored.
    warnings: Vec<IgnoredTagOutput>,
    /// As it was asked for.
    format: Option<&'static str>,
    /// What an answer gets: a reader counts where no format was asked for, and what is excluded is not chosen.
    effective_format: Option<&'static str>,
    verbosity: Option<&'static str>,
    agent: Option<bool>,
    human: Option<bool>,
    interactive: Option<bool>,
    mcp_capable: Option<bool>,
    sampling: Option<bool>,
    elicitation: Option<bool>,
    roots: Option<bool>,
    tasks: Option<bool>,
    custom: Vec<String>,
}

#[derive(Serialize)]
struct IgnoredTagOutput {
    tag: String,
    why: String,
}

impl FeaturesParseArgs {
    fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let mut input = String::new();
        let read = std::io::stdin().take(MAX_INPUT_BYTES + 1).read_to_string(&mut input);
        read.context("could not read the tags from standard input")?;
        let parsed = FeaturesParseOutput::new(&tags(&input)?);
        if self.json {
            print_json(out, &parsed)?;
        } else {
            tell(out, &parsed)?;
        }
        Ok(Exit::Fine)
    }
}

fn tags(input: &str) -> anyhow::Result<Vec<Value>> {
    let hint = "write a JSON array of strings, such as [\"agent\", \"format=json\"]";
    if u64::try_from(input.len()).is_ok_and(|len| len > MAX_INPUT_BYTES) {
        return Err(hinted("there is more than 1 MiB on standard input", hint));
    }
    match serde_json::from_str(input) {
        Ok(Value::Array(tags)) => Ok(tags),
        Ok(_) => Err(hinted("what is on standard input is JSON, but no array", hint)),
        Err(_) if input.trim().is_empty() => Err(hinted("there is nothing on standard input", hint)),
        Err(why) => Err(hinted(format!("what is on standard input is no JSON: {why}"), hint)),
    }
}

impl FeaturesParseOutput {
    fn new(tags: &[Value]) -> Self {
        // What the gateway does not even read is told apart from what it reads and ignores.
        let mut unread = Vec::new();
        let mut read = Vec::new();
        for (number, tag) in tags.iter().enumerate() {
            match tag.as_str() {
                None => unread.push((tag.to_string(), "a tag is a string".to_owned())),
                Some(tag) if tag.len() > Declared::MAX_TAG_BYTES => {
                    unread.push((tag.to_owned(), format!("longer than {} bytes", Declared::MAX_TAG_BYTES)));
                }
                Some(tag) if number >= Declared::MAX_TAGS => {
                    unread.push((tag.to_owned(), format!("only {} tags are read", Declared::MAX_TAGS)));
                }
                Some(tag) => read.push(tag),
            }
        }
        let wanted = FeaturePreferences::read(read.iter().copied());
        // What becomes of a tag does not depend on how often it is said.
        let nothing: Vec<(&str, IgnoredTagReason)> = wanted.ignored().collect();
        let counts = |tag: &&&str| !nothing.iter().any(|(ignored, _)| ignored == *tag);
        let (unknown, told): (Vec<_>, Vec<_>) = nothing.iter().partition(|(_, why)| why.is_unknown());
        let told = told.into_iter().map(|(tag, why)| (tag.to_string(), why.to_string())).chain(unread);
        let warnings: Vec<_> = told.map(|(tag, why)| IgnoredTagOutput { tag, why }).collect();
        Self {
            valid: read.iter().filter(counts).map(ToString::to_string).collect(),
            ignored: warnings.iter().map(|warning| warning.tag.clone()).collect(),
            unknown: unknown.iter().map(|(tag, _)| (*tag).to_owned()).collect(),
            warnings,
            format: wanted.explicit_format().map(ContentFormat::name),
            effective_format: wanted.format().map(ContentFormat::name),
            verbosity: wanted.verbosity().map(Verbosity::name),
            agent: wanted.flag("agent"),
            human: wanted.flag("human"),
            interactive: wanted.flag("interactive"),
            mcp_capable: wanted.flag("mcp-capable"),
            sampling: wanted.flag("sampling"),
            elicitation: wanted.flag("elicitation"),
            roots: wanted.flag("roots"),
            tasks: wanted.flag("tasks"),
            custom: wanted.vendor_tags().map(str::to_owned).collect(),
        }
    }

    /// What clients say of themselves, by the names of the tags.
    fn flags(&self) -> [(&'static str, Option<bool>); 8] {
        [
            ("agent", self.agent),
            ("human", self.human),
            ("interactive", self.interactive),
            ("mcp-capable", self.mcp_capable),
            ("sampling", self.sampling),
            ("elicitation", self.elicitation),
            ("roots", self.roots),
            ("tasks", self.tasks),
        ]
    }
}

fn tell(out: &mut impl Write, parsed: &FeaturesParseOutput) -> anyhow::Result<()> {
    let mut line = |name: &str, value: &str| writeln!(out, "{name:<11}  {value}");
    line("format", parsed.effective_format.unwrap_or("as the server writes it"))?;
    line("verbosity", parsed.verbosity.unwrap_or("as the server writes it"))?;
    for (name, said) in parsed.flags() {
        if let Some(said) = said {
            line(name, if said { "yes" } else { "no" })?;
        }
    }
    for tag in &parsed.custom {
        line("vendor", &quoted(tag))?;
    }
    for tag in &parsed.unknown {
        line("unknown", &quoted(tag))?;
    }
    for IgnoredTagOutput { tag, why } in &parsed.warnings {
        line("ignored", &format!("{}: {why}", quoted(tag)))?;
    }
    Ok(())
}
