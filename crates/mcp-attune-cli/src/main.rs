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
mod language_args;
mod tool;

mod call_plan;

// servers,
mod banner;
mod bundled;
mod covered;
mod server;

// asking them in somebody's name,
mod saving;

mod asking;

mod stdio_caller;

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
struct AttuneArgs {
    /// When to use colours: auto, always or never; NO_COLOR and CLICOLOR_FORCE in the environment say so too
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    color: paint::ColorMode,
    #[command(subcommand)]
    command: AttuneCommand,
}

#[derive(Subcommand)]
enum AttuneCommand {
    #[cfg(feature = "audit")]
    Audit(commands::audit::AuditArgs),
    Bundle(commands::bundle::BundleArgs),
    Call(commands::call::CallArgs),
    Catalog(commands::catalog::CatalogArgs),
    Check(commands::check::CheckArgs),
    Clients(commands::clients::ClientsArgs),
    Config(commands::config::ConfigArgs),
    Context(commands::context::ContextArgs),
    Demo(commands::demo::DemoArgs),
    Discover(commands::discover::DiscoverArgs),
    Explain(commands::explain::ExplainArgs),
    Features(commands::features::FeaturesArgs),
    Init(commands::init::InitArgs),
    Install(commands::install::InstallArgs),
    Language(commands::language::LanguageArgs),
    Prompt(commands::prompt::PromptArgs),
    Prompts(commands::list::PromptsArgs),
    Read(commands::read::ReadArgs),
    Resources(commands::list::ResourcesArgs),
    Serve(commands::serve::ServeArgs),
    Stdio(commands::stdio::StdioArgs),
    Template(commands::template::TemplateArgs),
    Tools(commands::list::ToolsArgs),
    Uninstall(commands::install::UninstallArgs),
}

fn main() -> ExitCode {
    // What cannot be parsed ends here, with exit code 2; what is asked of --help and --version, with 0.
    let foretold = paint::color_mode_in_words(std::env::args_os());
    let attune = help::group_commands(AttuneArgs::command().color(foretold.into()))
        .try_get_matches()
        .and_then(|matches| AttuneArgs::from_arg_matches(&matches))
        .unwrap_or_else(|error| {
            let _ = error.print();
            commands::serve::hint_at_dashes(&error);
            std::process::exit(error.exit_code())
        });
    paint::set_color_mode(attune.color);
    // Not locked: a command may hand standard output to another thread.
    let mut out = BufWriter::new(io::stdout());
    let result = match attune.command {
        #[cfg(feature = "audit")]
        AttuneCommand::Audit(audit) => audit.run(&mut out),
        AttuneCommand::Bundle(bundle) => bundle.run(&mut out),
        AttuneCommand::Call(call) => call.run(&mut out),
        AttuneCommand::Catalog(catalog) => catalog.run(&mut out),
        AttuneCommand::Check(check) => check.run(&mut out),
        AttuneCommand::Clients(clients) => clients.run(&mut out),
        AttuneCommand::Config(config) => config.run(&mut out),
        AttuneCommand::Context(context) => context.run(&mut out),
        AttuneCommand::Demo(demo) => demo.run(&mut out),
        AttuneCommand::Discover(discover) => discover.run(&mut out),
        AttuneCommand::Explain(explain) => explain.run(&mut out),
        AttuneCommand::Features(features) => features.run(&mut out),
        AttuneCommand::Init(init) => init.run(&mut out),
        AttuneCommand::Install(install) => install.run(&mut out),
        AttuneCommand::Language(language) => language.run(&mut out),
        AttuneCommand::Prompt(prompt) => prompt.run(&mut out),
        AttuneCommand::Prompts(prompts) => prompts.run(&mut out),
        AttuneCommand::Read(read) => read.run(&mut out),
        AttuneCommand::Resources(resources) => resources.run(&mut out),
        AttuneCommand::Serve(serve) => serve.run(&mut out),
        AttuneCommand::Stdio(stdio) => stdio.run(),
        AttuneCommand::Template(template) => template.run(&mut out),
        AttuneCommand::Tools(tools) => tools.run(&mut out),
        AttuneCommand::Uninstall(uninstall) => uninstall.run(&mut out),
    };
    exit::code(result.and_then(|exit| Ok(out.flush().map(|()| exit)?)))
}
