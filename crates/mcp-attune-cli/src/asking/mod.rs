//! How commands ask a server in somebody's name: who asks, with what, what is shown meanwhile, and what is asked back.

// Who asks, and with what,
pub(crate) mod system;

pub(crate) mod caller;
pub(crate) mod did_you_mean;

pub(crate) mod arguments;

// what is asked back,
mod words;

mod person;

mod field;

mod question;
pub(crate) mod scripted;

// and what is seen of it.
mod negotiated;
mod terminal_host;

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use mcp_attune::features::{ContentFormat, FeaturePreferences};
use mcp_attune::session::CONTENT_NEGOTIATION;
use mcp_attune_rmcp::{
    ClientError, Connection, ConnectionOptions, McpVersion, ServerTarget, StderrTarget, UnknownVersion,
};
use mcp_attune_wire::json::{JsonString, SpannedValue};
use mcp_attune_wire::protocol::code::MISSING_CLIENT_CAPABILITY;
use mcp_attune_wire::protocol::method;
use serde_json::json;
use serde_json::value::RawValue;

use self::caller::{CallerArgs, SourcedCaller};
use self::scripted::ScriptedAnswers;
use self::terminal_host::TerminalHost;
use self::words::QuestionTexts;
use crate::exit::{self, Exit, hinted};
use crate::progress;
use crate::running::single_thread_runtime;
use crate::server::{TrustArgs, for_each_page, read_result};
use crate::show::{CliOutputForm, MarkdownDisplay, plain};

/// How long an answer may take, and how long where a person may be asked before it comes.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
const INTERACTIVE_TIMEOUT: Duration = Duration::from_secs(600);
/// How often a server may ask before it answers.
const MAX_INPUT_ROUNDS: usize = 16;

/// What every command has that asks a server.
#[derive(clap::Args)]
pub(crate) struct CliSessionArgs {
    /// Print JSON, as the server said it; so it is in a pipe
    #[arg(long, conflicts_with = "text")]
    json: bool,
    /// Print text in a pipe too, as it came
    #[arg(long)]
    text: bool,
    /// How long the server may take: to be there, and for each answer. Without it 60, and 600 for an answer on a terminal,
    /// where you may be asked something
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(1..))]
    timeout: Option<u16>,
    /// The only version of MCP to speak, such as 2025-11-25; without it the newest that the server knows
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    protocol: Option<McpVersion>,
    #[command(flatten)]
    trusted: TrustArgs,
    #[command(flatten)]
    caller: CallerArgs,
    /// What is answered where a server asks, in place of a person.
    #[arg(skip)]
    answers: Option<ScriptedAnswers>,
}

impl CliSessionArgs {
    /// Answers so when a server asks.
    pub(crate) fn with_answers(self, answers: Option<ScriptedAnswers>) -> Self {
        Self { answers, ..self }
    }

    /// Connects, asks, and ends the connection. A server that refuses is a finding, and one that does not answer is none.
    pub(crate) fn run<O: Write>(
        self,
        target: &ServerTarget,
        out: &mut O,
        ask: impl AsyncFnOnce(&CliSession, &mut O) -> anyhow::Result<Exit>,
    ) -> anyhow::Result<Exit> {
        let said = self.caller.resolve_caller()?;
        let all_terminals = std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
            && std::io::stderr().is_terminal();
        let words = QuestionTexts::for_preference(&said.accept);
        let onlooker =
            TerminalHost::new(self.caller.raw, all_terminals, self.answers, words, target.to_string());
        let onlooker = Arc::new(onlooker);
        let mut options = ConnectionOptions::default();
        self.caller.add_credentials(target, &mut options)?;
        options.trust = self.trusted.read()?;
        options.version = self.protocol.clone();
        options.profile = onlooker.declare_elicitation(&said.profile);
        let patience = self.timeout.map(|seconds| Duration::from_secs(seconds.into()));
        options.connect = patience.unwrap_or(ANSWER_TIMEOUT);
        options.answer = patience.unwrap_or(if all_terminals { INTERACTIVE_TIMEOUT } else { ANSWER_TIMEOUT });
        if std::io::stderr().is_terminal() {
            // What a program says stands apart from what we show.
            options.stderr = StderrTarget::Piped;
        }
        options.host = Some(onlooker.clone());
        let form = CliOutputForm::choose(self.json, self.text);
        let runtime = single_thread_runtime()?;
        let ended = runtime.block_on(async {
            onlooker.show(&format!("connecting to {target}"));
            let connection = Connection::open(target, &options).await?;
            note_other_version(self.protocol.as_ref(), &connection);
            let asked =
                CliSession { connection, onlooker, said, form, told: negotiated::ReportedNotes::default() };
            let ended = ask(&asked, out).await;
            progress::clear();
            asked.onlooker.note_unused_answers();
            // A server that got no answer may go on without one, but whoever wrote the command did not mean that.
            let ended = asked.onlooker.fault().map_or(ended, Err);
            // What came is shown before the server takes its time to end.
            out.flush()?;
            asked.connection.close().await;
            ended
        });
        progress::clear();
        // Somebody may still be asked a question that no one waits for any more.
        runtime.shutdown_background();
        ended.or_else(refusal_as_finding)
    }
}

/// Reads `--protocol`.
fn parse_version(text: &str) -> Result<McpVersion, String> {
    text.parse().map_err(|why: UnknownVersion| why.to_string())
}

/// Tells where a server speaks another version than it was asked for, as older ones may.
fn note_other_version(wanted: Option<&McpVersion>, connection: &Connection) {
    if let Some(wanted) = wanted.filter(|wanted| wanted.as_str() != connection.version()) {
        progress::clear();
        let spoken = plain::line(connection.version());
        exit::print_note(&format!("{} was asked for, and the server speaks {spoken}", wanted.as_str()));
    }
}

/// The server's own "no" is an answer.
fn refusal_as_finding(error: anyhow::Error) -> anyhow::Result<Exit> {
    match error.downcast_ref::<ClientError>() {
        Some(ClientError::Refused { code: MISSING_CLIENT_CAPABILITY, data: Some(data), .. })
            if data["requiredCapabilities"].get("elicitation").is_some() =>
        {
            Err(no_person_error())
        }
        Some(refusal) if refusal.is_refusal() => {
            exit::print_error(&error);
            Ok(Exit::Findings)
        }
        _ => Err(error),
    }
}

/// A server that has a question, and nobody who could answer it.
fn no_person_error() -> anyhow::Error {
    let hint = "run the command on a terminal, or answer with --answer KEY=VALUE, --answer decline or --answer cancel";
    hinted("the server wants to ask a person before it answers", hint)
}

/// How text is read on a terminal.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct MarkdownArgs {
    /// Show every text on the terminal as it came
    #[arg(long, conflicts_with = "markdown")]
    plain: bool,
    /// Show texts on the terminal as the Markdown that they are
    #[arg(long)]
    markdown: bool,
}

impl MarkdownArgs {
    /// How what this server says is shown. Text is known to be Markdown where the user says so, or where it was asked for as
    /// that from a server that negotiates content.
    pub(crate) fn form(self, asked: &CliSession) -> CliOutputForm {
        asked.form.with_markdown(match self {
            Self { plain: true, .. } => MarkdownDisplay::Never,
            Self { markdown: true, .. } => MarkdownDisplay::Results,
            _ if asked.gives_markdown() => MarkdownDisplay::Results,
            _ => MarkdownDisplay::Declared,
        })
    }
}

/// A server that is asked.
pub(crate) struct CliSession {
    pub(crate) connection: Connection,
    pub(crate) form: CliOutputForm,
    onlooker: Arc<TerminalHost>,
    said: SourcedCaller,
    told: negotiated::ReportedNotes,
}

impl CliSession {
    /// Asks, and answers what the server asks back, until there is a result.
    pub(crate) async fn request(
        &self,
        method: &str,
        mut params: serde_json::Value,
    ) -> anyhow::Result<Box<RawValue>> {
        for _ in 0..MAX_INPUT_ROUNDS {
            self.onlooker.show(method);
            let raw = self.connection.request_raw(method, params.clone()).await?;
            let result = read_result(method, raw.get())?;
            let kind = result.member("resultType").and_then(SpannedValue::text);
            if !kind.is_some_and(|kind| kind.is("input_required")) {
                self.report_negotiation(&raw);
                return Ok(raw);
            }
            let questions = result.member("inputRequests");
            params["inputResponses"] = self.answer_questions(questions).await?;
            match result.member("requestState").and_then(SpannedValue::text) {
                Some(state) => params["requestState"] = json!(state.decode()),
                None => drop(params.as_object_mut().and_then(|params| params.remove("requestState"))),
            }
        }
        let what = format!("the server wants more {MAX_INPUT_ROUNDS} times and gives no answer");
        Err(hinted(what, "--raw shows what it asks for"))
    }

    /// The answers of a person to what the server asks.
    async fn answer_questions(
        &self,
        questions: Option<SpannedValue<'_>>,
    ) -> anyhow::Result<serde_json::Value> {
        let mut answers = serde_json::Map::new();
        for (name, question) in questions.into_iter().flat_map(SpannedValue::members) {
            let method = question.member("method").and_then(SpannedValue::text).and_then(JsonString::decode);
            let method = method.unwrap_or_default();
            if method != method::ELICITATION_CREATE {
                let what = format!(
                    "the server asks for `{}`, which a command line cannot give",
                    plain::line(&method)
                );
                return Err(hinted(what, "use a client that has a model"));
            }
            if !self.onlooker.has_answers() {
                return Err(no_person_error());
            }
            let asked = question.member("params").map_or("{}", SpannedValue::raw);
            let answer = self.onlooker.elicit(asked.to_owned()).await;
            if let Some(fault) = self.onlooker.fault() {
                return Err(fault);
            }
            answers.insert(name.decode().unwrap_or_default().into_owned(), answer);
        }
        Ok(answers.into())
    }

    /// All items of a listing, each as it was written.
    pub(crate) async fn list(&self, method: &str, member: &str) -> anyhow::Result<Vec<String>> {
        let mut items = Vec::new();
        let turn = |page| self.onlooker.show(&format!("{method}, page {page}"));
        let take = |result: SpannedValue<'_>| {
            let listed = result.member(member);
            items.extend(
                listed.into_iter().flat_map(SpannedValue::elements).map(|item| item.raw().to_owned()),
            );
            self.report_negotiation_of(result.raw());
            Ok(())
        };
        for_each_page(&self.connection, method, turn, take).await?;
        Ok(items)
    }

    fn report_negotiation(&self, result: &RawValue) {
        self.report_negotiation_of(result.get());
    }

    /// Tells what was negotiated: all of it beside the wire, else only what was asked for and not given.
    fn report_negotiation_of(&self, result: &str) {
        let Ok(result) = serde_json::from_str(result) else { return };
        progress::clear();
        negotiated::report_result(&self.connection, &self.said, &result, self.onlooker.is_raw(), &self.told);
    }

    /// What was negotiated before anything was asked.
    pub(crate) fn report_introduction(&self) {
        if let Some(raw) = self.connection.introduction() {
            self.report_negotiation(&raw);
        }
    }

    /// Whether the server was asked for Markdown, and says that it gives what it is asked for.
    fn gives_markdown(&self) -> bool {
        let extensions = self.connection.info().capabilities.extensions.as_ref();
        extensions.is_some_and(|extensions| extensions.contains_key(CONTENT_NEGOTIATION))
            && FeaturePreferences::read(self.said.profile.tags()).format() == Some(ContentFormat::Markdown)
    }

    /// Whether there is something to look at while the tools are listed.
    pub(crate) fn show_progress(&self, what: &str) {
        self.onlooker.show(what);
    }
}

/// The words of a command line that asks for one thing: a URL where no program is named, the thing, and the rest.
pub(crate) fn parse_target_words<'w>(
    words: &'w [String],
    command: &[String],
    thing: &str,
) -> anyhow::Result<(ServerTarget, &'w str, &'w [String])> {
    let (url, words) = match (command.is_empty(), words) {
        (true, [url, rest @ ..]) => (Some(url.as_str()), rest),
        (_, words) => (None, words),
    };
    let target = crate::server::parse_target(url, command)?;
    match words {
        [name, rest @ ..] => Ok((target, name, rest)),
        [] => Err(hinted(
            format!("no {thing} is named"),
            format!("write the {thing} after the URL, or before `--`"),
        )),
    }
}
