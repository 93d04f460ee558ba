//! `attune template render`: a template with data, for one caller, without a server.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use mcp_attune::catalog::{LocaleChain, LocaleStore};
use mcp_attune::context::{ClientContext, IanaTimeZone, Rfc3339Instant};
use mcp_attune::features::{ContentFormat, FeaturePreferences};
use mcp_attune::language::{AcceptLanguage, Tag, lookup};
use mcp_attune_files::{LocaleFilePattern, LocaleFolder, TemplateFiles};
use mcp_attune_shape::CompiledSchema;
use mcp_attune_shape::template::{
    MAX_DATA, MAX_SOURCE, Template as Compiled, TemplateContext, TemplateVariant,
};
use mcp_attune_wire::document::Document;

use crate::asking::caller::{parse_locale, parse_option, parse_preference};
use crate::exit::{Exit, hinted};
use crate::text::quoted;

/// How many bytes the file with the data, or with the schema, may have: more than a template is given.
const MAX_FILE: u64 = 2 * MAX_DATA as u64;

/// Try templates without a server
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune call get_weather location=Bern -- attune demo --bare --stdio | attune template render crates/mcp-attune-demo/templates/get_weather.md --data - --locale de-CH"
)]
pub(crate) struct TemplateArgs {
    #[command(subcommand)]
    command: TemplateCommand,
}

#[derive(clap::Subcommand)]
enum TemplateCommand {
    Render(Box<TemplateRenderArgs>),
}

impl TemplateArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            TemplateCommand::Render(render) => render.run(out),
        }
    }
}

/// Render a template with data, as one caller would get it: exit 1 where it fails, with the line and what has no value
///
/// TEMPLATE is a file, such as templates/get_weather.compact.md, or what the names of several begin with, such as
/// templates/get_weather: the one is then taken that a caller with these features gets.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune call get_weather location=Bern -- attune demo --bare --stdio | attune template render crates/mcp-attune-demo/templates/get_weather.md --data - --locale de-CH\n  $ attune call get_weather location=Bern -- attune demo --bare --stdio | attune template render crates/mcp-attune-demo/templates/get_weather --data - --feature verbosity=compact\n\nWith the result of a tool, and with what the tool promises of its results:\n  attune call http://127.0.0.1:9000/mcp orders_today --json > result.json\n  attune template render templates/orders_today --data result.json --schema schema.json --locale de-CH"
)]
struct TemplateRenderArgs {
    /// The file of the template, or what the names of its files begin with
    template: PathBuf,
    /// The data: a JSON file, or - for standard input. Of the result of a call its structuredContent is taken
    #[arg(long, value_name = "FILE|-", allow_hyphen_values = true)]
    data: PathBuf,
    /// The tool's `outputSchema`: names in the template that it does not have are told, with their line
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// What the caller asked with, as a JSON object
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
    /// Languages that the caller reads, such as 'de-CH, en;q=0.5'
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    language: Option<String>,
    /// The caller's time zone, such as Europe/Zurich; without it, the offset of --now, else UTC
    #[arg(long, value_name = "TZ", allow_hyphen_values = true)]
    timezone: Option<String>,
    /// The locale that numbers and dates are written for, such as de-CH
    #[arg(long, value_name = "TAG", allow_hyphen_values = true)]
    locale: Option<String>,
    /// The instant that is now for the caller, by RFC 3339 with an offset; without it, the system's clock
    #[arg(long, value_name = "TS", allow_hyphen_values = true)]
    now: Option<String>,
    /// A feature tag, such as verbosity=compact or format=text; may be given again
    #[arg(long, value_name = "TAG", allow_hyphen_values = true)]
    feature: Vec<String>,
    /// The folder of the locale files, for messages that the template takes from them
    #[arg(long, value_name = "DIR")]
    locales: Option<PathBuf>,
    /// The language of what no locale file has
    #[arg(long, value_name = "TAG", default_value = "en")]
    default_language: String,
}

impl TemplateRenderArgs {
    fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let caller = self.caller()?;
        let data = read_text(&self.data)?;
        let data = Document::parse(data.as_bytes()).map_err(|why| not_json(&self.data, &why.to_string()))?;
        let arguments = self.arguments.as_deref().unwrap_or("{}");
        let arguments =
            Document::parse(arguments.as_bytes()).ok().filter(Document::is_object).ok_or_else(|| {
                hinted("--arguments is no JSON object", "such as --arguments '{\"location\": \"Bern\"}'")
            })?;
        let Some(found) = self.find(&caller.wanted)? else { return Ok(Exit::Findings) };
        let mut fails = self.tell_unknown_names(&found)?;
        let result = data.root();
        let structured = result.member("structuredContent").filter(|_| result.member("content").is_some());
        let mut scene =
            TemplateContext::new(structured.unwrap_or(result), &caller.wanted, &caller.values, caller.now);
        (scene.arguments, scene.chain) = (Some(arguments.root()), caller.chain.as_ref());
        match found.template.render(&scene) {
            Ok(text) => {
                out.write_all(text.as_bytes())?;
                if !text.ends_with('\n') {
                    writeln!(out)?;
                }
            }
            Err(failed) => {
                eprintln!("error: {}: {failed}", found.display_path());
                fails = true;
            }
        }
        Ok(if fails { Exit::Findings } else { Exit::Fine })
    }

    /// Who the text is for.
    fn caller(&self) -> anyhow::Result<TemplateCaller> {
        let default = Tag::parse(&self.default_language).map_err(|why| {
            let what = format!("--default-language {} is {why}", quoted(&self.default_language));
            hinted(what, "write a tag of BCP 47, such as en or de-CH")
        })?;
        let context = ClientContext::from_parts(
            parse_option("--timezone", self.timezone.as_deref(), IanaTimeZone::parse)?,
            parse_option("--now", self.now.as_deref(), Rfc3339Instant::parse)?,
            parse_option("--locale", self.locale.as_deref(), parse_locale)?,
        );
        let accept = self.language.as_deref().map(parse_preference).transpose()?;
        let wanted = FeaturePreferences::read(self.feature.iter().map(String::as_str));
        for (tag, why) in wanted.ignored() {
            eprintln!("warning: --feature {}: {why:?}; see `attune features parse`", quoted(tag));
        }
        let now = context.now(Timestamp::now());
        let formatters = mcp_attune_format::formatters(&default);
        let library =
            self.locales.as_deref().map(|folder| open_locale_folder(folder, &default)).transpose()?;
        let chosen = match (&accept, &library) {
            (Some(accept), Some(library)) => {
                Some(lookup(accept, library.locale_index().languages()).language.clone())
            }
            (Some(accept), None) => first_preference(accept),
            (None, Some(_)) => Some(default.clone()),
            (None, None) => None,
        };
        let values = formatters.for_locales(context.locale().into_iter().chain(&chosen), now.zone.clone());
        let chain = library.zip(chosen).map(|(library, chosen)| {
            LocaleChain::new(&chosen, library.load(&chosen), &formatters, values.clone())
        });
        Ok(TemplateCaller { wanted, values, now: now.instant, chain })
    }

    /// The template that is meant; says why where there is none.
    fn find(&self, wanted: &FeaturePreferences) -> anyhow::Result<Option<LocatedTemplate>> {
        if self.template.is_file() {
            return template_in_file(&self.template);
        }
        let shelf = TemplateFiles::new(Some(&self.template), None);
        let findings = shelf.findings();
        for finding in &findings {
            eprintln!("error: {finding}");
        }
        let templates = shelf.templates();
        let format = wanted.format().unwrap_or(ContentFormat::Markdown);
        match templates.choose(wanted, format) {
            Some(chosen) => {
                let name = chosen.name();
                let path = PathBuf::from(format!("{}.{name}", self.template.display()));
                let template = compile(&path, name, chosen.source());
                eprintln!("{} is what this caller gets", path.display());
                Ok(template.map(|template| LocatedTemplate { path, template }))
            }
            None if templates.is_empty() && findings.is_empty() => {
                let what = format!("there is no template {}", self.template.display());
                let hint = "name a file, such as templates/get_weather.md, or what the names of several begin with, such as \
                            templates/get_weather";
                Err(hinted(what, hint))
            }
            None => {
                eprintln!(
                    "error: no template is for a caller with these features, who gets {}",
                    format.name()
                );
                eprintln!(
                    "hint: name the file itself, or say who asks with --feature, such as --feature format=text"
                );
                Ok(None)
            }
        }
    }

    /// Names in the template that the schema does not have. Whether there are any.
    fn tell_unknown_names(&self, found: &LocatedTemplate) -> anyhow::Result<bool> {
        let schema = match &self.schema {
            Some(path) => {
                let text = read_text(path)?;
                Some(CompiledSchema::read(&text).ok_or_else(|| {
                    let what = format!("{} is no JSON Schema of an object", path.display());
                    hinted(what, "give the `outputSchema` of the tool, as `attune tools --json` shows it")
                })?)
            }
            None => None,
        };
        let findings = found.template.check(schema.as_ref());
        for finding in &findings {
            eprintln!("error: {}:{}:{}: {finding}", found.display_path(), finding.line, finding.column);
        }
        Ok(!findings.is_empty())
    }
}

/// Who a template is rendered for.
struct TemplateCaller {
    wanted: FeaturePreferences,
    values: mcp_attune::format::ValueFormatter,
    now: Timestamp,
    chain: Option<LocaleChain>,
}

/// A template, and where it is.
struct LocatedTemplate {
    path: PathBuf,
    template: Compiled,
}

impl LocatedTemplate {
    fn display_path(&self) -> impl std::fmt::Display {
        self.path.display()
    }
}

/// The template in a file. What stands between the name of a tool and the ending says for whom it is.
fn template_in_file(path: &Path) -> anyhow::Result<Option<LocatedTemplate>> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let parts: Vec<&str> = name.match_indices('.').filter_map(|(at, _)| name.get(at + 1..)).collect();
    // The name of a tool may have dots in it.
    let variant = parts.iter().find(|part| TemplateVariant::parse(part).is_ok());
    let first = parts.first().copied().unwrap_or(name);
    if let (Some(variant), Err(why)) = (variant, TemplateVariant::parse(first)) {
        eprintln!("warning: {}: {why}; {}; it is taken for {variant}", path.display(), why.hint());
    }
    let text = read_at_most(path, MAX_SOURCE as u64)?;
    let template = compile(path, variant.unwrap_or(&first), &text);
    Ok(template.map(|template| LocatedTemplate { path: path.to_owned(), template }))
}

/// Compiles a template, or says what is wrong with it.
fn compile(path: &Path, name: &str, text: &str) -> Option<Compiled> {
    Compiled::compile(name, text)
        .inspect_err(|wrong| {
            eprintln!("error: {}:{}:{}: {wrong}", path.display(), wrong.line, wrong.column);
            eprintln!("hint: {}", wrong.hint());
        })
        .ok()
}

/// The language that a caller prefers, where nothing says which there are.
fn first_preference(accept: &AcceptLanguage) -> Option<Tag> {
    let mut ranges: Vec<_> = accept.ranges().filter(|(range, _)| !range.is_wildcard()).collect();
    ranges.sort_by(|(_, one), (_, other)| other.cmp(one));
    ranges.first().and_then(|(range, _)| Tag::parse(&range.to_string()).ok())
}

fn open_locale_folder(folder: &Path, default: &Tag) -> anyhow::Result<LocaleFolder> {
    match folder.to_str().filter(|_| folder.is_dir()) {
        Some(path) => Ok(LocaleFolder::new(LocaleFilePattern::in_folder(path, ".json"), default.clone())),
        None => {
            let hint = "`attune catalog extract` makes one from a running server";
            Err(hinted(format!("{} is no folder", folder.display()), hint))
        }
    }
}

/// The text of a file, or of standard input.
fn read_text(path: &Path) -> anyhow::Result<String> {
    read_at_most(path, MAX_FILE)
}

fn read_at_most(path: &Path, most: u64) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(most + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
    };
    read.with_context(|| format!("could not read {}", path_label(path)))?;
    if bytes.len() as u64 > most {
        let hint = format!("give at most {} KiB", most >> 10);
        return Err(hinted(format!("{} is too large", path_label(path)), hint));
    }
    String::from_utf8(bytes)
        .map_err(|_| hinted(format!("{} is not UTF-8", path_label(path)), "save it in that encoding"))
}

/// What a file is called, or standard input.
fn path_label(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

fn not_json(path: &Path, why: &str) -> anyhow::Error {
    let hint = "give the data as JSON, such as the structuredContent of a result, or the whole result";
    hinted(format!("{} is no JSON that can be used: {why}", path_label(path)), hint)
}
