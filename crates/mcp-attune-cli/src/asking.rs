//! How commands ask a server in somebody's name: who asks, with what, what is shown meanwhile, and what is asked back.

// Who asks, and with what,
pub(crate) mod system;

pub(crate) mod caller;
pub(crate) mod near;

pub(crate) mod arguments;

// what is asked back,
mod words;

mod person;

mod field;

mod question;
pub(crate) mod scripted;

// and what is seen of it.
mod negotiated;
mod onlooker;

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use mcp_attune::features::{Format, Wanted};
use mcp_attune::session::CONTENT_NEGOTIATION;
use mcp_attune_rmcp::{Connection, Error, Options, Stderr, Target, UnknownVersion, Version};
use mcp_attune_wire::json::{Text, Value};
use mcp_attune_wire::protocol::code::MISSING_CLIENT_CAPABILITY;
use mcp_attune_wire::protocol::method;
use serde_json::json;
use serde_json::value::RawValue;

use self::caller::{Caller, Said};
use self::onlooker::Onlooker;
use self::scripted::Answers;
use self::words::Words;
use crate::exit::{self, Exit, hinted};
use crate::progress;
use crate::running::one_thread;
use crate::server::{Trusted, pages, read_result};
use crate::show::{Form, Markdown, plain};

/// How long an answer may take, and how long where a person may be asked before it comes.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_WITH_PEOPLE: Duration = Duration::from_secs(600);
/// How often a server may ask before it answers.
const MOST_ROUNDS: usize = 16;

/// What every command has that asks a server.
#[derive(clap::Args)]
pub(crate) struct Ask {
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
    #[arg(long, value_name = "VERSION", value_parser = version)]
    protocol: Option<Version>,
    #[command(flatten)]
    trusted: Trusted,
    #[command(flatten)]
    caller: Caller,
    /// What is answered where a server asks, in place of a person.
    #[arg(skip)]
    answers: Option<Answers>,
}

impl Ask {
    /// Answers so when a server asks.
    pub(crate) fn answering(self, answers: Option<Answers>) -> Self {
        Self { answers, ..self }
    }

    /// Connects, asks, and ends the connection. A server that refuses is a finding, and one that does not answer is none.
    pub(crate) fn run<O: Write>(
        self,
        target: &Target,
        out: &mut O,
        ask: impl AsyncFnOnce(&Asked, &mut O) -> anyhow::Result<Exit>,
    ) -> anyhow::Result<Exit> {
        let said = self.caller.said()?;
        let all_terminals = std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
            && std::io::stderr().is_terminal();
        let words = Words::of(&said.accept);
        let onlooker = Onlooker::new(self.caller.raw, all_terminals, self.answers, words, target.to_string());
        let onlooker = Arc::new(onlooker);
        let mut options = Options::default();
        self.caller.identify(target, &mut options)?;
        options.trust = self.trusted.read()?;
        options.version = self.protocol.clone();
        options.profile = onlooker.declare(&said.profile);
        let patience = self.timeout.map(|seconds| Duration::from_secs(seconds.into()));
        options.connect = patience.unwrap_or(PATIENCE);
        options.answer = patience.unwrap_or(if all_terminals { PATIENCE_WITH_PEOPLE } else { PATIENCE });
        if std::io::stderr().is_terminal() {
            // What a program says stands apart from what we show.
            options.stderr = Stderr::Piped;
        }
        options.host = Some(onlooker.clone());
        let form = Form::choose(self.json, self.text);
        let runtime = one_thread()?;
        let ended = runtime.block_on(async {
            onlooker.show(&format!("connecting to {target}"));
            let connection = Connection::open(target, &options).await?;
            other_version(self.protocol.as_ref(), &connection);
            let asked = Asked { connection, onlooker, said, form, told: negotiated::Told::default() };
            let ended = ask(&asked, out).await;
            progress::clear();
            asked.onlooker.tell_unused();
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
        ended.or_else(refused)
    }
}

/// Reads `--protocol`.
fn version(text: &str) -> Result<Version, String> {
    text.parse().map_err(|why: UnknownVersion| why.to_string())
}

/// Tells where a server speaks another version than it was asked for, as older ones may.
fn other_version(wanted: Option<&Version>, connection: &Connection) {
    if let Some(wanted) = wanted.filter(|wanted| wanted.as_str() != connection.version()) {
        progress::clear();
        let spoken = plain::line(connection.version());
        exit::note(&format!("{} was asked for, and the server speaks {spoken}", wanted.as_str()));
    }
}

/// The server's own "no" is an answer.
fn refused(error: anyhow::Error) -> anyhow::Result<Exit> {
    match error.downcast_ref::<Error>() {
        Some(Error::Refused { code: MISSING_CLIENT_CAPABILITY, data: Some(data), .. })
            if data["requiredCapabilities"].get("elicitation").is_some() =>
        {
            Err(nobody())
        }
        Some(refusal) if refusal.is_refusal() => {
            exit::warn(&error);
            Ok(Exit::Findings)
        }
        _ => Err(error),
    }
}

/// A server that has a question, and nobody who could answer it.
fn nobody() -> anyhow::Error {
    let hint = "run the command on a terminal, or answer with --answer KEY=VALUE, --answer decline or --answer cancel";
    hinted("the server wants to ask a person before it answers", hint)
}

/// How text is read on a terminal.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct Reading {
    /// Show every text on the terminal as it came
    #[arg(long, conflicts_with = "markdown")]
    plain: bool,
    /// Show texts on the terminal as the Markdown that they are
    #[arg(long)]
    markdown: bool,
}

impl Reading {
    /// How what this server says is shown. Text is known to be Markdown where the user says so, or where it was asked for as
    /// that from a server that negotiates content.
    pub(crate) fn form(self, asked: &Asked) -> Form {
        asked.form.reading(match self {
            Self { plain: true, .. } => Markdown::Never,
            Self { markdown: true, .. } => Markdown::Results,
            _ if asked.gives_markdown() => Markdown::Results,
            _ => Markdown::Declared,
        })
    }
}

/// A server that is asked.
pub(crate) struct Asked {
    pub(crate) connection: Connection,
    pub(crate) form: Form,
    onlooker: Arc<Onlooker>,
    said: Said,
    told: negotiated::Told,
}

impl Asked {
    /// Asks, and answers what the server asks back, until there is a result.
    pub(crate) async fn ask(
        &self,
        method: &str,
        mut params: serde_json::Value,
    ) -> anyhow::Result<Box<RawValue>> {
        for _ in 0..MOST_ROUNDS {
            self.onlooker.show(method);
            let raw = self.connection.request_raw(method, params.clone()).await?;
            let result = read_result(method, raw.get())?;
            let kind = result.member("resultType").and_then(Value::text);
            if !kind.is_some_and(|kind| kind.is("input_required")) {
                self.negotiated(&raw);
                return Ok(raw);
            }
            let questions = result.member("inputRequests");
            params["inputResponses"] = self.answers(questions).await?;
            match result.member("requestState").and_then(Value::text) {
                Some(state) => params["requestState"] = json!(state.decode()),
                None => drop(params.as_object_mut().and_then(|params| params.remove("requestState"))),
            }
        }
        let what = format!("the server wants more {MOST_ROUNDS} times and gives no answer");
        Err(hinted(what, "--raw shows what it asks for"))
    }

    /// The answers of a person to what the server asks.
    async fn answers(&self, questions: Option<Value<'_>>) -> anyhow::Result<serde_json::Value> {
        let mut answers = serde_json::Map::new();
        for (name, question) in questions.into_iter().flat_map(Value::members) {
            let method = question.member("method").and_then(Value::text).and_then(Text::decode);
            let method = method.unwrap_or_default();
            if method != method::ELICITATION_CREATE {
                let what = format!(
                    "the server asks for `{}`, which a command line cannot give",
                    plain::line(&method)
                );
                return Err(hinted(what, "use a client that has a model"));
            }
            if !self.onlooker.has_answers() {
                return Err(nobody());
            }
            let asked = question.member("params").map_or("{}", Value::raw);
            let answer = self.onlooker.put(asked.to_owned()).await;
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
        let take = |result: Value<'_>| {
            let listed = result.member(member);
            items.extend(listed.into_iter().flat_map(Value::elements).map(|item| item.raw().to_owned()));
            self.negotiated_of(result.raw());
            Ok(())
        };
        pages(&self.connection, method, turn, take).await?;
        Ok(items)
    }

    fn negotiated(&self, result: &RawValue) {
        self.negotiated_of(result.get());
    }

    /// Tells what was negotiated: all of it beside the wire, else only what was asked for and not given.
    fn negotiated_of(&self, result: &str) {
        let Ok(result) = serde_json::from_str(result) else { return };
        progress::clear();
        negotiated::tell(&self.connection, &self.said, &result, self.onlooker.is_raw(), &self.told);
    }

    /// What was negotiated before anything was asked.
    pub(crate) fn introduced(&self) {
        if let Some(raw) = self.connection.introduction() {
            self.negotiated(&raw);
        }
    }

    /// Whether the server was asked for Markdown, and says that it gives what it is asked for.
    fn gives_markdown(&self) -> bool {
        let extensions = self.connection.info().capabilities.extensions.as_ref();
        extensions.is_some_and(|extensions| extensions.contains_key(CONTENT_NEGOTIATION))
            && Wanted::read(self.said.profile.tags()).format() == Some(Format::Markdown)
    }

    /// Whether there is something to look at while the tools are listed.
    pub(crate) fn show(&self, what: &str) {
        self.onlooker.show(what);
    }
}

/// The words of a command line that asks for one thing: a URL where no program is named, the thing, and the rest.
pub(crate) fn words<'w>(
    words: &'w [String],
    command: &[String],
    thing: &str,
) -> anyhow::Result<(Target, &'w str, &'w [String])> {
    let (url, words) = match (command.is_empty(), words) {
        (true, [url, rest @ ..]) => (Some(url.as_str()), rest),
        (_, words) => (None, words),
    };
    let target = crate::server::target(url, command)?;
    match words {
        [name, rest @ ..] => Ok((target, name, rest)),
        [] => Err(hinted(
            format!("no {thing} is named"),
            format!("write the {thing} after the URL, or before `--`"),
        )),
    }
}
