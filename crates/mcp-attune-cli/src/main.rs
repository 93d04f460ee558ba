//! The command line of Attune: one file for each command, in `commands/`.

// What is said on a terminal, and how a command ends,
mod paint;
mod text;

mod show;

mod exit;
mod help;
mod html;
mod log;
mod output;
mod progress;
mod running;

// what stands on a command line,
mod address;
mod child_env;
mod rules;
mod speech;
mod tool;

mod arguments;

// servers,
mod banner;
mod bundled;
mod covered;
mod server;

// asking them in somebody's name,
mod saving;

mod asking;

// and the commands.
mod commands;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// A call through the gateway allocates some seventy times, mostly for as long as the call takes. With glibc's
/// allocator that was a fifth of the gateway's instructions, with this one it is a fifteenth; and open streams take less
/// memory, as long as huge pages (`no_thp`) do not round it up.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Attune: MCP servers that answer in the caller's language, format and time zone.
#[derive(Parser)]
#[command(
    name = "attune",
    version,
    long_version = env!("ATTUNE_VERSION"),
    after_help = "Begin with `attune demo`: a server to try it with, and requests to paste.\n\nExamples:\n  $ attune call get_weather location=Bern --language de-CH -- attune demo --bare --stdio\n  $ attune check -- attune demo --bare --stdio\n  $ attune explain L14\n\nYour own server, one that runs or one that is started:\n  attune serve --upstream http://127.0.0.1:9000/mcp\n  attune stdio --default-language en -- npx -y some-server"
)]
struct Attune {
    /// When to use colours: auto, always or never; NO_COLOR and CLICOLOR_FORCE in the environment say so too
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    color: paint::When,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[cfg(feature = "audit")]
    Audit(commands::audit::Audit),
    Bundle(commands::bundle::Bundle),
    Call(commands::call::Call),
    Catalog(commands::catalog::Catalog),
    Check(commands::check::Check),
    Config(commands::config::Config),
    Context(commands::context::Context),
    Demo(commands::demo::Demo),
    Discover(commands::discover::Discover),
    Explain(commands::explain::Explain),
    Features(commands::features::Features),
    Init(commands::init::Init),
    Language(commands::language::Language),
    Prompt(commands::prompt::Prompt),
    Prompts(commands::list::Prompts),
    Read(commands::read::Read),
    Resources(commands::list::Resources),
    Serve(commands::serve::Serve),
    Stdio(commands::stdio::Stdio),
    Template(commands::template::Template),
    Tools(commands::list::Tools),
}

fn main() -> ExitCode {
    // What cannot be parsed ends here, with exit code 2; what is asked of --help and --version, with 0.
    let foretold = paint::foretold(std::env::args_os());
    let attune = help::grouped(Attune::command().color(foretold.into()))
        .try_get_matches()
        .and_then(|matches| Attune::from_arg_matches(&matches))
        .unwrap_or_else(|error| {
            let _ = error.print();
            commands::serve::hint_at_dashes(&error);
            std::process::exit(error.exit_code())
        });
    paint::choose(attune.color);
    // Not locked: a command may hand standard output to another thread.
    let mut out = BufWriter::new(io::stdout());
    let result = match attune.command {
        #[cfg(feature = "audit")]
        Command::Audit(audit) => audit.run(&mut out),
        Command::Bundle(bundle) => bundle.run(&mut out),
        Command::Call(call) => call.run(&mut out),
        Command::Catalog(catalog) => catalog.run(&mut out),
        Command::Check(check) => check.run(&mut out),
        Command::Config(config) => config.run(&mut out),
        Command::Context(context) => context.run(&mut out),
        Command::Demo(demo) => demo.run(&mut out),
        Command::Discover(discover) => discover.run(&mut out),
        Command::Explain(explain) => explain.run(&mut out),
        Command::Features(features) => features.run(&mut out),
        Command::Init(init) => init.run(&mut out),
        Command::Language(language) => language.run(&mut out),
        Command::Prompt(prompt) => prompt.run(&mut out),
        Command::Prompts(prompts) => prompts.run(&mut out),
        Command::Read(read) => read.run(&mut out),
        Command::Resources(resources) => resources.run(&mut out),
        Command::Serve(serve) => serve.run(&mut out),
        Command::Stdio(stdio) => stdio.run(),
        Command::Template(template) => template.run(&mut out),
        Command::Tools(tools) => tools.run(&mut out),
    };
    exit::code(result.and_then(|exit| Ok(out.flush().map(|()| exit)?)))
}
