//! `attune language check|negotiate`: is a preference well formed, and which language does it get?

use std::io::{IsTerminal, Write};

use mcp_attune::language::{
    AcceptLanguage, AcceptLanguageError, Choice, LanguageRange, Languages, Tag, Why, lookup, read_preference,
};
use mcp_attune_wire::quality::Quality;
use serde::Serialize;

use crate::exit::{Exit, hinted};
use crate::text::{print_json, quoted};

/// Check a language preference, or see which language it gets
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune language check 'de-CH, de;q=0.9, en;q=0.5'\n  $ attune language negotiate --accept 'es-UY, en;q=0.5' --available en,es-ES,es-MX"
)]
pub(crate) struct LanguageArgs {
    #[command(subcommand)]
    command: LanguageCommand,
}

#[derive(clap::Subcommand)]
enum LanguageCommand {
    Check(LanguageCheckArgs),
    Negotiate(LanguageNegotiateArgs),
}

impl LanguageArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            LanguageCommand::Check(check) => check.run(out),
            LanguageCommand::Negotiate(negotiate) => negotiate.run(out),
        }
    }
}

/// Check whether a value is a well-formed preference: exit 0 if it is, 1 if not
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune language check 'da, en-gb;q=0.8, en;q=0.7'")]
struct LanguageCheckArgs {
    /// The value, as it stands in `_meta` or in Accept-Language
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct LanguageCheckOutput<'a> {
    well_formed: bool,
    ranges: Vec<WeightedRangeOutput<'a>>,
    at: Option<usize>,
    error: Option<String>,
}

#[derive(Serialize)]
struct WeightedRangeOutput<'a> {
    range: &'a str,
    quality: f64,
}

impl LanguageCheckArgs {
    fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let read = AcceptLanguage::parse(&self.value);
        if self.json {
            let ranges = read.iter().flat_map(AcceptLanguage::ranges);
            let ranges = ranges
                .map(|(range, quality)| WeightedRangeOutput {
                    range: range.as_str(),
                    quality: quality_as_f64(quality),
                })
                .collect();
            let error = read.as_ref().err();
            let checked = LanguageCheckOutput {
                well_formed: error.is_none(),
                ranges,
                at: error.map(|malformed| malformed.at()),
                error: error.map(AcceptLanguageError::to_string),
            };
            print_json(out, &checked)?;
        } else {
            match &read {
                Ok(accept) if accept.is_empty() => writeln!(out, "well formed: no preference")?,
                Ok(accept) => {
                    writeln!(out, "well formed")?;
                    for (range, quality) in accept.ranges() {
                        writeln!(out, "  {:<5}  {}", quality.to_string(), range.as_str())?;
                    }
                }
                Err(malformed) => {
                    writeln!(out, "malformed {malformed}")?;
                    write!(out, "{}", pointer(&self.value, malformed.at()))?;
                }
            }
        }
        Ok(if read.is_ok() { Exit::Fine } else { Exit::Findings })
    }
}

/// The value with a mark under the byte in question, where it is short enough for a line.
fn pointer(value: &str, at: usize) -> String {
    const MAX_POINTER_COLUMNS: usize = 72;
    let before = value.get(..at).map_or(0, |before| before.chars().count());
    if value.chars().count() > MAX_POINTER_COLUMNS || value.chars().any(char::is_control) {
        return String::new();
    }
    format!("  {value}\n  {}^\n", " ".repeat(before))
}

/// See which of the available languages a preference gets, and why
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune language negotiate --accept 'zh-TW, zh;q=0.9' --available en,zh-Hans,zh-Hant --explain\n  $ attune language negotiate --accept nn --available en,nb --json"
)]
struct LanguageNegotiateArgs {
    /// The preference; a malformed one counts as absent
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    accept: String,
    /// The languages that the server has
    #[arg(long, value_name = "TAG,TAG,…", value_delimiter = ',', required = true)]
    available: Vec<String>,
    /// The language where nothing matches; without it, the first of --available
    #[arg(long, value_name = "TAG")]
    default: Option<String>,
    /// Say why, on standard error; on a terminal it is said anyway
    #[arg(long)]
    explain: bool,
    /// Print JSON: language, why, quality, range
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct LanguageNegotiateOutput<'a> {
    language: &'a str,
    why: &'static str,
    quality: Option<f64>,
    range: Option<&'a str>,
}

impl LanguageNegotiateArgs {
    fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let languages = self.languages()?;
        let (accept, malformed) = read_preference(Some(&self.accept));
        if let Some(malformed) = malformed {
            eprintln!("warning: the preference counts as absent, it is malformed {malformed}");
        }
        let Choice { language, why, quality, range, .. } = lookup(&accept, &languages);
        if self.json {
            let negotiated = LanguageNegotiateOutput {
                language: language.as_str(),
                why: why.as_str(),
                quality: quality.map(quality_as_f64),
                range: range.map(LanguageRange::as_str),
            };
            print_json(out, &negotiated)?;
        } else {
            writeln!(out, "{language}")?;
            if self.explain || std::io::stderr().is_terminal() {
                out.flush()?;
                eprintln!("{}", reason(why, range));
            }
        }
        Ok(Exit::Fine)
    }

    /// The default stands first, wherever it came from.
    fn languages(&self) -> anyhow::Result<Languages> {
        let mut tags = self.available.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty());
        let named = self.default.as_deref().map(str::trim);
        let hint = "separate the tags with commas: --available en,de-CH,zh-Hant";
        let Some(default) = named.or_else(|| tags.next()) else {
            return Err(hinted("--available names no language", hint));
        };
        for tag in [default].into_iter().chain(tags.clone()) {
            if let Err(why) = Tag::parse(tag) {
                let dashed = tag.replace('_', "-");
                let hint = match Tag::parse(&dashed) {
                    Ok(tag) => format!("did you mean {tag}?"),
                    Err(_) => hint.to_owned(),
                };
                return Err(hinted(format!("{} is {why}", quoted(tag)), hint));
            }
        }
        Languages::new(default, tags).map_err(|unusable| hinted(unusable.to_string(), hint))
    }
}

/// Why a language was chosen, in a sentence.
fn reason(why: Why, range: Option<LanguageRange<'_>>) -> String {
    let range = range.map(|range| quoted(range.as_str())).unwrap_or_default();
    match why {
        Why::Exact => format!("{why}: {range} names this language"),
        Why::Covered => format!("{why}: {range} stands for every language that begins with it"),
        Why::Shortened => format!("{why}: {range} matches when its last parts are taken off"),
        Why::Wildcard => format!("{why}: * stands for what no other range covers"),
        Why::Relative => {
            format!("{why}: nothing matches, and whoever reads what was asked for can most likely read this")
        }
        Why::Default => format!("{why}: nothing matches, or nothing was asked for"),
        _ => why.to_string(),
    }
}

fn quality_as_f64(quality: Quality) -> f64 {
    f64::from(quality.thousandths()) / 1000.0
}
